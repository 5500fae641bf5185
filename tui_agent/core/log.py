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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from tui_agent.core import events as ev
from tui_agent.core.codec import from_json, to_json
from tui_agent.core.disk import ordinary, private_folder, there
from tui_agent.core.secrets import Secrets, in_texts, typed_keys
from tui_agent.core.types import OWN_COMMAND

VERSION = 1
DAMAGED = ev.Unknown("damaged")
"""Stands in the place of a record that cannot be read: events are named by their numbers, which stay as they were."""
_TOLD = 3
"""Damaged records that are named one by one."""

_NAMES: dict[str, type] = {
    "session": ev.SessionStarted,
    "user": ev.UserSaid,
    "steered": ev.Steered,
    "model": ev.ModelChosen,
    "mode": ev.ModeChosen,
    "named": ev.Named,
    "protocol": ev.ProtocolChosen,
    "assistant": ev.AssistantSaid,
    "checkpoint": ev.Checkpoint,
    "asked": ev.Asked,
    "answered": ev.Answered,
    "begun": ev.Begun,
    "not_done": ev.NotDone,
    "tool": ev.ToolDone,
    "check": ev.CheckDone,
    "undone": ev.Undone,
    "rewound": ev.Rewound,
    "instructed": ev.Instructed,
    "routed": ev.Routed,
    "marked": ev.Marked,
    "compacted": ev.Compacted,
    "expanded": ev.Expanded,
    "overflowed": ev.Overflowed,
    "budget": ev.BudgetSet,
    "search": ev.SearchSet,
    "notice": ev.Notice,
    "spent": ev.Spent,
    "provider_failed": ev.ProviderFailed,
    "run_ended": ev.RunEnded,
}
_TYPES = {cls: name for name, cls in _NAMES.items()}
_SYNCED = (ev.Asked, ev.Answered, ev.CheckDone, ev.Undone, ev.Rewound, ev.RunEnded)
_OPENING = (ev.SessionStarted, ev.ModelChosen, ev.ModeChosen, ev.ProtocolChosen, ev.SearchSet, ev.Notice)
"""What alone makes no session: a log that holds nothing else is not written yet."""


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
    lines: int = 0
    """Lines in the good part."""

    @property
    def damage(self) -> str:
        """All that was wrong in one line, "" when nothing was."""
        shown = [*self.problems[:_TOLD], *([f"and {more} more"] if (more := len(self.problems) - _TOLD) > 0 else [])]
        return "; ".join(shown)


def load(path: Path) -> Loaded:
    """Read a log file. Damaged records are skipped and reported, a torn tail ends the good part.

    Raises:
        OSError: the file cannot be read.
    """
    events: list[ev.Durable | ev.Unknown] = []
    problems: list[str] = []
    good, read_only = 0, False
    data = ordinary(path)
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
                events.append(DAMAGED)
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
            events.append(DAMAGED)
    return Loaded(tuple(events), tuple(problems), good, read_only, data.count(b"\n", 0, good))


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


def _typed(event: ev.Durable | ev.Unknown) -> bool:
    """Whether it holds what the person wrote: a message, or a command of their own."""
    match event:
        case ev.UserSaid() | ev.Steered():
            return True
        case ev.ToolDone(call):
            return call.name == OWN_COMMAND
        case ev.Begun(receipt):
            return receipt.tool == OWN_COMMAND
    return False


class FileLog:
    """The log of one session on disk. One writer; `events` is the list in memory, in order."""

    def __init__(
        self,
        path: Path,
        now: Callable[[], float] = time.time,
        hidden: Secrets | None = None,
        first: Callable[[], None] | None = None,
    ) -> None:
        """Open `path`, reading and repairing what is there.

        A new one is created 0600, its folder 0700, by the first event that tells more than where and with which
        model a session would begin.
        What is in `hidden` when a record is made is not written, wherever it came from.
        `first` is called before a new file is written.
        """
        self.path = path
        self.fault: str | None = None
        self.damage = ""
        """What was wrong with the file, in one line."""
        self.events: list[ev.Durable | ev.Unknown] = []
        self._now = now
        self._hidden = hidden if hidden is not None else Secrets()
        self._waiting: list[bytes] = []
        self._seq = 0
        self.read_only = False
        self._first = first
        self._empty = not there(path)
        if not self._empty:
            loaded = load(path)
            self.events = list(loaded.events)
            self.damage = loaded.damage
            self.read_only = loaded.read_only
            self._seq = loaded.lines
            if loaded.good < path.stat().st_size and not self.read_only:
                try:
                    self._cut(loaded.good)
                except OSError as error:
                    self.read_only = True  # what is appended would fuse with the torn record
                    self.damage += f", and it cannot be mended ({error.strerror}): opened read-only"

    def hide(self, secrets: Secrets) -> None:
        """Write none of these from here on."""
        self._hidden = secrets

    def _cut(self, good: int) -> None:
        with self.path.open("r+b") as f:
            f.seek(good)
            with self.path.with_suffix(".rej").open("ab") as rej:
                rej.write(f.read() + b"\n")
            f.truncate(good)
            os.fsync(f.fileno())

    def append(self, event: ev.Durable | ev.Unknown) -> None:
        """Record an event; approvals, receipts, checks and run ends are on the disk when this returns."""
        self.events.append(event)
        if self.read_only:
            return
        self._wait(event)
        if self._empty and isinstance(event, _OPENING):
            return
        sync = isinstance(event, _SYNCED) or (isinstance(event, ev.ToolDone) and event.receipt is not None)
        self.save(sync=sync)

    @property
    def bare(self) -> bool:
        """Whether it only says where, and with which model, a session would begin."""
        return all(isinstance(event, _OPENING) for event in self.events)

    def save(self, *, sync: bool = False) -> None:
        """Write what waits, also when a session has only just been opened; with `sync` it is on the disk then."""
        if self.read_only:
            return
        if self._empty and self._first is not None:
            self._first()
        try:
            self._write(sync=sync)
            self._empty = False
            self.fault = None
        except OSError as error:
            self.fault = f"session not saved: {error.strerror or error} ({self.path}); it goes on in memory"

    def line(self, record: Mapping[str, Any]) -> str:
        """A record as one line of JSON, without the end of the line and without what is never written."""
        return self._hidden.hide(json.dumps(record, ensure_ascii=True, separators=(",", ":")))

    def typed(self, text: str) -> str:
        """What the person wrote as it may be kept: without the keys in it, known or by their looks."""
        return typed_keys(self._hidden.hide(text))

    def _wait(self, event: ev.Durable | ev.Unknown) -> None:
        stamp = {"v": VERSION} if isinstance(event, ev.SessionStarted) else {"seq": self._seq}
        record = stamp | {"t": round(self._now(), 3)} | encode(event)
        if _typed(event):
            record = in_texts(record, typed_keys)
        self._seq += 1
        self._waiting.append(self.line(record).encode() + b"\n")

    def _write(self, *, sync: bool) -> None:
        private_folder(self.path.parent)
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            if len(self._waiting) < len(self.events) and os.fstat(fd).st_size == 0:
                # somebody took the file away: what it held is still here
                self._waiting, self._seq = [], 0
                for event in self.events:
                    self._wait(event)
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
