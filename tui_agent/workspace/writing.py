"""Changes of files as they were approved: the file is compared again, copies are kept for undo, a receipt is left."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from tui_agent.core import events as ev
from tui_agent.core.diff import diff, written
from tui_agent.core.guards import rejected
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import (
    ApprovalRequest,
    Decision,
    Outcome,
    PolicyRequest,
    ToolCall,
    WriteBytes,
)
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.files import Edit, edit
from tui_agent.tools.registry import partly
from tui_agent.workspace.blocking import off_loop
from tui_agent.workspace.files import Disk, check_writable, runs_as, sha256
from tui_agent.workspace.memory import Memory
from tui_agent.workspace.paths import OTHER_FILE, Place, reason

Journal: TypeAlias = Callable[[ev.Begun | ev.NotDone], None]


@dataclass(frozen=True, slots=True)
class Part:
    """That only a part of a change is made: what the model is `told`, a `note` for the eye, and the `summary` of that part."""

    told: str = ""
    note: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one file that is ready to be made. `receipt` is the one that it will leave.

    `whole`: the model knows all of the new text. `mode` are the permission bits that the file gets, None for those that
    it has or the usual ones. `locked`: the person wants it, also where nobody may write.
    """

    place: Place
    base: bytes | None
    new: bytes | None
    receipt: Receipt
    notes: tuple[str, ...] = ()
    part: Part = Part()
    whole: bool = False
    mode: int | None = None
    locked: bool = False


