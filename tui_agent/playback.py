"""`tui-agent replay`: find a saved session, play it, and say whether today's loop does the same.

With `--execute` the effects happen again in a copy of today's folder, from which the session's own changes were taken
back first; what cannot be taken back is named, and nothing is played then.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.check import Check
from tui_agent.core.disk import is_file, is_folder
from tui_agent.core.display import plain
from tui_agent.core.log import load
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import (
    DRY_RUN,
    AgentError,
    ApprovalRequest,
    ConfigError,
    Decision,
    Emit,
    Outcome,
    ToolCall,
    Tools,
    ToolSpec,
    Verdict,
)
from tui_agent.gate import run_check
from tui_agent.paths import Paths
from tui_agent.recording import Run
from tui_agent.replay import (
    Bytes,
    RecordedTools,
    Stage,
    denied_then,
    outcome_then,
    play,
    recorded_check,
)
from tui_agent.sessions import LOG
from tui_agent.shapes import Divergence, Recorded, Shape, describe
from tui_agent.summaries import find, listed
from tui_agent.tools.registry import TOOLS
from tui_agent.trust import TrustStore
from tui_agent.workspace import Workspace
from tui_agent.workspace.confined import Confined
from tui_agent.workspace.receipts import Blobs
from tui_agent.workspace.runner import child_environment

DIVERGED = 2
"""Exit code of a replay that was not as recorded, or of which that cannot be said."""
_SHOWN = 160
"""Characters of an event that are printed while it plays; a divergence is printed whole."""
_NAMED = 8
"""Files that are named at once."""


def log_of(paths: Paths, session: str) -> Path:
    """The log of a session, given by the log itself, its folder, or as everywhere by its id or name.

    Raises:
        ConfigError: there is none.
    """
    for candidate in (Path(session), Path(session, LOG)):
        if is_file(candidate):
            return candidate
    return paths.sessions / find(listed(paths.sessions), session, Path(os.path.realpath("."))).id / LOG


def replay(log: Path, settings: Settings, trust: TrustStore, *, execute: bool) -> int:
    """Play the session of a log and print what happens; returns the exit code.

    Raises:
        AgentError: the log cannot be read, or its changes cannot be taken back.
    """
    try:
        loaded = load(log)
    except OSError as error:
        raise AgentError(f"{log} cannot be read: {error.strerror}") from error
    if not any(isinstance(event, ev.SessionStarted) for event in loaded.events):
        raise ConfigError(f"{log} is not the log of a session")
    if not any(isinstance(event, ev.UserSaid) for event in loaded.events):
        raise AgentError(f"{log} holds no message of the person, so there is nothing to play")
    for problem in loaded.problems:
        _say(problem)
    if execute:
        with _workshop(loaded.events, log.parent / "blobs", settings, trust) as workshop:
            asyncio.run(workshop.rewind(loaded.events))
            content = workshop.workspace.content
            stage = Stage(
                settings.limits,
                workshop.tools,
                workshop.check,
                _held(log),
                content,
                executes=True,
                beside=workshop.catch_up,
            )
            number, divergence = asyncio.run(play(loaded.events, stage, _show))
    else:
        held = _held(log)
        stage = Stage(settings.limits, lambda run: RecordedTools(run, held), held=held)
        number, divergence = asyncio.run(play(loaded.events, stage, _show))
    begun = fold.cut_off(loaded.events) is not None
    return _report(number, divergence, damaged=bool(loaded.problems), begun=begun)


def _held(log: Path) -> Bytes:
    """The bytes that the session of a log holds."""
    get = Blobs(log.parent / "blobs").get
    return lambda name: get(name) if name else None


def _show(shape: Shape) -> None:
    line = describe(shape)
    print(plain(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"), flush=True)


def _report(number: int, divergence: Divergence | None, *, damaged: bool, begun: bool) -> int:
    """Say what came of it; `begun`: the log ends in the middle of a run."""
    if divergence is None:
        rest = ", up to where the log breaks off in the middle of a run" if begun else ""
        if damaged:
            rest = ", but the log is not whole: what is missing could not be compared"
        _say(f"{number} events, all as recorded{rest}")
        return DIVERGED if damaged else 0
    one, other = divergence.expected, divergence.actual
    differ = ", ".join(key for key in {**one, **other} if one.get(key) != other.get(key))
    _say(f"event {divergence.number + 1} is not as recorded: {differ}")
    print(plain(f"expected  {describe(one)}"))
    print(plain(f"actual    {describe(other)}"), flush=True)
    return DIVERGED


def _say(text: str) -> None:
    print(plain(f"tui-agent: {text}"), file=sys.stderr, flush=True)


# ------------------------------------------------------------------ on a copy


@dataclass(frozen=True, slots=True)
class Workshop:
    """A copy of the folder in which a session's effects happen again.

    `undoing` brings it back to where the session began; `workspace` has read nothing then, as the session had not.
    """

    undoing: Workspace
    workspace: Workspace

    async def rewind(self, events: Sequence[Recorded]) -> None:
        """Take back in the copy what the session changed.

        Raises:
            AgentError: something cannot be taken back; every such file is named.
        """
        plan = await self.undoing.plan_undo(list(fold.receipts(events)))
        blocked = [f"{step.path} {step.words}" for step in plan if step.state not in {"ready", "same"}]
        outcomes = () if blocked else await self.undoing.undo(plan)
        blocked += [outcome.text for outcome in outcomes if outcome.status != "applied"]
        if blocked:
            raise AgentError(f"not played, because the folder cannot be brought back: {'; '.join(blocked)}")

    async def catch_up(self, recording: Run) -> None:
        """Change files as the person did between two runs, and as a run did before it was interrupted; know what was read.

        What cannot be done again, because nobody kept its bytes, is named: it may be why something differs.
        """
        receipts = reversed(list(fold.receipts(recording.beside)))
        plan = await self.workspace.plan_undo([_turned(receipt) for receipt in receipts])
        left = [step.path for step in plan if not (step.possible or step.state == "same")]
        left += [outcome.text for outcome in await self.workspace.undo(plan) if outcome.status != "applied"]
        if left:
            _say(f"what was done between two tasks could not be done again: {', '.join(left)}")
        self.workspace.recall(recording.before)

    def tools(self, recording: Run) -> Executed:
        """The workspace of the copy, asking where the recording asked."""
        asked = frozenset(event.call_id for event in recording.of(ev.Asked))
        unasked = {event.call.id: event for event in recording.of(ev.ToolDone) if event.call.id not in asked}
        return Executed(self.workspace, RecordedTools(recording), asked, unasked)

    def check(self, recording: Run) -> Check | None:
        """The check, carried out in the copy."""
        return recorded_check(recording, partial(run_check, self.workspace))


@dataclass(frozen=True, slots=True)
class Executed:
    """A real workspace under today's policy; what was asked in the recording is asked again.

    What is no effect in the folder (the web, a server, a long output) has its `recorded` result. `unasked` is how calls
    ended then that a flag, a rule or a mode decided about, which today's policy need not have.
    """

    workspace: Workspace
    recorded: RecordedTools
    asked: frozenset[str]
    unasked: Mapping[str, ev.ToolDone] = field(default_factory=dict)

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools that the model was offered."""
        return self.recorded.specs

    def _hands(self, call: ToolCall) -> Tools:
        return self.workspace if call.name in TOOLS else self.recorded

    async def prepare(self, call: ToolCall, earlier: tuple[ApprovalRequest, ...]) -> ApprovalRequest | Outcome:
        """Prepare a call in the copy; what was no call then is none now, whatever tools there are today."""
        done = self.unasked.get(call.id)
        if done is not None and done.invalid:
            return outcome_then(done)
        return await self._hands(call).prepare(call, earlier)

    def decide(self, request: ApprovalRequest) -> Verdict:
        """As then where it was denied, today's policy where that denies; else asked or not as it was then."""
        done = self.unasked.get(request.call.id)
        if (denied := denied_then(done, request)) is not None:
            return denied
        verdict = self._hands(request.call).decide(request)
        if verdict.permission == "allow" and request.call.id in self.asked:
            return replace(verdict, permission="ask")
        if verdict.permission == "ask" and done is not None:
            return replace(verdict, permission="allow")
        return verdict

    async def commit(self, request: ApprovalRequest, decision: Decision, emit: Emit) -> Outcome:
        """Carry it out in the copy, but for what was only shown then."""
        done = self.unasked.get(request.call.id)
        if done is not None and done.note == DRY_RUN:
            return outcome_then(done)
        return await self._hands(request.call).commit(request, decision, emit)


