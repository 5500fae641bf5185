"""What the product tells about itself in the transcript: tokens, hosts, configuration; and what it writes to be looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.paths import append_private, tilde
from tui_agent.ui.numbers import config_report, privacy_report, tokens_report

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp


class Reports:
    """The actions of the app that only tell, and reading the configuration anew. They do nothing before the start is over."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    def tokens(self, _: str) -> None:
        """Tokens and cost of the session."""
        app = self._app
        if app.main.conversation is not None:
            app.talk.note(tokens_report(app.session.events, app.loaded.settings.profiles))

    def privacy(self, _: str) -> None:
        """Every host that was contacted."""
        network = self._app.begin.network
        if self._app.main.conversation is not None:
            self._app.talk.note(privacy_report(network.contacted, offline=network.offline))

    def config(self, _: str) -> None:
        """Which files count, the profiles, and the one in use."""
        app = self._app
        if app.main.conversation is None:
            return
        files = {tilde(app.begin.user_file, app.begin.environment): app.begin.user_file.is_file()}
        files[".tui_agent/config.toml of this folder"] = "config" in app.trust.entries
        profile = app.session.profile
        app.talk.note(config_report(files, sorted(app.loaded.settings.profiles), profile.name if profile else ""))

    def reload(self, _: str) -> None:
        """Read the configuration again; profiles count from the next message on, everything else from the next start."""
        app = self._app
        if app.main.conversation is None or app.begin.ready is not None:
            app.notify("There is no configuration here to read again.", markup=False)
            return
        loaded = app.trust.settings(app.begin.user_file)
        for fault in loaded.faults:
            app.talk.note(str(fault))
        if loaded.broken:
            app.talk.note("The configuration is as it was until that is mended.", "Not read again")
            return
        today = app.session.profile
        old = app.loaded.settings.profiles.get(today.name) if today else None
        app.loaded = loaded
        if today is not None and (new := loaded.settings.profiles.get(today.name)) is not None and new != old:
            override = today.model if old is not None and today.model != old.model else None
            app.switching.answer_with(new, override)
        self.config("")

    def debug(self, _: str) -> None:
        """Write requests, without what was said, and how replies ended, or stop that."""
        app = self._app
        file = app.begin.paths.state / "debug.log"
        network = app.begin.network
        network.trace = None if network.trace else lambda line: append_private(file, line)
        where = tilde(file, app.begin.environment)
        app.notify(f"Requests are written to {where}." if network.trace else "Requests are not written.", markup=False)
