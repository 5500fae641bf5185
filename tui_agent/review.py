"""What a session changed, file by file, as data: the difference to before, refused proposals, reverting, notes.

The changes are those of the receipts of the event log; what was refused is read from its calls.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal, TypeAlias

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.diff import apply_hunks, diff
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import NO_BASE, NOT_BEGUN, ApprovalRequest, Json, Outcome, ToolCall, WriteBytes
from tui_agent.session import Session
from tui_agent.undo import narrowed, not_restored, state, undone
from tui_agent.workspace.receipts import Restore, folders

Base: TypeAlias = Literal["session", "turn", "head"]
"""What a file is compared with: before the session's first change, before the newest message of the person, or as it
is in git's newest commit."""

APPLY = "apply"
"""Stands in place of a tool's name where the person applied later what they had refused or left out."""
_KEPT = {"person", "skip"}
"""Who or what left an edit out that stays to be read."""
_QUOTED = 500
"""Characters of a line that are quoted with a note: the model can read the rest at its number."""
_FIRST, _CHUNK = 4, 200
"""Files that are looked at together: few at first, so that something is there to see."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the review: its bytes before and now, None where there is no file.

    `proposed`: the change was refused or left out; `words` says why, `request` is what applying it would do now, None
    when that is not possible. A change whose old bytes are not held (`known` is False) can only be named; `stood`: there
    was a file before all the same, None: nobody knows. `call` is the id of the call that proposed what was not applied.
    """

    path: str
    base: bytes | None
    now: bytes | None
    proposed: bool = False
    words: str = ""
    known: bool = True
    added: int = 0
    removed: int = 0
    stood: bool | None = False
    binary: bool = False
    request: ApprovalRequest | None = None
    call: str = ""

    @property
    def key(self) -> tuple[str, bool, str]:
        """Which entry it is, also when the files are found anew: of one file there may be several."""
        return self.path, self.proposed, self.call

    @property
    def mark(self) -> str:
        """A, M or D; x for what was not applied, ? where nobody knows what was there before."""
        if self.proposed:
            return "x"
        if self.base is None and not self.stood:
            return "A" if self.stood is False else "?"
        return "D" if self.now is None else "M"


def receipts(events: Iterable[ev.Event | ev.Unknown], base: Base = "session") -> tuple[Receipt, ...]:
    """The receipts since the base, oldest first."""
    return tuple(fold.receipts(_since(events, base)))


def other_after(event: ev.Event | ev.Unknown) -> bool:
    """Whether there may be other things to review after an event: something was done, refused, or said by the person."""
    refused = isinstance(event, ev.ToolDone) and _stays(event)
    return refused or isinstance(event, ev.UserSaid) or any(fold.receipts((event,)))


def _stays(event: ev.ToolDone) -> bool:
    """Whether an action was not carried out by the person's choice: refused, left out, built on what was, or stopped."""
    return event.denied in _KEPT or (event.status == "refused" and event.note in {NO_BASE, NOT_BEGUN})


def _since(events: Iterable[ev.Event | ev.Unknown], base: Base) -> list[ev.Event | ev.Unknown]:
    """The events since the base."""
    found = list(events)
    starts = [n for n, event in enumerate(found) if isinstance(event, ev.UserSaid)]
    return found[starts[-1] :] if base == "turn" and starts else found


async def changed(session: Session, base: Base = "session") -> AsyncIterator[Entry]:
    """The files that differ from the base, in order of their first change, then what was refused; each when it is known.

    Where a file went under another name, its entries say so.
    """
    moved: dict[tuple[bytes, bool], str] = {}
    made = receipts(session.events, base)
    old_names = renames(made)
    new_names = {old: new for new, old in old_names.items()}
    first: dict[str, str | None] = {}
    for change in (change for receipt in made for change in receipt.files):
        first.setdefault(change.path, change.before)
    paths = iter(dict.fromkeys(path for receipt in made for path in receipt.touched))
    size = _FIRST
    while some := tuple(islice(paths, size)):
        own = narrowed([receipt for receipt in made if not set(some).isdisjoint(receipt.touched)], some, keep=True)
        steps = await session.workspace.plan_undo(own)
        head = await session.workspace.at_head(some) if base == "head" else None
        for step in steps:
            if (entry := await _entry(session, step, base, head, stood=first.get(step.path) is not None)) is not None:
                yield await asyncio.to_thread(_counted, _named(entry, moved, old_names, new_names))
        size = _CHUNK
    for event in refused(session.events, base):
        if (entry := await _refused(session, event)) is not None:
            yield await asyncio.to_thread(_counted, entry)


