"""The files of a review as they are found, and which of them is shown."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from time import monotonic

from tui_agent.review import Base, Entry
from tui_agent.ui.review_text import Sums

DRAW_EVERY = 0.1
"""Seconds between two pictures while files are being found."""


@dataclass(slots=True)
class FoundFiles:
    """The entries in order, their sums, and the place of the one that is shown."""

    entries: list[Entry] = field(default_factory=list)
    sums: Sums = field(default_factory=Sums)
    at: int = 0

    @property
    def entry(self) -> Entry | None:
        """The file that is shown."""
        return self.entries[self.at] if self.at < len(self.entries) else None

    def step(self, step: int) -> str:
        """Go to the next (1) or previous (-1) file; a word when that went round the end or there is no other file."""
        if len(self.entries) < 2:
            return "There is no other file." if self.entries else ""
        to = self.at + step
        self.at = to % len(self.entries)
        if 0 <= to < len(self.entries):
            return ""
        return "From the last file to the first." if step > 0 else "From the first file to the last."

    async def find(self, files: Callable[[Base], AsyncIterator[Entry]], base: Base) -> AsyncGenerator[bool]:
        """Take the entries as they come and keep to the one that is shown, or to its file where that is gone.

        Yields when something is to be drawn: True when another entry is the one that is shown.
        """
        before = self.entry
        self.entries, self.sums, last = [], Sums(), 0.0
        shown = False
        async with aclosing(files(base)) as found:  # type: ignore[type-var]
            async for entry in found:
                self.entries.append(entry)
                self.sums = self.sums.plus(entry)
                if not shown and (before is None or entry.key == before.key):
                    shown, self.at = True, len(self.entries) - 1
                    yield True
                elif monotonic() - last > DRAW_EVERY:
                    last = monotonic()
                    yield False
        self.sums = replace(self.sums, more=False)
        if not shown:
            same = (n for n, entry in enumerate(self.entries) if before is not None and entry.path == before.path)
            self.at = next(same, max(0, min(self.at, len(self.entries) - 1)))
        yield not shown
