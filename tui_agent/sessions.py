"""The folder of sessions: one folder each, with its log, its lock, its copies and what was typed but not sent.

`Place` is one session held by this process; `listed` is what all of them are, from an index that is only a cache of
their logs: it is made again from them whenever it is missing, damaged or older.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

from tui_agent.core import events as ev
from tui_agent.core import fold, unfinished
from tui_agent.core.disk import is_folder, private_folder, replaced, there
from tui_agent.core.lock import Lock, holder
from tui_agent.core.log import FileLog, load
from tui_agent.core.meter import meter
from tui_agent.core.secrets import Secrets
from tui_agent.core.standing import before
from tui_agent.core.types import AgentError, ConfigError
from tui_agent.unsent import Unsent, read, typed, write

LOG, LOCK, STATE, BLOBS, INDEX = "log.jsonl", "lock", "state.json", "blobs", ".index.json"
LARGEST = 100 * 2**20
"""Bytes of a log that is still opened."""
SEARCHED = 600
"""Characters of what the person said that the index keeps of a session; the rest is looked for in its log."""
INDEX_VERSION = 1
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
            if _size(folder / LOG) > LARGEST:
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


def _size(path: Path) -> int:
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


# ------------------------------------------------------------------ all of them


@dataclass(frozen=True, slots=True)
class Summary:
    """What the list shows of a session, a function of its log. Times are wall clock, `cost` None is unknown.

    `names`: all that it was ever given, newest last. `files` are some of the `touched` ones. `damage`: what is wrong with its log. `turn`: before which
    message of its `parent` it was forked. `size`: bytes of its folder. Without a turn `first` is what was typed.
    """

    id: str
    cwd: str
    changed: float
    names: tuple[str, ...] = ()
    first: str = ""
    said: str = ""
    turns: int = 0
    files: tuple[str, ...] = ()
    cost: float | None = 0.0
    model: str = ""
    last: str = ""
    answer: str = ""
    tokens: int | None = None
    waiting: int = 0
    damage: str = ""
    parent: str | None = None
    turn: int = 0
    size: int = 0
    touched: int = 0

    @property
    def title(self) -> str:
        """The name it was given, else its first message."""
        return self.names[-1] if self.names else self.first

    def missing(self, query: str, *, folder: bool = False) -> str:
        """The words of a query, in any case, that stand in no name, file or kept prompt; the log may hold them.

        `folder`: nor in the path of its folder.
        """
        where = "\n".join((*self.names, self.id, self.said, *self.files, self.cwd if folder else "")).casefold()
        return " ".join(word for word in query.casefold().split() if word not in where)


_NONE = type(None)
_TYPES: dict[object, tuple[type, ...]] = {
    "str": (str,),
    "str | None": (str, _NONE),
    "int": (int,),
    "int | None": (int, _NONE),
    "float": (float, int),
    "float | None": (float, int, _NONE),
    "tuple[str, ...]": (list,),
}
_COLUMNS = [_TYPES[field.type] for field in fields(Summary)]
"""The types that a row of the index may have in its columns; `codec` would look at thousands of rows for too long."""


def summarise(folder: Path) -> Summary:
    """Read a session's log. One that cannot be read is listed as damaged."""
    log = folder / LOG
    try:
        changed, size = log.stat().st_mtime, _total(folder)
        if _size(log) > LARGEST:
            return Summary(folder.name, "", changed, damage=f"larger than {LARGEST // 2**20} MiB", size=size)
        loaded = load(log)
    except OSError as error:
        return Summary(folder.name, "", 0.0, damage=error.strerror or "cannot be read")
    events = loaded.events
    began = next((e for e in events if isinstance(e, ev.SessionStarted)), None)
    turns = [_line(e.text) for e in events if isinstance(e, ev.UserSaid)]
    said = [_line(e.text) for e in events if isinstance(e, ev.UserSaid | ev.Steered)]
    changed_files = tuple(fold.changes(events))
    answers = [e.message.text for e in events if isinstance(e, ev.AssistantSaid) and e.message.text]
    chosen = fold.model(events)
    return Summary(
        folder.name,
        began.cwd if began else "",
        changed,
        tuple(dict.fromkeys([e.name for e in reversed(events) if isinstance(e, ev.Named)]))[::-1],
        turns[0][:200] if turns else "",
        "\n".join(said)[:SEARCHED],
        len(turns),
        changed_files[:50],
        fold.totals(events).cost,
        chosen.model if chosen else "",
        said[-1][:200] if said else "",
        _line(answers[-1])[:400] if answers else "",
        meter(events).tokens,
        len(fold.waiting(events)),
        loaded.damage,
        began.parent if began else None,
        began.turn if began else 0,
        size,
        len(changed_files),
    )


