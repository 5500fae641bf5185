"""The pane beside the transcript: what this session changed, the plan, and the files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from tui_agent.core.display import label
from tui_agent.core.fold import Change
from tui_agent.ui.tree import FileTree


def changes_text(changes: Mapping[str, Change], width: int, added: Style, removed: Style) -> Text:
    """One line a file: mark, path, counts at the right in the styles of what was added and removed."""
    text = Text("CHANGED", no_wrap=True, overflow="crop")
    text.stylize("bold")
    if not changes:
        text.append("\n  nothing yet", "dim")
    for path, change in changes.items():
        counts = [f"{sign}{n}" for sign, n in (("+", change.added), ("-", change.removed)) if n]
        taken = len(" ".join(counts))
        name = label(path, max(6, width - 7 - taken), "path")
        text.append(f"\n  {change.mark} {name}{' ' * max(1, width - 5 - cell_len(name) - taken)}")
        for number, count in enumerate(counts):
            text.append(" " * bool(number) + count, added if count[0] == "+" else removed)
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
    ALLOW_SELECT = False

    def on_resize(self) -> None:
        self.refresh(layout=True)


class Changes(_Lines):
    """The files that this session changed."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"changes--added", "changes--removed"}

    changes: reactive[Mapping[str, Change]] = reactive(dict, layout=True)

    def render(self) -> Text:
        """The list at today's width."""
        styles = (self.get_component_rich_style(f"changes--{name}", partial=True) for name in ("added", "removed"))
        return changes_text(self.changes, self.size.width, *styles)


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
        self._of_git: Mapping[str, str] = {}
        self.files = FileTree(root)

    def compose(self) -> ComposeResult:
        """The three parts."""
        yield self._changes
        yield self._plan
        yield Static(Text("FILES", "bold"), markup=False)
        yield self.files

    def show(self, changes: Mapping[str, Change], plan: tuple[tuple[str, str], ...]) -> None:
        """Bring changes, plan and the marks in the tree up to date."""
        self._plan.items = plan
        if changes != self._changes.changes:  # called with every word about the session; there may be many marks
            self._changes.changes = changes
            self.files.mark_changed(marks(self._of_git, changes))

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
