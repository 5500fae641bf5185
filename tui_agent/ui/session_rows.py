"""What the list of sessions shows of each: pure functions of its summary, and the view that scrolls them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from rich.text import Text
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui_agent.core.display import label, plain
from tui_agent.summaries import Summary
from tui_agent.ui.numbers import money, thousands

WIDE, MEDIUM = 100, 60
"""Cells from which on a row has all its columns, and from which on it is one line."""
FOLDER = 20
"""Cells of a row that the name of another folder may take."""

State = Callable[[Summary], str]
"""How a session stands now: "open here", "open elsewhere", else ""."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A session in the list; `depth`: how many forks it is away from one that is not."""

    one: Summary
    depth: int = 0
    folder: str = ""
    """The name of its folder, where that is another than `here`."""


def arranged(found: Sequence[Summary], here: Path | None = None) -> list[Entry]:
    """Forks behind the session they left, where that is in the list too; otherwise the order stays."""
    ids = {one.id for one in found}
    forks: dict[str, list[Summary]] = {}
    for one in found:
        if one.parent in ids and one.parent != one.id:
            forks.setdefault(one.parent or "", []).append(one)
    out: list[Entry] = []
    placed: set[str] = set()

    def put(one: Summary, depth: int) -> None:
        if one.id not in placed:
            placed.add(one.id)
            out.append(Entry(one, depth, Path(one.cwd).name if elsewhere(one, here) else ""))
            for fork in forks.get(one.id, ()):
                put(fork, depth + 1)

    for one in found:
        if one.parent not in ids or one.parent == one.id:
            put(one, 0)
    for one in found:  # a ring of parents can only come from edited files
        put(one, 0)
    return out


def elsewhere(one: Summary, here: Path | None) -> bool:
    """Whether a session belongs to another folder."""
    return here is not None and one.cwd not in {"", str(here)}


def when(at: float, now: float) -> str:
    """A time for the eye: "14:02 today", "yesterday", "12 Nov", "12 Nov 2024"."""
    if not at:
        return "?"
    then, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now)  # noqa: DTZ006 - the person's own clock
    if then.date() == today.date():
        return f"{then:%H:%M} today"
    if then.date() == (today - timedelta(days=1)).date():
        return "yesterday"
    return f"{then.day} {then:%b}" if then.year == today.year else f"{then.day} {then:%b %Y}"


def name(one: Summary) -> str:
    """The name of a session, or its first message in quotes."""
    title = one.title if one.names else f"“{one.title}”" if one.title else "(nothing said)"
    was = f"   (was {one.names[-2]})" if len(one.names) > 1 else ""
    where = f" (from message {one.turn})" if one.parent and one.turn else " (fork)" if one.parent else ""
    return f"{title}{where}{was}"


def standing(one: Summary, state: str) -> str:
    """The last column: what the person should know first."""
    waits = f"{one.waiting} approval{'s' * (one.waiting != 1)} waiting" if one.waiting else ""
    return "damaged" if one.damage else state or waits


def short(said: str) -> str:
    """The last column in one word."""
    return said.rsplit(maxsplit=1)[-1] if said else ""


def turns(count: int) -> str:
    """A number of turns in words."""
    return f"{count} turn{'s' * (count != 1)}"


