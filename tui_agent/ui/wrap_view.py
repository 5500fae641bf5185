"""A scrolling view of many wrapped lines that only draws what is visible.

Lines come in blocks. A block knows how tall it is at the current width; the tops of the
blocks form a prefix sum, so that finding the line at a row is two bisections whatever the
size. Producing and measuring blocks happens in slices of a few milliseconds between which
the event loop runs. The view also remembers what has been on screen: an approval
depends on it.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from time import monotonic
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_agent.core.display import Shown
from tui_agent.ui.wrap_lines import (
    BLOCK_LINES,
    Block,
    Line,
    Look,
    Numbers,
    Piece,
    Shape,
    plain_widths,
    shown_pieces,
    text_lines,
)

__all__ = ["BLOCK_LINES", "Block", "Line", "Numbers", "Piece", "TextView", "WrapView", "plain_widths", "shown_pieces"]

SLICE = 0.008
"""Seconds of work between two turns of the event loop."""
SHOW_EVERY = 0.1
"""Seconds between two pictures of a view that is still being measured."""
CACHED_LINES = 1_000


class WrapView(ScrollView, can_focus=False):
    """The view. Subclasses append blocks in `produce`."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    WrapView { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"wrap--{name}"
        for name in (
            *("text", "context", "add", "remove", "gap", "out", "number", "cursor", "escape", "mark", "word"),
            *("comment", "keyword", "literal"),
        )
    }

    class Changed(Message):
        """More lines are known or measured, or more were seen."""

        def __init__(self, view: WrapView) -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> WrapView:
            """The view that changed."""
            return self.view

    def __init__(self, numbers: Numbers | None = None, highest: int = 0) -> None:
        """`numbers` None: as many as the terminal is wide enough for. `highest` is the highest line number."""
        super().__init__()
        self.complete = False
        """Whether all lines are known and measured; until then the facts below are lower bounds."""
        self.counts = True
        """Whether what is drawn counts as seen: not while the lines around a view still find their places."""
        self.end_seen = False
        """Whether the last row has been on screen."""
        self.seen = 0
        """Counted lines that have been on screen to their last row."""
        self.total = 0
        """Counted lines known so far."""
        self.warns: frozenset[str] = frozenset()
        """What the sanitiser warns of, in any line."""
        self.full_view = False
        """Whether a line has escaped or padded parts: then the end must be seen before it may be approved."""
        self.rows = 0
        """The height of everything measured so far."""
        self.drawn = 0
        """How many rows were drawn, ever: tells a bench when something new is on screen."""
        self._numbers = numbers
        self._digits = max(3, len(str(highest)))
        self._blocks: list[Block] = []
        self._tops: list[int] = []
        self._source = self.produce()
        self._layout_key: tuple[Shape, str] | None = None
        self._all_seen = False
        self._anchor: tuple[int, int] | None = None
        self._began_at = 0
        self._cursor: tuple[int, int] | None = None
        self._drawn: dict[tuple[int, int], tuple[list[Strip], bool, int]] = {}
        self._look = Look(self._style, self.decorate)
        self._styles: dict[tuple[str, str], Style] = {}
        self._telling = False
        self._shown_at = 0.0

    def produce(self) -> Iterator[None]:
        """Append blocks by `add_block`; yield after each unit of work."""
        yield from ()

    def first_row(self) -> int:
        """The row at the top of the view until the person scrolls."""
        return 0

    def whole(self) -> str:
        """All of it as text that is safe to print. Takes long for a long one; reads nothing that a key changes."""
        return ""

    def add_block(self, block: Block, counted: int = 0) -> int:
        """Append a block with `counted` counted lines; returns its number."""
        self._blocks.append(block)
        self.total += counted
        if self._all_seen:
            block.done = set(range(block.count))
            self.seen += counted
        return len(self._blocks) - 1

    # -------------------------------------------------------------- measuring, in slices

    @property
    def numbers(self) -> Numbers:
        """The columns before the text at the present width of the terminal."""
        if self._numbers is not None:
            return self._numbers
        width = self.app.size.width
        return "both" if width >= 80 else "one" if width >= 50 else "sign"

    @property
    def wraps(self) -> bool:
        """Whether long lines go on in the next row; else they are cut with a mark and do not count as seen."""
        return True

    @property
    def _columns(self) -> int:
        return self.scrollable_content_region.width

    @property
    def shape(self) -> Shape:
        """How lines are laid out at the present size."""
        return Shape(self._columns, self.numbers, self._digits, self.wraps)

    @property
    def measured(self) -> Shape:
        """What the lines were measured for: Textual paints at a new size before it tells of it."""
        return self._layout_key[0] if self._layout_key else self.shape

    def arrangement(self) -> str:
        """What the blocks depend on beside the lines: when it changes, they are made anew."""
        return ""

    def start_over(self) -> None:
        """Make the blocks anew; what was seen as a whole stays seen."""
        self._all_seen = self.complete and self.seen == self.total
        self._blocks.clear()
        self.total = self.seen = 0
        self._cursor = None
        self._source = self.produce()

    def _step(self) -> bool:
        """Do one unit of work; False when there is none left."""
        if len(self._tops) == len(self._blocks):
            try:
                next(self._source)
            except StopIteration:
                self.complete = len(self._tops) == len(self._blocks)
                return not self.complete
            return True
        block = self._blocks[len(self._tops)]
        self._measure(block)
        self._tops.append(self.rows)
        self.rows += block.height
        return True

    def _measure(self, block: Block) -> None:
        widths = block.widths()
        lines = [] if widths is not None else [block.line(index) for index in range(block.count)]
        for line in lines:
            self.warns |= line.warns
            self.full_view |= line.full_view
        heights = self.measured.heights(lines if widths is None else widths, beside=block.beside)
        block.height = sum(heights)
        block.starts = None if block.height == block.count else list(accumulate(heights[:-1], initial=0))
        block.rows_seen.clear()

    def _work(self) -> bool:
        """Work for one slice; False when everything is done. What is new is shown now and then, not each time."""
        start = monotonic()
        screen, before = self.app.size.height, self.rows
        while (more := self._step()) and monotonic() < start + SLICE:
            pass
        fuller = min(before, screen) < min(self.rows, screen)
        if fuller or not more or start - self._shown_at >= SHOW_EVERY:
            self._shown_at = start
            self._show()
        return more

    def _show(self) -> None:
        at_first = self._at_first
        self.virtual_size = Size(self._columns, self.rows)
        if at_first:
            self._begin()
        elif self._anchor is not None and self._anchor[0] < len(self._tops):
            number, index = self._anchor
            self._anchor = None
            self.scroll_to(y=self._tops[number] + self._blocks[number].rows(index).start, animate=False)
        self.end_seen |= self.complete and not self.rows
        self.refresh()
        self._tell_soon()

    @property
    def _at_first(self) -> bool:
        """Whether the person has not scrolled yet: a larger view may have less to scroll."""
        return self.scroll_offset.y == min(self._began_at, self.max_scroll_y)

    def _begin(self) -> None:
        self._anchor = None
        self.scroll_to(y=self.first_row(), animate=False, immediate=True, force=True)  # its bar comes later
        self._began_at = self.scroll_offset.y

    async def _finish(self) -> None:
        while self._work():  # noqa: ASYNC110 - this is not waiting for anything, it gives way
            await asyncio.sleep(0)

    def watch_show_vertical_scrollbar(self, shown: bool) -> None:
        """A bar that comes after the view was scrolled stands where the text does: Textual moves only one that is there."""
        if shown:
            self.vertical_scrollbar.position = self.scroll_y

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for a new width; a new height may move where it begins, and whether there is more to scroll to."""
        if self._at_first:
            self._begin()
        self.lay_out()
        self._tell_soon()

    def lay_out(self) -> None:
        """Lay out if anything that this depends on is different; the line at the top stays there."""
        key = self.shape, self.arrangement()
        if not self._columns or key == self._layout_key:
            return
        if self._layout_key is not None and key[1] != self._layout_key[1]:
            self.start_over()
        elif self._tops and (place := self._locate(self.scroll_offset.y)) is not None:
            self._anchor = place[:2] if place != (0, 0, 0) else None
        self._layout_key = key
        self._tops.clear()
        self._drawn.clear()
        self.rows = 0
        self.complete = False
        if self._work():
            self.run_worker(self._finish(), exclusive=True)

    # -------------------------------------------------------------- drawing what is visible

    def _locate(self, row: int) -> tuple[int, int, int] | None:
        """(block, line in the block, row of the line) at a row of the view."""
        if not 0 <= row < self.rows:
            return None
        number = bisect_right(self._tops, row) - 1
        return number, *self._blocks[number].find(row - self._tops[number])

    def render_line(self, y: int) -> Strip:
        """Draw one row and note that it is on screen."""
        row = self.scroll_offset.y + y
        place = self._locate(row)
        if place is None:
            return Strip.blank(self._columns, self.rich_style)
        self.drawn += 1
        number, index, nth = place
        strips, cut, counted = self._draw(number, index)
        new = self._blocks[number].saw(index, nth) if self.counts and counted and not cut else 0
        at_end = self.counts and self.complete and not cut and row == self.rows - 1 and not self.end_seen
        if new or at_end:
            self.seen += new * counted
            self.end_seen |= at_end
            self._tell_soon()
        return strips[nth]

    def count(self) -> None:
        """What stands on screen counts as seen from now on."""
        self.counts = True
        self.refresh()
        self._tell_soon()

    def _draw(self, number: int, index: int) -> tuple[list[Strip], bool, int]:
        """The rows of a line, whether something of it was cut off, and how many lines are seen with the last row."""
        key = number, index
        if key not in self._drawn:
            if len(self._drawn) >= CACHED_LINES:
                del self._drawn[next(iter(self._drawn))]
            line = self._blocks[number].line(index)
            strips, cut = self.measured.draw(line, self._look, cursor=key == self._cursor)
            self._drawn[key] = strips, cut, line.counted
        return self._drawn[key]

    def decorate(self, line: Line) -> Iterable[Piece]:
        """The pieces of a visible line with richer styles; must not change the text."""
        return line.pieces

    def _style(self, kind: str, part: str = "plain") -> Style:
        """The colours of a part of a line: the line's own, and over them those of the part (several joined by +)."""
        key = kind, part
        if key not in self._styles:
            style = self.get_component_rich_style(f"wrap--{kind}")
            for name in part.split("+"):
                if f"wrap--{name}" in self.COMPONENT_CLASSES:
                    style += self.get_component_rich_style(f"wrap--{name}", partial=True)
            self._styles[key] = style
        return self._styles[key]

    def notify_style_update(self) -> None:
        """A new theme: draw everything again."""
        super().notify_style_update()
        self._styles.clear()
        self._drawn.clear()

    def redraw(self) -> None:
        """Lines look different now, at the same height."""
        self._drawn.clear()
        self.refresh()
        self._tell_soon()

    def _tell_soon(self) -> None:
        """Post `Changed` once, however many rows were drawn."""
        if not self._telling:
            self._telling = True
            self.call_later(self._tell)

    def _tell(self) -> None:
        self._telling = False
        self.post_message(self.Changed(self))


class TextView(WrapView):
    """A sanitised text, such as a command or a script."""

    def __init__(self, shown: Shown, numbers: Numbers = "none") -> None:
        """Show all of `shown`, cut at its newlines."""
        self._lines = text_lines(shown)
        super().__init__(numbers, highest=len(self._lines))
        self.warns, self.full_view = shown.warns, shown.full_view

    def whole(self) -> str:
        """All of it."""
        return "\n".join("".join(text for text, _ in line) for line in self._lines)

    def produce(self) -> Iterator[None]:
        """All lines in blocks."""
        for start in range(0, len(self._lines), BLOCK_LINES):
            lines = self._lines[start : start + BLOCK_LINES]
            self.add_block(Block(len(lines), lambda n, at=start: Line(self._lines[at + n], new=at + n + 1)))  # type: ignore[misc]
            yield
