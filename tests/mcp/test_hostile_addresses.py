"""Servers at an address that behave badly: they flood without a message, or forget whom they talked with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.mcp.conftest import one, request, running
from tests.waiting import until
from tui_agent.core.servers import ServerConfig


class Peer:
    """A server of one tool. It knows only who greeted it last: all others get `refusal`. `floods`: it sends comments without end.

    `silent`: it answers no call.
    """

    def __init__(self, *, floods: bool = False, refusal: bytes = b"", silent: bool = False) -> None:
        self.floods, self.refusal, self.silent = floods, refusal, silent
        self.session = 0
        self.calls = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                fields = dict(line.split(": ", 1) for line in head.splitlines()[1:] if line)
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                await self.answer(head.split()[0], fields, json.loads(body) if body else {}, writer)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()

    async def answer(self, verb: str, head: dict[str, str], message: Any, writer: asyncio.StreamWriter) -> None:
        if verb == "get" and self.floods:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            while True:
                writer.write(b": " + b"x" * 65_536 + b"\n")
                await writer.drain()
        method, more = message.get("method"), b""
        if method == "initialize":
            self.session += 1
            more = b"mcp-session-id: %d\r\n" % self.session
            result: Any = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "peer"}}
        elif verb == "post" and head.get("mcp-session-id") != str(self.session):
            self.put(writer, b"400 Bad Request", self.refusal)
            return
        elif method == "tools/list":
            result = {"tools": [{"name": "go", "inputSchema": {"type": "object"}}]}
        elif method == "tools/call":
            self.calls += 1
            if self.silent:
                return
            result = {"content": [{"type": "text", "text": "done"}]}
        else:
            self.put(writer, b"405 None" if verb == "get" else b"202 Accepted", b"")
            return
        self.put(
            writer, b"200 OK", json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode(), more
        )

    def put(self, writer: asyncio.StreamWriter, status: bytes, body: bytes, more: bytes = b"") -> None:
        head = b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n" % (status, len(body))
        writer.write(head + more + b"\r\n" + body)


@asynccontextmanager
async def at(peer: Peer) -> AsyncIterator[str]:
    serving = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{serving.sockets[0].getsockname()[1]}/mcp"
    finally:
        serving.close()


async def test_a_flood_of_comments_ends_the_server(tmp_path: Path) -> None:
    async with at(Peer(floods=True)) as url, running(tmp_path, ServerConfig("s", tmp_path / "c", url=url)) as servers:
        await until(lambda: one(servers).state == "waiting")
        assert "bytes without a message" in one(servers).fault
        assert "started again when it is needed" in servers.remarks()[0]


async def test_one_that_says_in_words_that_it_forgot_the_session_is_greeted_anew(tmp_path: Path) -> None:
    peer = Peer(refusal=b'{"error": {"message": "Bad Request: No valid session ID provided"}}')
    async with at(peer) as url, running(tmp_path, ServerConfig("s", tmp_path / "c", url=url)) as servers:
        effect = request(servers, "s/go")
        peer.session += 1
        assert "done" in (await servers.call(effect)).text
        assert peer.calls == 1


async def test_all_calls_that_a_server_forgot_are_made_again_and_each_once(tmp_path: Path) -> None:
    peer = Peer(refusal=b'{"error": {"message": "Session not found"}}')
    async with at(peer) as url, running(tmp_path, ServerConfig("s", tmp_path / "c", url=url)) as servers:
        effects = [request(servers, "s/go") for _ in range(4)]
        peer.session += 1
        said = await asyncio.gather(*map(servers.call, effects))
        assert ["done" in answer.text for answer in said] == [True] * 4, said
        assert peer.calls == 4


async def test_one_that_never_says_what_became_of_a_call_is_not_asked_twice(tmp_path: Path) -> None:
    peer = Peer(refusal=b'{"error": {"message": "Session not found"}}', silent=True)
    async with at(peer) as url, running(tmp_path, ServerConfig("s", tmp_path / "c", url=url)) as servers:
        first = asyncio.ensure_future(servers.call(request(servers, "s/go")))
        await until(lambda: peer.calls == 1)
        peer.session, peer.silent = peer.session + 1, False
        assert "done" in (await servers.call(request(servers, "s/go"))).text
        assert "What it did by then is not known" in (await first).text
        assert peer.calls == 2


async def test_another_refusal_is_no_reason_to_ask_again(tmp_path: Path) -> None:
    peer = Peer(refusal=b"nonsense")
    async with at(peer) as url, running(tmp_path, ServerConfig("s", tmp_path / "c", url=url)) as servers:
        effect = request(servers, "s/go")
        peer.session += 1
        said = await servers.call(effect)
        assert (said.failed, peer.calls) == (True, 0)
        assert "HTTP 400" in said.text
