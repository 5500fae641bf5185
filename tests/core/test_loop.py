from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
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
    ApprovalRequest,
    AssistantMessage,
    Author,
    ConfigError,
    Decision,
    FileChange,
    Model,
    ProviderError,
    ReplyEnd,
    Request,
    TextDelta,
    ToolMessage,
    UserMessage,
    WriteBytes,
)
from tui_agent.providers.scripted import from_function, scripted


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def read(path: str = "a.py") -> dict[str, Any]:
    return {"calls": [call("read_file", path=path)]}


def write(path: str = "a.py", content: str = "x") -> dict[str, Any]:
    return {"calls": [call("write_file", path=path, content=content)]}


async def events_of(agent: Agent, task: str = "do it", history: Any = ()) -> list[ev.Event]:
    async with aclosing(run(task, agent, history)) as stream:
        return [event async for event in stream]


def ended(events: list[Any]) -> ev.RunEnded:
    ends = [e for e in events if isinstance(e, ev.RunEnded)]
    assert len(ends) == 1
    return ends[0]


def tool_texts(events: list[Any]) -> list[str]:
    return [e.text for e in events if isinstance(e, ev.ToolDone)]


def passing(seen: list[str] | None = None, code: int | None = 0) -> Check:
    async def go(emit: Any) -> ev.CheckDone:
        emit("...\n")
        if seen is not None:
            seen.append("ran")
        return ev.CheckDone(("make", "check"), code, "" if code == 0 else "1 failed", 0.1)

    return Check(("make", "check"), go)


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


async def test_stop_in_a_question_ends_the_run_with_a_valid_history() -> None:
    reply = {"calls": [call("write_file", path="a.py", content="2"), call("write_file", path="b.py", content="3")]}
    events = await events_of(Agent(scripted([reply]), FakeTools(), Person(["stop"])))
    assert ended(events).reason is StopReason.STOPPED
    assert_answered(fold.history(events))


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


async def test_on_reject_stop_ends_the_run_at_once() -> None:
    events = await events_of(Agent(scripted([write()] * 2), FakeTools(), Person(["no"]), on_reject="stop"))
    assert ended(events).reason is StopReason.DENIED
    assert len(tool_texts(events)) == 1


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


async def test_empty_answer_has_its_placeholder() -> None:
    events = await events_of(Agent(scripted([{"text": ""}]), FakeTools()))
    assert ended(events).detail == "(empty response from model)"


async def test_a_blank_task_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        await events_of(Agent(scripted([]), FakeTools()), "  ")


# ------------------------------------------------------------------ check


async def test_a_passing_check_verifies() -> None:
    ran: list[str] = []
    events = await events_of(Agent(scripted([write(), {"text": "done"}]), FakeTools(), Person(), check=passing(ran)))
    assert ended(events).reason is StopReason.VERIFIED
    assert ran == ["ran"]
    assert fold.exit_code(events) == 0


async def test_no_edit_runs_no_check() -> None:
    ran: list[str] = []
    events = await events_of(Agent(scripted([read(), {"text": "done"}]), FakeTools({"a.py": b""}), check=passing(ran)))
    assert ended(events).reason is StopReason.COMPLETED
    assert ran == []


async def test_a_failing_check_is_told_and_ends_unverified() -> None:
    seen: list[Request] = []
    replies = [write(), *[{"text": f"done {n}"} for n in range(5)]]
    agent = Agent(scripted(replies, seen=seen), FakeTools(), Person(), check=passing(code=1))
    events = await events_of(agent)
    assert ended(events).reason is StopReason.UNVERIFIED
    assert ended(events).check == "failed"
    assert fold.exit_code(events) == 2
    told = [m.text for m in seen[1].messages if isinstance(m, UserMessage)]
    assert any("check FAILED (exit 1)" in t and "1 failed" in t for t in told)
    assert sum(isinstance(e, ev.Notice) and e.text.startswith("NOT VERIFIED") for e in events) == 3


async def test_a_check_that_fails_first_and_passes_later_is_verified_and_exits_0() -> None:
    codes = [1, 0]

    async def go(_emit: Any) -> ev.CheckDone:
        return ev.CheckDone(("make", "check"), codes.pop(0), "", 0.1)

    replies = [write(content="1"), write(content="2"), {"text": "done"}]
    events = await events_of(Agent(scripted(replies), FakeTools(), Person(), check=Check(("make", "check"), go)))
    assert ended(events).reason is StopReason.VERIFIED
    assert fold.exit_code(events) == 0


async def test_running_the_check_command_counts_as_the_check() -> None:
    replies = [write(), {"calls": [call("run_command", argv=["make", "check"])]}, {"text": "done"}]
    events = await events_of(Agent(scripted(replies), FakeTools(), Person(), check=passing(code=1)))
    assert ended(events).reason is StopReason.VERIFIED


