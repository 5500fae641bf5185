"""The palette: one list to choose from by typing, for all actions as for providers and models.

The list is data that the app gives; the answer is the id of the chosen item, or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, Static

from tui_agent.core.display import plain
from tui_agent.ui.actions import Scope
from tui_agent.ui.field import Field
from tui_agent.ui.fuzzy import match
from tui_agent.ui.keymap import Keymap
from tui_agent.ui.modal import Modal, bindings

NARROW = 50
"""Below this many cells there are no headings, and a hint that does not fit gets a line of its own."""

_GAP = re.compile(" {3,}")
_PRINTABLE = r"[^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]*"


@dataclass(frozen=True, slots=True)
class PaletteItem:
    """One thing to choose.

    `hint` stands at the right (keys, a price); `note` is told when the item is under the cursor:
    what choosing it does, or why it is not `enabled`. `also` are other names that it is found by, and that are not shown.
    """

    id: str
    title: str
    hint: str = ""
    group: str = ""
    enabled: bool = True
    note: str = ""
    also: str = ""


def keys_in(scope: Scope, own: Keymap) -> list[PaletteItem]:
    """The actions of one place, with the keys of the person."""
    return [PaletteItem(a.id, a.title, own.keys(a)) for a in own.actions if a.scope == scope and a.listed]


@dataclass(frozen=True, slots=True)
class Found:
    """An item that fits what was typed, and the offsets in its title that made it fit."""

    item: PaletteItem
    offsets: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the list; `index` is the number of the item, None for headings and gaps."""

    index: int | None
    left: str = ""
    right: str = ""


def search(items: Iterable[PaletteItem], query: str) -> list[Found]:
    """Return the items that fit every word of `query`, best first, those of one group together.

    A word may fit the title, the hint, the group or another name. An empty query keeps the given order.
    """
    words = query.lower().split()
    scored = [(score, found) for item in items for score, found in _fit(item, words)]
    best: dict[str, float] = {}
    for score, found in scored:
        best[found.item.group] = max(score, best.get(found.item.group, 0.0))
    rank = {group: number for number, group in enumerate(sorted(best, key=lambda group: -best[group]))}
    scored.sort(key=lambda pair: (rank[pair[1].item.group], -pair[0]))
    return [found for _, found in scored]


def _fit(item: PaletteItem, words: Sequence[str]) -> Iterator[tuple[float, Found]]:
    """Yield the item with its score if every word fits somewhere; letters may be scattered in the title only."""
    total = 0.0
    offsets: set[int] = set()
    for word in words:
        in_title = match(word, item.title) or (0.0, ())
        elsewhere = (match(word, text) or (0.0, ()) for text in (item.hint, item.group, item.also))
        score = max(in_title[0], *(0.6 * score for score, _ in elsewhere if score > 1), 0.0)
        if not score:
            return
        total += score
        offsets.update(in_title[1])
    yield total, Found(item, frozenset(offsets))


def layout(found: Sequence[Found], width: int, columns: Mapping[str, str]) -> list[Line]:
    """Arrange the found items in rows of `width` cells; `columns` heads the hints of a group."""
    lines: list[Line] = []
    narrow = width < NARROW
    for group, members in groupby(enumerate(found), key=lambda pair: pair[1].item.group):
        if group and not narrow:
            if lines:
                lines.append(Line(None))
            lines.append(Line(None, group.upper(), columns.get(group, "")))
        for index, entry in members:
            item = entry.item
            if narrow and Text(item.title).cell_len + Text(item.hint).cell_len + 4 > width:
                lines += [Line(index, item.title), Line(index, "", _GAP.sub("  ", item.hint.strip()))]
            else:
                lines.append(Line(index, item.title, item.hint))
    return lines


