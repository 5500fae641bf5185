"""What each approved effect does, and undo: the second half of a commit.

Every effect looks its path up again, so that what was approved and what is touched are the same place.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from tui_agent.core.diff import apply_hunks, diff, unified
from tui_agent.core.policy import AUTO_RULE, needs_network
from tui_agent.core.types import (
    ApprovalRequest,
    Decision,
    Effect,
    Emit,
    FileChange,
    ListFiles,
    Outcome,
    ReadFile,
    Receipt,
    RunArgv,
    RunScript,
    SearchText,
    SetPlan,
    ToolCall,
    WriteBytes,
)
from tui_agent.tools import commands, listing, names
from tui_agent.tools import search as searching
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.files import Edit, edit, render_file
from tui_agent.workspace import committed
from tui_agent.workspace.commands import execute
from tui_agent.workspace.files import Disk, Saved, sha256, stale
from tui_agent.workspace.memory import Memory
from tui_agent.workspace.paths import Place, reason
from tui_agent.workspace.receipts import UNKNOWN, Restore, plan
from tui_agent.workspace.running import Commands, Run

T = TypeVar("T")
_LONGEST_DIFF = 20_000
"""Characters of a difference that are told to the model."""
_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^@\s/]+@")


@dataclass(frozen=True, slots=True)
class Effects:
    """Carries out effects in one workspace.

    `run` starts our own helpers, `confined` what the model asked for. `line_numbers`: reads carry them. `new_id`
    names receipts.
    """

    disk: Disk
    memory: Memory
    run: Run
    confined: Commands
    line_numbers: bool
    new_id: Callable[[], str]

    async def carry_out(self, request: ApprovalRequest, decision: Decision, emit: Emit) -> Outcome:
        """Do what was approved; the world's refusals are outcomes too."""
        effect = request.effect
        match effect:
            case ReadFile():
                return await off_loop(lambda: self._read(request, effect))
            case ListFiles():
                return await off_loop(lambda: self._list(request, effect))
            case SearchText():
                return await self._search(effect)
            case WriteBytes():
                return await off_loop(lambda: self._write(request, effect, decision))
            case RunArgv() | RunScript():
                return await self._execute(request, effect, decision, emit)
            case SetPlan():
                return Outcome("applied", "plan updated")

    def _again(self, path: str, floors: tuple[str, ...] | None = None) -> Place:
        """The place that was approved, if it still is the same place and no new reason to ask has come up."""
        place = self.disk.anchor.resolve(path or ".")
        if place.path != path or (floors is not None and set(place.floors) - set(floors)):
            raise ToolError(f"not done: {path} has changed since this was shown and is another file now", "refused")
        return place

    def _read(self, request: ApprovalRequest, effect: ReadFile) -> Outcome:
        place = self._again(effect.path, request.policy.floors)
        view, identity = self.disk.view(place, effect.start, effect.limit)
        self.memory.read(place.path, view, identity, secret=bool(place.floors))
        text = render_file(view, numbers=self.line_numbers)
        if ".git" in place.parts:
            text = _PASSWORD.sub(r"\1***@", text)
        return Outcome("applied", text, note=_count(len(view.lines), "line"))

    def _list(self, request: ApprovalRequest, effect: ListFiles) -> Outcome:
        place = self._again(effect.path, request.policy.floors)
        with self.disk.anchor.folder(place.parts) as folder, os.scandir(folder) as found:
            entries = [_entry(entry) for entry in found if not names.noise(entry.name)]
        return Outcome("applied", listing.render(entries), note=_count(len(entries), "entry", "entries"))

    async def _search(self, effect: SearchText) -> Outcome:
        if program := self._ripgrep():
            result = await self._child(searching.ripgrep(program, effect.text, effect.path))
            if result.timed_out or result.exit_code in {0, 1}:  # else it does not know this kind of expression
                return await off_loop(lambda: self._found(effect, result))
        result = await self._child(searching.python(effect.text, effect.path))
        return await off_loop(lambda: self._found(effect, result))

    def _ripgrep(self) -> str | None:
        """The ripgrep of this machine, unless it lies in the workspace."""
        program = shutil.which("rg")
        return program if program and not os.path.realpath(program).startswith(self.disk.anchor.root + "/") else None

    async def _child(self, argv: tuple[str, ...]) -> commands.CommandResult:
        return await self.run(argv, cwd=Path(self.disk.anchor.root), timeout=searching.TIMEOUT, emit=None)

    def _found(self, effect: SearchText, result: commands.CommandResult) -> Outcome:
        hits = searching.parse(result.output, self._shown)
        if result.exit_code not in {0, 1} and not hits:
            why = (
                f"it took longer than {searching.TIMEOUT:g} s"
                if result.timed_out
                else result.error or result.output[-500:]
            )
            raise ToolError(f"the search failed: {why}. Try a simpler text or a smaller folder.")
        text = searching.render(effect.text, effect.path, hits)
        if result.timed_out:
            text += f"\n[stopped after {searching.TIMEOUT:g} s; there may be more]"
        return Outcome("applied", text, note=_count(len(hits), "hit"))

    def _shown(self, path: str) -> bool:
        """Whether a hit in this file may be told: an ordinary place, no secret, no other name outside."""
        try:
            place = self.disk.anchor.resolve(path)
        except ToolError:
            return False
        return place.path == path and place.is_file and not place.floors and not any(map(names.noise, place.parts))

    def _writable(self, path: str, floors: tuple[str, ...] | None = None) -> Place:
        place = self._again(path, floors)
        if place.no_write:
            raise ToolError(f"refused: {place.path}: {place.no_write}", "refused")
        return place

    def _write(self, request: ApprovalRequest, effect: WriteBytes, decision: Decision) -> Outcome:
        started = time.monotonic()
        place = self._writable(effect.path, request.policy.floors)
        new, left_out = _chosen(effect, decision)
        if new == effect.base:
            return Outcome("refused", refusal(request, Decision(request.id, "no")))
        notes = [f"left out by the user: {left_out}; read the file again before you change it"] if left_out else []
        notes += self._copies(effect.base, new)
        saved = self._commit(place, effect.base, new)
        whole = request.call.name in {"write_file", "propose_edit"} and not left_out
        self.memory.wrote(place.path, new, saved.identity, whole=whole, secret=bool(place.floors))
        seconds = time.monotonic() - started
        receipt = self._receipt(request.call, place.path, effect.base, new, by=decision.by, seconds=seconds)
        if saved.links:
            notes.append(f"the file had {saved.links} other hard link(s), which keep the old content")
        change = f"+{receipt.added} -{receipt.removed}"
        if saved.doubt:
            return Outcome(
                "error", f"{place.path} was written ({change}), but the disk did not confirm it: {saved.doubt}", receipt
            )
        verb = "created" if effect.base is None else "deleted" if new is None else "changed"
        text = f"applied: {verb} {place.path} ({change})" + "".join(f"; {note}" for note in notes)
        return Outcome("applied", text, receipt, "; ".join(notes))

    def _copies(self, base: bytes | None, new: bytes | None) -> list[str]:
        """Keep the old and the new bytes for undo and redo; what has to be said when that was not possible."""
        return [f"no undo: {why}" for data in (base, new) if data is not None and (why := self.memory.blobs.put(data))]

    def _commit(self, place: Place, base: bytes | None, new: bytes | None) -> Saved:
        try:
            return self.disk.commit(place, base, new)
        except OSError as error:
            raise ToolError(f"failed: {place.path} was not changed: {reason(error)}") from error

    def _receipt(
        self, call: ToolCall, path: str, base: bytes | None, new: bytes | None, *, by: str, seconds: float
    ) -> Receipt:
        change = diff(base, new)
        return Receipt(
            id=self.new_id(),
            call_id=call.id,
            tool=call.name,
            arguments=call.arguments or {},
            path=path,
            before=None if base is None else sha256(base),
            after=None if new is None else sha256(new),
            duration=seconds,
            by=by,
            added=change.added,
            removed=change.removed,
        )

    async def _execute(
        self, request: ApprovalRequest, effect: RunArgv | RunScript, decision: Decision, emit: Emit
    ) -> Outcome:
        started = time.monotonic()
        network = needs_network(request.policy) and not decision.by.startswith(AUTO_RULE)
        result, changed = await execute(self.disk, self.memory, self.confined, effect, emit, network=network)
        receipt = Receipt(
            id=self.new_id(),
            call_id=request.call.id,
            tool=request.call.name,
            arguments=request.call.arguments or {},
            exit_code=result.exit_code if result else None,
            duration=result.duration if result else time.monotonic() - started,
            by=decision.by,
            changed=changed,
            sandbox=result.sandbox if result else "",
        )
        if result is None:
            return Outcome(
                "error", "interrupted by the person; what it had done by then stays done", receipt, "stopped"
            )
        text, note = commands.render(result, effect.timeout), commands.note(result)
        if changed:
            note += f", {_count(len(changed), 'file')} changed"
        return Outcome("error" if result.error is not None else "applied", text, receipt, note)

    async def apply_parked(self, request: ApprovalRequest, chosen: frozenset[int] | None) -> Outcome:
        """Carry out a request that was skipped, on the file as it is now."""
        return await off_loop(lambda: self._apply_parked(request, chosen))

    def _apply_parked(self, request: ApprovalRequest, chosen: frozenset[int] | None) -> Outcome:
        effect = request.effect
        if not isinstance(effect, WriteBytes):
            raise ToolError("only a change of a file can be applied later")
        found = self.disk.content(self._writable(effect.path, request.policy.floors))
        now = found[0] if found else None
        if now == effect.base or now is None or effect.base is None or effect.new is None:
            return self._write(request, effect, Decision(request.id, "yes", chosen=chosen))
        hunks = [hunk for hunk in diff(effect.base, effect.new).hunks if chosen is None or hunk.number in chosen]
        old, new = _lines(effect.base), _lines(effect.new)
        edits = [
            Edit("".join(old[hunk.old.start : hunk.old.stop]), "".join(new[hunk.new.start : hunk.new.stop]))
            for hunk in hunks
        ]
        moved = WriteBytes(effect.path, now, edit(effect.path, now, edits))
        return self._write(request, moved, Decision(request.id, "yes"))

    # -------------------------------------------------------------- undo

    async def plan_undo(self, receipts: tuple[Receipt, ...], *, git: bool) -> tuple[Restore, ...]:
        """What undoing these receipts would do to each file; `git`: git may be run for what only it holds."""
        receipts = tuple([replace(r, changed=await self._fetched(r.changed, git=git)) for r in receipts])
        return await asyncio.to_thread(lambda: plan(receipts, self._hash, self.memory.blobs.__contains__))

    async def _fetched(self, changes: tuple[FileChange, ...], *, git: bool) -> tuple[FileChange, ...]:
        """The changes with objects of git turned into copies we hold, or into unknown bytes."""
        fetched = []
        for change in changes:
            if change.before is None or not change.before.startswith(committed.PREFIX):
                fetched.append(change)
                continue
            name = change.before.removeprefix(committed.PREFIX)
            data = await committed.content(self.disk.anchor.root, name, self.run) if git else None
            kept = data is not None and self.memory.blobs.put(data) is None
            fetched.append(replace(change, before=sha256(data) if data is not None and kept else UNKNOWN))
        return tuple(fetched)

    async def undo(self, step: Restore) -> Outcome:
        """Carry out one step of a plan if its file still is as the plan saw it."""
        return await off_loop(lambda: self._undo(step))

    def _undo(self, step: Restore) -> Outcome:
        started = time.monotonic()
        place = self._writable(step.path)
        found = self.disk.content(place)
        base = found[0] if found else None
        if (None if base is None else sha256(base)) != step.now:
            raise stale(place)
        new = None if step.target is None else self.memory.blobs.get(step.target)
        if step.target is not None and new is None:
            raise ToolError(f"{place.path} cannot be restored: its old content is not held any more")
        notes = self._copies(base, new)
        saved = self._commit(place, base, new)
        self.memory.wrote(place.path, new, saved.identity, whole=False, secret=bool(place.floors))
        call = ToolCall(self.new_id(), "undo", {"path": place.path})
        receipt = self._receipt(call, place.path, base, new, by="key", seconds=time.monotonic() - started)
        return Outcome("applied", f"restored {place.path}", receipt, "; ".join(notes))

    def versions(self, step: Restore) -> tuple[bytes | None, bytes | None]:
        """The bytes of a step before and after it."""
        try:
            found = self.disk.content(self.disk.anchor.resolve(step.path))
        except (OSError, ToolError):
            found = None
        return found[0] if found else None, None if step.target is None else self.memory.blobs.get(step.target)

    def _hash(self, path: str) -> str | None:
        try:
            found = self.disk.content(self.disk.anchor.resolve(path))
        except (OSError, ToolError):
            return "unreadable"
        return sha256(found[0]) if found else None


