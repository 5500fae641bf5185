"""Hunks as blocks of lines for a view, in one column or two. Pure.

Every line passes the sanitiser; the sign is always there, so that colour is never the only difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias

from tui_agent.core.diff import Hunk, Row
from tui_agent.core.display import sanitise
from tui_agent.ui.beside import Pairs
from tui_agent.ui.diff_words import marked_words
from tui_agent.ui.wrap_lines import BLOCK_LINES, Block, Line, Piece, plain_widths, shown_pieces

LONG = 2_000
"""Longer lines, in bytes, are handled in pieces of so many characters: nothing is ever cut off."""
_AROUND = 200
"""Characters shown before and behind what changed in such a line."""
_SIGNS = {"context": " ", "remove": "-", "add": "+"}

Counted: TypeAlias = tuple[Block, int]
"""A block, and how many changed lines it shows."""


@dataclass(frozen=True, slots=True)
class HunkLines:
    """Makes the blocks. `left_out` are the numbers of the hunks that the person does not take, at any time.

    `noted` are the lines with a note, at any time: their numbers, and whether they stand in the old text only. `tell_endings`: the ending of a line says something, because the file has both kinds.
    """

    left_out: Callable[[], frozenset[int]]
    noted: Callable[[], frozenset[tuple[int, bool]]]
    tell_endings: bool

    def blocks(self, hunk: Hunk, *, beside: bool) -> Iterator[Counted]:
        """The blocks of a hunk; a very long line gets a block of its own, and no second column."""
        if beside and all(len(line) <= LONG for line in hunk.lines(0, len(hunk))):
            yield from self._pairs(Pairs(hunk))
            return
        for start in range(0, len(hunk), BLOCK_LINES):
            stop = min(start + BLOCK_LINES, len(hunk))
            long = [start + n for n, line in enumerate(hunk.lines(start, stop)) if len(line) > LONG]
            for low, high in pairwise([start - 1, *long, stop]):
                if high > low + 1:
                    yield self._rows(hunk, low + 1, high)
                if high < stop:
                    yield self._long(hunk, hunk.row(high), hunk.counterpart(high))

    def _rows(self, hunk: Hunk, start: int, stop: int) -> Counted:
        def widths() -> list[int] | None:
            lines = hunk.lines(start, stop)
            marked = self.tell_endings or (lines and not lines[-1].endswith(b"\n"))
            return None if marked else plain_widths(lines)

        def line(index: int) -> Line:
            row = hunk.row(start + index)
            out = row.kind != "context" and hunk.number in self.left_out()
            return self._line(row, row.text, self._marks(row), other=hunk.counterpart(start + index), out=out)

        return Block(stop - start, line, widths), hunk.changed(start, stop)

    def _pairs(self, pairs: Pairs) -> Iterator[Counted]:
        """A hunk side by side."""
        for start in range(0, len(pairs), BLOCK_LINES):
            stop = min(start + BLOCK_LINES, len(pairs))

            def widths(start: int = start, stop: int = stop) -> list[int] | None:
                return None if self.tell_endings else pairs.widths(start, stop)

            def line(index: int, start: int = start) -> Line:
                return self._pair(pairs.hunk, *pairs[start + index])

            yield Block(stop - start, line, widths, beside=True), pairs.changed(start, stop)

    def _pair(self, hunk: Hunk, left: int | None, right: int | None) -> Line:
        """A row of two halves; the left one carries what counts for both."""
        sides = [self._half(hunk, index) for index in (left, right)]
        noted = sides[0].noted and sides[0].counted > 0  # of a line on both sides, the right one carries the mark
        mine = replace(sides[0], new=None, noted=noted) if left is not None else sides[0]
        other = replace(sides[1], old=None) if right is not None else sides[1]
        return replace(
            mine,
            counted=mine.counted + other.counted,
            warns=mine.warns | other.warns,
            full_view=mine.full_view or other.full_view,
            beside=other,
        )

    def _half(self, hunk: Hunk, index: int | None) -> Line:
        if index is None:
            return Line((), "gap")
        row = hunk.row(index)
        out = row.kind != "context" and hunk.number in self.left_out()
        return self._line(row, row.text, self._marks(row), other=hunk.counterpart(index), out=out)

    def _long(self, hunk: Hunk, row: Row, other: Row | None) -> Counted:
        """A very long line in pieces: of one that was changed, what changed and a little around it."""
        text = row.text
        beside = text if row.kind == "context" else other.text if other else ""
        shown, differs = changed_part(text, beside), differing(text, beside)
        alike = 2 * len(differs) <= len(text)
        starts = range(shown.start, max(shown.start + 1, shown.stop), LONG)

        def line(index: int) -> Line:
            last, out = index == len(starts) - 1, row.kind != "context" and hunk.number in self.left_out()
            part = text[starts[index] : min(starts[index] + LONG, shown.stop)]
            found = self._line(row, part, (), first=not index, out=out)
            before = shown.start if not index else 0
            after = len(text) - shown.stop if last else 0
            marks = _marked(self._marks(row)) if last else ()
            pieces = found.pieces
            if alike and not out and "".join(piece for piece, _ in pieces) == part:  # nothing of it is escaped
                at = starts[index]
                pieces = tuple(marked_words(pieces, [n in differs for n in range(at, at + len(part))]))
            return replace(found, pieces=(*_unchanged(before), *pieces, *_unchanged(after), *marks))

        return Block(len(starts), line, whole=True), int(row.kind != "context")

    def _marks(self, row: Row) -> tuple[str, ...]:
        found = {
            "BOM": row.bom,
            "CRLF": self.tell_endings and row.ending == "\r\n",
            "no newline at end": not row.ending,
        }
        return tuple(name for name, there in found.items() if there)

    def _line(
        self,
        row: Row,
        text: str,
        marks: tuple[str, ...],
        *,
        first: bool = True,
        other: Row | None = None,
        out: bool = False,
    ) -> Line:
        shown = sanitise(text, "diff_line")
        return Line(
            (*shown_pieces(shown), *_marked(marks)),
            "out" if out else row.kind,
            _SIGNS[row.kind],
            row.old if first else None,
            row.new if first else None,
            counted=int(row.kind != "context"),
            warns=shown.warns,
            full_view=shown.full_view,
            other=other,
            out=out,
            noted=first and _place(row) in self.noted(),
        )


def _place(row: Row) -> tuple[int | None, bool]:
    """The number of a line, and whether it stands in the old text only."""
    return (row.old, True) if row.new is None else (row.new, False)


def _marked(marks: Iterable[str]) -> tuple[Piece, ...]:
    """What is told of a line behind it."""
    return tuple((f" {mark}", "mark") for mark in marks)


def differing(text: str, other: str) -> range:
    """The characters of a very long line that are not at the start or the end of the other one too."""
    head = _common(text, other, 1)
    tail = min(_common(text, other, -1), len(text) - head, len(other) - head)
    return range(head, len(text) - tail)


def changed_part(text: str, other: str) -> range:
    """The characters of a very long line to be shown: those that differ, and some around."""
    differs = differing(text, other)
    start, stop = max(0, differs.start - _AROUND), min(len(text), differs.stop + _AROUND)
    return range(start if start > _AROUND else 0, stop if len(text) - stop > _AROUND else len(text))


def _common(a: str, b: str, step: int) -> int:
    """How many characters two texts share at their start (1) or end (-1)."""
    limit, count, size = min(len(a), len(b)), 0, 1 << 12
    while size and count < limit:
        size = min(size, limit - count)
        same = (
            a[count : count + size] == b[count : count + size]
            if step > 0
            else a[len(a) - count - size : len(a) - count] == b[len(b) - count - size : len(b) - count]
        )
        count += size if same else 0
        size = size * 2 if same else size // 2
    return count


def _unchanged(count: int) -> tuple[Piece, ...]:
    """Says that so many characters are not shown, because both sides have them."""
    return ((f"… {count:,} characters unchanged, not shown …", "mark"),) if count else ()