async def test_the_check_asks_when_nobody_saw_the_edit() -> None:
    ran: list[str] = []
    person = Person(["yes", "no"], by="flag")
    events = await events_of(Agent(scripted([write(), {"text": "done"}]), FakeTools(), person, check=passing(ran)))
    assert ran == []
    assert ended(events).reason is StopReason.UNVERIFIED
    assert ended(events).check == "not run"
    assert fold.exit_code(events) == 2


# ------------------------------------------------------------------ interrupts


async def test_cancel_during_the_stream_keeps_the_text_and_closes_the_provider() -> None:
    closed = asyncio.Event()

    async def stream(_request: Request):
        try:
            yield TextDelta("partial ")
            await asyncio.sleep(60)
        finally:
            closed.set()

    log = MemoryLog()
    agent = Agent(Model(Author("x", "y", "z"), stream), FakeTools(), log=log)
    await interrupt(agent, TextDelta)
    assert closed.is_set()
    assert ended(log.events).reason is StopReason.STOPPED
    assert fold.history(log.events) == (
        UserMessage("do it"),
        AssistantMessage("partial ", author=Author("x", "y", "z")),
    )


async def interrupt(agent: Agent, after: type) -> None:
    reached = asyncio.Event()

    async def drive() -> None:
        async with aclosing(run("do it", agent)) as stream:
            async for event in stream:
                if isinstance(event, after):
                    reached.set()

    task = asyncio.create_task(drive())
    await asyncio.wait_for(reached.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancel_during_a_command_answers_its_call() -> None:
    log = MemoryLog()
    tools = FakeTools(hang=asyncio.Event())
    agent = Agent(scripted([{"calls": [call("run_command", argv=["sleep"])]}]), tools, Person(), log=log)
    await interrupt(agent, ev.CommandOutput)
    assert ended(log.events).reason is StopReason.STOPPED
    assert_answered(fold.history(log.events))
    assert fold.history(log.events)[-1].text.startswith("interrupted")


async def test_cancel_during_a_question_writes_nothing() -> None:
    log, tools = MemoryLog(), FakeTools()

    async def never(_batch: Any) -> Any:
        await asyncio.sleep(60)

    await interrupt(Agent(scripted([write()]), tools, never, log=log), ev.Asked)
    assert tools.files == {}
    assert_answered(fold.history(log.events))


async def test_leaving_the_iterator_early_also_closes_the_run() -> None:
    log = MemoryLog()
    async with aclosing(run("do it", Agent(scripted([{"text": "a b c d"}]), FakeTools(), log=log))) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break
    assert ended(log.events).reason is StopReason.STOPPED


async def test_the_model_sees_what_happened_before() -> None:
    def answer(request: Request) -> str:
        return " | ".join(m.text for m in request.messages)

    agent = Agent(from_function(answer), FakeTools())
    first = await events_of(agent, "one")
    second = await events_of(agent, "two", fold.history(first))
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


# ------------------------------------------------------------------ what commands change


class Shell(FakeTools):
    """Its commands change a file, and leave that in their receipts."""

    async def commit(self, request: Any, decision: Any, emit: Any) -> Any:
        outcome = await super().commit(request, decision, emit)
        if outcome.receipt is not None and outcome.receipt.exit_code is not None:
            change = FileChange("a.py", "1", "2")
            return replace(outcome, receipt=replace(outcome.receipt, changed=(change,)))
        return outcome


async def test_a_command_that_changes_a_file_is_an_edit() -> None:
    ran: list[str] = []
    command = {"calls": [call("run_command", argv=["sed", "-i"])]}
    events = await events_of(Agent(scripted([command, {"text": "ok"}]), Shell(), Person(), check=passing(ran)))
    assert any(isinstance(e, ev.Asked) and e.tool == "check" for e in events), "nobody saw what it wrote"
    assert ran == ["ran"]
    assert ended(events).reason is StopReason.VERIFIED


async def test_a_check_is_stale_after_a_command_changed_a_file() -> None:
    codes = [0, 1, 1, 1, 1]

    async def go(_emit: Any) -> ev.CheckDone:
        return ev.CheckDone(("make", "check"), codes.pop(0), "", 0.1)

    check = Check(("make", "check"), go, asks="never")
    replies = [
        write(),
        {"calls": [call("run_command", argv=["sed", "-i"])]},
        *[{"text": f"done {n}"} for n in range(5)],
    ]
    events = await events_of(Agent(scripted(replies), Shell(), Person(), check=check))
    assert ended(events).reason is StopReason.UNVERIFIED
    assert ended(events).check == "failed"
