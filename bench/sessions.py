"""The list of 5,000 sessions, and a session of 5,000 events up to its first screen, each beside a floor.

The floor of the list is one `stat` for each log; that of a session is reading its lines as JSON.

    python bench/sessions.py [sessions] [events]
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.log import FileLog, encode
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import AssistantMessage, ToolCall, Usage
from tui_agent.paths import Paths
from tui_agent.providers.scripted import scripted
from tui_agent.session import Terms
from tui_agent.sessions import Place, new_id
from tui_agent.summaries import INDEX, listed
from tui_agent.ui.app import AgentApp, Ready, Start

ANSWER = "The parser reads **one half** at a time. " * 12 + "\n\n- join the halves\n- refuse a lone one\n"


def turn(number: int) -> list[ev.Durable]:
    """Five events: a message, a call with its result, the answer, the end."""
    call = ToolCall(f"c{number}", "edit_file", {"path": f"src/m{number % 40}.py", "old": "a" * 200, "new": "b" * 200})
    receipt = Receipt(
        f"r{number}", call.id, call.name, {}, f"src/m{number % 40}.py", "a", f"{number}", added=3, removed=2
    )
    return [
        ev.UserSaid(f"change number {number} of the parser"),
        ev.AssistantSaid(AssistantMessage("I look.", calls=(call,)), usage=Usage(900, 60), cost=0.01),
        ev.ToolDone(call, "applied", "ok\n" * 40, "+3 -2", "edit  src/m.py  +3 -2", receipt),
        ev.AssistantSaid(AssistantMessage(ANSWER), usage=Usage(1_200, 200), cost=0.02),
        ev.RunEnded(StopReason.COMPLETED, "", 2),
    ]


def write(folder: Path, cwd: Path, events: int) -> None:
    """A session of so many events."""
    log = FileLog(folder / "log.jsonl")
    log.append(ev.SessionStarted(folder.name, str(cwd), 1.0, "1"))
    lines = []
    for number in range(events // 5):
        lines += [log.line({"seq": 1, "t": 1.0} | encode(event)) for event in turn(number)]
    log.save()
    with log.path.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines))


@dataclass(frozen=True)
class Took:
    """Milliseconds of the fastest of some tries, and of the processor in it."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:,.0f} ms (processor {self.cpu:,.0f})"


def took(start: float, cpu: float) -> Took:
    return Took((time.perf_counter() - start) * 1000, (time.process_time() - cpu) * 1000)


def best(work: Callable[[], object], times: int = 5) -> Took:
    """The fastest of some tries."""
    out = []
    for _ in range(times):
        start, cpu = time.perf_counter(), time.process_time()
        work()
        out.append(took(start, cpu))
    return min(out, key=lambda one: one.wall)


def shown(app: AgentApp) -> str:
    """What is on the screen."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())  # noqa: SLF001


async def first_screen(root: Path, paths: Paths, folder: Path) -> Took:
    """From opening the log to the end of the session on the screen, the app itself not counted."""
    at = Terms(root, Settings(), paths, trusted=True)
    app = AgentApp(Start(root, paths, paths.config_file, ready=Ready(at, scripted([]))))
    async with app.run_test(size=(120, 40)) as pilot:
        while app.main.conversation is None or app.session.profile is None:
            await pilot.pause(0.02)
        start, cpu = time.perf_counter(), time.process_time()
        app.main.transcript.restart()
        app.shelf.show(await asyncio.to_thread(Place, folder))
        while "refuse a lone one" not in shown(app):  # noqa: ASYNC110 - what is on the screen is no event
            await asyncio.sleep(0)
        return took(start, cpu)


def main() -> None:
    count, events = (int(word) for word in (*sys.argv[1:], *("5000", "5000")[len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as temp:
        base = Path(temp)
        root, paths = base / "work", Paths(base / "c", base / "d", base / "s")
        root.mkdir()
        for number in range(count):
            write(paths.sessions / new_id(1_700_000_000.0 + number), root, 10)
        cold = best(lambda: listed(paths.sessions), 1)
        size = (paths.sessions / INDEX).stat().st_size
        warm = best(lambda: listed(paths.sessions))
        floor = best(lambda: [log.stat() for log in paths.sessions.glob("*/log.jsonl")])
        print(
            f"list of {count:,} sessions: {warm}   floor (stat): {floor}   "
            f"without the index: {cold}   index: {size / 1e6:.1f} MB"
        )
        long = paths.sessions / new_id(time.time())
        write(long, root, events)
        data = (long / "log.jsonl").read_bytes()
        parse = best(lambda: [json.loads(line) for line in data.splitlines()])
        opened = min((asyncio.run(first_screen(root, paths, long)) for _ in range(3)), key=lambda one: one.wall)
        print(
            f"session of {events:,} events, {len(data) / 1e6:.1f} MB: {opened} to its first screen   "
            f"floor (JSON): {parse}"
        )


if __name__ == "__main__":
    main()
