"""What a page in HTML says, in words."""

from __future__ import annotations

import contextlib
import re
from html.parser import HTMLParser

PIECE = 200_000
"""Characters of a page that are looked at before it is asked whether they are enough."""


def words_of(text: str, most: int) -> str:
    """The words of a page in HTML, as far as `most` characters of them: two megabytes of it take seconds."""
    reader = _Reader()
    with contextlib.suppress(AssertionError):  # html.parser gives up on some declarations; what it read counts
        for start in range(0, len(text), PIECE):
            reader.feed(text[start : start + PIECE])
            if len(words := reader.text()) > most:
                return words
    return reader.text()


class _Reader(HTMLParser):
    """The words of a page: no scripts, no styles, a line for each block."""

    _SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "head"})
    _BLOCKS = frozenset(
        [
            "p",
            "div",
            "section",
            "article",
            "li",
            "tr",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "pre",
            "blockquote",
            "br",
            "table",
            "ul",
            "ol",
            "dt",
            "dd",
        ]
    )

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._skipping: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._SKIPPED:
            self._skipping.append(tag)
        elif tag in self._BLOCKS or tag == "body":
            if tag == "body":
                self._skipping.clear()
            self._parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._skipping:
            del self._skipping[self._skipping.index(tag) :]
        elif tag in self._BLOCKS:
            self._parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self._parts.append(data)

    def text(self) -> str:
        lines = (" ".join(line.split()) for line in "".join(self._parts).splitlines())
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
