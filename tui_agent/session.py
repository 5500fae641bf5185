"""One conversation: its log, its model and its workspace, and how they make a run.

The composition root of the agent, used by the screen and by one shot alike. It owns nothing that is not
in the log: what is shown, sent, counted or resumed is a function of `events`.
"""

from __future__ import annotations

import os
import secrets
import shlex
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from tui_agent import __version__
from tui_agent.checks import TIMEOUT, CheckStore, detect
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.check import Check
from tui_agent.core.endings import StopReason
from tui_agent.core.log import FileLog
from tui_agent.core.loop import Agent, run
from tui_agent.core.policy import pattern_fault
from tui_agent.core.profile import ModelInfo, Profile
from tui_agent.core.types import (
    AgentError,
    ApprovalRequest,
    Ask,
    ConfigError,
    Decision,
    Emit,
    History,
    Image,
    Model,
    PolicyRequest,
    Receipt,
    RunArgv,
    ToolCall,
    Tools,
    ToolSpec,
    Usage,
)
from tui_agent.modes import MODES, DryRun, Mode, auto, first
from tui_agent.paths import Paths
from tui_agent.permissions import Rule, Rules, RuleStore, listed
from tui_agent.prompt import Prompts
from tui_agent.protocols.dialect import Speech
from tui_agent.protocols.native import StepDown
from tui_agent.providers import connect
from tui_agent.providers.network import Network
from tui_agent.workspace import Workspace, git
from tui_agent.workspace.confined import Confined
from tui_agent.workspace.images import Pictures
from tui_agent.workspace.receipts import Blobs
from tui_agent.workspace.runner import child_environment


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
    network: Network = field(default_factory=Network)
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


def _environment(terms: Terms) -> dict[str, str]:
    return child_environment(
        terms.environment,
        allow=terms.settings.environment,
        secrets=terms.settings.key_names(),
        workspace=None if terms.trusted else terms.root,
    )


