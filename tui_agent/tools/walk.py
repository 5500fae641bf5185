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

from tui_agent.core.disk import beginning
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
    ignores = Ignores(root)
    if below and ignores(f"{below}/"):
        ignores.forget(below)
    yield from _walk(root, f"{below}/" if below else "", ignores)


def everything(root: str, ignores: Ignores | None = None) -> Iterator[tuple[str, os.stat_result]]:
    """As `files`, with the links and the folders among them. `ignores` are rules to go by, as they were read when they were."""
    Path(root).lstat()
    yield from _walk(root, "", ignores or Ignores(root), all_kinds=True)


class Ignores:
    """Which paths below a folder its ignore files exclude; each is read once, so that a later walk goes by the same rules.

    Blocks.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, list[_Rules]] = {}

    def __call__(self, path: str) -> bool:
        """Whether a path relative to the root, a folder's ending in `/`, is excluded itself; not whether one above is."""
        return _ignored(path, self.rules(path.rstrip("/").rpartition("/")[0]))

    def forget(self, path: str) -> None:
        """Look at what is in the folder of a path as if nothing was said about it, or above it."""
        self._known[path.rpartition("/")[0]] = []

    def rules(self, folder: str) -> list[_Rules]:
        """The rules for what is in a folder, the outermost first; "" is the root."""
        rules = self._known.get(folder)
        if rules is None:
            inside = f"{folder}/" if folder else ""
            above = self.rules(folder.rpartition("/")[0]) if folder else _above(self._root)
            rules = self._known[folder] = above + _read(f"{self._root}/{inside}", len(inside))
        return rules


def _walk(root: str, folder: str, ignores: Ignores, *, all_kinds: bool = False) -> Iterator[tuple[str, os.stat_result]]:
    rules = ignores.rules(folder.rstrip("/"))
    try:
        with os.scandir(f"{root}/{folder}") as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = folder + entry.name
        try:
            if noise(entry.name) or (not all_kinds and entry.is_symlink()):
                continue
            directory = entry.is_dir(follow_symlinks=False)
            if _ignored(path + "/" if directory else path, rules):
                continue
            if directory:
                if all_kinds:
                    yield path, entry.stat(follow_symlinks=False)
                yield from _walk(root, path + "/", ignores, all_kinds=all_kinds)
            elif entry.is_file(follow_symlinks=False) or (all_kinds and entry.is_symlink()):
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
    data = beginning(f"{folder}.gitignore", _MAX_IGNORE_BYTES, links=False)
    return [] if data is None else [_Rules(_spec(data.decode("utf-8", "replace").splitlines()), cut, prefix)]


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
