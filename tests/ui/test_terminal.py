"""The terminal is given back, whatever ends the program."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual import _ansi_sequences
from textual._xterm_parser import XTermParser

from tests.waiting import PATIENCE
from tui_agent.restore import RESTORE
from tui_agent.ui import terminal
from tui_agent.ui.terminal import patch_keys

ROOT = Path(__file__).parents[2]

PROGRAM = """
import asyncio, os, sys, time
from textual.app import App
from tui_agent.ui.terminal import guard, show_life

ending = sys.argv[1]

class Small(App):
    async def on_mount(self):
        self.loop = asyncio.get_running_loop()
        self.call_after_refresh(self.ready)

    def ready(self):
        os.write(2, b"ready")
        if ending == "crash":
            raise RuntimeError("broken")
        if ending == "exit":
            self.exit(return_code=7)
        if ending == "busy":
            while True:
                time.sleep(60)

app = Small()

def stop(number, alive):
    os.write(2, b"heard")
    if ending == "slow":
        app.loop.call_soon_threadsafe(show_life, alive)
        app.loop.call_soon_threadsafe(app.loop.call_later, 1.0, app.exit)
    elif ending != "deaf":
        app.loop.call_soon_threadsafe(lambda: app.exit(return_code=128 + number))

with guard(stop, seconds=0.3 if ending in ("deaf", "busy", "closed", "slow") else 60.0):
    if ending == "escape":
        import termios, tty
        tty.setraw(0)
        sys.stdout.write("\\x1b[?1049h\\x1b[?1003h")
        sys.stdout.flush()
        raise RuntimeError("no app to clean up")
    app.run()
    if ending == "slow":
        os.write(2, b"ended by itself")
sys.exit(app.return_code)
"""


class Session:
    """The small program in a pseudo terminal of its own."""

    def __init__(self, ending: str) -> None:
        self.master, slave = pty.openpty()
        self.slave = slave
        self.before = termios.tcgetattr(slave)
        self.output = b""
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, ending],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - closing the master sends SIGHUP
        )

    def read_until(self, wanted: bytes | None, seconds: float = PATIENCE) -> None:
        """Read until `wanted` was seen, or the program has ended when it is None."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select((self.master,), (), (), 0.05)[0]:
                self.output += os.read(self.master, 65536)
            elif wanted is None and self.process.poll() is not None:
                return
            if wanted is not None and wanted in self.output:
                return
        raise AssertionError(f"not seen: {wanted!r} in {self.output[-500:]!r}")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def start():
    sessions = []

    def begin(ending: str) -> Session:
        sessions.append(Session(ending))
        return sessions[-1]

    yield begin
    for session in sessions:
        session.close()


def left_on(output: bytes) -> set[str]:
    """The private modes whose last word in `output` is not the resting one."""
    last = dict(re.findall(r"\x1b\[\?(\d+)([hl])", output.decode("utf-8", "replace")))
    rest_is_on = {"25", "7"}
    return {mode for mode, state in last.items() if (state == "h") != (mode in rest_is_on)}


def assert_given_back(session: Session) -> None:
    assert b"\x1b[?1049h" in session.output
    assert left_on(session.output) == set()
    assert termios.tcgetattr(session.slave) == session.before


@pytest.mark.pty
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT], ids=lambda n: n.name)
def test_a_signal_ends_the_app_cleanly(start, number):
    session = start("wait")
    session.read_until(b"ready")
    session.process.send_signal(number)
    session.read_until(None)
    assert session.process.returncode == 128 + number
    assert_given_back(session)
    assert RESTORE not in session.output  # the app cleaned up by itself; twice would pop the shell's keyboard mode


@pytest.mark.pty
@pytest.mark.parametrize("ending", ["deaf", "busy"])
def test_a_stuck_app_is_ended_after_the_deadline(start, ending):
    session = start(ending)
    session.read_until(b"ready")
    session.process.send_signal(signal.SIGTERM)
    session.read_until(None)
    assert session.process.returncode == 143
    assert session.output.endswith(RESTORE)
    assert_given_back(session)


