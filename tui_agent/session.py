"""One conversation: its log, its model and its workspace, and how they make a run.

The composition root of the agent, used by the screen and by one shot alike. It owns nothing that is not
in the log: what is shown, sent, counted or resumed is a function of `events`.
"""

from __future__ import annotations

import asyncio
import secrets
import shlex
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tui_agent import __version__, hearing
from tui_agent.core import events as ev
from tui_agent.core import fold, unfinished
from tui_agent.core.batch import answer_to, question_of
from tui_agent.core.check import Check
from tui_agent.core.endings import BY_YOU, CUT_OFF, StopReason
from tui_agent.core.fitting import compact
from tui_agent.core.log import FileLog
from tui_agent.core.loop import Agent, run
from tui_agent.core.policy import Policy
from tui_agent.core.profile import ANSWER_LENGTHS, ModelInfo, Profile
from tui_agent.core.record import Record
from tui_agent.core.room import Room
from tui_agent.core.sent import sent
from tui_agent.core.types import (
    AgentError,
    ApprovalRequest,
    Ask,
    ConfigError,
    History,
    Image,
    Model,
    PolicyRequest,
    RunArgv,
    ToolCall,
    Tools,
    ToolSpec,
    Usage,
)
from tui_agent.elsewhere import Beyond
from tui_agent.gate import check_of
from tui_agent.guidance import Standing
from tui_agent.intents import SHORT
from tui_agent.jobs import Jobs
from tui_agent.modes import MODES, DryRun, Mode, auto, first
from tui_agent.paths import home_of
from tui_agent.permissions import Rule, Rules, RuleStore, listed
from tui_agent.prompt import Prompts
from tui_agent.protocols.dialect import Speech
from tui_agent.protocols.native import StepDown
from tui_agent.providers import connect
from tui_agent.providers.web import ENGINES
from tui_agent.sessions import Place, new_id
from tui_agent.terms import Terms, accepted_check, environment_of, reach_of, unsandboxed_pattern
from tui_agent.tools.lookups import READ_SKILL
from tui_agent.undo import cut_short
from tui_agent.words import Words
from tui_agent.workspace import Workspace, git
from tui_agent.workspace.confined import Confined
from tui_agent.workspace.images import Pictures
from tui_agent.workspace.receipts import Blobs
from tui_agent.workspace.running import NOT_SANDBOXED

__all__ = ["Session", "Terms", "accepted_check"]


def _outside(argv: tuple[str, ...], timeout: float, sign: str, always: str) -> ApprovalRequest:
    """The question whether a command that failed in the sandbox may run once without it; `always` says how for ever."""
    number = f"unsandboxed-{secrets.token_hex(4)}"
    return ApprovalRequest(
        number,
        ToolCall(number, "run_unsandboxed", {"argv": list(argv)}),
        RunArgv(argv, timeout),
        PolicyRequest("run_command", "run", argv, floors=(f"it failed in the sandbox: {sign}",)),
        f"run again without the sandbox  {shlex.join(argv)}",
        caution="it would run once more, without the sandbox" + (f"; always here: {always}" if always else ""),
        where=NOT_SANDBOXED,
    )


@dataclass(slots=True)
class _Asker:
    """Asks the person whether a command that failed in the sandbox may run once without it; not about the `allowed` check.

    `stopped`: to one of these questions the person said no and stop.
    """

    ask: Ask
    record: Callable[[ev.Durable], None]
    how_to_free: Callable[[tuple[str, ...]], str]
    allowed: Callable[[], Check | None]
    stopped: bool = False

    async def __call__(self, argv: tuple[str, ...], timeout: float, sign: str) -> bool:
        if (check := self.allowed()) is not None and argv == check.argv:
            return True
        request = _outside(argv, timeout, sign, self.how_to_free(argv))
        self.record(question_of(request))
        (decision,) = await self.ask((request,))
        self.record(answer_to(decision))
        self.stopped = self.stopped or decision.answer == "stop"
        return decision.answer == "yes" and decision.by == "key"


