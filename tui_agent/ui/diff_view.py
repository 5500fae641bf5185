"""A file's diff on the screen, unified or side by side, from the bytes that will be written.

The first hunk is shown as soon as it is found. The unchanged lines between hunks are counted, and shown when asked for.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable, Iterator

from tui_agent.core.change import notice
from tui_agent.core.diff import Hunk, between, compare, diff, is_binary, mixed_endings, only_crlf, unified
from tui_agent.core.display import plain, sanitise
from tui_agent.ui.cursor_view import CursorView
from tui_agent.ui.diff_words import blanks_as_marks, changed_words, code, marked_words
from tui_agent.ui.highlight import language_of, load
from tui_agent.ui.hunk_lines import HunkLines
from tui_agent.ui.looks import Looks
from tui_agent.ui.wrap_lines import Block, Line, Piece

COMFORT, LEAST = 44, 16
"""Text cells of each side: with fewer, `auto` is unified; with still fewer nothing is shown side by side."""
COLOURS_AFTER = 0.1
"""Seconds from the first picture until the lexer is loaded: importing one would slow it down."""


class DiffView(CursorView):
    """The difference between two versions of a file; None means that there is no file."""

    def __init__(
        self, base: bytes | None, new: bytes | None, context: int = 3, *, path: str = "", looks: Looks | None = None
    ) -> None:
        """Compare `base` with `new`, with `context` unchanged lines around each change; `path` tells the language."""
        self.base, self.new, self.context = base, new, context
        self.binary = is_binary(base, new)
        self.ending = "CRLF" if only_crlf(base, new) else ""
        """How all lines end, where that is not what every line says or nobody needs to be told."""
        self.added = 0
        """Lines added, of the hunks found so far."""
        self.removed = 0
        """Lines removed, of the hunks found so far."""
        self.hunks: list[Hunk] = []
        """The hunks found so far."""
        self.left_out: frozenset[int] = frozenset()
        """Numbers of the hunks that the person does not take."""
        self.looks = looks or Looks()
        self.path = path
        self._language = language_of(path)
        self.coloured = not self._language
        """Whether the colours of code are there, or there are none for this file."""
        self._compare = compare(base, new, context)
        self._return_to = 0
        self.unfolded: frozenset[int] = frozenset()
        """Of which hunks the unchanged lines below are shown, by number; 0 is what is above the first."""
        self._noted: frozenset[tuple[int, bool]] = frozenset()
        self._lines = HunkLines(lambda: self.left_out, lambda: self._noted, mixed_endings(base, new))
        self._places: list[int] = []
        self._keep_cursor = False
        super().__init__(highest=max(text.count(b"\n") + 1 for text in (base or b"", new or b"")))

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
    def has_lines(self) -> bool:
        """Whether there is a line in any hunk found so far: not in a binary file, nor where an empty one comes or goes."""
        return any(map(len, self.hunks))

    @property
    def wraps(self) -> bool:
        """As the person wants it."""
        return self.looks.wraps

    @property
    def beside(self) -> bool:
        """Side by side, where that was asked for or is comfortable, and there are two sides; else unified."""
        wanted, room = self.looks.sides, self.shape.side_width
        two = self.base is not None and self.new is not None and not self.binary
        beside = room >= LEAST if wanted == "beside" else wanted == "auto" and room >= COMFORT
        return two and beside

    def arrangement(self) -> str:
        """One column or two, and what is unfolded."""
        return f"{self.beside} {sorted(self.unfolded)}"

    @property
    def layout_words(self) -> str:
        """The layout and why, in words; "" when there is no choice."""
        if self.base is None or self.new is None or self.binary:
            return ""
        if self.beside and self.hunks and not any(block.beside for block in self._blocks):
            return "unified (very long lines)"
        shown, wanted = "beside" if self.beside else "unified", self.looks.sides
        words = "side by side" if self.beside else "unified"
        if wanted == "auto":
            return f"{words} (auto)"
        return words if shown == wanted else f"{words} (too narrow for two sides)"

    def start_over(self) -> None:
        """The same hunks in another arrangement, with the present one in sight again."""
        self._return_to, self._keep_cursor = self.hunk, self._cursor is not None
        self._places.clear()
        super().start_over()

    def whole(self) -> str:
        """The whole difference, in the form of `patch`."""
        lines = unified(diff(self.base, self.new), self.path).split("\n")
        return "\n".join(plain(line, "diff_line") for line in lines)

    # -------------------------------------------------------------- lines

    def produce(self) -> Iterator[None]:
        """Hunks, with the unchanged lines between them, or how many those are."""
        last: Hunk | None = None
        for hunk in self._found():
            if hunk is not None:
                yield from self._between(last, hunk)
                self._places.append(len(self._blocks))
                if self._return_to == hunk.number:
                    self._anchor = len(self._blocks), 0
                for block, counted in self._lines.blocks(hunk, beside=self.beside):
                    self.add_block(block, counted)
                    yield
                if self._keep_cursor and self._return_to == hunk.number:
                    self._cursor, self._keep_cursor = self._first_changed(hunk.number), False
                last = hunk
            yield
        if self.binary:
            sizes = " → ".join("no file" if text is None else f"{len(text):,} bytes" for text in (self.base, self.new))
            self._note(f"binary file, {sizes}")
        elif not self.has_lines:
            empty = self.base != self.new
            self._note("the file is empty" if empty else "no difference")
        if last is not None:
            yield from self._between(last, None)
        if self.base is not None and self.new is not None:  # last, because it looks at both texts as a whole
            self.warns |= notice(self.base, self.new).warns - {"binary"}  # what rows do not show

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

    def _between(self, above: Hunk | None, below: Hunk | None) -> Iterator[None]:
        """The lines between two hunks, which both sides have; None is an end of the file."""
        same = between(above, below)
        if not len(same):
            return
        if (above.number if above else 0) not in self.unfolded:
            self._note(f"···  {len(same):,} unchanged")
            return
        for block, _ in self._lines.blocks(same, beside=self.beside):
            self.add_block(block)
            yield

    # -------------------------------------------------------------- moving

    def first_row(self) -> int:
        """Such that the first changed line stands in the upper third, however little room its context leaves."""
        change = self._rows_of(self._first_changed(1)) if self._places else None
        return 0 if change is None else max(0, change.start - self.size.height // 3)

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
        if self.has_lines:
            self.go_to(self.hunk + step)

    def go_to(self, number: int) -> None:
        """Put the cursor on the first changed line of a hunk that has been laid out, or of the nearest one; where is none, nowhere."""
        if not self._places:
            return
        number = max(1, min(len(self._places), number))
        self.move_cursor(self._first_changed(number), under=(self._places[number - 1], 0))

    def _first_changed(self, number: int) -> tuple[int, int]:
        """Where the first changed line of a hunk is: behind its few lines of context."""
        first = self._places[number - 1]
        stop = self._places[number] if number < len(self._places) else len(self._blocks)
        lines = ((at, n) for at in range(first, stop) for n in range(self._blocks[at].count))
        return next((place for place in lines if self._blocks[place[0]].line(place[1]).counted), (first, 0))

    @property
    def folds(self) -> frozenset[int]:
        """Where there are unchanged lines next to the present hunk, as in `unfolded`."""
        at, every = self.hunk, (None, *self.hunks, None)
        if self.binary or not at or not self.has_lines:
            return frozenset()
        return frozenset(n for n in (at - 1, at) if len(between(every[n], every[n + 1])))

    def fold(self) -> None:
        """Show the unchanged lines around the present hunk, or hide them when all are shown."""
        self.unfolded = self.unfolded - self.folds if self.folds <= self.unfolded else self.unfolded | self.folds
        self.lay_out()

    # -------------------------------------------------------------- choosing

    def toggle(self) -> None:
        """Leave out the hunk with the cursor, or take it again."""
        if at := self.cursor_hunk:
            self.left_out ^= {at}
            self.redraw()

    def toggle_all(self) -> None:
        """Leave out every hunk, or take all again when none is taken."""
        every = frozenset(hunk.number for hunk in self.hunks)
        self.left_out = frozenset() if self.left_out == every else every
        self.redraw()

    def mark_noted(self, places: frozenset[tuple[int, bool]]) -> None:
        """Mark the lines that have a note: their numbers, and whether they stand in the old text."""
        if places != self._noted:
            self._noted = places
            self.redraw()

    @property
    def chosen(self) -> frozenset[int] | None:
        """The numbers of the hunks that are taken, None for all."""
        return frozenset(hunk.number for hunk in self.hunks) - self.left_out if self.left_out else None

    # -------------------------------------------------------------- words and colours

    def decorate(self, line: Line) -> Iterable[Piece]:
        """Colour the code, mark the words that differ from the line on the other side, and blanks when asked."""
        pieces = self._coloured(line)
        return blanks_as_marks(pieces) if self.looks.blanks and line.kind != "gap" else pieces

    def _coloured(self, line: Line) -> Iterable[Piece]:
        if line.out or line.kind == "gap":
            return line.pieces
        pieces = code(self._language, line.pieces) if self.coloured and self._language else line.pieces
        if line.other is None:
            return pieces
        mine = "".join(text for text, style in line.pieces if style != "mark")
        return marked_words(pieces, changed_words(mine, sanitise(line.other.text, "diff_line").plain))
