"""Files that were clean in git before a command ran, so that what the command did to them can be undone.

The index of the repository is read as a file: it names for each path the stat at which its content was known
and the object that holds it. Only when somebody asks for an undo is git run, to print such an object, and
its bytes count only if they hash to the object's own name.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from tui_agent.core.disk import beginning
from tui_agent.workspace import git, git_index
from tui_agent.workspace.files import Identity
from tui_agent.workspace.running import Run

PREFIX = "git:"
"""Begins the name of bytes that are an object of the repository, in `FileChange.before`."""
_TIMEOUT = 10.0
_YOUNG = 1_000
"""Files that are looked into because the index is no younger than they are: by their stat alone they are not certain."""
_MOST = 1_000_000
"""Bytes of one of them; git is asked for no more either."""
_NAMES = (*git.VIEW, "ls-tree", "-z", "-r", "--", "HEAD")
_STATUS = (*git.VIEW, "status", "--ignore-submodules=all", "--porcelain", "-z", "-uall", "--no-renames", "--", ".")
_ENTRY = re.compile(r"(?P<code>[ MTADUR?]{2}) (?P<path>.+)", re.DOTALL)
_COMMAND = (*git.VIEW, "cat-file", "blob")


@dataclass(frozen=True, slots=True)
class Tracked:
    """One entry of the index: the object, and the stat of the file whose content it is."""

    name: str
    size: int
    mtime: int
    inode: int

    def holds(self, data: bytes) -> bool:
        """Whether these are the bytes of the object."""
        return self.name == object_name(data)

    def is_clean(self, identity: Identity) -> bool:
        """Whether a file of this identity still has the content of the object."""
        size, mtime, inode, _ = identity
        return (self.size, self.mtime, self.inode) == (size & 0xFFFFFFFF, mtime, inode & 0xFFFFFFFF)


def tracked(root: str) -> Mapping[str, Tracked]:
    """What the index of the repository around `root` holds below it; empty when there is none that can be read."""
    found = git.work_tree(Path(root))
    if found is None:
        return {}
    path = found[1] / "index"
    try:
        info = path.stat()
    except OSError:
        return {}
    data = beginning(path, git_index.MAX_BYTES + 1) or b""
    entries = parse(data, _below(found[0], root)) if len(data) <= git_index.MAX_BYTES else {}
    old = {name: entry for name, entry in entries.items() if entry.mtime < info.st_mtime_ns}
    young = islice((name for name in entries if name not in old), _YOUNG)
    return old | {name: entries[name] for name in young if entries[name].holds(_bytes(Path(root, name)))}


def _bytes(path: Path) -> bytes:
    return beginning(path, _MOST) or b""


def _below(top: Path, root: str) -> str:
    """What the paths of a repository have before those of a folder in it."""
    return "".join(f"{part}/" for part in Path(root).relative_to(top).parts)


def parse(data: bytes, below: str = "") -> dict[str, Tracked]:
    """The files of an index with SHA-1 names whose paths begin so, without that; what cannot be read ends it early."""
    found: dict[str, Tracked] = {}
    before = os.fsencode(below)
    for stat, name, flags, path in git_index.entries(data):
        if not flags & git_index.STAGES and path.startswith(before):
            _, _, seconds, nanoseconds, _, inode, _, _, _, size = stat
            found[path[len(before) :].decode("utf-8", "surrogateescape")] = Tracked(
                name.hex(), size, seconds * 1_000_000_000 + nanoseconds, inode
            )
    return found


async def at_head(root: str, paths: Sequence[str], run: Run) -> dict[str, str] | None:
    """The names of the objects that the newest commit holds at these paths; None when there is no commit."""
    result = await run((*_NAMES, *paths), cwd=Path(root), timeout=_TIMEOUT, emit=None)
    if result.exit_code != 0:
        return None
    entries = (entry.partition("\t") for entry in result.output.split("\0") if "\t" in entry)
    return {path: what.split(" ")[2] for what, _, path in entries if what.split(" ")[1:2] == ["blob"]}


async def differing(root: str, run: Run) -> dict[str, str]:
    """The files below `root` that are not as in the newest commit, each with M, A, D, or ? when git does not know it.

    Empty where no git answers. Modules are not entered, and of very many files some are left out.
    """
    found = git.work_tree(Path(root))
    if found is None:
        return {}
    result = await run(_STATUS, cwd=Path(root), timeout=_TIMEOUT, emit=None)
    if result.exit_code != 0:
        return {}
    before = _below(found[0], root)
    entries = filter(None, map(_ENTRY.fullmatch, result.output.split("\0")))
    return {
        entry["path"].removeprefix(before): _letter(entry["code"])
        for entry in entries
        if entry["path"].startswith(before)
    }


def _letter(code: str) -> str:
    """One letter for what git says of a file in two, of its index and of the folder."""
    if code == "??":
        return "?"
    if code[1] == "D" or code == "D ":
        return "D"
    return "A" if code[0] == "A" and code != "AA" else "M"


async def content(root: str, name: str, run: Run) -> bytes | None:
    """The bytes of an object, None when git cannot give exactly those: there is no git, or they are too many."""
    result = await run((*_COMMAND, name), cwd=Path(root), timeout=_TIMEOUT, emit=None)
    if result.exit_code != 0:
        return None
    data = result.output.encode("utf-8", "surrogateescape")
    return data if object_name(data) == name else None


def object_name(data: bytes) -> str:
    """What git calls these bytes, in a repository with SHA-1 names."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
