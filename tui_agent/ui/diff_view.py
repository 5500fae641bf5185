"""A file's diff on the screen: unified, from the bytes that will be written.

The first hunk is shown as soon as it is found. Every line passes the sanitiser; the sign
is always there, so that colour is never the only difference.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from operator import itemgetter

from tui_agent.core.change import notice
from tui_agent.core.diff import Hunk, Row, compare, is_binary, mixed_endings
from tui_agent.core.display import sanitise
from tui_agent.ui.wrap_view import BLOCK_LINES, Block, Line, Piece, WrapView, plain_widths, shown_pieces

LONG = 2_000
"""Longer lines, in bytes, are handled in pieces of so many characters: nothing is ever cut off."""
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_MOST_WORDS = 400
"""Words of both lines together that are compared; longer lines get no word marks."""
_ALIKE = 0.5
_SIGNS = {"context": " ", "remove": "-", "add": "+"}


class DiffView(WrapView):
    """The difference between two versions of a file; None means that there is no file."""

    def __init__(self, base: bytes | None, new: bytes | None, context: int = 3) -> None:
        """Compare `base` with `new`, with `context` unchanged lines around each change."""
        self.base, self.new, self.context = base, new, context
        self.binary = is_binary(base, new)
        self.added = 0
        """Lines added, of the hunks found so far."""
        self.removed = 0
        """Lines removed, of the hunks found so far."""
        self.hunks: list[Hunk] = []
        """The hunks found so far."""
        self._tell_endings = mixed_endings(base, new)
        self._places: list[int] = []
        self._at = 0
        super().__init__(highest=max(text.count(b"\n") + 1 for text in (base or b"", new or b"")))
        if base is not None and new is not None:
            self.warns = frozenset(notice(base, new).warns) - {"binary"}  # what rows do not show

    # -------------------------------------------------------------- lines

    def produce(self) -> Iterator[None]:
        """Hunks, with a line for what was left out between them."""
        below = 0
        for hunk in compare(self.base, self.new, self.context):
            if hunk is not None:
                self._skipped(hunk.old.start - (self.hunks[-1].old.stop if self.hunks else 0))
                below = hunk.below
                yield from self._add(hunk)
            yield
        if self.binary:
            sizes = " → ".join("no file" if text is None else f"{len(text):,} bytes" for text in (self.base, self.new))
            self._note(f"binary file, {sizes}")
        elif not any(map(len, self.hunks)):
            empty = self.base != self.new
            self._note("the file is empty" if empty else "no difference")
        self._skipped(below)

    def _note(self, text: str) -> None:
        self.add_block(Block(1, lambda _: Line(((text, "plain"),), "gap")))

    def _skipped(self, count: int) -> None:
        if count > 0:
            self._note(f"···  {count:,} unchanged")

    def _add(self, hunk: Hunk) -> Iterator[None]:
        """Append a hunk in blocks; a very long line gets a block of its own."""
        self.hunks.append(hunk)
        self.added += hunk.added
        self.removed += hunk.removed
        self._places.append(len(self._blocks))
        for start in range(0, len(hunk), BLOCK_LINES):
            stop = min(start + BLOCK_LINES, len(hunk))
            long = [start + n for n, line in enumerate(hunk.lines(start, stop)) if len(line) > LONG]
            for low, high in pairwise([start - 1, *long, stop]):
                if high > low + 1:
                    self._add_rows(hunk, low + 1, high)
                if high < stop:
                    self._add_long(hunk.row(high))
            yield

    def _add_rows(self, hunk: Hunk, start: int, stop: int) -> None:
        def widths() -> list[int] | None:
            lines = hunk.lines(start, stop)
            marked = self._tell_endings or (lines and not lines[-1].endswith(b"\n"))
            return None if marked else plain_widths(lines)

        def line(index: int) -> Line:
            row = hunk.row(start + index)
            return self._line(row, row.text, self._marks(row), other=hunk.counterpart(start + index))

        self.add_block(Block(stop - start, line, widths), hunk.changed(start, stop))

    def _add_long(self, row: Row) -> None:
        text = row.text
        starts = range(0, max(1, len(text)), LONG)

        def line(index: int) -> Line:
            last = index == len(starts) - 1
            part = text[starts[index] : starts[index] + LONG]
            return self._line(row, part, self._marks(row) if last else (), first=not index)

        self.add_block(Block(len(starts), line, whole=True), row.kind != "context")

    def _marks(self, row: Row) -> tuple[str, ...]:
        found = {
            "BOM": row.bom,
            "CRLF": self._tell_endings and row.ending == "\r\n",
            "no newline at end": not row.ending,
        }
        return tuple(name for name, there in found.items() if there)

    def _line(
        self, row: Row, text: str, marks: tuple[str, ...], *, first: bool = True, other: Row | None = None
    ) -> Line:
        shown = sanitise(text, "diff_line")
        return Line(
            (*shown_pieces(shown), *((f" {mark}", "mark") for mark in marks)),
            row.kind,
            _SIGNS[row.kind],
            row.old if first else None,
            row.new if first else None,
            counted=row.kind != "context",
            warns=shown.warns,
            full_view=shown.full_view,
            other=other,
        )

    # -------------------------------------------------------------- moving

    @property
    def hunk(self) -> int:
        """The number of the hunk that the person is at, from 1; 0 when there is none.

        That is the one with the cursor while it is visible, else the one at the top of the view.
        """
        top = self.scroll_offset.y
        tops = [self._tops[block] for block in self._places if block < len(self._tops)]
        if self._at and self._at <= len(tops) and top <= tops[self._at - 1] < top + self.size.height:
            return self._at
        return max(1, bisect_right(tops, top)) if tops else 0

    def jump(self, step: int) -> None:
        """Put the cursor on the next (1) or previous (-1) hunk."""
        if any(map(len, self.hunks)):
            self._at = max(1, min(len(self.hunks), self.hunk + step))
            self.move_cursor((self._places[self._at - 1], 0))

    # -------------------------------------------------------------- words

    def decorate(self, line: Line) -> Iterable[Piece]:
        """Mark the words that differ from the line on the other side."""
        if line.other is None:
            return line.pieces
        mine = "".join(text for text, style in line.pieces if style != "mark")
        return _mark(line.pieces, changed_words(mine, sanitise(line.other.text, "diff_line").plain))


def changed_words(mine: str, other: str) -> list[bool]:
    """For each character of `mine` whether its word is missing in `other`; all False when the two are not alike."""
    words, others = _WORD.findall(mine), _WORD.findall(other)
    nothing = [False] * len(mine)
    if len(words) + len(others) > _MOST_WORDS:
        return nothing
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return nothing
    new = [True] * len(words)
    for block in matcher.get_matching_blocks():
        new[block.a : block.a + block.size] = [False] * block.size
    return [flag for word, flag in zip(words, new, strict=True) for _ in word]


def _mark(pieces: Iterable[Piece], marked: list[bool]) -> Iterator[Piece]:
    """Cut plain pieces so that the marked characters get the style `word`."""
    at = 0
    for text, style in pieces:
        flags = marked[at : at + len(text)]
        at += len(text)
        if style != "plain" or not any(flags):
            yield text, style
            continue
        for flag, group in groupby(zip(text, flags, strict=True), key=itemgetter(1)):
            yield "".join(character for character, _ in group), "word" if flag else style
