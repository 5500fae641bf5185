"""What one more delta costs when the answer is already long: CPU per delta, beside the floor.

    python bench/transcript.py [RUNS]

Streams one million characters of mixed Markdown in 20,000 deltas through the real widget in a headless
app, and the same text as plain lines through a bare line view. Prints CPU ms per delta over the 500 deltas that
end at 25k, 100k, 400k and 1M characters (medians of RUNS, 3 unless given), their ratio, 20,000 deltas of
4 characters as fast as they come, and of a resumed session of 2,000 blocks how long it takes until its end is on the
screen and what a page up costs.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.pilot import Pilot
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import RichLog

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tui_agent.core.events import AssistantSaid, Event, ToolDone, UserSaid  # noqa: E402
from tui_agent.core.types import AssistantMessage, TextDelta, ToolCall  # noqa: E402
from tui_agent.ui.transcript import Transcript  # noqa: E402

TOTAL, DELTAS, WINDOW = 1_000_000, 20_000, 500
ENDS = (25_000, 100_000, 400_000, 1_000_000)
BATCH = 25
"""Deltas between two turns of the event loop: what one read from a fast server brings."""


PAUSE = 0.05
"""Seconds between two batches inside a window: 500 deltas a second, some ten frames in a window."""


def mixed(size: int) -> str:
    """Markdown of every kind, the same mixture everywhere so that windows can be compared."""
    parts: list[str] = []
    length = number = 0
    while length < size:
        section = [f"## Section {number}\n\n"]
        section += [
            f"A paragraph with **bold** text, `code` and a [link](https://example.org/{number}), long enough to wrap "
            f"on a terminal of any usual width, number {n} of its section.\n\n"
            for n in range(3)
        ]
        section += [f"- bullet number {n} with *some* words in it and `names_{n}`\n" for n in range(40)] + ["\n"]
        section += ["| name | value | remark |\n|---|---:|---|\n"]
        section += [f"| entry {n} | {n * n} | some remark on `entry {n}` |\n" for n in range(30)] + ["\n"]
        section += (
            ["```python\n"] + [f'def f_{n}(a, b="x"): return a + b  # comment {n}\n' for n in range(30)] + ["```\n\n"]
        )
        parts += section
        length += sum(map(len, section))
        number += 1
    return "".join(parts)[:size]


class Plain(ScrollView):
    """The floor: whole lines as they come, no Markdown, no wrapping."""

    def __init__(self) -> None:
        super().__init__()
        self.lines = [""]
        self.news: list[str] = []

    def on_mount(self) -> None:
        self.set_interval(1 / 20, self.flush)

    def flush(self) -> None:
        if not self.news:
            return
        first, *rest = "".join(self.news).split("\n")
        self.news.clear()
        self.lines[-1] += first
        self.lines += rest
        self.virtual_size = Size(self.size.width, len(self.lines))
        self.scroll_end(animate=False, immediate=True)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        row = y + self.scroll_offset.y
        text = self.lines[row] if row < len(self.lines) else ""
        return Strip([Segment(text)]).adjust_cell_length(self.size.width)


class Bench(App[None]):
    CSS_PATH = ROOT / "styles" / "transcript.tcss"

    def __init__(self, view: Widget) -> None:
        super().__init__()
        self.view = view

    def compose(self) -> ComposeResult:
        yield self.view


def subject(kind: str) -> tuple[Widget, Callable[[str], None]]:
    if kind == "floor":
        plain = Plain()
        return plain, plain.news.append
    transcript = Transcript()
    return transcript, lambda text: transcript.feed(TextDelta(text))


async def ask(pilot: Pilot[None], view: Widget) -> None:
    """What comes before every answer: a message, and the wait for the first delta."""
    if isinstance(view, Transcript):
        view.feed(UserSaid("go"))
    await pilot.pause(0.4)


async def windows(kind: str) -> list[float]:
    """CPU ms per delta over each window of one run: paced inside the windows, so that frames are drawn, else not."""
    text, step = mixed(TOTAL), TOTAL // DELTAS
    view, feed = subject(kind)
    result: list[float] = []
    async with Bench(view).run_test(size=(120, 40)) as pilot:
        await ask(pilot, view)
        for end in range(WINDOW * step, TOTAL + 1, WINDOW * step):
            if end in ENDS:
                await pilot.pause(0.1)
                gc.collect()  # of all objects, some 20 ms: by chance it would fall into one window of a run or into none
            begin = time.process_time()
            for number, at in enumerate(range(end - WINDOW * step, end, step)):
                feed(text[at : at + step])
                if number % BATCH == BATCH - 1:
                    await asyncio.sleep(PAUSE if end in ENDS else 0)
            if end in ENDS:
                result.append((time.process_time() - begin) * 1000 / WINDOW)
    return result


async def burst(kind: str) -> tuple[float, float]:
    """Wall and CPU seconds of 20,000 deltas of 4 characters and the frame that shows the last one."""
    text = mixed(4 * DELTAS)
    view, feed = subject(kind)
    async with Bench(view).run_test(size=(120, 40)) as pilot:
        await ask(pilot, view)
        wall, cpu = time.perf_counter(), time.process_time()
        for number, at in enumerate(range(0, len(text), 4)):
            feed(text[at : at + 4])
            if number % BATCH == BATCH - 1:
                await asyncio.sleep(0)
        if isinstance(view, Transcript):
            view.feed(AssistantSaid(AssistantMessage(text)))
            while view.story.answers != [text]:
                await pilot.pause()
        await pilot.pause()
        return time.perf_counter() - wall, time.process_time() - cpu


def saved(blocks: int) -> list[Event]:
    """A session with so many entries: a message, two answers and a read in turns."""
    text = mixed(4_000)
    read = ToolDone(ToolCall("c", "read_file", {}), "applied", "line\n" * 50, "", "read file.py")
    turn: list[Event] = [UserSaid("go on"), AssistantSaid(AssistantMessage(text[:900])), read]
    turn.append(AssistantSaid(AssistantMessage(text[900:2_000])))
    return turn * (blocks // len(turn))


async def resumed(kind: str) -> tuple[float, float]:
    """Wall ms until the end of 2,000 blocks is drawn, and CPU ms of a page up, median of 60."""
    events = saved(2_000)
    view: Widget
    if kind == "floor":
        view = RichLog()
        said = [e.message.text if isinstance(e, AssistantSaid) else "go on" for e in events]
    else:
        view = Transcript()
    async with Bench(view).run_test(size=(120, 40)) as pilot:
        await pilot.pause(0.3)
        begin = time.perf_counter()
        if isinstance(view, Transcript):
            view.load(events)
        elif isinstance(view, RichLog):
            for text in said:
                view.write(text)
        await pilot.pause()
        first = (time.perf_counter() - begin) * 1000
        steps: list[float] = []
        for _ in range(60):
            cpu = time.process_time()
            if isinstance(view, Transcript):
                view.scroll_pages(-1)
            elif isinstance(view, RichLog):
                view.scroll_to(y=view.scroll_offset.y - 39, animate=False, immediate=True)
            await pilot.pause()
            steps.append((time.process_time() - cpu) * 1000)
        return first, median(steps)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print("CPU ms per delta of 50 characters at 500 deltas/s, over the 500 deltas that end at ... characters")
    print(f"{'':22}" + "".join(f"{end // 1000:>9}k" for end in ENDS) + "   largest/smallest")
    for kind in ("floor", "transcript"):
        columns = [median(column) for column in zip(*[asyncio.run(windows(kind)) for _ in range(runs)], strict=True)]
        print(f"{kind:22}" + "".join(f"{value:10.3f}" for value in columns) + f"   {max(columns) / min(columns):.2f}")
    print("20,000 deltas of 4 characters as fast as they come")
    for kind in ("floor", "transcript"):
        wall, cpu = (median(column) for column in zip(*[asyncio.run(burst(kind)) for _ in range(runs)], strict=True))
        print(f"{kind:11} wall {wall:.2f} s   CPU {cpu:.2f} s")
    print("a saved session of 2,000 blocks")
    for kind in ("floor", "transcript"):
        first, step = (median(c) for c in zip(*[asyncio.run(resumed(kind)) for _ in range(runs)], strict=True))
        print(f"{kind:11} its end is there after {first:.0f} ms   a page up {step:.1f} ms CPU")


if __name__ == "__main__":
    main()
