"""Milliseconds from a proposal to its diff on the screen, per scroll step and per hunk jump.

Headless, 120x40: `python bench/diff.py`. The budget is 100 ms for a file of 5,000 lines.
`stall` is the longest time in which the event loop did not run meanwhile.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

from textual.app import App

from tui_agent.core.types import ApprovalRequest, PolicyRequest, ToolCall, WriteBytes
from tui_agent.ui.approval import ApprovalScreen, ask_on_screen
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.wrap_view import WrapView

STYLES = Path(__file__).parents[1] / "styles" / "approval.tcss"


class Host(App[None]):
    """An empty application."""

    CSS_PATH = STYLES


def proposal(lines: int, share: float) -> WriteBytes:
    """A file of `lines` lines of which a `share` is replaced, scattered."""
    dice = random.Random(lines)
    old = [f"    value_{n} = compute({n}, {dice.random()})\n" for n in range(lines)]
    new = [line.replace("compute", "derive") if dice.random() < share else line for line in old]
    return WriteBytes("src/big.py", "".join(old).encode(), "".join(new).encode())


async def stalls(found: list[float]) -> None:
    """Note how late each turn of the event loop comes."""
    while True:
        start = perf_counter()
        await asyncio.sleep(0.001)
        found.append(perf_counter() - start - 0.001)


async def drawn(view: WrapView, act: Callable[[], object]) -> float:
    """Seconds from an action to the next drawn row."""
    rows, start = view.drawn, perf_counter()
    act()
    await until(lambda: view.drawn > rows or perf_counter() - start > 1)
    return perf_counter() - start


async def until(ready: Callable[[], bool]) -> None:
    """Wait in single turns of the event loop."""
    while not ready():  # noqa: ASYNC110 - an event would be a change to what is measured
        await asyncio.sleep(0)


async def measure(effect: WriteBytes) -> str:
    """One dialog: first screen, complete, scroll step, hunk jump."""
    request = ApprovalRequest("1", ToolCall("c", "edit_file", {}), effect, PolicyRequest("edit_file", "write"), "")
    app = Host()
    late: list[float] = []
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        watch = asyncio.create_task(stalls(late))
        start = perf_counter()
        asking = asyncio.create_task(ask_on_screen(app, (request,)))
        await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.view.seen > 0)
        first = perf_counter() - start
        assert isinstance(app.screen, ApprovalScreen)
        view = app.screen.view
        assert isinstance(view, DiffView)
        await until(lambda: view.complete)
        complete = perf_counter() - start
        watch.cancel()
        view.scroll_home(animate=False)
        await pilot.pause()
        steps = [partial(view.scroll_relative, y=y, animate=False) for y in (3, -3)]
        scroll = [await drawn(view, steps[n % 2]) for n in range(20)]
        jump = [await drawn(view, partial(view.jump, -1 if n % 8 > 3 else 1)) for n in range(20)]
        await pilot.press("ctrl+c")
        await asking
    numbers = [first, complete, max(late), median(scroll), median(jump)]
    return "".join(f"{1000 * number:12.1f}" for number in numbers)


async def main() -> None:
    """Print the table."""
    print(f"{'lines':>8}{'changed':>9}" + "".join(f"{n:>12}" for n in ("first", "complete", "stall", "scroll", "jump")))
    for lines, share in ((100, 0.1), (5_000, 0.01), (5_000, 0.5), (200_000, 0.001), (200_000, 1.0)):
        print(f"{lines:8}{share:9.1%}" + await measure(proposal(lines, share)))


if __name__ == "__main__":
    asyncio.run(main())
