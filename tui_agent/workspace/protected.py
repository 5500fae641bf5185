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
from dataclasses import dataclass, field, replace
from pathlib import Path

from tui_agent.core.disk import is_folder, is_link
from tui_agent.workspace import git, git_config
from tui_agent.workspace.repositories import (
    COMMON,
    INNER,
    Identity,
    body,
    folders,
    holder,
    identity,
    is_in,
    is_itself,
    joined,
    leads_to,
    lstat,
    repositories,
    text,
)

OWN = ".tui_agent"
_ASIDE = ".not-allowed-"
"""Stands in the name of what was moved aside."""
IN_GIT = ("config", "config.worktree", "commondir", "gitdir", "hooks", "info")
"""What names programs inside a `.git`, or leads git to other places that do."""

_DATA = frozenset({"objects", "refs", "logs", "lfs"})
_LISTING = ("info", "refs")
"""What `git gc` writes, for servers that only have files: nothing is started by it."""
_HEAD = b"HEAD"
_MAX_BYTES = 16_000_000
_MAX_ENTRIES = 20_000


@dataclass(frozen=True, slots=True)
class _Entry:
    """One protected entry: its type and mode, and the bytes of a file or the target of a link."""

    mode: int
    content: bytes = b""
    """Of a repository `_HEAD` when it had one."""
    identity: Identity | None = field(default=None, compare=False)
    linked: bool = field(default=False, compare=False)
    """Whether a file has more names, by which a command may reach it."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What stood at the protected names, and each repository of the workspace, its `.git` or the bare one itself.

    `holders`: with the identity of the folder that it goes with. `whole`: every folder was looked through for them.
    """

    workspace: Path
    entries: Mapping[Path, _Entry]
    repositories: tuple[Path, ...]
    holders: Mapping[Path, Identity | None] = field(compare=False)
    children: Mapping[Path, list[Path]] = field(compare=False)
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Restored:
    """What a command had changed at the protected names, sorted, from the workspace down.

    `changed`: what was put back, with the name under which what stood there is kept, "" when nothing is; of a whole folder
    that is new or gone only its own name, and what is kept of one that changed. `lost`: repositories that are none any more. `now`: what is protected from here on,
    for another command that runs meanwhile. `faults`: what could not be put back, and why. `unseen`: there are more folders
    now than are looked through, so there may be a repository that nobody looked at.
    """

    changed: Mapping[str, str]
    now: Remembered
    lost: tuple[str, ...] = ()
    faults: tuple[OSError, ...] = ()
    unseen: bool = False


def mountable(workspace: Path) -> Iterator[Path]:
    """The protected names of the workspace's own repository that exist, to be mounted read-only.

    Not those that are links: what is mounted there is what they lead to, and they themselves can be replaced.
    """
    for path in (workspace / OWN, *(workspace / ".git" / name for name in IN_GIT)):
        if os.path.exists(path) and not is_link(path):  # noqa: PTH110 - does not raise
            yield path


def remember(workspace: Path) -> Remembered:
    """Return what stands at the protected names now. Blocks.

    Raises:
        OSError: something there cannot be read, or is too much to hold; then do not run a command.
    """
    looked = repositories(workspace)
    found: dict[Path, _Entry] = {}
    held, marks = 0, frozenset(looked.marks)
    todo = [path for mark in looked.marks for path in _names(mark, workspace)] + [workspace / OWN]
    while todo:
        path = todo.pop()
        if (info := lstat(path)) is None:
            continue
        content = b""
        if stat.S_ISREG(info.st_mode):
            held += info.st_size
            _check(held <= _MAX_BYTES, f"{path.parent} holds more than {_MAX_BYTES:,} bytes")
            content = _read(path)
        elif stat.S_ISLNK(info.st_mode):
            content = os.fsencode(path.readlink())
        elif stat.S_ISDIR(info.st_mode) and path in marks:
            content = _head(path)
        elif stat.S_ISDIR(info.st_mode):
            todo += path.iterdir()
        linked = stat.S_ISREG(info.st_mode) and info.st_nlink > 1
        found[path] = _Entry(info.st_mode, content, (info.st_dev, info.st_ino), linked)
        _check(len(found) <= _MAX_ENTRIES, f"{path.parent} holds more than {_MAX_ENTRIES:,} files")
    holders = {mark: identity(holder(mark)) for mark in looked.marks}
    return replace(_remembered(workspace, found, holders), whole=looked.whole)


