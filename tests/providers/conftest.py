"""A scripted loopback server: each test says byte by byte what the other side does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

Script = Callable[["Peer"], Awaitable[None]]


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

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

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


@pytest.fixture
async def loopback() -> AsyncIterator[Callable[[Script], Awaitable[Loopback]]]:
    servers: list[asyncio.Server] = []

    async def start(script: Script) -> Loopback:
        made = Loopback(script)
        server = await asyncio.start_server(made._connected, "127.0.0.1", 0)
        made.port = server.sockets[0].getsockname()[1]
        servers.append(server)
        return made

    yield start
    for server in servers:
        server.close()
