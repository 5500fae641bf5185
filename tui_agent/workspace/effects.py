"""What each approved effect does: the second half of a commit.

Every effect looks its path up again, so that what was approved and what is touched are the same place.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import SupportsFloat

from tui_agent.core import events as ev
from tui_agent.core.diff import diff, unified
from tui_agent.core.lookup import Lookup, ReadOutput
from tui_agent.core.policy import AUTO_RULE, needs_network
from tui_agent.core.receipt import FileChange, Receipt
from tui_agent.core.servers import Answer, CallServer
from tui_agent.core.types import (
    ApprovalRequest,
    Decision,
    Effect,
    Emit,
    ListFiles,
    Outcome,
    ReadFile,
    RunArgv,
    RunScript,
    SearchText,
    SetPlan,
    ToolCall,
    WriteBytes,
)
from tui_agent.tools import commands, listing
from tui_agent.tools.commands import CommandResult
from tui_agent.tools.lookups import Elsewhere
from tui_agent.tools.remote import Remote
from tui_agent.workspace.blocking import off_loop, to_the_end
from tui_agent.workspace.commands import Seen, execute, watched
from tui_agent.workspace.files import sha256
from tui_agent.workspace.live import Live
from tui_agent.workspace.looking import Looking
from tui_agent.workspace.operands import floors_of_words
from tui_agent.workspace.outputs import Outputs
from tui_agent.workspace.paths import OTHER_FILE
from tui_agent.workspace.running import Commands
from tui_agent.workspace.writing import Writing

_LONGEST_DIFF = 20_000
"""Characters of a difference that are told to the model."""


@dataclass(frozen=True, slots=True)
class Effects:
    """Carries out effects in one workspace.

    `confined` runs what the model asked for, `outputs` holds what was too long to be told, `elsewhere` is what is no file,
    `servers` are MCP servers. `live` are the commands that somebody waits for now.
    """

    looking: Looking
    writing: Writing
    confined: Commands
    outputs: Outputs
    elsewhere: Elsewhere | None = None
    servers: Remote | None = None
    live: list[Live] = field(default_factory=list)

    async def carry_out(self, request: ApprovalRequest, decision: Decision, emit: Emit) -> Outcome:
        """Do what was approved; the world's refusals are outcomes too."""
        effect = request.effect
        match effect:
            case ReadFile() | ListFiles() | SearchText():
                return await self.looking.carry_out(request, effect)
            case WriteBytes():
                return await self.writing.carry_out(request, effect, decision)
            case RunArgv() | RunScript():
                return await self._execute(request, effect, decision, emit)
            case Lookup():
                if self.elsewhere is None:
                    return Outcome("error", "error: there is nothing to look that up in")
                return await self.elsewhere.carry_out(effect)
            case ReadOutput():
                return await off_loop(lambda: self.outputs.read(effect))
            case CallServer():
                return await self._served(request, effect, decision)
            case SetPlan():
                return Outcome("applied", "plan updated")

    async def _execute(
        self, request: ApprovalRequest, effect: RunArgv | RunScript, decision: Decision, emit: Emit
    ) -> Outcome:
        argv, anchor = request.policy.argv or (), self.looking.disk.anchor
        if set(await asyncio.to_thread(floors_of_words, anchor, argv)) - set(request.policy.floors):
            text = "not done: what the words of this command lead to has changed since this was shown; call it again"
            return Outcome("refused", text, note=OTHER_FILE)
        live = Live(request, effect.timeout, emit, lambda live: self._to_the_end(request, effect, decision, live))
        self.live.append(live)
        try:
            return await live.outcome()
        finally:
            self.live.remove(live)

    async def _to_the_end(
        self, request: ApprovalRequest, effect: RunArgv | RunScript, decision: Decision, live: Live
    ) -> Outcome:
        network = needs_network(request.policy) and not decision.by.startswith(AUTO_RULE)
        result, receipt = await self.command(
            request.call, effect, live.take, by=decision.by, network=network, timeout=live
        )
        if result is None:
            return Outcome(
                "error", "interrupted by the person; what it had done by then stays done", receipt, "stopped"
            )
        text = await to_the_end(lambda: commands.render(result, float(live), self.outputs.keep))
        if result.interrupted:
            return Outcome("error", text, receipt, "stopped")
        note = commands.note(result)
        if receipt.changed:
            note += f", {listing.counted(len(receipt.changed), 'file')} changed"
        if receipt.unwatched and not result.error:  # what was not started changed nothing
            note += ", too many files to watch them all"
        note = ", ".join((note, *result.warnings))
        return Outcome("error" if result.exit_code is None else "applied", text, receipt, note)

    async def _served(self, request: ApprovalRequest, effect: CallServer, decision: Decision) -> Outcome:
        """Ask a server; it may change files here, like a command."""
        if (servers := self.servers) is None:
            return Outcome("error", "error: there are no MCP servers")
        call, started = request.call, time.monotonic()
        receipt = Receipt(self.writing.new_id(), call.id, call.name, call.arguments or {}, by=decision.by)
        begin = self._begun(receipt)
        answer, seen = await watched(self.writing.disk, self.writing.memory, lambda: servers.call(effect), begin)
        receipt = _after(receipt, seen, time.monotonic() - started)
        if answer is None:
            text = "interrupted by the person, and the server was told so; what it had done by then stays done"
            return Outcome("error", text, receipt, "stopped")
        text = await to_the_end(lambda: commands.cut(self.outputs.hide(answer.text), self.outputs.keep))
        return Outcome("error" if answer.failed else "applied", text, receipt, _note(answer, receipt))

    def _begun(self, receipt: Receipt) -> Callable[[tuple[FileChange, ...]], None]:
        """Tells the journal that what this receipt is for begins, with the files whose bytes are held."""
        return lambda held: self.writing.journal(ev.Begun(replace(receipt, changed=held), time.time()))

    async def command(
        self,
        call: ToolCall,
        effect: RunArgv | RunScript,
        emit: Emit,
        *,
        by: str,
        network: bool = False,
        timeout: SupportsFloat | None = None,
    ) -> tuple[CommandResult | None, Receipt]:
        """Run a command and leave a receipt of what it changed; no result when nobody knows what it said until interrupted.

        `timeout` is a limit that may change, in place of the effect's own.
        """
        started = time.monotonic()
        limit = effect.timeout if timeout is None else timeout
        receipt = Receipt(self.writing.new_id(), call.id, call.name, call.arguments or {}, by=by)
        result, seen = await execute(
            self.writing.disk,
            self.writing.memory,
            self.confined,
            effect,
            emit,
            timeout=limit,
            network=network,
            begin=self._begun(receipt),
        )
        receipt = _after(receipt, seen, result.duration if result else time.monotonic() - started)
        return result, replace(
            receipt, exit_code=result.exit_code if result else None, sandbox=result.sandbox if result else ""
        )


