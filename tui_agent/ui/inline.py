"""Inline Markdown of one line: code, emphasis, links, escapes. Linear in the length of the line.

Link targets are shown, never made clickable; anything that is not closed on its line stays as it was written.
"""

from __future__ import annotations

import re

from tui_agent.ui.lines import CLOSE, OPEN, Piece, unmarked

_SPECIAL = re.compile(rf"[\\`*_~\[!<{OPEN}]")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_MARKS = {"***": "strong-em", "**": "strong", "*": "em", "___": "strong-em", "__": "strong", "_": "em", "~~": "strike"}
_INSIDE = {("strong", "em"): "strong-em", ("em", "strong"): "strong-em"}
_TARGET = re.compile(r"\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)")
_DEPTH = 8
"""Emphasis inside emphasis deeper than this stays as it was written."""


def _word(char: str) -> bool:
    """Scripts without blanks between words are not meant."""
    return char.isascii() and char.isalnum()


def inline(text: str, style: str = "", depth: int = 0) -> list[Piece]:
    """The pieces of a marked, sanitised line of Markdown; `style` is that of its ordinary text."""
    if depth > _DEPTH or _SPECIAL.search(text) is None:
        return unmarked(text, style)
    return _Scanner(text, style, depth).pieces()


class _Scanner:
    """One pass over a line. A delimiter that was once not found is not searched again: that keeps it linear."""

    def __init__(self, text: str, style: str, depth: int) -> None:
        self.text = text
        self.style = style
        self.depth = depth
        self.out: list[Piece] = []
        self.absent: set[str] = set()

    def pieces(self) -> list[Piece]:
        """Scan to the end."""
        text, position, literal = self.text, 0, 0
        while (match := _SPECIAL.search(text, position)) is not None:
            start = match.start()
            found = self.special(start)
            if found is None:
                position = self.run(start)
                continue
            end, inner = found
            self.out += unmarked(text[literal:start], self.style)
            self.out += inner
            position = literal = end
        self.out += unmarked(text[literal:], self.style)
        return self.out

    def run(self, start: int) -> int:
        """The end of the run of equal characters at `start`: what is not special at its start stays literal."""
        end = start + 1
        while end < len(self.text) and self.text[end] == self.text[start] and self.text[start] in "`*_~":
            end += 1
        return end

    def special(self, start: int) -> tuple[int, list[Piece]] | None:
        """The construct that begins at `start`: where it ends and what it looks like."""
        match self.text[start]:
            case "\\":
                return self.backslash(start)
            case "`":
                return self.code(start)
            case "[":
                return self.link(start, start)
            case "!":
                return self.link(start, start + 1) if self.text.startswith("![", start) else None
            case "<":
                return self.autolink(start)
            case c if c == OPEN:
                end = self.text.find(CLOSE, start) + 1
                return (end, unmarked(self.text[start:end], self.style)) if end else None
            case _:
                return self.emphasis(start)

    def backslash(self, start: int) -> tuple[int, list[Piece]] | None:
        following = self.text[start + 1 : start + 2]
        return (start + 2, [(following, self.style)]) if following in _PUNCTUATION else None

    def code(self, start: int) -> tuple[int, list[Piece]] | None:
        begin = self.run(start)
        fence = self.text[start:begin]
        at = begin
        while fence not in self.absent:
            at = self.text.find(fence, at)
            if at < 0:
                self.absent.add(fence)
                break
            end = self.run(at)
            if end - at == len(fence):
                inner = self.text[begin:at]
                bare = inner[1:-1] if inner[:1] == inner[-1:] == " " and inner.strip() else inner
                return end, unmarked(bare, "code")
            at = end
        return None

    def link(self, start: int, bracket: int) -> tuple[int, list[Piece]] | None:
        close = self.text.find("]", bracket)
        target = _TARGET.match(self.text, close) if close > 0 else None
        if target is None or "[" in self.text[bracket + 1 : close]:
            return None
        label, url = self.text[bracket + 1 : close], target[1]
        if not label or label == url:
            return target.end(), unmarked(url, self.style)
        return target.end(), [*inline(label, self.style, self.depth + 1), *unmarked(f" ({url})", "dim")]

    def autolink(self, start: int) -> tuple[int, list[Piece]] | None:
        end = self.text.find(">", start)
        url = self.text[start + 1 : end]
        known = end > 0 and url.startswith(("http://", "https://", "mailto:")) and " " not in url
        return (end + 1, unmarked(url, self.style)) if known else None

    def emphasis(self, start: int) -> tuple[int, list[Piece]] | None:
        begin = self.run(start)
        mark = self.text[start:begin]
        style = _MARKS.get(mark)
        before, after = self.text[start - 1 : start], self.text[begin : begin + 1]
        # One mark in the middle of a word is none: snake_case, 2*3*4 and globs stay as they are.
        whole = len(mark) == 1 or mark[0] == "_"
        if style is None or mark in self.absent or not after.strip() or (whole and _word(before)):
            return None
        at = begin
        while (at := self.text.find(mark, at)) >= 0:
            end = self.run(at)
            following = self.text[end : end + 1]
            closes = end - at == len(mark) and at > begin and self.text[at - 1].strip()
            if closes and not (whole and _word(following)):
                both = _INSIDE.get((self.style, style), style)
                return end, inline(self.text[begin:at], both, self.depth + 1)
            at = end
        self.absent.add(mark)
        return None