def _turned(receipt: Receipt) -> Receipt:
    """A receipt whose undo does again what it tells of."""
    changed = tuple(
        replace(c, before=c.after, after=c.before, mode=c.new_mode, new_mode=c.mode) for c in receipt.changed
    )
    return replace(
        receipt,
        before=receipt.after,
        after=receipt.before,
        mode=receipt.new_mode,
        new_mode=receipt.mode,
        changed=changed,
    )


@contextmanager
def _workshop(events: Sequence[Recorded], blobs: Path, settings: Settings, trust: TrustStore) -> Iterator[Workshop]:
    """A copy of the folder that the session worked in, removed at the end."""
    started = next((event for event in events if isinstance(event, ev.SessionStarted)), None)
    root = Path(started.cwd) if started else Path()
    if started is None or not is_folder(root):
        raise AgentError(f"the folder of the session is not there: {root}")
    trusted = trust.look(root).trusted
    environment = child_environment(
        os.environ, allow=settings.environment, secrets=settings.key_names(), workspace=None if trusted else root
    )
    with tempfile.TemporaryDirectory(prefix="tui-agent-replay-") as temp:
        copy = Path(temp).resolve() / (root.name or "root")
        try:
            left = _copied(root, copy)
            if is_folder(blobs):
                shutil.copytree(blobs, Path(temp) / "blobs")
        except OSError as error:  # of a whole tree, or the many of its parts
            why = error.strerror or next((str(part[2]) for part in error.args[0]), "")
            raise AgentError(f"the folder of the session cannot be copied: {why}") from error
        if left:
            more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
            _say(f"not copied, because you may not read it: {', '.join(left[:_NAMED])}{more}")
        policy = replace(settings.policy, trusted=trusted)
        commands = Confined(copy, lambda: environment, choice=settings.sandbox)
        undoing, workspace = (
            Workspace(
                copy,
                None,
                policy,
                blobs=Path(temp) / "blobs",
                run=commands.plain,
                commands=commands,
                command_timeout=settings.limits.command_timeout,
            )
            for _ in range(2)
        )
        yield Workshop(undoing, workspace)


def _copied(root: Path, copy: Path) -> list[str]:
    """Copy a folder but for pipes, sockets and devices; gives what may not be read, and so was left out."""
    left: list[str] = []

    def ignored(folder: str, names: list[str]) -> list[str]:
        entries = [entry for entry in os.scandir(folder) if entry.name in names and not entry.is_symlink()]
        special = [entry.name for entry in entries if not entry.is_file() and not entry.is_dir()]
        need = {True: os.R_OK | os.X_OK, False: os.R_OK}
        shut = [e.name for e in entries if e.name not in special and not os.access(e.path, need[e.is_dir()])]
        left.extend(os.path.relpath(os.path.join(folder, name), root) for name in shut)  # noqa: PTH118 - no look
        return special + shut

    shutil.copytree(root, copy, symlinks=True, ignore=ignored)
    return left