def _after(receipt: Receipt, seen: Seen, duration: float) -> Receipt:
    """The receipt of what is over, with the files that it changed."""
    return replace(receipt, duration=duration, changed=seen.changed, folders=seen.folders, unwatched=seen.unwatched)


def _note(answer: Answer, receipt: Receipt) -> str:
    count = len(receipt.changed)
    return f"{answer.note}, {listing.counted(count, 'file')} changed" if count else answer.note


def as_approved(effect: Effect, receipt: Receipt | None) -> bool:
    """Whether the whole effect happened: of a change of a file, every hunk."""
    if not isinstance(effect, WriteBytes) or receipt is None:
        return True
    return receipt.after == (None if effect.new is None else sha256(effect.new))


def said_with_yes(request: ApprovalRequest, decision: Decision) -> str:
    """What the model is told beside the result: that another change took the place of its own, and the person's note."""
    text = ""
    if decision.instead is not None and isinstance(effect := decision.instead.effect, WriteBytes):
        moved = isinstance(request.effect, WriteBytes) and request.effect.base != effect.base
        now = unified(diff(effect.base, effect.new), effect.path)
        if decision.chosen is not None:
            now = "the text was edited, then applied in part; read the file again"
        elif len(now) > _LONGEST_DIFF:
            now = "the difference is too long to be told; read the file again"
        why = (
            "the file had changed since you read it, so the user approved the change on its present text"
            if moved
            else "the user edited your text before it was applied"
        )
        text += f"\n{why}. The change is now:\n{now.rstrip()}"
    if decision.reason:
        text += f"\nnote from the user: {decision.reason}"
    return text
