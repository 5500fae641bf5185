"""Copies of file contents, and undo as a plan over receipts.

`Blobs` keeps bytes by their hash, written before the change that they protect. `plan` turns the receipts
of the event log (there is no other list) into what would have to happen to each file, without doing it:
a file that somebody changed since is named, never overwritten unasked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.core.disk import is_folder, ordinary, private_folder
from tui_agent.core.receipt import LINK, FileChange, Receipt
from tui_agent.workspace.faults import Reach, nothing
from tui_agent.workspace.files import Identity, identity, sha256

MAX_TOTAL = 256 * 1024 * 1024
"""Bytes that the copies of one session may take."""
UNKNOWN = ""
"""Stands for bytes that nobody knew, in `FileChange`."""
UNREADABLE = "unreadable"
"""Stands for the hash of a file that may not be read."""


@dataclass(slots=True)
class Blobs:
    """Content-addressed bytes in a private folder, or in memory when `folder` is None."""

    folder: Path | None = None
    limit: int = MAX_TOTAL
    reach: Reach = nothing
    _memory: dict[str, bytes] = field(default_factory=dict)
    _used: int | None = None
    _sound: dict[str, Identity] = field(default_factory=dict)

    def put(self, data: bytes, name: str = "") -> str | None:
        """Keep bytes; None when they are kept, else the reason why not (the limit, a full disk).

        `name` may be shorter than their whole hash, which is what they are called without one.
        """
        name = name or sha256(data)
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
            data = ordinary(self.folder / name)
        except OSError:
            return None
        return data if sha256(data).startswith(name) else None

    def __contains__(self, name: str) -> bool:
        """Whether these bytes can be given back: a damaged copy is none. Each is read once, and again when its stat changed."""
        if self.folder is None:
            return name in self._memory
        try:
            now = identity((self.folder / name).stat())
        except OSError:
            return False
        if self._sound.get(name) != now and self.get(name) is not None:
            self._sound[name] = now
        return self._sound.get(name) == now

    def _size(self) -> int:
        if self._used is None:
            entries = self.folder.iterdir() if self.folder and is_folder(self.folder) else ()
            self._used = sum(entry.stat().st_size for entry in entries)
        return self._used

    def _write(self, folder: Path, name: str, data: bytes) -> None:
        private_folder(folder)
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

State: TypeAlias = Literal["ready", "same", "changed", "unsure", "lost", "command", "link"]


@dataclass(frozen=True, slots=True)
class Restore:
    """What undo would do to one file.

    `target` is the hash it goes back to, `now` the hash it has, None where there is no file. `state`:
    "ready": undo is exact; "same": nothing to do; "changed": somebody changed it since, undo would overwrite that
    and needs a yes for this file; "unsure": so does this, because nobody saw who did it; "lost": its old bytes are not held; "command": changed by a command that
    nobody watched, cannot be restored; "link": a link stands there now. `mode` are the permission bits that it
    gets, None where they stay. `folders` were
    made for it and go with it when they are empty. `bits` are the permission bits that the file has, None where nobody looked.
    """

    path: str
    target: str | None
    now: str | None
    state: State
    mode: int | None = None
    folders: tuple[str, ...] = ()
    bits: int | None = None

    @property
    def words(self) -> str:
        """The state as a person reads it."""
        return "stays: a link" if self.state == "link" and self.target is None else _WORDS[self.state]

    @property
    def asks(self) -> bool:
        """Whether it needs a yes for this file."""
        return self.state in {"changed", "unsure"}

    @property
    def possible(self) -> bool:
        """Whether undo can do it at all."""
        return self.state == "ready" or self.asks


_WORDS: dict[State, str] = {
    "ready": "will be restored",
    "same": "is as it was already",
    "changed": "was changed since; undo would overwrite that",
    "unsure": "may be yours; undo would overwrite that",
    "lost": "cannot be restored: its old content is not held",
    "command": "changed by a command, cannot be restored",
    "link": "cannot be restored: a link has taken its place",
}


def plan(
    receipts: Sequence[Receipt],
    current: Callable[[str], str | None],
    held: Callable[[str], bool],
    mode: Callable[[str], int | None] = lambda _: None,
) -> tuple[Restore, ...]:
    """What it takes to undo these receipts (oldest first, the newest being the last that happened), by path.

    `current` gives the hash of a file now, `mode` its permission bits, `held` tells whether bytes are kept. Undo of an
    undo is redo.
    """
    first: dict[str, FileChange] = {}
    last: dict[str, FileChange] = {}
    broken: set[str] = set()
    unsure: set[str] = set()
    for change in (change for receipt in receipts for change in receipt.files):
        if change.path in last and last[change.path].after != change.before:  # between two of our changes
            (unsure if change.before == UNKNOWN else broken).add(change.path)
        unsure |= {change.path} if change.unsure else set()
        first.setdefault(change.path, change)
        last[change.path] = change
    made = folders(receipts)
    steps = []
    for path, change in first.items():
        target, end = change.before, last[path]
        modes = FileChange(path, target, end.after, change.mode, end.new_mode).modes
        now, bits = current(path), mode(path)
        state: State = "ready"
        if modes and target == end.after and now is not None and not now.startswith(LINK):
            target = now  # its bytes were not touched, nor are they now
            still = now in {end.after, UNREADABLE} or end.after == UNKNOWN
            state = "same" if bits == modes[0] else "ready" if bits == modes[1] and still else "changed"
        elif now == target and (not modes or bits == modes[0]) and target != UNKNOWN:
            state = "same"
        elif target is not None and target.startswith(LINK):
            state = "command"
        elif now is not None and now.startswith(LINK):
            state = "link"
        elif target == UNKNOWN:
            state = "lost" if path in unsure else "command"
        elif target is not None and now != target and not held(target):
            state = "lost"
        elif path in broken or now != end.after or (modes and bits != modes[1]) or _locked(bits, end.new_mode):
            state = "changed"
        if state == "ready" and path in unsure:
            state = "unsure"
        above = tuple(folder for folder in made if path.startswith(f"{folder}/"))
        if state == "command" or target == UNKNOWN:
            target = None
        steps.append(Restore(path, target, now, state, change.mode if modes or now is None else None, above, bits))
    return tuple(steps)


def _locked(now: int | None, then: int | None) -> bool:
    """Whether a file can be written by nobody that could be before, as far as is known."""
    return now is not None and not now & 0o222 and (then is None or bool(then & 0o222))


def folders(receipts: Iterable[Receipt]) -> tuple[str, ...]:
    """The folders that were made for files, each once."""
    return tuple(dict.fromkeys(folder for receipt in receipts for folder in receipt.folders))
