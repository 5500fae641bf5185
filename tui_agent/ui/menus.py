"""The lists of actions: what can be chosen, every key by its place, and what Ctrl+X waits for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui_agent.ui.actions import BY_ID, SCOPES
from tui_agent.ui.leader import Leader
from tui_agent.ui.palette import Palette, PaletteItem

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler


class Menus:
    """The handlers of these actions."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {
            "ui.palette": self.palette,
            **dict.fromkeys(("ui.help", "transcript.help", "files.help"), self.help),
            "ui.leader": self.leader,
        }

    def palette(self, _: str) -> None:
        """All actions that can be chosen, with their keys."""
        items = [
            PaletteItem(a.id, a.title, self._app.keys.keys(a) or a.slash or "", also=" ".join((a.slash or "", *a.also)))
            for a in self._app.keys.actions
            if a.listed and a.scope == "app" and (a.id != "agent.stop" or self._app.main.working)
        ]
        self._app.push_screen(Palette(items, title="Commands", verb="run"), self._app.on_choice(self._app.main.act))

    def help(self, about: str) -> None:
        """Every action by where its keys count, one or some of them when it is said which."""
        items = [
            PaletteItem(
                a.id,
                a.title,
                "   ".join(filter(None, (a.slash, self._app.keys.keys(a)))),
                SCOPES[a.scope],
                enabled=a.id in self._app.main.handlers,
                note="" if a.id in self._app.main.handlers else f"its key counts {SCOPES[a.scope]}",
            )
            for a in sorted(self._app.keys.actions, key=lambda a: list(SCOPES).index(a.scope))
        ]
        query = BY_ID[about].title if about in BY_ID else about
        self._app.push_screen(
            Palette(items, title="Keys and commands", verb="run", query=query), self._app.on_choice(self._app.main.act)
        )

    def leader(self, _: str) -> None:
        """Wait for the key behind Ctrl+X; some letters of the card that is the newest thing mean what they mean there."""
        talk = self._app.main.conversation
        meant = talk.card.behind_leader if talk is not None and talk.card is not None else {}
        instead = {letter: BY_ID[deed] for key, deed in meant.items() for letter in self._app.keys[key].keys}
        self._app.push_screen(Leader(self._app.keys, instead, self._act))

    def _act(self, action_id: str) -> None:
        """Carry an action out as if the main screen had taken its key: the strip, which took it, is gone when it is answered."""
        with self._app.main._context():  # noqa: SLF001 - Textual has no other way to say who asks
            self._app.main.act(action_id)
