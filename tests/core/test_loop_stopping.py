"""A run that is stopped from outside: what it keeps, closes and answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

import pytest

from tests.core.test_loop import assert_answered, call, ended, write
from tests.fakes import FakeTools, Person
from tests.waiting import PATIENCE
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import StopReason
from tui_agent.core.log import MemoryLog
from tui_agent.core.loop import Agent, run
from tui_agent.core.receipt import FileChange, Receipt
from tui_agent.core.stage import ended as settled
from tui_agent.core.types import (
    AssistantMessage,
    Author,
    Delta,
    Model,
    Outcome,
    Preparing,
    ProviderError,
    ReasoningDelta,
    Request,
    RetryTick,
    RunArgv,
    TextDelta,
    UserMessage,
)
from tui_agent.providers.scripted import scripted


@pytest.mark.parametrize("cost", [0.0, None])
async def test_cancel_during_the_stream_keeps_the_text_and_closes_the_provider(cost: float | None) -> None:
    """What a local model had said until then costs nothing; with prices nobody knows."""
    closed = asyncio.Event()

    async def stream(_request: Request):
        try:
            yield TextDelta("partial ")
            await asyncio.sleep(60)
        finally:
            closed.set()

    log = MemoryLog()
    agent = Agent(Model(Author("x", "y", "z"), stream), FakeTools(), log=log, price=lambda _: cost)
    await interrupt(agent, TextDelta)
    assert closed.is_set()
    assert fold.totals(log.events).cost == cost
    assert ended(log.events).reason is StopReason.STOPPED
    assert fold.history(log.events) == (
        UserMessage("do it"),
        AssistantMessage("partial ", author=Author("x", "y", "z")),
    )


@pytest.mark.parametrize(
    ("deltas", "price", "cost"),
    [
        ((), None, None),
        ((), 0.0, 0.0),
        ((ReasoningDelta("hm"),), None, None),
        ((Preparing("the key"), Preparing()), None, None),
        ((Preparing("the key"),), None, 0.0),
        ((RetryTick(1, 2.0, ProviderError("server", "x")),), None, 0.0),
        (
            (RetryTick(1, 2.0, ProviderError("server", "x")), RetryTick(1, 0.0, ProviderError("server", "x"), 6, 2.0)),
            None,
            None,
        ),
    ],
    ids=["asked", "local", "thinking", "key there", "key awaited", "next try awaited", "tried again"],
)
async def test_what_a_stopped_request_took_is_not_known_once_the_model_has_it(
    deltas: tuple[Delta, ...], price: float | None, cost: float | None
) -> None:
    reached = asyncio.Event()

    async def stream(_request: Request) -> AsyncIterator[Delta]:
        for delta in deltas:
            yield delta
        reached.set()
        await asyncio.Event().wait()

    log = MemoryLog()
    agent = Agent(Model(Author("x", "y", "z"), stream), FakeTools(), log=log, price=lambda _: price)

    async def drive() -> None:
        async with aclosing(run("do it", agent)) as events:
            async for _ in events:
                pass

    task = asyncio.create_task(drive())
    await asyncio.wait_for(reached.wait(), PATIENCE)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended(log.events).reason is StopReason.STOPPED
    assert fold.totals(log.events) == fold.Totals(cost=cost)


async def interrupt(agent: Agent, after: type) -> None:
    reached = asyncio.Event()

    async def drive() -> None:
        async with aclosing(run("do it", agent)) as stream:
            async for event in stream:
                if isinstance(event, after):
                    reached.set()

    task = asyncio.create_task(drive())
    await asyncio.wait_for(reached.wait(), PATIENCE)
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


class Stubborn(FakeTools):
    """A command that needs a while to end when it is told to, and has changed a file by then."""

    async def commit(self, request: Any, decision: Any, emit: Any) -> Any:
        if not isinstance(request.effect, RunArgv):
            return await super().commit(request, decision, emit)
        emit("begun\n")
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await settled(asyncio.ensure_future(asyncio.sleep(0.05)))
        changed = (FileChange("a.py", "1", "2"),)
        receipt = Receipt(request.id, request.call.id, "run_command", {}, by=decision.by, changed=changed)
        return Outcome("error", "interrupted", receipt, "stopped")


@pytest.mark.parametrize("times", [1, 2, 5])
async def test_stopping_again_while_it_stops_loses_no_receipt(times: int) -> None:
    log = MemoryLog()
    command = {"calls": [call("run_command", argv=["sh"]), call("write_file", path="b.py", content="x")]}
    begun = asyncio.Event()

    async def drive() -> None:
        async with aclosing(run("do it", Agent(scripted([command]), Stubborn(), Person(), log=log))) as events:
            async for event in events:
                if isinstance(event, ev.CommandOutput):
                    begun.set()

    task = asyncio.create_task(drive())
    await begun.wait()
    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0.01)
    with suppress(asyncio.CancelledError):
        await task
    done = [event for event in log.events if isinstance(event, ev.ToolDone)]
    assert [receipt.touched for event in done if (receipt := event.receipt)] == [("a.py",)]
    assert ended(log.events).reason is StopReason.STOPPED
    assert_answered(fold.history(log.events))
