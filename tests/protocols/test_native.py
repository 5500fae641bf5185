from __future__ import annotations

import json
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core.types import ProviderError, Reply, ToolCall
from tui_agent.protocols.native import PATIENCE, StepDown, calls_of
from tui_agent.tools.registry import TOOLS

OFFERED = tuple(tool.spec for tool in TOOLS.values())
READ = ToolCall("", "read_file", {"path": "a.py"})
CALL = '{"name": "read_file", "arguments": {"path": "a.py"}}'
GOOD = Reply(calls=(ToolCall("1", "read_file", {"path": "a"}),), finish="tool_calls")
BAD = Reply(calls=(ToolCall("1", "read_file", None, "not JSON", "{"),), finish="tool_calls")
PROSE = Reply("I read it.", finish="stop")
BROKEN = Reply('{"tool": "read_file"', finish="stop")
CUT = Reply(CALL, finish="length")
REFUSED = Reply(error=ProviderError("bad_request", "qwen does not support tools"))
FAILED = Reply(error=ProviderError("server", "502"))
TYPED = Reply(CALL, finish="stop")
FINAL = Reply('{"final": "done"}', finish="stop")
DISABLED = Reply('{"tool": "run_rocket"}', finish="stop")


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"```json\n{CALL}\n```",
        f"\n```\n{CALL}\n```\n",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"[TOOL_CALLS] [{CALL}]",
        f"<think>I need it.</think>\n{CALL}",
        '{"name":"read_file","parameters":{"path":"a.py"}}',
        '{"name":"read_file","arguments":"{\\"path\\":\\"a.py\\"}"}',
        '{"tool":"read_file","path":"a.py"}',
        '{"tool":"read_file","arguments":{"path":"a.py"}}',
        '{"type":"function","function":{"name":"read_file","arguments":{"path":"a.py"}}}',
        '{"id":"call_1","type":"function","name":"read_file","arguments":{"path":"a.py"}}',
        '{"function":"read_file","arguments":{"path":"a.py"}}',
    ],
)
def test_a_text_that_is_one_call_is_that_call(text: str) -> None:
    assert calls_of(Reply(text, finish="stop"), OFFERED) == (READ,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.py",
        f"I will read it: {CALL}",
        f"{CALL}\nThen I will change it.",
        f"```json\n{CALL}\n```\nThis is how you would call it.",
        f"{CALL}\n{CALL}",
        f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>",
        f"<think>{CALL}",
        f"<think>{CALL}</think>",
        '{"name":"run_rocket","arguments":{"path":"a.py"}}',
        '{"name":"read_file","arguments":{"file":"a.py"}}',
        '{"name":"read_file","arguments":{"path":1}}',
        '{"name":"read_file","arguments":["a.py"]}',
        '{"name":"read_file","arguments":{"path":"a.py"},"note":"x"}',
        '{"name":"read_file","path":"a.py"}',
        '{"name":"read_file","arguments":{"path":"a.py"}',
        '{"name":["read_file"],"arguments":{}}',
        '{"function":{"name":1}}',
        '{"final":"done"}',
        "{}",
        "[1]",
        "7",
    ],
)
def test_anything_else_stays_an_answer(text: str) -> None:
    assert calls_of(Reply(text, finish="stop"), OFFERED) == ()


def test_only_offered_tools_are_called() -> None:
    assert calls_of(TYPED, ()) == ()
    assert calls_of(TYPED, tuple(spec for spec in OFFERED if spec.name != "read_file")) == ()


def test_native_calls_go_first_and_unchanged() -> None:
    assert calls_of(replace(GOOD, text=CALL), OFFERED) == GOOD.calls
    assert calls_of(BAD, ()) == BAD.calls


@pytest.mark.parametrize("finish", ["length", "content_filter", "refusal", "pause", "error"])
def test_a_reply_that_did_not_end_well_is_never_run(finish: str) -> None:
    assert calls_of(replace(TYPED, finish=finish), OFFERED) == ()
    assert calls_of(replace(GOOD, finish="length"), OFFERED) == ()
    assert calls_of(replace(GOOD, error=FAILED.error), OFFERED) == ()
    assert calls_of(replace(TYPED, refusal="no"), OFFERED) == ()


