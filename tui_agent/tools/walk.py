"""Walk the files of a folder the way a person sees it: ignore files count, links are not followed.

The only module that knows `.gitignore`; used by search, by completion and by the index around commands.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.tools.names import noise

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MAX_IGNORE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _Rules:
    """One ignore file. It sees a path (relative to the root of the walk) without its first `cut` characters, behind `prefix`."""

    spec: GitIgnoreSpec
    cut: int = 0
    prefix: str = ""

    def verdict(self, path: str) -> bool | None:
        """True: ignored, False: expressly not, None: nothing is said about it."""
        return self.spec.check_file(self.prefix + path[self.cut :]).include


def files(root: str, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Regular files under `root/below` as (path relative to `root`, lstat), in sorted order.

    Left out: noise names, links, folders that cannot be read, and what `.gitignore` files exclude: those from
    `root` downwards, and those above it up to the top of its repository. What `below` names itself is
    looked at even when it is ignored. Raises `OSError` when `below` does not exist.
    """
    info = Path(root, below).lstat()
    if not stat.S_ISDIR(info.st_mode):
        if stat.S_ISREG(info.st_mode):
            yield below, info
        return
    rules = _above(root)
    folders = below.split("/") if below else []
    for depth in range(len(folders)):
        outer = "".join(f"{name}/" for name in folders[:depth])
        rules = rules + _read(f"{root}/{outer}", len(outer))
    if below and _ignored(f"{below}/", rules):
        rules = []
    yield from _walk(root, f"{below}/" if below else "", rules)


def _walk(root: str, folder: str, rules: list[_Rules]) -> Iterator[tuple[str, os.stat_result]]:
    rules = rules + _read(f"{root}/{folder}", len(folder))
    try:
        with os.scandir(f"{root}/{folder}") as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = folder + entry.name
        try:
            if noise(entry.name) or entry.is_symlink():
                continue
            directory = entry.is_dir(follow_symlinks=False)
            if _ignored(path + "/" if directory else path, rules):
                continue
            if directory:
                yield from _walk(root, path + "/", rules)
            elif entry.is_file(follow_symlinks=False):
                yield path, entry.stat(follow_symlinks=False)
        except OSError:  # it vanished while we looked
            continue


def _ignored(path: str, rules: list[_Rules]) -> bool:
    """The innermost ignore file that has something to say decides."""
    verdicts = (rule.verdict(path) for rule in reversed(rules))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def _above(root: str) -> list[_Rules]:
    """The ignore files above a folder that lies inside a repository, outermost first."""
    top = Path(root)
    parents = [top, *top.parents]
    height = next((n for n, folder in enumerate(parents) if os.path.lexists(f"{folder}/.git")), 0)
    found: list[_Rules] = []
    for folder in reversed(parents[1 : height + 1]):
        found += _read(f"{folder}/", 0, f"{top.relative_to(folder)}/")
    return found


def _read(folder: str, cut: int, prefix: str = "") -> list[_Rules]:
    try:
        fd = os.open(f"{folder}.gitignore", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return []
        lines = file.read(_MAX_IGNORE_BYTES).decode("utf-8", "replace").splitlines()
    return [_Rules(_spec(lines), cut, prefix)]


def _spec(lines: list[str]) -> GitIgnoreSpec:
    """The patterns of an ignore file; a pattern that cannot be read does not take the others with it."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - only folders with ignore files pay for it

    def parses(line: str) -> bool:
        try:
            GitIgnoreSpec.from_lines([line])
        except (ValueError, re.error):
            return False
        return True

    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        return GitIgnoreSpec.from_lines(filter(parses, lines))
