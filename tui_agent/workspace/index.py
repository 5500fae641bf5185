"""What a command did to the files: an index before it and one after it, and the difference.

An index costs one walk (no file is read), and covers at most 20,000 files that no ignore file excludes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from tui_agent.tools.walk import files
from tui_agent.workspace.files import Identity, identity

MAX_FILES = 20_000


@dataclass(frozen=True, slots=True)
class Index:
    """Size, mtime and inode of each file by path; `complete` False: there are more files than were looked at."""

    files: Mapping[str, Identity]
    complete: bool


def take(root: str, limit: int = MAX_FILES) -> Index:
    """Index the workspace; an unreadable or vanished root gives an empty index."""
    try:
        found = {path: identity(info) for path, info in islice(files(root), limit + 1)}
    except OSError:
        return Index({}, complete=False)
    complete = len(found) <= limit
    return Index(dict(islice(found.items(), limit)), complete)


def changed(before: Index, after: Index) -> tuple[str, ...]:
    """Paths that were created, deleted or changed, as far as both indexes reach."""
    paths = {path for path, what in before.files.items() if after.files.get(path) != what}
    paths |= {path for path in after.files if path not in before.files}
    if not before.complete or not after.complete:
        paths &= set(before.files) & set(after.files)
    return tuple(sorted(paths))
