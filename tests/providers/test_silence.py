"""How long and how much a server may say: silence, floods, errors without an end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from tests.providers.conftest import (
    REQUEST,
    Peer,
    chunk,
    end_of,
    error_of,
    link,
    profile,
    run,
    text_of,
)
from tui_agent.core.profile import Timeouts
from tui_agent.core.types import ReasoningDelta, TextDelta
from tui_agent.providers import errors, http, openai_chat, silence
from tui_agent.providers.wire import WireFault
from tui_agent.sessions import LARGEST


@pytest.mark.parametrize(
    ("times", "sent", "every", "message"),
    [
        (Timeouts(first_event=0.1), b"", b"", "no answer within 0.1 s"),
        (Timeouts(first_event=0.1), b"", b": ping\n\n", "no answer within 0.1 s"),
        (Timeouts(idle=0.1), chunk({"content": "a"}), b"", "no bytes for 0.1 s"),
        (Timeouts(idle=0.1), chunk({"content": "a"})[:-3], b"", "no answer within"),
        (Timeouts(progress=1.5), chunk({"content": "a"}), b": ping\n\n", "nothing but keep-alives for 1.5 s"),
        (Timeouts(progress=0.1), chunk({"content": "a"}), b"", "no bytes for 0.1 s"),
        (Timeouts(idle=0.1, progress=0.1), chunk({"content": "a"}), b"", "no bytes for 0.1 s"),
        (Timeouts(progress=1.5), chunk({"content": "a"}), b"data: {}\n\n", "nothing but keep-alives for 1.5 s"),
    ],
)
async def test_limits_on_silence(loopback: Any, times: Timeouts, sent: bytes, every: bytes, message: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.head()
        await peer.send(sent)
        while not peer.reader.at_eof():
            await peer.send(every)
            await asyncio.sleep(0.01)

    if "within" in message:
        times = Timeouts(first_event=0.1, idle=times.idle)
    server = await loopback(script)
    deltas = await run(profile(server.url, timeouts=times, options={"retries": 0}))
    assert message in error_of(deltas).message
    assert error_of(deltas).kind == "network"
    assert text_of(deltas) == ("a" if sent.endswith(b"\n\n") else "")


async def test_no_answer_at_all(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.until_gone()

    server = await loopback(script)
    used = profile(server.url, timeouts=Timeouts(connect=600, first_event=0.05), options={"retries": 0})
    assert "no answer within 0.05 s" in error_of(await run(used)).message


async def test_the_wait_for_the_head_of_an_answer_counts_for_its_first_event() -> None:
    now = asyncio.get_running_loop().time()
    for waited, silent in ((599.0, False), (601.0, True)):
        limits = silence.Limits(Timeouts(), now - waited)
        reading = limits.read(one_piece(), openai_chat.decoder(profile("")))
        if silent:
            with pytest.raises(WireFault, match="no answer within 600 s"):
                await reading
        else:
            assert await reading == b": ping"
        limits.close()


async def test_while_this_program_was_stopped_the_server_was_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """After Ctrl+Z and a long pause what came meanwhile is read, and the limit goes on from where it was."""
    loop = asyncio.get_running_loop()
    clock, stopped, came = loop.time, 0.0, asyncio.Event()
    monkeypatch.setattr(loop, "time", lambda: clock() + stopped)

    async def chunks() -> AsyncIterator[bytes]:
        while True:
            await came.wait()
            came.clear()
            yield b": ping"

    limits, pieces = silence.Limits(Timeouts(first_event=60.0), loop.time()), chunks()
    decoder = openai_chat.decoder(profile(""))
    for _ in range(3):
        reading = asyncio.create_task(limits.read(pieces, decoder))
        await asyncio.sleep(0)
        stopped += 1000.0
        await asyncio.sleep(0)  # here the timer is found to be late
        await asyncio.sleep(0)
        came.set()
        assert await reading == b": ping"
    limits.close()
    await pieces.aclose()


async def one_piece() -> AsyncIterator[bytes]:
    yield b": ping"


async def test_a_slow_consumer_is_no_silence(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.head()
        for _ in range(3):
            await peer.send(chunk({"content": "a"}))
            await asyncio.sleep(0.02)
        await peer.send(chunk({}, "stop"))

    server = await loopback(script)
    got = []
    async with aclosing(
        openai_chat.stream(profile(server.url, timeouts=Timeouts(idle=0.4)), REQUEST, link())
    ) as deltas:
        async for delta in deltas:
            got.append(delta)
            await asyncio.sleep(0.5)
    assert text_of(got) == "aaa"
    assert end_of(got).error is None


@pytest.mark.parametrize(
    "piece", [b": no end of comments\n", b"data: x\n", b"no line end ", b'data: {"choices":[]}\n\n']
)
async def test_endless_bodies_are_cut(loopback: Any, monkeypatch: Any, piece: bytes) -> None:
    async def script(peer: Peer) -> None:
        await peer.head()
        while True:
            await peer.send(piece * 1000)

    monkeypatch.setattr(http, "MAX_RESPONSE", 1 << 20)
    server = await loopback(script)
    error = error_of(await run(profile(server.url)))
    assert (error.kind, error.retryable) == ("protocol", False)
    assert "longer than" in error.message


@pytest.mark.parametrize("member", ["content", "reasoning_content"])
async def test_a_flood_of_text_ends_long_before_it_makes_a_session_that_cannot_be_opened(
    loopback: Any, monkeypatch: pytest.MonkeyPatch, member: str
) -> None:
    piece = chunk({member: "y" * 5000})

    async def script(peer: Peer) -> None:
        await peer.head()
        while True:
            await peer.send(piece)

    assert 4 * http.MAX_SAID < LARGEST, "it is in the log twice, as checkpoints and whole"
    monkeypatch.setattr(http, "MAX_SAID", 1 << 20)
    server = await loopback(script)
    deltas = await run(profile(server.url))
    error = error_of(deltas)
    assert (error.kind, error.retryable, error.begun) == ("protocol", False, True)
    assert "longer than 1 million characters" in error.message
    said = sum(len(delta.text) for delta in deltas if isinstance(delta, TextDelta | ReasoningDelta))
    assert said >= 1 << 20, "what came is kept"


async def test_a_huge_error_body_is_not_read_to_its_end(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.head(502, "content-type: text/html\r\n")
        await peer.send(b"<html><title>502 Bad\x1b[31m Gateway</title>")
        while True:
            await peer.send(b"x" * 65536)

    server = await loopback(script)
    error = error_of(await run(profile(server.url, options={"retries": 0})))
    assert "502 Bad Gateway" in error.message
    assert len(error.message) <= errors.MAX_MESSAGE


@pytest.mark.parametrize("length", ["content-length: 1000\r\n", "transfer-encoding: chunked\r\n", ""])
@pytest.mark.parametrize("every", [b"", b"1\r\nx\r\n"])
async def test_the_body_of_an_error_is_waited_for_no_longer_than_a_moment(
    loopback: Any, length: str, every: bytes
) -> None:
    async def script(peer: Peer) -> None:
        await peer.head(500, f"content-type: text/plain\r\n{length}")
        while not peer.reader.at_eof():
            await peer.send(every)
            await asyncio.sleep(0.01)

    server = await loopback(script)
    used = profile(server.url, timeouts=Timeouts(idle=0.1), options={"retries": 1})
    deltas = await run(used, link([]))
    error = error_of(deltas)
    assert (error.kind, error.status, error.retryable) == ("server", 500, True)
    assert len(server.peers) == 2


@pytest.mark.parametrize("status", [400, 401, 429, 500])
async def test_an_error_whose_body_breaks_off_is_still_that_error(loopback: Any, status: int) -> None:
    async def script(peer: Peer) -> None:
        await peer.head(status, "content-length: 1000\r\n")
        await peer.send(b"the server's words")
        peer.writer.close()

    server = await loopback(script)
    error = error_of(await run(profile(server.url, options={"retries": 0})))
    assert error.status == status
    assert "the server's words" in error.message