async def off_loop(work: Callable[[], T]) -> T | Outcome:
    """Do blocking work off the event loop; what a rule or the world says against it becomes an `Outcome`.

    A cancellation is passed on only when the work has ended: a file is never left half written by an Esc.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
    except ToolError as error:
        return Outcome(error.status, str(error))
    except OSError as error:
        named = f" ({error.filename})" if isinstance(error.filename, str) else ""
        return Outcome("error", f"failed: {reason(error)}{named}")


def as_approved(effect: Effect, receipt: Receipt | None) -> bool:
    """Whether the whole effect happened: of a change of a file, every hunk."""
    if not isinstance(effect, WriteBytes) or receipt is None:
        return True
    return receipt.after == (None if effect.new is None else sha256(effect.new))


def said_with_yes(decision: Decision) -> str:
    """What the model is told beside the result: that the person edited its text, and the person's note."""
    text = ""
    if decision.instead is not None and isinstance(effect := decision.instead.effect, WriteBytes):
        now = unified(diff(effect.base, effect.new), effect.path)
        if decision.chosen is not None:
            now = "the text was edited, then applied in part; read the file again"
        elif len(now) > _LONGEST_DIFF:
            now = "the difference is too long to be told; read the file again"
        text += f"\nthe user edited your text before it was applied. The change is now:\n{now.rstrip()}"
    if decision.reason:
        text += f"\nnote from the user: {decision.reason}"
    return text