def _remembered(workspace: Path, found: Mapping[Path, _Entry], holders: Mapping[Path, Identity | None]) -> Remembered:
    children: dict[Path, list[Path]] = {}
    for path in found:
        children.setdefault(path.parent, []).append(path)
    return Remembered(workspace, found, tuple(holders), holders, children)


def restore(workspace: Path, before: Remembered, *, mounted: bool = False) -> Restored:
    """Put the protected names back as they were; returns what a command had changed there. Blocks.

    `mounted`: what `mountable` gave could not be changed by the command, so what became of it is the person's own doing.
    """
    found = _restored(workspace, before, mounted=mounted)
    if not any(isinstance(fault, PermissionError) for fault in found.faults) or not _opened(before):
        return found
    again = _restored(workspace, before, mounted=mounted)
    return replace(again, changed=dict(sorted({**found.changed, **again.changed}.items())))


def _opened(before: Remembered) -> bool:
    """Let the person into their own folders again, above what is protected, where a command took that away; whether any."""
    done = False
    for mark in sorted({path for each in before.repositories for path in (each, *each.parents)}):
        with contextlib.suppress(OSError):
            info = mark.lstat() if mark.is_relative_to(before.workspace) else None
            if info and stat.S_ISDIR(info.st_mode) and info.st_mode & stat.S_IRWXU != stat.S_IRWXU:
                mark.chmod(stat.S_IMODE(info.st_mode) | stat.S_IRWXU)
                done = True
    return done


def _restored(workspace: Path, before: Remembered, *, mounted: bool) -> Restored:
    own = {workspace / OWN, *(workspace / ".git" / name for name in IN_GIT)}
    reached = {each for path, old in before.entries.items() if old.linked for each in (path, *path.parents)}
    safe = {
        path for path in own - reached if mounted and (old := before.entries.get(path)) and not stat.S_ISLNK(old.mode)
    }
    changed: dict[Path, str] = {}
    faults: dict[Path, OSError] = {}

    def each(paths: Iterable[Path]) -> None:
        for path in paths:
            for name, what in () if path in safe or _of_another_tree(path, before) else _tried(path, before):
                if isinstance(what, str):
                    changed[name] = what
                else:
                    faults[name] = what

    each([workspace / OWN])  # what was moved there is then followed to where it is kept
    before = _followed(before)
    each(before.repositories)  # the folders themselves first: one that was moved away comes back
    deleted = {mark for mark in before.repositories if _is_another(mark, before)}
    before = _without(deleted, before)
    for mark in before.repositories:
        each(path for path in _names(mark, workspace) if path != mark)
    each(path for path in sorted(before.entries) if path.parent not in before.entries or path.parent in before.holders)
    looked = repositories(workspace)
    new = [mark for mark in looked.marks if not {mark, leads_to(mark)} & before.holders.keys()]
    for mark in [mark for mark in new if mark == workspace / ".git" or git.programs_of(mark)]:
        each([mark] if mark.name == ".git" else _names(mark, workspace, itself=False))
    changed = {path: kept for path, kept in changed.items() if kept or path not in faults}
    topmost = {path: kept for path, kept in changed.items() if kept or not changed.keys() & {*path.parents}}
    heads = {mark for mark in before.repositories if (old := before.entries.get(mark)) and old.content == _HEAD}
    lost = deleted | {mark for mark in heads if not _head(mark)}
    return Restored(
        {str(path.relative_to(workspace)): topmost[path] for path in sorted(topmost)},
        before,
        tuple(str(mark.relative_to(workspace)) for mark in sorted(lost)),
        tuple(faults.values()),
        unseen=before.whole and not looked.whole,
    )


