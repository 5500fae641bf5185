"""What a server-sent event costs: CPU microseconds for each, decoding alone and the whole way from the socket.

    python bench/providers.py [EVENTS] [RUNS]

The same chat-completion events (20,000 unless given) go through a bare `json.loads`, through httpx-sse with
`json.loads`, and through this product; once from memory, in pieces of 4 KiB, and once from a server on loopback that is a
process of its own. Prints the median of RUNS (5 unless given) of this process's CPU time.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tui_agent.core.profile import Profile
from tui_agent.core.secrets import Secrets
from tui_agent.core.types import ReplyEnd, Request, TextDelta, UserMessage
from tui_agent.providers import connection, http, openai_chat
from tui_agent.providers.masking import Mask
from tui_agent.providers.sse import SseDecoder

PIECE = 4096
ENV = {"BENCH_KEY": "sk-0123456789abcdefghijklmnopqrstuvwxyz"}
"""There is a key, so every delta passes the stage that hides it."""
TOKENS = ("Good", ": the", " message", " for", " `\\x`", " stays", ".\n", " ünïcode", ' "quoted"', " 12")


def payloads(count: int) -> list[str]:
    """The JSON texts of a reply of `count` events, as a vendor sends them."""
    frame = {"id": "chatcmpl-0123456789", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m"}
    texts = [
        {**frame, "choices": [{"index": 0, "delta": {"content": TOKENS[n % 10]}, "finish_reason": None}]}
        for n in range(count - 1)
    ]
    texts.append({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return [json.dumps(text, ensure_ascii=False) for text in texts]


def body_of(events: list[str]) -> bytes:
    """The stream that they make."""
    return "".join(f"data: {text}\n\n" for text in [*events, "[DONE]"]).encode()


def cpu(work: Callable[[], int], count: int, runs: int) -> float:
    """Microseconds of CPU for each event, the median of some runs; `work` returns how many events it saw."""
    spent = []
    for _ in range(runs):
        started = time.process_time()
        seen = work()
        spent.append(time.process_time() - started)
        assert seen >= count - 1, f"only {seen} of {count} events came through"
    return 1e6 * median(spent) / count


# ------------------------------------------------------------------ from memory


def bare(events: list[str]) -> int:
    for text in events:
        json.loads(text)
    return len(events)


def framing(body: bytes) -> int:
    decoder = SseDecoder()
    return sum(len(list(decoder.feed(body[at : at + PIECE]))) for at in range(0, len(body), PIECE))


def product(body: bytes, profile: Profile) -> int:
    decoder = openai_chat.decoder(profile)
    seen = sum(len(decoder.feed(body[at : at + PIECE])) for at in range(0, len(body), PIECE))
    end = decoder.finish()[-1]
    assert isinstance(end, ReplyEnd)
    assert end.error is None
    return seen


def masked(body: bytes, profile: Profile) -> int:
    decoder, mask = openai_chat.decoder(profile), Mask(Secrets(ENV.values()))
    return sum(len(mask.through(decoder.feed(body[at : at + PIECE]))) for at in range(0, len(body), PIECE))


def peer(body: bytes) -> int:
    """httpx-sse over the same pieces: its lines, its decoder, then `json.loads`."""
    from httpx_sse._decoders import SSEDecoder, SSELineDecoder

    lines, decoder, seen = SSELineDecoder(), SSEDecoder(), 0
    text = body.decode()
    for at in range(0, len(text), PIECE):
        for line in lines.decode(text[at : at + PIECE]):
            event = decoder.decode(line)
            if event is not None and event.data != "[DONE]":
                json.loads(event.data)
                seen += 1
    return seen


# ------------------------------------------------------------------ from a socket


async def from_socket(profile: Profile) -> int:
    seen = 0
    async for delta in openai_chat.stream(profile, Request("", (UserMessage("hi"),)), http.Link(env=ENV)):
        if isinstance(delta, TextDelta):
            seen += 1
        assert not isinstance(delta, ReplyEnd) or delta.error is None
    return seen


async def peer_from_socket(url: str) -> int:
    import httpx
    from httpx_sse import aconnect_sse

    seen = 0
    async with (
        httpx.AsyncClient(trust_env=False, timeout=60) as client,
        aconnect_sse(client, "POST", url, json={}) as source,
    ):
        async for event in source.aiter_sse():
            if event.data == "[DONE]":
                break
            json.loads(event.data)
            seen += 1
    return seen


async def reading_only(url: str, count: int) -> int:
    """The bytes and nothing else: what httpx takes of both."""
    import httpx

    async with (
        httpx.AsyncClient(trust_env=False, timeout=60) as client,
        client.stream("POST", url, json={}) as response,
    ):
        size = 0
        async for data in response.aiter_raw():
            size += len(data)
    return count if size else 0


def serve(count: int) -> None:
    """Serve the stream to whoever asks, until standard input ends."""
    body = body_of(payloads(count))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            for at in range(0, len(body), PIECE):
                self.wfile.write(body[at : at + PIECE])

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    events = payloads(count)
    body = body_of(events)
    profile = Profile("bench", endpoint="http://127.0.0.1:9/v1", model="m", local=True)
    print(f"{count:,} events, {len(body) / count:.0f} bytes each; CPU microseconds for one event, median of {runs}")
    rows: list[tuple[str, Callable[[], int]]] = [
        ("json.loads alone", lambda: bare(events)),
        ("our framing alone", lambda: framing(body)),
        ("our decoder: bytes to deltas", lambda: product(body, profile)),
        ("our decoder, keys hidden", lambda: masked(body, profile)),
        ("httpx-sse and json.loads", lambda: peer(body)),
    ]
    with subprocess.Popen([sys.executable, __file__, "--serve", str(count)], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            there = Profile("bench", endpoint=url, model="m", local=True, api_key_env="BENCH_KEY")
            chat = f"{url}/chat/completions"
            rows += [
                ("socket: httpx, bytes only", lambda: asyncio.run(reading_only(chat, count))),
                ("socket: our whole provider path", lambda: asyncio.run(from_socket(there))),
                ("socket: httpx-sse and json.loads", lambda: asyncio.run(peer_from_socket(chat))),
            ]
            connection.load_httpx()
            for name, work in rows:
                work()
                print(f"  {name:<34}{cpu(work, count, runs):8.2f}", flush=True)
        finally:
            server.kill()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(int(sys.argv[2]))
    else:
        main()
