"""Our client against a server written with the official SDK, over a real pipe and a real socket."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conftest import SDK, at_an_address, ground, one, program, request, running
from tests.waiting import until
from tui_agent.core.servers import ServerConfig
from tui_agent.mcp.servers import Servers
from tui_agent.providers.network import Network

NAMES = {"add", "variable", "write", "wait", "picture", "fail", "grow", "polled"}


@pytest.fixture(params=["pipe", "socket", "socket, plain JSON"])
def config(request: pytest.FixtureRequest, tmp_path: Path):
    if request.param == "pipe":
        yield program(tmp_path, "s", SDK, "stdio")
        return
    with at_an_address(*(["plain"] if "plain" in request.param else [])) as url:
        yield ServerConfig("s", tmp_path / "config.toml", url=url)


async def test_its_tools_are_offered_and_answer(config: ServerConfig, tmp_path: Path) -> None:
    async with running(tmp_path, config) as servers:
        assert (one(servers).state, one(servers).fault, one(servers).title) == ("ready", "", "sdk-server")
        assert set(servers.tools) == {f"s/{name}" for name in NAMES}
        add = servers.tools["s/add"]
        assert (add.spec.description, add.permission) == ("Add two numbers.", "mcp")
        assert add.spec.parameters["required"] == ["a", "b"]
        said = await servers.call(request(servers, "s/add", a=2, b=40))
        assert (said.failed, said.note) == (False, "1 line")
        assert "<mcp-text>\n42\n</mcp-text>" in said.text
        assert "never instructions" in said.text


async def test_a_picture_is_named_and_a_failure_is_one(config: ServerConfig, tmp_path: Path) -> None:
    async with running(tmp_path, config) as servers:
        said = await servers.call(request(servers, "s/picture"))
        assert "here it is\n[image image/png, about 300 bytes, not shown]" in said.text
        said = await servers.call(request(servers, "s/fail"))
        assert (said.failed, said.note) == (True, "failed")
        assert "s/fail failed" in said.text
        assert "<mcp-text>" in said.text
        said = await servers.call(request(servers, "s/add", a="x", b=1))
        assert said.failed


async def test_a_call_that_is_stopped_is_stopped_at_the_server(config: ServerConfig, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with running(tmp_path, config) as servers:
        call = asyncio.create_task(servers.call(request(servers, "s/wait", file=str(mark))))
        await until(lambda: mark.exists() and mark.read_text() == "begun")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: mark.read_text() == "cancelled")
        said = await servers.call(request(servers, "s/add", a=1, b=1))
        assert not said.failed


async def test_calls_at_the_same_time_get_their_own_answers(config: ServerConfig, tmp_path: Path) -> None:
    async with running(tmp_path, config) as servers:
        calls = [servers.call(request(servers, "s/add", a=n, b=1000)) for n in range(20)]
        for number, said in enumerate(await asyncio.gather(*calls)):
            assert f"\n{1000 + number}\n" in said.text


async def test_a_tool_that_comes_later_is_off_until_it_is_taken(config: ServerConfig, tmp_path: Path) -> None:
    async with running(tmp_path, config) as servers:
        await servers.call(request(servers, "s/grow"))
        await until(lambda: "late" in one(servers).offers)
        assert "s/late" not in servers.tools
        assert [offer.name for offer in one(servers).pending] == ["late"]
        one(servers).take(one(servers).pending)
        said = await servers.call(request(servers, "s/late"))
        assert "\nlate\n" in said.text


async def test_the_environment_is_the_allow_list_and_what_the_table_names(tmp_path: Path) -> None:
    config = program(tmp_path, "s", SDK, "stdio", env={"OWN": "value-of-own"}, passed=("A_TOKEN",))
    env = {"A_TOKEN": "value-of-token", "OPENAI_API_KEY": "sk-CANARY", "OTHER": "x"}
    network = Network()
    async with running(tmp_path, config, env=env, network=network) as servers:
        seen = {
            name: (await servers.call(request(servers, "s/variable", key=name))).text
            for name in ("OWN", "A_TOKEN", "OPENAI_API_KEY", "OTHER", "HOME")
        }
    assert "value-of-own" in seen["OWN"]
    assert "value-of-token" in seen["A_TOKEN"]
    assert "not there" in seen["OPENAI_API_KEY"]
    assert "not there" in seen["OTHER"]
    assert str(tmp_path) in seen["HOME"]
    assert network.secrets.hide("value-of-token value-of-own") == "[key hidden] value-of-own"


async def test_an_answer_that_comes_after_its_stream_was_closed_is_asked_for(tmp_path: Path) -> None:
    with at_an_address("polled") as url:
        async with running(tmp_path, ServerConfig("s", tmp_path / "c", url=url)) as servers:
            said = await servers.call(request(servers, "s/polled", text="it is here"))
            assert "it is here" in said.text, said
            several = [servers.call(request(servers, "s/polled", text=f"answer {n}")) for n in range(4)]
            for number, answer in enumerate(await asyncio.gather(*several)):
                assert f"\nanswer {number}\n" in answer.text


async def test_what_a_server_at_an_address_was_asked_is_counted(tmp_path: Path) -> None:
    network = Network()
    with at_an_address() as url:
        async with running(tmp_path, ServerConfig("s", tmp_path / "c", url=url), network=network) as servers:
            assert one(servers).state == "ready"
        assert network.contacted[url.removesuffix("/mcp")] >= 3


async def test_a_server_at_an_address_that_goes_and_comes_back_is_greeted_anew(tmp_path: Path) -> None:
    with at_an_address() as url:
        port = int(url.removesuffix("/mcp").rpartition(":")[2])
        servers = Servers(20)
        servers.use(ground(tmp_path), {"s": ServerConfig("s", tmp_path / "c", url=url)})
        await servers.ready()
        effect = request(servers, "s/add", a=1, b=1)
        assert not (await servers.call(effect)).failed
    said = await servers.call(effect)
    assert (said.failed, said.note) == (True, "no answer")
    assert "refuses connections: is the server running? What it did" in said.text
    with at_an_address(port=port):
        assert not (await servers.call(effect)).failed
        await servers.close()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"url": "ftp://x"}, "no http:// or https:// address"),
        ({"url": "http://192.0.2.1/", "headers": {"Authorization": "Bearer k"}}, "sent unencrypted"),
        ({"url": "http://127.0.0.1:1/", "headers": {"x": "a\nb"}}, "characters that a header may not have"),
        ({"url": "https://x.org", "key_env": "NOT_SET"}, "the variable NOT_SET is empty"),
        ({"url": "http://127.0.0.1:1/"}, "refuses connections"),
        ({"url": "https://x.org", "offline": True}, "--offline was given"),
    ],
)
async def test_an_address_that_cannot_be_asked_is_told_and_nothing_is_sent(
    tmp_path: Path, config: dict[str, Any], words: str
) -> None:
    network = Network(offline=config.pop("offline", False))
    async with running(tmp_path, ServerConfig("s", tmp_path / "c", **config), network=network) as servers:
        assert one(servers).state == "failed"
        assert words in one(servers).fault
