"""How the screen bears the worst commands: key to echo, and memory, while each of them runs.

    python bench/flood.py [KEYS]

The real program in a pseudo terminal, a new one for each command. While the command runs, KEYS letters (40 unless given)
are pressed one after the other, each one that occurs nowhere else, and the time until it comes back from the terminal is
taken; memory is what the program's own process holds. Beside them the floor: the same keys while nothing runs.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.pty.terminal import CTRL_C, ENTER, Home, Terminal  # noqa: E402

BUDGET_SECONDS = 0.1
BUDGET_BYTES = 50_000_000
LETTERS = "".join(map(chr, range(0x431, 0x44F))) + "".join(map(chr, range(0x3B1, 0x3C9)))

BOMB = """
import os, resource, time
if os.getuid() == 0:
    os.setresuid(61234, 61234, 61234)  # limits do not hold root
resource.setrlimit(resource.RLIMIT_NPROC, (64, 64))
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.001)
"""
COMMANDS = {
    "nothing (floor)": "",
    "runaway output": "yes",
    "screen codes": r"yes $(printf '\033[2J\033]0;x\007')",
    "a gigabyte line": r"head -c 1000000000 /dev/zero | tr '\0' x; sleep 60",
    "a million lines": "seq 1000000; seq 1000000; sleep 60",
    "fork bomb": "exec python3 bomb.py",
    "escapees": "for i in $(seq 150); do setsid sleep 600 & (nohup sleep 600 & ) ; done; sleep 60",
    "terminal grab": r"while sleep 0.1; do stty raw </dev/tty; printf '\033[?1049l' >/dev/tty; read x; done",
}


@dataclass(frozen=True)
class Figures:
    """Seconds from key to echo, bytes by which the program grew, processes that were left."""

    echoes: list[float]
    grown: int
    left: int


def memory(pid: int) -> int:
    """Bytes that a process holds."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024  # type: ignore[index]


@contextmanager
def program() -> Iterator[tuple[Home, Terminal]]:
    """The product in a folder of its own, ready for a message."""
    with tempfile.TemporaryDirectory() as base:
        home = Home(Path(base).resolve()).make()
        home.base.chmod(0o755)  # the bomb runs as somebody else
        (home.project / "bomb.py").write_text(BOMB, encoding="utf-8")
        home.script()
        with Terminal(home) as terminal:
            terminal.ready()
            yield home, terminal


def echo(terminal: Terminal, letter: str) -> float:
    """Press a letter that was never shown; seconds until it is."""
    start = time.perf_counter()
    terminal.send(letter)
    terminal.until(lambda: letter.encode() in terminal.raw[-1_000_000:], f"{letter} was not echoed", 20.0)
    return time.perf_counter() - start


def measure(command: str, keys: int) -> Figures:
    """Run one command and press keys meanwhile."""
    with program() as (home, terminal):
        terminal.pump(0.5)
        before = memory(terminal.process.pid)
        if command:
            terminal.send(f"!{command}")
            terminal.pump(0.3)
            terminal.send(ENTER)
            terminal.wait_for("Ctrl+C stop")
            terminal.pump(1.0)
        most, echoes = before, []
        for letter in LETTERS[:keys]:
            terminal.raw = b""
            echoes.append(echo(terminal, letter))
            terminal.pump(0.05)
            most = max(most, memory(terminal.process.pid))
        if command:
            terminal.send(CTRL_C)
            terminal.wait_for("Enter send", seconds=20.0)
            most = max(most, memory(terminal.process.pid))
        left = [pid for pid in home.children() if pid != terminal.process.pid]
        return Figures(echoes, most - before, len(left))


def main() -> None:
    """Measure each command and print."""
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    print(f"{'':18}{'p50':>9}{'slowest':>10}{'grown':>10}   left   budget {BUDGET_SECONDS * 1000:.0f} ms, "
          f"{BUDGET_BYTES // 1_000_000} MB, none left")  # fmt: skip
    for name, command in COMMANDS.items():
        found = measure(command, keys)
        slow = max(found.echoes)
        verdict = "ok" if slow <= BUDGET_SECONDS and found.grown <= BUDGET_BYTES and not found.left else "OVER"
        print(f"{name:18}{median(found.echoes) * 1000:6.1f} ms{slow * 1000:7.1f} ms{found.grown / 1e6:7.1f} MB"
              f"{found.left:7}   {verdict if command else ''}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
