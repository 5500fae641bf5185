"""Where the git repositories of a workspace are, by looking: no program runs for it."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tui_agent.core.disk import beginning, is_file, is_folder, is_link
from tui_agent.tools import names
from tui_agent.workspace import git_config
from tui_agent.workspace.git_index import UnreadableIndexError, enters, gitlinks

INNER = ("modules", "worktrees")
"""Folders of a `.git` with what is one for other work trees."""
COMMON = "../.."
"""What the `commondir` of a further work tree says: the repository that it lies in."""
BARE = frozenset({"HEAD", "objects", "refs"})
_LINE = 8192
"""Bytes of a file that leads git elsewhere; a name has half of that at most."""
MOST = 50_000
"""Folders that are looked through for repositories."""

Identity: TypeAlias = tuple[int, int]
"""Device and inode."""


@dataclass(frozen=True, slots=True)
class Repositories:
    """Each `.git` of a workspace, its own first, and each bare repository. `whole`: there was no more to look through."""

    marks: tuple[Path, ...]
    whole: bool


def repositories(workspace: Path, *, everywhere: bool = False) -> Repositories:
    """The repositories of a workspace; `everywhere` also where neither an index nor a link leads, however long that takes."""
    found = dict.fromkeys([workspace / ".git"] if os.path.lexists(workspace / ".git") else [])
    looked = 0
    for folder, holds in folders(workspace, everywhere=everywhere):
        looked += 1
        if ".git" in holds:
            found[folder / ".git"] = None
        if holds >= BARE and folder.name != ".git" and not _belongs(folder, workspace):
            found[folder] = None
    return Repositories(tuple(found), everywhere or looked < MOST)


def _belongs(folder: Path, workspace: Path) -> bool:
    """Whether a folder is a part of a `.git`, for another work tree."""
    parts = folder.relative_to(workspace).parts
    return any(pair[0] == ".git" and pair[1] in INNER for pair in itertools.pairwise(parts))


def folders(workspace: Path, *, everywhere: bool = False) -> Iterator[tuple[Path, frozenset[str]]]:
    """Each folder of the workspace with the names of what it holds, `MOST` at most.

    In a `.git` only where a link leads there, in caches of tools also where an index may let git enter one by itself,
    unless it is to be `everywhere`.
    """
    root = Path(os.path.realpath(workspace))
    todo, caches, seen, whole = [workspace], list[Path](), set[Path](), everywhere
    while todo and (everywhere or len(seen) < MOST):
        folder = todo.pop()
        if folder not in seen:
            seen.add(folder)
            with contextlib.suppress(OSError), os.scandir(folder) as found:
                entries = list(found)
                holds = frozenset(entry.name for entry in entries)
                yield folder, holds
                for entry in entries:
                    if entry.is_symlink():
                        todo += _passed_by(entry.path, workspace, root)
                    elif entry.is_dir(follow_symlinks=False) and (everywhere or entry.name != ".git"):
                        (caches if names.cache((entry.name,)) else todo).append(folder / entry.name)
                if ".git" in holds or holds >= BARE:
                    links, others = _entered(folder, ".git" in holds, workspace)
                    todo += links
                    whole = whole or others
        if whole and not todo:
            todo, caches = caches, []


def _entered(folder: Path, mark: bool, workspace: Path) -> tuple[list[Path], bool]:
    """Where git enters others by itself from here, as far as its index can be read; whether there are any."""
    if (own := body(folder / ".git" if mark else folder, workspace)) is None or not enters(own):
        return [], False
    try:
        links = sorted(gitlinks(own))
    except UnreadableIndexError:
        return [], True
    return [path for link in links if is_in(path := folder / link, workspace)], True  # an index names what it likes


def _passed_by(link: str, workspace: Path, root: Path) -> list[Path]:
    """The folder that is not looked through by itself into which a link leads, in the workspace, really `root`."""
    try:
        told = os.readlink(link)  # noqa: PTH115 - there may be very many
    except OSError:
        return []
    # one that leads on inside by ordinary folders and links leads where these do, and they are looked at themselves
    lexical = os.path.normpath(f"{os.path.dirname(link)}/{told}") if told[:1] != "/" else os.path.normpath(told)  # noqa: PTH120
    if not any(map(_skipped, told.split("/"))) and lexical.startswith(f"{workspace}/"):
        return []
    real = Path(os.path.realpath(link))
    parts = real.relative_to(root).parts if real.is_relative_to(root) else ()
    at = next((at for at, part in enumerate(parts) if _skipped(part)), None)
    return [] if at is None or not is_folder(real) else [workspace.joinpath(*parts[: at + 1])]


def _skipped(name: str) -> bool:
    return name == ".git" or names.cache((name,))


def is_in(path: Path, workspace: Path) -> bool:
    """Whether a path lies in the workspace in truth, too: no link and no `..` leads to it."""
    real = Path(os.path.realpath(workspace))
    return path.is_relative_to(workspace) and Path(os.path.realpath(path)) == real / path.relative_to(workspace)


def holder(mark: Path) -> Path:
    """The folder that a repository goes with: of a bare one itself."""
    return mark.parent if mark.name == ".git" else mark


def body(mark: Path, workspace: Path) -> Path | None:
    """The folder that a `.git` is, or leads to by a link or a line, None when that is not in the workspace."""
    if is_folder(mark) and not is_link(mark):
        return mark
    told = text(mark).removeprefix(git_config.GITDIR)
    real = Path(os.path.realpath(mark if is_link(mark) else mark.parent / told))
    root = Path(os.path.realpath(workspace))
    inside = is_folder(real) and real.is_relative_to(root) and real != root
    return workspace / real.relative_to(root) if inside else None


def leads_to(mark: Path) -> Path | None:
    """The `.git` whose further work tree this one marks, None when it marks none."""
    if is_link(mark) or not is_file(mark) or not (told := text(mark)).startswith(git_config.GITDIR):
        return None
    folder = joined(mark.parent, told.removeprefix(git_config.GITDIR))
    if folder.parent.name != "worktrees" or not is_itself(folder) or text(folder / "commondir") != COMMON:
        return None
    return folder.parent.parent


def is_itself(folder: Path) -> bool:
    """Whether no link leads to a folder."""
    return os.path.realpath(folder) == str(folder)


def joined(folder: Path, told: str) -> Path:
    """Where a name that git wrote leads from a folder, `..` taken as written: what a link makes of it shows later."""
    return Path(os.path.normpath(folder / told))


def text(path: Path) -> str:
    """What a small file says that leads git elsewhere, "" for anything else."""
    return git_config.pointed(os.fsdecode(beginning(path, _LINE, links=False) or b""))


def lstat(path: Path) -> os.stat_result | None:
    """What stands at a path itself, None where nothing does."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def identity(path: Path) -> Identity | None:
    """What stands at a path, whatever it is called."""
    info = lstat(path)
    return (info.st_dev, info.st_ino) if info else None
