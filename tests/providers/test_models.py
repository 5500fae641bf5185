"""What servers say of their models, in all the ways they say it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.conftest import ANSWER, Peer
from tui_agent.core.profile import ModelInfo, Pricing, Profile
from tui_agent.core.types import AgentError
from tui_agent.providers import described, inspect, list_models, verify
from tui_agent.providers.models import read_list, read_loaded, read_props, read_show
from tui_agent.providers.network import Network, Unanswered


@pytest.mark.parametrize(
    ("entry", "info"),
    [
        ("bare", ModelInfo("bare")),
        ({"id": "m", "object": "model"}, ModelInfo("m")),
        ({"name": "m:7b", "size": 4_000}, ModelInfo("m:7b", size=4000)),
        ({"id": "m", "max_model_len": 32768}, ModelInfo("m", 32768)),
        ({"id": "m", "context_window": 131072}, ModelInfo("m", 131072)),
        ({"id": "m", "max_context_length": 131072, "loaded_context_length": 4096}, ModelInfo("m", 4096)),
        (
            {
                "id": "m",
                "context_length": 200000,
                "supported_parameters": ["tools", "temperature"],
                "architecture": {"input_modalities": ["text", "image"]},
                "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"},
            },
            ModelInfo("m", 200000, True, True, Pricing(3.0, 0.3, 15.0)),
        ),
        (
            {"id": "m", "capabilities": {"function_calling": False, "vision": True}},
            ModelInfo("m", tools=False, images=True),
        ),
        ({"id": "m", "pricing": {"prompt": "-1", "completion": "-1"}}, ModelInfo("m")),
        ({"id": "m", "pricing": {"input": 0.2, "output": 0.6}}, ModelInfo("m", pricing=Pricing(0.2, 0.2, 0.6))),
        ({"id": "m", "context_length": "big", "capabilities": 7, "pricing": [], "architecture": None}, ModelInfo("m")),
    ],
)
def test_one_entry(entry: Any, info: ModelInfo) -> None:
    assert read_list({"data": [entry, {}, {"id": 7}, None, ""]}) == [info]
    assert read_list([entry]) == [info]


def test_what_is_no_list() -> None:
    with pytest.raises(ValueError, match="shape"):
        read_list({"data": "no"})


KEYS = (
    *("data", "models", "id", "name", "model", "size", "capabilities", "vision", "supported_parameters"),
    *("pricing", "prompt", "completion", "input", "output", "architecture", "input_modalities", "modalities"),
    *("context_length", "model_info", "a.context_length", "n_ctx", "default_generation_settings"),
)
anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(anything)
def test_nothing_that_a_server_says_is_fatal(said: Any) -> None:
    try:
        models = read_list(said)
    except ValueError:
        models = []
    for info in [*models, read_show("m", said), read_props(ModelInfo("m"), said)]:
        assert info.id
        assert all(number is None or number >= 0 for number in (info.window, info.most, info.size))
    assert (read_loaded("m", said) or 0) >= 0


# ------------------------------------------------------------------ over the wire


def serving(answers: Mapping[str, Any]) -> Any:
    async def script(peer: Peer) -> None:
        answer = answers.get(peer.path, 404)
        status, body = (answer, {"error": {"message": "no"}}) if isinstance(answer, int) else (200, answer)
        await peer.answer(status, json.dumps(body).encode(), "content-type: application/json\r\n")

    return script


def ollama(url: str, **kw: Any) -> Profile:
    return Profile("o", "ollama", "ollama-native", url.removesuffix("/v1"), "m:7b", local=True, **kw)


SHOW = {"capabilities": ["completion", "tools"], "model_info": {"qwen.context_length": 262144}}


async def test_ollama_says_what_it_can_and_what_it_has_loaded(loopback: Any) -> None:
    server = await loopback(
        serving({"/api/show": SHOW, "/api/ps": {"models": [{"name": "m:7b", "context_length": 4096}]}})
    )
    network = Network()
    info = await inspect(ollama(server.url), env={}, network=network)
    assert info == ModelInfo("m:7b", 4096, True, False, most=262144)
    assert server.peers[0].body == {"model": "m:7b"}
    assert network.contacted == {server.url.removesuffix("/v1"): 2}


async def test_a_llama_cpp_server_says_the_window_it_was_started_with(loopback: Any) -> None:
    props = {"default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": False}}
    server = await loopback(
        serving({"/v1/models": {"data": [{"id": "m", "meta": {"n_ctx_train": 131072}}]}, "/props": props})
    )
    info = await inspect(Profile("l", endpoint=server.url, model="m", local=True), env={})
    assert info == ModelInfo("m", 4096, images=False)


async def test_a_server_without_props_stays_unknown(loopback: Any) -> None:
    server = await loopback(serving({"/v1/models": {"data": [{"id": "m"}]}}))
    assert await inspect(Profile("l", endpoint=server.url, model="other", local=True), env={}) == ModelInfo("other")


@pytest.mark.parametrize("status", [401, 403, 429, 500])
async def test_a_refusal_is_told_with_the_variable(loopback: Any, status: int) -> None:
    server = await loopback(serving({"/v1/models": status}))
    used = Profile("p", endpoint=server.url, model="m", api_key_env="MY_KEY")
    with pytest.raises(AgentError, match=f"HTTP {status}") as caught:
        await list_models(used, env={"MY_KEY": "sk-CANARY-1"})
    assert ("MY_KEY" in str(caught.value)) is (status in {401, 403})
    assert "sk-CANARY" not in str(caught.value)
    assert not isinstance(caught.value, Unanswered)


async def test_nobody_there_and_too_slow_are_the_same(loopback: Any) -> None:
    async def slow(peer: Peer) -> None:
        await peer.until_gone()

    server = await loopback(slow)
    for endpoint in (server.url, "http://127.0.0.1:9/v1"):
        with pytest.raises(Unanswered):
            await list_models(Profile("p", endpoint=endpoint, model="m"), env={}, seconds=0.1)


async def test_a_tiny_request_proves_the_key(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        if peer.headers.get("authorization") == "Bearer right":
            await peer.answer(200, ANSWER)
        else:
            await peer.answer(401, b'{"error": {"message": "bad key"}}')

    server = await loopback(script)
    used = Profile("p", endpoint=server.url, model="m", api_key_env="K")
    tried = await verify(used, env={"K": "right"})
    assert tried.seconds >= 0
    assert tried.tools
    assert server.peers[0].body["max_tokens"] == 16
    with pytest.raises(AgentError, match="K of profile 'p'"):
        await verify(used, env={"K": "wrong"})
    assert len(server.peers) == 2


@pytest.mark.parametrize("status", [400, 404])
async def test_a_tiny_request_tells_whether_tools_are_taken(loopback: Any, status: int) -> None:
    async def script(peer: Peer) -> None:
        if "tools" in peer.body:
            await peer.answer(status, b'{"error": {"message": "m does not support tools"}}')
        else:
            await peer.answer(200, ANSWER)

    server = await loopback(script)
    assert not (await verify(Profile("p", endpoint=server.url, model="m"), env={})).tools
    assert len(server.peers) == 2


async def test_a_list_without_end_is_cut(loopback: Any) -> None:
    sent = 0

    async def endless(peer: Peer) -> None:
        nonlocal sent
        await peer.head(headers="content-type: application/json\r\n")
        while True:
            await peer.send(b"[" * 65536)
            sent += 65536

    server = await loopback(endless)
    with pytest.raises(AgentError, match="more than 4 MiB"):
        await list_models(Profile("p", endpoint=server.url, model="m"), env={})
    assert sent < 64 * 1024 * 1024


@pytest.mark.parametrize("body", [b"[" * 3000, b'{"data":' * 900 + b"1" + b"}" * 900, b"\xff\xfe", b"<html>"])
async def test_what_is_no_list_is_one_sentence(loopback: Any, body: bytes) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer(body=body)

    server = await loopback(script)
    with pytest.raises(AgentError, match="is it the right address"):
        await list_models(Profile("p", endpoint=server.url, model="m"), env={})


async def test_a_key_in_a_list_is_hidden(loopback: Any) -> None:
    server = await loopback(serving({"/v1/models": {"data": [{"id": "m of sk-CANARY-1"}]}}))
    used = Profile("p", endpoint=server.url, model="m", api_key_env="MY_KEY")
    (info,) = await list_models(used, env={"MY_KEY": "sk-CANARY-1"})
    assert info.id == "m of [key hidden]"


async def test_models_are_described_as_far_as_the_server_answers(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        if peer.body == {"model": "slow"}:
            await peer.until_gone()
        elif peer.body == {"model": "gone"}:
            await peer.answer(404, b"{}")
        else:
            await peer.answer(body=json.dumps(SHOW).encode(), headers="content-type: application/json\r\n")

    server = await loopback(script)
    listed = [ModelInfo("m", size=7), ModelInfo("slow"), ModelInfo("gone")]
    told = await described(ollama(server.url), listed, env={}, seconds=2)
    assert told == [ModelInfo("m", None, True, False, most=262144, size=7), *listed[1:]]
    assert await described(Profile("p", endpoint=server.url), listed, env={}) == listed
    assert len(server.peers) == 3


def test_the_window_of_a_model_is_not_that_of_its_sister() -> None:
    loaded = {
        "models": [{"name": "qwen3:8b", "context_length": 4096}, {"name": "qwen3:latest", "context_length": 32_768}]
    }
    assert read_loaded("qwen3", loaded) == 32_768
    assert read_loaded("qwen3:8b", loaded) == 4096
    assert read_loaded("qwen3:4b", loaded) is None


async def test_a_long_list_is_asked_for_whole(loopback: Any) -> None:
    server = await loopback(serving({"/v1/models?limit=1000": {"data": [{"id": "a"}, {"id": "b"}], "has_more": False}}))
    used = Profile("p", "anthropic", "anthropic", server.url, "a")
    assert [model.id for model in await list_models(used, env={})] == ["a", "b"]
