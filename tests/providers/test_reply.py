"""Folding deltas: calls are read strictly, ids are usable, a failed reply has no calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.core import reply as core_reply
from tui_agent.core.reply import (
    MAX_CALLS,
    MAX_DEPTH,
    ReplyBuilder,
    collect,
    parse_arguments,
    refuses_tools,
    strict_json,
)
from tui_agent.core.types import (
    CallDelta,
    ProviderError,
    ReasoningDelta,
    RefusalDelta,
    ReplyEnd,
    RetryTick,
    TextDelta,
    ToolCall,
    Usage,
)

SCALARS = st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    SCALARS | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)
FAILED = ProviderError("network", "gone", retryable=True)


@examples(30)
@given(st.dictionaries(st.text(), JSON, max_size=3))
def test_every_object_is_read(value: dict[str, Any]) -> None:
    text = json.dumps(value)
    assert parse_arguments(text) == (value, None)
    assert parse_arguments(f" \n{text}\t") == (value, None)
    assert parse_arguments(json.dumps(text)) == (value, None)


@given(st.text())
def test_no_text_raises(text: str) -> None:
    arguments, error = parse_arguments(text)
    assert (arguments is None) == (error is not None)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"a": 1', "Expecting"),
        ('{"a": 1} {"a": 2}', "Extra data"),
        ("{'a': 1}", "property name"),
        ('{"a": 1, "a": 2}', "'a' appears twice"),
        ('{"x": {"a": 1, "b": 2, "a": 3}}', "'a' appears twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "out of range"),
        (f'{{"a": -{"1" * 6000}}}', "has 6,001 digits, which is too long"),
        ('{"a": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"\\udc00": 1}', "surrogate"),
        ("[" * 100_000, "deeper"),
        ('{"a":' * 65 + "1" + "}" * 65, "deeper"),
        ('["a"]', "an array"),
        ("null", "null"),
        ("7", "a number"),
        ("true", "a boolean"),
        ('"text"', "not valid JSON"),
        ('"[1]"', "an array"),
        ('"\\"{}\\""', "a string"),
    ],
)
def test_what_is_refused_and_why(raw: str, reason: str) -> None:
    arguments, error = parse_arguments(raw)
    assert arguments is None
    assert error is not None
    assert reason in error


def test_depth_is_counted_in_levels() -> None:
    assert strict_json("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None
    with pytest.raises(ValueError, match="deeper"):
        strict_json("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


def test_blank_arguments_are_an_empty_object() -> None:
    assert parse_arguments("") == ({}, None)
    assert parse_arguments(" \n") == ({}, None)


def test_pieces_are_joined_in_order_of_first_appearance() -> None:
    reply = collect(
        [
            ReasoningDelta("hm "),
            CallDelta(7, "b", "run", '{"c'),
            RetryTick(1, 1.0, FAILED),
            CallDelta(3, "a", "read_file", ""),
            TextDelta("te"),
            CallDelta(7, "", "", '": 1}'),
            TextDelta("xt"),
            ReasoningDelta("so"),
            RefusalDelta("no"),
            CallDelta(3, extras={"x": 1}),
            ReplyEnd("stop", Usage(1, 2), extras={"y": 2}),
        ]
    )
    assert reply.text == "text"
    assert reply.reasoning == "hm so"
    assert reply.refusal == "no"
    assert reply.calls == (ToolCall("b", "run", {"c": 1}, raw='{"c": 1}'), ToolCall("a", "read_file", {}))
    assert reply.finish == "tool_calls"
    assert reply.usage == Usage(1, 2)
    assert reply.extras == {"y": 2, "calls": {"a": {"x": 1}}}


@pytest.mark.parametrize("last", [[ReplyEnd("tool_calls", error=FAILED)], []])
def test_without_a_good_end_there_are_no_calls(last: list[Any]) -> None:
    reply = collect([TextDelta("so far"), CallDelta(0, "a", "run", "{}"), *last])
    assert (reply.text, reply.calls, reply.finish) == ("so far", (), None)


def test_a_reply_can_be_asked_for_at_any_time() -> None:
    builder = ReplyBuilder()
    builder.add(TextDelta("a"))
    assert builder.reply().text == "a"
    builder.add(TextDelta("b"))
    builder.add(ReplyEnd("stop"))
    assert (builder.reply().text, builder.reply().finish) == ("ab", "stop")


@pytest.mark.parametrize(
    ("label", "called", "finish"),
    [
        ("stop", True, "tool_calls"),
        ("unknown", True, "tool_calls"),
        ("content_filter", True, "content_filter"),
        ("refusal", True, "refusal"),
        ("error", True, "error"),
        ("pause", True, "tool_calls"),
        ("length", True, "length"),
        ("tool_calls", False, "stop"),
        ("pause", False, "pause"),
        (None, False, None),
    ],
)
def test_finish_is_decided_by_content(label: Any, called: bool, finish: str | None) -> None:
    calls = [CallDelta(0, "a", "run", "{}")] if called else []
    reply = collect([*calls, ReplyEnd(label)])
    assert reply.finish == finish
    assert len(reply.calls) == (called and finish in {"tool_calls", "length"})


@given(
    st.lists(
        st.sampled_from(["", "a", "a", "b", "tc_1", "tc_2", "x\ny", "\x1b[31m", "../../etc", "é", "i" * 200]),
        max_size=40,
    )
)
def test_ids_are_usable_and_unique(ids: list[str]) -> None:
    deltas = [CallDelta(key, call_id, "run", "{}") for key, call_id in enumerate(ids)]
    calls = collect([*deltas, ReplyEnd("stop")], known_ids={"b"}).calls
    made = [call.id for call in calls]
    assert len(set(made)) == len(made) == min(len(ids), MAX_CALLS)
    assert "b" not in made
    assert all(call_id and call_id.isascii() and call_id.isprintable() and "/" not in call_id for call_id in made)
    if "a" in ids[:MAX_CALLS]:
        assert made[ids.index("a")] == "a"


def test_more_calls_than_the_limit_are_told_not_run() -> None:
    deltas = [CallDelta(key, "same", "run", "{}") for key in range(1000)]
    calls = collect([*deltas, ReplyEnd("tool_calls")]).calls
    assert len(calls) == MAX_CALLS
    assert all(call.error is None for call in calls[:-1])
    assert calls[-1].arguments is None
    assert "1000 calls" in (calls[-1].error or "")


def test_arguments_are_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr(core_reply, "MAX_ARGUMENTS", 100)
    deltas = [CallDelta(0, "a", "run", " " * 30) for _ in range(10)]
    (call,) = collect([*deltas, CallDelta(0, arguments="{}"), ReplyEnd("stop")]).calls
    assert call.arguments is None
    assert "longer than" in (call.error or "")
    assert len(call.raw) <= 100


def test_extras_are_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr(core_reply, "MAX_EXTRAS", 10)
    assert collect([ReplyEnd("stop", extras={"a": 1})]).extras == {"a": 1}
    assert collect([ReplyEnd("stop", extras={"a": "x" * 20})]).extras == {}


def test_a_call_that_was_cut_before_its_arguments_does_not_run() -> None:
    first, last = collect([CallDelta(0, "a", "x"), CallDelta(1, "b", "run"), ReplyEnd("length")]).calls
    assert first.arguments == {}
    assert last.arguments is None
    (nameless,) = collect([CallDelta(0, "a", "", "{}"), ReplyEnd("stop")]).calls
    assert nameless.error == "the call names no tool"


REFUSALS = [
    "No endpoints found that support tool use. Try disabling",
    "Function calling is not supported by this model",
    "`tools` is not currently supported",
    "tool_choice is not supported",
    "This model doesn't support tool use",
    "This model doesn’t support function calling.",
    "Extra inputs are not permitted: tools",
    "body.tools: Extra inputs are not permitted",
    "tool calling is not enabled for this model",
    "Tools are not yet supported",
    "models/x do not support function calls",
    "Unsupported parameter: 'tools'",
]
OTHER_FAULTS = [
    "the tool server is not available",
    "unknown model",
    "tools[0].function.name is too long",
    "the model does not support images",
    "function f is not defined",
    "'temperature' is not supported with this model",
    "no endpoints found for this model",
]


@pytest.mark.parametrize("text", REFUSALS)
@pytest.mark.parametrize("kind", ["bad_request", "server"])
def test_a_refusal_of_tools_is_known_in_any_words(text: str, kind: Any) -> None:
    assert refuses_tools(ProviderError(kind, f"the server refused the request (HTTP 400): {text}"))


@pytest.mark.parametrize("text", OTHER_FAULTS)
def test_another_fault_is_no_refusal_of_tools(text: str) -> None:
    assert not refuses_tools(ProviderError("bad_request", text))


def test_refusal_of_tools_is_recognised() -> None:
    assert refuses_tools(ProviderError("bad_request", "registry.ollama.ai/library/m does not support tools"))
    assert refuses_tools(ProviderError("bad_request", '"auto" tool choice requires --enable-auto-tool-choice'))
    assert not refuses_tools(ProviderError("bad_request", "unknown model"))
    assert refuses_tools(ProviderError("server", "tools param requires --jinja flag"))
    assert refuses_tools(ProviderError("bad_request", "Unrecognized request argument supplied: tools"))
    assert not refuses_tools(ProviderError("server", "the tool server is overloaded"))
    assert not refuses_tools(ProviderError("network", "does not support tools"))
    assert not refuses_tools(None)
