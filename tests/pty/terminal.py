"""The real program in a pseudo terminal, driven like a person would: keys in, a screen and raw bytes out.

The child is the leader of a session of its own whose controlling terminal is the pseudo terminal, so a closed
terminal hangs it up as a real one does. `screen` is what a terminal would show, `raw` every byte that was written.

A busy machine may let the program wait for longer than any pause of a test. So a test waits for what it is about
(`wait_for`, `until`), and where there is nothing to wait for, until the program has read every key and sleeps (`rest`).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyte

from tests.waiting import PATIENCE
from tui_agent.paths import Paths, user_paths
from tui_agent.restore import RESTORE
from tui_agent.trust import TrustStore

ROOT = Path(__file__).parents[2]

ENTER, ESC, TAB = b"\r", b"\x1b", b"\t"
CTRL_C, CTRL_D, CTRL_J, CTRL_P, CTRL_Q, CTRL_X, CTRL_Y, CTRL_Z = (bytes([n]) for n in (3, 4, 10, 16, 17, 24, 25, 26))
F2 = b"\x1bOQ"
F8 = b"\x1b[19~"
PAGE_DOWN = b"\x1b[6~"

# Takes the terminal as its own, then becomes the program: no code runs between fork and exec of the test process.
_LAUNCH = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.executable, sys.argv[1:])"
# What pyte cannot read and would show as text.
_UNREAD = re.compile(rb"\x1b\[[<>=][0-9;]*[A-Za-z]|\x1b\[\?[0-9;]*\$[A-Za-z]")
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-9;?<>=$]*)?\Z")
_MODE = re.compile(rb"\x1b\[\?(\d+)([hl])")


@dataclass(frozen=True)
class Home:
    """One person's folders and a project, all below one temporary folder."""

    base: Path

    @property
    def project(self) -> Path:
        return self.base / "project"

    @property
    def paths(self) -> Paths:
        return user_paths(self.environment())

    def environment(self, **more: str) -> dict[str, str]:
        home = str(self.base / "home")
        return {
            "HOME": home,
            "XDG_CONFIG_HOME": f"{home}/.config",
            "XDG_DATA_HOME": f"{home}/.local/share",
            "XDG_STATE_HOME": f"{home}/.local/state",
            "TMPDIR": str(self.base / "tmp"),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "PYTHONPATH": str(ROOT),
            **more,
        }

    def make(self) -> Home:
        for name in ("home", "project", "tmp"):
            (self.base / name).mkdir(parents=True)
        return self

    def configure(self, text: str) -> None:
        """Write the person's own config.toml."""
        file = self.paths.config_file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def script(self, *replies: Mapping[str, Any], more: str = "") -> None:
        """Let a recorded model answer; the folder's question was answered with "restricted"."""
        file = self.base / "script.json"
        file.write_text(json.dumps({"replies": list(replies), "after": {"text": "Nothing is left to say."}}))
        self.configure(f'{more}\n[profiles.script]\ntype = "scripted"\nendpoint = "{file}"\n')
        self.answer_trust()

    def serve(self, url: str) -> None:
        """Let an OpenAI-compatible server on loopback answer."""
        self.configure(f'[profiles.peer]\ntype = "openai"\nendpoint = "{url}"\nmodel = "peer"\n')
        self.answer_trust()

    def answer_trust(self, *, trusted: bool = False) -> None:
        TrustStore(self.paths.data / "trust.toml").answer(self.project, trusted=trusted)

    def logs(self) -> list[list[dict[str, Any]]]:
        """The events of every session, the oldest session first: two names of one second sort by chance."""
        logs = [
            [json.loads(line) for line in file.read_text("utf-8").splitlines()] for file in self.base.rglob("log.jsonl")
        ]
        return sorted(logs, key=lambda log: float(log[0]["t"]))

    def log(self) -> list[dict[str, Any]]:
        """The events of the only session."""
        (only,) = self.logs()
        return only

    def children(self) -> list[int]:
        """Every process that was started by this home's programs and is alive."""
        mark = f"TMPDIR={self.base / 'tmp'}\0".encode()
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with contextlib.suppress(OSError):
                    if mark in (folder / "environ").read_bytes():
                        found.append(int(folder.name))
        return found


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def say(text: str, *calls: Mapping[str, Any]) -> dict[str, Any]:
    return {"text": text, "calls": list(calls)}