class PaletteRows(ScrollView, can_focus=False):
    """The list itself: draws the rows that are seen and knows the one under the cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "palette-rows--cursor",
        "palette-rows--heading",
        "palette-rows--hint",
        "palette-rows--match",
        "palette-rows--disabled",
    }

    @dataclass
    class Picked(Message):
        """The row of item `index` was clicked."""

        index: int

    def __init__(self, columns: Mapping[str, str]) -> None:
        super().__init__()
        self._columns = columns
        self._found: Sequence[Found] = ()
        self._lines: list[Line] = []
        self.index = 0
        """The number of the item under the cursor."""

    @property
    def current(self) -> PaletteItem | None:
        """The item under the cursor, None when the list is empty."""
        return self._found[self.index].item if self._found else None

    def show(self, found: Sequence[Found]) -> None:
        """Show other items, the cursor on the first."""
        self._found = found
        self.index = 0
        self._arrange()

    def cuts(self, item: PaletteItem) -> bool:
        """Whether a title has no room in its row."""
        width = self.scrollable_content_region.width
        beside = Text(item.hint).cell_len + 2 if item.hint and width >= NARROW else 0
        return 0 < width - 2 - beside < Text(item.title).cell_len

    def move(self, index: int) -> None:
        """Put the cursor on item `index` and scroll it into view."""
        self.index = index
        rows = [row for row, line in enumerate(self._lines) if line.index == index]
        if rows:
            # The heading above the first item comes along: nothing else would ever scroll to it.
            top = 0 if index == 0 else rows[0]
            self.scroll_to_region(Region(0, top, 1, rows[-1] - top + 1), animate=False, force=True)
        self.refresh()

    def on_resize(self) -> None:
        """Arrange for the new width."""
        self._arrange()

    def on_click(self, event: events.Click) -> None:
        """Tell which item was clicked."""
        row = event.y + self.scroll_offset.y
        index = self._lines[row].index if row < len(self._lines) else None
        if index is not None:
            self.post_message(self.Picked(index))

    def render_line(self, y: int) -> Strip:
        """Draw one row."""
        row = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if row >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        line = self._lines[row]
        if line.index is None:
            style = self._component("heading")
            text = _row("  ", Text(line.left, style), Text(line.right, style), width)
        else:
            text = self._item_row(line, line.index, width)
        strip = Strip(text.render(self.app.console), text.cell_len)
        return strip.adjust_cell_length(width).apply_style(self.rich_style)

    def _item_row(self, line: Line, index: int, width: int) -> Text:
        entry = self._found[index]
        style = Style() if entry.item.enabled else self._component("disabled")
        title = Text(line.left, style)
        for offset in entry.offsets if line.left else ():
            title.stylize(self._component("match"), offset, offset + 1)
        chosen = index == self.index
        hint = Text(line.right, style + self._component("hint"))
        text = _row("› " if chosen else "  ", title, hint, width) if line.left else _row("    ", hint, Text(), width)
        if chosen:
            text.stylize(self._component("cursor"))
        return text

    def _arrange(self) -> None:
        width = self.scrollable_content_region.width
        self._lines = layout(self._found, width, self._columns)
        self.virtual_size = Size(width, len(self._lines))
        self.move(self.index)

    def _component(self, name: str) -> Style:
        return self.get_component_rich_style(f"palette-rows--{name}", partial=True)


def _row(sign: str, left: Text, right: Text, width: int) -> Text:
    """Put `right` at the right end; `left` gives way."""
    room = max(0, width - len(sign))
    right.truncate(room, overflow="ellipsis")
    left.truncate(max(0, room - right.cell_len - (2 if right else 0)), overflow="ellipsis")
    gap = " " * (room - left.cell_len - right.cell_len)
    return Text.assemble(sign, left, gap, right, no_wrap=True, end="")


ACTS = {
    "list.up": "move(-1)",
    "list.down": "move(1)",
    "list.page_up": "page(-1)",
    "list.page_down": "page(1)",
    "list.choose": "choose",
    "list.leave": "back",
}
"""What the screen does for each action of a list."""


class Palette(Modal[str | None]):
    """Choose one of `items`; the result is its id, or None.

    `title` says what is chosen, `verb` what Enter does, `columns` heads the hints of a group; `moved` is told the id
    of the item under the cursor; `query` is what the search begins with.
    Titles, hints and notes may come from outside: they are made safe here.
    """

    # Textual declares it without ClassVar.
    HORIZONTAL_BREAKPOINTS = [(0, "-page"), (NARROW, "-wide"), (110, "-centred")]  # noqa: RUF012

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("list", ACTS.__getitem__)]

    def __init__(
        self,
        items: Iterable[PaletteItem],
        *,
        title: str = "Type to find a command",
        verb: str = "choose",
        columns: Mapping[str, str] | None = None,
        moved: Callable[[str], None] = lambda _: None,
        query: str = "",
    ) -> None:
        super().__init__()
        self._items = [
            replace(
                item,
                title=plain(item.title, "title"),
                hint=plain(item.hint, "title"),
                group=plain(item.group, "title"),
                note=plain(item.note, "title"),
            )
            for item in items
        ]
        self._title = title
        self._verb = verb
        self._moved = moved
        self._query = query
        self._shown = 0
        self._rows = PaletteRows(columns or {})
        self._note = Static(id="palette-note", markup=False)
        self._count = Static(id="palette-count", markup=False)

    def compose(self) -> ComposeResult:
        """Build the dialog: what is typed, the list, what the chosen item means, the keys."""
        query = Field(self._query, placeholder=self._title, select_on_focus=False, max_length=200, restrict=_PRINTABLE)
        with Container(id="palette-band"), Vertical(id="palette"):
            with Horizontal(id="palette-query"):
                yield Static("› ", id="palette-prompt")
                yield query
                yield self._count
            yield self._rows
            yield self._note
        yield Static(f"↑↓ choose   Enter {self._verb}   Esc back", id="palette-keys", markup=False)

    def on_mount(self) -> None:
        """Show every item that fits."""
        self._filter(self._query)

    def on_resize(self, event: events.Resize) -> None:
        """Keep the frame still while the list shrinks and grows under it: its height depends on all items."""
        width, height = event.size
        around = 6 if width < NARROW else 12  # the frame, the query, the note, and the composer that stays in view
        self.call_after_refresh(self._tell)  # what has room is known by then
        self._rows.styles.height = max(1, min(len(layout(search(self._items, ""), width, {})), height - around))

    async def on_key(self, event: events.Key) -> None:
        """What is typed at once is for the search."""
        await self.query_one(Field).take_early(event)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._filter(event.value)

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_choose()

    @on(PaletteRows.Picked)
    def _picked(self, event: PaletteRows.Picked) -> None:
        event.stop()
        self._move_to(event.index)
        self.action_choose()

    def action_move(self, step: int) -> None:
        """Go to the next item, from the last to the first."""
        if self._shown:
            self._move_to((self._rows.index + step) % self._shown)

    def action_page(self, step: int) -> None:
        """Go a screenful of items on, and no further than the end."""
        if self._shown:
            far = self._rows.index + step * max(1, self._rows.size.height - 1)
            self._move_to(max(0, min(far, self._shown - 1)))

    def action_back(self) -> None:
        """Choose nothing."""
        self.dismiss(None)

    def _filter(self, query: str) -> None:
        found = search(self._items, query)
        self._shown = len(found)
        self._rows.show(found)
        self._count.update(f"{self._shown} of {len(self._items)}")
        self._query = query
        self._tell()

    def _move_to(self, index: int) -> None:
        self._rows.move(index)
        self._tell()

    def _tell(self) -> None:
        item = self._rows.current
        if item is not None:
            cut = item.title if self._rows.cuts(item) and not (item.note and item.note in item.title) else ""
            self._note.update("\n".join(filter(None, (cut, item.note))))
            self._moved(item.id)
        elif self._items:
            self._note.update(f"Nothing fits “{self._query.strip()}”. Backspace widens the search, Esc goes back.")
        else:
            self._note.update("There is nothing to choose here. Esc goes back.")

    def action_choose(self) -> None:
        """Choose what is under the cursor, if it can be."""
        item = self._rows.current
        if item is not None and item.enabled:
            self.dismiss(item.id)
