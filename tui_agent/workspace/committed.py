"""Files that were clean in git before a command ran, so that what the command did to them can be undone.

The index of the repository is read as a file: it names for each path the stat at which its content was known
and the object that holds it. Only when somebody asks for an undo is git run, to print such an object, and
its bytes count only if they hash to the object's own name.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_agent.workspace.files import Identity
from tui_agent.workspace.running import Run

PREFIX = "git:"
"""Begins the name of bytes that are an object of the repository, in `FileChange.before`."""
_TIMEOUT = 10.0
_MAX_INDEX = 64 * 1024 * 1024
_ENTRY = struct.Struct(">10I20sH")
_EXTENDED, _STAGES = 0x4000, 0x3000
_COMMAND = ("git", "--no-pager", "-c", "protocol.allow=never", "cat-file", "blob")
"""`runner.run` adds what keeps the repository's own programs off; without a protocol nothing is fetched."""


@dataclass(frozen=True, slots=True)
class Tracked:
    """One entry of the index: the object, and the stat of the file whose content it is."""

    name: str
    size: int
    mtime: int
    inode: int

    def is_clean(self, identity: Identity) -> bool:
        """Whether a file of this identity still has the content of the object."""
        size, mtime, inode = identity
        return (self.size, self.mtime, self.inode) == (size & 0xFFFFFFFF, mtime, inode & 0xFFFFFFFF)


def tracked(root: str) -> Mapping[str, Tracked]:
    """The index of a repository whose folder is `root/.git`; empty when there is none that can be read."""
    path = Path(root, ".git", "index")
    try:
        info = path.stat()
        data = path.read_bytes() if info.st_size <= _MAX_INDEX else b""
    except OSError:
        return {}
    entries = parse(data)
    return {name: entry for name, entry in entries.items() if entry.mtime < info.st_mtime_ns}  # younger: not certain


def parse(data: bytes) -> dict[str, Tracked]:
    """The entries of an index of version 2 or 3 with SHA-1 names; what cannot be read ends it early."""
    found: dict[str, Tracked] = {}
    if len(data) < 12 or data[:4] != b"DIRC" or int.from_bytes(data[4:8]) not in {2, 3}:
        return found
    at = 12
    for _ in range(int.from_bytes(data[8:12])):
        if at + _ENTRY.size > len(data):
            break
        _, _, seconds, nanoseconds, _, inode, _, _, _, size, name, flags = _ENTRY.unpack_from(data, at)
        begin = at + _ENTRY.size + (2 if flags & _EXTENDED else 0)
        end = data.find(b"\0", begin)
        if end < 0:
            break
        if not flags & _STAGES:
            path = data[begin:end].decode("utf-8", "surrogateescape")
            found[path] = Tracked(name.hex(), size, seconds * 1_000_000_000 + nanoseconds, inode)
        at += (end - at + 8) // 8 * 8
    return found


async def content(root: str, name: str, run: Run) -> bytes | None:
    """The bytes of an object, None when git cannot give exactly those (binary or very long ones)."""
    result = await run((*_COMMAND, name), cwd=Path(root), timeout=_TIMEOUT, emit=None)
    if result.exit_code != 0:
        return None
    data = result.output.encode("utf-8", "surrogateescape")
    header = b"blob %d\0" % len(data)
    return data if hashlib.sha1(header + data, usedforsecurity=False).hexdigest() == name else None
