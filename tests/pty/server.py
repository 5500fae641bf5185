"""A model server on loopback that says a few words and then stalls, until the client hangs up."""

from __future__ import annotations

import json
import select
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


def chunk(text: str | None, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


class StallingServer:
    """The first `stalls` answers begin with "thinking aloud" and never go on; later ones are "all is well".

    With `refusal` every request is refused with these words. With `drip` a stalled answer goes on with this text
    for ever, some twenty times a second.

    `closed` is set when a client closed a stalled answer; `requests` are the bodies that came.
    """

    def __init__(self, *, stalls: int = 1, refusal: str | None = None, drip: str = "") -> None:
        self.requests: list[Any] = []
        self.closed = threading.Event()
        self._stop = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.requests.append(json.loads(body))
                if refusal is not None:
                    answer = json.dumps({"error": {"message": refusal}}).encode()
                    self.send_response(400)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                    return
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                if len(outer.requests) <= stalls:
                    self.wfile.write(chunk("thinking aloud"))
                    outer.wait_for_close(self.connection, chunk(drip) if drip else b"")
                else:
                    self.wfile.write(chunk("all is well") + chunk(None, "stop") + b"data: [DONE]\n\n")

            def log_message(self, *_: object) -> None:
                """Say nothing on the test's own terminal."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def wait_for_close(self, connection: Any, drip: bytes) -> None:
        while not self._stop.is_set():
            try:
                connection.sendall(drip)
                if select.select((connection,), (), (), 0.05)[0]:
                    if not connection.recv(1024):
                        self.closed.set()
                    return
            except OSError:
                self.closed.set()
                return

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()
