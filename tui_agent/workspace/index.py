"""What a command did to the files: an index before it and one after it, and the difference.

An index costs one walk (no file is read), and covers at most 20,000 files that no ignore file excludes, and those that
the session has read whatever is ignored. Both go by the rules that held before: what a command does to an ignore file
neither makes files appear nor hides any.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from tui_agent.core.receipt import LINK
from tui_agent.tools.walk import Ignores, everything
from tui_agent.workspace.files import Identity, identity, permissions

MAX_FILES = 20_000


@dataclass(frozen=True, slots=True)
class Index:
    """The identity of each file by path, and its permission bits; the target of each link; the folders.

    `complete` False: there is more than was looked at. `ignores` are the rules it went by, `also` the paths at which it
    looked besides.
    """

    files: Mapping[str, Identity]
    complete: bool
    modes: Mapping[str, int] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    folders: frozenset[str] = frozenset()
    ignores: Ignores | None = None
    also: tuple[str, ...] = ()

    def at(self, path: str) -> tuple[Identity | None, int | None, str | None]:
        """All that is known of a path."""
        return self.files.get(path), self.modes.get(path), self.links.get(path)


def take(root: str, limit: int = MAX_FILES, *, also: Iterable[str] = (), like: Index | None = None) -> Index:
    """Index the workspace; an unreadable or vanished root gives an empty index.

    `also` are files to look at though they are ignored. `like`: look where that index has looked.
    """
    also = tuple(also) if like is None else like.also
    ignores = (like and like.ignores) or Ignores(root)
    try:
        found = list(islice(everything(root, ignores), limit + 1))
    except OSError:
        return Index({}, complete=False)
    walked = {path for path, _ in found[:limit]}
    known = found[:limit] + [(path, info) for path in also if path not in walked and (info := lstat(root, path))]
    files = {path: info for path, info in known if stat.S_ISREG(info.st_mode)}
    return Index(
        {path: identity(info) for path, info in files.items()},
        len(found) <= limit,
        {path: permissions(info) for path, info in files.items()},
        {path: _target(root, path) for path, info in known if stat.S_ISLNK(info.st_mode)},
        frozenset(path for path, info in known if stat.S_ISDIR(info.st_mode)),
        ignores,
        also,
    )


def lstat(root: str, path: str) -> os.stat_result | None:
    """The stat of what stands at a path itself, None where there is nothing or a link leads away before its end."""
    file = Path(root, path)
    try:
        return file.lstat() if file.parent == file.parent.resolve() else None
    except OSError:
        return None


def _target(root: str, path: str) -> str:
    try:
        return LINK + os.fspath(Path(root, path).readlink())
    except OSError:  # gone, or another thing by now
        return LINK


def changed(before: Index, after: Index) -> tuple[str, ...]:
    """Paths of files and links that were created, deleted or changed, as far as both indexes reach."""
    paths = {path for index in (before, after) for path in (*index.files, *index.links)}
    if not before.complete or not after.complete:
        paths = {path for path in paths if before.at(path)[::2] != (None, None) != after.at(path)[::2]}
    return tuple(sorted(path for path in paths if before.at(path) != after.at(path)))


def made(before: Index, after: Index) -> tuple[str, ...]:
    """The folders that are new, the outermost first."""
    return tuple(sorted(after.folders - before.folders)) if before.complete and after.complete else ()