# ------------------------------------------------------------------ the names


def _head(mark: Path) -> bytes:
    return _HEAD if os.path.lexists(mark / "HEAD") else b""


def _names(mark: Path, workspace: Path, *, itself: bool = True) -> Iterator[Path]:
    """The protected names of a repository: itself, those inside it or where it leads, and of work trees and modules there.

    A link in the place of a folder of these is one of the names: it is not followed.
    """
    if itself:
        yield mark
    if (folder := body(mark, workspace)) is None:
        return
    yield from (folder / name for name in IN_GIT)
    todo = own = [folder / name for name in INNER]
    while todo:
        folder, *todo = todo
        if is_link(folder):
            yield folder
            continue
        data = () if folder in own else _DATA  # there any name is one of a work tree or a module
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder):
                link = entry.is_symlink()
                if entry.name not in data and entry.name not in IN_GIT and (link or entry.is_dir()):
                    path = folder / entry.name
                    yield from (path / name for name in IN_GIT if not link)
                    todo.append(path)


# ------------------------------------------------------------------ what was moved


def _followed(before: Remembered) -> Remembered:
    """The same with each repository that a command moved with its folder at its new place, without those that are gone.

    A folder without a repository runs nothing; what was taken out of its folder comes back, see `_put_back`.
    """
    own = before.workspace / ".git"
    lost = [mark for mark in before.repositories if mark != own and _differs(holder(mark), before.holders[mark])]
    if not lost:
        return before
    found = repositories(before.workspace, everywhere=True).marks
    places = {(identity(place), identity(holder(place))): place for place in found}
    moved: dict[Path, Path | None] = {}
    for mark in lost:
        entry = before.entries.get(mark)
        place = places.get((entry.identity if entry else None, before.holders[mark]))
        if entry and place and stat.S_ISDIR(entry.mode):
            moved[mark] = place
        elif holder(mark) == mark or not (os.path.lexists(mark.parent) and is_in(mark.parent, before.workspace)):
            moved[mark] = None

    def now(path: Path) -> Path | None:
        mark = next((each for each in (path, *path.parents) if each in moved), None)
        place = moved[mark] if mark else path
        return place / path.relative_to(mark) if mark and place else place

    return _placed(now, before)


def _placed(now: Callable[[Path], Path | None], before: Remembered) -> Remembered:
    """The same with each name where it is now, without those that are nowhere."""
    placed = _remembered(
        before.workspace,
        {place: entry for path, entry in before.entries.items() if (place := now(path))},
        {place: was for mark, was in before.holders.items() if (place := now(mark))},
    )
    return replace(placed, whole=before.whole)


def _is_another(mark: Path, before: Remembered) -> bool:
    """Whether what was the folder of a repository is gone, or another one stands there."""
    old = before.entries.get(mark)
    return old is not None and stat.S_ISDIR(old.mode) and _differs(mark, old.identity)


def _differs(path: Path, was: Identity | None) -> bool:
    """Whether something else stands there than did; what cannot be seen is told when it is to be put back."""
    try:
        return identity(path) != was
    except OSError:
        return False


def _without(marks: set[Path], before: Remembered) -> Remembered:
    """The same without these repositories and all that was protected of them."""
    return _placed(lambda path: None if marks & {path, *path.parents} else path, before) if marks else before


# ------------------------------------------------------------------ further work trees of a repository


def _of_another_tree(path: Path, before: Remembered) -> bool:
    """Whether a name came with a further work tree, or went with one, and leads git nowhere but to its own repository."""
    was, folder = before.entries.get(path), path.parent
    if was is None and path.name in {"commondir", "gitdir"} and folder.parent.name == "worktrees":
        told = text(path)
        leads = told == COMMON if path.name == "commondir" else leads_to(joined(folder, told)) == folder.parent.parent
        return leads and is_itself(folder)
    if was is None or os.path.lexists(path):
        return False
    if path.name != ".git":
        return folder.parent.name == "worktrees" and not os.path.lexists(folder)
    place = joined(folder, git_config.pointed(os.fsdecode(was.content)).removeprefix(git_config.GITDIR))
    return stat.S_ISREG(was.mode) and place.parent.name == "worktrees" and place.parent.parent in before.repositories


