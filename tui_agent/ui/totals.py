"""How much all changes of one question are together, counted while the first one is already shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from tui_agent.core.diff import compare
from tui_agent.core.types import ApprovalRequest, WriteBytes

SLICE = 0.008
"""Seconds of work between two turns of the event loop."""


class Totals:
    """The files of a question and their added and removed lines; `words` is "" when there is only one."""

    def __init__(self, requests: tuple[ApprovalRequest, ...]) -> None:
        self._effects = [request.effect for request in requests if isinstance(request.effect, WriteBytes)]
        self._files = len({effect.path for effect in self._effects})
        self._added = self._removed = 0
        self._more = "…"

    @property
    def words(self) -> str:
        """The sums in words, with a mark while there is more to count."""
        if len(self._effects) < 2:
            return ""
        files = f"{self._files} file{'s' * (self._files != 1)}"
        return f"all {len(self._effects)} edits: {files} +{self._added:,} -{self._removed:,}{self._more}"

    async def count(self, changed: Callable[[], None]) -> None:
        """Count, giving way often; `changed` is called at the end."""
        start = monotonic()
        for effect in self._effects if len(self._effects) > 1 else ():
            for hunk in compare(effect.base, effect.new, 0):
                if hunk is not None:
                    self._added += hunk.added
                    self._removed += hunk.removed
                if monotonic() - start > SLICE:
                    await asyncio.sleep(0)
                    start = monotonic()
        self._more = ""
        changed()
