"""The transcript: one line-API widget that shows a session as it happens and as it was.

`feed` only notes an event; one timer, which sleeps while nothing happens, draws at most 20 times a
second. Blocks are drawn when they are looked at; until then their height is a guess, and when the guess is
put right above the reader's eyes the view moves with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from time import monotonic
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from tui_agent.core.events import Event, Unknown
from tui_agent.core.types import TextDelta
from tui_agent.ui.blocks import Block, Story
from tui_agent.ui.heights import Heights
from tui_agent.ui.lines import BLANK, Line
from tui_agent.ui.markdown import Tail
from tui_agent.ui.render import estimate, gap_between, rows
from tui_agent.ui.selection import copied

FRAME = 1 / 20
"""Seconds between two repaints while events arrive."""

CACHED = 400
"""Drawn blocks that are kept."""


class Drawn:
    """The rows of one block at one width and, as far as they were on screen, their strips."""

    __slots__ = ("lines", "strips")

    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines
        self.strips: dict[int, Strip] = {}


class Transcript(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows events. Follows the end while the reader is there, and otherwise keeps still."""

    NAMES: ClassVar[tuple[str, ...]] = tuple(
        "dim strong em strong-em strike heading said verb code literal cursor ok fail escape".split()
    )
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"transcript--{name}" for name in NAMES}

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_up", "Up", show=False, id="transcript.up"),
        Binding("down", "scroll_down", "Down", show=False, id="transcript.down"),
        Binding("pageup", "page_up", "Page up", show=False, id="transcript.page_up"),
        Binding("pagedown", "page_down", "Page down", show=False, id="transcript.page_down"),
        Binding("ctrl+up", "half_page_up", "Half page up", show=False, id="transcript.half_page_up"),
        Binding("ctrl+down", "half_page_down", "Half page down", show=False, id="transcript.half_page_down"),
        Binding("home", "home", "Start", show=False, id="transcript.home"),
        Binding("end", "end", "End", show=False, id="transcript.end"),
    ]

    below: reactive[int] = reactive(0, repaint=False)
    """Rows below the last visible one."""

    class BelowChanged(Message):
        """The number of rows below the visible ones is another one."""

        def __init__(self, transcript: Transcript, below: int) -> None:
            self.transcript = transcript
            self.below = below
            """Rows; 0 at the end."""
            super().__init__()

    def __init__(self, *, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(name=name, id=id, classes=classes)
        self._inbox: list[Event | Unknown] = []
        self._story = Story()
        self._heights = Heights()
        self._tail = Tail()
        self._tail_lines: list[Line] = []
        self._tail_strips: dict[int, Strip] = {}
        self._drawn: LRUCache[tuple[Block, int, bool], Drawn] = LRUCache(CACHED)
        self._exact: set[int] = set()
        self._styles: dict[str, Style] = {}
        self._width = 0
        self._full = False
        self._follow = True
        self._settling = False
        self._painting = False
        self._timer: Timer | None = None
        self._last = 0.0
        self._armed = False

    # -------------------------------------------------------------- events in

    def feed(self, event: Event | Unknown) -> None:
        """Take the next event. Costs the same whatever came before."""
        self._inbox.append(event)
        if self._armed or self._timer is None:
            return
        self._armed = True
        if monotonic() - self._last > FRAME:
            self.call_next(self._flush)
        self._timer.resume()

    def load(self, durable: Iterable[Event | Unknown]) -> None:
        """Take the events of a resumed session; only what is looked at is drawn."""
        self._inbox.extend(durable)
        if self._timer is not None:
            self._flush()

    @property
    def answer(self) -> str:
        """Markdown source of the newest complete answer, as the model wrote it."""
        return self._story.answer

    def on_mount(self) -> None:
        """Start the one timer, asleep."""
        self._timer = self.set_interval(FRAME, self._tick, pause=True)
        self.app.theme_changed_signal.subscribe(self, lambda _: self._restyle())

    def _tick(self) -> None:
        if self._inbox:
            self._flush()
        elif self._timer is not None:
            self._timer.pause()
            self._armed = False

    def _flush(self) -> None:
        """Fold what arrived and bring the screen up to date."""
        if not self._width:
            return
        self._last = monotonic()
        inbox, self._inbox = self._inbox, []
        for kind, group in groupby(inbox, key=type):
            if kind is TextDelta:
                self._story.feed(TextDelta("".join([event.text for event in group if isinstance(event, TextDelta)])))
            else:
                for event in group:
                    self._story.feed(event)
        self._sync()

    # -------------------------------------------------------------- geometry

    def _sync(self) -> None:
        """After a change of the story: heights, size, position, and the rows to repaint."""
        story, heights = self._story, self._heights
        changed = min(story.changed, len(heights))
        first = heights.start(changed)
        if changed < len(heights):
            heights.truncate(changed)
            self._exact = {index for index in self._exact if index < changed}
        for index in range(changed, len(story.blocks)):
            heights.append(self._gap(index) + estimate(story.blocks[index], self._width))
        story.changed = len(story.blocks)
        before, self._tail_lines = self._tail_lines, self._draw_tail()
        same = 0
        if len(story.blocks) == changed:
            pairs = zip(before, self._tail_lines, strict=False)
            same = next(
                (row for row, (old, new) in enumerate(pairs) if old != new), min(len(before), len(self._tail_lines))
            )
        self._tail_strips = {row: strip for row, strip in self._tail_strips.items() if row < same}
        top = self.scroll_offset.y
        self._settle()
        if self.scroll_offset.y == top:
            self._refresh_from(first + same)

    def _refresh_from(self, row: int) -> None:
        """Repaint the visible rows from one on."""
        y = max(0, row - self.scroll_offset.y)
        width, height = self.size
        if y < height:
            self.refresh(Region(0, y, width, height - y))

    def _settle(self) -> None:
        """Make what is visible exact, keep the reader's place or the end, tell the size."""
        if self._settling or not self._width:
            return
        self._settling = True
        try:
            self._set_size()
            if self._follow:
                self._go(self.max_scroll_y)
            while (shift := self._measure()) is not None:
                self._set_size()
                self._go(self.max_scroll_y if self._follow else self.scroll_offset.y + shift)
        finally:
            self._settling = False
        self.below = max(0, self._total - self.scroll_offset.y - self.size.height)

    def _measure(self) -> int | None:
        """Draw visible blocks whose height is a guess: the rows by which what lies above grew; None if there was none."""
        heights = self._heights
        top = self.scroll_offset.y
        bottom = min(top + self.size.height, heights.total)
        if top >= bottom:
            return None
        index, _ = heights.find(top)
        start, shift, changed = heights.start(index), 0, False
        while index < len(heights) and start < bottom:
            old = heights[index]
            if index not in self._exact:
                new = self._gap(index) + len(self._draw(index).lines)
                self._exact.add(index)
                heights.set(index, new)
                changed = True
                shift += new - old if start < top else 0
            start += old
            index += 1
        return shift if changed else None

    def _set_size(self) -> None:
        size = Size(self._width, self._total)
        if size != self.virtual_size:
            self.virtual_size = size

    def _go(self, row: float) -> None:
        self.scroll_to(y=row, animate=False, immediate=True, force=True)

    @property
    def _total(self) -> int:
        return self._heights.total + len(self._tail_lines)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The reader, or a change of size, moved the view."""
        super().watch_scroll_y(old_value, new_value)
        if not self._settling:
            self._follow = new_value >= self.max_scroll_y - 1
            self._settle()

    def watch_below(self, below: int) -> None:
        """Tell the footer."""
        self.post_message(self.BelowChanged(self, below))

    def on_resize(self, event: events.Resize) -> None:
        """Wrap again: what is visible now, the rest when it is looked at."""
        width = self.scrollable_content_region.width
        if width != self._width:
            self._rewrap(width)
            self._flush()
        else:
            self._settle()

    def _rewrap(self, width: int) -> None:
        """Forget all heights; the block at the top of the view stays there."""
        heights, story = self._heights, self._story
        top, follow = self.scroll_offset.y, self._follow
        index, offset, old = len(heights), max(0, top - heights.total), 1
        if top < heights.total:
            index, offset = heights.find(top)
            old = heights[index]
        self._width = width
        self._exact.clear()
        self._heights = Heights()
        for number, block in enumerate(story.blocks[: len(heights)]):
            self._heights.append(self._gap(number) + estimate(block, width))
        self._tail_lines, self._tail_strips = self._draw_tail(), {}
        if not follow and index < len(heights):
            exact = self._gap(index) + len(self._draw(index).lines)
            self._heights.set(index, exact)
            self._exact.add(index)
            offset = offset * exact // old
        self._settling = True
        self._set_size()
        self._settling = False
        self._follow = follow
        if not follow:
            self._settling = True
            self._go(self._heights.start(index) + offset)
            self._settling = False
        self._settle()
        self.refresh()

    # -------------------------------------------------------------- drawing

    def _gap(self, index: int) -> int:
        blocks = self._story.blocks
        return int(gap_between(blocks[index - 1] if index else None, blocks[index]))

    def _draw(self, index: int) -> Drawn:
        key = (self._story.blocks[index], self._width, self._full)
        drawn = self._drawn.get(key)
        if drawn is None:
            drawn = self._drawn[key] = Drawn(rows(*key))
        return drawn

    def _draw_tail(self) -> list[Line]:
        """Rows of what is still open: the end of the reply with its cursor, then what is going on."""
        story, lines = self._story, list[Line]()
        above = story.blocks[-1] if story.blocks else None
        if story.text is not None:
            lines = self._tail.draw(story.text, self._width)
            last = lines[-1] if lines else Line()
            lines[-1:] = [last._replace(pieces=(*last.pieces, ("▌", "cursor")))]
        for block in story.pending():
            lines += [BLANK] if lines or (above and gap_between(above, block)) else []
            lines += rows(block, self._width, self._full)
            above = None
        return lines

    def _line(self, row: int) -> tuple[Line, dict[int, Strip], int]:
        """The row, where its strip is kept and under which number."""
        if row >= self._heights.total:
            number = row - self._heights.total
            return (self._tail_lines[number] if number < len(self._tail_lines) else BLANK), self._tail_strips, number
        index, offset = self._heights.find(row)
        number = offset - self._gap(index)
        drawn = self._draw(index)
        return (drawn.lines[number] if 0 <= number < len(drawn.lines) else BLANK), drawn.strips, number

    def render_lines(self, crop: Region) -> list[Strip]:
        """Painting needs no offsets for the mouse."""
        self._painting = True
        try:
            return super().render_lines(crop)
        finally:
            self._painting = False

    def render_line(self, y: int) -> Strip:
        """The strip of a visible row."""
        row = self.scroll_offset.y + y
        line, strips, number = self._line(row)
        selection = self.text_selection
        span = selection.get_span(row) if selection is not None else None
        if span is not None:
            strip = self._strip(line, span)
        elif (kept := strips.get(number)) is not None and line is not BLANK:
            strip = kept
        else:
            strip = self._strip(line)
            if line is not BLANK:
                strips[number] = strip
        return strip if self._painting else strip.apply_offsets(0, row)

    def _strip(self, line: Line, span: tuple[int, int] | None = None) -> Strip:
        strip = Strip([Segment(text, self._style(name)) for text, name in line.pieces])
        if span is not None:
            start, end = span
            text = line.text
            low = cell_len(text[: max(start, line.gutter)])
            high = cell_len(text if end == -1 else text[:end])
            if low < high:
                chosen = self.screen.get_component_rich_style("screen--selection")
                before, middle, after = strip.crop(0, low), strip.crop(low, high), strip.crop(high)
                painted = Strip([Segment(s.text, (s.style or Style()) + chosen) for s in middle], high - low)
                strip = Strip.join([before, painted, after])
        return strip.adjust_cell_length(self._width, self._style(""))

    def _style(self, name: str) -> Style:
        style = self._styles.get(name)
        if style is None:
            style = self.get_component_rich_style(f"transcript--{name}") if name else self.rich_style
            self._styles[name] = style
        return style

    def _restyle(self) -> None:
        """Colours changed: rows stay, strips go."""
        self._styles.clear()
        self._drawn.clear()
        self._tail_strips.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Styles of the widget changed."""
        super().notify_style_update()
        self._restyle()

    # -------------------------------------------------------------- selection

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without gutters and without the line breaks of wrapping."""
        total = self._total
        if not total:
            return None
        start, end = selection
        first, low = (start.y, start.x) if start is not None else (0, 0)
        last, high = (end.y, end.x) if end is not None else (total - 1, None)
        return copied(self._rows(first, min(last, total - 1)), low, high), "\n"

    def _rows(self, first: int, last: int) -> list[Line]:
        """Rows between two visible rows; blocks between them in full, also where their height is a guess."""
        heights = self._heights
        if first >= heights.total:
            return self._tail_lines[first - heights.total : last - heights.total + 1]
        index, skip = heights.find(first)
        lines: list[Line] = []
        start = heights.start(index)
        while index < len(heights) and start <= last:
            block = [BLANK] * self._gap(index) + self._draw(index).lines
            lines += block[: last - start + 1] if index in self._exact else block
            start += heights[index]
            index += 1
        return lines[skip:] + self._tail_lines[: max(0, last - heights.total + 1)]

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint the selection."""
        self.refresh()

    # -------------------------------------------------------------- moving

    def toggle_details(self) -> None:
        """Fold or unfold what stands below actions."""
        self._full = not self._full
        self._rewrap(self._width)

    def action_scroll_up(self) -> None:
        """One row up."""
        self._go(self.scroll_offset.y - 1)

    def action_scroll_down(self) -> None:
        """One row down."""
        self._go(self.scroll_offset.y + 1)

    def action_page_up(self) -> None:
        """A page up, less one row."""
        self._go(self.scroll_offset.y - max(1, self.size.height - 1))

    def action_page_down(self) -> None:
        """A page down, less one row."""
        self._go(self.scroll_offset.y + max(1, self.size.height - 1))

    def action_half_page_up(self) -> None:
        """Half a page up."""
        self._go(self.scroll_offset.y - max(1, self.size.height // 2))

    def action_half_page_down(self) -> None:
        """Half a page down."""
        self._go(self.scroll_offset.y + max(1, self.size.height // 2))

    def action_home(self) -> None:
        """To the first row."""
        self._go(0)

    def action_end(self) -> None:
        """To the last row, and follow from here on."""
        self._follow = True
        self._settle()
