"""The transcript: one line-API widget that shows a session as it happens and as it was.

`feed` only notes an event; one timer, which sleeps while nothing happens, draws at most 20 times a
second. Blocks are drawn when they are looked at; until then their height is a guess, and when the guess is
put right above the reader's eyes the view moves with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from time import monotonic
from typing import ClassVar, Literal, TypeAlias

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tui_agent.core.events import Event, Unknown, UserSaid
from tui_agent.core.types import TextDelta
from tui_agent.ui.actions import ACTIONS
from tui_agent.ui.entries import entry
from tui_agent.ui.highlight import warm_up
from tui_agent.ui.layout import Layout, Switch
from tui_agent.ui.lines import STYLES
from tui_agent.ui.story import Story
from tui_agent.ui.strips import Strips

Detail: TypeAlias = Literal["compact", "normal", "full"]

FRAME = 1 / 20
"""Seconds between two repaints while events arrive."""


def into_view(rows: range, top: int, height: int) -> int:
    """Where a view of `height` rows at `top` moves to, to show these rows; of too many, those that come first on the way."""
    if rows.start < top:
        return max(0, rows.start - 1 if len(rows) < height else rows.stop - height)
    return min(rows.start, rows.stop + 1 - height) if rows.stop > top + height else top


def bindings() -> Iterator[BindingType]:
    """The keys of the transcript and of a card in it; a key of both is the card's while there is one."""
    for scope, verb in (("card", "card"), ("transcript", "act")):
        for a in ACTIONS:
            if a.scope == scope:
                yield Binding(",".join(a.keys), f"screen.{verb}('{a.id}')", a.title, show=False, id=a.id)