@pytest.mark.pty
def test_an_app_that_shows_life_may_take_longer_to_end(start):
    session = start("slow")
    session.read_until(b"ready")
    session.process.send_signal(signal.SIGTERM)
    session.read_until(None)
    assert session.process.returncode == 143
    assert session.output.endswith(b"ended by itself")
    assert_given_back(session)


@pytest.mark.parametrize(
    ("alive", "end"), [(False, terminal.STOP_SECONDS), (True, terminal.ENDING_SECONDS)], ids=["stuck", "alive"]
)
def test_nobody_takes_for_ever_to_end(monkeypatch, alive, end):
    now = 0.0

    def sleep(seconds):
        nonlocal now
        assert seconds > 0
        now += min(seconds, terminal.BEAT_SECONDS)
        if alive:
            deadline.beat()

    monkeypatch.setattr(terminal, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    deadline = terminal._Deadline(terminal._Terminal(), terminal.STOP_SECONDS)
    deadline._wait()
    deadline.disarm()
    assert now == pytest.approx(end)


@pytest.mark.pty
def test_a_second_signal_does_not_change_the_code(start):
    session = start("deaf")
    session.read_until(b"ready")
    session.process.send_signal(signal.SIGHUP)
    session.read_until(b"heard")
    session.process.send_signal(signal.SIGTERM)
    session.read_until(None)
    assert session.process.returncode == 129
    assert session.output.count(b"heard") == 1


@pytest.mark.pty
def test_a_closed_terminal_ends_the_app():
    session = Session("closed")  # what is stuck in writing to it is ended by the guard
    session.read_until(b"ready")
    os.close(session.master)
    try:
        assert session.process.wait(PATIENCE) == 129
    finally:
        session.process.kill()
        session.process.wait()
        os.close(session.slave)


@pytest.mark.pty
@pytest.mark.parametrize(("ending", "code"), [("exit", 7), ("crash", 1), ("escape", 1)])
def test_other_endings_give_the_terminal_back_too(start, ending, code):
    session = start(ending)
    session.read_until(None)
    assert session.process.returncode == code
    assert_given_back(session)


def test_restore_switches_off_each_mode_that_textual_switches_on():
    on = b"".join(b"\x1b[?%dh" % mode for mode in (1000, 1002, 1003, 1006, 1015, 1016, 1004, 2004, 2048, 1049, 2026))
    assert left_on(on + b"\x1b[?25l\x1b[?7l" + RESTORE) == set()
    assert RESTORE.index(b"\x1b[<u") < RESTORE.index(b"\x1b[?1049l")
    assert RESTORE.endswith(b"\x1b[0m")


def keys(data: str) -> list[str]:
    parser = XTermParser()
    events = [*parser.feed(data), *parser.feed("")]  # the end of input settles a sequence that could go on
    return [event.key for event in events]


def test_alt_enter_is_known_after_the_patch(monkeypatch):
    monkeypatch.delitem(_ansi_sequences.ANSI_SEQUENCES_KEYS, "\x1b\r", raising=False)
    assert "alt+enter" not in keys("\x1b\r")  # when Textual mends it, `patch_keys` can go
    patch_keys()
    assert keys("\x1b\r") == ["alt+enter"]
    assert keys("\r") == ["enter"]
    assert keys("\n") == ["ctrl+j"]
    assert keys("\x1b[13;2u") == ["shift+enter"]
    assert keys("\x1b[27;2;13~") == ["shift+\r"]


def test_a_textual_that_knows_alt_enter_is_left_alone(monkeypatch):
    known = {"\x1b\r": ("theirs",)}
    monkeypatch.setattr(_ansi_sequences, "ANSI_SEQUENCES_KEYS", known)
    assert patch_keys() is False
    assert known == {"\x1b\r": ("theirs",)}
    monkeypatch.setattr(_ansi_sequences, "ANSI_SEQUENCES_KEYS", empty := {})
    assert patch_keys() is True
    assert [key.value for key in empty["\x1b\r"]] == ["alt+enter"]
