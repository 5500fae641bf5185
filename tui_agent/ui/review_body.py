"""The file that the review shows: its difference, below a line about it."""

from __future__ import annotations

import asyncio

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from tui_agent.review import Entry, Notes
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.looks import Looks
from tui_agent.ui.wrap_view import WrapView


class Body(Vertical):
    """Holds one difference at a time. `view` is None where there is nothing to compare."""

    def __init__(self, looks: Looks) -> None:
        super().__init__(id="review-body")
        self.view: DiffView | None = None
        self._looks = looks
        self._entry: Entry | None = None
        self._hunk = 0
        self._changing = asyncio.Lock()

    @property
    def entry(self) -> Entry | None:
        """The file that is shown: `view` is its difference."""
        return self._entry

    def compose(self) -> ComposeResult:
        """The line about the file."""
        yield Static(id="review-file", markup=False)

    async def show(self, entry: Entry | None) -> None:
        """Show a file, or none; one that is as it is shown stays as it is, and in one that changed the cursor's hunk stays."""
        async with self._changing:  # a key and a change of a file may come together, and each would mount its own
            await self._change(entry)

    async def _change(self, entry: Entry | None) -> None:
        old, before = self.view, self._entry
        if old is not None and entry == before:
            return
        same = old is not None and entry is not None and before is not None and entry.path == before.path
        self._hunk = old.cursor_hunk if same and old is not None else 0
        self.view, self._entry = None, entry
        if old is not None:
            await old.remove()
        if entry is not None and entry.known:
            self.view = DiffView(entry.base, entry.now, path=entry.path, looks=self._looks)
            await self.mount(self.view)

    def enter(self, step: int) -> None:
        """Go to the first hunk (1) or the last one (-1) when all are there."""
        self._hunk = step

    def arrive(self, view: WrapView) -> None:
        """Go where the person wanted to, once everything of this view is there."""
        if self._hunk and view is self.view and self.view.complete:
            hunk, self._hunk = self._hunk, 0
            self.view.go_to(hunk if hunk > 0 else len(self.view.hunks))

    def mark(self, notes: Notes) -> None:
        """The lines with a note carry a mark; notes are about what was applied."""
        if self._entry is not None and self.view is not None and not self._entry.proposed:
            self.view.mark_noted(notes.places(self._entry))
