"""What is built from a neutral history: valid for every vendor, faithful, and never another's secrets."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.core.profile import Profile
from tui_agent.core.reply import collect
from tui_agent.core.types import AssistantMessage, Author, Message, Reply, ToolCall, ToolMessage, ToolSpec, UserMessage
from tui_agent.providers import anthropic, history, ollama, openai_chat, vendors

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cases/wire"))
strict = importlib.import_module("strict_rules")
sys.path.pop(0)

ADAPTERS = {"openai-chat": openai_chat, "anthropic": anthropic, "ollama-native": ollama}
HERE = "http://127.0.0.1:1/v1"
NAMES = ("read_file", "mcp server.x/long tool name " + "x" * 80, "files/read", "files__read")
TOOLS = tuple(ToolSpec(name, "d", {"type": "object", "properties": {}}, {}) for name in NAMES)

TEXT = st.sampled_from(["", " ", "\n\n", "a", "b ", "\ud800"])
IDS = st.sampled_from(["a", "b", "", "call_0fypS1hVX", "functions.read:0", "x" * 60])
CALLS = st.builds(
    ToolCall,
    IDS,
    st.sampled_from([*NAMES, "never offered!"]),
    st.none() | st.just({}) | st.just({"path": "é"}),
    st.none(),
    st.sampled_from(["", '{"path": "a.']),
)
AUTHORS = st.sampled_from(
    [None, *(Author(wire, endpoint, "m") for wire in ADAPTERS for endpoint in (HERE, "https://elsewhere"))]
)
EXTRAS = st.sampled_from(
    [
        {},
        {"calls": {"a": {"extra_content": {"google": {"thought_signature": "c2ln"}}}}},
        {
            "thinking": [{"type": "thinking", "thinking": "t", "signature": "s"}],
            "layout": [["thinking", 0], ["text", 1]],
        },
        {"thinking": [{"type": "thinking", "thinking": "t"}], "reasoning_details": [{"text": "t"}]},
    ]
)
MESSAGES = st.one_of(
    st.builds(UserMessage, TEXT),
    st.builds(AssistantMessage, TEXT, TEXT, st.lists(CALLS, max_size=3).map(tuple), AUTHORS, EXTRAS),
    st.builds(ToolMessage, IDS, st.sampled_from(NAMES), TEXT),
)


def profile(vendor: str = "openai", wire: str = "openai-chat", **changes: Any) -> Profile:
    return Profile(**{"name": "p", "type": vendor, "wire": wire, "endpoint": HERE, "model": "m"} | changes)


@examples(150)
@given(st.lists(MESSAGES, max_size=8).map(tuple), st.sampled_from([TOOLS, ()]), st.booleans())
def test_any_history_is_accepted_by_every_vendor(said: tuple[Message, ...], tools: Any, thinking: bool) -> None:
    generation = {"thinking": {"type": "enabled", "budget_tokens": 1024}} if thinking else {}
    for vendor, (wire, _) in strict.VENDORS.items():
        used = profile(vendor, wire, generation=generation if wire == "anthropic" else {})
        body = ADAPTERS[wire].build(said, used, tools, system="s")
        assert strict.check(vendor, body) is None, vendor
        json.dumps(body)


@given(st.lists(MESSAGES, max_size=8))
def test_repairing_twice_changes_nothing(said: list[Message]) -> None:
    for bridge in (False, True):
        once = history.repair(tuple(said), bridge=bridge)
        assert history.repair(tuple(once), bridge=bridge) == once


@given(st.lists(st.text(min_size=1), unique=True, max_size=10))
def test_wire_names_are_one_to_one_and_accepted(names: list[str]) -> None:
    tools = [ToolSpec(name, "", {}, {}) for name in (*names, "a/b", "a__b")]
    wire = history.wire_names(tools)
    assert len(set(wire.values())) == len(wire) == len({spec.name for spec in tools})
    assert all(
        1 <= len(name) <= 64 and name.replace("_", "").replace("-", "").isalnum()
        for name in wire.values()
        if name.strip("_-")
    )
    assert wire["a__b"] == "a__b"


def test_tool_names_come_back_as_they_were() -> None:
    body = openai_chat.build((UserMessage("x"),), profile(), TOOLS)
    sent = [tool["function"]["name"] for tool in body["tools"]]
    assert sent[0] == "read_file"
    assert sent[2:] != ["files__read", "files__read"]
    for number, name in enumerate(sent):
        call = {"index": 0, "id": "a", "function": {"name": name, "arguments": "{}"}}
        chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}
        decoder = openai_chat.decoder(profile(), TOOLS)
        deltas = decoder.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        assert collect([*deltas, *decoder.finish()]).calls[0].name == NAMES[number]


def test_only_what_the_profile_sets_is_sent() -> None:
    said = (UserMessage("x"),)
    chat = openai_chat.build(said, profile(), ())
    assert set(chat) == {"model", "messages", "stream", "stream_options"}
    assert set(ollama.build(said, profile("ollama", "ollama-native"), ())) == {"model", "messages", "stream"}
    claude = anthropic.build(said, profile("anthropic", "anthropic"), ())
    assert set(claude) == {"model", "messages", "stream", "max_tokens"}
    settings_ = {"temperature": 0, "odd": [1], "max_tokens": 5, "model": "evil", "messages": []}
    chat = openai_chat.build(said, profile(generation=settings_), ())
    assert (chat["temperature"], chat["odd"], chat["max_tokens"], chat["model"]) == (0, [1], 5, "m")
    assert chat["messages"] == [{"role": "user", "content": "x"}]
    assert anthropic.build(said, profile("anthropic", "anthropic", generation={"max_tokens": 5}), ())["max_tokens"] == 5


def test_ollama_settings_are_options() -> None:
    generation = {"num_ctx": 32768, "max_tokens": 10, "think": False, "keep_alive": "5m", "options": {"seed": 1}}
    body = ollama.build((UserMessage("x"),), profile("ollama", "ollama-native", generation=generation), ())
    assert body["options"] == {"num_ctx": 32768, "num_predict": 10, "seed": 1}
    assert (body["think"], body["keep_alive"]) == (False, "5m")


@pytest.mark.parametrize(
    ("endpoint", "kind", "vendor"),
    [
        ("https://api.mistral.ai/v1", "openai", "mistral"),
        ("https://eu.api.mistral.ai/v1", "openai", "mistral"),
        ("https://api.mistral.ai.evil.com/v1", "openai", None),
        ("https://api.groq.com/openai/v1", "openai", "groq"),
        ("http://127.0.0.1:8080/v1", "mistral", "mistral"),
        ("not a url [", "openai", None),
        (None, "openai", None),
    ],
)
def test_vendor_of_a_profile(endpoint: str | None, kind: str, vendor: str | None) -> None:
    expected = vendors.VENDORS[vendor] if vendor else vendors.Vendor()
    assert vendors.rules(profile(kind, endpoint=endpoint)) == expected


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"temperature": 9}, "temperature must be between 0 and 2"),
        (
            {"max_tokens": 200000},
            "max_tokens is too large: 200000. This model supports at most 16384 completion tokens",
        ),
        ({"messages": []}, "Unsupported parameter: 'messages'"),
        ({"tools": []}, "tools are not supported"),
        ({"temperature": 1}, "Unsupported parameter: 'top_p'"),
        ({"temperature": 1}, ""),
    ],
)
def test_what_is_no_reason_to_leave_something_out(body: dict[str, Any], said: str) -> None:
    assert vendors.adapt(vendors.Vendor(), body, 400, said) is None
    assert vendors.adapt(vendors.Vendor(), {"temperature": 1}, 500, "Unsupported parameter: temperature") is None


# ------------------------------------------------------------------ what goes back, and where


def sse(*values: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)


def folded(adapter: Any, body: bytes) -> Reply:
    decoder = adapter.decoder(profile(), TOOLS)
    return collect([*decoder.feed(body), *decoder.finish()])


def turn(reply: Reply, used: Profile) -> tuple[Message, ...]:
    author = Author(used.wire, used.endpoint or "", "m")
    said = AssistantMessage(reply.text, reply.reasoning, reply.calls, author, reply.extras)
    return (UserMessage("go"), said, *(ToolMessage(call.id, call.name, "done") for call in reply.calls))


def test_interleaved_thinking_goes_back_in_its_places() -> None:
    blocks = [
        {"type": "thinking", "thinking": "one", "signature": "s1"},
        {"type": "text", "text": "Look. "},
        {"type": "redacted_thinking", "data": "ZW5j"},
        {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a"}},
        {"type": "thinking", "thinking": "two", "signature": "s2"},
        {"type": "tool_use", "id": "t2", "name": "read_file", "input": {}},
    ]
    events = [event for at, block in enumerate(blocks) for event in started(at, block)]
    ended = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
    reply = folded(anthropic, sse(*events, ended, {"type": "message_stop"}))
    assert reply.reasoning == "onetwo"
    used = profile("anthropic", "anthropic", options={"cache": False})
    assert anthropic.build(turn(reply, used), used, TOOLS)["messages"][1]["content"] == blocks
    whole = {"type": "message", "content": blocks, "stop_reason": "tool_use"}
    assert folded(anthropic, json.dumps(whole).encode()).extras == reply.extras
    elsewhere = profile("anthropic", "anthropic", endpoint="https://other", options={"cache": False})
    kinds = [b["type"] for b in anthropic.build(turn(reply, used), elsewhere, TOOLS)["messages"][1]["content"]]
    assert kinds == ["text", "tool_use", "tool_use"]


def started(at: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one block, its members in pieces."""
    pieces = {"thinking": ("thinking", "thinking"), "text": ("text", "text"), "signature": ("signature", "signature")}
    empty = {name: "" if name in pieces else {} if name == "input" else value for name, value in block.items()}
    events: list[dict[str, Any]] = [{"type": "content_block_start", "index": at, "content_block": empty}]
    for name, value in block.items():
        if name == "input":
            for piece in (json.dumps(value)[:3], json.dumps(value)[3:]):
                delta = {"type": "input_json_delta", "partial_json": piece}
                events.append({"type": "content_block_delta", "index": at, "delta": delta})
        elif name in pieces and name != "type":
            for piece in (value[:2], value[2:]):
                delta = {"type": f"{name}_delta", name: piece}
                events.append({"type": "content_block_delta", "index": at, "delta": delta})
    return [*events, {"type": "content_block_stop", "index": at}]


