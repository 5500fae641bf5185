"""A file's diff on the screen, unified or side by side, from the bytes that will be written.

The first hunk is shown as soon as it is found. Every line passes the sanitiser; the sign
is always there, so that colour is never the only difference.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from operator import itemgetter

from tui_agent.core.change import notice
from tui_agent.core.diff import Hunk, Row, compare, is_binary, mixed_endings
from tui_agent.core.display import sanitise
from tui_agent.ui.beside import Pairs
from tui_agent.ui.cursor_view import CursorView
from tui_agent.ui.highlight import ROOT, highlight, language_of, load
from tui_agent.ui.looks import Looks
from tui_agent.ui.wrap_lines import Block, Line, Piece, plain_widths, shown_pieces
from tui_agent.ui.wrap_view import BLOCK_LINES

LONG = 2_000
"""Longer lines, in bytes, are handled in pieces of so many characters: nothing is ever cut off."""
COMFORT, LEAST = 44, 16
"""Text cells of each side: with fewer, `auto` is unified; with still fewer nothing is shown side by side."""
COLOURS_AFTER = 0.1
"""Seconds from the first picture until the lexer is loaded: importing one would slow it down."""
_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_MOST_WORDS = 400
"""Words of both lines together that are compared; longer lines get no word marks."""
_MOST_CODE = 500
"""Characters of a line that is coloured as code."""
_ALIKE = 0.5
_SIGNS = {"context": " ", "remove": "-", "add": "+"}
_CODE = {"": "plain", "dim": "comment", "strong": "keyword", "literal": "literal"}


class DiffView(CursorView):
    """The difference between two versions of a file; None means that there is no file."""

    def __init__(
        self, base: bytes | None, new: bytes | None, context: int = 3, *, path: str = "", looks: Looks | None = None
    ) -> None:
        """Compare `base` with `new`, with `context` unchanged lines around each change; `path` tells the language."""
        self.base, self.new, self.context = base, new, context
        self.binary = is_binary(base, new)
        self.added = 0
        """Lines added, of the hunks found so far."""
        self.removed = 0
        """Lines removed, of the hunks found so far."""
        self.hunks: list[Hunk] = []
        """The hunks found so far."""
        self.left_out: frozenset[int] = frozenset()
        """Numbers of the hunks that the person does not take."""
        self.looks = looks or Looks()
        self._language = language_of(path)
        self.coloured = not self._language
        """Whether the colours of code are there, or there are none for this file."""
        self._compare = compare(base, new, context)
        self._return_to = 0
        self._tell_endings = mixed_endings(base, new)
        self._places: list[int] = []
        self._keep_cursor = False
        super().__init__(highest=max(text.count(b"\n") + 1 for text in (base or b"", new or b"")))
        if base is not None and new is not None:
            self.warns = frozenset(notice(base, new).warns) - {"binary"}  # what rows do not show

    # -------------------------------------------------------------- looks

    def on_mount(self) -> None:
        """Colours come when their lexer is loaded; nothing waits for them."""
        if self._language:
            self.set_timer(COLOURS_AFTER, self._begin_colours)

    def _begin_colours(self) -> None:
        colour: Callable[[], Awaitable[None]] = self._colour  # no coroutine yet: a view that closes now leaves none
        self.run_worker(colour, group="colours")

    async def _colour(self) -> None:
        if not await asyncio.to_thread(load, self._language):
            self._language = ""
        self.coloured = True
        self.redraw()

    @property
    def wraps(self) -> bool:
        """As the person wants it."""
        return self.looks.wraps

    def arrangement(self) -> str:
        """Unified, or side by side where that was asked for or is comfortable, and there are two sides."""
        wanted, room = self.looks.sides, self.shape.side_width
        two = self.base is not None and self.new is not None and not self.binary
        beside = room >= LEAST if wanted == "beside" else wanted == "auto" and room >= COMFORT
        return "beside" if two and beside else "unified"

    @property
    def layout_words(self) -> str:
        """The layout and why, in words; "" when there is no choice."""
        if self.base is None or self.new is None or self.binary:
            return ""
        shown, wanted = self.arrangement(), self.looks.sides
        words = "side by side" if shown == "beside" else "unified"
        if wanted == "auto":
            return f"{words} (auto)"
        return words if shown == wanted else f"{words} (too narrow for two sides)"

    def start_over(self) -> None:
        """The same hunks in another arrangement, with the present one in sight again."""
        self._return_to, self._keep_cursor = self.hunk, self._cursor is not None
        self._places.clear()
        super().start_over()

    # -------------------------------------------------------------- lines

    def produce(self) -> Iterator[None]:
        """Hunks, with a line for what was left out between them."""
        below = last = 0
        for hunk in self._found():
            if hunk is not None:
                self._skipped(hunk.old.start - last)
                below, last = hunk.below, hunk.old.stop
                yield from self._add(hunk)
            yield
        if self.binary:
            sizes = " → ".join("no file" if text is None else f"{len(text):,} bytes" for text in (self.base, self.new))
            self._note(f"binary file, {sizes}")
        elif not any(map(len, self.hunks)):
            empty = self.base != self.new
            self._note("the file is empty" if empty else "no difference")
        self._skipped(below)

    def _found(self) -> Iterator[Hunk | None]:
        """The hunks that are known, then those that are still to be found."""
        yield from tuple(self.hunks)
        for hunk in self._compare:
            if hunk is not None:
                self.hunks.append(hunk)
                self.added += hunk.added
                self.removed += hunk.removed
            yield hunk

    def _note(self, text: str) -> None:
        self.add_block(Block(1, lambda _: Line(((text, "plain"),), "gap")))

    def _skipped(self, count: int) -> None:
        if count > 0:
            self._note(f"···  {count:,} unchanged")

    def _add(self, hunk: Hunk) -> Iterator[None]:
        """Append a hunk in blocks; a very long line gets a block of its own."""
        self._places.append(len(self._blocks))
        if self._return_to == len(self._places):
            self._return_to, self._anchor = 0, (len(self._blocks), 0)
            self._cursor = self._anchor if self._keep_cursor else None
        if self.arrangement() == "beside" and all(len(line) <= LONG for line in hunk.lines(0, len(hunk))):
            yield from self._add_pairs(Pairs(hunk))
            return
        for start in range(0, len(hunk), BLOCK_LINES):
            stop = min(start + BLOCK_LINES, len(hunk))
            long = [start + n for n, line in enumerate(hunk.lines(start, stop)) if len(line) > LONG]
            for low, high in pairwise([start - 1, *long, stop]):
                if high > low + 1:
                    self._add_rows(hunk, low + 1, high)
                if high < stop:
                    self._add_long(hunk, hunk.row(high))
            yield

    def _add_rows(self, hunk: Hunk, start: int, stop: int) -> None:
        def widths() -> list[int] | None:
            lines = hunk.lines(start, stop)
            marked = self._tell_endings or (lines and not lines[-1].endswith(b"\n"))
            return None if marked else plain_widths(lines)

        def line(index: int) -> Line:
            row = hunk.row(start + index)
            out = row.kind != "context" and hunk.number in self.left_out
            return self._line(row, row.text, self._marks(row), other=hunk.counterpart(start + index), out=out)

        self.add_block(Block(stop - start, line, widths), hunk.changed(start, stop))

    def _add_pairs(self, pairs: Pairs) -> Iterator[None]:
        """Append a hunk side by side."""
        for start in range(0, len(pairs), BLOCK_LINES):
            stop = min(start + BLOCK_LINES, len(pairs))

            def widths(start: int = start, stop: int = stop) -> list[int] | None:
                return None if self._tell_endings else pairs.widths(start, stop)

            def line(index: int, start: int = start) -> Line:
                return self._pair(pairs.hunk, *pairs[start + index])

            self.add_block(Block(stop - start, line, widths, beside=True), pairs.changed(start, stop))
            yield

    def _pair(self, hunk: Hunk, left: int | None, right: int | None) -> Line:
        """A row of two halves; the left one carries what counts for both."""
        sides = [self._half(hunk, index) for index in (left, right)]
        mine = replace(sides[0], new=None) if left is not None else sides[0]
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
        out = row.kind != "context" and hunk.number in self.left_out
        return self._line(row, row.text, self._marks(row), other=hunk.counterpart(index), out=out)

    def _add_long(self, hunk: Hunk, row: Row) -> None:
        text = row.text
        starts = range(0, max(1, len(text)), LONG)

        def line(index: int) -> Line:
            last = index == len(starts) - 1
            part = text[starts[index] : starts[index] + LONG]
            out = row.kind != "context" and hunk.number in self.left_out
            return self._line(row, part, self._marks(row) if last else (), first=not index, out=out)

        self.add_block(Block(len(starts), line, whole=True), row.kind != "context")

    def _marks(self, row: Row) -> tuple[str, ...]:
        found = {
            "BOM": row.bom,
            "CRLF": self._tell_endings and row.ending == "\r\n",
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
            (*shown_pieces(shown), *((f" {mark}", "mark") for mark in marks)),
            "out" if out else row.kind,
            _SIGNS[row.kind],
            row.old if first else None,
            row.new if first else None,
            counted=int(row.kind != "context"),
            warns=shown.warns,
            full_view=shown.full_view,
            other=other,
            out=out,
        )

    # -------------------------------------------------------------- moving

    @property
    def hunk(self) -> int:
        """The number of the hunk that the person is at, from 1; 0 when there is none.

        That is the one with the cursor while it is visible, else the one at the top of the view.
        """
        if at := self.cursor_hunk:
            return at
        tops = self._hunk_tops()
        return max(1, bisect_right(tops, self.scroll_offset.y)) if tops else 0

    @property
    def cursor_hunk(self) -> int:
        """The number of the hunk with the cursor, 0 when no key put it there or it is out of sight."""
        block = self.cursor_block
        return 0 if block is None else bisect_right(self._places, block)

    def _hunk_tops(self) -> list[int]:
        return [self._tops[block] for block in self._places if block < len(self._tops)]

    def jump(self, step: int) -> None:
        """Put the cursor on the next (1) or previous (-1) hunk."""
        if any(map(len, self.hunks)):
            self.go_to(self.hunk + step)

    def go_to(self, number: int) -> None:
        """Put the cursor on a hunk that has been laid out, or on the nearest one."""
        self.move_cursor((self._places[max(1, min(len(self._places), number)) - 1], 0))

    # -------------------------------------------------------------- choosing

    def toggle(self) -> None:
        """Leave out the hunk with the cursor, or take it again."""
        if at := self.cursor_hunk:
            self.left_out ^= {at}
            self.redraw()

    @property
    def chosen(self) -> frozenset[int] | None:
        """The numbers of the hunks that are taken, None for all."""
        return frozenset(hunk.number for hunk in self.hunks) - self.left_out if self.left_out else None

    # -------------------------------------------------------------- words and colours

    def decorate(self, line: Line) -> Iterable[Piece]:
        """Colour the code, and mark the words that differ from the line on the other side."""
        if line.out or line.kind == "gap":
            return line.pieces
        pieces = code(self._language, line.pieces) if self.coloured and self._language else line.pieces
        if line.other is None:
            return pieces
        mine = "".join(text for text, style in line.pieces if style != "mark")
        return _mark(pieces, changed_words(mine, sanitise(line.other.text, "diff_line").plain))


def code(language: str, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The pieces of a line as code; one that holds escapes or is very long stays as it is."""
    texts = [text for text, style in pieces if style != "mark"]
    if len(texts) != 1 or len(texts[0]) > _MOST_CODE or any(style not in {"plain", "mark"} for _, style in pieces):
        return pieces
    _, found = highlight(language, ROOT, texts[0])
    coloured = tuple((text, _CODE.get(style, "plain")) for text, style in found)
    same = "".join(text for text, _ in coloured) == texts[0]
    return (*coloured, *(piece for piece in pieces if piece[1] == "mark")) if same else pieces


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
    """Cut pieces of text so that the marked characters also get the style `word`."""
    at = 0
    for text, style in pieces:
        flags = marked[at : at + len(text)]
        at += len(text)
        if style not in _CODE.values() or not any(flags):
            yield text, style
            continue
        for flag, group in groupby(zip(text, flags, strict=True), key=itemgetter(1)):
            yield "".join(character for character, _ in group), f"{style}+word" if flag else style
