"""One answer to "which file is that, and may a tool touch it": used at preview, at read and at commit.

`resolve` follows the path component by component with every link, and ends inside the workspace or
refuses. What it returns is the real place, free of links. `Anchor` then opens that place from
descriptors, one folder at a time and never through a link, so that nothing can be swapped between the
check and the use.
"""

# Descriptors relative to folders have no equal in pathlib, and half a path in each style reads worse.
# ruff: noqa: PTH111, PTH115, PTH116, PTH208

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tui_agent.core.types import OutcomeStatus
from tui_agent.tools import names
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.registry import EXAMPLE_PATH

OTHER_FILE = "its path leads to another file now"
_MAX_LINKS = 40
_SYSTEM = frozenset({"proc", "dev", "sys"})  # their links lead to this process, its terminal, its memory
_IN_REPOSITORY = ("HEAD", "commondir", "config", "objects", "refs")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Place:
    """A real place in the workspace: `path` relative to its root ("" for the root itself), no link in it.

    `named` is how it was asked for. `info` is its lstat, None when there is nothing. `floors` are the reasons why
    reading or changing it asks at least; `no_write` is the reason why no tool ever writes it, or None.
    """

    path: str
    named: str
    info: os.stat_result | None
    floors: tuple[str, ...] = ()
    no_write: str | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """The components of `path`."""
        return tuple(self.path.split("/")) if self.path else ()

    @property
    def is_folder(self) -> bool:
        """Whether a folder is there."""
        return self.info is not None and stat.S_ISDIR(self.info.st_mode)

    @property
    def is_file(self) -> bool:
        """Whether a regular file is there."""
        return self.info is not None and stat.S_ISREG(self.info.st_mode)


@dataclass(frozen=True, slots=True)
class Anchor:
    """The root of a workspace, held by its real path and its identity, so that a replaced folder is noticed.

    `own` are real paths of the product's own files and folders, wherever the person keeps them.
    """

    root: str
    identity: tuple[int, int]
    home: str
    own: tuple[str, ...] = ()

    @classmethod
    def at(cls, root: Path, home: Path | None = None, own: Iterable[Path] = ()) -> Anchor:
        """Anchor an existing folder; raises `OSError` when it is none."""
        real = os.path.realpath(root)
        info = os.stat(real)
        if not stat.S_ISDIR(info.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), real)
        at_home = os.path.realpath(home or os.path.expanduser("~"))
        return cls(real, (info.st_dev, info.st_ino), at_home, tuple(os.path.realpath(path) for path in own))

    @contextlib.contextmanager
    def folder(self, parts: tuple[str, ...]) -> Iterator[int]:
        """A descriptor of the folder with these components below the root; a link on the way raises `OSError`."""
        fd = os.open(self.root, _FOLDER)
        try:
            info = os.fstat(fd)
            if (info.st_dev, info.st_ino) != self.identity:
                raise FileNotFoundError(errno.ENOENT, "the workspace folder was replaced by another", self.root)
            for part in parts:
                below = os.open(part, _FOLDER, dir_fd=fd)
                os.close(fd)
                fd = below
            yield fd
        finally:
            os.close(fd)

    def again(self, path: str, floors: tuple[str, ...] | None = None) -> Place:
        """The place that was approved, if it still is the same place and no new reason to ask has come up."""
        place = self.resolve(path or ".")
        if place.path != path or (floors is not None and set(place.floors) - set(floors)):
            text = f"not done: {path} has changed since this was shown and is another file now"
            raise ToolError(text, "refused", OTHER_FILE)
        return place

    @contextlib.contextmanager
    def open(self, place: Place) -> Iterator[tuple[int, os.stat_result]]:
        """A descriptor for reading the regular file at a place, and its stat; never blocks on a FIFO."""
        with self.folder(place.parts[:-1]) as folder:
            fd = os.open(
                place.parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=folder
            )
            try:
                info = os.fstat(fd)
                if not stat.S_ISREG(info.st_mode):
                    raise ToolError(_not_regular(place.named, info), "refused", "no regular file")
                yield fd, info
            finally:
                os.close(fd)

    # -------------------------------------------------------------- resolve

    def resolve(self, raw: str) -> Place:
        """The real place that a path means, or `ToolError`: outside, not a path, or a loop of links."""
        self._check_spelling(raw)
        parts = self._follow(raw)
        root = self.root.rstrip("/").split("/")[1:] if self.root != "/" else []
        if parts[: len(root)] != root:
            raise _outside(raw)
        inside = tuple(parts[len(root) :])
        info = self._lstat(inside)
        if raw.endswith("/") and not (info and stat.S_ISDIR(info.st_mode)):
            raise ToolError(f"{raw} names a directory (it ends with a slash), not a file", "refused")
        asked = tuple(p for p in raw.removeprefix(self.root).split("/") if p not in {"", "."})
        return Place("/".join(inside), raw, info, _floors(inside, asked, info), self._no_write(inside, asked))

    def _check_spelling(self, raw: str) -> None:
        first = raw.split("/", 1)[0]
        if not raw.strip():
            raise ToolError("the path is empty", "refused")
        if "\0" in raw:
            raise ToolError("the path contains a NUL character, which is not allowed", "refused")
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", raw):
            raise ToolError(f"{raw} is a URL, not a path; use a path relative to the workspace", "refused")
        if raw == EXAMPLE_PATH and not os.path.lexists(f"{self.root}/{raw}"):
            raise ToolError(f"{raw} is only the example of the description, not a file of this workspace", "refused")
        if os.path.lexists(f"{self.root}/{first}"):
            return
        if re.match(r"[A-Za-z]:[\\/]", raw) or "\\" in raw:
            raise ToolError(
                f"{raw!r} is not allowed: use a relative path with / between folders, no drive and no backslash",
                "refused",
            )
        if first == "~" or (first.startswith("~") and "/" in raw):
            raise ToolError(f"{raw}: ~ is not expanded; use a path relative to the workspace", "refused")
        if re.fullmatch(r"\$(\w+|\{\w+\})", first):
            raise ToolError(f"{raw}: variables are not expanded; use a path relative to the workspace", "refused")

    def _follow(self, raw: str) -> list[str]:
        """The absolute components that a path leads to, every link followed; what does not exist is kept as it is."""
        done: list[str] = [] if raw.startswith("/") else [p for p in self.root.split("/") if p]
        todo = [p for p in reversed(raw.split("/")) if p not in {"", "."}]
        links = 0
        while todo:
            part = todo.pop()
            if part == "..":
                done = done[:-1]
                continue
            here = "/" + "/".join([*done, part])
            try:
                target = os.readlink(here)
            except OSError as error:
                if error.errno == errno.ENAMETOOLONG:
                    raise ToolError(f"the path is too long: {raw[:100]}...", "refused") from None
                done.append(part)
                if done[0] in _SYSTEM and not self.root.startswith(f"/{done[0]}/"):
                    raise _outside(raw) from None
                continue
            links += 1
            if links > _MAX_LINKS:
                raise ToolError(f"{raw} is not accessible: too many symbolic links, or a loop of them")
            if target.startswith("/"):
                done = []
            todo += [p for p in reversed(target.split("/")) if p not in {"", "."}]
        return done

    def _at(self, parts: tuple[str, ...]) -> str:
        return "/".join((self.root, *parts))

    def _lstat(self, parts: tuple[str, ...]) -> os.stat_result | None:
        try:
            return os.lstat(self._at(parts))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise ToolError(f"{'/'.join(parts)} is not accessible: {reason(error)}") from None

    def _no_write(self, parts: tuple[str, ...], asked: tuple[str, ...]) -> str | None:
        if why := names.protected(parts) or names.protected(asked):
            return why
        real = self._at(parts)
        for below in names.HOME_PROTECTED:
            guarded = f"{self.home}/{below}"
            if real == guarded or real.startswith(guarded + "/"):
                return f"~/{below} is protected: tools never write there"
        if any(real == guarded or real.startswith(guarded + "/") for guarded in self.own):
            return "it belongs to tui-agent's own configuration and data: tools never write there"
        for depth in range(len(parts)):
            if _bare(self._at(parts[:depth]), parts[depth]):
                where = "/".join(parts[:depth]) or "the workspace"
                return f"{where} is protected: it looks like (or would become) a bare git repository, whose files run programs"
        return None

    # -------------------------------------------------------------- words

    def similar(self, place: Place) -> str:
        """Names beside a missing file that look like it, as the end of a sentence, or ""."""
        try:
            entries = os.listdir(self._at(place.parts[:-1]))
        except OSError:
            return ""
        known = {e.casefold(): e for e in sorted(entries)[:2000] if not names.noise(e) and not names.secret((e,))}
        near = difflib.get_close_matches(place.parts[-1].casefold(), known, 3, 0.6)
        found = ["/".join((*place.parts[:-1], known[n])) for n in near]
        return f" (similar: {', '.join(found)})" if found else ""

    def twin(self, place: Place) -> str | None:
        """The entry beside a missing file whose name is the same but for case, or for how its accents are written."""
        try:
            entries = os.listdir(self._at(place.parts[:-1]))
        except OSError:
            return None
        name = place.parts[-1]
        return next((e for e in sorted(entries) if e != name and names.alike(e) == names.alike(name)), None)


