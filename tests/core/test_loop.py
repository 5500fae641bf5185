from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from tests.fakes import FakeTools, Person
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.check import Check
from tui_agent.core.endings import Limits, StopReason
from tui_agent.core.log import MemoryLog, digest_of, is_durable
from tui_agent.core.loop import Agent, run
from tui_agent.core.types import (
    NO_BASE,
    ApprovalRequest,
    AssistantMessage,
    Author,
    ConfigError,
    Decision,
    Model,
    ProviderError,
    ReplyEnd,
    Request,
    TextDelta,
    ToolMessage,
    UserMessage,
    WriteBytes,
)
from tui_agent.oneshot import answer
from tui_agent.providers.scripted import from_function, scripted


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def read(path: str = "a.py") -> dict[str, Any]:
    return {"calls": [call("read_file", path=path)]}


def write(path: str = "a.py", content: str = "x") -> dict[str, Any]:
    return {"calls": [call("write_file", path=path, content=content)]}


async def events_of(agent: Agent, task: str = "do it") -> list[ev.Event]:
    async with aclosing(run(task, agent)) as stream:
        return [event async for event in stream]


def ended(events: list[Any]) -> ev.RunEnded:
    ends = [e for e in events if isinstance(e, ev.RunEnded)]
    assert len(ends) == 1
    return ends[0]


def tool_texts(events: list[Any]) -> list[str]:
    return [e.text for e in events if isinstance(e, ev.ToolDone)]


def passing(seen: list[str] | None = None, code: int | None = 0, **kw: Any) -> Check:
    async def go(emit: Any) -> ev.CheckDone:
        emit("...\n")
        if seen is not None:
            seen.append("ran")
        return ev.CheckDone(("make", "check"), code, "" if code == 0 else "1 failed", 0.1)

    return Check(("make", "check"), go, **kw)


async def test_read_then_answer_is_completed() -> None:
    seen: list[Request] = []
    agent = Agent(scripted([read(), {"text": "It says hi."}], seen=seen), FakeTools({"a.py": b"hi"}))
    events = await events_of(agent)
    assert ended(events).reason is StopReason.COMPLETED
    assert seen[1].messages[-1] == ToolMessage("call-0-0", "read_file", "hi")
    assert [m for m in seen[1].messages if isinstance(m, UserMessage)] == [UserMessage("do it")]


async def test_the_log_holds_exactly_the_durable_events_that_were_yielded() -> None:
    log = MemoryLog()
    agent = Agent(scripted([read(), write(), {"text": "done"}]), FakeTools({"a.py": b"hi"}), Person(), log=log)
    events = await events_of(agent)
    assert [e for e in events if is_durable(e)] == log.events


async def test_fold_of_durable_events_equals_fold_of_all() -> None:
    agent = Agent(scripted([read(), write(), {"text": "done"}]), FakeTools({"a.py": b"hi"}), Person())
    events = await events_of(agent)
    durable = [e for e in events if is_durable(e)]
    assert fold.history(events) == fold.history(durable)
    assert fold.totals(events) == fold.totals(durable)
    assert fold.changes(events) == fold.changes(durable) == {"a.py": fold.Change("M", 0, 0)}


async def test_text_before_calls_is_shown_before_the_tool_runs() -> None:
    agent = Agent(scripted([{"text": "Looking.", **read()}, {"text": "ok"}]), FakeTools({"a.py": b"hi"}))
    events = await events_of(agent)
    first_text = next(i for i, e in enumerate(events) if isinstance(e, TextDelta))
    assert first_text < next(i for i, e in enumerate(events) if isinstance(e, ev.ToolStarted))


@pytest.mark.parametrize(
    ("answer", "text", "written"),
    [
        ("yes", "wrote a.py", True),
        ("no", "user rejected the change", False),
        ("no:keep the name", "user rejected the change: keep the name", False),
        ("skip:later", "user skipped: later", False),
    ],
)
async def test_the_answer_of_the_person_decides(answer: str, text: str, written: bool) -> None:
    tools = FakeTools({"a.py": b"hi"})
    events = await events_of(Agent(scripted([write(), {"text": "ok"}]), tools, Person([answer])))
    assert tool_texts(events) == [text]
    assert (tools.files["a.py"] == b"x") is written
    assert ended(events).reason is (StopReason.UNVERIFIED if written else StopReason.COMPLETED)
    assert fold.exit_code(events) == (0 if written else 3)


