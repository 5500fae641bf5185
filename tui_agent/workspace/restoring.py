"""Taking changes back: what an undo would do to each file, and doing it."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tui_agent.core.receipt import LINK, FileChange, Receipt
from tui_agent.core.types import (
    Outcome,
    ToolCall,
)
from tui_agent.tools.arguments import ToolError
from tui_agent.workspace import committed
from tui_agent.workspace.files import permissions, sha256, stale
from tui_agent.workspace.receipts import UNKNOWN, UNREADABLE, Restore, State, plan
from tui_agent.workspace.running import Run
from tui_agent.workspace.writing import Change, Writing

_GOES: frozenset[State] = frozenset({"ready", "same", "changed", "unsure"})
"""What undo takes away, or finds gone, where the file is not to be."""


@dataclass(frozen=True, slots=True)
class Restoring:
    """Undo and redo in one workspace. `run` starts git, for bytes that only it holds."""

    writing: Writing
    run: Run

    async def plan(self, receipts: tuple[Receipt, ...], *, git: bool) -> tuple[Restore, ...]:
        """What undoing these receipts would do to each file; `git`: git may be run for what only it holds."""
        receipts = tuple([replace(r, changed=await self._fetched(r.changed, git=git)) for r in receipts])
        return await asyncio.to_thread(
            lambda: plan(receipts, self._hash, self.writing.memory.blobs.__contains__, self.mode)
        )

    async def _fetched(self, changes: tuple[FileChange, ...], *, git: bool) -> tuple[FileChange, ...]:
        """The changes with objects of git turned into copies we hold, or into unknown bytes."""
        fetched = []
        for change in changes:
            if change.before is None or not change.before.startswith(committed.PREFIX):
                fetched.append(change)
                continue
            name = change.before.removeprefix(committed.PREFIX)
            data = await committed.content(self.writing.disk.anchor.root, name, self.run) if git else None
            kept = data is not None and self.writing.memory.blobs.put(data) is None
            fetched.append(replace(change, before=sha256(data) if data is not None and kept else UNKNOWN))
        return tuple(fetched)

    async def at_head(self, paths: Sequence[str]) -> dict[str, bytes | None] | None:
        """What git's newest commit holds at these paths, as far as it can be given exactly; None without a commit."""
        root = self.writing.disk.anchor.root
        names = await committed.at_head(root, paths, self.run)
        if names is None:
            return None
        return {path: await committed.content(root, name, self.run) for path, name in names.items()}

    async def undo(self, step: Restore) -> Outcome:
        """Carry out one step of a plan if its file still is as the plan saw it; what failed is named for the person."""
        return replace(await self._undone(step), summary=f"{step.path} was not restored")

    async def _undone(self, step: Restore) -> Outcome:
        if step.target is not None and step.target == step.now and step.mode is not None:
            return await self._permit(step, step.mode)
        outcome = await self.writing.make(lambda: self._back(step))
        if outcome.receipt is None:
            return outcome
        await self.tidy((step,))
        return replace(outcome, text=f"restored {step.path}" if outcome.status == "applied" else outcome.text)

    async def tidy(self, steps: Sequence[Restore]) -> None:
        """Remove the folders that were made for files which are not to be, those that are empty."""
        made = [folder for step in steps if step.target is None and step.state in _GOES for folder in step.folders]
        await asyncio.to_thread(self.writing.disk.remove_empty, dict.fromkeys(made))

    def _back(self, step: Restore) -> Change:
        self.writing.disk.remove_empty((step.path,) if step.now is None else ())  # a folder may be where it was
        place = self.writing.writable(step.path)
        found = self.writing.disk.content(place)
        base = found[0] if found else None
        locked = base is not None and step.bits not in {
            None,
            self.mode(step.path),
        }  # or otherwise permitted than was shown
        if (None if base is None else sha256(base)) != step.now or locked:
            raise stale(place)
        new = None if step.target is None else self.writing.memory.blobs.get(step.target)
        if step.target is not None and new is None:
            raise ToolError(f"{place.path} cannot be restored: its old content is not held any more")
        call = ToolCall(self.writing.new_id(), "undo", {"path": place.path})
        return replace(self.writing.change(call, place, base, new, by="key", mode=step.mode), locked=True)

    async def _permit(self, step: Restore, mode: int) -> Outcome:
        """Give a file the permissions that it had; its bytes stay."""
        new_id, path, now = self.writing.new_id, step.path, step.now
        was = await asyncio.to_thread(self.mode, path)
        receipt = Receipt(new_id(), new_id(), "undo", {"path": path}, path, now, now, by="key", mode=was, new_mode=mode)
        return await self.writing.begin(receipt, lambda: self._permitted(step, receipt, mode))

    def _permitted(self, step: Restore, receipt: Receipt, mode: int) -> Outcome:
        place = self.writing.writable(step.path)
        if (self._hash(step.path), self.mode(step.path)) != (step.now, step.bits):
            raise stale(place)
        self.writing.disk.permit(place, mode)
        return Outcome("applied", f"restored {place.path}", receipt)

    def versions(self, step: Restore) -> tuple[bytes | None, bytes | None]:
        """The bytes of a step before and after it."""
        try:
            found = self.writing.disk.content(self.writing.disk.anchor.resolve(step.path))
        except (OSError, ToolError):
            found = None
        now = found[0] if found else None
        if step.target == step.now:  # only its permissions are others
            return now, now
        return now, None if step.target is None else self.writing.memory.blobs.get(step.target)

    def _hash(self, path: str) -> str | None:
        info = self._lstat(path)
        if info is None or stat.S_ISDIR(info.st_mode):
            return None
        try:
            if stat.S_ISLNK(info.st_mode):
                return LINK + os.fspath(self._path(path).readlink())
            found = self.writing.disk.content(self.writing.disk.anchor.resolve(path))
        except (OSError, ToolError):
            return UNREADABLE
        return sha256(found[0]) if found else None

    def mode(self, path: str) -> int | None:
        """The permission bits of what stands at a path now, None where there is nothing."""
        info = self._lstat(path)
        return None if info is None else permissions(info)

    def _lstat(self, path: str) -> os.stat_result | None:
        try:
            return self._path(path).lstat()
        except OSError:
            return None

    def _path(self, path: str) -> Path:
        return Path(self.writing.disk.anchor.root, path)
