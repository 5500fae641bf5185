"""What a session changed, file by file, as data: the difference to before, refused proposals, reverting, notes.

The changes are those of the receipts of the event log; what was refused is read from its calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.diff import apply_hunks, diff
from tui_agent.core.types import Json, Outcome, Receipt, ToolCall
from tui_agent.session import Session

Base: TypeAlias = Literal["session", "turn"]
"""What a file is compared with: before the session's first change, or before the newest message of the person."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the review: its bytes before and now, None where there is no file.

    `proposed`: the change was refused or left out, and is only shown; `words` says why. A change whose old
    bytes are not held (`known` is False) can only be named.
    """

    path: str
    base: bytes | None
    now: bytes | None
    proposed: bool = False
    words: str = ""
    known: bool = True
    added: int = 0
    removed: int = 0

    @property
    def mark(self) -> str:
        """A, M or D; x for what was not applied."""
        return "x" if self.proposed else "A" if self.base is None else "D" if self.now is None else "M"


def receipts(events: Iterable[ev.Event | ev.Unknown], base: Base = "session") -> tuple[Receipt, ...]:
    """The receipts since the base, oldest first."""
    return tuple(fold.receipts(_since(events, base)))


def _since(events: Iterable[ev.Event | ev.Unknown], base: Base) -> list[ev.Event | ev.Unknown]:
    """The events since the base."""
    found = list(events)
    starts = [n for n, event in enumerate(found) if isinstance(event, ev.UserSaid)]
    return found[starts[-1] :] if base == "turn" and starts else found


async def changed(session: Session, base: Base = "session") -> tuple[Entry, ...]:
    """The files that differ from the base, in order of their first change, then what was refused."""
    entries = []
    for step in await session.workspace.plan_undo(receipts(session.events, base)):
        now, before = await session.workspace.versions(step)
        if step.state == "same":
            continue
        words = "changed since by somebody else, too" if step.state == "changed" else ""
        known = step.possible and (before is not None or step.target is None)
        entries.append(Entry(step.path, before, now, words=words if known else step.words, known=known))
    return await asyncio.to_thread(lambda: tuple(map(_counted, (*entries, *refused(session.events, base)))))


def _counted(entry: Entry) -> Entry:
    change = diff(entry.base, entry.now)
    return replace(entry, added=change.added, removed=change.removed) if entry.known else entry


def refused(events: Iterable[ev.Event | ev.Unknown], base: Base = "session") -> tuple[Entry, ...]:
    """The edits that the person refused or left out, as they were proposed."""
    found: list[Entry] = []
    for event in _since(events, base):
        if isinstance(event, ev.ToolDone) and event.denied in {"person", "skip"}:
            texts = proposed(event.call)
            path = (event.call.arguments or {}).get("path")
            if texts is not None and isinstance(path, str):
                word = "left out" if event.denied == "skip" else "refused"
                found.append(Entry(path, *texts, proposed=True, words=": ".join(filter(None, (word, event.note)))))
    return tuple(found)


def proposed(call: ToolCall) -> tuple[bytes | None, bytes | None] | None:
    """The texts of a proposed edit, before and after, as far as the call names them; None when it is no edit."""
    arguments = call.arguments or {}
    edits: list[Json] = arguments["edits"] if isinstance(arguments.get("edits"), list) else [arguments]
    if call.name == "delete_file":
        return None
    if isinstance(content := arguments.get("content"), str):
        return None, _bytes(content)
    pairs = [(edit.get("old"), edit.get("new")) for edit in edits if isinstance(edit, dict)]
    old = [before for before, after in pairs if isinstance(before, str) and isinstance(after, str)]
    new = [after for before, after in pairs if isinstance(before, str) and isinstance(after, str)]
    return (_bytes(*old), _bytes(*new)) if old else None


def _bytes(*texts: str) -> bytes:
    return "".join(text if text.endswith("\n") else text + "\n" for text in texts).encode("utf-8", "surrogatepass")


def without(entry: Entry, hunks: Collection[int]) -> bytes | None:
    """The file of an entry with these hunks of its change taken back."""
    change = diff(entry.base, entry.now)
    return apply_hunks(entry.base, change, {hunk.number for hunk in change.hunks} - set(hunks))


async def revert(session: Session, entry: Entry, hunks: Collection[int] | None) -> Outcome:
    """Take back hunks of a change, None for the whole file, and record it; the model is told with the next message.

    Call it only while no turn runs.
    """
    new = entry.base if hunks is None else without(entry, hunks)
    outcome = await session.workspace.restore(entry.path, entry.now, new)
    if outcome.receipt is None:
        return outcome
    count = "all changes" if hunks is None else f"hunk{'s' * (len(hunks) != 1)} {', '.join(map(str, sorted(hunks)))}"
    receipt = outcome.receipt
    call = ToolCall(receipt.call_id, "undo", {"path": entry.path})
    summary = f"revert  {entry.path}  +{receipt.added} -{receipt.removed}"
    session.log.append(ev.ToolDone(call, "applied", outcome.text, count, summary, receipt))
    told = f"The user took back {count} of your change of {entry.path}. Read the file again before you change it."
    session.log.append(ev.Notice(told, "model"))
    return outcome


# ------------------------------------------------------------------ notes


@dataclass(frozen=True, slots=True)
class Note:
    """What the person says about a line: `line` from 1, of the new file or (`gone`) of the old one."""

    path: str
    line: int
    quote: str
    text: str
    gone: bool = False


@dataclass(slots=True)
class Notes:
    """The notes of a review, in the order they were written; a second one about a line takes the place of the first."""

    items: list[Note] = field(default_factory=list)

    def put(self, note: Note) -> None:
        """Keep a note; one without text removes what was there."""
        self.items = [n for n in self.items if (n.path, n.line, n.gone) != (note.path, note.line, note.gone)]
        if note.text:
            self.items.append(note)

    def message(self, entries: Sequence[Entry]) -> str:
        """All notes as one message for the model; "" when there are none."""
        if not self.items:
            return ""
        files = {entry.path: entry for entry in entries if not entry.proposed}
        parts = [_said(note, files.get(note.path)) for note in self.items]
        return "Notes on your changes:\n\n" + "\n\n".join(parts)


def outdated(note: Note, entry: Entry | None) -> bool:
    """Whether the line that a note is about does not stand there any more."""
    data = None if entry is None else entry.base if note.gone else entry.now
    lines = (data or b"").decode("utf-8", "replace").split("\n")
    return note.line > len(lines) or lines[note.line - 1].rstrip("\r") != note.quote


def _said(note: Note, entry: Entry | None) -> str:
    mark = " (a line that you removed)" if note.gone else ""
    mark += " (outdated: the line has changed since)" if outdated(note, entry) else ""
    return f"{note.path}:{note.line}{mark}\n> {note.quote}\n{note.text}"