def _line(text: str) -> str:
    return " ".join(text.split())


def _total(folder: Path) -> int:
    return sum(_size(Path(where, name)) for where, _, names in os.walk(folder) for name in names)


def listed(sessions: Path) -> list[Summary]:
    """All sessions, the one changed last first. Blocks on the disk; reads only the logs that changed since the last time."""
    index = sessions / INDEX
    known, found, fresh = _read(index), {}, False
    for name, mark in _marks(sessions):
        entry = known.get(name)
        if entry is None or entry[0] != mark:
            entry, fresh = (mark, summarise(sessions / name)), True
        found[name] = entry
    if fresh or len(found) != len(known):
        record = {"v": INDEX_VERSION, "sessions": [[mark, astuple(one)] for mark, one in found.values()]}
        with suppress(OSError):  # without it the next list is slower, no more
            replaced(index, json.dumps(record, separators=(",", ":")))
    return sorted(
        (_typed(sessions, one) for _, one in found.values()), key=lambda one: (one.changed, one.id), reverse=True
    )


def _typed(sessions: Path, one: Summary) -> Summary:
    """A session in which nothing was said is known by what was typed: no part of its log, nor of the index."""
    text = "" if one.turns else _line(typed(sessions / one.id / STATE))
    return replace(one, first=text[:200], said=text[:SEARCHED]) if text else one


def _marks(sessions: Path) -> Iterator[tuple[str, str]]:
    """The folders of sessions, and of each what tells whether its log is another one."""
    try:
        entries = list(os.scandir(sessions))
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
            continue
        try:
            log = os.stat(f"{entry.path}/{LOG}")  # noqa: PTH116 - a Path for each of thousands costs more than the look
        except OSError:
            yield entry.name, ""
        else:
            yield entry.name, f"{log.st_size}:{log.st_mtime_ns}:{log.st_ino}"


def _read(index: Path) -> dict[str, tuple[str, Summary]]:
    """The index, empty when it is missing, of another version or damaged."""
    try:
        record = json.loads(index.read_bytes())
        if record["v"] != INDEX_VERSION:
            return {}
        return {(one := _summary(row)).id: (str(mark), one) for mark, row in record["sessions"]}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}


def _summary(row: list[Any]) -> Summary:
    if not all(type(value) in kinds for value, kinds in zip(row, _COLUMNS, strict=True)):
        raise ValueError("no row of the index")
    cells: list[Any] = [tuple(value) if type(value) is list else value for value in row]
    one = Summary(*cells)
    if not all(type(text) is str for text in (*one.names, *one.files)):
        raise ValueError("no row of the index")
    if not 0 <= one.changed < 2**36:
        raise ValueError("no time of a file")
    return one


def in_folder(summaries: Iterable[Summary], cwd: Path) -> list[Summary]:
    """Those of one folder."""
    return [one for one in summaries if one.cwd == str(cwd)]


