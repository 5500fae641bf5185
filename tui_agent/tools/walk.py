"""Walk the files of a folder the way a person sees it: ignore files count, links are not followed.

The only module that knows `.gitignore`; used by search, by completion and by the index around commands.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.tools.names import noise

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_MAX_IGNORE_BYTES = 1 << 20


def files(root: str, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Regular files under `root/below` as (path relative to `root`, lstat), in sorted order.

    Left out: noise names, links, what `.gitignore` files from `root` downwards exclude, folders that cannot
    be read. A file named directly by `below` is yielded even when it is ignored.
    """
    info = Path(root, below).lstat()
    if not stat.S_ISDIR(info.st_mode):
        if stat.S_ISREG(info.st_mode):
            yield below, info
        return
    specs: list[tuple[str, GitIgnoreSpec]] = []
    folder = ""
    for part in ["", *below.split("/")[:-1]] if below else []:
        folder = f"{folder}{part}/" if part else ""
        specs += _ignore(root, folder)
    yield from _walk(root, f"{below}/" if below else "", specs)


def _walk(root: str, folder: str, specs: list[tuple[str, GitIgnoreSpec]]) -> Iterator[tuple[str, os.stat_result]]:
    specs = specs + _ignore(root, folder)
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
            if _ignored(path + "/" if directory else path, specs):
                continue
            if directory:
                yield from _walk(root, path + "/", specs)
            elif entry.is_file(follow_symlinks=False):
                yield path, entry.stat(follow_symlinks=False)
        except OSError:
            continue


def _ignore(root: str, folder: str) -> list[tuple[str, GitIgnoreSpec]]:
    try:
        fd = os.open(f"{root}/{folder}.gitignore", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return []
        lines = file.read(_MAX_IGNORE_BYTES).decode("utf-8", "replace").splitlines()
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - only folders with ignore files pay for it

    try:
        return [(folder, GitIgnoreSpec.from_lines(lines))]
    except (ValueError, re.error):  # one bad pattern: keep the good ones
        good = [line for line in lines if _parses(line)]
        return [(folder, GitIgnoreSpec.from_lines(good))]


def _parses(line: str) -> bool:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 - see above

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


def _ignored(path: str, specs: list[tuple[str, GitIgnoreSpec]]) -> bool:
    """The innermost ignore file that has something to say decides."""
    for folder, spec in reversed(specs):
        verdict = spec.check_file(path[len(folder) :]).include
        if verdict is not None:
            return bool(verdict)
    return False
