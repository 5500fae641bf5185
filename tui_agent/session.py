"""One conversation: its log, its model and its workspace, and how they make a run.

The composition root of the agent, used by the screen and by one shot alike. It owns nothing that is not
in the log: what is shown, sent, counted or resumed is a function of `events`.
"""

from __future__ import annotations

import os
import secrets
import shlex
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tui_agent import __version__
from tui_agent.checks import TIMEOUT, CheckStore, detect
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.check import Check
from tui_agent.core.log import FileLog
from tui_agent.core.loop import Agent, run
from tui_agent.core.policy import pattern_fault
from tui_agent.core.profile import Profile
from tui_agent.core.types import (
    AgentError,
    ApprovalRequest,
    Ask,
    ConfigError,
    Decision,
    Emit,
    Model,
    Receipt,
    StopReason,
    ToolCall,
    Tools,
    ToolSpec,
    Usage,
)
from tui_agent.modes import MODES, DryRun, Mode, first
from tui_agent.paths import Paths
from tui_agent.prompt import Prompts
from tui_agent.protocols.dialect import Speech
from tui_agent.protocols.native import StepDown
from tui_agent.providers import connect
from tui_agent.workspace import Workspace, git
from tui_agent.workspace.runner import CommandResult, child_environment
from tui_agent.workspace.runner import run as run_command


