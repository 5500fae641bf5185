"""What a terminal answers when it is asked about itself."""

from __future__ import annotations

import os
import re
import select
import termios
import time
import tty

from tui_agent.doctor import Answers

_QUESTIONS = b"\x1b[?u\x1b[?2026$p\x1b[c"
"""Kitty's keys, synchronised drawing, and what every terminal answers, so that it comes last."""


def ask(terminal: str, seconds: float = 0.5) -> Answers | None:
    """Ask the terminal at a device; None when there is none. What was typed meanwhile is lost."""
    try:
        fd = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return None
    try:
        before = termios.tcgetattr(fd)
        tty.setraw(fd, termios.TCSAFLUSH)
        try:
            os.write(fd, _QUESTIONS)
            return read(_answer(fd, seconds))
        finally:
            termios.tcsetattr(fd, termios.TCSAFLUSH, before)
    except (OSError, termios.error):
        return None
    finally:
        os.close(fd)


def _answer(fd: int, seconds: float) -> bytes:
    data, until = b"", time.monotonic() + seconds
    while not re.search(rb"\x1b\[\?[\d;]*c", data):
        left = until - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            break
        data += os.read(fd, 4096)
    return data


def read(data: bytes) -> Answers:
    """What the bytes of the answers mean."""
    mode = re.search(rb"\x1b\[\?2026;(\d)\$y", data)
    return Answers(
        heard=re.search(rb"\x1b\[\?[\d;]*c", data) is not None,
        keys=re.search(rb"\x1b\[\?\d+u", data) is not None,
        synchronised=mode is not None and mode[1] in {b"1", b"2", b"3"},
    )
