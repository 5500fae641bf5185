"""What a key costs in the composer, and what a search for a file among 100,000 costs, beside their floors.

    python bench/composer.py [PATHS]

A key: CPU ms from the key to the drawn frame in a headless app, for a stock `TextArea`, for the composer, with a
completion list that is filtered at each key, and beside a folded paste of one megabyte. A search: wall ms for each
letter of some queries over PATHS invented paths (100,000 unless given), first and last result, and the longest time
for which the event loop was held; the floor is `str.find` over the same paths as one text.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from contextlib import aclosing
from pathlib import Path
from statistics import median, quantiles

from textual.app import App, ComposeResult
from textual.widgets import TextArea

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tui_agent.ui.completing import Completing, Sources  # noqa: E402
from tui_agent.ui.composer import Composer  # noqa: E402
from tui_agent.ui.file_choices import FileChoices  # noqa: E402
from tui_agent.ui.path_index import PathIndex  # noqa: E402
from tui_agent.ui.suggestions import Suggestions  # noqa: E402

KEYS = 60
WORDS = [
    "parser",
    "lexer",
    "token",
    "stream",
    "reader",
    "writer",
    "buffer",
    "cache",
    "index",
    "query",
    "model",
    "view",
    "table",
    "server",
    "socket",
    "node",
]
QUERIES = ("parser", "prsr", "src/lex", "readerbuf", "zzzz")


class Bench(App[None]):
    CSS_PATH = ROOT / "styles" / "composer.tcss"

    def __init__(self, area: TextArea, popup: Suggestions | None = None) -> None:
        super().__init__()
        self.area, self.popup = area, popup

    def compose(self) -> ComposeResult:
        if self.popup is not None:
            yield self.popup
        yield self.area


async def key_cost(kind: str) -> list[float]:
    """CPU ms of each of some letters."""
    area: TextArea = TextArea() if kind == "floor" else Composer()
    popup = Suggestions() if kind == "completion" else None
    app = Bench(area, popup)
    costs = []
    async with app.run_test(size=(120, 40)) as pilot:
        area.focus()
        await pilot.pause()
        if isinstance(area, Composer):
            if popup is not None:
                Completing(area, popup, Sources(), FileChoices(ROOT, dict).find)
            if kind == "paste":
                area.feed_paste("a line of a log\n" * 65_000)
        for number in range(KEYS):
            letters = "/model" if popup is not None else "abcdef"
            begin = time.process_time()
            await pilot.press({"/": "slash"}.get(letters[number % 6], letters[number % 6]))
            costs.append(1000 * (time.process_time() - begin))
            if number % 6 == 5:
                await pilot.press("ctrl+u")
    return costs


def invented(count: int) -> list[str]:
    dice = random.Random(1)
    folders = [f"{dice.choice(WORDS)}/{dice.choice(WORDS)}_{n % 20}/{dice.choice(WORDS)}" for n in range(count // 250)]
    return [f"{dice.choice(folders)}/{dice.choice(WORDS)}_{dice.choice(WORDS)}_{n}.py" for n in range(count)]


async def search(index: PathIndex, query: str) -> tuple[float, float, float]:
    """Wall ms to the first and to the last result of one query, and the longest hold of the event loop."""
    held, last = 0.0, time.perf_counter()
    done = asyncio.Event()

    async def watch() -> None:
        nonlocal held, last
        while not done.is_set():
            await asyncio.sleep(0)
            now = time.perf_counter()
            held, last = max(held, now - last), now

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0)
    begin, first = time.perf_counter(), 0.0
    async with aclosing(index.search(query)) as results:
        async for _ in results:
            first = first or time.perf_counter() - begin
    total = time.perf_counter() - begin
    done.set()
    await watcher
    return first * 1000, total * 1000, held * 1000


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print("CPU ms from a key to its frame       p50     p95")
    for kind in ("floor", "composer", "completion", "paste"):
        costs = asyncio.run(key_cost(kind))
        print(f"{kind:32} {median(costs):7.1f} {quantiles(costs, n=20)[-1]:7.1f}")
    paths = invented(count)
    index = PathIndex()
    begin = time.perf_counter()
    index.read(paths)
    print(f"\n{count:,} paths, read into the index in {time.perf_counter() - begin:.2f} s")
    text = "\n".join(paths).lower()
    begin = time.perf_counter()
    text.count("zzzz")
    print(f"{'floor: one look at the whole text':34} {1000 * (time.perf_counter() - begin):7.1f} ms")
    print(f"{'slowest key of a query, ms':34} {'first':>7} {'all':>7} {'loop held':>10}")
    for query in QUERIES:
        rows = [asyncio.run(search(index, query[: n + 1])) for n in range(len(query))]
        print(
            f"{query:34} {max(r[0] for r in rows):7.1f} {max(r[1] for r in rows):7.1f} {max(r[2] for r in rows):10.1f}"
        )


if __name__ == "__main__":
    main()
