"""The commands of sessions in any order: what is sent stays valid, no log loses a record, one session is held."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.sessions.story import turn
from tests.ui.test_app import send
from tests.ui.test_sessions import at_work, kept, opened
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.core.lock import holder
from tui_agent.core.log import load
from tui_agent.core.types import (
    AssistantMessage,
    Author,
    CallDelta,
    History,
    Model,
    ReplyEnd,
    Request,
    TextDelta,
    ToolMessage,
    UserMessage,
)
from tui_agent.ui.app import AgentApp
from tui_agent.ui.rewind import RewindScreen
from tui_agent.ui.undo import UndoScreen

STEPS = 14
OLD = [part for number in range(3) for part in turn(f"task {number}", f"answer {number} " * 50)]


def fault(history: History) -> str:
    """What a server would refuse in it, "" for nothing."""
    waited: set[str] = set()
    for message in history:
        if isinstance(message, ToolMessage):
            if message.call_id not in waited:
                return f"a result without a call: {message.call_id}"
            waited.remove(message.call_id)
        elif waited:
            return f"calls without a result: {waited}"
        elif isinstance(message, AssistantMessage):
            waited = {call.id for call in message.calls}
    return f"calls without a result: {waited}" if waited else ""


def model(faults: list[str]) -> Model:
    """Writes a file for each task, answers everything else, and looks at what it is sent."""
    count = 0

    async def stream(request: Request) -> AsyncIterator[Any]:
        nonlocal count
        faults.append(fault(request.messages))
        last = request.messages[-1]
        if isinstance(last, UserMessage) and last.text.startswith("write"):
            count += 1
            words = json.dumps({"path": f"f{count % 3}.txt", "content": f"version {count}\n"})
            yield CallDelta(0, f"c{count}", "write_file", words)
            yield ReplyEnd("tool_calls")
        else:
            yield TextDelta("short")
            yield ReplyEnd("stop")

    return Model(Author("scripted", "s", "s"), stream)


def at_work_on(app: AgentApp, *names: str) -> bool:
    return any(worker.name in names and not worker.is_finished for worker in app.workers)


async def settled(app: AgentApp) -> None:
    await until(
        lambda: app.screen is app.main and not app.talk.working and not at_work_on(app, "sessions", "undo", "remind")
    )


def command(text: str) -> Callable[[AgentApp, Pilot[int]], Awaitable[None]]:
    async def say(app: AgentApp, pilot: Pilot[int]) -> None:
        await send(app, pilot, text)

    return say


def back(scope: str) -> Callable[[AgentApp, Pilot[int]], Awaitable[None]]:
    async def rewind(app: AgentApp, pilot: Pilot[int]) -> None:
        await send(app, pilot, "/rewind")
        await until(lambda: isinstance(app.screen, RewindScreen) or not at_work_on(app, "sessions"))
        if isinstance(app.screen, RewindScreen):
            await pilot.press("down", scope)
            await until(lambda: not isinstance(app.screen, RewindScreen))
            await carried_out(app, pilot)

    return rewind


async def carried_out(app: AgentApp, pilot: Pilot[int]) -> None:
    """Where a plan of files is shown: do it, and leave it when nothing of it can be done."""
    await until(lambda: isinstance(app.screen, UndoScreen) or not at_work_on(app, "sessions"))
    if isinstance(screen := app.screen, UndoScreen):
        await until(lambda: screen._plan is not None)
        await pilot.press("u")
        await pilot.pause()
        if app.screen is screen:
            await pilot.press("ctrl+c")


async def undo(app: AgentApp, pilot: Pilot[int]) -> None:
    await send(app, pilot, "/undo")
    await until(lambda: isinstance(app.screen, UndoScreen) or not at_work_on(app, "undo"))
    if isinstance(app.screen, UndoScreen):
        await until(lambda: app.screen.query("OptionList").last().option_count > 0)  # type: ignore[attr-defined]
        await pilot.press("enter")
        await carried_out(app, pilot)


ORDERS: dict[str, Callable[[AgentApp, Pilot[int]], Awaitable[None]]] = {
    "message": command("write it"),
    "words": command("say it"),
    "new": command("/new"),
    "resume": command("/resume -1"),
    "fork": command("/fork"),
    "fork from": command("/fork 1"),
    "rewind": back("c"),
    "rewind with files": back("b"),
    "compact": command("/compact"),
    "compact undo": command("/compact undo"),
    "undo": undo,
    "save": command("/save saved.json"),
    "load": command("/load saved.json"),
}


@pytest.mark.parametrize("seed", range(3))
async def test_in_any_order_nothing_is_lost_and_the_next_request_is_valid(tmp_path: Path, seed: int) -> None:
    order = random.Random(seed).choices(list(ORDERS), k=STEPS)
    faults: list[str] = []
    async with opened(tmp_path, model(faults), at_work(tmp_path, *OLD), yes=True) as (app, pilot):
        for at, step in enumerate(order):
            logs = {file: load(file).events for file in kept(tmp_path).glob("*/log.jsonl")}
            await ORDERS[step](app, pilot)
            await settled(app)
            done = order[: at + 1]
            assert not fault(app.session.history), done
            assert not any(faults), (done, faults)
            for file, before in logs.items():
                if any(isinstance(event, ev.UserSaid) for event in before):
                    now = load(file)
                    assert (now.events[: len(before)], now.problems) == (before, ()), (done, file)
            held = [folder.name for folder in kept(tmp_path).iterdir() if holder(folder / "lock") is not None]
            assert set(held) <= {app.session.id}, done
            app.main.composer.load("")
