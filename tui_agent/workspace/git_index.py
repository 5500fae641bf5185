"""The index of a git repository, read as a file: no program runs for it."""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tui_agent.core.disk import beginning
from tui_agent.core.types import AgentError

MAX_BYTES = 64 * 1024 * 1024
STAGES = 0x3000
"""Bits of `Entry.flags` that are set for a path with a conflict."""
_EXTENDED = 0x4000
_LINK, _FOLDER = 0xE0, 0x40
"""The upper bits of the second byte of a mode: another repository, and a folder that a sparse index does not take apart."""
_LONG = 0xFFF
"""A length of a name that only says: at least this."""
_ODD = "an index that git may take apart otherwise"
_LONGEST = 1 << 16
"""Bytes of a path: of longer ones, each a little longer than the one before, an index may hold very many."""
_YOUNG = 1_000_000_000
"""Nanoseconds."""
MOST_FOLDERS = 10_000
"""Folders that are looked through for repositories that an index does not name."""


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
        if end < 0 or len(kept) + end - begin > _LONGEST:
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


def gitlinks(mark: Path, hash_size: int = 20, bases: Iterable[Path] = ()) -> set[str]:
    """The paths at which a repository, whose `.git` is `mark`, holds others: git enters them by itself.

    Of a folder that a sparse index only names as one, it is each repository that stands below it, in `mark.parent` or
    one of the `bases`.

    Raises:
        UnreadableIndexError: there are some that cannot be found out.
    """
    found, tops = set(), {mark.parent, *bases}
    for kind, path in _in_indexes(mark, hash_size):
        place = path.decode("utf-8", "surrogateescape")
        found |= {place} if kind == _LINK else {f"{place}/{each}" for top in tops for each in below(top / place)}
    return found


def enters(mark: Path) -> bool:
    """Whether the index of a repository may hold others, also one that cannot be taken apart."""
    try:
        return any(True for _ in _in_indexes(mark, 20))
    except UnreadableIndexError:
        return True


def below(folder: Path, most: int = MOST_FOLDERS) -> set[str]:
    """The folders below this one that hold a `.git`, as git would name them from here, "" for itself.

    Raises:
        UnreadableIndexError: there are more folders than are looked through.
    """
    found, todo, looked = set(), [""], 0
    while todo:
        place = todo.pop()
        looked += 1
        if looked > most:
            raise UnreadableIndexError("more folders than are looked through may be repositories")
        with contextlib.suppress(OSError), os.scandir(folder / place) as entries_here:
            for entry in entries_here:
                if entry.name == ".git":
                    found.add(place)
                elif entry.is_dir(follow_symlinks=False):
                    todo.append(f"{place}{entry.name}/")
    return found


def _no_files(data: bytes, hash_size: int) -> Iterator[tuple[int, bytes]]:
    """(type, path) of the repositories and folders in an index, taken apart as git does: by the lengths that it tells.

    Only the upper bits of a mode say what an entry is. The loop is bare, for an index may hold very many files.
    """
    if len(data) == MAX_BYTES:
        raise UnreadableIndexError("an index that is not read wholly may name repositories")
    if len(data) < 12 or data[:4] != b"DIRC" or (version := int.from_bytes(data[4:8])) not in {2, 3, 4}:
        return
    at, path, name_at = 12, b"", 42 + hash_size
    for _ in range(int.from_bytes(data[8:12])):
        begin = at + name_at
        if begin + 2 > len(data):
            raise UnreadableIndexError(_ODD)
        kind, high = data[at + 26] & 0xF0, data[begin - 2]
        length = (high & 0x0F) << 8 | data[begin - 1]
        if high & 0x40:  # extended
            begin += 2
        kept = 0
        if version == 4:
            dropped, begin = _number(data, begin)
            kept = len(path) - dropped
        end = data.find(b"\0", begin)
        if end - begin + kept > _LONGEST:
            raise UnreadableIndexError(_ODD)
        if end < 0 or kept < 0 or (length != _LONG and kept + end - begin != length):
            raise UnreadableIndexError(_ODD)
        if version == 4:
            path = path[:kept] + data[begin:end]
            at = end + 1
        else:
            at += (end - at + 8) // 8 * 8
        if kind in {_LINK, _FOLDER}:
            path = path if version == 4 else data[begin:end]
            if not path:
                raise UnreadableIndexError(_ODD)
            yield kind, path


def _in_indexes(mark: Path, hash_size: int) -> Iterator[tuple[int, bytes]]:
    shared = []
    with contextlib.suppress(OSError), os.scandir(mark) as found:
        shared = sorted(mark / entry.name for entry in found if entry.name.startswith("sharedindex."))
    for file in (mark / "index", *shared):
        with contextlib.suppress(OSError):
            info = file.stat()
            state = info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns
            # who changes it later cannot give it this time again; one as young as the clock is coarse, perhaps
            read = _read if time.time_ns() - info.st_ctime_ns > _YOUNG else _read.__wrapped__
            yield from read(file, state, hash_size)


@lru_cache(maxsize=64)
def _read(file: Path, _state: tuple[int, ...], hash_size: int) -> tuple[tuple[int, bytes], ...]:
    """The same of one file; before each command it is asked for, and seldom another one."""
    return tuple(_no_files(beginning(file, MAX_BYTES) or b"", hash_size))
