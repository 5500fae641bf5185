"""What no command may change inside the workspace, because it would run code or widen rights later.

No sandbox covers these names wholly (bwrap not those that do not exist yet, landlock none), so they are compared:
`remember` before a command, `restore` after it. What is new is never read and never deleted, only moved out of its place,
beside the folder that it was in: a command may leave there as much as it likes, also what was the person's before. A
repository that is moved with its folder is followed, known by its identity on the disk; a bare one is its own folder. Of one
that is deleted nothing comes back: what was protected of it runs nothing without the rest.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from tui_agent.core.disk import beginning
from tui_agent.tools import names
from tui_agent.workspace import git
from tui_agent.workspace.git_index import UnreadableIndexError, gitlinks

OWN = ".tui_agent"
_ASIDE = ".not-allowed-"
"""Stands in the name of what was moved aside."""
IN_GIT = ("config", "config.worktree", "commondir", "gitdir", "hooks", "info")
"""What names programs inside a `.git`, or leads git to other places that do."""

_INNER = ("modules", "worktrees")
"""Folders of a `.git` with what is one for other work trees."""
_COMMON = "../.."
"""What the `commondir` of a further work tree says: the repository that it lies in."""
_DATA = frozenset({"objects", "refs", "logs", "lfs"})
_LISTING = ("info", "refs")
"""What `git gc` writes, for servers that only have files: nothing is started by it."""
_BARE = frozenset({"HEAD", "objects", "refs"})
_HEAD = b"HEAD"
_LINE = 8192
"""Bytes of a file that leads git elsewhere; a name has half of that at most."""
_MAX_BYTES = 16_000_000
_MAX_ENTRIES = 20_000
_MAX_FOLDERS = 50_000
"""Folders that are looked through for repositories inside the workspace."""


_Identity: TypeAlias = tuple[int, int]
"""Device and inode."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One protected entry: its type and mode, and the bytes of a file or the target of a link."""

    mode: int
    content: bytes = b""
    """Of a repository `_HEAD` when it had one."""
    identity: _Identity | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What stood at the protected names, and each repository of the workspace, its `.git` or the bare one itself.

    `holders`: with the identity of the folder that it goes with.
    """

    workspace: Path
    entries: Mapping[Path, _Entry]
    repositories: tuple[Path, ...]
    holders: Mapping[Path, _Identity | None] = field(compare=False)
    children: Mapping[Path, list[Path]] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Restored:
    """What a command had changed at the protected names, sorted, from the workspace down.

    `changed`: what was put back, with the name under which what stood there is kept, "" when nothing is; of a whole folder
    that is new or gone only its own name. `lost`: repositories that are none any more. `now`: what is protected from here on,
    for another command that runs meanwhile.
    """

    changed: Mapping[str, str]
    now: Remembered
    lost: tuple[str, ...] = ()


def mountable(workspace: Path) -> Iterator[Path]:
    """The protected names of the workspace's own repository that exist, to be mounted read-only.

    Not those that are links: what is mounted there is what they lead to, and they themselves can be replaced.
    """
    for path in (workspace / OWN, *(workspace / ".git" / name for name in IN_GIT)):
        if path.exists() and not path.is_symlink():
            yield path


def remember(workspace: Path) -> Remembered:
    """Return what stands at the protected names now. Blocks.

    Raises:
        OSError: something there cannot be read, or is too much to hold; then do not run a command.
    """
    repositories = tuple(_repositories(workspace))
    found: dict[Path, _Entry] = {}
    held = 0
    todo = [path for mark in repositories for path in _names(mark, workspace)] + [workspace / OWN]
    while todo:
        path = todo.pop()
        if (info := _lstat(path)) is None:
            continue
        content = b""
        if stat.S_ISREG(info.st_mode):
            held += info.st_size
            _check(held <= _MAX_BYTES, f"{path.parent} holds more than {_MAX_BYTES:,} bytes")
            content = _read(path)
        elif stat.S_ISLNK(info.st_mode):
            content = os.fsencode(path.readlink())
        elif stat.S_ISDIR(info.st_mode) and path in repositories:
            content = _head(path)
        elif stat.S_ISDIR(info.st_mode):
            todo += path.iterdir()
        found[path] = _Entry(info.st_mode, content, (info.st_dev, info.st_ino))
        _check(len(found) <= _MAX_ENTRIES, f"{path.parent} holds more than {_MAX_ENTRIES:,} files")
    return _remembered(workspace, found, {mark: _identity(_holder(mark)) for mark in repositories})


def _remembered(workspace: Path, found: Mapping[Path, _Entry], holders: Mapping[Path, _Identity | None]) -> Remembered:
    children: dict[Path, list[Path]] = {}
    for path in found:
        children.setdefault(path.parent, []).append(path)
    return Remembered(workspace, found, tuple(holders), holders, children)


def restore(workspace: Path, before: Remembered, *, mounted: bool = False) -> Restored:
    """Put the protected names back as they were; returns what a command had changed there. Blocks.

    `mounted`: what `mountable` gave could not be changed by the command, so what became of it is the person's own doing.

    Raises:
        OSError: something cannot be put back; then the person must be told. The rest was put back.
    """
    own = {workspace / OWN, *(workspace / ".git" / name for name in IN_GIT)}
    safe = {path for path in own if mounted and (old := before.entries.get(path)) and not stat.S_ISLNK(old.mode)}
    changed: dict[Path, str] = {}
    faults: list[OSError] = []

    def each(paths: Iterable[Path]) -> None:
        for path in paths:
            if path not in safe and not _of_another_tree(path, before):
                try:
                    changed.update(_put_back(path, before))
                except OSError as error:
                    faults.append(error)

    each([workspace / OWN])  # what was moved there is then followed to where it is kept
    before = _followed(before)
    each(before.repositories)  # the folders themselves first: one that was moved away comes back
    deleted = {mark for mark in before.repositories if _is_another(mark, before)}
    before = _without(deleted, before)
    for mark in before.repositories:
        each(path for path in _names(mark, workspace) if path != mark)
    each(path for path in sorted(before.entries) if path.parent not in before.entries or path.parent in before.holders)
    new = [mark for mark in _repositories(workspace) if not {mark, _leads_to(mark)} & before.holders.keys()]
    for mark in [mark for mark in new if mark == workspace / ".git" or git.programs_of(mark)]:
        each([mark] if mark.name == ".git" else _names(mark, workspace, itself=False))
    if faults:
        raise faults[0]
    topmost = {path: kept for path, kept in changed.items() if not changed.keys() & {*path.parents}}
    heads = {mark for mark in before.repositories if (old := before.entries.get(mark)) and old.content == _HEAD}
    lost = deleted | {mark for mark in heads if not _head(mark)}
    return Restored(
        {str(path.relative_to(workspace)): topmost[path] for path in sorted(topmost)},
        before,
        tuple(str(mark.relative_to(workspace)) for mark in sorted(lost)),
    )


# ------------------------------------------------------------------ where to look


def _folders(workspace: Path) -> Iterator[tuple[Path, frozenset[str]]]:
    """Each folder of the workspace, but no caches, and where git enters by itself, with the names of what it holds."""
    todo, looked, seen = [workspace], 0, set[Path]()
    with contextlib.suppress(UnreadableIndexError):  # an index names what it likes, also places outside
        todo += [path for link in sorted(gitlinks(workspace / ".git")) if _is_in(path := workspace / link, workspace)]
    while todo and (looked := looked + 1) <= _MAX_FOLDERS:
        folder = todo.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        if folder not in seen:
            yield folder, frozenset(entry.name for entry in entries)
        seen.add(folder)
        for entry in entries:
            if entry.name != ".git" and entry.is_dir(follow_symlinks=False) and not names.cache((entry.name,)):
                todo.append(folder / entry.name)


def _is_in(path: Path, workspace: Path) -> bool:
    """Whether a path lies in the workspace in truth, too: no link and no `..` leads to it."""
    real = Path(os.path.realpath(workspace))
    return path.is_relative_to(workspace) and Path(os.path.realpath(path)) == real / path.relative_to(workspace)


def _repositories(workspace: Path) -> Iterator[Path]:
    """Each `.git` of the workspace, its own first, and each bare repository."""
    own = workspace / ".git"
    if os.path.lexists(own):
        yield own
    for folder, holds in _folders(workspace):
        if ".git" in holds and folder != workspace:
            yield folder / ".git"
        if holds >= _BARE:
            yield folder


def _holder(mark: Path) -> Path:
    """The folder that a repository goes with: of a bare one itself."""
    return mark.parent if mark.name == ".git" else mark


def _head(mark: Path) -> bytes:
    return _HEAD if os.path.lexists(mark / "HEAD") else b""


def _names(mark: Path, workspace: Path, *, itself: bool = True) -> Iterator[Path]:
    """The protected names of a repository: itself, those inside it or where it leads, and of work trees and modules there.

    A link in the place of a folder of these is one of the names: it is not followed.
    """
    if itself:
        yield mark
    if (folder := _body(mark, workspace)) is None:
        return
    yield from (folder / name for name in IN_GIT)
    todo = [folder / name for name in _INNER]
    while todo:
        folder = todo.pop()
        if folder.is_symlink():
            yield folder
            continue
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder):
                link = entry.is_symlink()
                if entry.name not in _DATA and entry.name not in IN_GIT and (link or entry.is_dir()):
                    path = folder / entry.name
                    yield from (path / name for name in IN_GIT if not link)
                    todo.append(path)


def _body(mark: Path, workspace: Path) -> Path | None:
    """The folder that a `.git` is, or leads to by a link or a line, None when that is not in the workspace."""
    if mark.is_dir() and not mark.is_symlink():
        return mark
    told = _text(mark).removeprefix(git.GITDIR)
    real = Path(os.path.realpath(mark if mark.is_symlink() else mark.parent / told))
    root = Path(os.path.realpath(workspace))
    inside = real.is_dir() and real.is_relative_to(root) and real != root
    return workspace / real.relative_to(root) if inside else None


def _identity(path: Path) -> _Identity | None:
    info = _lstat(path)
    return (info.st_dev, info.st_ino) if info else None


# ------------------------------------------------------------------ what was moved


def _followed(before: Remembered) -> Remembered:
    """The same with each repository that a command moved with its folder at its new place, without those that are gone.

    A folder without a repository runs nothing; what was taken out of its folder comes back, see `_put_back`.
    """
    own = before.workspace / ".git"
    lost = [mark for mark in before.repositories if mark != own and _identity(_holder(mark)) != before.holders[mark]]
    if not lost:
        return before
    places = {(_identity(place), _identity(_holder(place))): place for place in _repositories(before.workspace)}
    moved: dict[Path, Path | None] = {}
    for mark in lost:
        entry = before.entries.get(mark)
        place = places.get((entry.identity if entry else None, before.holders[mark]))
        if entry and place and stat.S_ISDIR(entry.mode):
            moved[mark] = place
        elif _holder(mark) == mark or not (os.path.lexists(mark.parent) and _is_in(mark.parent, before.workspace)):
            moved[mark] = None

    def now(path: Path) -> Path | None:
        mark = next((each for each in (path, *path.parents) if each in moved), None)
        place = moved[mark] if mark else path
        return place / path.relative_to(mark) if mark and place else place

    return _placed(now, before)


def _placed(now: Callable[[Path], Path | None], before: Remembered) -> Remembered:
    """The same with each name where it is now, without those that are nowhere."""
    return _remembered(
        before.workspace,
        {place: entry for path, entry in before.entries.items() if (place := now(path))},
        {place: holder for mark, holder in before.holders.items() if (place := now(mark))},
    )


def _is_another(mark: Path, before: Remembered) -> bool:
    """Whether what was the folder of a repository is gone, or another one stands there."""
    old = before.entries.get(mark)
    return old is not None and stat.S_ISDIR(old.mode) and _identity(mark) != old.identity


def _without(marks: set[Path], before: Remembered) -> Remembered:
    """The same without these repositories and all that was protected of them."""
    return _placed(lambda path: None if marks & {path, *path.parents} else path, before) if marks else before


# ------------------------------------------------------------------ further work trees of a repository


def _of_another_tree(path: Path, before: Remembered) -> bool:
    """Whether a name came with a further work tree, or went with one, and leads git nowhere but to its own repository."""
    was, folder = before.entries.get(path), path.parent
    if was is None and path.name in {"commondir", "gitdir"} and folder.parent.name == "worktrees":
        text = _text(path)
        leads = (
            text == _COMMON if path.name == "commondir" else _leads_to(_joined(folder, text)) == folder.parent.parent
        )
        return leads and folder.resolve() == folder
    if was is None or os.path.lexists(path):
        return False
    if path.name != ".git":
        return folder.parent.name == "worktrees" and not os.path.lexists(folder)
    place = _joined(folder, git.pointed(os.fsdecode(was.content)).removeprefix(git.GITDIR))
    return stat.S_ISREG(was.mode) and place.parent.name == "worktrees" and place.parent.parent in before.repositories


def _leads_to(mark: Path) -> Path | None:
    """The `.git` whose further work tree this one marks, None when it marks none."""
    if mark.is_symlink() or not mark.is_file() or not (text := _text(mark)).startswith(git.GITDIR):
        return None
    folder = _joined(mark.parent, text.removeprefix(git.GITDIR))
    if folder.parent.name != "worktrees" or folder.resolve() != folder or _text(folder / "commondir") != _COMMON:
        return None
    return folder.parent.parent


def _joined(folder: Path, text: str) -> Path:
    """Where a name that git wrote leads from a folder, `..` taken as written: what a link makes of it shows later."""
    return Path(os.path.normpath(folder / text))


def _text(path: Path) -> str:
    """What a small file says that leads git elsewhere, "" for anything else."""
    return git.pointed(os.fsdecode(beginning(path, _LINE, links=False) or b""))


# ------------------------------------------------------------------ putting back


def _put_back(path: Path, before: Remembered) -> Iterator[tuple[Path, str]]:
    """Make one name what it was; yields the topmost paths that were not, and where what stood there is kept."""
    old, info = before.entries.get(path), _lstat(path)
    if old and stat.S_ISDIR(old.mode) and path in before.holders:
        other = _elsewhere(path, old, before.workspace) if _is_another(path, before) else None
        if other:
            yield path, _move_aside(path, before.workspace) if info else ""
            other.rename(path)
        return
    if old and info and stat.S_ISDIR(old.mode) and stat.S_ISDIR(info.st_mode):
        if stat.S_IMODE(old.mode) != stat.S_IMODE(info.st_mode):
            path.chmod(stat.S_IMODE(old.mode))
            yield path, ""
        for child in {*path.iterdir(), *before.children.get(path, ())}:
            yield from _put_back(child, before)
        return
    if (old and info and _same(path, old, info)) or (old is None and info is None) or path.parts[-2:] == _LISTING:
        return
    yield path, ""
    if info and old and stat.S_ISREG(old.mode) and stat.S_ISREG(info.st_mode):
        path.unlink()  # other bytes in a file that is known
    elif info:
        yield path, _move_aside(path, before.workspace)
    if old:
        _make(path, old, before)


def _same(path: Path, old: _Entry, info: os.stat_result) -> bool:
    if old.mode != info.st_mode:
        return False
    if stat.S_ISLNK(old.mode):
        return os.fsencode(path.readlink()) == old.content
    return not stat.S_ISREG(old.mode) or (info.st_size == len(old.content) and _read(path) == old.content)


def _elsewhere(path: Path, old: _Entry, workspace: Path) -> Path | None:
    """Where the folder of a repository stands under another name, None when it is gone, or nothing can go back to its place."""
    if not path.parent.is_dir():
        return None
    folders = (
        place
        for folder, holds in _folders(workspace)
        for place in (folder, folder / ".git")
        if ".git" in holds or place == folder
    )
    for other in itertools.chain(path.parent.iterdir(), folders):
        if _identity(other) == old.identity and (other / "config").exists() and not other.is_symlink():
            return other
    return None


def _make(path: Path, old: _Entry, before: Remembered) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if stat.S_ISLNK(old.mode):
        path.symlink_to(os.fsdecode(old.content))
        return
    if stat.S_ISDIR(old.mode):
        path.mkdir()
        for child in before.children.get(path, ()):
            _make(child, before.entries[child], before)
    elif stat.S_ISREG(old.mode):
        path.write_bytes(old.content)
    path.chmod(stat.S_IMODE(old.mode))


def _move_aside(path: Path, workspace: Path) -> str:
    """Take away what stands at a name, out of all that git or the product reads, but not for good; where it is now.

    A link holds nothing: it goes.
    """
    if path.is_symlink():
        path.unlink()
        return ""
    parts = path.relative_to(workspace).parts
    depth = next((at for at, part in enumerate(parts) if part in {".git", OWN}), 0)
    kept = Path(*parts[:depth], f"{path.name}{_ASIDE}{secrets.token_hex(4)}")
    path.rename(workspace / kept)
    return str(kept)


def _lstat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _read(path: Path) -> bytes:
    """The bytes of a file, at most one more than are ever held: it may grow while it is read."""
    with path.open("rb") as file:
        return file.read(_MAX_BYTES + 1)


def _check(holds: bool, fault: str) -> None:
    if not holds:
        raise OSError(fault)
