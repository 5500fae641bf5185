"""A scripted loopback server: each test says byte by byte what the other side does."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE
from tui_agent.core.profile import Profile
from tui_agent.core.types import Delta, ProviderError, ReplyEnd, Request, TextDelta, UserMessage
from tui_agent.providers import http, openai_chat

TLS = Path(__file__).resolve().parents[1] / "fixtures" / "tls"
"""A server's certificate and key for 127.0.0.1, and the authority that signed it and is trusted nowhere."""

KEY = "sk-CANARY-0123456789abcdef"
REQUEST = Request("", (UserMessage("hi"),))

Script = Callable[["Peer"], Awaitable[None]]
Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    body = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


ANSWER = chunk({"content": "ok"}) + chunk({}, "stop") + b"data: [DONE]\n\n"


@dataclass
class Peer:
    """One connection, after its request was read."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    number: int
    path: str
    headers: dict[str, str]
    body: Any

    async def head(self, status: int = 200, headers: str = "content-type: text/event-stream\r\n") -> None:
        await self.send(f"HTTP/1.1 {status} X\r\n{headers}connection: close\r\n\r\n".encode())

    async def answer(
        self, status: int = 200, body: bytes = ANSWER, headers: str = "content-type: text/event-stream\r\n"
    ) -> None:
        await self.head(status, f"{headers}content-length: {len(body)}\r\n")
        await self.send(body)

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def until_gone(self) -> None:
        try:
            while await self.reader.read(4096):
                pass
        except ConnectionError:
            return

    def reset(self) -> None:
        self.writer.transport.abort()


@dataclass
class Loopback:
    """The server: `script` plays on every connection; `came` and `ended` are set by the first one."""

    script: Script
    peers: list[Peer] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0
    scheme: str = "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/v1"

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            path = head[0].split(" ")[1]
            peer = Peer(reader, writer, len(self.peers), path, headers, json.loads(body) if body else None)
            self.peers.append(peer)
            self.came.set()
            await self.script(peer)
            self.ended.set()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def listening(connected: Connected, *, tls: bool = False) -> asyncio.Server:
    """A server on a free port of this machine, over TLS with the certificate of the fixtures."""
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "server.pem")
    return await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)


@pytest.fixture
async def loopback() -> AsyncIterator[Callable[[Script], Awaitable[Loopback]]]:
    servers: list[asyncio.Server] = []

    async def start(script: Script, *, tls: bool = False) -> Loopback:
        made = Loopback(script, scheme="https" if tls else "http")
        server = await listening(made._connected, tls=tls)
        made.port = server.sockets[0].getsockname()[1]
        servers.append(server)
        return made

    yield start
    for server in servers:
        server.close()


# ------------------------------------------------------------------ one call of a model


def profile(url: str, **changes: Any) -> Profile:
    return Profile(**{"name": "p", "endpoint": url, "model": "m", "api_key_env": "SOME_KEY"} | changes)


def link(slept: list[float] | None = None, env: dict[str, str] | None = None) -> http.Link:
    async def sleep(seconds: float) -> None:
        if slept is not None:
            slept.append(seconds)
        await asyncio.sleep(0)

    return http.Link(env={"SOME_KEY": KEY} if env is None else env, sleep=sleep, jitter=lambda: 1.0)


async def run(used: Profile, through: http.Link | None = None, request: Request = REQUEST) -> list[Delta]:
    async with asyncio.timeout(PATIENCE), aclosing(openai_chat.stream(used, request, through or link())) as deltas:
        return [delta async for delta in deltas]


def end_of(deltas: list[Delta]) -> ReplyEnd:
    assert sum(isinstance(delta, ReplyEnd) for delta in deltas) == 1
    assert isinstance(deltas[-1], ReplyEnd)
    return deltas[-1]


def error_of(deltas: list[Delta]) -> ProviderError:
    error = end_of(deltas).error
    assert error is not None
    assert KEY not in error.message
    return error


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