def _outside(raw: str) -> ToolError:
    text = f"{raw} leads outside the workspace, which is not allowed. Use a path relative to the workspace."
    return ToolError(text, "refused", "its path leads out of the folder now")


def _floors(parts: tuple[str, ...], asked: tuple[str, ...], info: os.stat_result | None) -> tuple[str, ...]:
    if info is not None and stat.S_ISDIR(info.st_mode):
        return ()
    reasons = [why] if (why := names.secret(parts) or names.secret(asked)) else []
    if info is not None and stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
        reasons.append(f"it has {info.st_nlink} hard links and may be a file outside the workspace")
    return tuple(reasons)


def _bare(folder: str, entry: str) -> bool:
    """Whether a folder has, or would have with `entry`, what makes git take it for a repository, or for the body of one.

    The objects of a repository may lie in another folder, which its `commondir` names; the configuration is there, too.
    """
    have = {n for n in _IN_REPOSITORY if os.path.lexists(f"{folder}/{n}") or n.casefold() == names.fold(entry)}
    return have >= {"HEAD", "commondir"} or (have >= {"objects", "refs"} and bool(have & {"HEAD", "config"}))


def _not_regular(named: str, info: os.stat_result) -> str:
    kind = next((word for test, word in _KINDS if test(info.st_mode)), "something unknown")
    hint = "; use list_files to see what is in it" if stat.S_ISDIR(info.st_mode) else ""
    return f"{named or '.'} is {kind}, not a regular file{hint}"


_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a symbolic link"),
)


def not_regular(place: Place) -> ToolError:
    """The refusal for a place that holds something else than a regular file."""
    assert place.info is not None
    status: OutcomeStatus = "error" if place.is_folder else "refused"
    return ToolError(_not_regular(place.named, place.info), status, "no regular file")


def reason(error: OSError) -> str:
    """The cause of an `OSError` in lower case words ("permission denied"), with the parent folder's fault named."""
    if error.errno in {errno.ELOOP, errno.EMLINK}:
        return "a symbolic link has taken its place"
    if error.errno == errno.ENOSPC:
        return "no space left on the disk"
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]
