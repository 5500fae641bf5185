"""Milliseconds from a proposal to its diff on the screen, per scroll step and per hunk jump; the same for the review.

Headless, 120x40: `python bench/diff.py`. The budget is 100 ms for a file of 5,000 lines and 300 ms for whatever is big.
`stall` is the longest time in which the event loop did not run meanwhile, so the longest that a key waits.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import ClassVar

from textual.app import App

from tui_agent.core.types import ApprovalRequest, Outcome, PolicyRequest, ToolCall, WriteBytes
from tui_agent.review import Entry
from tui_agent.ui.approval import ApprovalScreen, ask_on_screen
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.review import Review, World
from tui_agent.ui.wrap_view import WrapView

STYLES = Path(__file__).parents[1] / "styles" / "approval.tcss"


class Host(App[None]):
    """An empty application."""

    CSS_PATH = STYLES


class ReviewHost(App[None]):
    """An empty application with the looks of the review."""

    CSS_PATH: ClassVar = [STYLES, STYLES.with_name("review.tcss")]


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
        await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.view.drawn > 0)
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


def one_line(size: int) -> WriteBytes:
    """A file of one line of `size` bytes, a word of which is replaced."""
    old = b"var a=1;" * (size // 8)
    return WriteBytes("min.js", old, old[: size // 2] + b"changed" + old[size // 2 :])


def _shown_anew(pane: Review, before: WrapView | None) -> bool:
    return pane.view is not None and pane.view is not before and pane.view.drawn > 0


async def review(count: int) -> str:
    """The review of so many changed files: first difference, all files, a key on the way, then a step to the next file."""

    async def files(_: str) -> AsyncIterator[Entry]:
        for n in range(count):
            yield await asyncio.to_thread(partial(Entry, f"src/f{n}.py", b"old\n", b"new\n", added=1, removed=1))

    async def nothing(*_: object) -> Outcome:
        return Outcome("refused", "")

    async def unread(_: object) -> None:
        return None

    async def unopened(_path: str, _line: int) -> None:
        return None

    async def gone(_: str) -> bytes | None:
        return None

    app = ReviewHost()
    late: list[float] = []
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        watch = asyncio.create_task(stalls(late))
        start = perf_counter()
        pane = Review(World(files, nothing, nothing, unopened, page=unread, present=gone, keep=lambda _: None))
        app.push_screen(pane)
        await until(lambda: pane.view is not None and pane.view.drawn > 0)
        first = perf_counter() - start
        await until(lambda: not pane.sums.more)
        complete = perf_counter() - start
        watch.cancel()
        steps = []
        for _ in range(10):
            before, start = pane.view, perf_counter()
            await pilot.press("right_curly_bracket")
            await until(partial(_shown_anew, pane, before))
            steps.append(perf_counter() - start)
    return "".join(f"{1000 * number:12.1f}" for number in (first, complete, max(late), median(steps)))


async def main() -> None:
    """Print the tables."""
    print(f"{'lines':>8}{'changed':>9}" + "".join(f"{n:>12}" for n in ("first", "complete", "stall", "scroll", "jump")))
    for lines, share in ((100, 0.1), (5_000, 0.01), (5_000, 0.5), (200_000, 0.001), (200_000, 1.0)):
        print(f"{lines:8}{share:9.1%}" + await measure(proposal(lines, share)))
    print(f"{'one line of 5 MB':>17}" + await measure(one_line(5_000_000)))
    print(f"\n{'files':>17}" + "".join(f"{n:>12}" for n in ("first", "complete", "stall", "next file")))
    for count in (10, 10_000):
        print(f"{count:17,}" + await review(count))


if __name__ == "__main__":
    asyncio.run(main())