async def _entry(
    session: Session, step: Restore, base: Base, head: dict[str, bytes | None] | None, *, stood: bool
) -> Entry | None:
    """The entry of one changed file, None when it is as it is in the base. `stood`: it was there before."""
    if step.state == "same":
        return None
    now, before = await session.workspace.versions(step)
    if base == "head":
        if head is None:
            trusted = session.workspace.permissions.trusted
            words = "there is no commit here" if trusted else "git is not asked in a folder that is not trusted"
            return Entry(step.path, None, now, words=words, known=False, stood=None)
        known = step.path not in head or head[step.path] is not None
        words = "" if known else "its bytes in the newest commit cannot be shown"
        return (
            None
            if known and head.get(step.path) == now
            else Entry(step.path, head.get(step.path), now, False, words, known)
        )
    words = {"changed": "changed since, outside of this session, too", "unsure": "perhaps not by a command"}.get(
        step.state, ""
    )
    known = step.possible and (before is not None or step.target is None)
    bits = "" if now is None else await _bits(session, step)  # a folder may stand there
    words = "; ".join(filter(None, (bits, words if known else step.words)))
    return Entry(step.path, before, now, words=words, known=known, stood=before is None and stood)


async def _bits(session: Session, step: Restore) -> str:
    """How the permission bits of a file changed, "" when they did not or nobody knows."""
    mode = None if step.mode is None else await session.workspace.mode(step.path)
    return "" if mode in {None, step.mode} else f"mode {step.mode:03o} → {mode:03o}"


def renames(made: Iterable[Receipt]) -> dict[str, str]:
    """The first name of each file that went under another one, by its newest: one effect let the same bytes go and come."""
    first: dict[str, str] = {}
    for receipt in made:
        gone = Counter(change.before for change in receipt.files if change.before and change.after is None)
        came = Counter(change.after for change in receipt.files if change.after and change.before is None)
        old = {change.before: change.path for change in receipt.files if change.after is None}
        for change in receipt.files:
            if change.before is None and change.after and gone[change.after] == came[change.after] == 1:
                first[change.path] = first.pop(old[change.after], old[change.after])
    return first


def _named(
    entry: Entry,
    moved: dict[tuple[bytes, bool], str],
    old_names: Mapping[str, str],
    new_names: Mapping[str, str],
) -> Entry:
    """The entry with a word about its other name, from the receipts, else from equal texts.

    `moved` are texts that came (True) or went so far.
    """
    came = entry.base is None
    if came and (old := old_names.get(entry.path)):
        return _also(entry, f"renamed from {old}")
    if entry.now is None and (new := new_names.get(entry.path)):
        return _also(entry, f"renamed to {new}")
    text = entry.now if came else entry.base if entry.now is None else None
    if not entry.known or not text:
        return entry
    if (other := moved.pop((text, not came), None)) is None:
        moved[text, came] = entry.path
        return entry
    return _also(entry, f"renamed {'from' if came else 'to'} {other}")


def _also(entry: Entry, words: str) -> Entry:
    return replace(entry, words="; ".join(filter(None, (words, entry.words))))


def _counted(entry: Entry) -> Entry:
    change = diff(entry.base, entry.now)
    counts = replace(entry, added=change.added, removed=change.removed, binary=change.binary)
    return counts if entry.known else entry


def refused(events: Iterable[ev.Event | ev.Unknown], base: Base = "session") -> tuple[ev.ToolDone, ...]:
    """The edits that the person refused or left out, as a whole or some hunks, and did not apply later."""
    found: dict[str, ev.ToolDone] = {}
    for event in _since(events, base):
        if not isinstance(event, ev.ToolDone):
            continue
        if event.call.name == APPLY and event.receipt is not None:
            found.pop(str((event.call.arguments or {}).get("of")), None)
        if _stays(event) or (event.receipt is not None and event.receipt.proposed is not None):
            found[event.call.id] = event
    return tuple(found.values())


async def _refused(session: Session, event: ev.ToolDone) -> Entry | None:
    """A refused edit as it would be applied now, else as it was proposed; None when it is no edit."""
    if event.receipt is not None:
        return await _left_out(session, event.call, event.receipt)
    texts, path = proposed(event.call), (event.call.arguments or {}).get("path")
    if texts is None or not isinstance(path, str):
        return None
    did = {"skip": "left out", "person": "refused"}.get(event.denied, "not applied")
    words = ": ".join(filter(None, (did, event.note)))
    request = await session.workspace.proposed(event.call)
    if isinstance(request, ApprovalRequest) and isinstance(effect := request.effect, WriteBytes):
        return Entry(
            effect.path, effect.base, effect.new, proposed=True, words=words, request=request, call=event.call.id
        )
    why = (request.note or request.text) if isinstance(request, Outcome) else "it is no change of a file"
    words = f"{words}; it cannot be applied now: {why}"
    return Entry(path, *texts, proposed=True, words=words, call=event.call.id)


async def _left_out(session: Session, call: ToolCall, receipt: Receipt) -> Entry | None:
    """The hunks that were left out of an edit; None when they are not held, or stand there by now."""
    request = await session.workspace.left_out(call, receipt)
    if request is None or not isinstance(effect := request.effect, WriteBytes):
        return None
    now = await asyncio.to_thread(session.workspace.content, effect.path)
    words = "left out of what was applied"
    return (
        None
        if now == effect.new
        else Entry(effect.path, effect.base, effect.new, proposed=True, words=words, request=request, call=call.id)
    )