async def test_nobody_to_ask_means_no() -> None:
    tools = FakeTools()
    events = await events_of(Agent(scripted([write(), {"text": "ok"}]), tools))
    assert tools.files == {}
    assert fold.exit_code(events) == 3
    assert [e.denied for e in events if isinstance(e, ev.ToolDone)] == ["nobody"]


async def test_a_batch_is_asked_once_and_carried_out_in_call_order() -> None:
    tools, person = FakeTools({"a.py": b"1"}), Person(["yes"])
    reply = {
        "calls": [
            call("write_file", path="a.py", content="2"),
            call("read_file", path="a.py"),
            call("write_file", path="b.py", content="3"),
        ]
    }
    events = await events_of(Agent(scripted([reply, {"text": "ok"}]), tools, person))
    assert [len(batch) for batch in person.asked] == [2]
    assert tool_texts(events) == ["wrote a.py", "2", "wrote b.py"]


async def test_what_depends_on_a_refused_edit_is_not_applied() -> None:
    tools = FakeTools({"a.py": b"1"})
    reply = {"calls": [call("write_file", path="a.py", content="2"), call("write_file", path="a.py", content="3")]}
    events = await events_of(Agent(scripted([reply, {"text": "ok"}]), tools, Person(["no", "yes"])))
    assert tool_texts(events) == ["user rejected the change", "not applied: base changed because #1 was refused"]
    assert tools.files == {"a.py": b"1"}


