"""The folder of sessions: one folder each, with its log, its lock, its copies and what was typed but not sent.

`Place` is one session held by this process; `summaries` tells what all of them are.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path

from tui_agent.core import events as ev
from tui_agent.core import unfinished
from tui_agent.core.disk import is_folder, private_folder, there
from tui_agent.core.lock import Lock
from tui_agent.core.log import FileLog, load
from tui_agent.core.secrets import Secrets
from tui_agent.core.standing import before
from tui_agent.core.types import AgentError
from tui_agent.unsent import Unsent, read, write

LOG, LOCK, STATE, BLOBS = "log.jsonl", "lock", "state.json", "blobs"
LARGEST = 100 * 2**20
"""Bytes of a log that is still opened."""
GONE = ".gone-"
"""Begins the name of a session that is being removed."""


def new_id(now: float) -> str:
    """A name for a session that sorts by time, to the second, and does not clash with another of that second."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}-{secrets.token_hex(3)}"


# ------------------------------------------------------------------ one session


class Place:
    """The folder of one session, held by this process until `close`."""

    def __init__(self, folder: Path) -> None:
        """Hold the session in `folder`; a new one is on the disk from the first event worth keeping.

        Raises:
            HeldError: another process has it open.
            AgentError: the folder or its log cannot be used; says why.
        """
        self.id, self.folder = folder.name, folder
        self.remarks: list[str] = []
        """What the person should know of how it was opened, a sentence each."""
        self._lock: Lock | None = None
        self._kept: tuple[Unsent, int] = (Unsent(), 0)
        exists = there(folder)
        self._new = not exists
        self.refused = unsafe(folder) if exists else unsafe(folder.parent)
        if exists:
            if self.refused:
                raise AgentError(f"not opened: {self.refused}")
            if size_of(folder / LOG) > LARGEST:
                raise AgentError(f"not opened: {folder / LOG} is larger than {LARGEST // 2**20} MiB")
            self._take()
        try:
            self.log = FileLog(folder / LOG, first=self._take)
        except OSError as error:
            self.close()
            raise AgentError(f"{folder / LOG} cannot be read: {error.strerror}") from error
        if self.refused:
            self.log.read_only = True
            self.remarks.append(f"This session is not saved: {self.refused}.")
        if self.log.damage:
            self.remarks.append(f"{self.log.damage}.")
        if self.log.read_only and not self.refused:
            self.remarks.append("What is said here is not kept: go on in a copy of it (/fork, --fork).")

    @property
    def blobs(self) -> Path | None:
        """Where its copies of files go; None for memory only."""
        return None if self.refused else self.folder / BLOBS

    def _take(self) -> None:
        """Take the lock, once the folder is there."""
        if self._lock is not None:
            return
        try:
            for folder in (self.folder.parent, self.folder):
                private_folder(folder)
            self._lock = Lock(self.folder / LOCK)
        except OSError as error:
            self.remarks.append(f"This session cannot be locked ({error.strerror}): open it in one window only.")
            return
        if self._lock.took_over:
            self.remarks.append("The program ended without closing this session; it goes on where its log ends.")

    def unsent(self) -> Unsent:
        """What was typed and not sent when it was last kept; what the log shows as sent since is left out."""
        try:
            return read(self.folder / STATE, self.log.events)
        except ValueError:
            self.remarks.append(f"The draft could not be read: {self.folder / STATE} is damaged.")
            return Unsent()

    def keep(self, unsent: Unsent) -> None:
        """Keep this on the disk without the keys in it; a kill does not lose it. A disk that refuses is told by the log."""
        file = self.folder / STATE
        if self.log.read_only or self._kept == (unsent, len(self.log.events)) or (not unsent and not there(file)):
            return
        self.log.save()
        try:
            write(file, unsent.masked(self.log.typed), len(self.log.events))
        except OSError as error:
            self.log.fault = self.log.fault or f"draft not saved: {error.strerror or error} ({file})"
            return
        self._kept = (unsent, len(self.log.events))

    def close(self) -> None:
        """Give the session back. A new one in which nothing was said, nor is left to say, leaves nothing behind."""
        if self._lock is None:
            return
        self._lock.release()
        self._lock = None
        if self._new and self.log.bare and not there(self.folder / STATE):
            with suppress(OSError):
                for name in (LOG, LOCK):
                    (self.folder / name).unlink()
                self.folder.rmdir()