class Session:
    """A conversation in one folder. Not safe for two tasks at once: one run at a time."""

    def __init__(self, terms: Terms, ask: Ask, place: Place | None = None) -> None:
        """Start a new session in the real path of the folder, `root`, or go on with the one of `place`."""
        self.terms = terms
        self.place = place or Place(terms.paths.sessions / new_id(time.time()))
        self.place.log.hide(terms.hidden)
        self.id, self.folder, self.log = self.place.id, self.place.folder, self.place.log
        self.profile: Profile | None = None
        self.info: ModelInfo | None = None
        """What the server said of the model, if it was asked."""
        self._pictures = Pictures(Blobs(self.place.blobs))
        self._running, self.stopped = False, BY_YOU  # what interrupts a run, in words
        self._next: tuple[Model, Profile, Model | None] | None = None
        self.ask = ask
        self.meanwhile: Callable[[], Sequence[ev.Durable]] = tuple
        """What the person said to the running task, each text once."""
        self._model: Model | None = None
        self.quick: Model | None = None
        self._policy = replace(
            terms.settings.policy,
            interactive=terms.interactive,
            trusted=terms.trusted,
            cli_yes=terms.yes,
            unsandboxed=unsandboxed_pattern(terms),
        )
        self.mode = MODES.get(fold.mode(self.events) or "", first(self._policy))
        self.root = terms.root.resolve()
        self.standing = Standing(self.root, terms.paths, terms.words, watched=terms.trusted)
        self.rules = Rules(
            self.root, RuleStore(terms.paths.data / "rules.toml"), self._decide_anew, lambda: accepted_check(terms)
        )
        self.beyond = Beyond(self.standing.guidance, reach_of(terms), intents=terms.settings.web.intents)
        chosen = fold.search(self.events)  # what the person turned on in it is on when it goes on
        if (engine := terms.settings.web.search.replace("off", "") if chosen is None else chosen) in ENGINES:
            self.beyond.engine, self.beyond.searching = engine, True
        self._asker = _Asker(
            ask, self.log.append, self.rules.how_to_free, lambda: self.check() if terms.allow_check else None
        )
        self.commands = _commands(self.root, terms, self._asker, self.rules)
        self.jobs = Jobs(self.commands, self.log.append, lambda: self._running)
        self.workspace = _workspace(self, self.rules.over(self._policy))
        self.made_up = tuple(_make_up(self.log, self.workspace))
        """What became of the effects during which the process died, in the log since now."""
        self.workspace.recall(self.events)
        if fold.cut_off(self.events):
            self.log.append(ev.RunEnded(StopReason.STOPPED, CUT_OFF))
        self._policy = replace(self._policy, unseen_edits=self.holds_unseen_edits)  # of one that goes on
        self._decide_anew()

    @property
    def events(self) -> list[ev.Durable | ev.Unknown]:
        """Everything durable that happened, in order."""
        return self.log.events

    @property
    def history(self) -> History:
        """The conversation as the next request sends it."""
        return sent(self.events)

    @property
    def holds_unseen_edits(self) -> bool:
        """Whether the folder holds bytes of this session that no person saw."""
        receipts = (event.receipt for event in self.events if isinstance(event, ev.ToolDone))
        return any(receipt is not None and receipt.unseen for receipt in receipts)

    # -------------------------------------------------------------- model

    def choose(self, profile: Profile, model: str | None = None, *, key_later: bool = False) -> None:
        """Answer with this profile from the next run on; `model` overrides the profile's own. A running one is not disturbed.

        Raises:
            ConfigError: the profile lacks its endpoint, model or key (unless `key_later`); the choice is then as it was.
        """
        chosen = profile.answering(model) if model else profile
        link = partial(connect, env=self.terms.environment, network=self.terms.network, key_later=key_later)
        short = {**chosen.generation, **SHORT.get(chosen.wire, {})}
        self.use(link(chosen), chosen, link(replace(chosen, generation=short, effort=None)))

    def use(self, model: Model, profile: Profile, quick: Model | None = None) -> None:
        """Answer with a ready model from the next run on; `quick` is it for an answer of one word."""
        if self._running:
            self._next = (model, profile, quick)
            return
        self._model, self.profile, self.info, self.quick = model, profile, None, quick or model
        self.standing.anew()
        self.begin()
        self._chosen(profile, profile.model or model.author.model)

    def _chosen(self, profile: Profile, model: str) -> None:
        protocol = "native" if profile.protocol == "auto" else profile.protocol
        chosen = ev.ModelChosen(profile.name, model, profile.local, protocol, profile.protocol != "auto")
        if chosen != fold.model(self.events):  # who goes on after a pause is no other one
            self.log.append(chosen)

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
        home = home_of(self.terms.environment)
        return self._pictures.attach(names, self.root, home, "" if self.takes_images is not False else model)

    # -------------------------------------------------------------- mode

    def enter(self, mode: Mode) -> None:
        """Go on in this mode; what was allowed counts at once, tools and prompt from the next task on."""
        self.mode = mode
        self._decide_anew()
        self.begin()
        self.log.append(ev.ModeChosen(mode.name, mode.what))

    async def enter_auto(self, *, anyway: bool = False) -> None:
        """Enter mode AUTO, because the person typed that they want it; raises `AgentError` where it cannot be.

        `anyway`: also outside of a git repository.
        """
        box = await self.commands.ready()
        no_sandbox = "" if self.commands.working else box.reason
        undoable = anyway or git.repository(self.root)
        self.enter(auto(trusted=self.terms.trusted, no_sandbox=no_sandbox, undoable=undoable))

    def _decide_anew(self) -> None:
        self.workspace.permissions = self.mode.policy(self.rules.over(self._policy))

    @property
    def in_force(self) -> tuple[Rule, ...]:
        """Every rule of commands and every row of the table, with its source and last use."""
        return listed(self._policy, self.rules, self.events, self.mode.policy(self._policy))

    def approve_plan(self) -> str:
        """Leave mode `plan` because the person approves what was planned; gives the message that says so.

        Raises:
            AgentError: there is no plan to approve.
        """
        if self.mode.name != "plan" or not fold.planned(self.events):
            raise AgentError("there is no plan to approve: enter /mode plan, state the task, and read the plan first")
        self.enter(MODES["ask"])
        return "The plan is approved. Carry it out, step by step."

    def put_in_force(self, skill: Words) -> bool:
        """A skill guides the work from here on: it goes to the model whole, and no summary takes its place.

        False: it does so already.
        """
        if hearing.guides(skill, self.events):
            return False
        self.begin()
        for event in hearing.put_in_force(skill, len(self.events)):
            self.log.append(event)
        return True

    # -------------------------------------------------------------- check

    def check(self) -> Check | None:
        """The check for this folder, ready to run: configured, accepted before, or found here and not asked yet."""
        return check_of(
            self.terms,
            self.workspace,
            self.commands,
            lambda: self.holds_unseen_edits,
            lambda text: self.log.append(ev.Notice(text)),
        )

    # -------------------------------------------------------------- runs

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools offered to the model."""
        return self.mode.tools(self.workspace).specs

    def _hands(self) -> Tools:
        """The workspace as this session may use it now."""
        tools = self.mode.tools(self.workspace)
        return DryRun(tools, self.terms.dry_run) if self.terms.dry_run else tools

    def room(self) -> Room:
        """How much the model takes, as far as is known by now."""
        asked = [self.profile.generation.get(name) for name in ANSWER_LENGTHS] if self.profile else []
        reserve = max((n for n in asked if isinstance(n, int)), default=0)
        return Room(self.window, reserve, self.terms.settings.compact)

    def agent(self) -> Agent:
        """What the next run is injected with.

        Raises:
            ConfigError: no model has been chosen, or a prompt file cannot be used.
        """
        if self._model is None or self.profile is None:
            raise ConfigError("no model is chosen; /provider chooses one")
        check, settings, mode = self.check(), self.terms.settings, self.mode
        known = check.argv if check and not check.proposed else None
        tools, own = self.tools, self.terms.paths.config / "prompts"
        end = partial(self.standing.system, self.window)
        reads = any(tool.name == READ_SKILL for tool in tools)
        withheld = frozenset[str]() if self._policy.table["shell"] == "allow" else SHELL
        prompts = Prompts(tools, self.root, known, mode.prompt, own, end(skills=reads), end(skills=False), withheld)
        return Agent(
            Model(self._model.author, partial(self._pictures.stream, self._model, lambda: self.takes_images)),
            self._hands(),
            self.ask,
            mode.limits(settings.limits),
            self.log,
            prompts.native(),
            check,
            self.price,
            settings.on_reject,
            settings.on_deny,
            content=self.workspace.content,
            halted=lambda: self._asker.stopped,
            dialect=Speech(
                prompts.json(),
                prompts.verbs(),
                StepDown(fold.protocol(self.events)),
                auto=self.profile.protocol == "auto",
                withheld=withheld,
            ),
            room=self.room,
            memory=True,
            hidden=self.terms.hidden,
            stopped=lambda: self.stopped,
            between=lambda: hearing.between(self.standing.guidance, self.events, self.root, self.meanwhile()),
        )

    async def run(self, task: str, images: tuple[Image, ...] = ()) -> AsyncGenerator[ev.Event, None]:
        """Carry out one task, yielding its events; see `core.loop.run`.

        Raises:
            ConfigError: no model has been chosen, or a prompt file cannot be used.
        """
        if self.check() is not None:
            await self.commands.ready()  # whether the check is asked for depends on it
        known = len(self.events)
        self._decide_anew()  # another window may have taken a rule of this folder back
        if not self.mode.reads_only:
            await self.terms.servers.ready()
        told = await asyncio.to_thread(self.standing.remarks, self.window)
        for remark in (*told, *self.terms.servers.remarks()):
            self.log.append(ev.Notice(remark))
        for skill in hearing.named(self.standing.guidance, self.events, task):
            self.put_in_force(skill)
        for event in self.events[known:]:
            if not isinstance(event, ev.Unknown):
                yield event
        async with aclosing(self.alone(run(task, self.agent(), images))) as events:
            async for happened in events:
                yield happened

    async def compact(self, focus: str = "") -> AsyncGenerator[ev.Event, None]:
        """Put a summary in the place of what is old, above all of what concerns `focus`; see `core.fitting.compact`.

        Raises:
            ConfigError: no model has been chosen, or a prompt file cannot be used.
        """
        agent = self.agent()
        async with aclosing(self.alone(compact(agent, Record(self.log), agent.dialect, focus=focus))) as events:
            async for event in events:
                yield event

    async def alone(self, work: AsyncGenerator[ev.Event, None]) -> AsyncGenerator[ev.Event, None]:
        """Events of work that asks the model; who is to answer changes after it only."""
        self._running, self._asker.stopped = True, False
        try:
            async with aclosing(work) as events:
                async for event in events:
                    yield event
        finally:
            self._running = False
            self.jobs.record()
            if self._next is not None:
                chosen, self._next = self._next, None
                self.use(*chosen)


def _make_up(log: FileLog, workspace: Workspace) -> Iterator[ev.Durable]:
    """Find out and record what became of the effects during which the process died."""
    known = unfinished.known(log.events)
    ends = [(begun, workspace.aftermath(begun, known)) for begun in unfinished.left(log.events)]
    back = tuple(
        found.receipt for begun, found in ends if begun.receipt.tool == "undo" and found.sure and found.receipt
    )
    undone = cut_short(log.events, back) if back else None
    for begun, found in ends:
        if undone is None or found.receipt not in back:
            for event in unfinished.ends(begun, found, log.events):
                log.append(event)
                yield event
    if undone is not None:
        log.append(undone)
        yield undone


def _commands(root: Path, terms: Terms, offer: _Asker, rules: Rules) -> Confined:
    return Confined(
        root,
        lambda: environment_of(terms),
        hidden=(terms.paths.config, terms.paths.data, terms.paths.state),
        choice=terms.settings.sandbox,
        offer=offer,
        free=rules.free,
    )


def _workspace(session: Session, policy: Policy) -> Workspace:
    terms = session.terms
    try:
        return Workspace(
            session.root,
            session.ask,
            policy,
            blobs=session.place.blobs,
            temporary=terms.paths.data / "writing",
            run=session.commands.plain,
            commands=session.commands,
            own=filter(None, (*terms.paths.all, terms.user_file)),
            command_timeout=terms.settings.limits.command_timeout,
            elsewhere=session.beyond,
            servers=terms.servers,
            hide=terms.hidden.hide,
            journal=session.log.append,
        )
    except OSError as error:
        raise AgentError(f"the folder {session.root} cannot be used: {error.strerror}") from error


SHELL = frozenset({"run_shell"})
"""Offered in the text protocols only to a person who allows shell: what writes text writes scripts too readily."""


def asked_window(profile: Profile) -> int | None:
    """The window in tokens that a profile asks for or promises."""
    asked = profile.generation.get("num_ctx")
    return asked if isinstance(asked, int) and asked > 0 else profile.window
