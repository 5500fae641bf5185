"""Connections are kept between the calls of a process, closed at its end, and never stand in the way of an answer."""

from __future__ import annotations

import asyncio
import gzip
import sys
import threading
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
from httpcore import AsyncHTTP11Connection, ReadError
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.conftest import ANSWER, REQUEST, TLS, chunk, listening
from tests.waiting import PATIENCE
from tui_agent.core.profile import Profile
from tui_agent.core.types import Delta, ReplyEnd, RetryTick, TextDelta
from tui_agent.providers import connection, openai_chat
from tui_agent.providers.connection import PIECE, inflating
from tui_agent.providers.http import Link
from tui_agent.providers.models import list_models
from tui_agent.providers.network import Network

WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def piece(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


GOOD = WHOLE + piece(ANSWER) + END


@dataclass
class Keeping:
    """A server that answers as often as it is asked on one connection. `answer` gives the bytes, None to hang up."""

    answer: Callable[[int, int], bytes | None]
    """For (connection, request of all)."""
    connections: int = 0
    requests: int = 0
    port: int = 0
    scheme: str = "http"
    gone: list[asyncio.Event] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/v1"

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self.connections = self.connections, self.connections + 1
        gone = asyncio.Event()
        self.gone.append(gone)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = head.partition("content-length: ")[2].partition("\r\n")[0]
                await reader.readexactly(int(length or 0))
                self.requests += 1
                said = self.answer(number, self.requests)
                if said is None:
                    break
                writer.write(said)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            gone.set()


@asynccontextmanager
async def serving(answer: Callable[[int, int], bytes | None], *, tls: bool = False) -> AsyncIterator[Keeping]:
    made = Keeping(answer, scheme="https" if tls else "http")
    server = await listening(made.connected, tls=tls)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()


def profile(server: Keeping, **options: Any) -> Profile:
    return Profile("p", endpoint=server.url, model="m", options={"ca_file": str(TLS / "authority.pem"), **options})


async def run(used: Profile, network: Network) -> list[Delta]:
    link = Link(env={}, network=network, jitter=lambda: 0.0)
    async with asyncio.timeout(PATIENCE), aclosing(openai_chat.stream(used, REQUEST, link)) as deltas:
        return [delta async for delta in deltas]


def said(deltas: list[Delta]) -> str:
    """The text of a reply that came at the first try and is whole."""
    assert not [delta for delta in deltas if isinstance(delta, RetryTick)]
    assert isinstance(end := deltas[-1], ReplyEnd)
    assert end.error is None
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


@pytest.mark.parametrize("tls", [False, True])
async def test_one_connection_serves_all_calls_and_is_closed_at_the_end(tls: bool) -> None:
    network = Network()
    async with serving(lambda *_: GOOD, tls=tls) as server:
        async with network.kept():
            assert [said(await run(profile(server), network)) for _ in range(3)] == ["ok"] * 3
            assert (server.connections, server.requests) == (1, 3)
            assert not server.gone[0].is_set()
        async with asyncio.timeout(PATIENCE):
            await server.gone[0].wait()
        assert network.clients is None
        assert said(await run(profile(server), network)) == "ok"
        assert server.connections == 2


async def test_without_anybody_who_keeps_them_each_call_has_its_own() -> None:
    async with serving(lambda *_: GOOD) as server:
        for _ in range(2):
            said(await run(profile(server), Network()))
        assert server.connections == 2


async def test_other_settings_have_another_connection() -> None:
    network = Network()
    async with serving(lambda *_: GOOD, tls=True) as server, network.kept():
        said(await run(profile(server), network))
        untrusting = Profile("q", endpoint=server.url, model="m", options={"retries": 0})
        end = (await run(untrusting, network))[-1]
        assert isinstance(end, ReplyEnd)
        assert end.error is not None
        assert "is not trusted" in end.error.message


async def test_a_request_that_the_server_took_and_did_not_answer_is_tried_again_visibly() -> None:
    """It hangs up when the second request has come, and may have acted on it."""
    network = Network()
    async with serving(lambda connection, request: None if connection == 0 and request == 2 else GOOD) as server:
        async with network.kept():
            assert said(await run(profile(server), network)) == "ok"
            deltas = await run(profile(server), network)
        ticks = [delta for delta in deltas if isinstance(delta, RetryTick)]
        assert ticks
        assert "closed the connection" in ticks[0].error.message
        assert TextDelta("ok") in deltas
        assert (server.connections, server.requests) == (2, 3)


async def test_a_kept_connection_that_takes_nothing_is_replaced_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    network, refused = Network(), []
    write = AsyncHTTP11Connection._send_request_headers

    async def gone(self: AsyncHTTP11Connection, request: Any) -> None:
        if self._request_count > 1 and not refused:
            refused.append(request)
            raise ReadError
        await write(self, request)

    monkeypatch.setattr(AsyncHTTP11Connection, "_send_request_headers", gone)
    async with serving(lambda *_: GOOD) as server, network.kept():
        assert [said(await run(profile(server), network)) for _ in range(2)] == ["ok"] * 2
        assert len(refused) == 1
        assert (server.connections, server.requests) == (2, 2)


async def test_a_server_that_always_hangs_up_is_asked_no_more_often_than_is_told() -> None:
    network = Network()
    async with serving(lambda _, request: GOOD if request == 1 else None) as server, network.kept():
        assert said(await run(profile(server), network)) == "ok"
        end = (await run(profile(server, retries=0), network))[-1]
        assert isinstance(end, ReplyEnd)
        assert end.error is not None
        assert (end.error.kind, end.error.retryable) == ("network", True)
        assert (server.connections, server.requests) == (1, 2)


async def test_what_was_broken_off_is_not_used_again() -> None:
    network = Network()
    begun = WHOLE + piece(chunk({"content": "one"}))
    async with serving(lambda connection, _: begun if connection == 0 else GOOD) as server, network.kept():
        deltas = openai_chat.stream(profile(server), REQUEST, Link(env={}, network=network))
        assert await anext(deltas) == TextDelta("one")
        await deltas.aclose()
        assert said(await run(profile(server), network)) == "ok"
        assert server.connections == 2


async def test_an_answer_does_not_wait_for_a_body_that_never_ends() -> None:
    network = Network()
    async with serving(lambda *_: WHOLE + piece(ANSWER)) as server, network.kept():
        assert [said(await run(profile(server), network)) for _ in range(2)] == ["ok", "ok"]
        assert server.connections == 2


async def test_a_refusal_and_a_list_of_models_leave_the_connection_open() -> None:
    refusal = b'HTTP/1.1 400 Bad\r\ncontent-length: 29\r\n\r\n{"error":{"message":"never"}}'
    models = b'HTTP/1.1 200 OK\r\ncontent-length: 24\r\n\r\n{"data":[{"id":"abcd"}]}'
    network = Network()
    async with serving(lambda _, request: (refusal, models, GOOD)[request - 1]) as server, network.kept():
        end = (await run(profile(server), network))[-1]
        assert isinstance(end, ReplyEnd)
        assert end.error is not None
        assert [m.id for m in await list_models(profile(server), env={}, network=network)] == ["abcd"]
        assert said(await run(profile(server), network)) == "ok"
        assert server.connections == 1


# ------------------------------------------------------------------ packed bodies


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
@given(data=st.data(), body=st.binary(max_size=300_000))
def test_what_was_packed_is_unpacked_in_pieces_however_it_comes(
    encoding: str, pack: Any, data: Any, body: bytes
) -> None:
    packed, out = pack(body), b""
    inflate = inflating(f" {encoding.upper()} ")
    assert inflate is not None
    at = 0
    while at < len(packed):
        size = data.draw(st.integers(1, len(packed)))
        for one in inflate(packed[at : at + size]):
            assert len(one) <= PIECE
            out += one
        at += size
    assert out == body
    assert inflating("") is inflating("br") is None


def test_several_gzip_files_are_one_body_and_what_else_stands_behind_them_is_left_out() -> None:
    inflate = inflating("gzip")
    assert inflate is not None
    whole = gzip.compress(b"one ") + gzip.compress(b"two") + b"no gzip at all" + gzip.compress(b"never")
    assert b"".join(piece for at in range(len(whole)) for piece in inflate(whole[at : at + 1])) == b"one two"


async def test_a_body_packed_in_a_way_that_nobody_asked_for_is_told_by_its_name() -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: BR\r\ncontent-length: 4\r\n\r\n\x8b\x02\x80a"
    async with serving(lambda *_: head) as server:
        end = (await run(profile(server), Network()))[-1]
    assert isinstance(end, ReplyEnd)
    assert end.error is not None
    assert (end.error.kind, end.error.retryable) == ("protocol", False)
    assert end.error.message.endswith(" sent a body packed as br: nobody asked for that")


@pytest.mark.parametrize("status", [200, 500])
async def test_a_body_that_unpacks_to_gigabytes_is_cut_before_it_does(status: int) -> None:
    bomb = zlib.compress(b"data: " + bytes(120_000_000), 1)
    head = f"HTTP/1.1 {status} X\r\ncontent-encoding: deflate\r\ncontent-length: {len(bomb)}\r\n\r\n".encode()
    async with serving(lambda *_: head + bomb) as server:
        tracemalloc.start()
        end = (await run(profile(server, retries=0), Network()))[-1]
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert isinstance(end, ReplyEnd)
    assert end.error is not None
    assert end.error.kind == ("protocol" if status == 200 else "server")
    assert most < 64_000_000


# ------------------------------------------------------------------ the countdown


async def test_who_is_impatient_has_the_next_try_at_once() -> None:
    failed = b"HTTP/1.1 503 No\r\ncontent-length: 0\r\nretry-after: 50\r\n\r\n"
    network = Network()
    async with serving(lambda _, request: GOOD if request == 3 else failed) as server:
        ticks: list[RetryTick] = []
        async with (
            asyncio.timeout(PATIENCE),
            aclosing(openai_chat.stream(profile(server), REQUEST, Link(env={}, network=network))) as deltas,
        ):
            async for delta in deltas:
                if isinstance(delta, RetryTick) and delta.seconds:
                    ticks.append(delta)
                    asyncio.get_running_loop().call_soon(network.impatient.set)
        assert [(t.attempt, t.tries, t.seconds, t.whole) for t in ticks] == [(1, 6, 50, 50), (2, 6, 50, 50)]
        assert server.requests == 3


def test_a_module_that_another_thread_still_imports_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    began, go = threading.Event(), threading.Event()

    def slowly(name: str) -> ModuleType:
        sys.modules[name] = half = ModuleType(name)
        began.set()
        assert go.wait(PATIENCE)
        half.whole = True  # type: ignore[attr-defined]
        return half

    monkeypatch.setitem(sys.modules, "httpx", sys)  # what is there now comes back, or nothing does
    del sys.modules["httpx"]
    monkeypatch.setattr(connection.importlib, "import_module", slowly)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(connection.load_httpx)
        assert began.wait(PATIENCE)
        second = pool.submit(lambda: hasattr(connection.load_httpx(), "whole"))
        wait((second,), 0.2)  # for as long as it would take to get the half of it
        go.set()
        assert second.result()
