"""The keys behind Ctrl+X: a strip that appears when the second key does not come at once."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import ModalScreen
from textual.widgets import Static

from tui_agent.ui.actions import ACTIONS, key_name

SHOW_AFTER = 0.3
GIVE_UP_AFTER = 3.0


def strip_text() -> Text:
    """Every leader key with what it does."""
    text = Text(" Ctrl+X  ", "bold")
    for action in ACTIONS:
        if action.leader:
            text.append(key_name(action.leader), "bold")
            text.append(f" {action.title.lower()}   ")
    return text


class Leader(ModalScreen[str | None]):
    """Takes one key and returns the action that it stands for, or None."""

    BINDINGS: ClassVar[list[BindingType]] = []

    def compose(self) -> ComposeResult:
        """The strip, hidden at first."""
        yield Static(strip_text(), markup=False)

    def on_mount(self) -> None:
        """Show the strip to who hesitates, and give up after a while."""
        strip = self.query_one(Static)
        strip.visible = False
        self.set_timer(SHOW_AFTER, lambda: setattr(strip, "visible", True))
        self.set_timer(GIVE_UP_AFTER, lambda: self.is_current and self.dismiss(None))

    def on_key(self, event: events.Key) -> None:
        """The second key decides; an unknown one closes the strip."""
        event.stop()
        event.prevent_default()
        wanted = {event.key, event.character or ""}
        self.dismiss(next((a.id for a in ACTIONS if a.leader in wanted), None))
