from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.sessions.story import CALL, EDIT, reply, turn
from tui_agent import export
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import StopReason
from tui_agent.core.secrets import HIDDEN, Secrets
from tui_agent.core.types import AgentError, AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

KEY = "sk-CANARY-1234567890abcdef"
NONE = Secrets()

GOLDEN = """# renaming

Session s1 in `/w`, begun BEGUN.
2 turns, 3 replies, 300 tokens in, 30 out, $1.5000.

## You

rename x

## the model

I rename it.

<details>
<summary>edit_file</summary>

```
ok
```

</details>

## the model

Renamed.

*unverified*

## You

show <b>it</b>

## the model

a `fence`

*completed*

*back to before message 2*
"""


def session(*events: ev.Durable) -> list[ev.Durable]:
    return [ev.SessionStarted("s1", "/w", 1_700_000_000.0, "1"), *events]


def test_the_document() -> None:
    happened = session(*EDIT, *turn("show <b>it</b>", "a `fence`"), ev.Named("renaming"), ev.Rewound(2))
    text = export.markdown(happened, NONE)
    begun = text.split("begun ")[1].split(".  ")[0]
    assert text == GOLDEN.replace("BEGUN.", f"{begun}.  ")


@pytest.mark.parametrize("created", [1e308, float("nan"), float("inf"), -1e300])
def test_a_time_that_is_none_is_unknown(created: float) -> None:
    assert "begun a time unknown" in export.markdown([ev.SessionStarted("s1", "/w", created, "1")], NONE)


def test_what_was_said_of_an_answer_that_was_cut_short_is_in_the_document() -> None:
    cut = [ev.Checkpoint("the first half, "), ev.Checkpoint("the second")]
    for end in ([], [ev.RunEnded(StopReason.STOPPED, "", 1)], [ev.UserSaid("again")]):
        assert "the first half, the second\n\n*cut short*\n" in export.markdown(
            session(ev.UserSaid("go on"), *cut, *end), NONE
        )
    whole = export.markdown(session(ev.UserSaid("go on"), *cut, *turn("again", "whole")[1:]), NONE)
    assert "half" not in whole
    assert "cut short" not in whole


def test_keys_are_masked_known_ones_and_what_looks_like_one() -> None:
    known = "hunter2-hunter2"
    done = ev.ToolDone(CALL, "applied", f"TOKEN={known}\nOPENAI={KEY}\nAuthorization: Bearer abcdefgh12345678")
    happened = session(ev.UserSaid(f"my key is {known} or {KEY}"), reply("", CALL), done)
    for text in (
        export.markdown(happened, Secrets([known])),
        export.messages(fold.history(happened), Secrets([known]), masked=True),
    ):
        assert known not in text
        assert KEY not in text
        assert "abcdefgh12345678" not in text
        assert HIDDEN in text
    saved = export.messages(fold.history(happened), Secrets([known]))
    assert known not in saved
    assert saved.count(KEY) == 1, "what a tool found is as it was; what was typed is as the log has it"


def test_what_was_decided_about_what_is_sent_is_in_the_document() -> None:
    happened = session(*turn("keep **this** in mind", "yes"), *turn("two"))
    happened += [
        ev.Marked((1,), "pinned"),
        ev.Marked((1, 2, 3, 4), "dropped"),
        ev.Marked((99,), "short"),
        ev.Marked((2, 4), "short", "room", 50),
        ev.Compacted("- ```all``` of it", (1,), "parsers", "person", 61_000, 9_000),
        ev.Expanded(11),
        ev.Compacted("", fault="the model wrote\nno summary", by="room"),
    ]
    text = export.markdown(happened, NONE)
    head, *rest = text[text.index("*pinned") :].split("\n\n")
    assert head == "*pinned: “keep **this** in mind”*"
    assert rest[:3] == [
        "*not sent from here on: 4 messages*",
        "*sent short from here on: 1 message*",
        "*to save room: sent short from here on: 2 messages*",
    ]
    assert rest[3].endswith("<summary>compacted (asked for, about parsers): 61,000 tokens → 9,000 tokens</summary>")
    assert rest[4] == "````\n- ```all``` of it\n````"
    assert rest[6] == "*the compaction was taken back*"
    assert rest[7].strip() == "*not compacted: the model wrote<LF>no summary*"


