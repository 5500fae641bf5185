"""Copies of file contents, and undo as a plan over receipts.

`Blobs` keeps bytes by their hash, written before the change that they protect. `plan` turns the receipts
of the event log (there is no other list) into what would have to happen to each file, without doing it:
a file that somebody changed since is named, never overwritten unasked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.core.types import FileChange, Receipt
from tui_agent.workspace.faults import Reach, nothing
from tui_agent.workspace.files import sha256

MAX_TOTAL = 256 * 1024 * 1024
"""Bytes that the copies of one session may take."""
UNKNOWN = ""
"""Stands for bytes that nobody knew, in `FileChange`."""


@dataclass(slots=True)
class Blobs:
    """Content-addressed bytes in a private folder, or in memory when `folder` is None."""

    folder: Path | None = None
    limit: int = MAX_TOTAL
    reach: Reach = nothing
    _memory: dict[str, bytes] = field(default_factory=dict)
    _used: int | None = None

    def put(self, data: bytes) -> str | None:
        """Keep bytes; None when they are kept, else the reason why not (the limit, a full disk)."""
        name = sha256(data)
        if name in self:
            return None
        if self._size() + len(data) > self.limit:
            return f"the copies of this session reached their limit of {self.limit // 2**20} MiB"
        if self.folder is None:
            self._memory[name] = data
        else:
            try:
                self._write(self.folder, name, data)
            except OSError as error:
                return f"the copy could not be written: {error.strerror or error}"
        self._used = self._size() + len(data)
        return None

    def get(self, name: str) -> bytes | None:
        """The bytes with this hash, None when they are not held or have been damaged."""
        if self.folder is None:
            return self._memory.get(name)
        try:
            data = (self.folder / name).read_bytes()
        except OSError:
            return None
        return data if sha256(data) == name else None

    def __contains__(self, name: str) -> bool:
        return name in self._memory if self.folder is None else (self.folder / name).is_file()

    def _size(self) -> int:
        if self._used is None:
            entries = self.folder.iterdir() if self.folder and self.folder.is_dir() else ()
            self._used = sum(entry.stat().st_size for entry in entries)
        return self._used

    def _write(self, folder: Path, name: str, data: bytes) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = folder / f".{name[:16]}-{os.urandom(4).hex()}.tmp"
        self.reach("blob")
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(fd)
            temporary.replace(folder / name)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


# ------------------------------------------------------------------ undo

State: TypeAlias = Literal["ready", "same", "changed", "lost", "command"]


@dataclass(frozen=True, slots=True)
class Restore:
    """What undo would do to one file.

    `target` is the hash it goes back to, `now` the hash it has, None where there is no file. `state`:
    "ready": undo is exact; "same": nothing to do; "changed": somebody changed it since, undo would overwrite that
    and needs a yes for this file; "lost": its old bytes are not held; "command": changed by a command that
    nobody watched, cannot be restored.
    """

    path: str
    target: str | None
    now: str | None
    state: State

    @property
    def words(self) -> str:
        """The state as a person reads it."""
        return _WORDS[self.state]

    @property
    def possible(self) -> bool:
        """Whether undo can do it at all."""
        return self.state in {"ready", "changed"}


_WORDS: dict[State, str] = {
    "ready": "will be restored",
    "same": "is as it was already",
    "changed": "was changed since; undo would overwrite that",
    "lost": "cannot be restored: its old content is not held",
    "command": "changed by a command, cannot be restored",
}


def plan(
    receipts: Sequence[Receipt], current: Callable[[str], str | None], held: Callable[[str], bool]
) -> tuple[Restore, ...]:
    """What it takes to undo these receipts (oldest first, the newest being the last that happened), by path.

    `current` gives the hash of a file now, `held` tells whether bytes are kept. Undo of an undo is redo.
    """
    first: dict[str, str | None] = {}
    last: dict[str, str | None] = {}
    broken: set[str] = set()
    for change in _changes(receipts):
        if change.path in last and last[change.path] != change.before:
            broken.add(change.path)  # somebody changed it between two of our changes
        first.setdefault(change.path, change.before)
        last[change.path] = change.after
    steps = []
    for path, target in first.items():
        now = current(path)
        state: State = "ready"
        if target == UNKNOWN:
            state = "command"
        elif now == target:
            state = "same"
        elif target is not None and not held(target):
            state = "lost"
        elif path in broken or now != last[path]:
            state = "changed"
        steps.append(Restore(path, None if target == UNKNOWN else target, now, state))
    return tuple(steps)


def _changes(receipts: Sequence[Receipt]) -> Iterator[FileChange]:
    for receipt in receipts:
        if receipt.path is not None and receipt.before != receipt.after:
            yield FileChange(receipt.path, receipt.before, receipt.after)
        yield from receipt.changed