@dataclass(frozen=True, slots=True)
class Writing:
    """Writes files of one workspace. `new_id` names receipts, `journal` hears of what begins before it does."""

    disk: Disk
    memory: Memory
    new_id: Callable[[], str]
    journal: Journal

    async def carry_out(self, request: ApprovalRequest, effect: WriteBytes, decision: Decision) -> Outcome:
        """Make an approved change, all of it or the chosen hunks."""
        return await self.make(lambda: self._approved(request, effect, decision))

    async def make(self, prepare: Callable[[], Change]) -> Outcome:
        """Make the change that `prepare` gives, which may block; before its first byte is written it is in the journal."""
        change = await off_loop(prepare)
        if isinstance(change, Outcome):
            return change
        return await self.begin(change.receipt, lambda: self._make(change))

    async def begin(self, receipt: Receipt, work: Callable[[], Outcome]) -> Outcome:
        """Do what leaves this receipt, or nothing; `work` may block."""
        self.journal(ev.Begun(replace(receipt, arguments={}), time.time()))
        outcome = await off_loop(work)
        if outcome.receipt is None:
            self.journal(ev.NotDone(receipt.id))
        return outcome

    def writable(self, path: str, floors: tuple[str, ...] | None = None) -> Place:
        """The place to write to, if it still is the one that was approved.

        Raises:
            ToolError: it is another one by now, or no tool writes there.
        """
        place = self.disk.anchor.again(path, floors)
        if place.no_write:
            raise ToolError(f"refused: {place.path}: {place.no_write}", "refused")
        return place

    def _place(self, request: ApprovalRequest, effect: WriteBytes) -> Place:
        """The place of a change, if the path that was asked for still leads there, too."""
        place = self.writable(effect.path, request.policy.floors)
        named = (request.call.arguments or {}).get("path")
        if isinstance(named, str) and self.disk.anchor.resolve(named).path != place.path:
            text = f"not done: {named} leads to another file now than when this was shown"
            raise ToolError(text, "refused", OTHER_FILE)
        return place

    def _approved(
        self, request: ApprovalRequest, effect: WriteBytes, decision: Decision, proposed: bytes | None = None
    ) -> Change:
        """A change as it was approved; of `proposed`, or of the effect's own text, what is left out is kept for later."""
        place = self._place(request, effect)
        if effect.at is not None and not effect.at.stands(self.disk.state(place)):
            raise ToolError(
                f"not applied: since this was shown {place.path} has got other permissions or stands in another folder. "
                "Read it again and send the change anew.",
                "refused",
                "other permissions or another folder by now",
            )
        try:
            new, part = written(effect, decision.chosen), _part(request, effect, decision)
        except ValueError as error:
            raise ToolError(f"not applied: {error}", "refused") from error
        if new == effect.base:
            raise ToolError(rejected(request, Decision(request.id, "no")), "refused")
        whole = request.call.name in {"write_file", "propose_edit"} and not part.told
        full = effect.new if part.told else proposed
        return self.change(request.call, place, effect.base, new, by=decision.by, whole=whole, part=part, proposed=full)

    def change(
        self,
        call: ToolCall,
        place: Place,
        base: bytes | None,
        new: bytes | None,
        *,
        by: str,
        whole: bool = False,
        part: Part = Part(),
        mode: int | None = None,
        proposed: bytes | None = None,
    ) -> Change:
        """A change that is ready to be made: what it takes to undo and to redo it is kept, and what was `proposed`."""
        parked = None if proposed is None or self.memory.blobs.put(proposed) is not None else sha256(proposed)
        copies = [self.memory.blobs.put(data) for data in (base, new) if data is not None]
        counts, was = diff(base, new), self.disk.state(place).mode
        receipt = Receipt(
            id=self.new_id(),
            call_id=call.id,
            tool=call.name,
            arguments=call.arguments or {},
            path=place.path,
            before=None if base is None else sha256(base),
            after=None if new is None else sha256(new),
            by=by,
            added=counts.added,
            removed=counts.removed,
            mode=None if was is None else was & 0o777,
            folders=() if new is None else self.disk.missing(place),
            new_mode=mode,
            proposed=parked,
        )
        notes = [f"no undo: {why}" for why in dict.fromkeys(copies) if why]
        if new is not None and (bits := runs_as(was or 0)):
            notes.append(f"it is {bits} no more: only the user gives that to a changed file")
        return Change(place, base, new, receipt, tuple(notes), part, whole, mode)

    def _make(self, change: Change) -> Outcome:
        """Put the bytes in place; `ToolError` when the world refuses, and then nothing has changed."""
        started, place, base, new = time.monotonic(), change.place, change.base, change.new
        try:
            saved = self.disk.commit(place, base, new, change.mode, locked=change.locked)
        except OSError as error:
            raise ToolError(f"failed: {place.path} was not changed: {reason(error)}") from error
        whole, secret = change.whole, bool(place.floors)
        back = change.receipt.tool == "undo"
        sight = self.memory.wrote(place.path, new, saved.identity, whole=whole, secret=secret, back=back)
        seconds = time.monotonic() - started
        receipt = replace(
            change.receipt, duration=seconds, mode=saved.mode, folders=saved.folders, new_mode=saved.new_mode
        )
        notes = [*change.notes]
        if saved.links:
            notes.append(f"the file had {saved.links} other hard link(s), which keep the old content")
        counts = f"+{receipt.added} -{receipt.removed}"
        if saved.doubt:
            text = f"{place.path} was written ({counts}), but the disk did not confirm it: {saved.doubt}"
            return Outcome("error", text, receipt, sight=sight)
        verb = "created" if base is None else "deleted" if new is None else "changed"
        told, seen = (tuple(filter(None, (first, *notes))) for first in (change.part.told, change.part.note))
        text = "; ".join((f"applied: {verb} {place.path} ({counts})", *told))
        return Outcome("applied", text, receipt, "; ".join(seen), sight=sight, summary=change.part.summary)

    async def apply_parked(self, request: ApprovalRequest, chosen: frozenset[int] | None) -> Outcome:
        """Carry out a request that was skipped, on the file as it is now."""
        return await self.make(lambda: self._parked(request, chosen))

    def _parked(self, request: ApprovalRequest, chosen: frozenset[int] | None) -> Change:
        effect = request.effect
        if not isinstance(effect, WriteBytes):
            raise ToolError("only a change of a file can be applied later")
        now = self._present(request, effect)
        if now == effect.base or now is None or effect.base is None or effect.new is None:
            return self._approved(request, replace(effect, at=None), Decision(request.id, "yes", chosen=chosen))
        part, full = _moved(effect, now, chosen), None
        if chosen is not None:
            with contextlib.suppress(ToolError):  # what cannot be found there now is not kept for later either
                full = _moved(effect, now, None).new
        return self._approved(request, part, Decision(request.id, "yes"), None if full == part.new else full)

    def left_out(self, call: ToolCall, receipt: Receipt) -> ApprovalRequest | None:
        """The hunks that the person left out of a change, as a change of their own; None when it is not known any more."""
        names = (receipt.after, receipt.proposed)
        base, new = (self.memory.blobs.get(name) if name else None for name in names)
        if receipt.path is None or new is None or (base is None and receipt.after is not None):
            return None
        try:
            place = self.writable(receipt.path)
        except ToolError:
            return None
        own = ToolCall(call.id, call.name, {"path": place.path})
        asked = PolicyRequest(call.name, "write", path=place.path, floors=place.floors)
        effect = WriteBytes(place.path, base, new)
        return ApprovalRequest(self.new_id(), own, effect, asked, f"{call.name}  {place.path}")

    def _present(self, request: ApprovalRequest, effect: WriteBytes) -> bytes | None:
        place = self._place(request, effect)
        found = self.disk.content(place)
        if found is None:
            return None
        check_writable(place, found[1])
        return found[0]

    async def fresh(self, request: ApprovalRequest) -> WriteBytes | str | None:
        """The change of a request on the present bytes of its file, or in a few words why there is none; None when nothing changed."""
        found = await off_loop(lambda: self._fresh(request))
        return (found.note or found.text) if isinstance(found, Outcome) else found

    def _fresh(self, request: ApprovalRequest) -> WriteBytes | None:
        effect = request.effect
        if not isinstance(effect, WriteBytes):
            return None
        now, at = self._present(request, effect), self.disk.state(self._place(request, effect))
        if now == effect.base:
            return None if effect.at is None or effect.at.stands(at) else replace(effect, at=at)
        if now is None or effect.base is None or effect.new is None:
            return replace(effect, base=now, at=at)
        return replace(_moved(effect, now, None), at=at)