def _outside(argv: tuple[str, ...], timeout: float, sign: str) -> ApprovalRequest:
    """The question whether a command that failed in the sandbox may run once without it."""
    number = f"unsandboxed-{secrets.token_hex(4)}"
    return ApprovalRequest(
        number,
        ToolCall(number, "run_unsandboxed", {"argv": list(argv)}),
        RunArgv(argv, timeout),
        PolicyRequest("run_command", "run", argv, floors=(f"it failed in the sandbox: {sign}",)),
        f"run again without the sandbox  {shlex.join(argv)}",
        caution="it would run once more, without the sandbox",
    )


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
        self.info: ModelInfo | None = None
        """What the server said of the model, if it was asked."""
        self._pictures = Pictures(Blobs(self.folder / "blobs"))
        self._running = False
        self._next: tuple[Model, Profile] | None = None
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
        self.rules = Rules(self.root, RuleStore(terms.paths.data / "rules.toml"), self._decide_anew)
        self.commands = Confined(
            self.root,
            self.child_environment,
            hidden=(terms.paths.config, terms.paths.data, terms.paths.state),
            choice=terms.settings.sandbox,
            offer=self._offer,
        )
        self.workspace = Workspace(
            self.root,
            ask,
            self.rules.over(self._policy),
            blobs=self.folder / "blobs",
            temporary=terms.paths.data / "writing",
            run=self.commands.plain,
            commands=self.commands,
            own=filter(None, (*terms.paths.all, terms.user_file)),
            command_timeout=terms.settings.limits.command_timeout,
        )

    @property
    def events(self) -> list[ev.Durable | ev.Unknown]:
        """Everything durable that happened, in order."""
        return self.log.events

    @property
    def history(self) -> History:
        """The conversation as the next request would send it."""
        return fold.history(self.events)

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
        return _environment(self.terms)

    async def _offer(self, argv: tuple[str, ...], timeout: float, sign: str) -> bool:
        """Ask the person whether a command that failed in the sandbox may run once without it."""
        if self.terms.allow_check and (check := self.check()) is not None and argv == check.argv:
            return True
        request = _outside(argv, timeout, sign)
        (decision,) = await self._ask((request,))
        return decision.answer == "yes" and decision.by == "key"

    # -------------------------------------------------------------- model

    def choose(self, profile: Profile, model: str | None = None) -> None:
        """Answer with this profile from the next run on; `model` overrides the profile's own. A running one is not disturbed.

        Raises:
            ConfigError: the profile lacks its endpoint, model or key; the choice is then as it was.
        """
        chosen = replace(profile, model=model) if model else profile
        self.use(connect(chosen, env=self.terms.environment, network=self.terms.network), chosen)

    def use(self, model: Model, profile: Profile) -> None:
        """Answer with a ready model from the next run on."""
        if self._running:
            self._next = (model, profile)
            return
        self._model, self.profile, self.info = model, profile, None
        self.begin()
        self._chosen(profile, profile.model or model.author.model)

    def _chosen(self, profile: Profile, model: str) -> None:
        protocol = "native" if profile.protocol == "auto" else profile.protocol
        self.log.append(ev.ModelChosen(profile.name, model, profile.local, protocol))

    def begin(self) -> None:
        """Open the log; what is recorded first does it by itself."""
        if not self.events:
            self.log.append(ev.SessionStarted(self.id, str(self.root), time.time(), __version__))

    def price(self, usage: Usage | None) -> float | None:
        """USD of one call: unknown without prices, nothing for a local model."""
        if self.profile is None or self.profile.pricing is None:
            return 0.0 if self.profile is not None and self.profile.local else None
        return self.profile.pricing.cost(usage or Usage())

    @property
    def window(self) -> int | None:
        """Tokens that the model works with: as the server says, else as the profile says, else unknown."""
        if self.info is not None and self.info.window is not None:
            return self.info.window
        return asked_window(self.profile) if self.profile else None

    @property
    def takes_images(self) -> bool | None:
        """Whether the model takes pictures; None when nobody said."""
        said = self.profile.images if self.profile else None
        return self.info.images if said is None and self.info is not None else said

    def attach(self, names: Iterable[str]) -> tuple[Image, ...]:
        """The pictures with these names, kept with the session. Blocks on the disk.

        Raises:
            AgentError: one of them cannot be sent, or the model takes none.
        """
        model = (self.profile.model if self.profile else "") or "this model"
        home = Path(self.terms.environment.get("HOME") or Path.home())
        return self._pictures.attach(names, self.root, home, "" if self.takes_images is not False else model)

    # -------------------------------------------------------------- mode

    def enter(self, mode: Mode) -> None:
        """Go on in this mode; what was allowed counts at once, tools and prompt from the next task on."""
        self.mode = mode
        self._decide_anew()
        self.begin()
        self.log.append(ev.Notice(f"mode {mode.name}: {mode.what}"))

    async def enter_auto(self) -> None:
        """Enter mode AUTO, because the person typed that they want it; raises `AgentError` where it cannot be."""
        box = await self.commands.ready()
        self.enter(auto(trusted=self.terms.trusted, no_sandbox="" if self.commands.working else box.reason))

    def _decide_anew(self) -> None:
        self.workspace.permissions = self.mode.policy(self.rules.over(self._policy))

    @property
    def in_force(self) -> tuple[Rule, ...]:
        """Every rule of commands and every row of the table, with its source and last use."""
        return listed(self._policy, self.rules, self.events)

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
            return Check(argv, self._runner(argv), TIMEOUT, self._check_asks(), where=self.commands.words())
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
        run, where = self._runner(found.argv), self.commands.words()
        return Check(found.argv, run, TIMEOUT, "always", why, proposed=True, answered=answered, where=where)

    def _check_asks(self) -> Literal["always", "unseen", "never"]:
        """Whether the check waits for the person: what nobody saw runs unasked in a working sandbox only."""
        if self.terms.allow_check:
            return "never"
        if not self.terms.trusted:
            return "always"
        if self.commands.working:
            return "never"
        return "always" if self.holds_unseen_edits else "unseen"

    def _runner(self, argv: tuple[str, ...]) -> Callable[[Emit], Awaitable[ev.CheckDone]]:
        async def go(emit: Emit) -> ev.CheckDone:
            result = await self.commands(argv, cwd=self.root, timeout=TIMEOUT, emit=emit)
            receipt = Receipt(
                self.workspace.new_id(),
                "check",
                "check",
                {"argv": list(argv)},
                exit_code=result.exit_code,
                duration=result.duration,
                sandbox=result.sandbox,
            )
            output = "\n".join([result.error or result.output, *(f"({remark})" for remark in result.remarks)])
            return ev.CheckDone(argv, result.exit_code, output, result.duration, result.sandbox, receipt)

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

    async def run(self, task: str, images: tuple[Image, ...] = ()) -> AsyncGenerator[ev.Event, None]:
        """Carry out one task, yielding its events; see `core.loop.run`.

        Raises:
            ConfigError: no model has been chosen, or a prompt file cannot be used.
        """
        if self._model is None or self.profile is None:
            raise ConfigError("no model is chosen")
        if self.check() is not None:
            await self.commands.ready()  # whether the check is asked for depends on it
        check, settings, mode = self.check(), self.terms.settings, self.mode
        known = check.argv if check and not check.proposed else None
        prompts = Prompts(self.tools, self.root, known, mode.prompt, self.terms.paths.config / "prompts")
        agent = Agent(
            Model(self._model.author, partial(self._pictures.stream, self._model, lambda: self.takes_images)),
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
        self._running = True
        try:
            async with aclosing(run(task, agent, self.history, images)) as events:
                async for event in events:
                    yield event
        finally:
            self._running = False
            if self._next is not None:
                chosen, self._next = self._next, None
                self.use(*chosen)


def asked_window(profile: Profile) -> int | None:
    """The window in tokens that a profile asks for or promises."""
    asked = profile.generation.get("num_ctx")
    return asked if isinstance(asked, int) and asked > 0 else profile.window