def _chosen(effect: WriteBytes, decision: Decision) -> tuple[bytes | None, str]:
    """The bytes of the hunks that were chosen, and the numbers of those that were not."""
    if decision.chosen is None:
        return effect.new, ""
    change = diff(effect.base, effect.new)
    out = [hunk for hunk in change.hunks if hunk.number not in decision.chosen]
    # an empty file that comes or goes is a hunk without changes
    starts = [hunk.changes[0].old.start if hunk.changes else 0 for hunk in out]
    named = ", ".join(f"hunk {hunk.number} at line {start + 1}" for hunk, start in zip(out, starts, strict=True))
    return apply_hunks(effect.base, change, decision.chosen), named


def _lines(data: bytes) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", data.decode())


def refusal(request: ApprovalRequest, decision: Decision) -> str:
    """What the model is told when a person said no, or nobody could be asked."""
    because = f": {decision.reason}" if decision.reason else ""
    if decision.answer == "skip":
        return f"user skipped{because}"
    what = {WriteBytes: "change", ReadFile: "read", RunArgv: "command", RunScript: "command"}.get(
        type(request.effect), "action"
    )
    floors = f" ({request.policy.path}: {request.policy.floors[0]})" if request.policy.floors else ""
    return f"user rejected the {what}{floors}{because}"


def _entry(entry: os.DirEntry[str]) -> listing.Entry:
    if entry.is_symlink():
        return listing.Entry(entry.name, "link")
    if entry.is_dir(follow_symlinks=False):
        return listing.Entry(entry.name, "folder")
    if entry.is_file(follow_symlinks=False):
        return listing.Entry(entry.name, "file", entry.stat(follow_symlinks=False).st_size)
    return listing.Entry(entry.name, "other")


def _count(number: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 line, 7 lines."""
    return f"{number} {one if number == 1 else many or one + 's'}"