class Terminal:
    """A running program and its terminal; a context manager that leaves neither behind."""

    def __init__(
        self,
        home: Home,
        words: Sequence[str] = (),
        *,
        size: tuple[int, int] = (100, 30),
        env: Mapping[str, str] | None = None,
        code: str | None = None,
        echo: bool = True,
    ) -> None:
        """Start `python -m tui_agent WORDS…`, or `python -c CODE WORDS…` with `code`.

        Without `echo` the terminal itself never shows what is typed, so that all that comes is the program's.
        """
        self.raw = b""
        self._sent_at = 0
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self._rest = b""
        self._text: str | None = None
        self.master, self.slave = pty.openpty()
        self._set_size(*size)
        if not echo:
            modes = termios.tcgetattr(self.slave)
            modes[3] &= ~termios.ECHO
            termios.tcsetattr(self.slave, termios.TCSANOW, modes)
        self.before = termios.tcgetattr(self.slave)
        program = ["-m", "tui_agent"] if code is None else ["-c", code]
        self.process = subprocess.Popen(
            [sys.executable, "-ISc", _LAUNCH, sys.executable, *program, *words],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            cwd=home.project,
            env={**home.environment(), **(env or {})},
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for end in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(end)

    # ------------------------------------------------------------------ what is shown

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = "\n".join(line.rstrip() for line in self.screen.display)
        return self._text

    def pump(self, seconds: float = 0.0) -> None:
        """Take what the program writes for so long."""
        end = time.monotonic() + seconds
        while self.take(max(0.0, end - time.monotonic())) is not None:
            pass

    def take(self, seconds: float) -> float | None:
        """Take one piece of what the program writes; when it was there, None when nothing came for so long."""
        if not select.select((self.master,), (), (), seconds)[0]:
            return None
        at = time.perf_counter()
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return None
        self.raw += data
        self._draw(data)
        return at

    def _draw(self, data: bytes) -> None:
        self._text = None
        data = self._rest + data
        cut = _UNFINISHED.search(data)
        at = cut.start() if cut else len(data)
        self._rest = data[at:]
        self._stream.feed(_UNREAD.sub(b"", data[:at]))

    def until(self, true: Any, what: str, seconds: float = PATIENCE) -> None:
        """Wait until `true()`."""
        end = time.monotonic() + seconds
        self.pump()
        while not true():
            if time.monotonic() > end:
                raise AssertionError(f"{what}, after {seconds:g} s; the screen:\n{self.text}\nraw: {self.raw[-300:]!r}")
            self.pump(0.02)

    def wait_for(self, *texts: str, seconds: float = PATIENCE) -> None:
        """Wait until all texts are on the screen."""
        self.until(lambda: all(text in self.text for text in texts), f"never shown: {texts}", seconds)

    def wait_drawn(self, text: str) -> None:
        """Wait until a text is there, or was drawn since the last key and is gone again: a busy test looks late."""
        self.until(lambda: text in self.text or text.encode() in self.raw[self._sent_at :], f"never drawn: {text}")

    def wait_gone(self, text: str) -> None:
        self.until(lambda: text not in self.text, f"still shown: {text}")

    def ready(self) -> Terminal:
        """Wait until a message can be sent."""
        self.wait_for("Enter send")
        return self

    def rest(self, seconds: float = 0.0) -> Terminal:
        """Wait until the program has done all that it has to do for the next `seconds`: it has read every key and sleeps."""
        self.until(self._sleeps, "never at rest")
        if seconds:
            self.pump(seconds)
            self.until(self._sleeps, "never at rest")
        return self

    def _sleeps(self) -> bool:
        """Whether no key is unread, nothing unseen was written, and every thread of the program waits for something."""
        for _ in range(2):  # one that was looked at first may have been woken by one that was looked at last
            if self.take(0.0) is not None or self._unread():
                return False
            for stat in Path(f"/proc/{self.process.pid}/task").glob("*/stat"):
                with contextlib.suppress(OSError):  # it has ended meanwhile
                    if stat.read_text().rpartition(")")[2].split()[0] in "RD":
                        return False
        return True

    def _unread(self) -> int:
        """How many bytes of what was typed the program has not read."""
        return int.from_bytes(fcntl.ioctl(self.slave, termios.FIONREAD, bytes(4)), sys.byteorder)

    def armed(self) -> Terminal:
        """Wait until a dialog takes answers; what was just sent may have made it deaf again."""
        self.listens().until(lambda: "F1 all keys" in self.text and "wait…" not in self.text, "never armed")
        return self

    def listens(self) -> Terminal:
        """Wait until any question takes keys; what was just sent may have made it deaf again."""
        self.rest(0.05).until(lambda: "wait…" not in self.text, "still deaf")
        return self

    # ------------------------------------------------------------------ what the person does

    def send(self, data: bytes | str) -> None:
        """Press keys."""
        self._sent_at = len(self.raw)
        os.write(self.master, data.encode() if isinstance(data, str) else data)

    def keys(self, data: bytes | str, gap: float = 0.02) -> None:
        """Press keys one by one, slower than a paste."""
        for key in data.encode() if isinstance(data, str) else data:
            self.send(bytes([key]))
            self.rest(gap)

    def paste(self, text: str) -> None:
        self.send(b"\x1b[200~" + text.encode() + b"\x1b[201~")

    def task(self, text: str = "go") -> None:
        """Send a message."""
        self.send(text)
        self.wait_for(text)
        self.send(ENTER)

    def resize(self, columns: int, rows: int) -> None:
        self._set_size(columns, rows)
        self.screen.resize(rows, columns)
        self._text = None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGWINCH)

    def clear(self) -> None:
        """Forget what was drawn, as if another program had cleared the screen."""
        self.screen.reset()
        self._text = None

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def hang_up(self) -> None:
        """Close the terminal's window."""
        os.close(self.master)

    # ------------------------------------------------------------------ how it ended

    def ended(self, seconds: float = PATIENCE) -> int:
        """Wait for the end; the exit code, negative for a signal that killed it."""
        self.until(lambda: self.process.poll() is not None, "still running", seconds)
        self.pump()
        assert self.process.returncode is not None
        return self.process.returncode

    def left_on(self) -> set[str]:
        """The terminal modes that the program switched and did not switch back."""
        last = {mode.decode(): state for mode, state in _MODE.findall(self.raw)}
        resting = {"25": b"h", "7": b"h"}
        left = {mode for mode, state in last.items() if state != resting.get(mode, b"l")}
        if self.raw.count(b"\x1b[>25u") > self.raw.count(b"\x1b[<u"):
            left.add("kitty keyboard")
        return left

    def assert_given_back(self) -> None:
        """The terminal is as it was before the program."""
        assert b"\x1b[?1049h" in self.raw
        assert RESTORE not in self.raw, "it did not end by itself and had to be ended"
        assert self.left_on() == set()
        assert termios.tcgetattr(self.slave) == self.before


def kinds(log: Iterable[Mapping[str, Any]]) -> list[str]:
    return [event["type"] for event in log]
