"""The HTTP seam against a scripted server: closing, retries, the length of an answer."""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from tests.providers.conftest import (
    ANSWER,
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
from tests.waiting import PATIENCE
from tui_agent.core.types import Lost, ReplyEnd, RetryTick, TextDelta, Usage
from tui_agent.providers import anthropic, errors, http, openai_chat, silence, wire_of

# ------------------------------------------------------------------ closing


async def streaming(peer: Peer) -> None:
    await peer.head()
    await peer.send(chunk({"content": "one"}))
    await peer.until_gone()


async def test_closing_the_iterator_closes_the_connection(loopback: Any) -> None:
    server = await loopback(streaming)
    deltas = openai_chat.stream(profile(server.url), REQUEST, link())
    assert await anext(deltas) == TextDelta("one")
    await deltas.aclose()
    async with asyncio.timeout(PATIENCE):
        await server.ended.wait()


async def test_cancelling_while_waiting_closes_the_connection(loopback: Any) -> None:
    server = await loopback(streaming)
    seen = asyncio.Event()

    async def consume() -> None:
        async with aclosing(openai_chat.stream(profile(server.url), REQUEST, link())) as deltas:
            async for _ in deltas:
                seen.set()

    task = asyncio.create_task(consume())
    await seen.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(PATIENCE):
        await server.ended.wait()


async def test_cancelling_before_the_answer_closes_the_connection(loopback: Any) -> None:
    async def silent(peer: Peer) -> None:
        await peer.until_gone()

    server = await loopback(silent)
    task = asyncio.create_task(run(profile(server.url)))
    await server.came.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(PATIENCE):
        await server.ended.wait()


async def test_stops_reading_at_the_end_mark(loopback: Any) -> None:
    async def stays_open(peer: Peer) -> None:
        await peer.head()
        await peer.send(ANSWER)
        await peer.until_gone()

    server = await loopback(stays_open)
    deltas = await run(profile(server.url))
    assert text_of(deltas) == "ok"
    assert end_of(deltas).finish == "stop"


async def test_a_complete_reply_does_not_wait_for_a_server_that_stays_open(loopback: Any, monkeypatch: Any) -> None:
    async def no_mark(peer: Peer) -> None:
        await peer.head()
        await peer.send(chunk({"content": "ok"}, "stop"))
        await peer.until_gone()

    monkeypatch.setattr(silence, "GRACE", 0.05)
    server = await loopback(no_mark)
    end = end_of(await run(profile(server.url)))
    assert (end.finish, end.error) == ("stop", None)


# ------------------------------------------------------------------ retries


async def test_retries_before_the_first_delta_with_a_countdown(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        if peer.number < 2:
            await peer.answer(503, b'{"error":{"message":"Loading model"}}')
        else:
            await peer.answer()

    server = await loopback(script)
    slept: list[float] = []
    deltas = await run(profile(server.url), link(slept))
    assert text_of(deltas) == "ok"
    assert end_of(deltas).error is None
    assert len(server.peers) == 3
    ticks = [delta for delta in deltas if isinstance(delta, RetryTick)]
    assert [(t.attempt, t.seconds, t.whole) for t in ticks] == [(1, 1, 1), (1, 0, 1), (2, 2, 2), (2, 1, 2), (2, 0, 2)]
    assert {tick.tries for tick in ticks} == {http.MAX_TRIES}
    assert sum(slept) == 3.0
    assert all("loading model" in tick.error.message.lower() for tick in ticks)


@pytest.mark.parametrize(
    ("first", "kind"),
    [(b"", "protocol"), (b": keep-alive\n\n", "protocol"), (b'data: {"error":"model overloaded"}\n\n', "server")],
)
async def test_a_200_without_a_delta_is_tried_again(loopback: Any, first: bytes, kind: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(body=ANSWER if peer.number else first)

    server = await loopback(script)
    deltas = await run(profile(server.url))
    assert text_of(deltas) == "ok"
    assert {d.error.kind for d in deltas if isinstance(d, RetryTick)} == {kind}


async def test_never_again_after_a_delta(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.head()
        await peer.send(chunk({"content": "half"}))
        peer.reset()

    server = await loopback(script)
    deltas = await run(profile(server.url))
    assert text_of(deltas) == "half"
    assert error_of(deltas).kind == "network"
    assert error_of(deltas).retryable
    assert len(server.peers) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_what_cannot_heal_is_not_tried_again(loopback: Any, status: int) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(status, b'{"error":{"message":"no"}}')

    server = await loopback(script)
    assert not error_of(await run(profile(server.url))).retryable
    assert len(server.peers) == 1


@pytest.mark.parametrize(
    ("header", "least"),
    [("1", 1), ("0", 0), ("-5", 0), ("tomorrow", 0), ("1000000000", 60), ("nan", 0), ("inf", 0), ("", 0), ("2.5", 2.5)],
)
async def test_retry_after_is_honoured_and_bounded(loopback: Any, header: str, least: float) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(429, b'{"error":{"message":"slow down"}}', f"retry-after: {header}\r\n")

    server = await loopback(script)
    slept: list[float] = []
    deltas = await run(profile(server.url), link(slept))
    assert error_of(deltas).kind == "rate_limit"
    assert len(server.peers) == http.MAX_TRIES
    first = {tick.attempt: tick.seconds for tick in reversed([d for d in deltas if isinstance(d, RetryTick)])}
    assert sorted(first) == [1, 2, 3, 4, 5]
    assert all(max(least, 2 ** (attempt - 1)) == seconds or seconds == 60 for attempt, seconds in first.items())
    assert all(0 < step <= 1 for step in slept)
    assert sum(slept) == pytest.approx(sum(first.values()))


def test_retry_after_as_a_date_and_in_milliseconds() -> None:
    now = time.time()
    date = email.utils.formatdate(now + 20, usegmt=True)
    assert errors.retry_after({"retry-after": date}, now) == pytest.approx(20, abs=1.1)
    assert errors.retry_after({"retry-after": email.utils.formatdate(now - 20, usegmt=True)}, now) == 0
    assert errors.retry_after({"retry-after-ms": "1500", "retry-after": "9"}, now) == 1.5
    assert errors.retry_after({}, now) is None


async def test_the_number_of_tries_is_the_profiles(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(500, b"")

    server = await loopback(script)
    await run(profile(server.url, options={"retries": 1}))
    assert len(server.peers) == 2


async def test_cancel_during_the_countdown(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(503, b"")

    server = await loopback(script)
    deltas = openai_chat.stream(profile(server.url), REQUEST, link())
    assert isinstance(await anext(deltas), RetryTick)
    await deltas.aclose()
    assert len(server.peers) == 1


# ------------------------------------------------------------------ the length of an answer


@pytest.mark.parametrize(
    ("kind", "changes", "answer", "sent"),
    [
        ("anthropic", {}, None, {"max_tokens": 8192}),
        ("anthropic", {}, 9000, {"max_tokens": 8192}),
        ("anthropic", {}, 900, {"max_tokens": 900}),
        ("anthropic", {"generation": {"max_tokens": 64_000}}, 5000, {"max_tokens": 5000}),
        ("anthropic", {"effort": "high"}, 20_000, {"max_tokens": 20_000, "thinking.budget_tokens": 10_000}),
        ("anthropic", {"effort": "high"}, 50_000, {"max_tokens": 32_768, "thinking.budget_tokens": 24_576}),
        ("openai-chat", {}, 900, {"max_tokens": None, "max_completion_tokens": None}),
        ("openai-chat", {"generation": {"max_tokens": 4000}}, 900, {"max_tokens": 900}),
        ("openai-chat", {"generation": {"max_tokens": 4000}}, 4000, {"max_tokens": 4000}),
        ("openai-chat", {"generation": {"max_completion_tokens": 4000}}, 900, {"max_completion_tokens": 900}),
        ("ollama-native", {}, 900, {"options": None}),
        ("ollama-native", {"generation": {"max_tokens": 4000}}, 900, {"options.num_predict": 900}),
        ("ollama-native", {"generation": {"num_predict": -1}}, 900, {"options.num_predict": -1}),
    ],
)
async def test_no_longer_an_answer_is_asked_for_than_the_window_leaves(
    loopback: Any, kind: Any, changes: dict[str, Any], answer: int | None, sent: dict[str, Any]
) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(400, b"{}")

    server = await loopback(script)
    used = profile(server.url, type=kind.partition("-")[0], wire=kind, **changes)
    request = replace(REQUEST, answer=answer)
    async with aclosing(http.stream(wire_of(used), used, request, link())) as deltas:
        assert [isinstance(delta, ReplyEnd) async for delta in deltas] == [True]
    for name, value in sent.items():
        found = server.peers[0].body
        for part in name.split("."):
            found = found.get(part)
        assert found == value, name


async def test_a_try_that_is_made_again_says_what_it_took(loopback: Any) -> None:
    """Counted, where the server had counted; unknown, where it had the request and said nothing; nothing, where it refused."""
    begun = {"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}}
    failed = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    whole = {"type": "message", "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"}

    async def script(peer: Peer) -> None:
        if peer.number == 0:
            await peer.answer(503, b"")
        elif peer.number == 1:
            peer.reset()
        else:
            said = [begun, failed] if peer.number == 2 else [whole]
            await peer.answer(body=b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in said))

    server = await loopback(script)
    used = profile(server.url, wire="anthropic", type="anthropic")
    async with aclosing(anthropic.stream(used, REQUEST, link())) as deltas:
        got = [delta async for delta in deltas]
    assert [delta for delta in got if isinstance(delta, Lost)] == [Lost(None), Lost(Usage(7, None))]
    assert len(server.peers) == 4


@pytest.mark.parametrize(("retries", "tries"), [(0, 1), (False, 1), (2, 3), (99, 6), (True, 6), ("no number", 6)])
async def test_how_often_it_is_tried_is_for_the_profile_to_say(loopback: Any, retries: Any, tries: int) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(503, b"")

    server = await loopback(script)
    await run(profile(server.url, options={"retries": retries}))
    assert len(server.peers) == tries
