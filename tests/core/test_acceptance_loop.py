"""Promises of the acceptance list in the loop that no other test names (docs/acceptance.md)."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

from tests.fakes import FakeTools, Person
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.check import Check
from tui_agent.core.endings import Limits, StopReason
from tui_agent.core.loop import Agent, run
from tui_agent.core.types import Request, UserMessage
from tui_agent.providers.scripted import scripted

READ = {"calls": [{"name": "read_file", "arguments": {"path": "a"}}]}
WRITE = {"calls": [{"name": "write_file", "arguments": {"path": "a", "content": "x"}}]}


async def events_of(agent: Agent, task: str = "do it") -> list[ev.Event]:
    async with aclosing(run(task, agent)) as stream:
        return [event async for event in stream]


def ended(events: list[Any]) -> ev.RunEnded:
    return next(e for e in events if isinstance(e, ev.RunEnded))


async def test_the_first_request_is_the_system_text_and_the_task_and_nothing_else() -> None:
    seen: list[Request] = []
    await events_of(Agent(scripted([{"text": "ok"}], seen=seen), FakeTools(), system="be careful"), "do it")
    assert (seen[0].system, seen[0].messages) == ("be careful", (UserMessage("do it"),))


async def test_an_empty_summary_at_the_step_limit_has_its_placeholder() -> None:
    events = await events_of(Agent(scripted([READ, {"text": " "}]), FakeTools(), limits=Limits(max_steps=2)))
    assert (ended(events).reason, ended(events).detail) == (StopReason.STEP_LIMIT, "(no summary from model)")


async def test_calls_in_the_summary_are_not_run() -> None:
    tools = FakeTools({"a": b"1"})
    events = await events_of(Agent(scripted([READ, WRITE]), tools, Person(), limits=Limits(max_steps=2)))
    assert ended(events).reason is StopReason.STEP_LIMIT
    assert tools.files == {"a": b"1"}
    assert [e.call.name for e in events if isinstance(e, ev.ToolDone)] == ["read_file"]


async def test_a_check_that_cannot_start_counts_as_failed_and_the_file_stays() -> None:
    async def go(_emit: Any) -> ev.CheckDone:
        return ev.CheckDone(("make", "check"), None, "there is no program make", 0.0, ran=False)

    tools = FakeTools()
    replies = [WRITE, *[{"text": f"done {n}"} for n in range(5)]]
    events = await events_of(Agent(scripted(replies), tools, Person(), check=Check(("make", "check"), go)))
    assert (ended(events).reason, ended(events).check) == (StopReason.UNVERIFIED, "failed")
    assert fold.exit_code(events) == 2
    assert tools.files == {"a": b"x"}


async def test_results_stand_in_call_order_with_the_ids_of_their_calls() -> None:
    reply = {"calls": [{"name": "read_file", "arguments": {"path": p}} for p in "cab"]}
    seen: list[Request] = []
    tools = FakeTools({p: p.encode() for p in "abc"})
    await events_of(Agent(scripted([reply, {"text": "ok"}], seen=seen), tools))
    asked, *told = seen[1].messages[1:]
    assert [m.call_id for m in told] == [call.id for call in asked.calls]
    assert [m.text for m in told] == ["c", "a", "b"]


def test_the_limits_of_a_person_who_set_none() -> None:
    limits = Limits()
    assert (limits.max_steps, limits.max_invalid, limits.command_timeout) == (25, 3, 120.0)
    assert (limits.max_tokens, limits.max_cost) == (None, None)
