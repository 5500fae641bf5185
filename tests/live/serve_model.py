"""Serve one model file with llama.cpp's own HTTP server until standard input ends; prints the server's address.

    python serve_model.py MODEL.gguf NAME

Runs in an environment of its own that holds xllamacpp. Whoever started it holds the other end of
standard input, so it ends with its parent however that one ends.
"""

from __future__ import annotations

import os
import sys

import xllamacpp


def main() -> None:
    file, name = sys.argv[1:]
    p = xllamacpp.CommonParams()
    p.model.path, p.model_alias = file, {name}
    p.hostnames, p.port = ["127.0.0.1"], 0
    p.n_ctx, p.n_parallel = 4096, 1
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 1) - 1)
    p.use_jinja, p.ui, p.offline, p.endpoint_metrics = True, False, True, True
    server = xllamacpp.Server(p)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)  # the threads of the server have no other end


if __name__ == "__main__":
    main()