class Transcript(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows events. Follows the end while the reader is there, and otherwise keeps still."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"transcript--{name}" for name in STYLES}

    BINDINGS: ClassVar[list[BindingType]] = [*bindings()]

    below: reactive[int] = reactive(0, repaint=False)
    """Rows below the last visible one; none while something else covers it."""

    marked: reactive[range] = reactive(range(0), repaint=False)
    """Visible rows of the entry with the cursor, from 0 at the top of the view."""

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
        self.strips = Strips(self)
        self._chosen: int | None = None
        self._follow = True
        self.news = 0
        """Rows that came since the reader left the end."""
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

    def restart(self) -> None:
        """Forget everything: another session is shown from here on."""
        self._inbox, self._story, self._follow, self._chosen = [], Story(), True, None
        self._layout, before = self._layout.of(self._story), self._layout
        self._rewrap(before.width, before.full)

    def say_keys(self, say: Callable[[str], str]) -> None:
        """Name the keys as this does from now on."""
        self._layout.say = say
        self._layout.forget()
        self._rewrap(self._layout.width, self._layout.full)

    def show_detail(self, detail: Detail) -> None:
        """What stands below actions from now on, before anything is unfolded by hand."""
        self._layout.compact = detail == "compact"
        self._layout.forget()
        self._rewrap(self._layout.width, detail == "full")

    @property
    def story(self) -> Story:
        """What is shown, as blocks."""
        return self._story

    @property
    def rows(self) -> Layout:
        """Where the blocks are."""
        return self._layout

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
        top, total = self.scroll_offset.y, self._layout.total
        changed = self._layout.update()
        self.news += self._layout.total - total
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
        height = self.size.height if self.display else 0
        self.below = max(0, self._layout.total - self.scroll_offset.y - height) if height else 0
        self.news = 0 if self._follow else max(0, min(self.news, self.below))
        self._mark()

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

    def on_show(self) -> None:
        """It is looked at again, or no more."""
        self._settle()

    on_hide = on_show

    def on_resize(self, event: events.Resize) -> None:
        """Wrap again: what is visible now, the rest when it is looked at."""
        width = max(1, self.scrollable_content_region.width)  # a terminal may leave it none
        if width != self._layout.width:
            self._rewrap(width, self._layout.full)
            self._flush()
        else:
            self._settle()

    def _rewrap(self, width: int, full: bool) -> None:
        """Lay out anew; the block at the top of the view stays there."""
        top = self._layout.rewrap(width, full, self.scroll_offset.y)
        self.strips.forget()
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
        selection = self.text_selection
        span = selection.get_span(row) if selection is not None else None
        strip = self.strips.draw(self._layout.line(row), self._layout.width, span)
        return strip if self._painting else strip.apply_offsets(0, row)

    def notify_style_update(self) -> None:
        """Colours changed: rows stay, strips go."""
        super().notify_style_update()
        self.strips.forget(styles=True)
        self.refresh()

    # -------------------------------------------------------------- selection

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without gutters and without the line breaks of wrapping."""
        return (self._layout.selected(*selection), "\n") if self._layout.total else None

    def selection_updated(self, selection: Selection | None) -> None:
        """Paint the selection."""
        self.refresh()

    # -------------------------------------------------------------- the cursor

    @property
    def cursor(self) -> range | None:
        """The blocks of the entry with the cursor, None without any: the one that was chosen while it is in view."""
        top = self.scroll_offset.y
        return self._layout.entry_in(top, top + self.size.height, self._chosen)

    def choose(self, index: int, row: int | None = None) -> None:
        """Put the cursor on the entry with block `index`, and that, or row `row` of the block, where it can be seen."""
        self._chosen = index
        for _ in range(2):  # the first time heights above may be guesses
            if row is None:
                rows = self._layout.span(entry(self._story, index))
            else:
                start = self._layout.span(range(index, index + 1)).start + row
                rows = range(start, start + 1)
            self._go(into_view(rows, self.scroll_offset.y, self.size.height))
        self._mark()

    def switch(self, blocks: range, what: Switch) -> None:
        """Show some blocks that stand together in another manner; their first row stays where it is."""
        self._layout.switch(blocks, what)
        self._settle()
        self.refresh()

    def _mark(self) -> None:
        """Tell which rows the cursor is on, while the keys come here."""
        here = self.cursor if self.has_focus else None
        rows = self._layout.span(here) if here is not None else range(0)
        top, height = self.scroll_offset.y, self.size.height
        self.marked = range(max(0, rows.start - top), max(0, min(height, rows.stop - top)))

    def watch_has_focus(self, value: bool) -> None:
        """The cursor is shown while the keys come here; the next time it is at the end of what is seen."""
        super().watch_has_focus(value)
        if not value:  # who sends the keys here may have chosen already
            self._chosen = None
        self._mark()

    # -------------------------------------------------------------- moving

    def toggle_details(self) -> None:
        """Fold or unfold what stands below all actions."""
        self._rewrap(self._layout.width, not self._layout.full)

    def scroll_rows(self, rows: int) -> None:
        """Move the view, down by a positive number."""
        self._go(self.scroll_offset.y + rows)

    def scroll_pages(self, pages: float) -> None:
        """Move the view by pages, each less one row."""
        self.scroll_rows(round(pages * max(1, self.size.height - 1)))

    def to_start(self) -> None:
        """To the first row."""
        self._chosen = 0
        self._go(0)

    def to_end(self) -> None:
        """To the last row, and follow from here on."""
        self._follow, self._chosen = True, None
        self._settle()


class CursorBar(Widget):
    """The column beside a transcript in which its cursor stands; it is drawn alone when the cursor goes."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {"cursor-bar--mark"}

    def __init__(self, transcript: Transcript) -> None:
        super().__init__()
        self._transcript = transcript

    def on_mount(self) -> None:
        """Follow the cursor."""
        self.watch(self._transcript, "marked", self.follow, init=False)

    def follow(self) -> None:
        """The cursor went."""
        self.refresh()

    def render(self) -> Text:
        """A bar beside each row of the entry."""
        marked, style = self._transcript.marked, self.get_component_rich_style("cursor-bar--mark")
        rows = range(self.size.height)
        return Text("\n").join(Text("▌", style) if row in marked else Text(" ") for row in rows)
