"""A scripted model server on loopback, speaking chat completions: it answers each request with the next reply."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Text:
    """A final answer."""

    text: str


@dataclass(frozen=True)
class Calls:
    """Tool calls as (name, arguments), with words before them."""

    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    text: str = ""


@dataclass(frozen=True)
class Failure:
    """An HTTP status with a body."""

    status: int
    body: bytes = b"{}"
    content_type: str = "application/json"


@dataclass(frozen=True)
class Stall:
    """A reply that begins with `text` and never ends."""

    text: str = "one moment"


Reply = Text | Calls | Failure | Stall


def call(name: str, text: str = "", **arguments: Any) -> Calls:
    """One tool call."""
    return Calls(((name, arguments),), text)


def chunks(reply: Text | Calls | Stall, number: int) -> Iterator[bytes]:
    """The server-sent events of a reply."""

    def event(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"

    if reply.text:
        yield event({"role": "assistant", "content": reply.text})
    if isinstance(reply, Stall):
        return
    if isinstance(reply, Calls):
        for index, (name, arguments) in enumerate(reply.calls):
            function = {"name": name, "arguments": json.dumps(arguments)}
            yield event({"tool_calls": [{"index": index, "id": f"c{number}-{index}", "function": function}]})
    yield event({}, "tool_calls" if isinstance(reply, Calls) else "stop")
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    yield b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\ndata: [DONE]\n\n"


@dataclass
class Server:
    """What was asked, and what will be answered; the last reply is repeated."""

    replies: Sequence[Reply]
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    got: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """What was asked for besides replies: paths and headers."""
    asked: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)

    def told(self, request: int = -1) -> list[str]:
        """The results of the tools, as the model was told in this request."""
        return [m["content"] for m in self.bodies[request]["messages"] if m["role"] == "tool"]


@contextmanager
def serving(*replies: Reply) -> Iterator[Server]:
    """A running server with these replies."""
    server = Server(replies)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.got.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
            known = {
                "/v1/models": {"data": [{"id": "m"}]},
                "/props": {"default_generation_settings": {"n_ctx": 32_768}},
            }
            self.send_response(200 if self.path in known else 404)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(known.get(self.path, {})).encode())

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            number = len(server.bodies)
            server.bodies.append(body)
            server.headers.append({k.lower(): v for k, v in self.headers.items()})
            reply = server.replies[min(number, len(server.replies) - 1)]
            failure = reply if isinstance(reply, Failure) else None
            self.send_response(failure.status if failure else 200)
            self.send_header("content-type", failure.content_type if failure else "text/event-stream")
            self.end_headers()
            for piece in [reply.body] if isinstance(reply, Failure) else chunks(reply, number):
                self.wfile.write(piece)
                self.wfile.flush()
            server.asked.set()
            if isinstance(reply, Stall):
                server.closing.wait(60)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        http.shutdown()
        http.server_close()
        thread.join()
