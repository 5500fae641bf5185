"""What is drawn where only ASCII can be: one character of one cell for each sign that the screen uses by itself.

None of them is a quote, a backslash or `#`: what a command says could read as something else that way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

ASCII: Mapping[str, str] = {
    **dict.fromkeys("─━═╌╶╴▔▁", "-"),
    **dict.fromkeys("│┃║▌▎▏▕▐▊", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╰╯╔╗╚╝", "+"),
    **dict.fromkeys("▂▃▄▅▆▇", " "),
    **dict.fromkeys("›▸→↳", ">"),
    **dict.fromkeys("↑▲", "^"),
    **dict.fromkeys("↓▾▼", "v"),
    **dict.fromkeys("←‹↩↵", "<"),
    **dict.fromkeys("·•", "."),
    "…": "~",
    "±": "+",
    "×": "x",
    "█": "@",
    "▓": "%",
    "▒": "=",
    "░": ":",
    "–": "-",
    "—": "-",
}
_TABLE = str.maketrans(dict(ASCII))


def ascii_only(env: Mapping[str, str]) -> bool:
    """Whether this terminal is known to draw nothing else: by its locale, or because it is the Linux console."""
    locale = next((env[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(name)), "UTF-8")
    return env.get("TERM") == "linux" or not re.search(r"utf-?8", locale, re.IGNORECASE)


def in_ascii(text: str) -> str:
    """A text with each sign of ours in its place."""
    return text.translate(_TABLE)


class Ascii(LineFilter):
    """Draws the signs of the screen in ASCII, at the very edge: nothing else has to know of it."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same line, each sign in its place."""
        return [
            segment if segment.text.isascii() else Segment(in_ascii(segment.text), segment.style, None)
            for segment in segments
        ]
