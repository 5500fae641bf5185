"""What a sandbox adds to a command: milliseconds over the same command in none, for each kind that this machine has.

    python bench/sandbox.py [RUNS]

`true` in a small repository, through everything that a session's command goes through (looking after the protected
names, the supervisor, the sandbox), the kinds in turns. Prints medians, what they add, the budget, and beside them what
the interpreters alone cost: the supervisor's, which every kind pays, and Landlock's own second one.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tui_agent.workspace.confined import Choice, Confined  # noqa: E402
from tui_agent.workspace.runner import child_environment  # noqa: E402

BUDGET = {"bwrap": 0.015, "landlock": 0.025}
"""Seconds that a kind may add."""
KINDS: tuple[Choice, ...] = ("none", "bwrap", "landlock")


async def interpreter() -> float:
    """Seconds of the smallest Python process, as the supervisor is started."""
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", "-c", "import ctypes, select, signal")
    await process.wait()
    return time.perf_counter() - started


async def measure(runs: int, root: Path) -> None:
    """Run and print."""
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n", encoding="utf-8")
    env = child_environment(os.environ)
    boxes = {kind: Confined(root, lambda: env, choice=kind) for kind in KINDS}
    for kind, box in list(boxes.items()):
        found = await box.ready()
        if found.kind != kind:
            print(f"{kind:10} not on this machine: {found.reason}")
            del boxes[kind]
    figures: dict[str, list[float]] = {kind: [] for kind in boxes}
    python: list[float] = []
    for number in range(runs + 1):
        for kind, box in boxes.items():
            started = time.perf_counter()
            result = await box(("true",), cwd=root, timeout=10, emit=None)
            took = time.perf_counter() - started
            if result.exit_code != 0:
                raise SystemExit(f"{kind}: {result}")
            if number:  # the first warms the caches
                figures[kind].append(took)
        python.append(await interpreter())
    base = median(figures["none"])
    print(f"{'none':10} {base * 1000:6.1f} ms")
    for kind in (kind for kind in boxes if kind != "none"):
        added = median(figures[kind]) - base
        verdict = "ok" if added <= BUDGET[kind] else "OVER"
        print(f"{kind:10} {median(figures[kind]) * 1000:6.1f} ms   adds {added * 1000:5.1f}   "
              f"budget {BUDGET[kind] * 1000:.0f}   {verdict}")  # fmt: skip
    print(
        f"one Python {median(python) * 1000:6.1f} ms   (each command starts one to supervise it, Landlock a second one)"
    )


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as temp:
        asyncio.run(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 21, Path(temp).resolve()))


if __name__ == "__main__":
    main()
