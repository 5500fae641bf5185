"""All sessions: what the list shows of each, found again by a word, from an index that is only a cache of their logs.

It is made again from them whenever it is missing, damaged or older.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.disk import ordinary, replaced
from tui_agent.core.lock import holder
from tui_agent.core.log import load
from tui_agent.core.meter import meter
from tui_agent.core.types import ConfigError
from tui_agent.sessions import LARGEST, LOCK, LOG, STATE, size_of, touched
from tui_agent.unsent import typed

INDEX = ".index.json"
INDEX_VERSION = 1
SEARCHED = 600
"""Characters of what the person said that the index keeps of a session; the rest is looked for in its log."""


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


_FOLDS = re.compile(rb"\\u(?:00df|0130|0149|017f|01f0|1e9[6-9ae]|212a|fb0[0-6])")
"""A letter, as JSON writes it, that has an ASCII one in it when case does not count: an ß is ss."""
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
    changed, size = _changed(log, folder), _total(folder)
    if size_of(log) > LARGEST:
        return Summary(folder.name, "", changed, damage=f"larger than {LARGEST // 2**20} MiB", size=size)
    try:
        loaded = load(log)
    except OSError as error:
        return Summary(folder.name, "", changed, damage=error.strerror or "cannot be read", size=size)
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


def _changed(*paths: Path) -> float:
    """When the first of these that can be looked at was changed, 0 where none can."""
    for path in paths:
        with suppress(OSError):
            return path.stat().st_mtime
    return 0.0


def _total(folder: Path) -> int:
    return sum(size_of(Path(where, name)) for where, _, names in os.walk(folder) for name in names)


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
        record = json.loads(ordinary(index))
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
            case ev.UserSaid(text) | ev.Steered(text) | ev.Notice(text) | ev.Checkpoint(text):
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
        data = ordinary(folder / LOG).lower()
    except OSError:
        return False
    words = query.casefold().split()
    # cheap first: a record is ASCII, so a word stands there as JSON writes it, or in another case of its own letters
    plain = [json.dumps(word)[1:-1].lower().encode() for word in words if word.isascii()]
    if any(word not in data for word in plain) and not _FOLDS.search(data):
        return False
    left = set(words)
    for text in map(str.casefold, texts(folder)):
        left -= {word for word in left if word in text}
    return not left


def held(sessions: Path) -> list[str]:
    """The ids of those that are open now, in any window."""
    return [name for name, _ in _marks(sessions) if holder(sessions / name / LOCK) is not None]


def prunable(summaries: Iterable[Summary], sessions: Path, before: float) -> list[Summary]:
    """The sessions in which nothing was said or typed since a time that is known, and which are not open."""
    old = (one for one in summaries if 0 < one.changed < before and touched(sessions / one.id) < before)
    return [one for one in old if holder(sessions / one.id / LOCK) is None]