def new_id(now: float) -> str:
    """A name for a session that sorts by time and cannot clash."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}-{secrets.token_hex(3)}"


@dataclass(frozen=True, slots=True)
class Terms:
    """What a session starts from. `trusted`: the person's answer for this folder.

    `yes`: edits inside the workspace need no question (`--yes`). `allow_check`: the check may run
    although nobody saw the edits or the folder is not trusted (`--allow check`). `dry_run` is shown what would
    have been changed or run, and then nothing is (`--dry-run`).
    """

    root: Path
    settings: Settings
    paths: Paths
    trusted: bool = False
    interactive: bool = True
    yes: bool = False
    allow_check: bool = False
    user_file: Path | None = None
    """The configuration file in use, when it is not the usual one."""
    dry_run: Callable[[ApprovalRequest], None] | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def accepted_check(terms: Terms) -> tuple[str, ...] | None:
    """The check that the person configured for the folder, or accepted for it before."""
    if (configured := terms.settings.check_for(terms.root)) is not None:
        return configured
    answer = _checks(terms).look(terms.root)
    # one that the project named counts through the trust in its entry, not by itself
    return answer.argv if answer is not None and answer.accepted and answer.source != "project" else None


def _checks(terms: Terms) -> CheckStore:
    return CheckStore(terms.paths.data / "checks.toml")


def _pattern(terms: Terms) -> tuple[str, ...]:
    """The check as a pattern that may run code nobody saw, when `--allow check` was given.

    One that is no pattern (a program by its path) is not for the model to run: it still runs by itself after edits.
    """
    argv = accepted_check(terms) if terms.allow_check else None
    return (pattern,) if argv and not pattern_fault(pattern := shlex.join(argv)) else ()


class Session:
    """A conversation in one folder. Not safe for two tasks at once: one run at a time."""

    def __init__(self, terms: Terms, ask: Ask) -> None:
        """Start a new session in the real path of the folder, `root`; its own folder is made at the first event."""
        self.terms = terms
        self.id = new_id(time.time())
        self.folder = terms.paths.sessions / self.id
        keys = [terms.environment[name] for name in terms.settings.key_names() if name in terms.environment]
        self.log = FileLog(self.folder / "log.jsonl", hidden=keys)
        self.profile: Profile | None = None
        self._ask = ask
        self._model: Model | None = None
        self._policy = replace(
            terms.settings.policy,
            interactive=terms.interactive,
            trusted=terms.trusted,
            cli_yes=terms.yes,
            unsandboxed=_pattern(terms),
        )
        self.mode = first(self._policy)
        self.root = terms.root.resolve()
        self.workspace = Workspace(
            self.root,
            ask,
            self._policy,
            blobs=self.folder / "blobs",
            temporary=terms.paths.data / "writing",
            run=self._run,
            own=filter(None, (*terms.paths.all, terms.user_file)),
            command_timeout=terms.settings.limits.command_timeout,
        )

    @property
    def events(self) -> list[ev.Durable | ev.Unknown]:
        """Everything durable that happened, in order."""
        return self.log.events

    @property
    def verified(self) -> bool:
        """Whether the last run ended with a passed check."""
        ends = [e for e in self.events if isinstance(e, ev.RunEnded)]
        return bool(ends) and ends[-1].reason is StopReason.VERIFIED

    @property
    def holds_unseen_edits(self) -> bool:
        """Whether the folder holds bytes of this session that no person saw."""
        receipts = (event.receipt for event in self.events if isinstance(event, ev.ToolDone))
        return any(receipt is not None and receipt.unseen for receipt in receipts)

    def child_environment(self) -> dict[str, str]:
        """The environment of every program that is started: an allow-list, never a key."""
        terms = self.terms
        return child_environment(
            terms.environment,
            allow=terms.settings.environment,
            secrets=terms.settings.key_names(),
            workspace=None if terms.trusted else terms.root,
        )

    async def _run(
        self, argv: tuple[str, ...], *, cwd: Path, timeout: float, emit: Emit | None = None
    ) -> CommandResult:
        return await run_command(argv, cwd=cwd, timeout=timeout, emit=emit, env=self.child_environment())

    # -------------------------------------------------------------- model

    def choose(self, profile: Profile, model: str | None = None) -> None:
        """Answer with this profile from the next run on; `model` overrides the profile's own.

        Raises:
            ConfigError: the profile lacks its endpoint, model or key; the choice is then as it was.
        """
        chosen = replace(profile, model=model) if model else profile
        self._model = connect(chosen, env=self.terms.environment)
        self.profile = chosen
        self._start()
        self._chosen(chosen, chosen.model or "")

    def use(self, model: Model, profile: Profile) -> None:
        """Answer with a ready model (the demo, tests)."""
        self._model, self.profile = model, profile
        self._start()
        self._chosen(profile, profile.model or model.author.model)

    def _chosen(self, profile: Profile, model: str) -> None:
        protocol = "native" if profile.protocol == "auto" else profile.protocol
        self.log.append(ev.ModelChosen(profile.name, model, profile.local, protocol))

    def _start(self) -> None:
        if not self.events:
            self.log.append(ev.SessionStarted(self.id, str(self.root), time.time(), __version__))

    def price(self, usage: Usage | None) -> float | None:
        """USD of one call: unknown without prices, nothing for a local model."""
        if self.profile is None or self.profile.pricing is None:
            return 0.0 if self.profile is not None and self.profile.local else None
        return self.profile.pricing.cost(usage or Usage())

    # -------------------------------------------------------------- mode

    def enter(self, mode: Mode) -> None:
        """Go on in this mode; what was allowed counts at once, tools and prompt from the next task on."""
        self.mode = mode
        self.workspace.permissions = mode.policy(self._policy)
        self._start()
        self.log.append(ev.Notice(f"mode {mode.name}: {mode.what}"))

    def approve_plan(self) -> str:
        """Leave mode `plan` because the person approves what was planned; gives the message that says so.

        Raises:
            AgentError: there is no plan to approve.
        """
        ends = [e for e in self.events if isinstance(e, ev.RunEnded)]
        if self.mode.name != "plan" or not ends or ends[-1].reason is not StopReason.COMPLETED:
            raise AgentError("there is no plan to approve: enter /mode plan, state the task, and read the plan first")
        self.enter(MODES["ask"])
        return "The plan is approved. Carry it out, step by step."

    # -------------------------------------------------------------- check

    def check(self) -> Check | None:
        """The check for this folder, ready to run: configured, accepted before, or found here and not asked yet."""
        if (accepted := accepted_check(self.terms)) is not None:
            argv = git.argv(accepted)
            return Check(argv, self._runner(argv), TIMEOUT, self._check_asks())
        store, may_ask = _checks(self.terms), self.terms.trusted and self.terms.interactive
        if not may_ask or store.look(self.root) is not None or (found := detect(self.root)) is None:
            return None

        def answered(decision: Decision) -> None:
            if decision.by == "key" and decision.answer in {"yes", "no"}:
                try:
                    store.answer(self.root, found.argv, accepted=decision.answer == "yes")
                except AgentError as error:
                    self.log.append(ev.Notice(str(error)))

        why = f"found in {found.source}; yes also keeps it as the check of this folder, no does not ask again"
        return Check(found.argv, self._runner(found.argv), TIMEOUT, "always", why, proposed=True, answered=answered)

    def _check_asks(self) -> Literal["always", "unseen", "never"]:
        if self.terms.allow_check:
            return "never"
        return "always" if not self.terms.trusted or self.holds_unseen_edits else "unseen"

    def _runner(self, argv: tuple[str, ...]) -> Callable[[Emit], Awaitable[ev.CheckDone]]:
        async def go(emit: Emit) -> ev.CheckDone:
            result = await self._run(argv, cwd=self.root, timeout=TIMEOUT, emit=emit)
            receipt = Receipt(
                self.workspace.new_id(),
                "check",
                "check",
                {"argv": list(argv)},
                exit_code=result.exit_code,
                duration=result.duration,
            )
            output = result.error or result.output
            return ev.CheckDone(argv, result.exit_code, output, result.duration, receipt=receipt)

        return go

    async def revert(self) -> str:
        """Take back the batch of edits after which the check failed, and tell the model; gives what was done in words.

        Raises:
            AgentError: there is none, or a file of it was changed since; nothing was changed then.
        """
        batch = fold.failed_batch(self.events)
        if batch is None:
            raise AgentError("there is nothing to revert: no check failed after the last edit")
        check, receipts = batch
        plan = await self.workspace.plan_undo(receipts)
        if blocked := [f"{step.path} {step.words}" for step in plan if step.state not in {"ready", "same"}]:
            raise AgentError(f"not reverted: {'; '.join(blocked)}")
        for outcome in await self.workspace.undo(plan):
            if outcome.receipt is not None:
                call = ToolCall(outcome.receipt.call_id, "undo", outcome.receipt.arguments)
                self.log.append(ev.ToolDone(call, outcome.status, outcome.text, receipt=outcome.receipt))
        paths = ", ".join(step.path for step in plan)
        told = f"The person took back your last edits of {paths}: the files are as they were before them.\n"
        self.log.append(ev.Notice(told + fold.check_text(check), "model"))
        return f"reverted: {paths}"

    # -------------------------------------------------------------- runs

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools offered to the model."""
        return self.mode.tools(self.workspace).specs

    def _hands(self) -> Tools:
        """The workspace as this session may use it now."""
        tools = self.mode.tools(self.workspace)
        return DryRun(tools, self.terms.dry_run) if self.terms.dry_run else tools

    async def run(self, task: str) -> AsyncGenerator[ev.Event, None]:
        """Carry out one task, yielding its events; see `core.loop.run`.

        Raises:
            ConfigError: no model has been chosen, or a prompt file cannot be used.
        """
        if self._model is None or self.profile is None:
            raise ConfigError("no model is chosen")
        check, settings, mode = self.check(), self.terms.settings, self.mode
        known = check.argv if check and not check.proposed else None
        prompts = Prompts(self.tools, self.root, known, mode.prompt, self.terms.paths.config / "prompts")
        agent = Agent(
            self._model,
            self._hands(),
            self._ask,
            mode.limits(settings.limits),
            self.log,
            prompts.native(),
            check,
            self.price,
            settings.on_reject,
            settings.on_deny,
            dialect=Speech(
                prompts.json(),
                prompts.verbs(),
                StepDown(fold.protocol(self.events)),
                auto=self.profile.protocol == "auto",
            ),
        )
        async with aclosing(run(task, agent, fold.history(self.events))) as events:
            async for event in events:
                yield event
