"""The pane beside the transcript: what this session changed, the plan, and the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, TypeAlias, TypeVar

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from tui_agent.core.display import label, plain
from tui_agent.core.fold import Change
from tui_agent.ui.tree import FileTree

Item = TypeVar("Item")


LOW = 16
"""Below so many rows of the pane each list above the files is one row."""
BETWEEN = 4
"""Rows between the lists, and for what heads the files."""
PLAN: TypeAlias = tuple[tuple[str, str], ...]
"""The to-do list of the model: (state, what) of each item."""


def shares(height: int, changes: int, plan: int) -> tuple[int, int]:
    """Rows for the lists of changes and plan that want so many: the files keep half of the pane, and what stands between them."""
    if height < LOW:
        return min(changes, 1), min(plan, 1)
    room = (height - BETWEEN) // 2
    mine = min(changes, max(room - plan, room // 2))
    return mine, min(plan, room - mine)


def changes_text(changes: Mapping[str, Change], width: int, rows: int, styles: tuple[Style, Style]) -> Text:
    """One line a file: mark, path, counts at the right in the `styles` of what was added and removed; in one row the sums."""
    text = Text(no_wrap=True, overflow="crop").append("CHANGED", "bold")
    if rows == 1:
        text.append(f"  {len(changes)} file{'s' * (len(changes) != 1)}" if changes else "  nothing yet")
        sums = Change("", sum(c.added for c in changes.values()), sum(c.removed for c in changes.values()))
        return _counted(text, sums, width, styles)
    if not changes:
        text.append("\n  nothing yet", "dim")
    elif any(change.edits > 1 for change in changes.values()):
        text.append(
            "  +- of all edits", "dim"
        )  # lines that were changed twice count twice; the review has what differs
    shown = _cut(list(changes.items()), rows - 1)
    for path, change in shown:
        taken = sum(len(str(n)) + 2 for n in (change.added, change.removed) if n)
        text.append(f"\n  {change.mark} {label(path, max(6, width - 6 - taken), 'path')}")
        _counted(text, change, width, styles)
    return _and_more(text, len(changes) - len(shown))


def plan_text(items: PLAN, width: int, rows: int) -> Text:
    """One line an item: its state as a word, then what it is; what is done gives way, in one row to the item of now."""
    text = Text(no_wrap=True, overflow="crop").append("PLAN", "bold")
    open_at = next((at for at, (status, _) in enumerate(items) if status != "done"), len(items))
    if rows == 1:
        now = items[open_at][1] if open_at < len(items) else ""
        text.append(f"  {label(f'{open_at} of {len(items)} done  {now}', max(6, width - 6))}")
        return text
    start = max(0, min(open_at - 1, len(items) - (rows - 1)))
    if start:
        text.append(f"  {start} above", "dim")
    shown = _cut(items[start:], rows - 1)
    for status, what in shown:
        style = {"now": "bold", "done": "dim"}.get(status, "")
        text.append(f"\n  {label(status, 5):<5} {label(what, max(6, width - 9))}", style)
    return _and_more(text, len(items) - start - len(shown))


def _cut(items: Sequence[Item], rows: int) -> Sequence[Item]:
    """As many as there are rows, one of which says that there are more."""
    return items if len(items) <= rows else items[: max(0, rows - 1)]


def _and_more(text: Text, more: int) -> Text:
    if more > 0:
        text.append(f"\n  … {more} more", "dim")
    return text


def _counted(text: Text, change: Change, width: int, styles: tuple[Style, Style]) -> Text:
    """The counts at the right end of the last line."""
    counts = [
        (f"{sign}{n}", style) for sign, n, style in zip("+-", (change.added, change.removed), styles, strict=True) if n
    ]
    taken = cell_len(" ".join(count for count, _ in counts))
    text.append(" " * max(1, width - cell_len(text.plain.rpartition("\n")[2]) - taken))
    for number, (count, style) in enumerate(counts):
        text.append(" " * bool(number))
        text.append(count, style)
    return text


class _List(Widget):
    """A list of so many `rows`; hidden when there are none."""

    ALLOW_SELECT = False

    rows: reactive[int] = reactive(0, layout=True)

    def watch_rows(self, rows: int) -> None:
        """Show it only where it has something to say."""
        self.display = rows > 0

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As the pane has given it."""
        return self.rows


class Changes(_List):
    """The files that this session changed."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"changes--added", "changes--removed"}

    changes: reactive[Mapping[str, Change]] = reactive(dict)

    @property
    def wanted(self) -> int:
        """Rows for all of it."""
        return 1 + max(1, len(self.changes))

    def render(self) -> Text:
        """The list at today's width."""
        added, removed = (
            self.get_component_rich_style(f"changes--{name}", partial=True) for name in ("added", "removed")
        )
        return changes_text(self.changes, self.size.width, self.rows, (added, removed))


class Plan(_List):
    """The to-do list of the model."""

    items: reactive[PLAN] = reactive(())

    @property
    def wanted(self) -> int:
        """Rows for all of it, none while there is no plan."""
        return 1 + len(self.items) if self.items else 0

    def render(self) -> Text:
        """The list at today's width."""
        return plan_text(self.items, self.size.width, self.rows)


class SidePane(Vertical):
    """Changes, plan and files, one below the other."""

    def __init__(self, root: Path) -> None:
        super().__init__(id="side")
        self._changes, self._plan = Changes(), Plan()
        self._of_git: Mapping[str, str] = {}
        self.files = FileTree(root)
        self._head = Static(Text("FILES", "bold"), markup=False)

    def compose(self) -> ComposeResult:
        """The three parts."""
        yield self._changes
        yield self._plan
        yield self._head
        yield self.files

    def show(self, changes: Mapping[str, Change], plan: PLAN) -> None:
        """Bring changes, plan and the marks in the tree up to date."""
        other = changes != self._changes.changes
        if other:  # called with every word about the session; there may be many marks
            self._changes.changes = changes
            self.files.mark_changed(marks(self._of_git, changes))
        if other or plan != self._plan.items:
            self._plan.items = plan
            self.share()

    def name_files(self, which: str) -> None:
        """Say at the head of the files which of them are shown, "" for all."""
        self._head.update(
            Text.assemble(("FILES", "bold"), (f"  {plain(which, 'title')}" * bool(which), "dim"), no_wrap=True)
        )

    def on_resize(self) -> None:
        """Another height."""
        self.share()

    def share(self) -> None:
        """Give each list its rows."""
        height = self.size.height
        self.set_class(height < LOW, "-low")
        self._changes.rows, self._plan.rows = shares(height, self._changes.wanted, self._plan.wanted)

    def show_git(self, differing: Mapping[str, str]) -> None:
        """Mark what git says of the files, too: a letter for each that is not as in the newest commit."""
        self._of_git = differing
        self.files.mark_changed(marks(differing, self._changes.changes))


def marks(of_git: Mapping[str, str], changes: Mapping[str, Change]) -> dict[str, str]:
    """A letter for each file that is not as it was, `*` behind it where the session changed it.

    The letter is git's: how the file differs from the newest commit. A new file of the session is A, known to git or not.
    """
    own = {path: change.mark for path, change in changes.items()}
    return {
        path: ("A" if letter == "?" and own.get(path) == "A" else letter) + "*" * (path in own)
        for path, letter in {**own, **of_git}.items()
    }
