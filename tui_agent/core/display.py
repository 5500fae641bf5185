"""The one sanitiser: what an outside string looks like on the screen.

Minimal stand-in with the agreed interface; the full module replaces it at merge.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

_NAMES = {"\x00": "NUL", "\x07": "BEL", "\x08": "BS", "\t": "TAB", "\n": "LF", "\r": "CR", "\x1b": "ESC", "\x7f": "DEL"}
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of shown text; `style` is "escape" where a character was replaced by its name."""

    text: str
    style: Literal["plain", "escape"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a string looks like."""

    spans: tuple[Span, ...]


class Sanitiser:
    """Incremental form: the spans of all `feed`s and `finish` together are those of the whole text."""

    def __init__(self, context: str = "text") -> None:
        self._context = context

    def feed(self, chunk: str) -> tuple[Span, ...]:
        """Sanitise the next piece of the text."""
        return tuple(_spans(chunk, self._context))

    def finish(self) -> tuple[Span, ...]:
        """Flush what was held back."""
        return ()


def _spans(text: str, context: str) -> Iterator[Span]:
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable() and context == "text":
        if text:
            yield Span(text.replace("\t", "    "), "plain")
        return

    def shown(char: str) -> tuple[str, Literal["plain", "escape"]]:
        if char == "\n" and context == "text":
            return char, "plain"
        if char == "\t" and context == "text":
            return "    ", "plain"
        if unicodedata.category(char) in _HIDDEN:
            return f"<{_NAMES.get(char) or f'U+{ord(char):04X}'}>", "escape"
        return char, "plain"

    for style, group in groupby(map(shown, text), key=lambda pair: pair[1]):
        yield Span("".join(part for part, _ in group), style)


def sanitise(text: str, context: str = "text") -> Shown:
    """Show an outside string."""
    return Shown(tuple(_spans(text, context)))


def plain(text: str, context: str = "text") -> str:
    """`sanitise` without styles."""
    return "".join(span.text for span in sanitise(text, context).spans)
