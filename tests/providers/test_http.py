"""The HTTP seam against a scripted server: closing, retries, limits, keys, redirects."""

from __future__ import annotations

import asyncio
import email.utils
import socket
import ssl
import subprocess
import sys
import time
from contextlib import aclosing
from typing import Any

import pytest

from tests.providers.conftest import ANSWER, Peer, chunk
from tui_agent.core.profile import Profile, Timeouts
from tui_agent.core.types import Delta, ProviderError, ReplyEnd, Request, RetryTick, TextDelta, UserMessage
from tui_agent.providers import errors, http, openai_chat

KEY = "sk-CANARY-0123456789abcdef"
REQUEST = Request("", (UserMessage("hi"),))


def profile(url: str, **changes: Any) -> Profile:
    return Profile(**{"name": "p", "endpoint": url, "model": "m", "api_key_env": "SOME_KEY"} | changes)


def link(slept: list[float] | None = None, env: dict[str, str] | None = None) -> http.Link:
    async def sleep(seconds: float) -> None:
        if slept is not None:
            slept.append(seconds)
        await asyncio.sleep(0)

    return http.Link(env={"SOME_KEY": KEY} if env is None else env, sleep=sleep, jitter=lambda: 1.0)


async def run(used: Profile, through: http.Link | None = None, request: Request = REQUEST) -> list[Delta]:
    async with asyncio.timeout(10), aclosing(openai_chat.stream(used, request, through or link())) as deltas:
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
    async with asyncio.timeout(5):
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
    async with asyncio.timeout(5):
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
    async with asyncio.timeout(5):
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

    monkeypatch.setattr(http, "GRACE", 0.05)
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
    assert [(tick.attempt, tick.seconds) for tick in ticks] == [(1, 1.0), (2, 2.0), (2, 1.0)]
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
    assert [d.error.kind for d in deltas if isinstance(d, RetryTick)] == [kind]


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


# ------------------------------------------------------------------ silence and size


@pytest.mark.parametrize(
    ("times", "sent", "every", "message"),
    [
        (Timeouts(first_event=0.1), b"", b"", "no answer within 0.1 s"),
        (Timeouts(first_event=0.1), b"", b": ping\n\n", "no answer within 0.1 s"),
        (Timeouts(idle=0.1), chunk({"content": "a"}), b"", "no bytes for 0.1 s"),
        (Timeouts(idle=0.1), chunk({"content": "a"})[:-3], b"", "no answer within"),
        (Timeouts(progress=0.1), chunk({"content": "a"}), b": ping\n\n", "nothing but keep-alives for 0.1 s"),
        (Timeouts(progress=0.1), chunk({"content": "a"}), b"data: {}\n\n", "nothing but keep-alives for 0.1 s"),
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
    used = profile(server.url, timeouts=Timeouts(connect=0.05, first_event=0.05), options={"retries": 0})
    assert "no answer within" in error_of(await run(used)).message


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
        openai_chat.stream(profile(server.url, timeouts=Timeouts(idle=0.1)), REQUEST, link())
    ) as deltas:
        async for delta in deltas:
            got.append(delta)
            await asyncio.sleep(0.15)
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


async def test_a_huge_error_body_is_not_read_to_its_end(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.head(502, "content-type: text/html\r\n")
        await peer.send(b"<html><title>502 Bad\x1b[31m Gateway</title>")
        while True:
            await peer.send(b"x" * 65536)

    server = await loopback(script)
    error = error_of(await run(profile(server.url, options={"retries": 0})))
    assert "502 Bad [31m Gateway" in error.message
    assert len(error.message) <= errors.MAX_MESSAGE


# ------------------------------------------------------------------ keys and origins


@pytest.mark.parametrize("status", [200, 400, 401, 500])
@pytest.mark.parametrize("echo", ['{{"error":{{"message":"bad key {}"}}}}', "<html><h1>{}</h1></html>", "{}"])
async def test_no_key_in_any_error(loopback: Any, status: int, echo: str) -> None:
    async def script(peer: Peer) -> None:
        got = f"{peer.headers['authorization']} {peer.headers['x-team']}"
        await peer.answer(status, echo.format(got).encode())

    server = await loopback(script)
    used = profile(server.url, options={"retries": 0}, headers={"X-Team": "team-secret-99"})
    error = error_of(await run(used))
    assert "team-secret-99" not in error.message
    assert "CANARY" not in error.message


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "the key comes from SOME_KEY of profile 'p'"),
        ({"api_key_cmd": (sys.executable, "-c", "print(1)")}, "the key comes from api_key_cmd"),
        ({"api_key_env": None}, "no key was sent: set api_key_env"),
    ],
)
async def test_a_refused_key_is_told_with_its_source(loopback: Any, changes: dict[str, Any], told: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(401, b"")

    server = await loopback(script)
    error = error_of(await run(profile(server.url, **changes)))
    assert error.kind == "auth"
    assert told in error.message


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_reported_not_followed(loopback: Any, status: int) -> None:
    async def script(peer: Peer) -> None:
        other = f"location: http://localhost:{server.port}/v1/chat/completions?key={KEY}\r\n"
        await peer.answer(status, b"", other)

    server = await loopback(script)
    error = error_of(await run(profile(server.url)))
    assert f"http://127.0.0.1:{server.port} redirects to http://localhost:{server.port}" in error.message
    assert not error.retryable
    assert len(server.peers) == 1


async def test_the_key_is_read_for_every_call(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script)
    env = {"SOME_KEY": "first-key"}
    through = link(env=env)
    await run(profile(server.url), through)
    env["SOME_KEY"] = "second-key"
    await run(profile(server.url), through)
    del env["SOME_KEY"]
    error = error_of(await run(profile(server.url), through))
    assert error.kind == "auth"
    assert "SOME_KEY" in error.message
    assert [peer.headers["authorization"] for peer in server.peers] == ["Bearer first-key", "Bearer second-key"]


@pytest.mark.parametrize("key", ["sk 1 2", "a\nb", "a\r\nX-Evil: 1", "schlüssel", "tab\t"])
async def test_an_unusable_key_sends_no_request(loopback: Any, key: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script)
    error = error_of(await run(profile(server.url), link(env={"SOME_KEY": key})))
    assert "SOME_KEY" in error.message
    assert key not in error.message
    assert server.peers == []


async def test_a_local_profile_needs_no_key(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script)
    await run(profile(server.url, local=True), link(env={}))
    assert "authorization" not in server.peers[0].headers


async def test_key_from_a_command(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script)
    python = (sys.executable, "-c")
    await run(profile(server.url, api_key_cmd=(*python, "print('from-command')")), link(env={}))
    assert server.peers[0].headers["authorization"] == "Bearer from-command"
    for command in ((*python, "raise SystemExit(3)"), (*python, "pass"), ("/nowhere/at/all",)):
        error = error_of(await run(profile(server.url, api_key_cmd=command), link(env={})))
        assert error.kind == "auth"
        assert "api_key_cmd" in error.message
    assert len(server.peers) == 1


async def test_headers_and_path(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script)
    used = profile(f"{server.url}/?version=1", headers={"User-Agent": "mine", "X-A": "b"})
    await run(used)
    peer = server.peers[0]
    assert peer.path == "/v1/chat/completions?version=1"
    assert peer.headers["user-agent"] == "mine"
    assert peer.headers["x-a"] == "b"
    assert peer.headers["content-type"] == "application/json"
    assert peer.body == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "user", "content": "hi"}],
    }