@given(st.text(alphabet="`~ab\n <", max_size=40))
def test_no_output_ends_its_own_fence(text: str) -> None:
    done = ev.ToolDone(CALL, "applied", text)
    lines = export.markdown(session(ev.UserSaid("x"), reply("", CALL), done), NONE).splitlines()
    at = lines.index("<summary>edit_file</summary>") + 2
    fence = lines[at]
    assert set(fence) == {"`"}
    end = lines.index(fence, at + 1)
    assert lines[end + 2] == "</details>"
    assert not any(fence in line for line in lines[at + 1 : end])


def test_what_a_terminal_would_obey_is_shown_instead() -> None:
    text = export.markdown(session(ev.UserSaid("\x1b]0;title\x07hello\u202e")), NONE)
    assert "\x1b" not in text
    assert "\u202e" not in text


names = st.sampled_from(["read_file", "run_command"])
texts = st.text(alphabet=st.characters(codec="utf-8"), max_size=30)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    out: list[Message] = []
    for number in range(draw(st.integers(1, 4))):
        out.append(UserMessage(draw(texts)))
        calls = tuple(
            ToolCall(f"c{number}-{n}", draw(names), {"path": draw(texts)}) for n in range(draw(st.integers(0, 2)))
        )
        out.append(AssistantMessage(draw(texts), calls=calls))
        out += [ToolMessage(call.id, call.name, draw(texts)) for call in calls]
    return out


@given(conversations())
@examples(60)
def test_what_is_saved_is_what_is_loaded(tmp_path_factory: pytest.TempPathFactory, said: list[Message]) -> None:
    file = tmp_path_factory.mktemp("save") / "m.json"
    export.write(file, export.messages(tuple(said), NONE))
    again = fold.history(export.read(file))
    assert export.messages(again, NONE) == file.read_text(encoding="utf-8")
    without_raw = [
        replace(m, calls=tuple(replace(c, raw="") for c in m.calls)) if isinstance(m, AssistantMessage) else m
        for m in again
    ]
    assert without_raw == said


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "is no JSON"),
        ("{}", "holds no list"),
        ("[]", "holds no list"),
        ("[1]", "message 1 cannot be used"),
        ('[{"role": "user", "content": 7}]', "its content is no text"),
        ('[{"role": "user"}, {"role": "robot", "content": ""}]', "message 2 cannot be used: its role is 'robot'"),
        ('[{"role": "tool", "tool_call_id": "x", "content": ""}]', "answers no call"),
        ('[{"role": "assistant", "content": "", "tool_calls": [{}]}]', "message 1 cannot be used"),
    ],
)
def test_a_file_that_holds_no_messages_says_what_is_wrong(tmp_path: Path, content: str, why: str) -> None:
    file = tmp_path / "m.json"
    file.write_text(content)
    with pytest.raises(AgentError, match=why):
        export.read(file)


@pytest.mark.parametrize("deep", ["[" * 20_000, '{"a":' + "[" * 900 + "]" * 900 + "}"])
def test_arguments_that_nobody_can_walk_through_are_no_arguments(tmp_path: Path, deep: str) -> None:
    call = {"id": "c", "function": {"name": "read_file", "arguments": deep}}
    file = tmp_path / "m.json"
    file.write_text(json.dumps([{"role": "assistant", "tool_calls": [call]}]))
    (said,) = export.read(file)
    assert isinstance(said, ev.AssistantSaid)
    assert said.message.calls[0].arguments is None


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="No such file"):
        export.read(tmp_path / "none.json")
    with pytest.raises(AgentError, match="cannot be written"):
        export.write(tmp_path / "no" / "folder.md", "x")
    with pytest.raises(AgentError, match="too long"):
        export.write(tmp_path / f"{'x' * 300}.md", "x")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(AgentError, match="no ordinary file"):
        export.read(tmp_path / "pipe")


def test_messages_of_other_programs_are_read(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "not json"}}
    file.write_text(
        json.dumps(
            [
                {"role": "system", "content": "be nice"},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "1", "content": "r"},
            ]
        )
    )
    assert [type(m) for m in fold.history(export.read(file))] == [UserMessage, AssistantMessage, ToolMessage]


def test_nothing_is_written_over_unasked(tmp_path: Path) -> None:
    file = tmp_path / "x.md"
    export.write(file, "one")
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        export.write(file, "two")
    assert file.read_text() == "one"
    export.write(file, "two", over=True)
    assert file.read_text() == "two"
    assert list(tmp_path.iterdir()) == [file]