def test_thought_signatures_go_back_to_their_maker_only() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "read_file", "arguments": "{}"}}
    call["extra_content"] = {"google": {"thought_signature": "c2lnbmF0dXJl"}}
    reply = folded(openai_chat, sse({"choices": [{"delta": {"tool_calls": [call]}, "finish_reason": "stop"}]}))
    used = profile("gemini")

    def sent(to: Profile) -> Any:
        return openai_chat.build(turn(reply, used), to, TOOLS)["messages"][1]["tool_calls"][0].get("extra_content")

    assert sent(used) == call["extra_content"]
    assert sent(profile("gemini", endpoint="https://other")) == {
        "google": {"thought_signature": openai_chat.NO_SIGNATURE}
    }
    assert sent(profile("openai", endpoint="https://other")) is None


def test_ids_go_back_to_their_maker_as_they_were() -> None:
    call = ToolCall("functions.read_file:0", "read_file", {})
    for vendor, (wire, _) in strict.VENDORS.items():
        if vendor != "mistral":
            used = profile(vendor, wire)
            said = (
                UserMessage("a"),
                AssistantMessage("", "", (call,), Author(wire, HERE, "m")),
                ToolMessage(call.id, "read_file", "x"),
            )
            assert json.dumps(ADAPTERS[wire].build(said, used, TOOLS)).count(call.id) == 2
            foreign = json.dumps(ADAPTERS[wire].build(said, profile(vendor, wire, endpoint="https://other"), TOOLS))
            assert foreign.count(call.id) == (2 if wire == "ollama-native" else 0)