def _moved(effect: WriteBytes, now: bytes, chosen: frozenset[int] | None) -> WriteBytes:
    """The chosen hunks of a change on other bytes: each one's old lines must stand there exactly once."""
    if effect.base is None or effect.new is None:
        raise ToolError("only an edit can be made on other bytes")
    hunks = [hunk for hunk in diff(effect.base, effect.new).hunks if chosen is None or hunk.number in chosen]
    try:
        old, new = _lines(effect.base), _lines(effect.new)
    except UnicodeDecodeError as error:  # the person's own editor may have written it in another encoding
        raise ToolError(f"the change of {effect.path} is no UTF-8 text", "refused", "it is no UTF-8 text") from error
    edits = [
        Edit("".join(old[hunk.old.start : hunk.old.stop]), "".join(new[hunk.new.start : hunk.new.stop]))
        for hunk in hunks
    ]
    try:
        return WriteBytes(effect.path, now, edit(effect.path, now, edits))
    except ToolError as error:  # its words are for a model
        raise ToolError(str(error), error.status, error.note or "it fits nowhere in the file as it is now") from error


def _part(request: ApprovalRequest, effect: WriteBytes, decision: Decision) -> Part:
    """Which hunks were not chosen, with their lines, and what the chosen ones are together."""
    hunks = diff(effect.base, effect.new).hunks if decision.chosen is not None else ()
    out = [hunk for hunk in hunks if hunk.number not in (decision.chosen or ())]
    if not out:
        return Part()
    # an empty file that comes or goes is a hunk without changes
    starts = [hunk.changes[0].old.start if hunk.changes else 0 for hunk in out]
    named = ", ".join(f"hunk {hunk.number} at line {start + 1}" for hunk, start in zip(out, starts, strict=True))
    return Part(
        f"left out by the user: {named}; read the file again before you change it",
        f"{len(hunks) - len(out)} of {len(hunks)} hunks",
        partly(request.summary, replace(effect, new=written(effect, decision.chosen))),
    )


def _lines(data: bytes) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", data.decode())
