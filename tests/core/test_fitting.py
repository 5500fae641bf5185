"""A run within a window: what is done before a request that does not fit, and what of it the person is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from tests.core.test_loop import ended
from tests.fakes import FakeTools
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import Limits, StopReason
from tui_agent.core.fitting import ANEW, FOCUS, LITTLE, NEARLY, PROMPT, compact
from tui_agent.core.log import MemoryLog, is_durable
from tui_agent.core.loop import Agent, run
from tui_agent.core.profile import Pricing
from tui_agent.core.record import Record
from tui_agent.core.room import Room
from tui_agent.core.sent import SUMMARY, Sent, sent, size
from tui_agent.core.types import (
    AssistantMessage,
    Author,
    CallDelta,
    Delta,
    Model,
    ProviderError,
    ReplyEnd,
    Request,
    TextDelta,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)

SYSTEM = "You are careful."
FULL = ReplyEnd("error", error=ProviderError("context_length", "too long", status=400))


def asks_for_summary(request: Request) -> bool:
    return isinstance(request.messages[-1], UserMessage) and PROMPT in request.messages[-1].text


class Server:
    """Reads `a.py` so many times, then answers; writes summaries; refuses what is longer than it takes."""

    def __init__(
        self, reads: int = 0, *, takes: int = 10**9, summary: str = "- goal kept", counts: bool = True
    ) -> None:
        self.requests: list[Request] = []
        self.summaries: list[Request] = []
        self._reads, self._takes, self._summary, self._counts = reads, takes, summary, counts

    @property
    def model(self) -> Model:
        return Model(Author("scripted", "s", "s"), self._stream)

    async def _stream(self, request: Request) -> AsyncIterator[Delta]:
        characters = len(request.system) + size(Sent().steps) + sum(len(m.text) for m in request.messages)
        usage = Usage(characters // 4, 10) if self._counts else None
        if characters > self._takes:
            yield FULL
            return
        if asks_for_summary(request):
            self.summaries.append(request)
            if self._summary:
                yield TextDelta(self._summary)
                yield ReplyEnd("stop", usage)
            else:
                yield ReplyEnd("error", error=ProviderError("server", "broken"))
            return
        self.requests.append(request)
        number = len(self.requests)
        if number <= self._reads:
            yield CallDelta(0, f"c{number}", "read_file", '{"path": "a.py"}')
            yield ReplyEnd("tool_calls", usage)
        else:
            yield TextDelta("done")
            yield ReplyEnd("stop", usage)


def past(turns: int, characters: int = 4_000) -> MemoryLog:
    """A log with so many turns, each with one long result."""
    log = MemoryLog([ev.ModelChosen("p", "m")])
    for number in range(turns):
        call = ToolCall(f"p{number}", "read_file", {"path": f"f{number}.py"}, raw="{}")
        log.append(ev.UserSaid(f"task {number}"))
        log.append(ev.AssistantSaid(AssistantMessage("", calls=(call,))))
        log.append(ev.ToolDone(call, "applied", f"{number}" * characters))
        log.append(ev.AssistantSaid(AssistantMessage(f"answer {number}")))
        log.append(ev.RunEnded(StopReason.COMPLETED))
    return log


def agent_of(server: Server, log: MemoryLog, room: Room | None, **kw: Any) -> Agent:
    files = FakeTools({"a.py": b"x" * 3_000})
    return Agent(server.model, files, log=log, system=SYSTEM, room=(lambda: room) if room else None, **kw)


async def go(agent: Agent, task: str = "the new task") -> list[ev.Event]:
    async with aclosing(run(task, agent)) as stream:
        return [event async for event in stream]


def of(log: MemoryLog, kind: type) -> list[Any]:
    return [event for event in log.events if isinstance(event, kind)]


def notices(log: MemoryLog, start: str) -> list[str]:
    return [event.text for event in of(log, ev.Notice) if event.text.startswith(start)]


async def test_what_fits_is_sent_whole() -> None:
    server, log = Server(2), past(3)
    await go(agent_of(server, log, Room(window=100_000)))
    assert not of(log, ev.Marked)
    assert not of(log, ev.Compacted)
    assert server.requests[-1].messages == sent(log.events)[:-1]


async def test_each_request_is_a_prefix_of_the_next_one() -> None:
    server, log = Server(6), past(4)
    await go(agent_of(server, log, Room(window=100_000), memory=True))
    for one, two in zip(server.requests, server.requests[1:], strict=False):
        memory = one.messages[-1].text.startswith("(memory")
        stable = one.messages[:-1] if memory else one.messages
        assert two.messages[: len(stable)] == stable
        assert (one.system, one.tools) == (two.system, two.tools)


@pytest.mark.parametrize("window", [3_000, 10_000, 100_000])
async def test_each_request_says_how_long_an_answer_still_fits(window: int) -> None:
    server, log = Server(6), past(8)
    await go(agent_of(server, log, Room(window)))
    assert server.requests
    for request in [*server.requests, *server.summaries]:
        tokens = sum(len(m.text) for m in request.messages) / 4
        assert request.answer is not None
        assert request.answer >= 256
        assert request.answer + tokens <= window
        assert request.answer > window / 20


async def test_of_a_window_that_nobody_knows_no_answer_length_follows() -> None:
    for room in (Room(None), None):
        server = Server(1)
        await go(agent_of(server, past(1), room))
        assert {request.answer for request in server.requests} == {None}


async def test_old_results_are_shortened_first_without_asking_the_model() -> None:
    server, log = Server(), past(8)
    await go(agent_of(server, log, Room(window=8_000)))
    assert not server.summaries
    assert {mark.how for mark in of(log, ev.Marked)} == {"short"}
    assert len(notices(log, ANEW)) == 1
    assert len(fold.history(log.events)) > 30
    assert "0" * 4_000 in [m.text for m in fold.history(log.events)]


async def test_the_prefix_stands_for_many_requests_between_two_cuts() -> None:
    server, log = Server(30), past(0)
    await go(
        agent_of(
            server,
            log,
            Room(window=8_000, compacts=False),
            limits=Limits(max_steps=40, max_identical=99, repeat_window=1),
            warn_repeats=False,
        )
    )
    cuts = [n for n, event in enumerate(log.events) if isinstance(event, ev.Marked)]
    groups = sum(1 for a, b in zip([-9, *cuts], cuts, strict=False) if b - a > 3)
    assert 1 < groups < 30 / 2


async def test_then_a_summary_takes_the_place_of_what_is_old() -> None:
    server, log = Server(1, summary="- read everything"), past(99, 200)
    await go(agent_of(server, log, Room(window=6_000)))
    (made,) = of(log, ev.Compacted)
    assert made.by == "room"
    assert made.left < made.before
    assert made.usage is not None
    assert [m.text for m in server.requests[0].messages] == [SUMMARY + "- read everything", "the new task"]
    assert server.requests[0].system == SYSTEM
    assert len(fold.history(log.events)) > 200


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("limit", [{"max_tokens": 3_000}, {"max_cost": 3_000.0}], ids=str)
async def test_what_a_summary_took_counts_against_the_limits_of_its_run(counts: bool, limit: Any) -> None:
    server, log = Server(1, summary="- read everything", counts=counts), past(99, 200)
    price = Pricing(input=1e6, output=1e6).cost
    agent = agent_of(server, log, Room(window=6_000), limits=Limits(**limit), price=lambda u: price(u or Usage()))
    end = ended(await go(agent))
    assert (end.reason, end.steps) == (
        (StopReason.TOKEN_LIMIT, 0) if "max_tokens" in limit else (StopReason.COST_LIMIT, 0)
    )
    assert end.detail.startswith("~") is not counts
    assert (len(server.summaries), len(server.requests)) == (1, 0)


async def test_the_request_for_a_summary_begins_as_the_last_one_and_fits() -> None:
    server, log = Server(), past(99, 200)
    await go(agent_of(server, log, Room(window=6_000)))
    (asked,) = server.summaries
    assert asked.system == SYSTEM
    assert asked.tools == server.requests[0].tools
    assert sum(len(m.text) for m in asked.messages) < 6_000 * 4


@pytest.mark.parametrize("room", [Room(window=6_000, compacts=False), Room(window=6_000)], ids=["off", "failed"])
async def test_without_a_summary_whole_turns_are_left_out(room: Room) -> None:
    server, log = Server(1, summary=""), past(99, 200)
    events = await go(agent_of(server, log, room))
    assert ended(events).reason is StopReason.COMPLETED
    assert {mark.how for mark in of(log, ev.Marked)} == {"dropped"}
    first = server.requests[0].messages
    assert first[-1] == UserMessage("the new task")
    assert isinstance(first[0], UserMessage)
    assert sum(len(m.text) for m in first) < 6_000 * 4 * 0.75


@pytest.mark.parametrize(("window", "whole"), [(8_000, True), (4_000, False)])
async def test_what_the_model_asked_for_and_just_fits_stays_whole(window: int, whole: bool) -> None:
    server, log = Server(1), past(1, 24_000)
    files = FakeTools({"a.py": b"x" * 24_000})
    agent = Agent(server.model, files, log=log, system=SYSTEM, room=lambda: Room(window))
    await go(agent)
    read = [m.text for m in server.requests[1].messages if isinstance(m, ToolMessage)]
    assert (read[-1] == "x" * 24_000) is whole
    assert sum(len(m.text) for m in server.requests[1].messages) < window * 4


async def test_a_failed_summary_leaves_the_conversation_as_it_was() -> None:
    server, log = Server(summary=""), past(5)
    before = sent(log.events)
    agent = agent_of(server, log, Room())
    events = [event async for event in compact(agent, Record(log), agent.dialect)]
    assert isinstance(events[-1], ev.Compacted)
    assert events[-1].fault == "broken"
    assert sent(log.events) == before


async def test_a_summary_of_little_is_not_worth_its_request() -> None:
    server, log = Server(1), past(4, 480)
    files = FakeTools({"a.py": b"x" * 24_000})
    await go(Agent(server.model, files, log=log, system=SYSTEM, room=lambda: Room(7_000)))
    assert not server.summaries
    assert {mark.how for mark in of(log, ev.Marked)} == {"dropped"}
    read = [m.text for m in server.requests[1].messages if isinstance(m, ToolMessage)]
    assert read == ["x" * 24_000]


async def test_nothing_old_is_no_call_of_the_model() -> None:
    server, log = Server(), past(1)
    agent = agent_of(server, log, Room())
    empty = MemoryLog()
    events = [event async for event in compact(agent, Record(empty), agent.dialect)]
    assert events == [ev.Notice(LITTLE)]
    assert fold.totals(empty.events).replies == 0
    assert not server.summaries


async def test_a_summary_of_more_than_fits_is_asked_for_with_what_fits() -> None:
    server, log = Server(), past(99, 200)
    agent = agent_of(server, log, Room(window=6_000))
    events = [event async for event in compact(agent, Record(log), agent.dialect)]
    assert isinstance(events[-1], ev.Compacted)
    assert not events[-1].fault
    assert sum(len(m.text) for m in server.summaries[0].messages) < 6_000 * 4
    assert not of(log, ev.Marked)


async def test_a_focus_is_told_to_the_model_and_pins_stay() -> None:
    server, log = Server(), past(5)
    log.append(ev.Marked((3,), "pinned"))
    agent = agent_of(server, log, Room(), price=lambda _: 0.25)
    events = [event async for event in compact(agent, Record(log), agent.dialect, focus="the tests")]
    assert server.summaries[0].messages[-1].text.endswith(FOCUS + "the tests")
    assert all(not is_durable(event) or isinstance(event, ev.Compacted) for event in events)
    assert [m.text[:8] for m in sent(log.events)] == [SUMMARY[:8], "", "00000000", "task 4", "answer 4"]
    assert of(log, ev.Compacted)[0].cost == fold.totals(log.events).cost == 0.25


async def test_after_a_refusal_for_its_length_the_run_goes_on_with_less() -> None:
    server, log = Server(2, takes=9_000), past(8)
    events = await go(agent_of(server, log, Room()))
    assert ended(events).reason is StopReason.COMPLETED
    assert of(log, ev.Overflowed)
    assert not of(log, ev.ProviderFailed)
    assert all(sum(len(m.text) for m in request.messages) <= 9_000 for request in server.requests)


async def test_what_cannot_be_made_to_fit_ends_the_run_with_its_reason() -> None:
    server, log = Server(takes=100), past(0)
    events = await go(agent_of(server, log, Room()), "x" * 500)
    assert ended(events).reason is StopReason.FAILED
    assert of(log, ev.ProviderFailed)[0].error.kind == "context_length"


async def test_without_a_room_a_refusal_ends_the_run_as_before() -> None:
    server, log = Server(takes=9_000), past(8)
    assert ended(await go(agent_of(server, log, None))).reason is StopReason.FAILED


async def test_another_model_is_not_bound_by_what_the_first_one_refused() -> None:
    server, log = Server(takes=9_000), past(8)
    await go(agent_of(server, log, Room()))
    log.append(ev.Marked(tuple(range(len(log.events))), "whole"))
    log.append(ev.ModelChosen("q", "big"))
    wide = Server()
    await go(agent_of(wide, log, Room()))
    assert sum(len(m.text) for m in wide.requests[0].messages) > 30_000


async def test_there_is_one_warning_before_anything_is_left_out() -> None:
    server, log = Server(2), past(6)
    await go(agent_of(server, log, Room(window=8_500)))
    assert len(notices(log, NEARLY)) == 1


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (ev.Marked((2, 3), "dropped"), "you changed what is sent"),
        (ev.Compacted("s", (2, 7)), "a summary took the place"),
        (ev.ModelChosen("q", "n"), "another model answers"),
        (ev.Instructed("other", 10, 10), "the system text or the tools are others"),
    ],
    ids=["mark", "compaction", "model", "rules"],
)
async def test_a_broken_prefix_is_told_with_its_price(decision: ev.Durable, why: str) -> None:
    price = Pricing(input=3.0, cached_input=0.3, output=15.0)
    log = past(8)
    agent = agent_of(Server(), log, Room(window=100_000), price=lambda usage: price.cost(usage or Usage()))
    await go(agent)
    assert not notices(log, ANEW)
    log.append(decision)
    await go(agent)
    told = notices(log, ANEW)
    assert len(told) == 1
    assert why in told[0]
    assert " more" in told[0]


async def test_what_was_decided_while_a_run_goes_on_counts_from_the_next_request() -> None:
    log = past(3)
    server = Server(2)
    agent = agent_of(server, log, Room())
    async with aclosing(run("go", agent)) as stream:
        async for event in stream:
            if isinstance(event, ev.ToolDone) and len(server.requests) == 1:
                log.append(ev.Marked((3,), "dropped"))
    texts = [[m.text[:3] for m in r.messages if isinstance(m, ToolMessage)] for r in server.requests]
    assert texts[0][0] == "000"
    assert texts[1][0] == "[th"


async def test_a_budget_ends_the_run_and_counts_from_where_it_was_given() -> None:
    server, log = Server(9), past(2)
    log.append(ev.AssistantSaid(AssistantMessage("dear"), usage=Usage(10**6, 10)))
    log.append(ev.BudgetSet(4_000))
    events = await go(agent_of(server, log, Room(), limits=Limits(max_identical=99, repeat_window=1)))
    assert ended(events).reason is StopReason.TOKEN_LIMIT
    assert "4,000" in ended(events).detail
    left = fold.budget(log.events)
    assert left is not None
    assert left.left == 0
    assert left.used == sum(e.usage.input_tokens + 10 for e in of(log, ev.AssistantSaid)[-len(server.requests) :])
    log.append(ev.BudgetSet(None))
    assert fold.budget(log.events) is None