async def apply(session: Session, entry: Entry, hunks: Collection[int] | None) -> Outcome:
    """Apply a refused change after all, or some hunks of it, and record it; the model is told with the next message.

    Call it only while no turn runs.
    """
    if entry.request is None:
        return Outcome("refused", "this change cannot be applied any more")
    outcome = await session.workspace.apply_parked(entry.request, None if hunks is None else frozenset(hunks))
    if outcome.receipt is None:
        return outcome
    call = ToolCall(session.workspace.new_id(), APPLY, {"path": entry.path, "of": entry.request.call.id})
    receipt = replace(outcome.receipt, call_id=call.id)
    summary = f"apply  {entry.path}  +{receipt.added} -{receipt.removed}"
    session.log.append(
        ev.ToolDone(call, outcome.status, outcome.text, "not taken before", summary, receipt, sight=outcome.sight)
    )
    told = f"The user applied {_hunks(hunks, 'your change')} of {entry.path} that they had not taken before."
    session.log.append(ev.Notice(f"{told} Read the file again before you change it.", "model"))
    return outcome


def _hunks(hunks: Collection[int] | None, whole: str) -> str:
    """Which hunks, in words."""
    if hunks is None:
        return whole
    return f"hunk{'s' * (len(hunks) != 1)} {', '.join(map(str, sorted(hunks)))}"


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
    made = tuple(folder for folder in folders(receipts(session.events)) if entry.path.startswith(f"{folder}/"))
    outcome = await session.workspace.restore(entry.path, entry.now, new, made)
    if outcome.receipt is None:
        return outcome
    count = _hunks(hunks, "all changes")
    receipt = outcome.receipt
    call = ToolCall(receipt.call_id, "undo", {"path": entry.path})
    summary = f"revert  {entry.path}  +{receipt.added} -{receipt.removed}"
    session.log.append(ev.ToolDone(call, "applied", outcome.text, count, summary, receipt, sight=outcome.sight))
    told = f"The user took back {count} of your change of {entry.path}. Read the file again before you change it."
    session.log.append(ev.Notice(told, "model"))
    return outcome


async def take_back(session: Session) -> str | None:
    """Take back the batch of edits after which the check failed, and record it; says why when nothing was changed.

    Call it only while no turn runs.
    """
    batch = fold.failed_batch(session.events)
    if not batch:
        return "There is nothing to take back: no check failed after the last edit."
    plan = await session.workspace.plan_undo(batch)
    if blocked := [f"{step.path} {step.words}" for step in plan if step.state not in {"ready", "same"}]:
        return f"Not taken back: {'; '.join(blocked)}"
    outcomes = await session.workspace.undo(plan)
    session.log.append(undone(state(session.events).turns[-1].number, plan, outcomes, batch=batch))
    return not_restored(outcomes)


# ------------------------------------------------------------------ notes


@dataclass(frozen=True, slots=True)
class Note:
    """What the person says about a line: `line` from 1, of the new file or (`gone`) of the old one, that of `against`."""

    path: str
    line: int
    quote: str
    text: str
    gone: bool = False
    against: Base | Literal[""] = ""

    @property
    def place(self) -> tuple[str, int, bool]:
        """The line that it is about."""
        return self.path, self.line, self.gone


@dataclass(slots=True)
class Notes:
    """The notes of a review, in the order they were written; a second one about a line takes the place of the first."""

    items: list[Note] = field(default_factory=list)

    def put(self, note: Note) -> None:
        """Keep a note; one without text removes what was there."""
        self.items = [other for other in self.items if other.place != note.place]
        if note.text:
            self.items.append(note)

    def text(self, about: Note) -> str:
        """What was written about the line of a note; "" when nothing was."""
        return next((note.text for note in self.items if note.place == about.place), "")

    def places(self, entry: Entry) -> frozenset[tuple[int, bool]]:
        """The lines of a file that a note stands on still: each number, and whether it is one of the old text."""
        mine = (note for note in self.items if note.path == entry.path)
        return frozenset((note.line, note.gone) for note in mine if not outdated(note, entry))

    def message(self, entries: Sequence[Entry], against: Base | Literal[""] = "") -> str:
        """All notes as one message for the model; "" when there are none. `entries` are the files compared `against` that."""
        if not self.items:
            return ""
        files = {entry.path: entry for entry in entries if not entry.proposed}
        parts = [_said(note, files.get(note.path), against) for note in self.items]
        return "Notes on your changes:\n\n" + "\n\n".join(parts)


def outdated(note: Note, entry: Entry | None) -> bool:
    """Whether the line that a note is about does not stand there any more."""
    data = None if entry is None else entry.base if note.gone else entry.now
    lines = (data or b"").decode("utf-8", "replace").split("\n")
    return note.line > len(lines) or lines[note.line - 1].rstrip("\r") != note.quote


def _said(note: Note, entry: Entry | None, against: Base | Literal[""]) -> str:
    mark = " (in the text before your change)" if note.gone else ""
    other = note.gone and note.against != against  # the old text of another base is no change of that line
    mark += " (outdated: the line has changed since)" if not other and outdated(note, entry) else ""
    cut = f"… ({len(note.quote):,} characters)" if len(note.quote) > _QUOTED else ""
    return f"{note.path}:{note.line}{mark}\n> {note.quote[:_QUOTED]}{cut}\n{note.text}"
