"""A terminal for one program: it draws into a grid of cells, and the test presses keys and reads."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyte

CTRL_C = b"\x03"


class Terminal:
    """The person's side of a pseudo terminal of 100 by 30 cells."""

    def __init__(self, fd: int, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._fd = fd
        self._screen = pyte.Screen(100, 30)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        """What is on the screen now."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def press(self, keys: bytes) -> None:
        """Type."""
        os.write(self._fd, keys)

    def wait_for(self, text: str, seconds: float = 60) -> None:
        """Draw until `text` is on the screen."""
        until = time.monotonic() + seconds
        while text not in self.text:
            assert time.monotonic() < until, f"never on the screen: {text!r}\n{self.text}"
            assert self._draw(), f"the program ended without {text!r} on the screen:\n{self.text}"

    def wait_for_end(self, seconds: float = 60) -> int:
        """Draw until the program ends; returns its exit code."""
        until = time.monotonic() + seconds
        while self._draw():
            assert time.monotonic() < until, f"the program did not end:\n{self.text}"
        return self.process.wait(seconds)

    def _draw(self) -> bool:
        """Take in what was written; False at the end."""
        if not select.select([self._fd], [], [], 0.1)[0]:
            return True
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # Linux: the other side is closed
            return False
        self._stream.feed(data)
        return bool(data)


@contextmanager
def terminal(argv: list[str], cwd: Path, env: Mapping[str, str]) -> Iterator[Terminal]:
    """Start a program in a terminal of its own; it is gone afterwards."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (30, 100))
    with subprocess.Popen(
        argv,
        cwd=cwd,
        env={**env, "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        try:
            yield Terminal(ours, process)
        finally:
            process.kill()
            os.close(ours)
