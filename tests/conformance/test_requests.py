"""What strict servers accept: every conversation for every vendor, and every rule of the corpus."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tui_agent.core.profile import Profile
from tui_agent.core.types import (
    AssistantMessage,
    Author,
    Delta,
    History,
    Message,
    ReplyEnd,
    Request,
    RetryTick,
    TextDelta,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from tui_agent.providers import anthropic, http, ollama, openai_chat, vendors

ROOT = Path(__file__).resolve().parents[2]
CASES = (ROOT / (os.environ.get("TUI_AGENT_CASES") or "tests/cases")).resolve()
HELPERS = ROOT / "tests/cases/wire"
ADAPTERS: dict[str, ModuleType] = {"openai-chat": openai_chat, "anthropic": anthropic, "ollama-native": ollama}
SUFFIX = {"openai-chat": "/v1", "anthropic": "", "ollama-native": ""}


def helper(name: str) -> ModuleType:
    sys.path.insert(0, str(HELPERS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(HELPERS))


strict, replay_server = helper("strict_rules"), helper("replay_server")
DATA = json.loads((CASES / "wire" / "request_cases.json").read_text("utf-8"))
VENDORS: dict[str, str] = DATA["vendors"]
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {c["name"]: c["turns"] for c in DATA["conversations"]}
RULES: dict[str, dict[str, Any]] = {rule["id"]: rule for rule in DATA["rules"]}
PAIRS = [(conversation, vendor) for conversation in CONVERSATIONS for vendor in VENDORS]

TOOLS = (
    ToolSpec("read_file", "d", {"type": "object", "properties": {"path": {"type": "string"}}}, {"path": "a.py"}),
    ToolSpec("run", "d", {"type": "object", "properties": {"command": {"type": "string"}}}, {"command": "ls"}),
)
SYSTEM = "You are a coding agent."


def history(turns: list[dict[str, Any]], author: Author | None = None) -> History:
    """The corpus' turns in the product's own values: system reminders and summaries are said by the product."""
    messages: list[Message] = []
    names: dict[str, str] = {}
    for turn in turns:
        (kind, value), *_ = turn.items()
        if kind == "assistant":
            calls = []
            for call_id, name, arguments, *raw in value.get("calls", ()):
                names[call_id] = name
                error = None if arguments is not None else "not valid JSON"
                calls.append(ToolCall(call_id, name, arguments, error, raw[0] if raw else json.dumps(arguments)))
            messages.append(AssistantMessage(value["text"], value.get("reasoning", ""), tuple(calls), author))
        elif kind in {"result", "denied"}:
            messages.append(ToolMessage(value[0], names.get(value[0], "read_file"), value[1]))
        else:
            messages.append(UserMessage(value))
    return tuple(messages)


def profile(vendor: str, endpoint: str = "http://127.0.0.1:1/v1", **generation: Any) -> Profile:
    return Profile(
        name="case",
        type=vendor,
        wire=VENDORS.get(vendor, "openai-chat"),  # type: ignore[arg-type]
        endpoint=endpoint,
        model="m-test",
        generation=generation,
        options={"retries": 0},
    )


# ------------------------------------------------------------------ what is built


@pytest.mark.parametrize(("conversation", "vendor"), PAIRS, ids=[f"{c}-{v}" for c, v in PAIRS])
def test_conversation_is_accepted(conversation: str, vendor: str) -> None:
    used = profile(vendor)
    build = ADAPTERS[VENDORS[vendor]].build
    for author in (None, Author(used.wire, used.endpoint or "", "m-test"), Author("anthropic", "elsewhere", "other")):
        for offered in (TOOLS, ()):
            said = history(CONVERSATIONS[conversation], author)
            body = build(said, used, offered, system=SYSTEM)
            assert strict.check(vendor, body) is None
            assert build(said, used, offered, system=SYSTEM) == body
            assert json.loads(json.dumps(body)) == body


@pytest.mark.parametrize("vendor", sorted(v for v, wire in VENDORS.items() if wire == "anthropic"))
@pytest.mark.parametrize("conversation", sorted(CONVERSATIONS))
def test_thinking_is_left_out_where_it_cannot_go_on(conversation: str, vendor: str) -> None:
    used = profile(vendor, thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=4000)
    body = anthropic.build(history(CONVERSATIONS[conversation]), used, TOOLS, system=SYSTEM)
    assert strict.check(vendor, body) is None


# ------------------------------------------------------------------ the rules


def neutral(wire: str, body: dict[str, Any]) -> tuple[list[dict[str, Any]], tuple[ToolSpec, ...], dict[str, Any]]:
    """A recorded request body as corpus turns, tools and settings: what the product would have been asked to send."""
    turns: list[dict[str, Any]] = []
    for message in body["messages"]:
        role, content = message["role"], message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
        if role == "tool":
            turns.append({"result": [message.get("tool_call_id", "call_1"), content]})
        elif role == "assistant":
            calls = [
                [c["id"], c["function"]["name"], *_arguments(c["function"]["arguments"])]
                for c in message.get("tool_calls", ())
            ]
            calls += [[b["id"], b["name"], *_arguments(b["input"])] for b in blocks if b["type"] == "tool_use"]
            text = "".join(b["text"] for b in blocks if b["type"] == "text")
            turns.append({"assistant": {"text": text, "calls": calls}})
        elif role == "user":
            turns += [{"user": b["text"]} for b in blocks if b["type"] == "text"]
            turns += [{"result": [b["tool_use_id"], b["content"]]} for b in blocks if b["type"] == "tool_result"]
        elif turns:
            turns.append({"user": content})
    tools = tuple(
        ToolSpec((t.get("function") or t)["name"], "d", {"type": "object", "properties": {}}, {})
        for t in body.get("tools", ())
    )
    fixed = {"model", "messages", "tools", "stream", "system", "stream_options"}
    return turns, tools, {name: value for name, value in body.items() if name not in fixed}


def _arguments(value: Any) -> list[Any]:
    if isinstance(value, str):
        try:
            return [json.loads(value), value]
        except ValueError:
            return [None, value]
    return [value]


@pytest.mark.parametrize("rule_id", sorted(RULES))
def test_rule_cannot_be_broken_by_what_is_built(rule_id: str) -> None:
    """The recorded bad request, taken as a history and settings, is built so that its vendor accepts it."""
    rule = RULES[rule_id]
    assert strict.check(rule["vendor"], rule["bad"]) is not None
    assert strict.check(rule["vendor"], rule["good"]) is None
    wire = VENDORS[rule["vendor"]]
    turns, tools, settings = neutral(wire, rule["bad"])
    body = ADAPTERS[wire].build(history(turns), profile(rule["vendor"], **settings), tools, system=SYSTEM)
    if rule["when"] == "retry once" and strict.check(rule["vendor"], body) is not None:
        refusal = rule["refusal"]
        learned = vendors.adapt(
            vendors.rules(profile(rule["vendor"])), body, refusal["status"], json.dumps(refusal["body"])
        )
        assert learned is not None
        body = ADAPTERS[wire].build(
            history(turns), profile(rule["vendor"], **settings), tools, system=SYSTEM, vendor=learned[0]
        )
    assert strict.check(rule["vendor"], body) is None


# ------------------------------------------------------------------ over HTTP


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with replay_server.ReplayServer([]) as running:
        yield running


async def deltas_of(used: Profile, request: Request, link: http.Link) -> list[Delta]:
    async with aclosing(ADAPTERS[used.wire].stream(used, request, link)) as stream:
        return [delta async for delta in stream]


@pytest.mark.parametrize("vendor", sorted(VENDORS))
def test_every_conversation_over_http(vendor: str, server: Any) -> None:
    used = profile(vendor, server.url(f"strict/{vendor}") + SUFFIX[VENDORS[vendor]])

    async def run() -> list[list[Delta]]:
        requests = [Request(SYSTEM, history(turns), TOOLS) for turns in CONVERSATIONS.values()]
        return await asyncio.gather(*(deltas_of(used, request, http.Link()) for request in requests))

    before = len(server.requests)
    for deltas in asyncio.run(run()):
        assert [delta.text for delta in deltas if isinstance(delta, TextDelta)] == ["accepted"]
        assert not [delta for delta in deltas if isinstance(delta, RetryTick)]
    assert len(server.requests) - before == len(CONVERSATIONS)


RETRIED = sorted(rule_id for rule_id, rule in RULES.items() if rule["when"] == "retry once")


@pytest.mark.parametrize("rule_id", RETRIED)
def test_refused_parameter_is_left_out_once_and_remembered(rule_id: str, server: Any) -> None:
    """An unknown server of that kind: the parameter is sent, refused, left out; the next call knows."""
    rule = RULES[rule_id]
    turns, tools, settings = neutral("openai-chat", rule["bad"])
    if rule_id.startswith("r17"):  # neighbours of one role are always merged; a result before a user is what is left
        turns = [
            {"user": "a"},
            {"assistant": {"text": "", "calls": [["c1", "run", {}]]}},
            {"result": ["c1", "x"]},
            {"user": "b"},
        ]
    used = profile("openai", server.url(f"strict/{rule['vendor']}") + "/v1", **settings)
    link = http.Link()
    if "stream_options" not in rule["bad"]:
        link.network.learned[vendors.identity(used)] = vendors.Vendor(stream_usage=False)
    before = len(server.requests)
    request = Request(SYSTEM, history(turns), tools)
    deltas = asyncio.run(deltas_of(used, request, link))
    assert [type(delta) for delta in deltas] == [RetryTick, TextDelta, ReplyEnd]
    assert isinstance(deltas[0], RetryTick)
    assert deltas[0].seconds == 0
    assert len(server.requests) - before == 2
    again = asyncio.run(deltas_of(used, request, link))
    assert [type(delta) for delta in again] == [TextDelta, ReplyEnd]
    assert len(server.requests) - before == 3


REPORTED = sorted(rule_id for rule_id, rule in RULES.items() if rule["when"] == "report")


@pytest.mark.parametrize("rule_id", REPORTED)
def test_what_cannot_be_repaired_is_reported(rule_id: str, server: Any) -> None:
    rule = RULES[rule_id]
    turns, tools, settings = neutral("openai-chat", rule["bad"])
    used = profile("openai", server.url(f"strict/{rule['vendor']}") + "/v1", **settings)
    before = len(server.requests)
    (end,) = asyncio.run(deltas_of(used, Request(SYSTEM, history(turns), tools), http.Link()))
    assert isinstance(end, ReplyEnd)
    assert end.error is not None
    assert end.error.kind == "bad_request"
    assert "protocol" in end.error.message
    assert len(server.requests) - before == 1


def test_counts() -> None:
    assert len(PAIRS) == len(DATA["conversations"]) * len(DATA["vendors"])
    assert len(RULES) == len(DATA["rules"])
    assert set(VENDORS) == set(strict.VENDORS)
    assert {rule["when"] for rule in RULES.values()} == {"before sending", "when storing", "retry once", "report"}
