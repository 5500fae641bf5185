"""From a profile to a model: what is missing is named before anything is sent."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest

from tests.providers.conftest import Peer
from tui_agent.core.profile import Profile
from tui_agent.core.reply import collect
from tui_agent.core.types import AssistantMessage, Author, ConfigError, Request, RetryTick, UserMessage
from tui_agent.providers import connect
from tui_agent.providers.history import made_here
from tui_agent.providers.network import Network

GOOD = {"name": "mine", "endpoint": "https://api.example/v1", "model": "m", "api_key_env": "MY_KEY"}
ENV = {"MY_KEY": "sk-1"}


@pytest.mark.parametrize(
    ("changes", "env", "named"),
    [
        ({"endpoint": None}, ENV, "endpoint"),
        ({"endpoint": ""}, ENV, "endpoint"),
        ({"endpoint": "api.example/v1"}, ENV, "https://"),
        ({"endpoint": "ftp://api.example"}, ENV, "https://"),
        ({"endpoint": "https://api.example:port"}, ENV, "https://"),
        ({"model": None}, ENV, "model"),
        ({"model": ""}, ENV, "model"),
        ({}, {}, "MY_KEY"),
        ({}, {"MY_KEY": ""}, "MY_KEY"),
        ({}, {"MY_KEY": "a b"}, "MY_KEY"),
        ({"endpoint": "http://api.example/v1"}, ENV, "unencrypted"),
        ({"headers": {"X-A": "a\r\nX-B: c"}}, ENV, "X-A"),
        ({"headers": {"bad name": "a"}}, ENV, "bad name"),
        ({"wire": "scripted", "type": "scripted"}, ENV, "the script"),
    ],
)
def test_what_is_missing_is_named(changes: dict[str, Any], env: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigError, match=named) as raised:
        connect(Profile(**GOOD | changes), env=env)
    assert "mine" in str(raised.value) or named in str(raised.value)
    assert "sk-1" not in str(raised.value)


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "ollama-native"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"api_key_env": None},
        {"endpoint": "http://127.0.0.1:1/v1"},
        {"endpoint": "http://[::1]:1/v1"},
        {"endpoint": "http://localhost/v1"},
        {"endpoint": "http://192.168.0.2/v1", "api_key_env": None},
        {"api_key_env": "UNSET", "local": True},
    ],
)
def test_who_the_model_is(wire: str, changes: dict[str, Any]) -> None:
    model = connect(Profile(**GOOD | changes | {"wire": wire}), env=ENV)
    assert model.author == Author(wire, (GOOD | changes)["endpoint"] or "", "m")


@pytest.mark.parametrize(
    ("wire", "path", "key"),
    [
        ("openai-chat", "/v1/chat/completions", ("authorization", "Bearer sk-1")),
        ("anthropic", "/v1/messages", ("x-api-key", "sk-1")),
        ("ollama-native", "/v1/api/chat", ("authorization", "Bearer sk-1")),
    ],
)
async def test_the_model_streams(loopback: Any, wire: Any, path: str, key: tuple[str, str]) -> None:
    async def script(peer: Peer) -> None:
        if wire == "ollama-native":
            await peer.answer(body=b'{"message":{"content":"ok"},"done":true}\n')
        elif wire == "anthropic":
            await peer.answer(body=b'{"type":"message","content":[{"type":"text","text":"ok"}]}')
        else:
            await peer.answer()

    server = await loopback(script)
    model = connect(Profile("p", wire=wire, endpoint=server.url, model="m", api_key_env="MY_KEY"), env=ENV)
    async with aclosing(model.stream(Request("sys", (UserMessage("hi"),)))) as deltas:
        reply = collect([delta async for delta in deltas])
    assert (reply.text, reply.finish, reply.error) == ("ok", "stop", None)
    (peer,) = server.peers
    assert (peer.path, peer.headers[key[0]]) == (path, key[1])
    assert "sys" in str(peer.body)


async def test_what_a_server_refused_is_remembered_for_its_profile(loopback: Any) -> None:
    """Also when the profile is chosen again; another model of the same server is asked anew."""

    async def script(peer: Peer) -> None:
        if "stream_options" in peer.body:
            await peer.answer(400, b'{"error":{"message":"unknown parameter: stream_options"}}')
        else:
            await peer.answer()

    server = await loopback(script)
    network = Network()
    counts = []
    for model in ("m", "m", "other"):
        used = connect(Profile("p", endpoint=server.url, model=model), env={}, network=network)
        async with aclosing(used.stream(Request("", (UserMessage("hi"),)))) as deltas:
            ticks = [delta async for delta in deltas if isinstance(delta, RetryTick)]
        counts.append((len(ticks), sum(peer.body["model"] == model for peer in server.peers)))
        assert all("stream_options: it is left out from now on" in tick.error.message for tick in ticks)
    assert counts == [(1, 2), (0, 3), (1, 2)]


def test_an_address_with_secrets_is_kept_without_them_and_still_known() -> None:
    used = Profile(**GOOD | {"endpoint": "https://me:pass-word@api.example/v1?key=abc"})
    author = connect(used, env=ENV).author
    assert author.endpoint == "https://[hidden]@api.example/v1?key=[hidden]"
    assert made_here(AssistantMessage("x", author=author), used)
    for endpoint in ("https://other.example/v1", "https://me:pass-word@api.example/v2?key=abc"):
        assert not made_here(AssistantMessage("x", author=author), Profile(**GOOD | {"endpoint": endpoint}))
