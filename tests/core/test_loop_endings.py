"""Every ending of the closed enum, the last steps, and what the person and the scripts are told of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import fields, replace
from typing import Any

import pytest

from tests.core.test_loop import assert_answered, call, ended, events_of, passing, read, write
from tests.fakes import FakeTools, Person
from tests.waiting import PATIENCE
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import UNANSWERED, Limits, StopReason
from tui_agent.core.log import MemoryLog, is_durable
from tui_agent.core.lookup import Lookup
from tui_agent.core.loop import CUT, ONLY_STEP, WARNINGS, Agent, run
from tui_agent.core.meter import meter
from tui_agent.core.profile import Pricing
from tui_agent.core.receipt import FileChange
from tui_agent.core.types import (
    Author,
    ConfigError,
    Delta,
    Lost,
    Model,
    ProviderError,
    ReadFile,
    ReasoningDelta,
    ReplyEnd,
    Request,
    RetryTick,
    TextDelta,
    Usage,
    UserMessage,
)
from tui_agent.oneshot import answer
from tui_agent.providers.scripted import scripted
from tui_agent.ui.blocks import ended as note_of

USAGE = {"usage": {"input_tokens": 60, "output_tokens": 50}}


async def _fails(_request: Request):
    yield ReplyEnd("error", error=ProviderError("server", "502"))


FAILING = Model(Author("x", "y", "z"), _fails)


def agent(replies: list[Any], tools: FakeTools | None = None, **kw: Any) -> Agent:
    return Agent(scripted(replies), tools or FakeTools({"a.py": b"hi"}), kw.pop("ask", Person()), **kw)


ENDINGS: dict[StopReason, tuple[Agent, int]] = {
    StopReason.COMPLETED: (agent([read(), {"text": "hi"}]), 0),
    StopReason.VERIFIED: (agent([write(), {"text": "done"}], check=passing()), 0),
    StopReason.UNVERIFIED: (agent([write(), *[{"text": f"{n}"} for n in range(4)]], check=passing(code=1)), 2),
    StopReason.STEP_LIMIT: (agent([read(str(n)) for n in range(9)], limits=Limits(max_steps=4)), 4),
    StopReason.CONTEXT_LIMIT: (agent([], limits=Limits(max_context=1)), 4),
    StopReason.TOKEN_LIMIT: (agent([read() | USAGE], limits=Limits(max_tokens=100)), 4),
    StopReason.COST_LIMIT: (agent([read() | USAGE], limits=Limits(max_cost=0.5), price=lambda _: 1.0), 4),
    StopReason.REPEATED: (agent([read()] * 3), 4),
    StopReason.INVALID: (agent([{"calls": [call("nosuch", n=n)]} for n in range(3)]), 4),
    StopReason.DENIED: (agent([write()], ask=Person(["no"]), on_reject="stop"), 3),
    StopReason.STOPPED: (agent([write()], ask=Person(["stop"])), 3),
    StopReason.FAILED: (Agent(FAILING, FakeTools()), 1),
}


def test_every_reason_has_its_scenario() -> None:
    assert set(ENDINGS) == set(StopReason)


@pytest.mark.parametrize("reason", StopReason)
async def test_every_run_ends_once_for_a_reason_that_transcript_and_exit_code_tell(reason: StopReason) -> None:
    how, code = ENDINGS[reason]
    events = await events_of(how)
    assert ended(events).reason is reason
    assert fold.exit_code(events) == code
    assert_answered(fold.history(events))


@pytest.mark.parametrize("finish", UNANSWERED)
async def test_what_was_filtered_or_refused_is_no_answer(finish: str) -> None:
    """Not completed, whatever was said; and nothing of a reply in JSON that was cut by a filter is done."""
    for text in ("Half an answ", "", '{"tool": "write_file", "path": "a.py", "content": "x"}'):
        tools = FakeTools({"a.py": b"hi"})
        events = await events_of(agent([{"text": text, "finish": finish}], tools))
        assert (ended(events).reason, ended(events).detail) == (StopReason.FAILED, UNANSWERED[finish])
        assert fold.exit_code(events) == 1
        assert tools.files == {"a.py": b"hi"}


@pytest.mark.parametrize("finish", UNANSWERED)
@pytest.mark.parametrize("last", [False, True])
async def test_a_reply_that_was_refused_carries_no_call_out(finish: str, last: bool) -> None:
    tools = FakeTools({"a.py": b"hi"})
    reply = {**write(), "text": "I change it.", "finish": finish}
    replies, limits = ([read(), reply], Limits(max_steps=2)) if last else ([reply], Limits())
    events = await events_of(agent([*replies, {"text": "Then not."}], tools, limits=limits))
    assert tools.files == {"a.py": b"hi"}
    assert ended(events).reason is (StopReason.STEP_LIMIT if last else StopReason.FAILED)
    said = [e.message for e in events if isinstance(e, ev.AssistantSaid)][-1]
    assert (said.text, said.calls) == ("I change it.", ())
    assert not [e for e in events if isinstance(e, ev.Asked)]


async def test_an_answer_that_the_server_paused_goes_on_and_is_one() -> None:
    seen: list[Request] = []
    parts = [{"text": "One, ", "finish": "pause"}, {"text": "two."}]
    events = await events_of(Agent(scripted(parts, seen=seen), FakeTools()))
    assert ended(events).reason is StopReason.COMPLETED
    assert "a pause of the server" in seen[1].messages[-1].text
    assert answer([e for e in events if is_durable(e)]) == "One, two."


async def test_a_call_that_was_cut_is_no_answer_that_goes_on() -> None:
    """The model is told that nothing was run, also where it had said something before; and its words are no answer."""
    for cut in ("", "I write it. "):
        tools = FakeTools({"a.py": b"hi"})
        events = await events_of(
            agent([{**write(), "text": cut, "finish": "length"}, write(), {"text": "Done."}], tools)
        )
        told = [e for e in events if isinstance(e, ev.Notice)]
        assert [e.text for e in told] == [CUT.format("the length limit")]
        assert not told[0].goes_on
        assert answer([e for e in events if is_durable(e)]) == "Done."


async def test_what_broke_off_before_an_action_is_no_part_of_the_answer() -> None:
    events = await events_of(agent([{"text": "First I ", "finish": "length"}, read(), {"text": "It says hi."}]))
    assert answer([e for e in events if is_durable(e)]) == "It says hi."


async def test_what_an_answer_claims_before_it_is_cut_is_marked() -> None:
    events = await events_of(agent([{"text": "All tests pass. And ", "finish": "length"}, {"text": "so on."}]))
    assert ["not shown" in e.text for e in events if isinstance(e, ev.Notice) and e.audience == "person"] == [True]


async def test_a_server_that_pauses_for_ever_ends_the_run() -> None:
    events = await events_of(agent([{"text": f"{n} ", "finish": "pause"} for n in range(9)]))
    assert (ended(events).reason, ended(events).steps) == (StopReason.INVALID, 3)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"text": "Four."}, StopReason.COMPLETED),
        ({"text": "Four, and", "finish": "length"}, StopReason.STEP_LIMIT),
        ({"text": "  "}, StopReason.STEP_LIMIT),
        ({"text": "Let me see.", **read()}, StopReason.STEP_LIMIT),
        ({"text": "No.", "finish": "refusal"}, StopReason.FAILED),
    ],
    ids=str,
)
async def test_the_answer_of_an_only_step_is_one(reply: Any, reason: StopReason) -> None:
    tools = FakeTools({"a.py": b"hi"})
    events = await events_of(agent([reply], tools, limits=Limits(max_steps=1)))
    assert (ended(events).reason, ended(events).steps) == (reason, 1)
    assert tools.committed == []


@pytest.mark.parametrize(
    ("end", "spent"),
    [
        (ReplyEnd(error=ProviderError("server", "no", status=503)), ()),
        (ReplyEnd(error=ProviderError("network", "nobody there", sent=False)), ()),
        (ReplyEnd(error=ProviderError("network", "silent")), (ev.Spent(None, None),)),
        (ReplyEnd(error=ProviderError("server", "no", status=529, begun=True)), (ev.Spent(None, None),)),
        (ReplyEnd(error=ProviderError("server", "no", begun=True), usage=Usage(9, 3)), (ev.Spent(Usage(9, 3), 2.0),)),
    ],
    ids=["refused", "not sent", "silent", "broken off", "counted"],
)
async def test_what_a_failed_request_took_is_told_or_unknown_and_nothing_only_where_it_was_refused(
    end: ReplyEnd, spent: tuple[ev.Spent, ...]
) -> None:
    """What it thought until then is paid, though no reply is kept of it."""

    async def stream(_request: Request) -> AsyncIterator[Delta]:
        if end.error is not None and end.error.begun:
            yield ReasoningDelta("hm")
        yield end

    def price(usage: Usage | None) -> float | None:
        return None if usage is None else 2.0 if usage.input_tokens else 0.0

    agent = Agent(Model(Author("x", "y", "z"), stream), FakeTools(), log=MemoryLog(), price=price)
    async with aclosing(run("do it", agent)) as events:
        happened = [event async for event in events]
    assert tuple(e for e in happened if isinstance(e, ev.Spent)) == spent
    assert fold.totals(agent.log.events).cost == (spent[0].cost if spent else 0.0)


async def test_what_a_try_took_that_was_lost_and_made_again_is_in_the_sum_and_not_in_the_context() -> None:
    """Also when the person stops in the wait behind it: what was paid is paid."""
    gone = ProviderError("server", "overloaded", retryable=True)
    waits = asyncio.Event()

    async def stream(request: Request) -> AsyncIterator[Delta]:
        yield Lost(Usage(9, 3))
        if request.messages[-1] == UserMessage("wait"):
            yield RetryTick(1, 5.0, gone, 6, 5.0)
            waits.set()
            await asyncio.Event().wait()
        yield TextDelta("done")
        yield ReplyEnd("stop", Usage(10, 1))

    def price(usage: Usage | None) -> float | None:
        return None if usage is None else 1.0 * (usage.input_tokens or 0)

    made = Agent(Model(Author("x", "y", "z"), stream), FakeTools(), log=MemoryLog(), price=price)
    async with aclosing(run("do it", made)) as events:
        async for _ in events:
            continue
    assert [e for e in made.log.events if isinstance(e, ev.Spent)] == [ev.Spent(Usage(9, 3), 9.0)]
    total = fold.totals(made.log.events)
    assert (total.usage, total.cost, total.replies) == (Usage(19, 4), 19.0, 1)
    assert meter(made.log.events).tokens == 11

    async def stopped() -> None:
        async with aclosing(run("wait", made)) as events:
            async for _ in events:
                continue

    task = asyncio.create_task(stopped())
    await waits.wait()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert fold.totals(made.log.events).cost == 28.0


async def test_a_failure_in_an_only_step_is_a_failure() -> None:
    events = await events_of(Agent(FAILING, FakeTools(), limits=Limits(max_steps=1)))
    assert (ended(events).reason, ended(events).detail) == (StopReason.FAILED, "502")


async def test_what_the_tools_take_counts_as_context() -> None:
    tools = FakeTools()
    size = len("do it") + sum(len(t.description) + len(json.dumps(t.parameters)) for t in tools.specs)
    fits = await events_of(agent([{"text": "hi"}], tools, limits=Limits(max_context=size)))
    assert ended(fits).reason is StopReason.COMPLETED
    too_long = await events_of(agent([{"text": "hi"}], tools, limits=Limits(max_context=size - 1)))
    assert ended(too_long).reason is StopReason.CONTEXT_LIMIT
    assert ended(too_long).detail.startswith(f"the conversation and the tools have {size}")


def test_the_transcript_has_another_word_for_each_reason() -> None:
    labels = {note_of(ev.RunEnded(reason, "")).label for reason in StopReason}
    assert len(labels) == len(StopReason)
    assert all(labels)


@pytest.mark.parametrize("usage", [None, {"input_tokens": None, "output_tokens": 7}])
async def test_where_the_server_tells_no_tokens_the_limit_counts_an_estimate_and_says_so(usage: Any) -> None:
    replies = [read(str(n)) | ({"usage": usage} if usage else {}) for n in range(9)]
    events = await events_of(agent(replies, system="x" * 400, limits=Limits(max_tokens=150)))
    assert ended(events).reason is StopReason.TOKEN_LIMIT
    assert ended(events).detail.startswith("~")
    assert 1 <= ended(events).steps <= 3
    assert fold.totals(events).usage.input_tokens is None  # an estimate is never told as a number that was counted


@pytest.mark.parametrize("usage", [None, {"input_tokens": None, "output_tokens": 7}])
async def test_where_the_server_tells_no_tokens_the_limit_on_the_cost_counts_an_estimate(usage: Any) -> None:
    replies = [read(str(n)) | ({"usage": usage} if usage else {}) for n in range(9)]
    price, limits = Pricing(input=1e6, output=1e6).cost, Limits(max_cost=150)
    events = await events_of(
        agent(replies, system="x" * 400, limits=limits, price=lambda usage: price(usage or Usage()))
    )
    assert ended(events).reason is StopReason.COST_LIMIT
    assert ended(events).detail.startswith("~$")
    assert 1 <= ended(events).steps <= 3
    assert fold.totals(events).cost is None


async def test_a_limit_on_the_cost_of_what_has_no_price_lets_nothing_be_sent() -> None:
    seen: list[Request] = []
    events = await events_of(Agent(scripted([read()], seen=seen), FakeTools(), limits=Limits(max_cost=1)))
    assert (ended(events).reason, ended(events).steps) == (StopReason.COST_LIMIT, 0)
    assert "pricing" in ended(events).detail
    assert seen == []
    assert fold.history(events) == ()


async def test_the_last_steps_are_announced_and_the_last_call_has_no_tools() -> None:
    seen: list[Request] = []
    replies = [read(str(n)) for n in range(5)] + [{"text": "summary"}]
    events = await events_of(Agent(scripted(replies, seen=seen), FakeTools(), limits=Limits(max_steps=6)))
    notices = [e.text.partition(".")[0] for e in events if isinstance(e, ev.Notice)]
    assert notices == [
        "2 steps are left",
        "1 step is left after this one, without tools, for your summary",
        "The step limit is reached",
    ]
    assert [bool(r.tools) for r in seen] == [True] * 5 + [False]
    assert ended(events).steps == 6


@pytest.mark.parametrize("steps", range(1, 5))
async def test_however_few_steps_there_are_each_of_the_last_is_announced(steps: int) -> None:
    seen: list[Request] = []
    replies = [read(str(n)) for n in range(steps - 1)] + [{"text": "summary"}]
    await events_of(Agent(scripted(replies, seen=seen), FakeTools(), limits=Limits(max_steps=steps)))
    told = [m.text for m in seen[-1].messages if isinstance(m, UserMessage)][1:]
    assert told == ([ONLY_STEP] if steps == 1 else [WARNINGS[n] for n in (2, 1, 0)][-steps:])
    assert seen[-1].tools == ()


BOUNDS = {f.name: f for f in fields(Limits)}


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, True, "3", 0.5, None, [1]], ids=repr)
def test_what_is_no_bound_is_refused_with_its_name(name: str, value: Any) -> None:
    unbounded = value is None and BOUNDS[name].default is None
    if unbounded or (value == 0.5 and name in {"max_cost", "command_timeout"}):
        assert getattr(Limits(**{name: value}), name) is value
        return
    with pytest.raises(ConfigError, match=f"limits.{name} must be"):
        Limits(**{name: value})


def test_the_first_of_an_action_is_no_repeat() -> None:
    with pytest.raises(ConfigError, match="limits.max_identical must be 2 or more"):
        Limits(max_identical=1)


async def test_the_limit_of_identical_actions_is_a_setting() -> None:
    limits = Limits(max_identical=5, repeat_window=9)
    events = await events_of(agent([read()] * 9, limits=limits))
    assert ended(events).reason is StopReason.REPEATED
    assert "5 times" in ended(events).detail


# ------------------------------------------------------------------ reads at the same time


class Slow(FakeTools):
    """Reads that all must have begun before one of them ends; they end in the opposite order."""

    def __init__(self, together: int) -> None:
        super().__init__({name: name.encode() for name in "abc"})
        self.together, self.running, self.log = together, 0, []
        self.all = asyncio.Event()

    async def commit(self, request: Any, decision: Any, emit: Any) -> Any:
        self.running += 1
        self.log.append(f"begin {request.summary}")
        if self.running == self.together:
            self.all.set()
        if request.call.name == "read_file":
            await asyncio.wait_for(self.all.wait(), PATIENCE)
            for _ in range(10 - self.running):
                await asyncio.sleep(0)
        outcome = await super().commit(request, decision, emit)
        self.running -= 1
        self.log.append(f"end {request.summary}")
        return outcome


class Pages(Slow):
    """What is read is no file of the folder."""

    async def prepare(self, call: Any, earlier: Any) -> Any:
        return replace(await super().prepare(call, earlier), effect=Lookup("page", call.arguments["path"]))

    async def commit(self, request: Any, decision: Any, emit: Any) -> Any:
        return await super().commit(replace(request, effect=ReadFile(request.effect.text)), decision, emit)


def reads(names: str) -> list[dict[str, Any]]:
    return [call("read_file", path=name) for name in names]


@pytest.mark.parametrize("kind", [Slow, Pages])
async def test_neighbouring_reads_run_at_once_and_are_answered_in_call_order(kind: type[Slow]) -> None:
    tools = kind(3)
    events = await events_of(Agent(scripted([{"calls": reads("abc")}, {"text": "ok"}]), tools))
    assert [e.text for e in events if isinstance(e, ev.ToolDone)] == ["a", "b", "c"]
    assert [line.split()[0] for line in tools.log] == ["begin"] * 3 + ["end"] * 3


async def test_an_edit_between_reads_waits_for_the_first_and_holds_up_the_second() -> None:
    tools = Slow(1)
    reply = {"calls": [*reads("a"), call("write_file", path="b", content="new"), *reads("b")]}
    events = await events_of(Agent(scripted([reply, {"text": "ok"}]), tools, Person()))
    assert [e.text for e in events if isinstance(e, ev.ToolDone)] == ["a", "wrote b", "new"]
    assert [line.split()[0] for line in tools.log] == ["begin", "end"] * 3


async def test_stopping_ends_all_reads_and_answers_them() -> None:
    from tests.core.test_loop_stopping import interrupt
    from tui_agent.core.log import MemoryLog

    log, tools = MemoryLog(), Slow(4)  # never enough: all wait
    await interrupt(Agent(scripted([{"calls": reads("abc")}]), tools, log=log), ev.ToolStarted)
    done = [e for e in log.events if isinstance(e, ev.ToolDone)]
    assert [e.note for e in done] == ["stopped"] * 3
    assert_answered(fold.history(log.events))


# ------------------------------------------------------------------ verified, and claims


async def test_a_passing_check_is_no_proof_that_what_was_asked_for_was_done() -> None:
    replies = [write("a.py", "x"), *[{"text": f"done {n}"} for n in range(4)]]
    events = await events_of(agent(replies, check=passing()), "Add a function total to b.py")
    assert ended(events).reason is StopReason.UNVERIFIED
    assert "total" in ended(events).detail
    assert sum(isinstance(e, ev.Notice) and e.text.startswith("NOT VERIFIED") for e in events) == 3


@pytest.mark.parametrize("task", ["do it", "set x in a.py", "make it nicer"])
async def test_work_that_was_undone_again_is_never_verified(task: str) -> None:
    back = [write("a.py", "x"), write("n", "1"), write("a.py", "hi")]
    for replies in ([back[0], back[2]], [write("a.py", "hi")]):
        ran = [*replies, *[{"text": f"done {n}"} for n in range(5)]]
        events = await events_of(agent(ran, FakeTools({"a.py": b"hi"}), check=passing()), task)
        assert ended(events).reason is not StopReason.VERIFIED
        assert fold.changes(events) == {}
    events = await events_of(agent([*back, {"text": "done"}], FakeTools({"a.py": b"hi"}), check=passing()), "do it")
    assert ended(events).reason is StopReason.VERIFIED


@pytest.mark.parametrize(
    ("change", "verified"),
    [
        (((None, "h"), ("h", None)), False),
        ((("h", "i"), ("i", "h")), False),
        ((("git:1", "i"), ("i", "git:1")), False),
        ((("", "i"), ("i", "")), True),
        ((("h", "i"),), True),
    ],
    ids=str,
)
async def test_nor_is_what_commands_took_back(change: Any, verified: bool) -> None:
    class Shell(FakeTools):
        async def commit(self, request: Any, decision: Any, emit: Any) -> Any:
            outcome = await super().commit(request, decision, emit)
            left = FileChange("g", *change[len(self.committed) - 1])
            return replace(outcome, receipt=replace(outcome.receipt, changed=(left,)))

    runs = [{"calls": [call("run_command", argv=["x", str(n)])]} for n in range(len(change))]
    how = agent([*runs, *[{"text": f"{n}"} for n in range(5)]], Shell(), check=passing(), content=lambda _: b"now")
    assert (ended(await events_of(how)).reason is StopReason.VERIFIED) is verified


async def test_a_run_that_changed_what_the_check_does_says_so() -> None:
    replies = [write("Makefile", "check:\n\ttrue\n"), {"text": "done"}]
    events = await events_of(agent(replies, check=passing()))
    assert ended(events).reason is StopReason.VERIFIED
    assert [e.text for e in events if isinstance(e, ev.Notice)] == [
        "look at it: Makefile says what the check does, and this run changed it"
    ]


async def test_what_is_missing_may_follow() -> None:
    replies = [write("a.py", "x"), {"text": "done"}, write("b.py", "def total(): ..."), {"text": "now"}]
    events = await events_of(agent(replies, check=passing()), "Add a function total to b.py")
    assert ended(events).reason is StopReason.VERIFIED


async def test_a_claim_without_a_receipt_is_marked_for_the_person() -> None:
    events = await events_of(agent([{"text": "I updated a.py and all tests pass."}]))
    marks = [e for e in events if isinstance(e, ev.Notice)]
    assert [m.audience for m in marks] == ["person"] * 2
    assert "nothing changed that file" in marks[1].text
    assert ended(events).reason is StopReason.COMPLETED


async def test_a_claim_with_its_receipt_is_not_marked() -> None:
    replies = [write("a.py"), {"text": "Changed `a.py`; the check passes."}]
    events = await events_of(agent(replies, check=passing()))
    assert not [e for e in events if isinstance(e, ev.Notice)]


async def test_an_answer_that_is_sent_back_has_its_claims_marked_too() -> None:
    replies = [write("a.py"), {"text": "Changed b.py, all tests pass."}, *[{"text": f"{n}"} for n in range(4)]]
    events = await events_of(agent(replies, check=passing(code=1)))
    told = [(e.audience, e.text.partition(" ")[0]) for e in events if isinstance(e, ev.Notice)]
    assert told[:3] == [("person", "not"), ("person", "not"), ("model", "NOT")]
    assert ended(events).reason is StopReason.UNVERIFIED


# ------------------------------------------------------------------ a check that was found


def proposed(person: Person, code: int = 0) -> tuple[Agent, list[Any]]:
    from dataclasses import replace

    heard: list[Any] = []
    check = replace(passing(code=code), asks="always", proposed=True, answered=heard.append)
    replies = [write(content="1"), write(content="2"), {"text": "done"}]
    return agent(replies, ask=person, check=check), heard


async def test_a_proposed_check_that_is_refused_is_not_asked_again() -> None:
    how, heard = proposed(Person(["yes", "no:too slow", "yes"]))
    events = await events_of(how)
    assert [e.text for e in events if isinstance(e, ev.Notice)] == [
        "the check was not run: make check (user: too slow)"
    ]
    assert [h.answer for h in heard] == ["no"]
    assert not [e for e in events if isinstance(e, ev.CheckDone)]
    assert ended(events).reason is StopReason.UNVERIFIED


async def test_a_proposed_check_that_is_accepted_runs() -> None:
    how, heard = proposed(Person(["yes"]))
    events = await events_of(how)
    assert heard[0].answer == "yes"
    assert ended(events).reason is StopReason.VERIFIED


# ------------------------------------------------------------------ without tools


class NoTools(FakeTools):
    specs = ()


async def test_a_question_without_tools_is_one_call_that_offers_none() -> None:
    seen: list[Request] = []
    events = await events_of(Agent(scripted([{"text": "Paris"}], seen=seen), NoTools(), system="general"))
    assert [(r.system, r.tools) for r in seen] == [("general", ())]
    assert (ended(events).reason, ended(events).steps) == (StopReason.COMPLETED, 1)
