"""Whom the product talks to: recorded in one place, and nobody outside when the person says so."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from tests.providers.conftest import Peer
from tui_agent.core.profile import Profile
from tui_agent.core.types import AgentError, ConfigError, ReplyEnd, Request, UserMessage
from tui_agent.providers import connect, inspect, list_models, openai_chat, verify
from tui_agent.providers.http import Link
from tui_agent.providers.network import Network

OUTSIDE = [
    "https://api.example.com/v1",
    "http://192.168.1.2/v1",
    "http://localhost.evil.example/v1",
    "http://evil.localhost/v1",
    "http://127.0.0.1.evil.example/v1",
    "http://[fe80::1]/v1",
    "http://0.0.0.0:80/v1",
    "http://user@evil.example:80/v1",
    "http://127.0.0.1@evil.example/v1",
]
REQUEST = Request("", (UserMessage("hi"),))


@pytest.fixture
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        pytest.fail("a connection was tried")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)


@pytest.mark.parametrize("endpoint", OUTSIDE)
async def test_offline_refuses_before_anything_is_sent(no_sockets: None, endpoint: str) -> None:
    network = Network(offline=True)
    used = Profile("p", endpoint=endpoint, model="m")
    with pytest.raises(ConfigError, match="--offline"):
        connect(used, env={}, network=network)
    for ask in (list_models, inspect, verify):
        with pytest.raises(AgentError, match="--offline"):
            await ask(used, env={}, network=network)  # type: ignore[operator]
    end = [delta async for delta in openai_chat.stream(used, REQUEST, Link(env={}, network=network))][-1]
    assert isinstance(end, ReplyEnd)
    assert end.error is not None
    assert "--offline" in end.error.message
    assert not end.error.retryable
    assert network.contacted == {}


async def test_offline_runs_no_key_command_for_a_host_outside(tmp_path: Any) -> None:
    mark = tmp_path / "ran"
    used = Profile("p", endpoint=OUTSIDE[0], model="m", api_key_cmd=("touch", str(mark)))
    with pytest.raises(AgentError, match="--offline"):
        await list_models(used, env={}, network=Network(offline=True))
    assert not mark.exists()


async def test_this_machine_is_reached_and_every_request_is_counted(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script)
    network = Network(offline=True)
    model = connect(Profile("p", endpoint=server.url, model="m"), env={}, network=network)
    for _ in range(2):
        end = [delta async for delta in model.stream(REQUEST)][-1]
        assert isinstance(end, ReplyEnd)
        assert end.error is None
    assert network.contacted == {f"http://127.0.0.1:{server.port}": 2}


async def test_what_was_not_sent_is_not_listed() -> None:
    network = Network()
    used = Profile("p", endpoint="https://api.example.com/v1", model="m", api_key_env="MISSING")
    with pytest.raises(AgentError, match="MISSING"):
        await list_models(used, env={}, network=network)
    assert network.contacted == {}


async def test_a_proxy_is_a_host_too_and_no_password_is_listed(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(502, b"no")

    server = await loopback(script)
    proxy = f"http://me:sk-CANARY-9@127.0.0.1:{server.port}"
    network = Network()
    used = Profile("p", endpoint="http://models.example.com/v1", model="m", options={"proxy": proxy, "retries": 0})
    with pytest.raises(AgentError):
        await list_models(used, env={}, network=network)
    assert network.contacted == {"http://models.example.com": 1, f"http://127.0.0.1:{server.port}": 1}
