"""One writer for a session: a lock that ends with its process, however that ends.

The kernel holds it (`flock`), so that neither a kill nor a pid that is used again can fool it. The file says which
process holds it, for the sentence to whoever comes second, and for file systems without such locks: there the
process is looked at, by its pid and the time when it started.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from tui_agent.core.types import AgentError

_MOST_PIDS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Holder:
    """A process: `started` tells it from a later one with the same pid, "" where the system does not say.

    `pid` 0: some process, nothing says which.
    """

    pid: int
    started: str = ""

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return not self.started or started(self.pid) in {"", self.started}


class HeldError(AgentError):
    """Another process writes this session."""

    def __init__(self, holder: Holder | None) -> None:
        self.holder = holder
        super().__init__(
            f"this session is open in another window{f' (process {holder.pid})' if holder and holder.pid else ''}: "
            "close it there, or go on in a copy of it (--fork NAME, F in the list)"
        )


def started(pid: int) -> str:
    """When a process started, in a form that only compares: boot and clock ticks; "" where the system does not say."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # the second field is the program's name in brackets and may hold blanks and brackets itself
    return f"{boot}:{stat.rpartition(')')[2].split()[19]}"


class Lock:
    """A lock file. `took_over`: its last holder died without giving it back."""

    def __init__(self, path: Path) -> None:
        """Take the lock; the folder exists.

        Raises:
            HeldError: another process has it, or another part of this one.
            AgentError: the session was removed while we waited.
            OSError: the file cannot be written.
        """
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            self.took_over = self._take()
        except BaseException:
            os.close(self._fd)
            raise

    def _take(self) -> bool:
        """Lock the open file and sign it; whether its last holder left his name."""
        left = self._read()
        try:
            if not _locked(self._fd, fcntl.LOCK_EX):
                raise HeldError(left)
        except OSError:  # a file system without locks
            if left is not None and left.alive:
                raise HeldError(left) from None
        if os.fstat(self._fd).st_nlink == 0:
            raise AgentError("this session has just been deleted in another window")
        took_over = self._read() is not None
        self._write(json.dumps({"pid": os.getpid(), "started": started(os.getpid()), "at": round(time.time())}))
        return took_over

    def release(self) -> None:
        """Give it back. Nothing happens the second time."""
        if self._fd >= 0:
            try:
                self._write("")
            finally:
                os.close(self._fd)
                self._fd = -1

    def _read(self) -> Holder | None:
        return _named(os.pread(self._fd, 1000, 0))

    def _write(self, text: str) -> None:
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, text.encode(), 0)


def _named(record: bytes) -> Holder | None:
    """Whom the text of a lock file names; None when it names nobody that can be."""
    try:
        found = json.loads(record)
        pid, begun = found["pid"], found["started"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return Holder(pid, str(begun)) if isinstance(pid, int) and 0 < pid <= _MOST_PIDS else None


def _locked(fd: int, kind: int) -> bool:
    """Lock an open file; False when another has it. A look of `holder` lasts an instant: that is waited for.

    Raises:
        OSError: the file system has no locks.
    """
    for wait in (0.01, 0.02, 0.04, 0.0):
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(wait)
        else:
            return True
    return False


def holder(path: Path) -> Holder | None:
    """Who holds the lock of this file now; None when nobody does. It keeps nothing.

    A pid tells nothing by itself: a process in a container or on another machine has it in a world of its own.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return _held_by(fd)
    except OSError:
        return None
    finally:
        os.close(fd)


def _held_by(fd: int) -> Holder | None:
    found = _named(os.read(fd, 1000))
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return found or Holder(0)
    except OSError:  # a file system without locks
        return found if found is not None and found.alive else None
    return None
