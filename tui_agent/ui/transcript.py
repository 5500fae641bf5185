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

from tui_agent.core.events import Event, Unknown, UserSaid
from tui_agent.core.types import TextDelta
from tui_agent.ui.blocks import Story
from tui_agent.ui.highlight import warm_up
from tui_agent.ui.layout import Layout
from tui_agent.ui.lines import STYLES, Line, width_of
from tui_agent.ui.selection import copied

FRAME = 1 / 20
"""Seconds between two repaints while events arrive."""

KEPT = 1_000
"""Rows whose strips are kept, at one width and in one theme."""


class Transcript(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows events. Follows the end while the reader is there, and otherwise keeps still."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"transcript--{name}" for name in STYLES}

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
        self._layout = Layout(self._story)
        self._strips: LRUCache[Line, Strip] = LRUCache(KEPT)
        self._styles: dict[str, Style] = {}
        self._follow = True
        self._settling = False
        self._painting = False
        self._timer: Timer | None = None
        self._last = 0.0
        self._armed = False
        self._warm = False
        self._flood = False

    # -------------------------------------------------------------- events in

    def feed(self, event: Event | Unknown) -> None:
        """Take the next event. Costs the same whatever came before."""
        self._inbox.append(event)
        if self._timer is None or self._armed:
            return
        self._armed = True
        if monotonic() - self._last > FRAME:
            self.call_next(self._flush)
        self._timer.resume()
        if isinstance(event, UserSaid) and not self._warm:
            self._warm = True
            self.run_worker(warm_up, thread=True, group="transcript.highlight")

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

    def _tick(self) -> None:
        if self._flood and all(isinstance(event, TextDelta) for event in self._inbox):
            self._flood = False  # more than can be read: every second frame will do
        elif self._inbox:
            self._flush()
        elif self._timer is not None:
            self._timer.pause()
            self._armed = False

    def _flush(self) -> None:
        """Fold what arrived and bring the screen up to date."""
        if not self._layout.width:
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
        """After a change of the story: size, position, and the rows to repaint."""
        top = self.scroll_offset.y
        changed = self._layout.update()
        self._settle()
        self._flood = self.scroll_offset.y - top >= self.size.height // 2
        if self.scroll_offset.y == top:
            self._refresh_from(changed)

    def _refresh_from(self, row: int) -> None:
        """Repaint the visible rows from one on."""
        y = max(0, row - self.scroll_offset.y)
        width, height = self.size
        if y < height:
            self.refresh(Region(0, y, width, height - y))

    def _settle(self) -> None:
        """Make what is visible exact, keep the reader's place or the end, tell the size."""
        if self._settling or not self._layout.width:
            return
        self._settling = True
        try:
            self._set_size()
            if self._follow or self.scroll_offset.y > self.max_scroll_y:
                self._go(self.max_scroll_y)
            while (shift := self._layout.measure(top := self.scroll_offset.y, top + self.size.height)) is not None:
                self._set_size()
                self._go(self.max_scroll_y if self._follow else top + shift)
        finally:
            self._settling = False
        self.below = max(0, self._layout.total - self.scroll_offset.y - self.size.height)

    def _set_size(self) -> None:
        size = Size(self._layout.width, self._layout.total)
        if size == self.virtual_size:
            return
        # Assigning it would lay out and repaint the whole screen; without a scrollbar nothing depends on it.
        self.set_reactive(Transcript.virtual_size, size)

    def _go(self, row: float) -> None:
        self.scroll_to(y=row, animate=False, immediate=True, force=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The reader, or a change of size, moved the view."""
        super().watch_scroll_y(old_value, new_value)
        if not self._settling:
            # One row up lets go; one row short of the end, coming down, takes hold.
            self._follow = new_value >= self.max_scroll_y - (new_value > old_value)
            self._settle()

    def watch_below(self, below: int) -> None:
        """Tell the footer."""
        self.post_message(self.BelowChanged(self, below))

    def on_resize(self, event: events.Resize) -> None:
        """Wrap again: what is visible now, the rest when it is looked at."""
        width = self.scrollable_content_region.width
        if width != self._layout.width:
            self._rewrap(width, self._layout.full)
            self._flush()
        else:
            self._settle()

    def _rewrap(self, width: int, full: bool) -> None:
        """Lay out anew; the block at the top of the view stays there."""
        top = self._layout.rewrap(width, full, self.scroll_offset.y)
        self._strips.clear()
        self._settling = True
        self._set_size()
        self._go(top)
        self._settling = False
        self._settle()
        self.refresh()

    # -------------------------------------------------------------- drawing

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
        line = self._layout.line(row)
        selection = self.text_selection
        span = selection.get_span(row) if selection is not None else None
        strip = self._strips.get(line) if span is None else None
        if strip is None:
            strip = self._strip(line, span)
            if span is None:
                self._strips[line] = strip
        return strip if self._painting else strip.apply_offsets(0, row)

    def _strip(self, line: Line, span: tuple[int, int] | None = None) -> Strip:
        segments: list[Segment] = []
        padding = self._layout.width - width_of(line.pieces)
        # Fewer segments are fewer bytes: neighbours of one style are written as one.
        for text, name in (*line.pieces, (" " * padding, "")):
            style = self._style(name)
            if segments and segments[-1].style is style:
                segments[-1] = Segment(segments[-1].text + text, style)
            elif text:
                segments.append(Segment(text, style))
        strip = Strip(segments, max(self._layout.width, self._layout.width - padding))
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
        return strip.crop(0, self._layout.width) if padding < 0 else strip

    def _style(self, name: str) -> Style:
        style = self._styles.get(name)
        if style is None:
            style = self.get_component_rich_style(f"transcript--{name}") if name else self.rich_style
            self._styles[name] = style
        return style

    def notify_style_update(self) -> None:
        """Colours changed: rows stay, strips go."""
        super().notify_style_update()
        self._styles.clear()
        self._strips.clear()
        self.refresh()

    # -------------------------------------------------------------- selection

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without gutters and without the line breaks of wrapping."""
        total = self._layout.total
        if not total:
            return None
        start, end = selection
        first, low = (start.y, start.x) if start is not None else (0, 0)
        last, high = (end.y, end.x) if end is not None else (total - 1, None)
        return copied(self._layout.between(first, min(last, total - 1)), low, high), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint the selection."""
        self.refresh()

    # -------------------------------------------------------------- moving

    def toggle_details(self) -> None:
        """Fold or unfold what stands below actions."""
        self._rewrap(self._layout.width, not self._layout.full)

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
