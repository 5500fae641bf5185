"""What editing is without a screen: text that can be shown, visible characters, the kill ring, keys that are a paste."""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from itertools import takewhile

from tui_agent.core.characters import JOINER, SURE, changes, escape, is_skin, kind

_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[()][0-9A-Z]"  # character sets
)
_LINE_BREAK = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CAREFUL = re.compile(f"[^\t\n {SURE}]")
_MARKS = 8
"""Marks that one character may carry, as on the screen everywhere else."""

BURST_KEYS = 8
BURST_GAP = 0.02
"""This many keys, each this many seconds after the last, are a paste of a terminal without bracketed paste.

A held key repeats every 30 ms at most; much less than that, and a busy machine tears a paste apart.
"""


def clean(text: str, before: str = "") -> str:
    """Keep of a typed, pasted or loaded text what can be shown: what the person sees is what is sent.

    Line breaks of every kind become newlines, blanks of every kind the ASCII one. Sequences that command a terminal and
    whatever the sanitiser (`core.characters`) writes out because nothing is drawn for it are dropped: controls but tab
    and newline, direction marks, fillers, selectors, tags. What may be drawn or not, by the font, is written out. A
    joiner and the selector of coloured emoji stay behind a character that they change. `before` is what the text goes behind.
    """
    return _Cleaner(before).clean(_LINE_BREAK.sub("\n", _SEQUENCE.sub("", text)))


class _Cleaner:
    """Goes through the characters that need care. `last` is the one that was kept last, `marks` are those on it."""

    def __init__(self, before: str) -> None:
        self._last, self._end = before[-1:], 0
        self._marks = len(list(takewhile(lambda char: kind(char) == "combining", reversed(before[-_MARKS:]))))

    def clean(self, text: str) -> str:
        return _CAREFUL.sub(self._one, text)

    def _one(self, match: re.Match[str]) -> str:
        char, start = match[0], match.start()
        if start > self._end:
            self._last, self._marks = match.string[start - 1], 0
        self._end = match.end()
        kept = self._kept(char)
        if kept:
            self._last = kept[-1]
        return kept

    def _kept(self, char: str) -> str:
        sort = kind(char)
        if sort == "combining":
            self._marks += 1
            return char if self._marks <= _MARKS else ""
        if sort is None or changes(char, self._last):
            self._marks = 0
            return char
        if sort == "non-ascii-space":
            self._marks = 0
            return " "
        return escape(char) if unicodedata.category(char) in {"Cn", "Co"} else ""


def grapheme_start(line: str, column: int) -> int:
    """Return where the visible character that ends at `column` (at least 1) begins."""
    start = column - 1
    while start > 0 and not (line[start].isascii() and line[start - 1].isascii()):
        start -= 1
    while (end := grapheme_end(line, start)) < column:
        start = end
    return start


def grapheme_end(line: str, column: int) -> int:
    """Return where the visible character that begins at `column` (less than the length) ends."""
    end = column + 1
    if _is_flag_half(line[column]) and line[end : end + 1] and _is_flag_half(line[end]):
        end += 1
    while end < len(line) and (_extends(line[end]) or line[end - 1] == JOINER):
        end += 1
    return end


def _extends(character: str) -> bool:
    return not character.isascii() and (
        unicodedata.category(character).startswith("M") or character == JOINER or is_skin(character)
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


class KillRing:
    """What was cut, newest first, as in a shell: kills that follow one another are one text."""

    def __init__(self, size: int = 32) -> None:
        self._texts: deque[str] = deque(maxlen=size)

    def __len__(self) -> int:
        return len(self._texts)

    def kill(self, text: str, *, forward: bool = True, chained: bool = False) -> None:
        """Keep a text that was cut; `chained`: nothing happened since the last kill, so it grows.

        `forward`: the text stood behind the cursor.
        """
        if not text:
            return
        if chained and self._texts:
            last = self._texts.pop()
            text = last + text if forward else text + last
        self._texts.append(text)

    def yank(self, age: int) -> str:
        """Return the text that was killed `age` kills ago; 0 is the newest, and the ring goes round."""
        return self._texts[-1 - age % len(self._texts)]


class Burst:
    """Tells keys that come faster than anyone types: a paste in a terminal without bracketed paste."""

    def __init__(self) -> None:
        self._last = 0.0
        self._count = 0
        self.has_lines = False
        """Whether an Enter stood inside of this burst, with a key right behind it."""

    def feed(self, time: float, *, after_enter: bool) -> bool:
        """One key came at `time` in seconds, with an Enter before it that waits or without; True when it came rapidly."""
        rapid = time - self._last < BURST_GAP
        self._last = time
        self._count = self._count + 1 if rapid else 0
        self.has_lines = rapid and (self.has_lines or after_enter)
        return rapid

    @property
    def is_paste(self) -> bool:
        """Whether so many keys came that nobody typed them."""
        return self._count >= BURST_KEYS
