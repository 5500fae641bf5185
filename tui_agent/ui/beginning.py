"""What answers at the start: who was named or configured, what runs on this machine, or what the person chooses.

Where a server on this machine answers there is no menu: it is offered in a line above the message, and used in this
session only until the first message, or Enter, agrees. Only then it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events
from textual.worker import Worker

from tui_agent.config import profile, with_profile
from tui_agent.core.profile import Profile
from tui_agent.core.types import AgentError
from tui_agent.demo import PROFILE
from tui_agent.providers import verify
from tui_agent.ui.choices import DEMO, Chosen, written
from tui_agent.ui.examples import names_in, said
from tui_agent.ui.first_run import FirstRun, World
from tui_agent.ui.found import LOOK_SECONDS, Found, Servers, usable
from tui_agent.ui.numbers import works
from tui_agent.ui.offer import Offer
from tui_agent.ui.render import foldable

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp

UNFOLDS = "{view.details} opens what is folded here, and folds it again."


class Beginning:
    """The way of one app to the first profile. `tried`: how what was chosen was tried, for the transcript."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app
        self.tried = ""
        self._first_start = False
        self._found: Sequence[Found] = ()
        self._look: Worker[Sequence[Found]] | None = None
        self._offered: Found | None = None
        self._offer: Offer | None = None
        self._unfolds = False
        """The first action that holds more than is shown is still to come: the key that shows it is told there."""

    async def profile(self) -> Profile | None:
        """The profile to start with: of the command line, of the configuration, or of the first start.

        None when the configuration is broken, or when the person leaves the first start, for the demo or for good.
        """
        app = self._app
        settings, wanted = app.loaded.settings, app.begin.provider
        if wanted == DEMO:
            return PROFILE
        if app.loaded.broken:
            return None
        if (asked := settings.profiles.get(wanted or "")) is not None:
            return asked
        active = settings.active()
        return await self._first() if active is None else active

    def look_ahead(self) -> None:
        """Look for servers on this machine while the question of trust is read, if that will be wanted."""
        loaded, begin = self._app.loaded, self._app.begin
        if loaded.settings.active() is None and begin.provider != DEMO and not loaded.broken:
            looking = begin.look(begin.environment, begin.network, LOOK_SECONDS)
            self._look = self._app.run_worker(looking, name="look")

    async def _first(self) -> Profile | None:
        self._first_start = True
        if self._look is None:
            self.look_ahead()
        self._found = await self._look.wait() if self._look is not None else ()
        if (there := usable(self._found)) is None:
            world = replace(self._world(), found=self._found)
            chosen = await self._app.push_screen_wait(FirstRun(world, self._app.keys))
            if chosen is None or chosen.name == DEMO:
                self._app.wants_demo = chosen is not None
                return None
            if chosen.offered is None:
                return self._settled(chosen)
            there, self._found = chosen.offered, chosen.found
        self._offered = there
        offered = profile(there.preset, there.ready_table(there.best.id if there.best else ""))
        self._app.loaded = with_profile(self._app.loaded, offered)
        return offered

    def _world(self) -> World:
        begin = self._app.begin
        servers = Servers(begin.environment, begin.network)
        return World(begin.root, begin.user_file, begin.environment, servers, begin.look, self._edited)

    async def _edited(self) -> Chosen | None:
        """Let the person write the configuration themselves; None while there is nothing in it to begin with."""
        app = self._app
        if not await app.mending.open():
            return None
        app.load()
        active = app.loaded.settings.active()
        return Chosen(active.name if active else "") if active or app.loaded.broken else None

    def _settled(self, chosen: Chosen) -> Profile | None:
        app = self._app
        self.tried = chosen.word
        app.load()
        if chosen.unwritten is not None:
            app.loaded = with_profile(app.loaded, profile(chosen.name, chosen.unwritten))
        return app.loaded.settings.profiles.get(chosen.name)

    # -------------------------------------------------------------- what is offered

    def show(self) -> None:
        """Say what may be asked, at a first start, and offer what was found; who is writing already goes on doing so."""
        if self._first_start and self._app.loaded.settings.ui.hints:
            self._unfolds = self._app.loaded.settings.ui.tool_detail != "full"
            self._app.talk.hint(said(names_in(self._app.begin.root)))
            self._app.main.asking.first = True
        if self._offered is None:
            return
        main = self._app.main
        self._offer = Offer(main.composer, self._use, self._others)
        main.mount(self._offer, before=main.desk)
        if not main.composer.text:
            self._offer.focus()
        self.look()

    def look(self) -> None:
        """Something of the conversation changed: a message was sent, or somebody else is to answer."""
        if self._unfolds and any(map(foldable, self._app.main.transcript.story.blocks)):
            self._unfolds = False
            self._app.call_later(self._app.talk.hint, self._app.keys.say(UNFOLDS))
        if self._offer is None or self._offered is None:
            return
        today = self._app.session.profile
        if today is None or today.name != self._offered.preset:
            self._leave()
        elif self._app.talk.said:
            self._agreed(self._offered, today)
        else:
            self._offer.say(self._offered, today.model or "", self._app.keys)

    def _use(self) -> None:
        """Agree before there is a message, and see meanwhile whether it works, with the context that it should have."""
        today = self._app.session.profile
        if self._offered is not None and today is not None:
            self._agreed(self._offered, today)
            self._app.run_worker(self._try(today), name="try")

    def _agreed(self, found: Found, today: Profile) -> None:
        self._leave()
        chosen = written(self._app.begin.user_file, today.name, found.ready_table(today.model or ""))
        if chosen.unwritten is not None:
            self._app.talk.note(chosen.word)
            return
        self._app.load()
        if chosen.name != today.name:
            self._app.switching.answer_with(self._app.loaded.settings.profiles[chosen.name])

    async def _try(self, today: Profile) -> None:
        app, who = self._app, f"{today.name}/{today.model}"
        try:
            tried = await verify(today, env=app.begin.environment, network=app.begin.network)
        except AgentError as error:
            app.talk.note(str(error), f"{who} was tried")
        else:
            app.talk.note(works(who, tried))
            await app.switching.learn(today)

    def _leave(self) -> None:
        if self._offer is not None:
            focused = self._offer.has_focus
            self._offer.remove()
            self._offer = None
            if focused:
                self._app.main.composer.focus()

    def _others(self, letter: str) -> Callable[[events.Key], None]:
        """The other models, and from there everything else that there is; `letter` led there, and may begin a word.

        Gives what takes the keys behind it that come too early for that screen.
        """
        app, composer, begun = self._app, self._app.main.composer, [letter]

        def feed(event: events.Key) -> None:
            composer.focus()
            while begun:
                composer.type(begun.pop())
            composer.feed_key(event)

        screen = FirstRun(replace(self._world(), found=self._found, offered=self._offered, feed=feed), app.keys)
        app.push_screen(screen, self._chose)
        return screen.begin

    def _chose(self, chosen: Chosen | None) -> None:
        app = self._app
        if chosen is None:
            if self._offer is not None:
                self._offer.anew()
            return
        self._leave()
        if chosen.name == DEMO:
            app.wants_demo = True
            app.exit(0)
        elif (settled := self._settled(chosen)) is not None:
            app.switching.answer_with(settled)
            if self.tried:
                app.talk.note(self.tried)
        else:
            app.run_worker(app.mending.tell(), name="mending")
