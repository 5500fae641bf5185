"""The workspace as the loop sees it: prepare an action, ask the policy, carry it out.

One place decides what a tool may touch (`paths`), one writes (`files`), one remembers (`memory`); this
module joins them. Whatever the model or the world does, the answer is an `Outcome`, never an exception.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tui_agent.core import events as ev
from tui_agent.core import policy
from tui_agent.core.guards import rejected
from tui_agent.core.lookup import Lookup
from tui_agent.core.receipt import Receipt
from tui_agent.core.servers import CallServer
from tui_agent.core.shell import split
from tui_agent.core.standing import AnyEvent
from tui_agent.core.types import (
    NO_BASE,
    OWN_COMMAND,
    ApprovalRequest,
    Ask,
    Decision,
    Emit,
    Outcome,
    PolicyRequest,
    RunArgv,
    RunScript,
    ToolCall,
    ToolSpec,
    Verdict,
    WriteBytes,
)
from tui_agent.core.unfinished import Found
from tui_agent.tools import names
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.commands import CommandResult, words
from tui_agent.tools.lookups import LOOKUPS, Elsewhere
from tui_agent.tools.registry import TOOLS, Tool
from tui_agent.tools.remote import Remote
from tui_agent.workspace import committed, faults, git
from tui_agent.workspace.aftermath import aftermath
from tui_agent.workspace.blocking import off_loop
from tui_agent.workspace.commands import content
from tui_agent.workspace.effects import Effects, as_approved, said_with_yes
from tui_agent.workspace.faults import Reach
from tui_agent.workspace.files import Disk, sha256
from tui_agent.workspace.live import Live
from tui_agent.workspace.looking import Looking
from tui_agent.workspace.memory import Memory
from tui_agent.workspace.operands import floors_of_words
from tui_agent.workspace.outputs import MAX_OUTPUTS, OUTPUTS, Outputs
from tui_agent.workspace.paths import Anchor
from tui_agent.workspace.preparing import Preparing
from tui_agent.workspace.receipts import Blobs, Restore
from tui_agent.workspace.restoring import Restoring
from tui_agent.workspace.running import Commands, Run, Unconfined, default_run
from tui_agent.workspace.writing import Journal, Writing


class Workspace:
    """The files and commands of one folder, implementing `core.types.Tools`.

    `permissions` is the policy in force; assign it to change the mode. `blobs` is the session's folder for copies of
    file contents (in memory without one), `temporary` a folder that outlives the session and remembers
    files being written. `own` are files and folders of the product that no tool writes. `tools` names the enabled
    ones. `numbers`: reads carry line numbers. `command_timeout` is in seconds. `run` starts our own helpers, `commands`
    what the model asks for (without it `run` does, unconfined). `elsewhere` looks up what is no file of the folder, `servers` are asked for what only they do, `hide` takes out of
    long outputs what must not be on the disk. `journal` hears of every effect before it begins. Raises `OSError` when
    `root` is no folder.
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
        elsewhere: Elsewhere | None = None,
        servers: Remote | None = None,
        hide: Callable[[str], str] = str,
        journal: Journal = lambda _: None,
    ) -> None:
        self.permissions = permissions
        self._ask = ask
        self._tools = {name: TOOLS[name] for name in tools} | dict(LOOKUPS if elsewhere else {})
        self._elsewhere, self._servers = elsewhere, servers
        self._timeout = command_timeout
        self._anchor = Anchor.at(root, home, own)
        reach = reach or faults.from_text(os.environ.get(faults.VARIABLE))
        self._disk = Disk(self._anchor, temporary, reach)
        self._memory = Memory(Blobs(blobs, reach=reach))
        self._prefix, self._count = os.urandom(4).hex(), itertools.count(1)
        self._run, self._commands = run, commands or Unconfined(run)
        writing = Writing(self._disk, self._memory, self.new_id, journal)
        self.outputs = Outputs(Blobs(blobs and blobs / OUTPUTS, MAX_OUTPUTS, reach), hide)
        looking = Looking(self._disk, self._memory, run, numbers)
        self._effects = Effects(looking, writing, self._commands, self.outputs, elsewhere, servers)
        self._restoring = Restoring(writing, run)
        self._preparing = Preparing(self._disk, self._memory, self._offered, command_timeout, self.new_id)
        self._complete: set[str] = set()
        self._unseen_edits = False
        self._disk.sweep()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The enabled tools as a model is told."""
        return tuple(tool.spec for tool in self._offered().values())

    def _offered(self) -> dict[str, Tool]:
        own = {name: tool for name, tool in self._tools.items() if self._offers(name)}
        return own | dict(self._servers.tools if self._servers is not None else {})  # their names have a slash

    def _offers(self, name: str) -> bool:
        return name not in LOOKUPS or (self._elsewhere is not None and name in self._elsewhere.names)

    def new_id(self) -> str:
        """A name that no other request or receipt of the session has, also after it was resumed."""
        return f"{self._prefix}-{next(self._count)}"

    # -------------------------------------------------------------- prepare

    async def prepare(self, call: ToolCall, earlier: tuple[ApprovalRequest, ...] = ()) -> ApprovalRequest | Outcome:
        """Check a call and compute what it would do, on top of the `earlier` pending requests of its batch."""
        if not self._offers(call.name):
            return Outcome("error", f"error: tool is not enabled: {call.name}", note="not enabled", invalid=True)
        prepared = await off_loop(lambda: self._preparing.prepare(call, earlier))
        if self._elsewhere and isinstance(prepared, ApprovalRequest) and isinstance(prepared.effect, Lookup):
            return replace(prepared, where=self._elsewhere.where(prepared.effect))
        if self._servers and isinstance(prepared, ApprovalRequest) and isinstance(prepared.effect, CallServer):
            return replace(prepared, where=self._servers.where(prepared.effect))
        if isinstance(prepared, ApprovalRequest) and isinstance(prepared.effect, RunArgv | RunScript):
            await self._commands.ready()
            network = policy.needs_network(prepared.policy)
            return replace(prepared, where=self._commands.where(words(prepared.effect), network=network))
        return prepared

    # -------------------------------------------------------------- decide and commit

    def decide(self, request: ApprovalRequest) -> Verdict:
        """What the policy says to a prepared request.

        Once an edit was allowed unasked, the folder may hold code that nobody saw: for the rest of its batch, too.
        """
        effect = request.effect
        verdict = self._verdict(request.policy, words(effect) if isinstance(effect, RunArgv | RunScript) else ())
        if isinstance(effect, WriteBytes) and verdict.permission == "allow":
            self._unseen_edits = True
        return verdict

    def allowed(self, request: ApprovalRequest) -> str:
        """The rule that allows a prepared request, "" when it has to be asked about."""
        verdict = self.decide(request)
        return verdict.rule if verdict.permission == "allow" else ""

    def _verdict(self, request: PolicyRequest, argv: tuple[str, ...] = ()) -> Verdict:
        """What the policy says when these words would be executed."""
        unseen = self._unseen_edits or self.permissions.unseen_edits
        # no sandbox is around a server that was started before, nor around what this process asks the web
        sandbox = request.permission not in {"mcp", "network"} and (
            self.permissions.sandbox or self._commands.confines(argv)
        )
        return policy.decide(request, replace(self.permissions, unseen_edits=unseen, sandbox=sandbox))

    async def explain(self, call: str) -> Verdict:
        """What would be said to a call now: a tool with what it is about ("write_file src/a.py"), or else a command."""
        await self._commands.ready()
        name, _, about = (part.strip() for part in call.strip().partition(" "))
        tool = TOOLS.get(name) or LOOKUPS.get(name) or self._offered().get(name)
        if tool is None or name == "run_command":
            text = call.strip() if tool is None else about
            argv = split(text)
            floors = floors_of_words(self._anchor, argv)
            return self._verdict(PolicyRequest("run_command", "run", command=text, floors=floors), git.argv(argv))
        if tool.permission == "shell":
            return self._verdict(PolicyRequest(name, "shell", command=about), words(RunScript(about, self._timeout)))
        if not tool.has_path:
            return self._verdict(PolicyRequest(name, tool.permission))
        try:
            place = self._anchor.resolve(about or ".")
        except ToolError as error:
            return Verdict("deny", str(error), tool.permission)
        if tool.changes_file and place.no_write:
            return Verdict("deny", f"{place.named}: {place.no_write}", tool.permission)
        careful = names.caution(place.parts) if tool.changes_file else ""
        return self._verdict(PolicyRequest(name, tool.permission, None, None, place.path, place.floors, careful))

    async def commit(self, request: ApprovalRequest, decision: Decision, emit: Emit) -> Outcome:
        """Carry out an approved request after comparing its base again, or say why it was not."""
        if decision.answer != "yes":
            return Outcome("refused", rejected(request, decision))
        if decision.request_id != request.id:
            return Outcome("refused", "not applied: the answer belongs to another question")
        if not self._complete.issuperset(request.depends_on):
            why = "the earlier change of this file was refused, or applied only in part"
            return Outcome("refused", f"not applied: base changed because {why}", note=NO_BASE)
        outcome = await self._effects.carry_out(decision.instead or request, decision, emit)
        note = "; ".join(filter(None, (outcome.note, decision.reason)))
        outcome = replace(outcome, text=outcome.text + said_with_yes(request, decision), note=note)
        if outcome.status == "applied" and as_approved(request.effect, outcome.receipt):
            self._complete.add(request.id)
        runs_on = outcome.receipt is None and isinstance(request.effect, RunArgv | RunScript)
        if runs_on or (outcome.receipt is not None and outcome.receipt.unseen):
            self._unseen_edits = True  # from here on nobody saw what may run
        return outcome

    def content(self, path: str) -> bytes | None:
        """The bytes of a file now; None when it is gone, no ordinary file or too large. Blocks on the disk."""
        return content(self._disk, path)

    async def check(self, argv: tuple[str, ...], timeout: float, emit: Emit) -> tuple[CommandResult | None, Receipt]:
        """Run the check and see what it changed; no result when it was interrupted. `timeout` in seconds."""
        call = ToolCall("check", "check", {"argv": list(argv)})
        result, receipt = await self._effects.command(call, RunArgv(argv, timeout), emit, by="")
        return (None if result and result.interrupted else result), receipt

    @property
    def live(self) -> tuple[Live, ...]:
        """The commands that somebody waits for now."""
        return tuple(self._effects.live)

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

    # -------------------------------------------------------------- going on with a session

    def recall(self, events: Iterable[AnyEvent]) -> None:
        """Know the files that the session of these events has read and written; none is looked at."""
        self._memory.recall(events)

    def aftermath(self, begun: ev.Begun, known: Mapping[str, str | None]) -> Found:
        """What became of an effect whose process died; `known` are the hashes that the session last knew. Blocks."""
        return aftermath(self._disk, begun, known)

    # -------------------------------------------------------------- later: stale and parked requests, undo

    async def proposed(self, call: ToolCall) -> ApprovalRequest | Outcome:
        """What a call that was refused or left out would do now, for the person: an exact edit needs no new read."""
        return await off_loop(lambda: self._preparing.prepare(call, (), by_person=True))

    async def left_out(self, call: ToolCall, receipt: Receipt) -> ApprovalRequest | None:
        """The hunks that were left out of a change, as a change of their own; None when they are not known any more."""
        return await asyncio.to_thread(self._effects.writing.left_out, call, receipt)

    async def fresh(self, request: ApprovalRequest) -> WriteBytes | str | None:
        """The change that a request makes of its file as it is now, or why there is none; None: it is as it was shown."""
        return await self._effects.writing.fresh(request)

    async def apply_parked(self, request: ApprovalRequest, chosen: frozenset[int] | None = None) -> Outcome:
        """Apply a skipped change of a file later, by the person's own hand.

        The file must hold the base of the request, or the old lines of each chosen hunk exactly once.
        """
        return await self._effects.writing.apply_parked(request, chosen)

    async def plan_undo(self, receipts: Iterable[Receipt]) -> tuple[Restore, ...]:
        """What undoing these receipts (oldest first, up to the newest) would do to each file; changes nothing."""
        return await self._restoring.plan(tuple(receipts), git=self.permissions.trusted)

    async def versions(self, step: Restore) -> tuple[bytes | None, bytes | None]:
        """The bytes that a step of a plan starts from and leads to, for the eye; None where there is no file."""
        return await asyncio.to_thread(self._restoring.versions, step)

    async def mode(self, path: str) -> int | None:
        """The permission bits of a file now, None where there is no file."""
        return await asyncio.to_thread(self._restoring.mode, path)

    async def at_head(self, paths: Sequence[str]) -> dict[str, bytes | None] | None:
        """What git's newest commit holds at these paths, None for bytes it cannot give exactly; None without a commit.

        A path that is not in it is not in the answer. In a folder that is not trusted git is not run.
        """
        if not self.permissions.trusted:
            return None
        return await self._restoring.at_head(paths)

    async def differing(self) -> dict[str, str]:
        """The files that are not as in git's newest commit, each with M, A, D or ?; none in a folder that is not trusted."""
        return await committed.differing(self._anchor.root, self._run) if self.permissions.trusted else {}

    async def restore(self, path: str, now: bytes | None, new: bytes | None, folders: tuple[str, ...] = ()) -> Outcome:
        """Give a file other content by the person's own hand, if it still holds `now`; leaves a receipt as undo does.

        With the file those of `folders` go that are empty then.
        """
        if new is not None and (why := await asyncio.to_thread(self._memory.blobs.put, new)):
            return Outcome("error", f"{path} was not changed: {why}")
        before, target = (None if data is None else sha256(data) for data in (now, new))
        return await self._restoring.undo(Restore(path, target, before, "ready", folders=folders))

    async def undo(self, steps: Iterable[Restore]) -> tuple[Outcome, ...]:
        """Carry out steps of a plan, each only if its file still is as the plan saw it; each leaves a receipt.

        A step that asks overwrites what is, or may be, somebody's own: pass it only after a yes for that file. Of a file
        that is gone already the folders go that were made for it.
        """
        # what goes first, from the inside out: a file may have taken the place of a folder, or a folder that of a file
        order = sorted(steps, key=lambda step: (step.target is not None, -step.path.count("/")))
        outcomes = [await self._restoring.undo(step) for step in order if step.possible]
        await self._restoring.tidy(order)
        return tuple(outcomes)
