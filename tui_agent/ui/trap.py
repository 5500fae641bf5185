"""The context trap: a model that runs in a smaller window than it should, where older text is cut without a word.

What is wrong is found by `window.py`; here it is told once, as a card with two keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui_agent.core.profile import ModelInfo, Profile
from tui_agent.core.types import AgentError
from tui_agent.providers import unload, verify
from tui_agent.ui.failures import SMALLER
from tui_agent.ui.numbers import seconds
from tui_agent.window import Trap, compatible_trap, window_trap

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler


class Traps:
    """Tells the traps of one app, each once in a session, and does what the keys of the card say."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app
        self._quiet: set[tuple[str | None, ...]] = set()
        """Session, profile, model and interface of which no more is said."""

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {"trap.fix": lambda _: self.fix(), "trap.ignore": lambda _: self.ignore()}

    def look(self, profile: Profile) -> None:
        """Say what is wrong with an address before anything is sent to it."""
        if (trap := compatible_trap(profile)) is not None and self._heard(profile):
            self._tell(trap)

    def learned(self, info: ModelInfo, profile: Profile) -> bool:
        """Say what is wrong with the window that the server tells; True when something is."""
        trap = window_trap(info, profile)
        if trap is not None and self._whose(profile) not in self._quiet:
            self._tell(trap)
        return trap is not None

    def _whose(self, profile: Profile) -> tuple[str | None, ...]:
        return self._app.session.id, profile.name, profile.model, profile.wire

    def _heard(self, profile: Profile) -> bool:
        """Whether nothing was said of it so far; from here on nothing is."""
        known = len(self._quiet)
        self._quiet.add(self._whose(profile))
        return len(self._quiet) > known

    def _tell(self, trap: Trap) -> None:
        self._app.talk.note(trap.words, SMALLER)
        self._app.talk.trap = trap
        self._app.main.refresh_state()

    def fix(self) -> None:
        """Ask for the window in this session: by a new profile, or by loading the model anew."""
        app, trap, today = self._app, self._app.talk.trap, self._app.session.profile
        if trap is None or today is None:
            return
        app.talk.trap = None
        if trap.anew:
            app.run_worker(self._load_anew(today, trap.window), name="load anew", exclusive=True, group="load anew")
        else:
            app.switching.window(str(trap.window))

    async def _load_anew(self, today: Profile, window: int) -> None:
        app, begin = self._app, self._app.begin
        app.notify(f"{today.model} is loaded anew.", markup=False)
        try:
            await unload(today, env=begin.environment, network=begin.network)
            tried = await verify(today, env=begin.environment, network=begin.network)
        except AgentError as error:
            app.talk.note(str(error), f"{today.model} was not loaded anew")
            return
        await app.switching.learn(today)
        if app.session.profile == today and app.session.window == window:
            app.talk.note(f"{today.model} is loaded with {window:,} tokens, {seconds(tried.seconds)}.")

    def ignore(self) -> None:
        """Say no more of it in this session."""
        app, today = self._app, self._app.session.profile
        if app.talk.trap is not None and today is not None:
            app.talk.trap = None
            self._quiet.add(self._whose(today))
            app.notify("No more of that in this session.", markup=False)
            app.main.refresh_state()
