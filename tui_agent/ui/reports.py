"""What the product tells about itself in the transcript: tokens, hosts, configuration; and what it writes to be looked at."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.disk import is_file
from tui_agent.doctor import findings, look, report
from tui_agent.mcp.servers import Server
from tui_agent.paths import append_private, tilde
from tui_agent.session import Session
from tui_agent.spending import midnight, spent
from tui_agent.ui.calling import search_words
from tui_agent.ui.failures import details
from tui_agent.ui.mending import errors, in_words
from tui_agent.ui.numbers import config_report, gauge, privacy_report, today_report, tokens_report

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler


def status_report(session: Session, context: str, servers: Sequence[Server]) -> str:
    """How a session stands, one fact a line; `context` is how full it is."""
    env, profile, check = session.terms.environment, session.profile, session.check()
    names = [event.name for event in session.events if isinstance(event, ev.Named)]
    who = "/".join(filter(None, (profile.name, profile.model))) if profile else "nobody yet: /provider chooses"
    ready = sum(server.state == "ready" for server in servers)
    rows = {
        "session": f"{session.id}{f', {names[-1]}' if names else ''}",
        "kept in": tilde(session.folder, env),
        "folder": f"{tilde(session.root, env)}, {'trusted' if session.terms.trusted else 'not trusted'}",
        "model": f"{who}, protocol {fold.protocol(session.events)}",
        "context": context or "nothing was sent yet",
        "mode": f"{session.mode.name}: {session.mode.what}",
        "check": f"{shlex.join(check.argv)}{' (found, not asked yet)' if check.proposed else ''}" if check else "none",
        "web": search_words(session),
        "servers": f"{ready} of {len(servers)} MCP servers ready" if servers else "no MCP server",
    }
    return "\n".join(f"{name:<9}{text}" for name, text in rows.items())


class Reports:
    """The actions of the app that only tell, and reading the configuration anew. They do nothing before the start is over."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {
            "session.status": self.status,
            "session.tokens": self.tokens,
            "session.privacy": self.privacy,
            "session.debug": self.debug,
            "config.show": self.config,
            "failure.details": self.failure,
            "app.doctor": self.doctor,
        }

    def status(self, _: str) -> None:
        """How the session stands."""
        app = self._app
        if app.main.conversation is not None:
            meter = app.talk.meter
            context = gauge(meter.tokens, app.session.window, estimated=meter.estimated)
            app.talk.note(status_report(app.session, context, app.servers.servers.all))

    def tokens(self, _: str) -> None:
        """Tokens and cost of the session, and what all of today have cost."""
        app = self._app

        async def tell() -> None:
            today = await asyncio.to_thread(spent, app.begin.paths.sessions, midnight())
            session = tokens_report(app.session.events, app.loaded.settings.profiles)
            app.talk.note(f"{session}\n{today_report(today)}")

        if app.main.conversation is not None:
            app.run_worker(tell(), name="tokens", exclusive=True, group="tokens")

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
        files = {tilde(app.begin.user_file, app.begin.environment): is_file(app.begin.user_file)}
        files[".tui_agent/config.toml of this folder"] = "config" in app.trust.entries
        profile = app.session.profile
        app.talk.note(config_report(files, sorted(app.loaded.settings.profiles), profile.name if profile else ""))

    def failure(self, _: str) -> None:
        """All that is known of the newest failure."""
        app = self._app
        if app.main.conversation is None or app.talk.failure is None:
            app.notify("The newest message did not fail.", markup=False)
        else:
            app.talk.note(details(app.talk.failure, app.session.profile))

    def reload(self, _: str) -> None:
        """Read the configuration again; looks, keys and MCP servers count at once, profiles from the next message.

        The rest counts from the next session on.
        """
        app = self._app
        if app.main.conversation is None or app.begin.ready is not None:
            app.notify("There is no configuration here to read again.", markup=False)
            return
        loaded, keys = app.in_force(app.trust.settings(app.begin.user_file))
        for fault in loaded.faults:
            if fault.severity != "error":
                app.talk.note(in_words(fault, app.begin.environment))
        if loaded.broken:
            said = (
                *errors(loaded.faults, app.begin.environment),
                "The configuration is as it was until that is mended.",
            )
            app.talk.note("\n".join(said), "Not read again")
            app.loaded = loaded if app.loaded.broken else app.loaded
            return
        today = app.session.profile
        old = app.loaded.settings.profiles.get(today.name) if today else None
        app.loaded, app.keys = loaded, keys
        app.appearance.follow()
        if app.appearance.unknown:
            app.talk.note(app.appearance.unknown)
        app.take_keys()
        app.servers.renew()
        if today is None and (chosen := loaded.settings.active()) is not None:
            app.switching.answer_with(chosen)  # the one that was not to be had before
        if today is not None and (new := loaded.settings.profiles.get(today.name)) is not None and new != old:
            override = today.model if old is not None and today.model != old.model else None
            app.switching.answer_with(new, override)
        self.config("")

    def doctor(self, _: str) -> None:
        """What may stand in the way here; the terminal itself is asked by `tui-agent doctor` only."""
        app = self._app

        async def tell() -> None:
            begin = app.begin
            facts = await look(
                begin.root,
                begin.user_file,
                begin.paths,
                app.loaded,
                begin.environment,
                size=(app.size.width, app.size.height),
                network=begin.network,
                trusted=app.trust.trusted,
            )
            app.talk.note(report(findings(facts), facts))

        if app.main.conversation is not None:
            app.run_worker(tell(), name="doctor", exclusive=True, group="doctor")

    def debug(self, _: str) -> None:
        """Write requests, without what was said, and how replies ended, or stop that."""
        app = self._app
        file = app.begin.paths.state / "debug.log"
        network = app.begin.network
        network.trace = None if network.trace else lambda line: append_private(file, line)
        where = tilde(file, app.begin.environment)
        app.notify(f"Requests are written to {where}." if network.trace else "Requests are not written.", markup=False)
