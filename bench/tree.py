"""The longest stall of the event loop while a folder of many files is opened, beside Textual's own tree.

    python bench/tree.py [FILES] [RUNS]

Makes a folder with FILES files (20,000 unless given), opens it with the product's tree and with `DirectoryTree` in a
headless app, and looks at a 1 ms ticker on the same loop. Prints ms: the longest gap between two ticks and the time
until the names are there (medians of RUNS, 3 unless given).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from textual.app import App
from textual.widgets import DirectoryTree

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tui_agent.tools.walk import Ignores  # noqa: E402
from tui_agent.ui.tree import PAGE, FileTree  # noqa: E402


class Bench(App[None]):
    CSS_PATH = ROOT / "styles" / "tree.tcss"


async def stall(kind: str, root: Path, files: int) -> tuple[float, float]:
    """Longest gap and whole time, ms."""
    tree: FileTree | DirectoryTree
    tree = FileTree(root, ignored=Ignores(str(root))) if kind == "product" else DirectoryTree(root)
    wanted = min(files, PAGE) if kind == "product" else files
    gaps: list[float] = []
    app = Bench()

    async def tick() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    async with app.run_test(size=(60, 40)) as pilot:
        await pilot.pause(0.3)
        ticking = asyncio.create_task(tick())
        begin = time.perf_counter()
        await app.mount(tree)
        while len(tree.root.children) < wanted:  # noqa: ASYNC110 - neither tree tells when it is full
            await asyncio.sleep(0.001)
        whole = time.perf_counter() - begin
        await asyncio.sleep(0.2)
        ticking.cancel()
    return max(gaps) * 1000, whole * 1000


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / ".gitignore").write_text("*.o\n")
        for number in range(files):
            (root / f"file_{number:06}.py").touch()
        print(f"{files:,} files in one folder      longest stall ms   all there ms")
        for kind in ("DirectoryTree", "product"):
            gap, whole = (
                median(column)
                for column in zip(*[asyncio.run(stall(kind, root, files)) for _ in range(runs)], strict=True)
            )
            print(f"{kind:28}{gap:17.0f}{whole:15.0f}")


if __name__ == "__main__":
    main()
