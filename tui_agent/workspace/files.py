"""Bytes in and out of the workspace: bounded reads, and commits that happen whole or not at all.

A commit compares the file with the bytes it was prepared from, writes a temporary file beside it, syncs it and
puts it in place with one operation; on every failure the temporary file and new folders are gone and the
file is as it was. Everything goes through descriptors of folders opened without following links.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from tui_agent.core.disk import private_folder
from tui_agent.core.file_state import FileState
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.files import View, scan
from tui_agent.tools.names import TEMPORARY_PREFIX
from tui_agent.workspace.faults import Reach, nothing
from tui_agent.workspace.paths import Anchor, Place, reason

MAX_EDIT = 16 * 1024 * 1024
"""Bytes of the largest file that tools change."""
_CHUNK = 1 << 20
_GIVEN = "security.capability"
"""What of the attributes of a file gives a program rights, as its setuid bit does."""

Identity = tuple[int, int, int, int]
"""Size, mtime in ns, inode and ctime in ns: what tells cheaply that a file may have changed.

The first three can be set back after a write (`touch -r`); no program can set the ctime.
"""


def sha256(data: bytes) -> str:
    """The hash by which bytes are named everywhere, in hex."""
    return hashlib.sha256(data).hexdigest()


def identity(info: os.stat_result) -> Identity:
    """The identity of a file from its stat."""
    return info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns


def permissions(info: os.stat_result) -> int:
    """The permission bits of a file, without those that give a program another user."""
    return info.st_mode & 0o777


def runs_as(mode: int) -> str:
    """Which bits of a file's mode let its program run as somebody else, in words, "" for none.

    They were given to the bytes that it had: with other bytes it is without them, as after any write by a user.
    """
    bits = ((stat.S_ISUID, "setuid"), (stat.S_ISGID, "setgid"))
    return " and ".join(word for bit, word in bits if mode & bit)


@dataclass(frozen=True, slots=True)
class Saved:
    """A commit that happened. `links` counts the hard links that were left behind with the old bytes.

    `doubt` says why the disk may not hold it yet (a failed sync of the folder), None when it does. `mode` are the
    permission bits of the file that was there before, `new_mode` those of the one that is there now, `folders` those
    that were made for it, the outermost first.
    """

    identity: Identity | None
    links: int = 0
    doubt: str | None = None
    mode: int | None = None
    folders: tuple[str, ...] = ()
    new_mode: int | None = None


@dataclass(frozen=True, slots=True)
class Disk:
    """The files of one workspace. `temporary` is a folder that remembers temporary files in case of a crash."""

    anchor: Anchor
    temporary: Path | None = None
    reach: Reach = nothing

    # -------------------------------------------------------------- reads

    def view(self, place: Place, start: int, limit: int | None, stopped: Event | None = None) -> tuple[View, Identity]:
        """Read a window of a text file in bounded memory; raises `ToolError` when that is not possible.

        The whole file is read for its hash, however long it is, unless `stopped` is set meanwhile.
        """
        try:
            with self.anchor.open(place) as (fd, info):
                return scan(place.named, _chunks(fd, stopped), info.st_size, start, limit), identity(info)
        except OSError as error:
            raise _unreadable(place, error) from error

    def content(self, place: Place) -> tuple[bytes, os.stat_result] | None:
        """All bytes of a regular file and its stat, None when there is no file; `ToolError` when it is too large."""
        try:
            with self.anchor.open(place) as (fd, info):
                if info.st_size > MAX_EDIT:
                    raise ToolError(
                        f"{place.named} is too large to be changed by a tool: {info.st_size:,} bytes, "
                        f"the limit is {MAX_EDIT:,}",
                        "refused",
                    )
                return b"".join(_chunks(fd)), info
        except FileNotFoundError as error:
            if error.filename == self.anchor.root:  # the workspace itself is gone: that is no missing file
                raise _unreadable(place, error) from error
            return None
        except NotADirectoryError:
            raise ToolError(f"{place.named} is not possible: a part of the path is a file, not a directory") from None
        except OSError as error:
            raise _unreadable(place, error) from error

    def state(self, place: Place) -> FileState:
        """What beside its bytes the file at a place is now."""
        try:
            with self.anchor.folder(place.parts[:-1]) as fd:
                above = os.fstat(fd)
                info = os.stat(place.parts[-1], dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError as error:
            there = error.filename == place.parts[-1]
            return FileState(None, (above.st_dev, above.st_ino) if there else None)
        except OSError as error:
            raise _unreadable(place, error) from error
        return FileState(stat.S_IMODE(info.st_mode), (above.st_dev, above.st_ino))

    # -------------------------------------------------------------- commit

    def commit(
        self, place: Place, base: bytes | None, new: bytes | None, mode: int | None = None, *, locked: bool = False
    ) -> Saved:
        """Replace, create or delete the file at a place if it still holds `base`; it gets `mode` when that is given.

        `locked`: also one that nobody may write, because the person says so.

        Raises `ToolError` when it does not, and `OSError` when the world refuses; nothing has changed then.
        """
        self.reach("commit")
        made: list[str] = []
        with contextlib.ExitStack() as stack, self._parents(place, stack, made, create=new is not None) as folders:
            folder, name = folders[-1], place.parts[-1]
            info = self._compare(folder, name, place, base, locked=locked)
            was = permissions(info) if info else None
            if new is None:
                self.reach("unlink")
                self._compare_stat(folder, name, place, info)
                os.unlink(name, dir_fd=folder)
                return Saved(None, (info.st_nlink - 1) if info else 0, self._sync(folders), was)
            with self._temporary_file(folder, place, info, new, mode) as temporary:
                self.reach("rename")
                self._compare_stat(folder, name, place, info)
                if info is None:
                    _put_new(folder, temporary, name, place)
                else:
                    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            # it is done: from here on whatever fails is a doubt, no failure
            saved = Saved(None, (info.st_nlink - 1) if info else 0, self._sync(folders), was, tuple(made))
            try:
                self.reach("seen")
                now = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except OSError as error:
                return replace(saved, doubt=saved.doubt or reason(error))
            return replace(saved, identity=identity(now), new_mode=permissions(now))

    def permit(self, place: Place, mode: int) -> None:
        """Give the file at a place other permission bits; raises `OSError` when that cannot be."""
        with self.anchor.folder(place.parts[:-1]) as folder:
            fd = os.open(place.parts[-1], os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise stale(place)
                Path(f"/proc/self/fd/{fd}").chmod(mode)  # whoever may not read it may do this, too
            finally:
                os.close(fd)

    def missing(self, place: Place) -> tuple[str, ...]:
        """The folders above a place that are not there yet, the outermost first."""
        above = ["/".join(place.parts[:depth]) for depth in range(1, len(place.parts))]
        return tuple(folder for folder in above if not os.path.lexists(f"{self.anchor.root}/{folder}"))

    def remove_empty(self, folders: Iterable[str]) -> None:
        """Remove those of these folders that are empty, inner ones first; one that is not stays."""
        for folder in sorted(folders, key=lambda name: name.count("/"), reverse=True):
            *above, name = folder.split("/")
            with contextlib.suppress(OSError), self.anchor.folder(tuple(above)) as fd:
                os.rmdir(name, dir_fd=fd)

    @contextlib.contextmanager
    def _parents(
        self, place: Place, stack: contextlib.ExitStack, made: list[str], *, create: bool
    ) -> Iterator[list[int]]:
        """Descriptors of the last existing folder and of those created below it, which go again on failure.

        The paths of those created are appended to `made`.
        """
        parts, depth = place.parts[:-1], len(place.parts) - 1
        while True:
            try:
                folders = [stack.enter_context(self.anchor.folder(parts[:depth]))]
                break
            except FileNotFoundError:
                if not depth or not create:
                    raise
                depth -= 1
        new: list[tuple[str, int]] = []
        try:
            for at, part in enumerate(parts[depth:], depth + 1):
                self.reach("mkdir")
                with contextlib.suppress(FileExistsError):  # someone else made it: then it is used, not removed
                    os.mkdir(part, dir_fd=folders[-1])
                    new.append((part, folders[-1]))
                    made.append("/".join(parts[:at]))
                fd = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folders[-1])
                stack.callback(os.close, fd)
                folders.append(fd)
            yield folders
        except BaseException:
            for part, above in reversed(new):
                with contextlib.suppress(OSError):  # not empty any more: then it stays
                    os.rmdir(part, dir_fd=above)
            raise

    def _compare(
        self, folder: int, name: str, place: Place, base: bytes | None, *, locked: bool
    ) -> os.stat_result | None:
        """The stat of the file if it holds exactly `base` and may be written, None if both are absent."""
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except FileNotFoundError:
            if base is None:
                return None
            text = f"not applied: {place.path} no longer exists; it was there when this was shown"
            raise ToolError(text, note="gone meanwhile") from None
        try:
            info = os.fstat(fd)
            same = base is not None and stat.S_ISREG(info.st_mode) and info.st_size == len(base)
            if not same or b"".join(_chunks(fd)) != base:
                raise stale(place, appeared=base is None)
        finally:
            os.close(fd)
        if locked:
            return info
        check_writable(place, info)
        os.close(os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder))  # may we?
        return info

    def _compare_stat(self, folder: int, name: str, place: Place, info: os.stat_result | None) -> None:
        """Once more right before the last step, now that the slow part is over.

        No system call replaces a file only if it still is the same: what is written between this and the last step is lost.
        """
        if info is None:
            return
        try:
            now = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            raise stale(place) from None
        if (identity(now), now.st_mode) != (identity(info), info.st_mode):
            raise stale(place)

    @contextlib.contextmanager
    def _temporary_file(
        self, folder: int, place: Place, info: os.stat_result | None, data: bytes, mode: int | None
    ) -> Iterator[str]:
        """A synced file with the data and the mode of the old one, else `mode`; gone again unless it was put in place."""
        name = f"{TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(6).hex()}.tmp"
        entry = self._announce(place, name)
        try:
            self.reach("temp")
            fd = os.open(
                name,
                os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
                0o666 if info is None and mode is None else 0o600,
                dir_fd=folder,
            )
            try:
                for part in (data[: len(data) // 2], data[len(data) // 2 :]):
                    self.reach("write")
                    _write(fd, part)
                if info is not None:
                    _copy_attributes(fd, folder, place.parts[-1], info)
                if mode is not None:
                    os.fchmod(fd, mode)
                self.reach("fsync")
                os.fsync(fd)
            finally:
                os.close(fd)
            yield name
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            if entry:
                with contextlib.suppress(OSError):  # the next sweep takes it
                    entry.unlink(missing_ok=True)

    def _sync(self, folders: list[int]) -> str | None:
        try:
            for folder in folders:
                self.reach("fsync_dir")
                os.fsync(folder)
        except OSError as error:
            if error.errno not in {errno.EINVAL, errno.EOPNOTSUPP}:  # a file system that does not sync folders
                return reason(error)
        return None

    # -------------------------------------------------------------- after a crash

    def _announce(self, place: Place, name: str) -> Path | None:
        """Remember a temporary file as a link in `temporary`, made in one operation; None where that cannot be.

        It only helps to tidy up after a crash, so a full or read-only disk there is no reason to refuse a change here.
        """
        if self.temporary is None:
            return None
        entry = self.temporary / name
        try:
            private_folder(self.temporary)
            entry.symlink_to("/".join((self.anchor.root, *place.parts[:-1], name)))
        except OSError:
            return None
        return entry

    def sweep(self) -> int:
        """Remove temporary files that processes which ended left behind; gives their number. What cannot be removed stays."""
        if self.temporary is None:
            return 0
        removed = 0
        with contextlib.suppress(OSError):
            for entry in list(self.temporary.iterdir()):
                with contextlib.suppress(OSError):
                    removed += self._swept(entry)
        return removed

    @staticmethod
    def _swept(entry: Path) -> bool:
        if not entry.is_symlink() or not entry.name.startswith(TEMPORARY_PREFIX) or _alive(entry.name):
            return False
        left = Path(os.readlink(entry))  # noqa: PTH115 - the text of the link, not its target
        found = left.name == entry.name and left.exists()
        if found:
            left.unlink()
        entry.unlink()
        return found


def stale(place: Place, *, appeared: bool = False) -> ToolError:
    """The refusal of a commit whose base is gone."""
    what = "appeared" if appeared else "changed"
    return ToolError(
        f"not applied: {place.path} {what} since this was shown, so its content has changed on disk. "
        "Read it again and send the change anew.",
        "refused",
        f"{what} meanwhile",
    )


def check_writable(place: Place, info: os.stat_result) -> None:
    """Refuse a file without any write bit: replacing it would step over the person's protection, also for root."""
    if not info.st_mode & 0o222:
        mode = f"{stat.S_IMODE(info.st_mode):o}"
        raise ToolError(f"{place.named} is read-only (mode {mode}); ask the user", "refused", f"read-only, mode {mode}")


