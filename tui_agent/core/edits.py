"""What one run changed, by its tools, its commands and its check: the ground on which its answer is judged."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tui_agent.core.diff import written
from tui_agent.core.evidence import Changed
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import Effect, WriteBytes

EVIDENCE_FILES = 200
"""Files changed by commands that are looked at for evidence; what makes more of them is a build."""
UNKNOWN = ""
"""The hash of bytes that nobody had read."""


class Edits:
    """Grows with the receipts of a run. `content` gives the bytes of a file now, None when they cannot be had.

    `by_check` are the files that the check itself changed. `unseen`: some of it no person saw.
    """

    def __init__(self, content: Callable[[str], bytes | None]) -> None:
        self._content = content
        self._by_tools: dict[str, Changed] = {}
        self._by_commands: dict[str, bool] = {}  # whether it is still there
        self._hashes: dict[str, tuple[str | None, str | None]] = {}  # before the run and now
        self._unwatched = False  # a command may have changed others
        self.by_check: dict[str, None] = {}
        self.unseen = False

    def __bool__(self) -> bool:
        """Whether the run changed a file, by a tool or by a command."""
        return bool(self._by_tools or self._by_commands or self._unwatched)

    @property
    def paths(self) -> Collection[str]:
        """The files that are known to have been changed."""
        return dict.fromkeys((*self._by_tools, *self._by_commands))

    def add(self, receipt: Receipt, effect: Effect, chosen: frozenset[int] | None) -> bool:
        """Take what an effect did, of a change of a file the `chosen` hunks; whether that was anything."""
        if not receipt.touched and not receipt.unwatched:
            return False
        self._unwatched = self._unwatched or receipt.unwatched
        for path, before, after in receipt.changes:
            self._hashes[path] = self._hashes.get(path, (before,))[0], after
        if not isinstance(effect, WriteBytes):
            self._by_commands |= {change.path: change.after is not None for change in receipt.changed}
        elif receipt.path is not None:
            first = self._by_tools.get(receipt.path, Changed(effect.base, None)).before
            self._by_tools[receipt.path] = Changed(first, written(effect, chosen))
        self.unseen = self.unseen or receipt.unseen
        return True

    def add_check(self, receipt: Receipt | None) -> None:
        """Take what the check did itself: the files of the run are as it left them; others are no work of the run."""
        for path, _, after in receipt.changes if receipt is not None else ():
            self.by_check.setdefault(path)
            if path in self._hashes:
                self._hashes[path] = self._hashes[path][0], after
                self._by_commands[path] = after is not None

    def evidence(self) -> dict[str, Changed] | None:
        """What was changed, file by file, for `task_evidence`; None when a command left what cannot be looked at.

        What a command's file held before is not known here: then it held nothing, which is never held against the
        model. What is as it was before is no change. Blocks on the disk.
        """
        if self._unwatched or len(self._by_commands) > EVIDENCE_FILES:
            return None
        found = dict(self._by_tools)
        for path, there in self._by_commands.items():
            before = self._by_tools[path].before if path in self._by_tools else None
            now = self._content(path) if there else None
            if there and now is None:
                return None
            found[path] = Changed(before, now)
        return {path: change for path, change in found.items() if not self._is_as_before(path)}

    def _is_as_before(self, path: str) -> bool:
        before, now = self._hashes[path]
        return before == now != UNKNOWN
