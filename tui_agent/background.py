"""Whether the terminal is light or dark, and whether it draws lines as wide as they are counted.

It is asked while the screen is being imported, so that nothing waits.

A terminal that answers late would type its answer into the composer. So none is asked that may be far away or known
not to understand, and what a person typed meanwhile is handed on.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

PROBE = b"\x1b7\r\xe2\x94\x80\x1b[6n\r\x1b[K\x1b8"
"""Draws the sign of a line, asks where the cursor is then, and takes the sign away."""
QUESTION = b"\x1b]11;?\x1b\\" + PROBE + b"\x1b[c"
"""The colour of the background, the width of a sign, then what every terminal answers, so that it comes last."""
SECONDS = 0.1
"""How long after the question an answer may come."""

_COLOUR = re.compile(
    rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})[^\x07\x1b]*(?:\x07|\x1b\\)"
)
_CURSOR = re.compile(rb"\x1b\[\d+;(\d+)R")
_LAST = re.compile(rb"\x1b\[\?[\d;]*c")
_NO_TEXT = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?|[\x00-\x09\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Answer:
    """`light`: what the terminal said, None when it did not; `typed`: what the person typed while it was asked.

    `wide`: signs that are counted as one cell take two here.
    """

    light: bool | None = None
    typed: str = ""
    wide: bool = False


def read(data: bytes) -> Answer:
    """What came back: the answers, and between them what was typed, of which keys without a letter are left out."""
    found, cursor = _COLOUR.search(data), _CURSOR.search(data)
    rest = _LAST.sub(b"", _CURSOR.sub(b"", _COLOUR.sub(b"", data))).decode("utf-8", "ignore").replace("\r", "\n")
    typed, wide = _NO_TEXT.sub("", rest), cursor is not None and int(cursor[1]) > 2
    if found is None:
        return Answer(None, typed, wide)
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return Answer(0.299 * red + 0.587 * green + 0.114 * blue > 0.5, typed, wide)


def from_variable(env: Mapping[str, str]) -> bool | None:
    """What COLORFGBG says, "15;0" for one: the number of the background's colour stands last."""
    number = env.get("COLORFGBG", "").rpartition(";")[2]
    return int(number) in {7, *range(9, 16)} if number.isdecimal() else None


def may_be_asked(env: Mapping[str, str]) -> bool:
    """Not over a network, not a console that would print the question, not where no colour is used."""
    far = env.get("SSH_CONNECTION") or env.get("SSH_TTY")
    return not far and not env.get("NO_COLOR") and env.get("TERM", "") not in {"", "dumb", "linux"}


@contextlib.contextmanager
def asking(env: Mapping[str, str]) -> Iterator[Callable[[], Answer]]:
    """Ask now; the function reads the answer, and at the end the terminal is as it was."""
    try:
        before = termios.tcgetattr(0) if may_be_asked(env) and sys.stdout.isatty() else None
    except termios.error:
        before = None
    if before is None:
        yield lambda: Answer(from_variable(env))
        return
    quiet = [*before]
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(0, termios.TCSANOW, quiet)
    try:
        os.write(1, QUESTION)
        until = time.monotonic() + SECONDS

        def answer() -> Answer:
            said = read(_data(until))
            return said if said.light is not None else replace(said, light=from_variable(env))

        yield answer
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)


def _data(until: float) -> bytes:
    """What is there, and what comes until then (monotonic, seconds) when the last answer is not there yet."""
    data = b""
    while not _LAST.search(data):
        if not select.select([0], [], [], max(0.0, until - time.monotonic()))[0]:
            break
        more = os.read(0, 4096)
        if not more:
            break
        data += more
    return data
