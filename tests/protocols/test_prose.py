"""Answers in plain words under the text protocols: asked for once in the form, then taken, and never lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.test_loop import passing
from tests.fakes import FakeTools
from tests.protocols.test_dialect import READ, end, play, speech
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import Limits, StopReason
from tui_agent.core.loop import TAKEN
from tui_agent.core.types import AssistantMessage, Reply
from tui_agent.oneshot import answer
from tui_agent.protocols import json_object, verbs
from tui_agent.protocols.action import ParseError
from tui_agent.protocols.prose import answer_in
from tui_agent.tools.registry import TOOLS

OFFERED = tuple(tool.spec for tool in TOOLS.values())
TYPED = '{"name": "read_file", "arguments": {"path": "a.py"}}'
ANSWERS = [
    "It adds two numbers.",
    "I changed a.py.\n\n- x is 2 now\n- done with it",
    "The set {1, 2} is returned, as in `{}`.",
    "```c\nint main() { return 0; }\n```\nThat is all.",
    "<think>so</think>It says hi.",
    "42",
    '"hi"',
    "Read the docs, then run make.",
    "Done: x is 1.",
    "{x} stands for the name.",
]
ATTEMPTS = [
    '{"tool": "read_file"',
    'Sure! {"tool": "read_file", "path": "a.py"}',
    "{'tool': 'read_file', 'path': 'a.py'}",
    "{tool: read_file}",
    'Like this:\n```json\n{"path": "a.py"\n```',
    '{"final": "x", "tool": "read_file", "path": "a.py"}',
    "READ a.py\nREAD b.py",
    "First\nRUN ls | wc",
    "<tool_call>read_file</tool_call>",
    "ACTION:\nWRITE a.py\nx",
    '{"nothing": 1}',
    '[{"tool": "read_file", "path": "a.py"}]',
    '{"final": " "}',
    "<think>never ends",
    "",
    "  \n",
]


@pytest.mark.parametrize("text", ANSWERS)
def test_plain_words_are_an_answer(text: str) -> None:
    assert answer_in(text) == text.removeprefix("<think>so</think>")


@pytest.mark.parametrize("text", ATTEMPTS)
def test_an_attempt_at_an_action_is_none(text: str) -> None:
    assert answer_in(text) is None


@pytest.mark.parametrize("extra", [{"status": "done"}, {"reasoning": "…", "n": [1]}])
def test_a_final_answer_with_more_fields_is_its_text(extra: dict[str, Any]) -> None:
    text = json.dumps({"final": "x is 1", **extra})
    assert isinstance(json_object.parse(text, TOOLS), ParseError)  # the form itself stays strict
    assert answer_in(text) == answer_in(f"```json\n{text}\n```") == "x is 1"


@given(st.text() | st.sampled_from([*ANSWERS, *ATTEMPTS]).flatmap(lambda t: st.sampled_from([t, t + "\n", " " + t])))
def test_whatever_is_said_is_in_the_form_or_words_or_an_attempt(text: str) -> None:
    for protocol in ("json", "verbs"):
        loose = speech(protocol).loose(Reply(text, finish="stop"), OFFERED)
        read = json_object.parse(text, TOOLS) if protocol == "json" else verbs.parse(text)
        assert loose is None or (isinstance(read, ParseError) and loose.strip())
        (decoded,) = speech(protocol).decode(Reply(text, finish="stop"), OFFERED).calls or (None,)
        assert loose is None or (decoded.name, decoded.raw) == ("", text)


# ------------------------------------------------------------------ in a run


def notices(events: list[Any]) -> list[str]:
    return [e.text for e in events if isinstance(e, ev.Notice) and e.audience == "person"]


@pytest.mark.parametrize("protocol", ["json", "verbs"])
@pytest.mark.parametrize("auto", [True, False])
@pytest.mark.parametrize("text", ["It says hi.", '{"final": "It says hi.", "status": "ok"}'])
async def test_it_is_asked_for_once_and_then_taken(protocol: str, auto: bool, text: str) -> None:
    events, seen = await play(speech(protocol, auto=auto), text, text)
    assert end(events).reason is StopReason.COMPLETED
    assert answer(events) == "It says hi."
    assert notices(events) == [TAKEN]
    assert not [e for e in events if isinstance(e, ev.ProtocolChosen) or (isinstance(e, ev.ToolDone) and e.invalid)]
    assert seen[1].messages[-2] == AssistantMessage(text)
    assert "If this was your answer" in seen[1].messages[-1].text
    assert fold.failed(events) == fold.undone(events) == []


async def test_after_a_step_down_a_plain_answer_ends_the_run() -> None:
    events, _ = await play(speech(auto=True), TYPED, "It defines x.", "So, x is 1.")
    assert [e.protocol for e in events if isinstance(e, ev.ProtocolChosen)] == ["json"]
    assert (end(events).reason, answer(events)) == (StopReason.COMPLETED, "So, x is 1.")


async def test_what_led_to_json_is_read_in_json_and_said_again_in_its_form() -> None:
    events, seen = await play(speech(auto=True), TYPED, TYPED.replace("a.py", "b"), '{"final": "x"}')
    assert [e.call.arguments for e in events if isinstance(e, ev.ToolDone)] == [{"path": "a.py"}, {"path": "b"}]
    assert not [e for e in events if isinstance(e, ev.ToolDone) and e.invalid]
    assert seen[2].messages[-2] == AssistantMessage('{"tool":"read_file","path":"b"}')


async def test_in_the_form_the_second_time_it_is_like_any_other() -> None:
    events, _ = await play(speech("json"), "It says hi.", '{"final": "hi"}')
    assert (answer(events), notices(events)) == ("hi", [])


async def test_only_in_a_row() -> None:
    events, _ = await play(
        speech("json"), "I look first.", READ, "Then I think.", '{"tool": "read_file", "path": "b"}', '{"final": "x"}'
    )
    assert notices(events) == []
    assert answer(events) == "x"


WRITE = json.dumps({"tool": "write_file", "path": "a.py", "content": "x = 2"})


async def test_it_is_verified_by_receipts_only_like_any_answer() -> None:
    events, _ = await play(speech("json"), WRITE, "Done.", "Done.", check=passing())
    assert end(events).reason is StopReason.VERIFIED
    limits = Limits(max_invalid=2)
    said = [f"All tests pass {n}." for n in range(9)]
    events, seen = await play(speech("json"), WRITE, *said, check=passing(code=1), limits=limits)
    assert end(events).reason is StopReason.UNVERIFIED
    rounds = [e.text for e in events if isinstance(e, ev.Notice) and "NOT VERIFIED" in e.text]
    assert len(rounds) == 2
    assert [n for n in notices(events) if n == TAKEN] == [TAKEN]
    assert len(seen) == 5  # the action, the words, the words again, and a round each


@pytest.mark.parametrize(
    ("replies", "limits", "reason"),
    [
        (["It is 1.", READ, READ, READ], Limits(), StopReason.REPEATED),
        (["It is 1.", *['{"tool"'] * 3], Limits(), StopReason.INVALID),
        ([READ, "It is 1.", READ], Limits(max_steps=3), StopReason.STEP_LIMIT),
    ],
)
async def test_however_the_run_ends_its_last_words_are_the_answer(replies: Any, limits: Any, reason: Any) -> None:
    events, _ = await play(speech("json"), *replies, limits=limits)
    assert end(events).reason is reason
    assert answer(events) == "It is 1."


async def test_an_action_that_was_cut_is_no_answer() -> None:
    cut = Reply(WRITE[:-4], finish="length")
    dialect = speech("json")
    assert dialect.decode(cut, OFFERED).calls[0].raw == cut.text
    assert dialect.decode(cut, ()).text == ""
    assert dialect.decode(Reply("It is", finish="length"), OFFERED).calls == ()


async def test_a_tool_that_is_not_offered_is_not_called_in_any_form() -> None:
    tools = FakeTools()
    events, _ = await play(speech("json"), '{"name": "delete_file", "arguments": {"path": "a"}}', '{"final": "x"}')
    assert [e.invalid for e in events if isinstance(e, ev.ToolDone)] == [True]
    assert tools.committed == []