def unsafe(folder: Path) -> str:
    """Why a folder must not be used for sessions, "" when it may: a link, another's, or open to others."""
    try:
        found = folder.lstat()
    except OSError:
        return ""
    if stat.S_ISLNK(found.st_mode):
        return f"{folder} is a link"
    if not stat.S_ISDIR(found.st_mode):
        return f"{folder} is no folder"
    if found.st_uid != os.geteuid():
        return f"{folder} belongs to another user"
    if found.st_mode & stat.S_IWOTH:
        return f"{folder} can be written by everybody"
    return ""


def size_of(path: Path) -> int:
    """Bytes of a file; 0 where it cannot be looked at."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def fork(source: Place | Path, sessions: Path, cwd: Path, turn: int = 0, hidden: Secrets | None = None) -> Place:
    """A new session in `cwd` that begins as another stood before its message number `turn` (from 1), or, with 0, stands.

    Raises:
        AgentError: the other cannot be read, or the new one not written.
    """
    folder = source.folder if isinstance(source, Place) else source
    try:
        events = source.log.events if isinstance(source, Place) else load(folder / LOG).events
    except OSError as error:
        raise AgentError(f"{folder / LOG} cannot be read: {error.strerror}") from error
    began = next((e for e in events if isinstance(e, ev.SessionStarted)), None)
    place = Place(sessions / new_id(time.time()))
    if hidden is not None:
        place.log.hide(hidden)
    version = began.version if began else ""
    place.log.append(ev.SessionStarted(place.id, str(cwd), time.time(), version, folder.name, turn))
    for event in before(events, turn):
        if not isinstance(event, ev.SessionStarted):
            place.log.append(event)
    for begun in unfinished.left(place.log.events):
        for event in unfinished.unknown(begun, place.log.events):  # its end is the other session's
            place.log.append(event)
    place.log.save(sync=True)
    fault = place.log.fault
    if not fault and is_folder(folder / BLOBS) and place.blobs is not None:
        try:
            shutil.copytree(folder / BLOBS, place.blobs, copy_function=_link, dirs_exist_ok=True)
        except OSError as error:
            fault = f"the copies of files cannot be written ({place.blobs}): {error.strerror or error}"
    if fault:
        with suppress(OSError):
            place.close()
        shutil.rmtree(place.folder, ignore_errors=True)
        raise AgentError(f"no copy was made: {fault}")
    return place


def _link(source: str, target: str) -> None:
    """The same bytes under a second name: copies are never written again."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


# ------------------------------------------------------------------ change and removal


def rename(folder: Path, name: str) -> None:
    """Give a session another name; the old one is still found.

    Raises:
        AgentError: the name is empty, the session is open elsewhere, or it cannot be written.
    """
    if not (name := " ".join(name.split())[:200]):
        raise AgentError("a name needs letters")
    place = Place(folder)
    try:
        place.log.append(ev.Named(name))
        if place.log.fault or place.log.read_only:
            raise AgentError(place.log.fault or "this session can only be read")
    finally:
        place.close()


def touched(folder: Path) -> float:
    """When something was last said in a session, or typed and not sent; 0 where nothing tells."""
    times = [0.0]
    for name in (LOG, STATE):
        with suppress(OSError):
            times.append((folder / name).stat().st_mtime)
    return max(times)


def delete(folder: Path, before: float | None = None) -> bool:
    """Remove a session with its copies, for good; with `before` only when it was not touched since that time.

    False: another process has removed it, or does so now.

    Raises:
        HeldError: it is open.
        AgentError: it cannot be removed, or not all of it; says which.
    """
    if why := unsafe(folder):
        raise AgentError(f"not removed: {why}")
    try:
        lock = Lock(folder / LOCK)
    except (OSError, AgentError) as error:
        if not there(folder):
            return False
        if isinstance(error, AgentError):
            raise
        raise AgentError(f"{folder} cannot be removed: {error.strerror}") from error
    gone = folder.with_name(f"{GONE}{folder.name}")  # a half removed one is never listed
    try:
        if before is not None and touched(folder) >= before:
            raise AgentError("it was used meanwhile")
        try:
            folder.rename(gone)
        except OSError as error:
            raise AgentError(f"{folder} cannot be removed: {error.strerror}") from error
        try:
            _remove(gone)
        except OSError as error:
            why = f"{error.strerror}: {error.filename or gone}"
            raise AgentError(f"it is removed from the list, but some of its files are left ({why})") from error
    finally:
        lock.release()
    for half in folder.parent.glob(f"{GONE}*"):  # those that a kill left
        with suppress(OSError):
            _remove(half)
    return True


def _remove(gone: Path) -> None:
    """Remove a folder that two of us may be removing at once.

    Raises:
        OSError: something in it cannot be removed.
    """
    while there(gone):
        with suppress(FileNotFoundError):
            shutil.rmtree(gone)
