"""What one task without a screen costs as a whole process: wall and CPU seconds, beside importing httpx.

    python bench/oneshot.py [RUNS]

One turn against a server on loopback that answers at once, in a home of its own; in turns with an interpreter that
imports httpx and json and does nothing. Prints the medians of RUNS (7 unless given), the budget, and the modules whose
import takes the most time in such a turn.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.cli.server import Text, serving  # noqa: E402

BUDGET = 0.35
"""CPU seconds of one turn."""

SHOWN = 12
"""Modules in the report of imports."""


def timed(command: list[str], env: dict[str, str], cwd: Path) -> tuple[float, float]:
    """Wall and CPU seconds (user and system, children included) of one process, which must end well."""
    started = time.perf_counter()
    pid = os.posix_spawn(
        command[0],
        command,
        {**env, "PWD": str(cwd)},
        file_actions=[(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)],
    )
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - started
    if status:
        shown = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}:\n{shown.stderr}")
    return wall, usage.ru_utime + usage.ru_stime


def imports(command: list[str], env: dict[str, str], cwd: Path) -> list[tuple[int, str]]:
    """(microseconds of its own, name) of every module that a command imports, the slowest first."""
    done = subprocess.run(
        [command[0], "-X", "importtime", *command[1:]], env=env, cwd=cwd, capture_output=True, text=True, check=True
    )
    rows = [line.removeprefix("import time:").split("|") for line in done.stderr.splitlines() if "import time:" in line]
    return sorted(((int(own), name.strip()) for own, _, name in rows if own.strip().isdecimal()), reverse=True)


def main() -> None:
    """Measure and print."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as temp, serving(Text("It is 4.")) as server:
        home = Path(temp)
        work = home / "work"
        work.mkdir()
        config = home / "config.toml"
        config.write_text(f'[profiles.local]\nendpoint = "{server.url}"\nmodel = "m"\n', encoding="utf-8")
        env = {"HOME": temp, "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
        commands = {
            "one turn": ["-m", "tui_agent", "--config", str(config), "--cwd", str(work), "-p", "what is 2 + 2?"],
            "import httpx, json": ["-c", "import httpx, json"],
        }
        figures: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for number in range(runs + 1):
            for name, words in commands.items():
                figure = timed([sys.executable, *words], env, work)
                if number:  # the first one writes the byte code
                    figures[name].append(figure)
        loaded = imports([sys.executable, *commands["one turn"]], env, work)
    for name, pairs in figures.items():
        wall, cpu = (median(column) for column in zip(*pairs, strict=True))
        print(f"{name:20} wall {wall:.3f} s   CPU {cpu:.3f} s")
    cpu = median(cpu for _, cpu in figures["one turn"])
    verdict = "kept" if cpu <= BUDGET else "EXCEEDED"
    print(f"{'budget':20} CPU {BUDGET:.3f} s   {verdict}   (medians of {runs})")
    own = sum(time for time, name in loaded if name.startswith("tui_agent"))
    total = sum(time for time, _ in loaded)
    print(f"\nimports: {len(loaded)} modules, {total / 1000:.0f} ms, of these {own / 1000:.0f} ms ours; the slowest:")
    for microseconds, name in loaded[:SHOWN]:
        print(f"  {microseconds / 1000:6.1f} ms  {name}")


if __name__ == "__main__":
    main()