# ------------------------------------------------------------------ putting back


def _tried(path: Path, before: Remembered) -> Iterator[tuple[Path, str | OSError]]:
    """As `_put_back`; what fails is told beside its path, and keeps nothing else from being put back."""
    try:
        yield from _put_back(path, before)
    except OSError as error:
        yield path, error


def _put_back(path: Path, before: Remembered) -> Iterator[tuple[Path, str | OSError]]:
    """Make one name what it was; yields the topmost paths that were not, and where what stood there is kept."""
    old, info = before.entries.get(path), lstat(path)
    if old and stat.S_ISDIR(old.mode) and path in before.holders:
        other = _elsewhere(path, old, before.workspace) if _is_another(path, before) else None
        if other:
            kept = _move_aside(path, before.workspace) if info else ""
            yield path, kept
            inside = before.workspace / kept / other.relative_to(path) if other.is_relative_to(path) else other
            inside.rename(path)
        return
    if old and info and stat.S_ISDIR(old.mode) and stat.S_ISDIR(info.st_mode):
        if stat.S_IMODE(old.mode) != stat.S_IMODE(info.st_mode):
            path.chmod(stat.S_IMODE(old.mode))
            yield path, ""
        for child in {*path.iterdir(), *before.children.get(path, ())}:
            yield from _tried(child, before)
        return
    if (old and info and _same(path, old, info)) or (old is None and info is None) or path.parts[-2:] == _LISTING:
        return
    yield path, ""
    known = old and info and stat.S_ISREG(old.mode) and stat.S_ISREG(info.st_mode)
    if info and not known:
        yield path, _move_aside(path, before.workspace)
    if old:
        _make(path, old, before)  # of a known file with other bytes in its place


def _same(path: Path, old: _Entry, info: os.stat_result) -> bool:
    if old.mode != info.st_mode:
        return False
    if stat.S_ISLNK(old.mode):
        return os.fsencode(path.readlink()) == old.content
    return not stat.S_ISREG(old.mode) or (info.st_size == len(old.content) and _read(path) == old.content)


def _elsewhere(path: Path, old: _Entry, workspace: Path) -> Path | None:
    """Where the folder of a repository stands under another name, None when it is gone, or nothing can go back to its place."""
    if not is_folder(path.parent):
        return None
    everywhere = (folder for folder, _ in folders(workspace, everywhere=True))
    for other in itertools.chain(path.parent.iterdir(), everywhere):
        if identity(other) == old.identity and os.path.lexists(other / "config"):
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
        _write(path, old)
    path.chmod(stat.S_IMODE(old.mode))


def _write(path: Path, old: _Entry) -> None:
    """Give a file its bytes, wholly or not at all: where there is no room, what stands there stays."""
    beside = path.with_name(f"{_ASIDE}{secrets.token_hex(4)}")
    try:
        beside.write_bytes(old.content)
        beside.chmod(stat.S_IMODE(old.mode))
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def _move_aside(path: Path, workspace: Path) -> str:
    """Take away what stands at a name, out of all that git or the product reads, but not for good; where it is now.

    A link holds nothing: it goes.
    """
    if is_link(path):
        path.unlink()
        return ""
    parts = path.relative_to(workspace).parts
    depth = next((at for at, part in enumerate(parts) if part in {".git", OWN}), 0)
    kept = Path(*parts[:depth], f"{path.name}{_ASIDE}{secrets.token_hex(4)}")
    path.rename(workspace / kept)
    return str(kept)


def _read(path: Path) -> bytes:
    """The bytes of a file, at most one more than are ever held: it may grow while it is read."""
    with path.open("rb") as file:
        return file.read(_MAX_BYTES + 1)


def _check(holds: bool, fault: str) -> None:
    if not holds:
        raise OSError(fault)