@pytest.mark.parametrize(
    ("endpoint", "path", "url"),
    [
        ("http://h/v1", "/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1/", "/chat/completions", "http://h/v1/chat/completions"),
        ("http://h/v1/chat/completions", "/chat/completions", "http://h/v1/chat/completions"),
        ("https://h", "/v1/messages", "https://h/v1/messages"),
        ("https://h/x/v1", "/v1/messages", "https://h/x/v1/messages"),
        ("http://h:11434/api", "/api/chat", "http://h:11434/api/chat"),
        ("http://h:11434", "/api/chat", "http://h:11434/api/chat"),
    ],
)
def test_endpoint_and_path(endpoint: str, path: str, url: str) -> None:
    assert http.endpoint_url(profile(endpoint), path) == url


# ------------------------------------------------------------------ connections


async def test_failures_of_the_connection_are_one_sentence() -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}"
        once = {"options": {"retries": 0}}
        refused = error_of(await run(profile(closed, **once)))
    assert (refused.kind, refused.retryable) == ("network", True)
    assert refused.message == f"{closed} refuses connections: is the server running?"
    no_tls = error_of(await run(profile(f"https://127.0.0.1:{port}", **once)))
    server.close()
    assert (no_tls.kind, no_tls.retryable) == ("network", False)
    assert "really https" in no_tls.message
    bad_ca = error_of(await run(profile("https://127.0.0.1:9", options={"ca_file": "/nowhere.pem"})))
    assert bad_ca.kind == "bad_request"
    assert "ca_file" in bad_ca.message


async def test_loopback_never_goes_through_a_proxy(loopback: Any, monkeypatch: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    async def proxy_script(peer: Peer) -> None:
        await peer.answer(502, b"")

    server, proxy = await loopback(script), await loopback(proxy_script)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    for options in ({}, {"trust_env": True}, {"proxy": f"http://127.0.0.1:{proxy.port}"}):
        assert text_of(await run(profile(server.url, options=options))) == "ok"
    assert proxy.peers == []


async def test_a_proxy_is_used_only_when_the_profile_says_so(loopback: Any, monkeypatch: Any) -> None:
    async def proxy_script(peer: Peer) -> None:
        await peer.answer()

    proxy = await loopback(proxy_script)
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    away = {"api_key_env": None, "timeouts": Timeouts(connect=0.2)}
    silent = await run(profile("http://192.0.2.1/v1", options={"retries": 0}, **away))
    assert error_of(silent).kind == "network"
    assert proxy.peers == []
    for options in ({"trust_env": True}, {"proxy": f"http://127.0.0.1:{proxy.port}"}):
        assert text_of(await run(profile("http://192.0.2.1/v1", options=options, **away))) == "ok"
    assert [peer.path for peer in proxy.peers] == ["http://192.0.2.1/v1/chat/completions"] * 2


async def test_no_certificates_are_loaded_for_http(loopback: Any, monkeypatch: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    def never(*_: Any, **__: Any) -> None:
        pytest.fail("certificates were loaded")

    monkeypatch.setattr(ssl, "create_default_context", never)
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", never)
    server = await loopback(script)
    assert text_of(await run(profile(server.url))) == "ok"


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import tui_agent.providers.openai_chat, tui_agent.providers.anthropic, tui_agent.providers.ollama", "httpx"),
        ("from tui_agent.providers import http; http.load_httpx()", "rich"),
        ("from tui_agent.providers import http; http.load_httpx()", "click"),
        ("import tui_agent.core.reply", "asyncio"),
    ],
)
def test_imports_stay_light(statement: str, absent: str) -> None:
    code = f"import sys; {statement}; sys.exit({absent!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