@given(st.one_of(st.text(), st.recursive(st.text() | st.integers(), lambda v: st.dictionaries(
    st.sampled_from(["name", "tool", "function", "arguments", "parameters", "path", "id"]), v | st.just("read_file"))).map(json.dumps)))  # fmt: skip
def test_any_text_gives_at_most_one_valid_call(text: str) -> None:
    for call in calls_of(Reply(text, finish="stop"), OFFERED):
        assert call.name in TOOLS
        assert call.arguments is not None


def protocols(*replies: Reply) -> list[str]:
    state, seen = StepDown(), []
    for reply in replies:
        state = state.after(reply, OFFERED)
        seen.append(state.protocol)
    return seen


def test_auto_steps_down_after_repeated_malformed_replies() -> None:
    assert protocols(BAD, BAD, BROKEN, BROKEN, BROKEN) == ["native", "json", "json", "verbs", "verbs"]
    assert protocols(BAD, GOOD, BAD, GOOD, BAD) == ["native"] * 5
    assert protocols(BAD, BAD, BROKEN, FINAL, BROKEN) == ["native", *["json"] * 4]


LACKS = Reply(calls=(ToolCall("1", "read_file", {"file": "a.py"}),), finish="tool_calls")
"""Well-formed, and with the wrong fields: constrained to a schema the model may do better."""


@pytest.mark.parametrize("fields", [{}, {"file": "a.py"}, {"path": 1}, {"path": "a.py", "why": "x"}, {"path": None}])
def test_a_call_with_the_wrong_fields_is_malformed_too(fields: dict[str, Any]) -> None:
    wrong = Reply(calls=(ToolCall("1", "read_file", fields),), finish="tool_calls")
    assert protocols(wrong, wrong) == ["native", "json"]
    assert protocols(wrong, GOOD, wrong, BAD) == ["native", "native", "native", "json"]


def test_what_is_no_tool_or_the_tool_of_a_server_changes_no_protocol() -> None:
    for name in ("fly", "git__log"):
        other = Reply(calls=(ToolCall("1", name, {"x": 1}),), finish="tool_calls")
        assert protocols(other, other, other) == ["native"] * 3
    null = Reply(calls=(ToolCall("1", "read_file", {"path": "a.py", "limit": None}),), finish="tool_calls")
    assert protocols(null, null) == ["native"] * 2


def test_plain_words_say_nothing_about_the_protocol() -> None:
    assert protocols(BAD, BAD, *[PROSE] * 5) == ["native", *["json"] * 6]
    assert protocols(BAD, BAD, BROKEN, PROSE, BROKEN) == ["native", "json", "json", "json", "verbs"]
    assert protocols(BAD, BAD, BROKEN, BROKEN, *[PROSE] * 3)[-1] == "verbs"


def test_a_call_in_the_form_that_led_to_json_is_read_there() -> None:
    assert protocols(TYPED, TYPED, TYPED, TYPED) == ["json"] * 4


def test_auto_steps_down_at_once_when_native_calls_cannot_work() -> None:
    assert protocols(REFUSED) == ["json"]
    assert protocols(TYPED) == ["json"]
    assert "no native tool calls" in StepDown().after(REFUSED).reason
    assert "as text" in StepDown().after(TYPED, OFFERED).reason


def test_replies_that_say_nothing_about_the_protocol() -> None:
    assert protocols(CUT, FAILED, CUT, FAILED, CUT) == ["native"] * 5
    half = StepDown().after(BAD)
    assert half.after(CUT) == half.after(FAILED) == half
    json_now = StepDown("json", 1, "why")
    assert json_now.after(REFUSED) == json_now
    assert json_now.after(DISABLED, OFFERED) == StepDown("json", 0, "why")


@given(st.lists(st.sampled_from([GOOD, BAD, BROKEN, LACKS, PROSE, CUT, REFUSED, FAILED, TYPED, FINAL, DISABLED])))
def test_auto_never_steps_up_and_is_patient(replies: list[Reply]) -> None:
    order = ["native", "json", "verbs"]
    seen = ["native", *protocols(*replies)]
    ranks = [order.index(protocol) for protocol in seen]
    assert all(0 <= after - before <= 1 for before, after in pairwise(ranks))
    final = reduce(lambda state, reply: state.after(reply, OFFERED), replies, StepDown())
    assert bool(final.reason) == (final.protocol != "native")
    assert final.protocol == "verbs" or final.malformed < PATIENCE
