"""The pane beside the transcript: what this session changed, the plan, and the files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from tui_agent.core.display import label
from tui_agent.core.fold import Change
from tui_agent.ui.tree import FileTree


def changes_text(changes: Mapping[str, Change], width: int) -> Text:
    """One line a file: mark, path, counts at the right; the count of files in the title."""
    text = Text("CHANGED", no_wrap=True, overflow="crop")
    text.stylize("bold")
    if not changes:
        text.append("\n  nothing yet", "dim")
    for path, change in changes.items():
        counts = [f"{sign}{n}" for sign, n in (("+", change.added), ("-", change.removed)) if n]
        taken = len(" ".join(counts))
        name = label(path, max(6, width - 7 - taken))
        text.append(f"\n  {change.mark} {name}{' ' * max(1, width - 5 - cell_len(name) - taken)}")
        for number, count in enumerate(counts):
            text.append(" " * bool(number) + count, "green" if count[0] == "+" else "red")
    return text


def plan_text(items: tuple[tuple[str, str], ...], width: int) -> Text:
    """One line an item: its state as a word, then what it is."""
    text = Text("PLAN", no_wrap=True, overflow="crop")
    text.stylize("bold")
    for status, what in items:
        style = {"now": "bold", "done": "dim"}.get(status, "")
        text.append(f"\n  {label(status, 5):<5} {label(what, max(6, width - 9))}", style)
    return text


class _Lines(Widget):
    def on_resize(self) -> None:
        self.refresh(layout=True)


class Changes(_Lines):
    """The files that this session changed."""

    changes: reactive[Mapping[str, Change]] = reactive(dict, layout=True)

    def render(self) -> Text:
        """The list at today's width."""
        return changes_text(self.changes, self.size.width)


class Plan(_Lines):
    """The to-do list of the model; hidden while there is none."""

    items: reactive[tuple[tuple[str, str], ...]] = reactive((), layout=True)

    def watch_items(self, items: tuple[tuple[str, str], ...]) -> None:
        """Show the pane only when there is a plan."""
        self.display = bool(items)

    def render(self) -> Text:
        """The list at today's width."""
        return plan_text(self.items, self.size.width)


class SidePane(Vertical):
    """Changes, plan and files, one below the other."""

    def __init__(self, root: Path) -> None:
        super().__init__(id="side")
        self._changes, self._plan = Changes(), Plan()
        self.files = FileTree(root)

    def compose(self) -> ComposeResult:
        """The three parts."""
        yield self._changes
        yield self._plan
        yield Static(Text("FILES", "bold"), markup=False)
        yield self.files

    def show(self, changes: Mapping[str, Change], plan: tuple[tuple[str, str], ...]) -> None:
        """Bring changes, plan and the marks in the tree up to date."""
        self._changes.changes = changes
        self._plan.items = plan
        self.files.mark_changed({path: change.mark for path, change in changes.items()})
