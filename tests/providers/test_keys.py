"""Where a key comes from, to whom it goes, and that nothing shows it."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.providers.conftest import (
    KEY,
    REQUEST,
    Peer,
    error_of,
    link,
    profile,
    run,
    text_of,
)
from tests.waiting import PATIENCE
from tui_agent.core.types import Preparing
from tui_agent.providers import connection, keys, list_models, openai_chat


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


@pytest.mark.parametrize("status", [200, 400, 413, 429, 500])
async def test_too_long_a_conversation_is_never_tried_again(loopback: Any, status: int) -> None:
    """The kind is what compaction looks for, whatever status it comes with, and also with a Retry-After."""

    async def script(peer: Peer) -> None:
        said = b'{"error":{"message":"This model\'s maximum context length is 8192 tokens"}}'
        await peer.answer(status, said, "retry-after: 1\r\n")

    server = await loopback(script)
    deltas = await run(profile(server.url))
    error = error_of(deltas)
    assert (error.kind, error.retryable) == ("context_length", False)
    assert len(deltas) == len(server.peers) == 1


@pytest.mark.parametrize("to", ["http://[bad", "http://h:x/", "//[", "http://[::1", "\\\\", "http:///", "?"])
async def test_a_redirect_to_no_address_is_a_refusal_like_any_other(loopback: Any, to: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(302, b"", f"location: {to}\r\n")

    server = await loopback(script)
    error = error_of(await run(profile(server.url)))
    assert (error.kind, error.status, error.retryable) == ("bad_request", 302, False)
    assert "redirects to" in error.message


@pytest.mark.parametrize("status", [300, 304, 307])
async def test_a_status_between_that_names_no_address_is_no_redirect(loopback: Any, status: int) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(status, b"")

    server = await loopback(script)
    error = error_of(await run(profile(server.url)))
    assert (error.kind, error.status, error.retryable) == ("bad_request", status, False)
    where = server.url.removesuffix("/v1")
    assert (
        error.message == f"{where} answers with HTTP {status}, which is no answer: check the endpoint of this profile"
    )


async def test_a_redirect_on_the_same_server_is_told_with_its_path(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(308, b"", f"location: /api/v1/chat/completions?key={KEY}\r\n")

    server = await loopback(script)
    error = error_of(await run(profile(server.url)))
    where = server.url.removesuffix("/v1")
    assert error.message.startswith(f"{where} redirects to {where}/api/v1/chat/completions?key=[hidden] (HTTP 308): ")


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


@pytest.mark.parametrize("said", ["echo sk-abcdefghij", "printf sk-abcdefghij"])
async def test_a_key_command_ends_when_it_ends_whoever_keeps_its_output(
    loopback: Any, said: str, tmp_path: Path
) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script)
    alive = tmp_path / "alive"
    command = f"(while [ ! -e {tmp_path}/end ]; do sleep 0.05; done; touch {alive}) & {said}"
    async with asyncio.timeout(PATIENCE):
        await run(profile(server.url, api_key_cmd=("sh", "-c", command)), link(env={}))
    assert server.peers[0].headers["authorization"] == "Bearer sk-abcdefghij"
    (tmp_path / "end").touch()
    while not alive.exists():  # noqa: ASYNC110 - the agent that was started lives on
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("sleep 600", "took longer than"),
        ("yes", "printed more than 64 kB"),
        ("head -c 66000 /dev/zero | tr '\\0' k", "printed more than 64 kB"),
    ],
    ids=["silent", "endless", "long"],
)
async def test_a_key_command_that_does_not_end_or_prints_no_key_is_named(
    loopback: Any, monkeypatch: pytest.MonkeyPatch, command: str, why: str
) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    monkeypatch.setattr(keys, "COMMAND_TIMEOUT", 0.2 if why.startswith("took") else PATIENCE)
    server = await loopback(script)
    error = error_of(await run(profile(server.url, api_key_cmd=("sh", "-c", command)), link(env={})))
    assert why in error.message
    assert "api_key_cmd of profile 'p' (sh)" in error.message
    assert not server.peers


async def test_a_long_key_is_read_whole(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script)
    await run(profile(server.url, api_key_cmd=("sh", "-c", "head -c 20000 /dev/zero | tr '\\0' k")), link(env={}))
    assert server.peers[0].headers["authorization"] == f"Bearer {'k' * 20_000}"


async def test_what_is_waited_for_is_the_command_of_the_key(loopback: Any, tmp_path: Path) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script)
    command = f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; echo key"
    used = profile(server.url, api_key_cmd=("sh", "-c", command))
    async with asyncio.timeout(PATIENCE), aclosing(openai_chat.stream(used, REQUEST, link(env={}))) as deltas:
        assert await anext(deltas) == Preparing("running api_key_cmd")
        assert not server.peers
        (tmp_path / "go").touch()
        assert await anext(deltas) == Preparing()
        assert text_of([delta async for delta in deltas]) == "ok"


async def test_a_slow_key_command_is_not_the_servers_silence(loopback: Any) -> None:
    server = await loopback(serving_models)
    used = profile(server.url, api_key_cmd=("sh", "-c", "sleep 2.2; echo key"))
    assert [info.id for info in await list_models(used, env={}, seconds=2)] == ["m"]


async def serving_models(peer: Peer) -> None:
    await peer.answer(body=b'{"data": [{"id": "m"}]}', headers="content-type: application/json\r\n")


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
        ("https://h", "/v1/models?limit=9", "https://h/v1/models?limit=9"),
        ("https://h/v1?version=2", "/v1/models?limit=9", "https://h/v1/models?version=2&limit=9"),
    ],
)
def test_endpoint_and_path(endpoint: str, path: str, url: str) -> None:
    assert connection.endpoint_url(profile(endpoint), path) == url


async def test_a_command_that_cannot_be_a_command_is_a_sentence() -> None:
    error = error_of(await run(profile("http://127.0.0.1:9/v1", api_key_env=None, api_key_cmd=("pass\0word",))))
    assert (error.kind, error.free) == ("auth", True)
    assert "cannot be run" in error.message
