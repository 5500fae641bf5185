"""What effects really did: the receipts of the log, from which undo, review and evidence are folded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LINK = "link:"
"""Begins, in place of a hash, the target of a symbolic link."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that was changed: sha256 hex before and after, None where no file was or is.

    "" stands for unknown bytes: nobody had read them before the command ran. "git:" and the name of
    an object stand for bytes that were clean in git, "link:" and its target for a symbolic link. `mode` are the
    permission bits before, `new_mode` those after, None where unknown. `unsure`: nobody saw that this effect did it, it may
    be somebody else's.
    """

    path: str
    before: str | None
    after: str | None
    mode: int | None = None
    new_mode: int | None = None
    unsure: bool = False

    @property
    def modes(self) -> tuple[int, int] | None:
        """The permission bits before and after, where they are others."""
        if self.mode is None or self.new_mode is None or self.mode == self.new_mode or self.after is None:
            return None
        return self.mode, self.new_mode


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one effect really did. Hashes are sha256 hex, None where no file was or is; `duration` in seconds.

    `by` says who approved: a key, the rule or the flag that allowed it.
    """

    id: str
    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    path: str | None = None
    before: str | None = None
    after: str | None = None
    exit_code: int | None = None
    duration: float = 0.0
    by: str = ""
    added: int = 0
    removed: int = 0
    changed: tuple[FileChange, ...] = ()
    """Files that a command changed; `path`, `before` and `after` are for the file tools."""
    sandbox: str = ""
    """How a command was confined: bwrap, landlock or none."""
    mode: int | None = None
    """The permission bits of the file at `path` before, None where there was none."""
    unwatched: bool = False
    """A command ran among more files than are watched: it may have changed others, which nobody can restore."""
    folders: tuple[str, ...] = ()
    """Folders that were made for the file at `path`, or by a command, the outermost first."""
    interrupted: bool = False
    """The process died before it could see the end: what it did was found out later."""
    new_mode: int | None = None
    """The permission bits of the file at `path` after, None where there is none or nobody looked."""
    proposed: str | None = None
    """The hash of the whole proposal where the person left hunks of it out: they can be applied later."""

    @property
    def files(self) -> tuple[FileChange, ...]:
        """The files that this effect changed, by a file tool or by a command: their bytes or their permissions."""
        if self.path is None:
            return self.changed
        own = FileChange(self.path, self.before, self.after, self.mode, self.new_mode)
        return (own,) if own.before != own.after or own.modes else ()

    @property
    def changes(self) -> Iterator[tuple[str, str | None, str | None]]:
        """Each file whose bytes this effect changed, with the hashes before and after."""
        if self.path is not None and self.before != self.after:
            yield self.path, self.before, self.after
        for change in self.changed:
            yield change.path, change.before, change.after

    @property
    def touched(self) -> tuple[str, ...]:
        """The paths of `files`."""
        return tuple(change.path for change in self.files)

    @property
    def unseen(self) -> bool:
        """Whether it left bytes in the workspace that no person saw: an edit by flag or rule, or what a command wrote.

        What a command of an allow pattern writes (a test's own files) comes from code that was seen or counted before.
        """
        if not self.touched:
            return False
        return self.by != "key" if self.path is not None else not self.by.startswith("allow pattern")
