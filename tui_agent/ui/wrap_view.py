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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from time import monotonic
from typing import ClassVar, Literal, TypeAlias

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_agent.core.diff import Row
from tui_agent.core.display import Shown

Piece: TypeAlias = tuple[str, str]
"""Text and the name of its style."""
Numbers: TypeAlias = Literal["both", "one", "sign", "none"]
"""What stands before the text: two line numbers, one, only the sign, nothing."""

BLOCK_LINES = 512
SLICE = 0.008
"""Seconds of work between two turns of the event loop."""
SHOW_EVERY = 0.1
"""Seconds between two pictures of a view that is still being measured."""
CACHED_LINES = 1_000
_PLAIN = bytes(range(0x20, 0x7F)) + b"\n\r\t"


@dataclass(frozen=True, slots=True)
class Line:
    """One logical line, already sanitised. `kind` names its colours, `sign` stands before the text.

    A `counted` line is one that an approval has to have seen. `other` is the line that this one replaces
    or is replaced by.
    """

    pieces: tuple[Piece, ...]
    kind: str = "text"
    sign: str = " "
    old: int | None = None
    new: int | None = None
    counted: bool = False
    warns: frozenset[str] = frozenset()
    full_view: bool = False
    other: Row | None = None


@dataclass(slots=True)
class Block:
    """Lines `0 .. count`, made on demand by `line`.

    `widths` gives the cells of every line where they are known without looking closer (plain
    ASCII, nothing to escape), else None. A `whole` block is one long line in pieces: it counts
    once, when all of it was seen. `starts` holds the first row of each line, None when every
    line is one row high.
    """

    count: int
    line: Callable[[int], Line]
    widths: Callable[[], list[int] | None] = lambda: None
    whole: bool = False
    height: int = 0
    starts: list[int] | None = None
    done: set[int] = field(default_factory=set)
    rows_seen: dict[int, int] = field(default_factory=dict)

    def rows(self, index: int) -> range:
        """The rows of one line, counted from the top of the block."""
        if self.starts is None:
            return range(index, index + 1)
        return range(self.starts[index], self.starts[index + 1] if index + 1 < self.count else self.height)

    def find(self, row: int) -> tuple[int, int]:
        """The line at a row of the block, and which of its rows that is."""
        if self.starts is None:
            return row, 0
        index = bisect_right(self.starts, row) - 1
        return index, row - self.starts[index]

    def saw(self, index: int, nth: int) -> int:
        """Note that a row was on screen; returns how many more lines count as seen now."""
        if index in self.done:
            return 0
        rows = len(self.rows(index))
        bits = self.rows_seen.get(index, 0) | 1 << nth
        if bits != (1 << rows) - 1:
            self.rows_seen[index] = bits
            return 0
        self.rows_seen.pop(index, None)
        self.done.add(index)
        return 1 if not self.whole or len(self.done) == self.count else 0


def shown_pieces(shown: Shown) -> tuple[Piece, ...]:
    """The spans of a sanitised text as pieces."""
    return tuple((span.text, span.style) for span in shown.spans)


def text_lines(shown: Shown) -> list[tuple[Piece, ...]]:
    """A sanitised text cut at its newlines; the one at the very end starts no line."""
    lines: list[list[Piece]] = [[]]
    for text, style in shown_pieces(shown):
        first, *others = text.split("\n")
        lines[-1].append((first, style))
        lines += [[(other, style)] for other in others]
    result = [tuple(piece for piece in line if piece[0]) for line in lines]
    return result[:-1] if len(result) > 1 and not result[-1] else result


def plain_widths(lines: Sequence[bytes]) -> list[int] | None:
    """Cells of each line without its ending, None if any needs the sanitiser; tabs are 4 blanks."""
    text = b"".join(lines)
    if text.translate(None, _PLAIN) or b" " * 33 in text or b"\t" * 9 in text:
        return None
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        return None
    if b"\r" in text or b"\t" in text:
        return [len(line.rstrip(b"\r\n")) + 3 * line.count(b"\t") for line in lines]
    return [len(line) - line.endswith(b"\n") for line in lines]


def wrap(pieces: Iterable[Piece], width: int) -> list[list[Piece]]:
    """Cut pieces into rows of at most `width` (2 or more) cells; wide and combined characters stay whole."""
    rows: list[list[Piece]] = [[]]
    left = width
    for text, style in pieces:
        rest = text
        while rest:
            size, cells = _fit(rest, left)
            if not size:
                rows.append([])
                left = width
                continue
            rows[-1].append((rest[:size], style))
            rest, left = rest[size:], left - cells
    return rows


def _fit(text: str, cells: int) -> tuple[int, int]:
    """The longest start of `text` that fits into `cells`: (characters, cells used)."""
    if text.isascii():
        size = min(len(text), cells)
        return size, size
    size = used = 0
    for _, stop, wide in split_graphemes(text[: 9 * cells + 9])[0]:  # the sanitiser allows 8 marks on a character
        if used + wide > cells:
            break
        size, used = stop, used + wide
    return size, used