def _unreadable(place: Place, error: OSError) -> ToolError:
    return ToolError(f"error reading {place.named}: {reason(error)}")


def _chunks(fd: int, stopped: Event | None = None) -> Iterator[bytes]:
    while data := os.read(fd, _CHUNK):
        if stopped is not None and stopped.is_set():
            raise ToolError("the read was stopped")
        yield data


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _put_new(folder: int, temporary: str, name: str, place: Place) -> None:
    """Give the temporary file its name only if there is none of that name: a link never overwrites, a rename would."""
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise stale(place, appeared=True) from None
    except OSError as error:
        if error.errno not in {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}:
            raise
        with contextlib.suppress(FileNotFoundError):  # a file system without hard links: check, then rename
            os.stat(name, dir_fd=folder, follow_symlinks=False)
            raise stale(place, appeared=True) from None
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _copy_attributes(fd: int, folder: int, name: str, info: os.stat_result) -> None:
    """Mode always; owner and extended attributes (access lists) as far as this user may; nothing that `runs_as` another."""
    mine = os.fstat(fd)
    if (mine.st_uid, mine.st_gid) != (info.st_uid, info.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(fd, info.st_uid, info.st_gid)
    if hasattr(os, "listxattr"):
        old = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            with contextlib.suppress(OSError):
                for attribute in set(os.listxattr(old)) - {_GIVEN}:
                    os.setxattr(fd, attribute, os.getxattr(old, attribute))
        finally:
            os.close(old)
    os.fchmod(fd, stat.S_IMODE(info.st_mode) & ~(stat.S_ISUID | stat.S_ISGID))


def _alive(name: str) -> bool:
    """Whether the process that made a temporary file of this name still runs."""
    pid = name.removeprefix(TEMPORARY_PREFIX).split("-")[0]
    if not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
