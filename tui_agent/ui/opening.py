"""What is asked before a session, in its order: whether the folder is trusted, then who answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.ui.trust_card import ask_trust

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp, Ready


class Opening:
    """Leads one app from its first picture to its first session."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    async def begin(self) -> None:
        """Show the main screen, ask what must be asked, then make the session."""
        app, begin = self._app, self._app.begin
        await app.push_screen(app.main)
        app.main.composer.load(begin.typed)
        app.take_keys()
        if begin.ready is not None:
            self._ready(begin.ready)
            return
        app.beginning.look_ahead()
        if not await self.trust():
            app.exit(0)
            return
        chosen = await app.beginning.profile()
        if chosen is None and not app.loaded.broken:
            app.exit(0)
            return
        app.shelf.begin(begin.place, chosen if begin.provider or not begin.place else None, begin.model)
        await app.mending.tell()
        if app.beginning.tried:
            app.talk.note(app.beginning.tried)
        app.beginning.show()

    def _ready(self, ready: Ready) -> None:
        """All is settled: the session is made at once."""
        app = self._app
        app.shelf.begin(app.begin.place, ready.profile, None)
        app.main.composer.load(ready.task or app.main.composer.text)
        if ready.note:
            app.talk.note(app.keys.say(ready.note))
        app.talk.catch_up()
        app.main.refresh_state()

    async def trust(self) -> bool:
        """Ask about the folder, or about what changed in it, when that is due; False when the person leaves."""
        app, begin = self._app, self._app.begin
        if begin.ready is not None:
            return True
        file, outside = begin.paths.data / "trust.toml", app.main.asking.outside()
        known = await ask_trust(app, begin.root, file, begin.user_file, environment=begin.environment, outside=outside)
        if known is None:
            return False
        if known != app.trust:
            app.trust = known
            app.load()
        return True