class WrapView(ScrollView, can_focus=False):
    """The view. Subclasses append blocks in `produce`."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    WrapView { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"wrap--{name}"
        for name in ("text", "context", "add", "remove", "gap", "number", "cursor", "escape", "mark", "word")
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
        self._layout_key: tuple[int, Numbers] | None = None
        self._anchor: tuple[int, int] | None = None
        self._cursor: tuple[int, int] | None = None
        self._drawn: dict[tuple[int, int], tuple[list[Strip], bool]] = {}
        self._styles: dict[tuple[str, str], Style] = {}
        self._telling = False
        self._shown_at = 0.0

    def produce(self) -> Iterator[None]:
        """Append blocks by `add_block`; yield after each unit of work."""
        yield from ()

    def add_block(self, block: Block, counted: int = 0) -> int:
        """Append a block with `counted` counted lines; returns its number."""
        self._blocks.append(block)
        self.total += counted
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
    def _columns(self) -> int:
        return self.scrollable_content_region.width

    @property
    def _layout(self) -> tuple[int, Numbers]:
        """What the lines were measured for: Textual paints at a new size before it tells of it."""
        return self._layout_key or (self._columns, self.numbers)

    @property
    def _gutter_width(self) -> int:
        return {"both": 2 * self._digits + 6, "one": self._digits + 4, "sign": 2, "none": 0}[self._layout[1]]

    @property
    def _text_width(self) -> int:
        return max(2, self._layout[0] - self._gutter_width - 1)

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
        width = self._text_width
        widths = block.widths()
        if widths is None:
            heights = []
            for line in map(block.line, range(block.count)):
                heights.append(len(wrap(line.pieces, width)))
                self.warns |= line.warns
                self.full_view |= line.full_view
        else:
            heights = [max(1, -(-cells // width)) for cells in widths]
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
        self.virtual_size = Size(self._columns, self.rows)
        if self._anchor is not None and self._anchor[0] < len(self._tops):
            number, index = self._anchor
            self._anchor = None
            self.scroll_to(y=self._tops[number] + self._blocks[number].rows(index).start, animate=False)
        self.end_seen |= self.complete and not self.rows
        self.refresh()
        self._tell_soon()

    async def _finish(self) -> None:
        while self._work():  # noqa: ASYNC110 - this is not waiting for anything, it gives way
            await asyncio.sleep(0)

    def on_resize(self, event: events.Resize) -> None:
        """Lay out for a new width; the line at the top stays there."""
        key = self._columns, self.numbers
        if not self._columns or key == self._layout_key:
            return
        if self._tops and (place := self._locate(self.scroll_offset.y)) is not None:
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
        strips, counted = self._draw(number, index)
        new = self._blocks[number].saw(index, nth) if counted else 0
        at_end = self.complete and row == self.rows - 1 and not self.end_seen
        if new or at_end:
            self.seen += new
            self.end_seen |= at_end
            self._tell_soon()
        return strips[nth]

    def _draw(self, number: int, index: int) -> tuple[list[Strip], bool]:
        key = number, index
        if key not in self._drawn:
            if len(self._drawn) >= CACHED_LINES:
                del self._drawn[next(iter(self._drawn))]
            line = self._blocks[number].line(index)
            self._drawn[key] = self._strips(line, cursor=key == self._cursor), line.counted
        return self._drawn[key]

    def _strips(self, line: Line, *, cursor: bool) -> list[Strip]:
        width, base = self._text_width, self._style(line.kind)
        rows = wrap(self.decorate(line), width)
        strips = []
        for nth, row in enumerate(rows):
            gutter = self._gutter(line, cursor=cursor) if not nth else [(" " * self._gutter_width, "number")]
            segments = [Segment(text, self._style(line.kind, style)) for text, style in (*gutter, *row)]
            strip = Strip(segments).adjust_cell_length(self._gutter_width + width, base)
            mark = ("↩", self._style(line.kind, "mark")) if nth < len(rows) - 1 else (" ", base)
            strips.append(Strip.join([strip, Strip([Segment(*mark)])]).adjust_cell_length(self._columns, base))
        return strips

    def decorate(self, line: Line) -> Iterable[Piece]:
        """The pieces of a visible line with richer styles; must not change the text."""
        return line.pieces

    def _gutter(self, line: Line, *, cursor: bool) -> list[Piece]:
        numbers, digits = self._layout[1], self._digits
        if numbers == "none":
            return []
        lead = ("›" if cursor else " ", "cursor")
        if numbers == "sign":
            return [(line.sign, "sign"), lead]
        columns = (line.old, line.new) if numbers == "both" else (line.old if line.new is None else line.new,)
        text = " ".join(f"{number or '':>{digits}}" for number in columns)
        return [lead, (f"{text}  " if numbers == "both" else f"{text} ", "number"), (line.sign + " ", "sign")]

    def _style(self, kind: str, part: str = "plain") -> Style:
        """The colours of a part of a line: the line's own, and those of the part over them."""
        key = kind, part
        if key not in self._styles:
            style = self.get_component_rich_style(f"wrap--{kind}")
            if f"wrap--{part}" in self.COMPONENT_CLASSES:
                style += self.get_component_rich_style(f"wrap--{part}", partial=True)
            self._styles[key] = style
        return self._styles[key]

    def notify_style_update(self) -> None:
        """A new theme: draw everything again."""
        super().notify_style_update()
        self._styles.clear()
        self._drawn.clear()

    def move_cursor(self, place: tuple[int, int] | None) -> None:
        """Put the cursor before a line, named by block and line, and bring it to the top; None removes it."""
        for old in (self._cursor, place):
            self._drawn.pop(old, None) if old else None
        self._cursor = place
        if place is not None and place[0] < len(self._tops):
            number, index = place
            self.scroll_to(y=self._tops[number] + self._blocks[number].rows(index).start, animate=False)
        self.refresh()

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

    def produce(self) -> Iterator[None]:
        """All lines in blocks."""
        for start in range(0, len(self._lines), BLOCK_LINES):
            lines = self._lines[start : start + BLOCK_LINES]
            self.add_block(Block(len(lines), lambda n, at=start: Line(self._lines[at + n], new=at + n + 1)))  # type: ignore[misc]
            yield
