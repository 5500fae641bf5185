"""A model that is loaded down: how far it is in words, and every way in which it may end."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

import pytest

from tests.providers.conftest import KEY, Peer
from tui_agent.core.profile import Profile, Timeouts
from tui_agent.core.types import AgentError
from tui_agent.providers import pull
from tui_agent.providers.network import Network

ENV = {"SOME_KEY": KEY}


def lines(*steps: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(step).encode() + b"\n" for step in steps)


async def told(url: str, **changes: Any) -> list[str]:
    """What is said of a loading; of one that fails, its last word is why."""
    used = Profile("o", "ollama", "ollama-native", url.removesuffix("/v1"), "m", api_key_env="SOME_KEY", **changes)
    said: list[str] = []
    try:
        async with aclosing(pull(used, "m:8b", env=ENV, network=Network())) as progress:
            async for word in progress:
                said += [word]
    except AgentError as error:
        said.append(str(error))
    assert KEY not in "".join(said)
    return said


async def test_how_far_it_is(loopback: Any) -> None:
    half = {"status": "pulling 1a2b", "total": 9_300_000_000, "completed": 4_650_000_000}
    odd = [{"status": None}, {"total": 10**9, "completed": -7}, {"total": "?"}, {"total": 10**9, "completed": 10**11}]

    async def script(peer: Peer) -> None:
        await peer.head()
        for byte in lines({"status": "pulling manifest"}, half, *odd, {"status": "success"}):
            await peer.send(bytes([byte]))

    server = await loopback(script)
    assert await told(server.url) == [
        "m:8b: pulling manifest",
        "m:8b: pulling 1a2b 50% of 9.3 GB",
        "m:8b: working",
        "m:8b: working 0% of 1.0 GB",
        "m:8b: working",
        "m:8b: working 100% of 1.0 GB",
        "m:8b: success",
    ]
    assert server.peers[0].body == {"model": "m:8b", "stream": True}


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (500, b'{\n  "error": "no space left on device"\n}\n', ["HTTP 500", "no space left on device"]),
        (404, b'{"error":{"message":"model not found"}}', ["HTTP 404", "model not found"]),
        (401, f'{{"error": "bad key {KEY}"}}'.encode(), ["refused the key", "SOME_KEY of profile 'o'"]),
        (502, b"<html><title>Bad gateway</title></html>", ["HTTP 502", "Bad gateway"]),
        (200, lines({"error": {"message": f"no such model, {KEY}"}}), ["m:8b: no such model, [key hidden]"]),
        (200, lines({"status": "pulling manifest"}), ["stopped before m:8b was there"]),
        (200, b"", ["stopped before m:8b was there"]),
        (200, b"[1]\n", ["no list of steps"]),
        (200, b"x" * (9 * 1024 * 1024), ["a line without an end"]),
    ],
    ids=["lines", "404", "401", "page", "error", "cut off", "nothing", "list", "endless"],
)
async def test_what_fails_is_told_in_the_words_of_the_server(
    loopback: Any, status: int, body: bytes, words: list[str]
) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(status, body, "content-type: application/json\r\n")

    last = (await told((await loopback(script)).url))[-1]
    for word in words:
        assert word in last


async def test_a_redirect_is_told_and_not_followed(loopback: Any) -> None:
    async def elsewhere(peer: Peer) -> None:
        await peer.answer(307, b"", "location: https://elsewhere.example/api/pull\r\n")

    server = await loopback(elsewhere)
    (why,) = await told(server.url)
    assert "redirects to https://elsewhere.example" in why
    assert len(server.peers) == 1


@pytest.mark.parametrize("begun", [False, True])
async def test_a_server_that_goes_silent(loopback: Any, begun: bool) -> None:
    async def script(peer: Peer) -> None:
        if begun:
            await peer.head()
            await peer.send(lines({"status": "pulling manifest"}))
        await peer.until_gone()

    server = await loopback(script)
    said = await told(server.url, timeouts=Timeouts(idle=0.3))
    assert said[-1].endswith("was silent for 0.3 s while it loaded m:8b")
    assert len(said) == 1 + begun
    await server.ended.wait()


async def test_nobody_there() -> None:
    (why,) = await told("http://127.0.0.1:9/v1", start="ollama serve")
    assert "refuses connections" in why
    assert "ollama serve" in why
