"""What the person says to a run that goes on: heard once, behind the results, with every count anew."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.core.test_loop import call, ended, events_of, passing, read, write
from tests.fakes import FakeTools, Person
from tui_agent import replay
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import CUT_OFF, Limits, StopReason
from tui_agent.core.log import MemoryLog
from tui_agent.core.loop import Agent, run
from tui_agent.core.room import kept, prune
from tui_agent.core.sent import Sent, sent
from tui_agent.core.types import AssistantMessage, Request, ToolCall, ToolMessage, UserMessage
from tui_agent.providers.scripted import scripted
from tui_agent.unsent import Unsent
from tui_agent.unsent import read as unsent_of
from tui_agent.unsent import write as keep


class Mouth:
    """Says each of its lists of texts once: the first when it is asked first."""

    def __init__(self, *said: list[str]) -> None:
        self.said = list(said)

    def __call__(self) -> list[ev.Durable]:
        return [ev.Steered(text) for text in self.said.pop(0)] if self.said else []


async def test_it_is_heard_once_behind_the_results_before_the_next_request() -> None:
    seen: list[Request] = []
    reply = {"calls": [call("read_file", path="a.py"), call("read_file", path="b.py")]}
    mouth = Mouth(["use tabs", "and be quick"])
    agent = Agent(
        scripted([reply, read("b.py"), {"text": "ok"}], seen=seen),
        FakeTools({"a.py": b"1", "b.py": b"2"}),
        between=mouth,
    )
    events = await events_of(agent)
    assert [type(m).__name__ for m in seen[1].messages[-4:]] == ["ToolMessage"] * 2 + ["UserMessage"] * 2
    assert [m.text for m in seen[1].messages[-2:]] == ["use tabs", "and be quick"]
    assert sum(m == UserMessage("use tabs") for m in seen[2].messages) == 1
    assert [e.text for e in events if isinstance(e, ev.Steered)] == ["use tabs", "and be quick"]
    assert ended(events).reason is StopReason.COMPLETED
    assert sent(agent.log.events) == fold.history(agent.log.events)


async def test_the_first_request_and_the_last_one_without_tools_hear_nothing() -> None:
    seen: list[Request] = []
    asked: list[int] = []

    def between() -> list[ev.Durable]:
        asked.append(len(seen))
        return []

    agent = Agent(
        scripted([read("a.py"), read("b.py"), {"text": "sum"}], seen=seen),
        FakeTools({"a.py": b"1", "b.py": b"2"}),
        limits=Limits(max_steps=3),
        between=between,
    )
    assert ended(await events_of(agent)).reason is StopReason.STEP_LIMIT
    assert asked == [1]


async def test_repeats_are_counted_anew_and_what_was_refused_may_be_asked_again() -> None:
    tools, person = FakeTools({"a.py": b"hi"}), Person(["no", "yes"])
    agent = Agent(scripted([write(), write(), {"text": "ok"}]), tools, person, between=Mouth(["go on, do it"]))
    events = await events_of(agent)
    assert tools.files["a.py"] == b"x"
    assert ended(events).reason is StopReason.UNVERIFIED
    silent = FakeTools({"a.py": b"hi"})
    await events_of(Agent(scripted([write(), write(), {"text": "ok"}]), silent, Person(["no", "yes"])))
    assert silent.files["a.py"] == b"hi"
    again = Agent(scripted([read()] * 4 + [{"text": "ok"}]), FakeTools({"a.py": b"1"}), between=Mouth([], ["x"], ["y"]))
    assert ended(await events_of(again)).reason is StopReason.COMPLETED


@pytest.mark.parametrize("before", [[], [[]]], ids=["before the edit", "after the edit"])
@pytest.mark.parametrize(
    ("task", "said", "reason"),
    [
        ("set x in a.py", "and add a function `total`", StopReason.UNVERIFIED),
        ("set x in a.py", "be quick", StopReason.VERIFIED),
        ("set x in b.py", "no, in a.py", StopReason.VERIFIED),
    ],
)
async def test_what_it_asks_for_must_be_shown_as_well(before: Any, task: str, said: str, reason: StopReason) -> None:
    replies = [read("c.py"), write("a.py", "x = 1"), read("d.py"), *[{"text": f"done {n}"} for n in range(5)]]
    tools = FakeTools(dict.fromkeys(("a.py", "c.py", "d.py"), b"1"))
    agent = Agent(scripted(replies), tools, Person(), check=passing(), between=Mouth(*before, [said]))
    events = await events_of(agent, task)
    assert ended(events).reason is reason
    told = [e.text for e in events if isinstance(e, ev.Notice) and e.text.startswith("NOT VERIFIED")]
    assert all("total" in text for text in told)
    assert len(told) == (0 if reason is StopReason.VERIFIED else 3)


async def test_a_stop_in_the_next_step_keeps_what_was_heard() -> None:
    tools = FakeTools({"a.py": b"1"}, hang=asyncio.Event())
    steps = [read(), {"calls": [call("run_command", argv=["sleep"])]}]
    agent = Agent(scripted(steps), tools, Person(), between=Mouth(["faster"]))

    async def drive() -> None:
        async for _ in run("do it", agent):
            pass

    task = asyncio.create_task(drive())
    while not any("run" in summary for summary in tools.committed):
        await asyncio.wait({task}, timeout=0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    texts = [m.text for m in sent(agent.log.events) if isinstance(m, UserMessage)]
    assert texts == ["do it", "faster"]


async def test_a_replay_hears_it_at_the_same_place() -> None:
    agent = Agent(
        scripted([read("a.py"), read("b.py"), read("a.py"), {"text": "ok"}]),
        FakeTools({"a.py": b"1", "b.py": b"2"}),
        between=Mouth([], ["one", "two"], ["three"]),
    )
    await events_of(agent)
    shown: list[Any] = []
    number, divergence = await replay.play(agent.log.events, replay.Stage(), shown.append)
    assert divergence is None
    assert [s["text"] for s in shown if s["event"] == "steered"] == ["one", "two", "three"]
    cut = [e for e in agent.log.events if not isinstance(e, ev.RunEnded)]
    cut = [*cut[: cut.index(ev.Steered("two")) + 1], ev.RunEnded(StopReason.STOPPED, CUT_OFF)]
    assert (await replay.play(cut, replay.Stage()))[1] is None
    assert number == 12


async def test_a_replay_goes_as_far_as_it_can_tell_where_it_was_heard() -> None:
    said = ev.AssistantSaid(AssistantMessage("ok"), finish="stop")
    heard = [
        ev.UserSaid("do it"),
        ev.Overflowed(9),
        ev.Steered("go on"),
        said,
        ev.RunEnded(StopReason.COMPLETED, steps=2),
    ]
    assert await replay.play(heard, replay.Stage()) == (1, None)
    unheard = [event for event in heard if not isinstance(event, ev.Steered)]
    assert await replay.play(unheard, replay.Stage()) == (3, None)


def test_a_summary_and_pruning_leave_it_word_for_word_while_its_run_goes_on() -> None:

    def steps(*tail: ev.Durable) -> list[ev.Durable]:
        out: list[ev.Durable] = [ev.UserSaid("task")]
        for number in range(4):
            out.append(ev.AssistantSaid(AssistantMessage(f"step {number} " * 200)))
            out.append(ev.Steered(f"said {number}"))
        return [*out, *tail]

    during = steps(ev.AssistantSaid(AssistantMessage("now")))
    for events in (during, [*during, ev.Compacted("short", kept(Sent(during).steps))]):
        left = prune(Sent(events).steps, 0)
        texts = [m.text for step in left for m in step.sent if isinstance(m, UserMessage)]
        assert [t for t in texts if not t.startswith("Summary")] == ["task", *(f"said {n}" for n in range(4))]
    later = steps(ev.RunEnded(StopReason.COMPLETED), ev.UserSaid("next"))
    texts = [m.text for step in prune(Sent(later).steps, 0) for m in step.sent]
    assert texts == ["next"]


def test_what_was_heard_does_not_wait_any_more(tmp_path: Any) -> None:
    log = MemoryLog()
    keep(tmp_path / "state.json", Unsent("draft", ("heard", "not yet")), 0)
    log.append(ev.UserSaid("task"))
    log.append(ev.Steered("heard"))
    assert unsent_of(tmp_path / "state.json", log.events) == Unsent("draft", ("not yet",))


def test_it_stands_right_behind_the_results_also_when_the_process_died() -> None:

    one = ToolCall("c1", "read_file", {"path": "a"})
    events: list[ev.Durable] = [
        ev.UserSaid("task"),
        ev.AssistantSaid(AssistantMessage("", calls=(one,))),
        ev.ToolDone(one, "applied", "text"),
        ev.Steered("said"),
    ]
    for cut in range(len(events) + 1):
        assert sent(events[:cut]) == fold.history(events[:cut])
    assert [type(m) for m in sent(events)] == [UserMessage, AssistantMessage, ToolMessage, UserMessage]
