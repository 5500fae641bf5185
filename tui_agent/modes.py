"""Modes as data: what the agent may do in each, which tools it is offered, and which prompt it is given.

`read`, `ask` and `edits` are degrees of leave; `review` and `plan` are `read` with a prompt of their own. What the
person's policy denies, no mode allows; the leave to edit the folder unasked is the mode's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, TypeAlias

from tui_agent.config import careful
from tui_agent.core.endings import Limits
from tui_agent.core.policy import Policy
from tui_agent.core.types import (
    DRY_RUN,
    Act,
    AgentError,
    ApprovalRequest,
    ConfigError,
    Decision,
    Emit,
    Outcome,
    Permission,
    ToolCall,
    Tools,
    ToolSpec,
    Verdict,
    WriteBytes,
)

ModeName: TypeAlias = Literal["read", "ask", "edits", "review", "plan", "AUTO"]

READERS = frozenset({"read_file", "list_files", "search", "read_skill", "read_output", "update_plan"})
"""The tools of the modes that change nothing."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One mode. `prompt` is the name of a prompt file; `rounds` bounds the model calls of one task."""

    name: ModeName
    what: str
    prompt: str = "coding"
    reads_only: bool = False
    rounds: int | None = None

    def policy(self, base: Policy) -> Policy:
        """The person's policy in this mode; where it denies, no mode allows."""
        if self.reads_only:
            return careful(base)
        leave: Permission = "allow" if self.name == "edits" else "ask"
        base = replace(base, auto=self.name == "AUTO")
        return base if base.table["write"] == "deny" else replace(base, table={**base.table, "write": leave})

    def tools(self, workspace: Tools) -> Tools:
        """The workspace with the tools of this mode."""
        return Narrowed(workspace, READERS, self.name) if self.reads_only else workspace

    def limits(self, limits: Limits) -> Limits:
        """The person's limits in this mode."""
        return limits if self.rounds is None else replace(limits, max_steps=min(self.rounds, limits.max_steps))


MODES: Mapping[str, Mode] = MappingProxyType(
    {
        mode.name: mode
        for mode in (
            Mode("read", "nothing is written or run", reads_only=True),
            Mode("ask", "asks before each edit and command that no rule allows"),
            Mode("edits", "edits in the folder happen unasked, everything else is asked"),
            Mode("review", "a reviewer who reads and asks, and never writes", "reviewer", reads_only=True, rounds=10),
            Mode("plan", "a planner; /approve carries the plan out", "planner", reads_only=True),
        )
    }
)
AUTO = Mode("AUTO", "nothing is asked: what rules leave open is done, in a sandbox")
"""Stands apart: no name and no key leads to it, only `Session.enter_auto`."""

CYCLE: tuple[ModeName, ...] = ("read", "ask", "edits")
"""What one key goes round: it never reaches a mode that runs commands unasked."""


def mode(name: str) -> Mode:
    """The mode of this name.

    Raises:
        ConfigError: there is none.
    """
    if name not in MODES:
        raise ConfigError(f"there is no mode {name!r}; there are {', '.join(MODES)}")
    return MODES[name]


def auto(*, trusted: bool, no_sandbox: str, undoable: bool = True) -> Mode:
    """Mode AUTO, where it may be entered; `no_sandbox` says why none works here, "" when one does.

    `undoable`: git holds what commands change, or the person wants AUTO without that.

    Raises:
        AgentError: there is no sandbox that works, the folder is not trusted, or nothing could be undone.
    """
    if no_sandbox:
        raise AgentError(f"mode AUTO needs a sandbox, and there is none here: {no_sandbox}")
    if not trusted:
        raise AgentError("mode AUTO needs a folder that you trust: tui-agent trust")
    if not undoable:
        raise AgentError(
            "this folder is in no git repository, so what commands change could not be undone: /auto anyway"
        )
    return AUTO


def first(base: Policy) -> Mode:
    """The mode that a session begins in under this policy."""
    return MODES["edits" if base.table["write"] == "allow" else "ask"]


def following(today: Mode) -> Mode:
    """The next mode of the cycle; from one outside of it, back to `ask`."""
    if today.name not in CYCLE:
        return MODES["ask"]
    return MODES[CYCLE[(CYCLE.index(today.name) + 1) % len(CYCLE)]]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A workspace of which only some tools exist: the others are neither offered nor accepted."""

    inner: Tools
    names: frozenset[str]
    mode: str

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools that are left."""
        return tuple(spec for spec in self.inner.specs if spec.name in self.names)

    async def prepare(self, call: ToolCall, earlier: tuple[ApprovalRequest, ...]) -> ApprovalRequest | Outcome:
        """Prepare a call of one of the tools that are left."""
        if call.name not in self.names:
            there = ", ".join(spec.name for spec in self.specs)
            text = f"error: tool is not enabled: {call.name}. In mode {self.mode} there are {there}."
            return Outcome("error", text, note="not enabled", invalid=True)
        return await self.inner.prepare(call, earlier)

    def decide(self, request: ApprovalRequest) -> Verdict:
        """Ask the policy."""
        return self.inner.decide(request)

    async def commit(self, request: ApprovalRequest, decision: Decision, emit: Emit) -> Outcome:
        """Carry out an approved request."""
        return await self.inner.commit(request, decision, emit)


DRY = "dry-run: diff shown, file not written (use without --dry-run to apply)"
DRY_COMMAND = "dry-run: not run (use without --dry-run to run it)"


@dataclass(frozen=True, slots=True)
class DryRun:
    """A workspace in which nothing is changed or run, and nothing is asked: `show` gets what would have happened."""

    inner: Tools
    show: Callable[[ApprovalRequest], None]

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools offered to the model."""
        return self.inner.specs

    async def prepare(self, call: ToolCall, earlier: tuple[ApprovalRequest, ...]) -> ApprovalRequest | Outcome:
        """Prepare a call as if it were to happen."""
        return await self.inner.prepare(call, earlier)

    def decide(self, request: ApprovalRequest) -> Verdict:
        """What only looks is decided by the policy; whatever else is not denied is shown instead of asked."""
        verdict = self.inner.decide(request)
        if isinstance(request.effect, Act) and verdict.permission == "ask":
            return replace(verdict, permission="allow", rule="flag: --dry-run")
        return verdict

    async def commit(self, request: ApprovalRequest, decision: Decision, emit: Emit) -> Outcome:
        """Carry out what only looks; show the rest."""
        if not isinstance(request.effect, Act):
            return await self.inner.commit(request, decision, emit)
        self.show(request)
        text = DRY if isinstance(request.effect, WriteBytes) else DRY_COMMAND
        return Outcome("refused", text, note=DRY_RUN)
