"""What this session knows about files: which bytes were read or written, and copies of them.

It answers two questions. May this file be changed (its current bytes were read here)? And what did a
file hold before a command changed it?
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TypeAlias

from tui_agent.core import events as ev
from tui_agent.core import fold, unfinished
from tui_agent.core.file_state import Sight
from tui_agent.core.standing import AnyEvent
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.files import View
from tui_agent.workspace.files import Identity, sha256
from tui_agent.workspace.receipts import Blobs

Past: TypeAlias = dict[tuple[str, str], Sight]


@dataclass(frozen=True, slots=True)
class Known:
    """One file as it was last read or written, and where it stood then: None when that was before this process began."""

    sight: Sight
    identity: Identity | None


@dataclass(slots=True)
class Memory:
    """The files a session has seen, by path relative to the workspace.

    `past` are its sights of what files held at any time, by path and hash: what an undo brings back is known by it.
    `told` are the hashes that the log holds of files that were not written here, from when a command began. `left` are the
    files as others left them, with their hashes: the model read none of those, so they are known for receipts only.
    """

    blobs: Blobs
    known: dict[str, Known] = field(default_factory=dict)
    past: Past = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    left: dict[str, tuple[Identity, str]] = field(default_factory=dict)
    _one_at_a_time: Lock = field(default_factory=Lock)

    def holds(self, path: str, identity: Identity) -> str | None:
        """The hash of the bytes of a file that stands like this, None when they are not known."""
        known = self.known.get(path)
        if known and known.identity == identity:
            return known.sight.sha256
        stood, name = self.left.get(path, (None, ""))
        return name if stood == identity else None

    def recall(self, events: Iterable[AnyEvent]) -> None:
        """Know what the session knew when these were its events, too; no file is looked at."""
        events = tuple(events)
        found, past = _sights(events)
        self.past |= past
        self.known |= {path: Known(sight, None) for path, sight in found.items()}
        self.told |= {path: name for path, name in unfinished.known(events).items() if name is not None}

    def sight(self, path: str) -> Sight | None:
        """What the model knows of a file, None when that is nothing."""
        known = self.known.get(path)
        return known.sight if known else None

    def read(self, path: str, view: View, identity: Identity, *, secret: bool) -> Sight:
        """A window of the file was shown to the model; gives what it knows now. Reads may end at the same time."""
        lines = ((view.first, view.last),) if view.lines and not view.cut_lines else ()
        with self._one_at_a_time:
            sight = Sight(path, view.sha256, lines, secret=secret).beside(self.sight(path))
            sight = replace(sight, whole=sight.whole or sight.upto >= view.total)
            self.known[path], self.past[path, sight.sha256] = Known(sight, identity), sight
        return sight

    def wrote(
        self, path: str, data: bytes | None, identity: Identity | None, *, whole: bool, secret: bool, back: bool = False
    ) -> Sight | None:
        """The file now holds these bytes by our own hand; None forgets a deleted file. Gives what the model knows now.

        `back`: an undo wrote them, so that the model knows them when it did so before; else it has to read them.
        """
        old = self.sight(path)
        if data is None or identity is None:
            self.known.pop(path, None)
            return None
        upto = old.upto if old else 0
        name = self.told[path] = sha256(data)  # by the receipt
        before = self.past.get((path, name))
        if back and before is None:
            self.left[path] = identity, name
            return None
        now = Sight(path, name, ((1, upto),) if upto else (), whole or bool(old and old.whole), secret)
        sight = before if back and before is not None else now
        self.known[path], self.past[path, name] = Known(sight, identity), sight
        return sight

    def check(self, path: str, named: str, base: bytes, *, whole: bool) -> None:
        """Refuse a change of a file whose current bytes were not read here; `whole`: not read to its end."""
        known = self.sight(path)
        if known is None:
            told = f"{named} was not read in this session; read it first, then change it."
            raise ToolError(told, "refused", "the model had not read it")
        if known.sha256 != sha256(base):
            raise ToolError(
                f"{named} has changed since it was read, so it was not touched. Read it again and redo the change.",
                "refused",
                "it is another one than the model read",
            )
        if whole and not known.whole:
            how = (
                f"was read only up to line {known.upto}" if known.upto else "was not read whole from its first line on"
            )
            raise ToolError(
                f"{named} {how}, and this would replace all of it. Read the rest first, or use edit_file.",
                "refused",
                "the model had not read all of it",
            )


def seen(events: Iterable[AnyEvent]) -> dict[str, Sight]:
    """What the model has seen of each file, by path, as the log tells it; see `Memory.wrote` for what an undo wrote back.

    How a change ended whose process died was found out later: nobody has read that.
    """
    return _sights(events)[0]


def _sights(events: Iterable[AnyEvent]) -> tuple[dict[str, Sight], Past]:
    found: dict[str, Sight] = {}
    past: Past = {}
    for event in events:
        if isinstance(event, ev.ToolDone) and event.sight is not None:
            sight = event.sight.beside(found.get(event.sight.path))
            found[sight.path] = past[sight.path, sight.sha256] = sight
            continue
        for receipt in fold.receipts((event,)):
            path, name = receipt.path or "", receipt.after
            if receipt.before == receipt.after:
                continue
            if name is None or receipt.interrupted:
                found.pop(path, None)
            elif receipt.tool == "undo":
                found |= {path: past[path, name]} if (path, name) in past else {}
            elif path in found:
                found[path] = replace(found[path], sha256=name)
    return found, past