async def test_a_reason_of_the_person_is_told_also_of_what_has_no_base() -> None:
    reply = {"calls": [call("write_file", path="a.py", content="2"), call("write_file", path="a.py", content="3")]}
    agent = Agent(scripted([reply, {"text": "ok"}]), FakeTools({"a.py": b"1"}), Person(["no", "no:ugly"]))
    assert tool_texts(await events_of(agent)) == ["user rejected the change", "user rejected the change: ugly"]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"chosen": frozenset({1})}, "only a part of #1 was applied"),
        ({"instead": 1}, "#1 was not applied as you proposed it"),
    ],
)
async def test_what_was_built_on_a_part_of_an_edit_was_not_skipped_by_the_user(how: dict[str, Any], why: str) -> None:
    async def ask(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        first = Decision(batch[0].id, "yes", **({"instead": batch[0]} if "instead" in how else how))
        return first, Decision(batch[1].id, "skip", NO_BASE, by="rule")

    reply = {"calls": [call("write_file", path="a.py", content="2"), call("write_file", path="a.py", content="3")]}
    events = await events_of(Agent(scripted([reply, {"text": "ok"}]), FakeTools({"a.py": b"1"}), ask))
    assert tool_texts(events)[1] == f"not applied: base changed because {why}"
    last = [event for event in events if isinstance(event, ev.ToolDone)][1]
    assert (last.denied, last.note) == ("", NO_BASE)
    assert fold.failed(events) == []


async def test_stop_in_a_question_ends_the_run_with_a_valid_history() -> None:
    reply = {"calls": [call("write_file", path="a.py", content="2"), call("write_file", path="b.py", content="3")]}
    events = await events_of(Agent(scripted([reply]), FakeTools(), Person(["stop"])))
    assert ended(events).reason is StopReason.STOPPED
    assert_answered(fold.history(events))


async def test_behind_a_stop_a_no_stays_with_its_reason() -> None:
    reply = {"calls": [call("write_file", path=f"{name}.py", content="2") for name in "abcd"]}
    person = Person(["stop", "no:use pathlib", "skip:later", "yes"])
    tools = FakeTools()
    events = await events_of(Agent(scripted([reply]), tools, person))
    assert tool_texts(events)[1:] == [
        "user rejected the change: use pathlib",
        "user skipped: later",
        "not carried out: the run was stopped before it",
    ]
    assert tools.committed == []
    assert ended(events).reason is StopReason.STOPPED


async def test_after_a_stop_what_depends_on_the_refused_edit_was_not_started_either() -> None:
    reply = {"calls": [call("write_file", path="a.py", content="2"), call("write_file", path="a.py", content="3")]}
    events = await events_of(Agent(scripted([reply]), FakeTools({"a.py": b"1"}), Person(["stop"])))
    assert tool_texts(events)[1] == "not carried out: the run was stopped before it"  # a replay says the same


async def test_after_a_stop_nothing_starts_that_the_person_did_not_approve() -> None:
    ran: list[str] = []
    calls = [write("a.py"), read("a.py"), write("b.py"), read("b.py"), write("c.py")]
    tools = FakeTools({"a.py": b"1", "b.py": b"1"})
    reply = {"calls": [one["calls"][0] for one in calls]}
    person = Person(["yes", "stop", "stop"])
    events = await events_of(Agent(scripted([reply]), tools, person, check=passing(ran)))
    assert tools.committed == ["edit  a.py"], "the one that got its own yes"
    assert tool_texts(events)[1] == "not carried out: the run was stopped before it"
    assert ran == [], "and no program is started"
    assert ended(events).reason is StopReason.STOPPED
    assert_answered(fold.history(events))


async def test_after_the_last_denial_nothing_of_the_batch_starts() -> None:
    tools = FakeTools()
    reply = {"calls": [write("a.py")["calls"][0], write("b.py")["calls"][0]]}
    person = Person(["no", "yes"])
    events = await events_of(Agent(scripted([reply]), tools, person, on_reject="stop"))
    assert tools.files == {}
    assert ended(events).reason is StopReason.DENIED


def assert_answered(history: Any) -> None:
    for i, message in enumerate(history):
        if isinstance(message, AssistantMessage):
            answers = history[i + 1 : i + 1 + len(message.calls)]
            assert [a.call_id for a in answers] == [c.id for c in message.calls]


@pytest.mark.parametrize("denier", ["policy", "person"])
async def test_a_denied_action_is_told_then_refused_unasked_then_ends_the_run(denier: str) -> None:
    person = Person(["no"])
    tools = FakeTools(deny=frozenset({"write_file"}) if denier == "policy" else frozenset())
    events = await events_of(Agent(scripted([write()] * 5), tools, person))
    assert ended(events).reason is StopReason.DENIED
    assert len(tool_texts(events)) == 3
    assert len(person.asked) == (0 if denier == "policy" else 1)
    assert fold.exit_code(events) == 3


@pytest.mark.parametrize("denier", ["policy", "person"])
@pytest.mark.parametrize("setting", ["policy", "person"])
async def test_a_setting_ends_the_run_at_the_first_denial_of_its_kind(denier: str, setting: str) -> None:
    tools = FakeTools(deny=frozenset({"write_file"} if denier == "policy" else ()))
    stops: dict[str, Any] = {"on_deny" if setting == "policy" else "on_reject": "stop"}
    events = await events_of(Agent(scripted([write(), {"text": "ok"}]), tools, Person(["no"]), **stops))
    assert ended(events).reason is (StopReason.DENIED if denier == setting else StopReason.COMPLETED)
    assert len(tool_texts(events)) == 1
    assert fold.exit_code(events) == 3
    assert_answered(fold.history(events))


async def test_a_skipped_action_may_be_asked_again() -> None:
    person = Person(["skip"])
    replies = [write(), read(), write(), {"text": "ok"}]
    events = await events_of(Agent(scripted(replies), FakeTools(), person))
    assert len(person.asked) == 2
    assert ended(events).reason is StopReason.COMPLETED


async def test_repeats_are_warned_then_stopped_and_never_run_again() -> None:
    tools = FakeTools({"a.py": b"hi"})
    events = await events_of(Agent(scripted([read()] * 9), tools))
    assert ended(events).reason is StopReason.REPEATED
    assert len(tools.committed) == 1
    assert "REPEATED ACTION" in tool_texts(events)[1]
    assert "3 times" in ended(events).detail
    assert fold.exit_code(events) == 4
    assert_answered(fold.history(events))


async def test_alternation_without_change_ends() -> None:
    events = await events_of(Agent(scripted([read("a"), read("b")] * 5), FakeTools()))
    assert ended(events).reason is StopReason.REPEATED


async def test_edit_and_test_in_turn_go_on() -> None:
    replies: list[Any] = []
    for n in range(4):
        replies += [write(content=str(n)), {"calls": [call("run_command", argv=["pytest"])]}]
    events = await events_of(Agent(scripted([*replies, {"text": "ok"}]), FakeTools(), Person()))
    assert ended(events).reason is StopReason.UNVERIFIED
    assert len(tool_texts(events)) == 8


async def test_step_limit_asks_for_a_summary_without_tools() -> None:
    seen: list[Request] = []
    replies = [read(str(n)) for n in range(4)] + [{"text": "I read four files."}]
    events = await events_of(Agent(scripted(replies, seen=seen), FakeTools(), limits=Limits(max_steps=5)))
    assert ended(events).reason is StopReason.STEP_LIMIT
    assert [bool(r.tools) for r in seen] == [True] * 4 + [False]
    told = [m.text for m in seen[-1].messages if isinstance(m, UserMessage)]
    assert any("2 steps are left" in t for t in told)
    assert fold.exit_code(events) == 4


async def test_step_limit_with_a_failing_summary_says_so() -> None:
    events = await events_of(Agent(scripted([read()]), FakeTools(), limits=Limits(max_steps=2)))
    assert ended(events).reason is StopReason.STEP_LIMIT
    assert "summary failed" in ended(events).detail


async def test_context_limit_is_checked_before_the_call() -> None:
    seen: list[Request] = []
    events = await events_of(Agent(scripted([{"text": "x"}], seen=seen), FakeTools(), limits=Limits(max_context=3)))
    assert ended(events).reason is StopReason.CONTEXT_LIMIT
    assert seen == []


async def test_token_and_cost_limits() -> None:
    usage = {"usage": {"input_tokens": 60, "output_tokens": 50}}
    limited = Agent(scripted([read() | usage, {"text": "no"}]), FakeTools({"a.py": b""}), limits=Limits(max_tokens=100))
    assert ended(await events_of(limited)).reason is StopReason.TOKEN_LIMIT
    dear = Agent(
        scripted([read() | usage, {"text": "no"}]),
        FakeTools({"a.py": b""}),
        limits=Limits(max_cost=0.5),
        price=lambda _: 1.0,
    )
    assert ended(await events_of(dear)).reason is StopReason.COST_LIMIT


@pytest.mark.parametrize(
    "name", ["max_steps", "max_invalid", "max_context", "max_tokens", "max_cost", "command_timeout"]
)
@pytest.mark.parametrize("value", [0, -1])
def test_limits_must_be_positive(name: str, value: int) -> None:
    with pytest.raises(ConfigError, match=name):
        Limits(**{name: value})


async def test_invalid_calls_are_answered_and_limited() -> None:
    reply = [{"calls": [call("nosuch", n=n)]} for n in range(5)]
    events = await events_of(Agent(scripted(reply), FakeTools()))
    assert ended(events).reason is StopReason.INVALID
    assert len(tool_texts(events)) == 3


async def test_a_valid_call_resets_the_invalid_count() -> None:
    bad = [{"calls": [call("nosuch", n=n)]} for n in range(3)]
    replies = [bad[0], bad[1], read(), bad[2], {"text": "ok"}]
    events = await events_of(Agent(scripted(replies), FakeTools({"a.py": b""})))
    assert ended(events).reason is StopReason.COMPLETED


async def test_malformed_arguments_are_told_and_not_run() -> None:
    reply = {"calls": [{"name": "write_file", "arguments": '{"path": "a.py", '}]}
    tools = FakeTools()
    events = await events_of(Agent(scripted([reply, {"text": "ok"}]), tools, Person()))
    assert tools.committed == []
    assert tool_texts(events)[0].startswith("error: ")


async def test_a_tool_that_raises_is_an_error_to_the_model() -> None:
    events = await events_of(Agent(scripted([{"calls": [call("boom")]}, {"text": "ok"}]), FakeTools()))
    assert "kaboom" in tool_texts(events)[0]
    assert ended(events).reason is StopReason.COMPLETED


async def test_provider_error_ends_the_run_and_keeps_the_text() -> None:
    async def stream(_request: Request):
        yield TextDelta("half an ans")
        yield ReplyEnd("error", error=ProviderError("network", "the connection was lost", retryable=True))

    events = await events_of(Agent(Model(Author("x", "y", "z"), stream), FakeTools()))
    assert ended(events).reason is StopReason.FAILED
    assert fold.exit_code(events) == 1
    assert fold.history(events)[-1] == AssistantMessage("half an ans", author=Author("x", "y", "z"))


async def test_an_adapter_that_raises_is_a_failed_run() -> None:
    async def stream(_request: Request):
        raise KeyError("choices")
        yield

    events = await events_of(Agent(Model(Author("x", "y", "z"), stream), FakeTools()))
    assert ended(events).reason is StopReason.FAILED


async def test_a_cut_reply_runs_nothing() -> None:
    async def stream(request: Request):
        if len(request.messages) > 1:
            yield TextDelta("short")
            yield ReplyEnd("stop")
            return
        yield TextDelta("long")
        yield ReplyEnd("length")

    events = await events_of(Agent(Model(Author("x", "y", "z"), stream), FakeTools()))
    assert ended(events).reason is StopReason.COMPLETED
    assert any(isinstance(e, ev.Notice) and "cut by the length limit" in e.text for e in events)


async def test_an_answer_that_was_cut_goes_on_where_it_broke_off_and_is_one() -> None:
    parts = [("The answer ", "length"), ("is ", "length"), ("four.", "stop")]

    async def stream(request: Request):
        text, finish = parts[len([m for m in request.messages if isinstance(m, AssistantMessage)])]
        yield TextDelta(text)
        yield ReplyEnd(finish)

    events = await events_of(Agent(Model(Author("x", "y", "z"), stream), FakeTools()))
    assert ended(events).reason is StopReason.COMPLETED
    told = [e.text for e in events if isinstance(e, ev.Notice) and e.audience == "model"]
    assert len(told) == 2
    assert all("Go on exactly where it broke off" in text for text in told)
    assert answer([e for e in events if is_durable(e)]) == "The answer is four."


async def test_empty_answer_has_its_placeholder() -> None:
    events = await events_of(Agent(scripted([{"text": ""}]), FakeTools()))
    assert ended(events).detail == "(empty response from model)"


async def test_an_empty_answer_hides_no_reason_why_the_work_is_not_verified() -> None:
    write = {"calls": [{"name": "write_file", "arguments": {"path": "a.py", "content": "x"}}]}
    events = await events_of(Agent(scripted([write, {"text": ""}]), FakeTools(), Person()))
    assert ended(events).reason is StopReason.UNVERIFIED
    assert ended(events).detail == "no check is configured for this folder; (empty response from model)"


async def test_a_blank_task_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        await events_of(Agent(scripted([]), FakeTools()), "  ")


async def test_the_model_sees_what_happened_before() -> None:
    def answer(request: Request) -> str:
        return " | ".join(m.text for m in request.messages)

    agent = Agent(from_function(answer), FakeTools())
    await events_of(agent, "one")
    second = await events_of(agent, "two")
    assert fold.history(second)[-1].text == "one | one | two"


async def test_a_long_answer_leaves_checkpoints_whose_fold_is_the_text() -> None:
    log = MemoryLog()
    text = "word " * 5_000
    await events_of(Agent(scripted([{"text": text}]), FakeTools(), log=log))
    kept = [e for e in log.events if isinstance(e, ev.Checkpoint)]
    assert len(kept) == len(text) // 8_000
    crashed = log.events[: log.events.index(kept[-1]) + 1]
    assert text.startswith(fold.history(crashed)[-1].text)
    assert fold.history(log.events)[-1].text == text


async def test_what_came_late_is_seen_before_it_is_kept() -> None:
    late = count(0.0, 3.0)
    agent = Agent(scripted([{"text": "late " * 50}]), FakeTools(), clock=lambda: next(late))
    texts = [e for e in await events_of(agent) if isinstance(e, TextDelta | ev.Checkpoint)]
    assert isinstance(texts[0], TextDelta)
    seen = kept = ""
    for event in texts:
        if isinstance(event, TextDelta):
            seen += event.text
        else:
            kept += event.text
            assert seen == kept
    assert kept


async def test_an_edited_proposal_is_asked_and_answered_under_its_own_id() -> None:
    tools = FakeTools({"a.py": b"1"})
    log = MemoryLog()

    async def edits(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        (request,) = batch
        effect = replace(request.effect, new=b"3")
        mine = replace(request, id="mine", effect=effect, summary="edit  mine")
        return (Decision(request.id, "yes", "as I like it", chosen=frozenset({1}), instead=mine),)

    events = await events_of(Agent(scripted([write(content="2"), {"text": "ok"}]), tools, edits, log=log))
    asked = [e for e in events if isinstance(e, ev.Asked)]
    assert [e.request_id for e in asked] == [asked[0].request_id, "mine"]
    assert asked[1].digest == digest_of(WriteBytes("a.py", b"1", b"3"))
    assert asked[0].digest != asked[1].digest
    (answer,) = [e for e in events if isinstance(e, ev.Answered)]
    assert answer == ev.Answered(asked[0].request_id, "yes", "as I like it", "key", (1,), "mine")
    assert [e.summary for e in events if isinstance(e, (ev.ToolStarted, ev.ToolDone))] == ["edit  mine"] * 2


async def test_what_was_skipped_may_be_asked_again_at_once_and_never_counts_as_a_repeat() -> None:
    person = Person(["skip"])
    events = await events_of(Agent(scripted([write()] * 4 + [{"text": "ok"}]), FakeTools(), person))
    assert len(person.asked) == 4
    assert ended(events).reason is StopReason.COMPLETED
