"""One conversation: its log, its model and its workspace, and how they make a run.

The composition root of the agent, used by the screen and by one shot alike. It owns nothing that is not
in the log: what is shown, sent, counted or resumed is a function of `events`.
"""

from __future__ import annotations

import base64
import os
import secrets
import shlex
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Literal

from tui_agent import __version__
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.check import Check
from tui_agent.core.log import FileLog
from tui_agent.core.loop import Agent, run
from tui_agent.core.policy import pattern_fault
from tui_agent.core.profile import ModelInfo, Profile
from tui_agent.core.types import (
    AgentError,
    Ask,
    ConfigError,
    Delta,
    Emit,
    History,
    Image,
    Message,
    Model,
    Request,
    StopReason,
    ToolSpec,
    Usage,
    UserMessage,
)
from tui_agent.paths import Paths
from tui_agent.prompt import system_prompt
from tui_agent.providers import connect
from tui_agent.providers.network import Network
from tui_agent.workspace import Workspace
from tui_agent.workspace.images import read as read_images
from tui_agent.workspace.receipts import Blobs
from tui_agent.workspace.runner import CommandResult, child_environment
from tui_agent.workspace.runner import run as run_command


def new_id(now: float) -> str:
    """A name for a session that sorts by time and cannot clash."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}-{secrets.token_hex(3)}"


@dataclass(frozen=True, slots=True)
class Terms:
    """What a session starts from. `trusted`: the person's answer for this folder.

    `yes`: edits inside the workspace need no question (`--yes`). `allow_check`: the check may run
    although nobody saw the edits or the folder is not trusted (`--allow check`).
    """

    root: Path
    settings: Settings
    paths: Paths
    trusted: bool = False
    interactive: bool = True
    yes: bool = False
    allow_check: bool = False
    network: Network = field(default_factory=Network)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def _pattern(terms: Terms) -> tuple[str, ...]:
    """The check as a pattern that may run code nobody saw, when `--allow check` was given.

    One that is no pattern (a program by its path) is not for the model to run: it still runs by itself after edits.
    """
    argv = terms.settings.check_for(terms.root) if terms.allow_check else None
    return (pattern,) if argv and not pattern_fault(pattern := shlex.join(argv)) else ()


class Session:
    """A conversation in one folder. Not safe for two tasks at once: one run at a time."""

    def __init__(self, terms: Terms, ask: Ask) -> None:
        """Start a new session in the real path of the folder, `root`; its own folder is made at the first event."""
        self.terms = terms
        self.id = new_id(time.time())
        self.folder = terms.paths.sessions / self.id
        self.log = FileLog(self.folder / "log.jsonl")
        self.profile: Profile | None = None
        self.info: ModelInfo | None = None
        """What the server said of the model, if it was asked."""
        self._pictures = Blobs(self.folder / "blobs")
        self._running = False
        self._next: tuple[Model, Profile] | None = None
        self._ask = ask
        self._model: Model | None = None
        policy = replace(
            terms.settings.policy,
            interactive=terms.interactive,
            trusted=terms.trusted,
            cli_yes=terms.yes,
            unsandboxed=_pattern(terms),
        )
        self.root = terms.root.resolve()
        self.workspace = Workspace(
            self.root,
            ask,
            policy,
            blobs=self.folder / "blobs",
            temporary=terms.paths.data / "writing",
            run=self._run,
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
        """Whether an edit was allowed by a flag or a rule, so that no person saw it."""
        receipts = (event.receipt for event in self.events if isinstance(event, ev.ToolDone))
        return any(receipt is not None and receipt.path is not None and receipt.by != "key" for receipt in receipts)

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
        self._start()
        self.log.append(ev.ModelChosen(profile.name, profile.model or model.author.model, profile.local))

    def _start(self) -> None:
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
        found = read_images(names, self.root, Path(self.terms.environment.get("HOME") or Path.home()))
        if found and self.takes_images is False:
            model = (self.profile.model if self.profile else "") or "this model"
            raise AgentError(f"{model} takes no pictures: choose another with /model, or leave out {found[0][0].name}")
        for image, data in found:
            if fault := self._pictures.put(data):
                raise AgentError(f"the picture {image.name} cannot be kept: {fault}")
        return tuple(image for image, _ in found)

    def _stream(self, model: Model, request: Request) -> AsyncIterator[Delta]:
        """Stream a reply; the history names pictures by their hash, and only here their bytes are put in."""
        if any(isinstance(message, UserMessage) and message.images for message in request.messages):
            request = replace(request, messages=tuple(map(self._with_bytes, request.messages)))
        return model.stream(request)

    def _with_bytes(self, message: Message) -> Message:
        if not isinstance(message, UserMessage) or not message.images:
            return message
        sent, left = [], []
        for image in message.images:
            data = None if self.takes_images is False else self._pictures.get(image.sha)
            if data is None:
                left.append(f"[the picture {image.name} is left out]")
            else:
                sent.append(replace(image, data=base64.b64encode(data).decode()))
        return UserMessage("\n".join([message.text, *left]), tuple(sent))

    # -------------------------------------------------------------- runs

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools offered to the model."""
        return self.workspace.specs

    def check(self) -> Check | None:
        """The person's check for this folder, ready to run."""
        argv = self.terms.settings.check_for(self.root)
        if argv is None:
            return None

        async def go(emit: Emit) -> ev.CheckDone:
            result = await self._run(argv, cwd=self.root, timeout=600.0, emit=emit)
            output = result.error or result.output
            return ev.CheckDone(argv, result.exit_code, output, result.duration)

        asks: Literal["always", "unseen", "never"] = "unseen"
        if self.terms.allow_check:
            asks = "never"
        elif not self.terms.trusted or self.holds_unseen_edits:
            asks = "always"
        return Check(argv, go, asks=asks)

    async def run(self, task: str, images: tuple[Image, ...] = ()) -> AsyncGenerator[ev.Event, None]:
        """Carry out one task, yielding its events; see `core.loop.run`.

        Raises:
            ConfigError: no model has been chosen.
        """
        if self._model is None:
            raise ConfigError("no model is chosen")
        check = self.check()
        settings = self.terms.settings
        agent = Agent(
            Model(self._model.author, partial(self._stream, self._model)),
            self.workspace,
            self._ask,
            settings.limits,
            self.log,
            system_prompt(self.tools, self.root, check.argv if check else None),
            check,
            self.price,
            settings.on_reject,
            settings.on_deny,
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