def row(entry: Entry, width: int, now: float, state: str, *, chosen: bool = False) -> list[Text]:
    """The lines of a session at this width: one, or two where it is narrow."""
    one, sign = entry.one, "› " if chosen else "  "
    indent = "  " * max(0, entry.depth - 1) + "└ " * (entry.depth > 0)
    said = standing(one, state)
    warns = "bold" if one.damage or one.waiting else "dim"
    if width < MEDIUM:
        first = Text(sign + indent + label(name(one), max(4, width - 3 - len(indent))), no_wrap=True, end="")
        rest = "   ".join(filter(None, (when(one.changed, now), turns(one.turns), said, entry.folder)))
        return [first, Text(label(f"    {' ' * len(indent)}{rest}", width), "dim", no_wrap=True, end="")]
    if width < WIDE:
        right = [(f"{turns(one.turns):>9}", "dim"), (f"{money(one.cost):>8}", "dim"), (f"  {short(said):<10}", warns)]
        left = 13
    else:
        files = str(one.touched) if one.touched else "-"
        right = [
            (f"{one.turns:>5}", "dim"),
            (f"{files:>7}", "dim"),
            (f"{money(one.cost):>9}", "dim"),
            (f"   {label(one.model, 16):<16}", "dim"),
            (f"  {said:<18}", warns),
        ]
        left = 14
    room = max(8, width - 2 - left - sum(len(text) for text, _ in right) - 1)
    line = Text(sign, no_wrap=True, end="")
    time = when(one.changed, now)
    line.append(f"{indent}{time.removesuffix(' today') if indent else time}"[: left - 1].ljust(left), "dim")
    where = label(entry.folder, min(FOLDER, room // 2)) if entry.folder else ""
    line.append(label(name(one), room - len(where) - 2 * bool(where)))
    line.append(f"  {where}" if where else "", "dim")
    line.pad_right(max(0, 2 + left + room - line.cell_len))
    for text, style in right:
        line.append(text, style)
    line.truncate(width)
    return [line]


def heading(width: int) -> str:
    """What the columns are, where there are several."""
    if width < WIDE:
        return ""
    return f"  {'when':<14}{'name':<{max(8, width - 77)}}{'turns':>5}{'files':>7}{'cost':>9}   {'model':<16}  state"


def details(one: Summary, width: int, now: float, here: Path | None = None) -> list[Text]:
    """What stands below the list: the end of the session, its folder where that is another one, and what it touched."""
    lines: list[Text] = []
    tokens = f", {thousands(one.tokens)} tokens" if one.tokens else ""
    last = f"last: {when(one.changed, now)}{tokens}"
    title = label(name(one), max(8, width - len(last) - 4))
    head = Text(title, "bold", no_wrap=True, end="")
    head.pad_right(max(1, width - head.cell_len - len(last)))
    head.append(last, "dim")
    lines.append(head)
    if one.damage:
        lines.append(Text(label(f"damaged: {one.damage}", width), "bold"))
    if elsewhere(one, here):
        lines.append(Text(label(f"in {one.cwd}", width)))
    if one.last:
        lines.append(Text(label(f"› {one.last}", width)))
    if one.answer:
        lines.append(Text(label(f"  {one.answer}", width), "dim"))
    if one.files:
        more = f"  and {one.touched - len(one.files)} more" if one.touched > len(one.files) else ""
        named = "  ".join(plain(file, "path") for file in one.files)
        lines.append(Text(f"{label(f'touched: {named}', width - len(more))}{more}", "dim"))
    return lines


class SessionRows(ScrollView):
    """The list: draws only what is seen, so that thousands of sessions cost what a screenful does."""

    class Chosen(Message):
        """A session was clicked."""

    def __init__(self, state: State, now: Callable[[], float]) -> None:
        super().__init__(id="session-rows")
        self._entries: Sequence[Entry] = ()
        self._state, self._now = state, now
        self.index = 0
        """The number of the entry under the cursor."""

    @property
    def current(self) -> Summary | None:
        """The session under the cursor, None when the list is empty."""
        return self._entries[self.index].one if self._entries else None

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._entries)

    @property
    def _height(self) -> int:
        return 2 if self.scrollable_content_region.width < MEDIUM else 1

    def show(self, entries: Sequence[Entry], at: str | None = None) -> None:
        """Show these, with the cursor on the session `at` where it is among them."""
        self._entries = entries
        self.index = next((n for n, entry in enumerate(entries) if entry.one.id == at), 0)
        self.on_resize()

    def on_resize(self) -> None:
        """Fit the new width."""
        self.virtual_size = Size(self.scrollable_content_region.width, len(self._entries) * self._height)
        self.move(self.index)

    def move(self, index: int) -> None:
        """Put the cursor on an entry, as near as there is one, and bring it into view."""
        self.index = max(0, min(index, len(self._entries) - 1))
        self.scroll_to_region(Region(0, self.index * self._height, 1, self._height), animate=False, force=True)
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where it was clicked."""
        if self._entries:
            self.move((event.y + self.scroll_offset.y) // self._height)
            self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width, height = self.scrollable_content_region.width, self._height
        index, part = divmod(y + self.scroll_offset.y, height)
        if index >= len(self._entries):
            return Strip.blank(width, self.rich_style)
        entry, chosen = self._entries[index], index == self.index
        text = row(entry, width, self._now(), self._state(entry.one), chosen=chosen)[part]
        if chosen:
            text.stylize("bold")
        strip = Strip(text.render(self.app.console), text.cell_len)
        return strip.adjust_cell_length(width).apply_style(self.rich_style)