def find(summaries: Sequence[Summary], word: str, cwd: Path) -> Summary:
    """The session that a person means: by id or its beginning, by a name it has or had, or -1 for the last one here.

    Raises:
        ConfigError: there is none, or there are several; names them.
    """
    here = in_folder(summaries, cwd)
    if word in {"", "-1"}:
        if not here:
            raise ConfigError(f"there is no earlier session in {cwd}")
        return here[0]
    low = word.casefold()
    for fits in (
        [one for one in summaries if one.id == word],
        [one for one in here if one.title.casefold() == low],
        [one for one in summaries if one.title.casefold() == low],
        [one for one in summaries if low in map(str.casefold, one.names)],
        [one for one in summaries if one.id.startswith(word)],
        [one for one in here if low in one.title.casefold()],
    ):
        if len(fits) == 1:
            return fits[0]
        if fits:
            several = ", ".join(f"{one.id} ({one.title})" for one in fits[:5])
            raise ConfigError(f"{word!r} is the name of {len(fits)} sessions: {several}. Give the id")
    raise ConfigError(f"there is no session {word!r}. tui-agent sessions lists them")


def texts(folder: Path) -> Iterator[str]:
    """Everything that was said or done in a session, to search in; nothing when its log cannot be read."""
    try:
        events = load(folder / LOG).events
    except OSError:
        return
    for event in events:
        match event:
            case ev.UserSaid(text) | ev.Steered(text) | ev.Notice(text):
                yield text
            case ev.AssistantSaid(message):
                yield message.text
            case ev.ToolDone(text=text, summary=summary):
                yield summary
                yield text
            case ev.CheckDone(output=output):
                yield output


def contains(folder: Path, query: str) -> bool:
    """Whether all words of a query, in any case and order, stand in what was said or done. Blocks on the disk."""
    try:
        data = (folder / LOG).read_bytes().lower()
    except OSError:
        return False
    words = query.casefold().split()
    # cheap first: a record is ASCII, so a word stands there as JSON writes it, or in another case of its own letters
    if any(word.isascii() and json.dumps(word)[1:-1].lower().encode() not in data for word in words):
        return False
    left = set(words)
    for text in map(str.casefold, texts(folder)):
        left -= {word for word in left if word in text}
    return not left


# ------------------------------------------------------------------ change and removal


def rename(folder: Path, name: str) -> None:
    """Give a session another name; the old one is still found.

    Raises:
        AgentError: the name is empty, the session is open elsewhere, or it cannot be written.
    """
    if not (name := _line(name)[:200]):
        raise AgentError("a name needs letters")
    place = Place(folder)
    try:
        place.log.append(ev.Named(name))
        if place.log.fault or place.log.read_only:
            raise AgentError(place.log.fault or "this session can only be read")
    finally:
        place.close()


def delete(folder: Path) -> None:
    """Remove a session with its copies, for good.

    Raises:
        HeldError: it is open.
        AgentError: it cannot be removed.
    """
    if why := unsafe(folder):
        raise AgentError(f"not removed: {why}")
    try:
        lock = Lock(folder / LOCK)
    except OSError as error:
        raise AgentError(f"{folder} cannot be removed: {error.strerror}") from error
    gone = folder.with_name(f"{GONE}{folder.name}")  # a half removed one is never listed
    try:
        folder.rename(gone)
        for half in folder.parent.glob(f"{GONE}*"):  # and those that a kill left
            shutil.rmtree(half)
    except OSError as error:
        raise AgentError(f"{folder} cannot be removed: {error.strerror}") from error
    finally:
        lock.release()


def held(sessions: Path) -> list[str]:
    """The ids of those that are open now, in any window."""
    return [name for name, _ in _marks(sessions) if holder(sessions / name / LOCK) is not None]


def prunable(summaries: Iterable[Summary], sessions: Path, before: float) -> list[Summary]:
    """The sessions that were changed last before a time and are not open."""
    return [one for one in summaries if one.changed < before and holder(sessions / one.id / LOCK) is None]
