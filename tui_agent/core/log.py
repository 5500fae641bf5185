"""The event log: append-only JSON lines, the only truth about a session.

Line 1 is `{"v": 1, "type": "session", ...}`, then `{"seq", "t", "type", ...}`. A torn tail (a last
line without newline, or one that is no JSON object) is cut before the first append and kept in a
`.rej` file beside the log. Records of unknown type are kept. When the disk refuses, records wait
in memory and are written in order as soon as it takes them again: `fault` says so meanwhile.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from tui_agent.core import events as ev
from tui_agent.core.codec import from_json, to_json

VERSION = 1
HIDDEN = "[key hidden]"
SHORT = 8
"""Characters below which a text is no key: hiding it would tear words apart."""

_NAMES: dict[str, type] = {
    "session": ev.SessionStarted,
    "user": ev.UserSaid,
    "model": ev.ModelChosen,
    "protocol": ev.ProtocolChosen,
    "assistant": ev.AssistantSaid,
    "checkpoint": ev.Checkpoint,
    "asked": ev.Asked,
    "answered": ev.Answered,
    "tool": ev.ToolDone,
    "check": ev.CheckDone,
    "undone": ev.Undone,
    "notice": ev.Notice,
    "provider_failed": ev.ProviderFailed,
    "run_ended": ev.RunEnded,
}
_TYPES = {cls: name for name, cls in _NAMES.items()}
_SYNCED = (ev.Asked, ev.Answered, ev.CheckDone, ev.Undone, ev.RunEnded)


def is_durable(event: ev.Event) -> TypeGuard[ev.Durable]:
    """True for events that belong in the log."""
    return type(event) in _TYPES


def encode(event: ev.Durable | ev.Unknown) -> dict[str, Any]:
    """An event as a JSON object with its `type`, without sequence number and time."""
    if isinstance(event, ev.Unknown):
        return {"type": event.type, **event.data}
    return {"type": _TYPES[type(event)], **to_json(event)}


def decode(record: dict[str, Any]) -> ev.Durable | ev.Unknown:
    """The event of a record. An unknown type gives `Unknown`; a known one that does not fit is a ValueError."""
    kind = record.get("type")
    data = {k: v for k, v in record.items() if k not in {"type", "seq", "t", "v"}}
    if kind not in _NAMES:
        return ev.Unknown(str(kind), data)
    event: ev.Durable = from_json(_NAMES[kind], data)
    return event


class Log(Protocol):
    """What the loop needs of a log."""

    @property
    def events(self) -> Sequence[ev.Durable | ev.Unknown]:
        """Everything recorded so far, in order."""

    def append(self, event: ev.Durable) -> None:
        """Record an event. Never raises: a disk that refuses is reported by the log itself."""


@dataclass
class MemoryLog:
    """A log that only remembers; for tests and for a session whose folder cannot be written."""

    events: list[ev.Durable | ev.Unknown] = field(default_factory=list)

    def append(self, event: ev.Durable) -> None:
        """Record an event."""
        self.events.append(event)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a log file held: its events, one sentence per thing that was wrong, and where its good part ends (bytes)."""

    events: tuple[ev.Durable | ev.Unknown, ...]
    problems: tuple[str, ...]
    good: int
    read_only: bool = False


def load(path: Path) -> Loaded:
    """Read a log file. Damaged records are skipped and reported, a torn tail ends the good part.

    Raises:
        OSError: the file cannot be read.
    """
    events: list[ev.Durable | ev.Unknown] = []
    problems: list[str] = []
    good, read_only = 0, False
    data = path.read_bytes()
    for number, line in enumerate(_lines(data), 1):
        whole = line.endswith(b"\n")
        record = _record(line)
        last = good + len(line) == len(data)
        if record is None or not whole:
            if last:
                problems.append("1 incomplete record at the end was dropped")
                break
            if line.strip():
                problems.append(f"line {number} is damaged and was skipped")
            good += len(line)
            continue
        good += len(line)
        if number == 1 and isinstance(v := record.get("v"), int) and v > VERSION:
            read_only = True
            problems.append(f"written by a newer version (format {v}); opened read-only")
        try:
            events.append(decode(record))
        except ValueError as error:
            problems.append(f"line {number} is damaged and was skipped ({error})")
    return Loaded(tuple(events), tuple(problems), good, read_only)


def _lines(data: bytes) -> Iterable[bytes]:
    # not bytes.splitlines: that also cuts at a bare CR
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end + 1
        yield data[start:end]
        start = end


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


class FileLog:
    """The log of one session on disk. One writer; `events` is the list in memory, in order."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time, hidden: Iterable[str] = ()) -> None:
        """Open `path` (created 0600, its folder 0700, at the first append), reading and repairing what is there.

        The texts in `hidden` (keys) are never written: a record holds `HIDDEN` in their place, wherever they came from.
        """
        self.path = path
        self.fault: str | None = None
        self.problems: tuple[str, ...] = ()
        self.events: list[ev.Durable | ev.Unknown] = []
        self._now = now
        # as they look in a record; the longest first, for one may hold another
        self._hidden = sorted((json.dumps(text)[1:-1] for text in set(hidden) if len(text) >= SHORT), key=len)[::-1]
        self._waiting: list[bytes] = []
        self._seq = 0
        self.read_only = False
        if path.exists():
            loaded = load(path)
            self.events = list(loaded.events)
            self.problems = loaded.problems
            self.read_only = loaded.read_only
            self._seq = len(self.events)
            if loaded.good < path.stat().st_size and not self.read_only:
                self._cut(loaded.good)

    def _cut(self, good: int) -> None:
        with self.path.open("r+b") as f:
            f.seek(good)
            with self.path.with_suffix(".rej").open("ab") as rej:
                rej.write(f.read() + b"\n")
            f.truncate(good)
            os.fsync(f.fileno())

    def append(self, event: ev.Durable) -> None:
        """Record an event; approvals, receipts, checks and run ends are on the disk when this returns."""
        self.events.append(event)
        if self.read_only:
            return
        stamp = {"v": VERSION} if isinstance(event, ev.SessionStarted) else {"seq": self._seq}
        record = stamp | {"t": round(self._now(), 3)} | encode(event)
        self._seq += 1
        line = json.dumps(record, ensure_ascii=True, separators=(",", ":"))
        for text in self._hidden:
            line = line.replace(text, HIDDEN)
        self._waiting.append(line.encode() + b"\n")
        sync = isinstance(event, _SYNCED) or (isinstance(event, ev.ToolDone) and event.receipt is not None)
        try:
            self._write(sync=sync)
            self.fault = None
        except OSError as error:
            self.fault = f"session not saved: {error.strerror or error} ({self.path}); it goes on in memory"

    def _write(self, *, sync: bool) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            while self._waiting:
                size = os.fstat(fd).st_size
                line = self._waiting[0]
                if os.write(fd, line) < len(line):
                    os.ftruncate(fd, size)  # half a record would fuse with the next one
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                self._waiting.pop(0)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)


def digest_of(value: object) -> str:
    """sha256 hex of a frozen value's canonical JSON: what an approval was given for."""
    import hashlib  # noqa: PLC0415 - only approvals need it

    return hashlib.sha256(json.dumps(to_json(value), sort_keys=True).encode()).hexdigest()
