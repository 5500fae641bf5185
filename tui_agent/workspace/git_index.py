"""The index of a git repository, read as a file: no program runs for it."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tui_agent.core.disk import beginning
from tui_agent.core.types import AgentError

MAX_BYTES = 64 * 1024 * 1024
STAGES = 0x3000
"""Bits of `Entry.flags` that are set for a path with a conflict."""
_EXTENDED = 0x4000
_LINK_MODE = 0o160000
_MARK = _LINK_MODE.to_bytes(4, "big")


class UnreadableIndexError(AgentError):
    """An index names other repositories in a way that is not read."""


class Entry(NamedTuple):
    """One entry: `stat` is ctime s and ns, mtime s and ns, device, inode, mode, uid, gid, size, 32 bits each."""

    stat: tuple[int, ...]
    name: bytes
    flags: int
    path: bytes


def entries(data: bytes, hash_size: int = 20) -> Iterator[Entry]:
    """The entries of an index of version 2, 3 or 4; what cannot be read ends it early."""
    fixed = struct.Struct(f">10I{hash_size}sH")
    if len(data) < 12 or data[:4] != b"DIRC" or (version := int.from_bytes(data[4:8])) not in {2, 3, 4}:
        return
    at, path = 12, b""
    for _ in range(int.from_bytes(data[8:12])):
        if at + fixed.size > len(data):
            return
        *stat, name, flags = fixed.unpack_from(data, at)
        begin = at + fixed.size + (2 if flags & _EXTENDED else 0)
        kept = b""
        if version == 4:  # begins with how much of the path before is dropped
            dropped, begin = _number(data, begin)
            kept = path[: max(0, len(path) - dropped)]
        end = data.find(b"\0", begin)
        if end < 0:
            return
        path = kept + data[begin:end]
        yield Entry(tuple(stat), name, flags, path)
        at = end + 1 if version == 4 else at + (end - at + 8) // 8 * 8


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = data[at] & 0x7F if at < len(data) else 0
    while at < len(data) and data[at] & 0x80:
        at += 1
        value = (value + 1 << 7) + (data[at] & 0x7F if at < len(data) else 0)
    return value, at + 1


def gitlinks(mark: Path, hash_size: int = 20) -> set[str]:
    """The paths at which a repository, whose `.git` is `mark`, holds others: git enters them by itself.

    Raises:
        UnreadableIndexError: there are some that cannot be found out.
    """
    found = set()
    for data in _with_links(mark):  # fast: only an index with such an entry is taken apart
        links = {entry.path for entry in entries(data, hash_size) if entry.stat[6] == _LINK_MODE}
        if b"" in links or len(data) == MAX_BYTES:
            raise UnreadableIndexError("an index that is not read wholly names repositories")
        found |= {link.decode("utf-8", "surrogateescape") for link in links}
    return found


def enters(mark: Path) -> bool:
    """Whether the index of a repository may hold others, also one that cannot be taken apart."""
    return any(True for _ in _with_links(mark))


def _with_links(mark: Path) -> Iterator[bytes]:
    shared = []
    with contextlib.suppress(OSError), os.scandir(mark) as found:
        shared = sorted(mark / entry.name for entry in found if entry.name.startswith("sharedindex."))
    for file in (mark / "index", *shared):
        data = beginning(file, MAX_BYTES) or b""
        if _MARK in data or len(data) == MAX_BYTES:
            yield data