def test_reasoning_goes_back_only_where_it_must() -> None:
    said = (
        UserMessage("a"),
        AssistantMessage("", "secret thoughts", (ToolCall("c", "read_file", {}),)),
        ToolMessage("c", "read_file", "x"),
    )
    assert openai_chat.build(said, profile("deepseek"), TOOLS)["messages"][1]["reasoning_content"] == "secret thoughts"
    for vendor, (wire, _) in strict.VENDORS.items():
        if vendor != "deepseek-thinking":
            assert "secret" not in json.dumps(ADAPTERS[wire].build(said, profile(vendor, wire), TOOLS))
    earlier = (*said, AssistantMessage("done", "more"), UserMessage("b"))
    assert "secret" not in json.dumps(openai_chat.build(earlier, profile("deepseek"), TOOLS))


def test_the_prompt_cache_is_marked_at_the_end() -> None:
    used = profile("anthropic", "anthropic")
    said = (UserMessage("a"), AssistantMessage("b"), UserMessage("c"))
    body = anthropic.build(said, used, TOOLS, system="s")
    marked = [block for message in body["messages"] for block in message["content"] if "cache_control" in block]
    assert marked == [body["messages"][-1]["content"][-1]]
    assert "cache_control" in body["system"][0]
    call = ToolCall("c", "read_file", {"path": "a"})
    told = (*said, AssistantMessage("", calls=(call,)), ToolMessage("c", "read_file", "x"), UserMessage("(memory: a)"))
    *_, result, memory = anthropic.build(told, used, TOOLS, system="s")["messages"][-1]["content"]
    assert "cache_control" in result, "what changes from request to request must not cost the cache before it"
    assert memory["text"] == "(memory: a)"
    plain = anthropic.build(said, profile("anthropic", "anthropic", options={"cache": False}), TOOLS, system="s")
    assert "cache_control" not in json.dumps(plain)


def test_a_prefix_of_the_history_is_a_prefix_of_the_request() -> None:
    """The server's cache works only if what was sent is sent again, byte for byte."""
    call = ToolCall("c", "read_file", {"path": "a"})
    said = (
        UserMessage("a"),
        AssistantMessage("b", "", (call,)),
        ToolMessage("c", "read_file", "x"),
        AssistantMessage("d"),
        UserMessage("e"),
    )
    for vendor, (wire, _) in strict.VENDORS.items():
        used = profile(vendor, wire, options={"cache": False})
        whole = ADAPTERS[wire].build(said, used, TOOLS, system="s")["messages"]
        for length in (1, 3):
            part = ADAPTERS[wire].build(said[:length], used, TOOLS, system="s")["messages"]
            assert whole[: len(part)] == part or vendor == "deepseek-thinking"
