"""The workspace as the loop sees it: prepare an action, ask the policy, carry it out.

One place decides what a tool may touch (`paths`), one writes (`files`), one remembers (`memory`); this
module joins them. Whatever the model or the world does, the answer is an `Outcome`, never an exception.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tui_agent.core import policy
from tui_agent.core.types import (
    OWN_COMMAND,
    ApprovalRequest,
    Ask,
    Decision,
    Effect,
    Emit,
    ListFiles,
    Outcome,
    PolicyRequest,
    ReadFile,
    Receipt,
    RunArgv,
    RunScript,
    SearchText,
    ToolCall,
    ToolSpec,
    Verdict,
    WriteBytes,
)
from tui_agent.tools import names
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.registry import TOOLS, Situation, Tool, find, summary
from tui_agent.tools.text import TextFile
from tui_agent.workspace import faults, git
from tui_agent.workspace.effects import Effects, as_approved, off_loop, refusal, said_with_yes
from tui_agent.workspace.faults import Reach
from tui_agent.workspace.files import Disk, check_writable, sha256
from tui_agent.workspace.memory import Memory
from tui_agent.workspace.paths import Anchor, Place, not_regular
from tui_agent.workspace.receipts import Blobs, Restore
from tui_agent.workspace.running import Commands, Run, Unconfined, default_run

_SHORT = 8000
"""Bytes of a file that a model can well send whole."""


class Workspace:
    """The files and commands of one folder, implementing `core.types.Tools`.

    `permissions` is the policy in force; assign it to change the mode. `blobs` is the session's folder for copies of
    file contents (in memory without one), `temporary` a folder that outlives the session and remembers
    files being written. `own` are files and folders of the product that no tool writes. `tools` names the enabled
    ones. `numbers`: reads carry line numbers. `command_timeout` is in seconds. `run` starts our own helpers, `commands`
    what the model asks for (without it `run` does, unconfined). Raises `OSError` when `root` is no folder.
    """

    def __init__(
        self,
        root: Path,
        ask: Ask | None = None,
        permissions: policy.Policy = policy.DEFAULT,
        *,
        blobs: Path | None = None,
        temporary: Path | None = None,
        run: Run = default_run,
        commands: Commands | None = None,
        tools: Iterable[str] = tuple(TOOLS),
        command_timeout: float = 120.0,
        numbers: bool = True,
        home: Path | None = None,
        own: Iterable[Path] = (),
        reach: Reach | None = None,
    ) -> None:
        self.permissions = permissions
        self._ask = ask
        self._tools = {name: TOOLS[name] for name in tools}
        self._timeout = command_timeout
        self._anchor = Anchor.at(root, home, own)
        reach = reach or faults.from_text(os.environ.get(faults.VARIABLE))
        self._disk = Disk(self._anchor, temporary, reach)
        self._memory = Memory(Blobs(blobs, reach=reach))
        self._prefix, self._count = os.urandom(4).hex(), itertools.count(1)
        self._run, self._commands = run, commands or Unconfined(run)
        self._effects = Effects(self._disk, self._memory, run, self._commands, numbers, self.new_id)
        self._complete: set[str] = set()
        self._unseen_edits = False
        self._failed: Counter[str] = Counter()
        self._disk.sweep()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The enabled tools as a model is told."""
        return tuple(tool.spec for tool in self._tools.values())

    def new_id(self) -> str:
        """A name that no other request or receipt of the session has, also after it was resumed."""
        return f"{self._prefix}-{next(self._count)}"

    # -------------------------------------------------------------- prepare

    async def prepare(self, call: ToolCall, earlier: tuple[ApprovalRequest, ...] = ()) -> ApprovalRequest | Outcome:
        """Check a call and compute what it would do, on top of the `earlier` pending requests of its batch."""
        prepared = await off_loop(lambda: self._prepare(call, earlier))
        if isinstance(prepared, ApprovalRequest) and isinstance(prepared.effect, RunArgv | RunScript):
            await self._commands.ready()
            where = self._commands.words(network=policy.needs_network(prepared.policy))
            return replace(prepared, where=where)
        return prepared

    def _prepare(self, call: ToolCall, earlier: tuple[ApprovalRequest, ...]) -> ApprovalRequest:
        tool = find(call, self._tools)
        arguments = tool.arguments(call)
        place = None
        if "path" in tool.spec.parameters["properties"]:
            place = self._anchor.resolve(arguments.get("path", "."))
        base, depends = self._base(tool, place, arguments, earlier) if place and tool.changes_file else (None, ())
        asked = effect = self._effect(tool, arguments, Situation(place.path if place else "", base, self._timeout))
        if isinstance(effect, RunArgv):
            effect = replace(effect, argv=git.argv(effect.argv))  # shown, hashed and executed like this
        if place and isinstance(effect, (ReadFile, ListFiles, SearchText)):
            self._look(place, effect)
        named = os.path.normpath(place.named.removeprefix(self._anchor.root + "/")) if place else ""
        return ApprovalRequest(
            id=self.new_id(),
            call=call,
            effect=effect,
            policy=PolicyRequest(
                tool.spec.name,
                tool.permission,
                argv=asked.argv if isinstance(asked, RunArgv) else None,
                command=effect.script if isinstance(effect, RunScript) else None,
                path=place.path if place else None,
                floors=place.floors if place else (),
            ),
            summary=summary(asked, named),
            depends_on=depends,
            caution=names.caution(place.parts) if place and isinstance(effect, WriteBytes) else "",
        )

    def _effect(self, tool: Tool, arguments: Mapping[str, Any], situation: Situation) -> Effect:
        """What the call would do; a second exact edit in a row that fails offers the whole-file form."""
        exact = tool.spec.name in {"edit_file", "multi_edit"}
        try:
            effect = tool.prepare(arguments, situation)
        except ToolError as error:
            if exact:
                self._failed[situation.path] += 1
            short = situation.base is not None and len(situation.base) < _SHORT
            if self._failed[situation.path] > 1 and short and "write_file" in self._tools:
                raise ToolError(
                    f"{error} If this keeps failing, send the whole new text with write_file.", error.status
                ) from None
            raise
        self._failed.pop(situation.path, None)
        return effect

    def _base(
        self, tool: Tool, place: Place, arguments: Mapping[str, Any], earlier: tuple[ApprovalRequest, ...]
    ) -> tuple[bytes | None, tuple[str, ...]]:
        """The bytes that a change starts from, and the request of the same batch that it builds on."""
        if place.no_write:
            raise ToolError(f"refused: {place.named}: {place.no_write}", "refused")
        if place.info and not place.is_file:
            raise not_regular(place)
        for request in reversed(earlier):
            if isinstance(request.effect, WriteBytes) and request.effect.path == place.path:
                return request.effect.new, (request.id,)
        found = self._disk.content(place)
        if found is None:
            if twin := self._anchor.twin(place):
                raise ToolError(
                    f"{place.named} does not exist, but {twin} does: did you mean {twin}? The names differ in case only.",
                    "refused",
                )
            return None, ()
        base, info = found
        check_writable(place, info)
        if tool.reads_first:
            TextFile.decode(base, place.named)  # what is no text cannot be read first either: say that instead
            self._memory.check(place.path, place.named, base, whole="content" in arguments)
        return base, ()

    def _look(self, place: Place, effect: ReadFile | ListFiles | SearchText) -> None:
        """Say what is wrong with a place before anybody is asked about it."""
        if place.info is None:
            raise ToolError(f"{place.named} was not found: no such file or folder{self._anchor.similar(place)}")
        if isinstance(effect, ReadFile) and not place.is_file:
            raise not_regular(place)
        if isinstance(effect, ListFiles) and not place.is_folder:
            raise ToolError(f"{place.named} is not a folder; use read_file")
        if isinstance(effect, SearchText) and not (place.is_folder or place.is_file):
            raise not_regular(place)

    # -------------------------------------------------------------- decide and commit

    def decide(self, request: ApprovalRequest) -> Verdict:
        """What the policy says to a prepared request.

        Once an edit was allowed unasked, the folder may hold code that nobody saw: for the rest of its batch, too.
        """
        verdict = self._verdict(request.policy)
        if isinstance(request.effect, WriteBytes) and verdict.permission == "allow":
            self._unseen_edits = True
        return verdict

    def _verdict(self, request: PolicyRequest) -> Verdict:
        unseen = self._unseen_edits or self.permissions.unseen_edits
        sandbox = self.permissions.sandbox or self._commands.working
        return policy.decide(request, replace(self.permissions, unseen_edits=unseen, sandbox=sandbox))

    async def explain(self, call: str) -> Verdict:
        """What would be said to a call now: a tool with its path ("write_file src/a.py"), or else a command."""
        await self._commands.ready()
        name, _, path = call.strip().partition(" ")
        tool = TOOLS.get(name)
        if tool is None or tool.permission == "run":
            return self._verdict(PolicyRequest("run_command", "run", command=call.strip()))
        if "path" not in tool.spec.parameters["properties"]:
            return self._verdict(PolicyRequest(name, tool.permission))
        try:
            place = self._anchor.resolve(path.strip() or ".")
        except ToolError as error:
            return Verdict("deny", str(error), tool.permission)
        if tool.changes_file and place.no_write:
            return Verdict("deny", f"{place.named}: {place.no_write}", tool.permission)
        return self._verdict(PolicyRequest(name, tool.permission, path=place.path, floors=place.floors))

    async def commit(self, request: ApprovalRequest, decision: Decision, emit: Emit) -> Outcome:
        """Carry out an approved request after comparing its base again, or say why it was not."""
        if decision.answer != "yes":
            return Outcome("refused", refusal(request, decision))
        if not self._complete.issuperset(request.depends_on):
            why = "the earlier change of this file was refused, or applied only in part"
            return Outcome("refused", f"not applied: base changed because {why}")
        outcome = await self._effects.carry_out(decision.instead or request, decision, emit)
        note = "; ".join(filter(None, (outcome.note, decision.reason)))
        outcome = replace(outcome, text=outcome.text + said_with_yes(decision), note=note)
        if outcome.status == "applied" and as_approved(request.effect, outcome.receipt):
            self._complete.add(request.id)
        if outcome.receipt is not None and outcome.receipt.unseen:
            self._unseen_edits = True  # from here on nobody saw what may run
        return outcome

    def own(self, script: str) -> ApprovalRequest:
        """A command that the person typed: nobody has to be asked about it."""
        call = ToolCall(self.new_id(), OWN_COMMAND, {"script": script})
        effect = RunScript(script, self._timeout)
        asked = PolicyRequest("run_shell", "shell", command=script)
        return ApprovalRequest(self.new_id(), call, effect, asked, f"{OWN_COMMAND}  {script}")

    async def commit_own(self, request: ApprovalRequest, emit: Emit) -> Outcome:
        """Carry out a command of the person's own, in no sandbox."""
        effects = replace(self._effects, confined=Unconfined(self._run))
        return await effects.carry_out(request, Decision(request.id, "yes", by="person"), emit)

    async def call(self, name: str, arguments: object) -> Outcome:
        """A batch of one: prepare, decide, ask when the policy says so, commit."""
        given = arguments if isinstance(arguments, Mapping) else None
        error = None if given is not None else f"the arguments of {name} must be an object"
        request = await self.prepare(ToolCall(self.new_id(), name, given, error))
        if isinstance(request, Outcome):
            return request
        verdict = self.decide(request)
        if verdict.permission == "deny" or (verdict.permission == "ask" and self._ask is None):
            return Outcome("refused", f"denied: {verdict.rule}")
        decision = Decision(request.id, "yes", by=verdict.rule)
        if verdict.permission == "ask" and self._ask is not None:
            (decision,) = await self._ask((request,))
        return await self.commit(request, decision, lambda _: None)

    # -------------------------------------------------------------- later: parked requests and undo

    async def apply_parked(self, request: ApprovalRequest, chosen: frozenset[int] | None = None) -> Outcome:
        """Apply a skipped change of a file later, by the person's own hand.

        The file must hold the base of the request, or the old lines of each chosen hunk exactly once.
        """
        return await self._effects.apply_parked(request, chosen)

    async def plan_undo(self, receipts: Iterable[Receipt]) -> tuple[Restore, ...]:
        """What undoing these receipts (oldest first, up to the newest) would do to each file; changes nothing."""
        return await self._effects.plan_undo(tuple(receipts), git=self.permissions.trusted)

    async def versions(self, step: Restore) -> tuple[bytes | None, bytes | None]:
        """The bytes that a step of a plan starts from and leads to, for the eye; None where there is no file."""
        return await asyncio.to_thread(self._effects.versions, step)

    async def restore(self, path: str, now: bytes | None, new: bytes | None) -> Outcome:
        """Give a file other content by the person's own hand, if it still holds `now`; leaves a receipt as undo does."""
        if new is not None and (why := await asyncio.to_thread(self._memory.blobs.put, new)):
            return Outcome("error", f"{path} was not changed: {why}")
        before, target = (None if data is None else sha256(data) for data in (now, new))
        return await self._effects.undo(Restore(path, target, before, "ready"))

    async def undo(self, steps: Iterable[Restore]) -> tuple[Outcome, ...]:
        """Carry out steps of a plan, each only if its file still is as the plan saw it; each leaves a receipt.

        A step in state "changed" overwrites somebody's later change: pass it only after a yes for that file.
        """
        return tuple([await self._effects.undo(step) for step in steps if step.possible])
