"""The keys behind Ctrl+X: a strip that appears when the second key does not come at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from tui_agent.ui.actions import Action, key_name
from tui_agent.ui.keymap import Keymap
from tui_agent.ui.modal import Modal

_MORE = re.compile(r"[:;]")
SHOW_AFTER = 0.3
GIVE_UP_AFTER = 3.0
ROOMY = 80
"""From so many cells on there is room for whole titles."""


def strip_text(keys: Keymap, instead: Mapping[str, Action], width: int) -> Text:
    """Every leader key with what it does, in as few rows as they need: the first words of its title, one where there is little room."""
    rows, row = [], Text(f" {keys.leader} ", "bold")
    for usual in keys.actions:
        if usual.leader:
            action = instead.get(usual.leader, usual)
            title = action.hint if width < ROOMY and action.hint else _MORE.split(action.title)[0].lower()
            item = Text.assemble((key_name(usual.leader), "bold"), f" {title}")
            if row.cell_len + item.cell_len + 3 > width:
                rows.append(row)
                row = Text()
            row.append("  " if row else " ")
            row.append_text(item)
    return Text("\n").join([*rows, row])


class Leader(Modal[None]):
    """Takes one key, and lets `act` carry out the action that it stands for; `instead` are keys with another meaning now.

    It is done at once, without a result: a key that came right behind would reach what stands below meanwhile.
    """

    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, keys: Keymap, instead: Mapping[str, Action], act: Callable[[str], None]) -> None:
        super().__init__()
        self._keys = keys
        self._instead = instead
        self._act = act

    def compose(self) -> ComposeResult:
        """The strip, hidden at first."""
        yield Static(markup=False)

    def on_resize(self) -> None:
        """Fit it."""
        self.query_one(Static).update(strip_text(self._keys, self._instead, self.size.width))

    def on_mount(self) -> None:
        """Show the strip to who hesitates, and give up after a while."""
        strip = self.query_one(Static)
        strip.visible = False
        self.set_timer(SHOW_AFTER, lambda: setattr(strip, "visible", True))
        self.set_timer(GIVE_UP_AFTER, self._give_up)

    def _give_up(self) -> None:
        """No second key came. Textual awaits what a timer returns, and a screen must not await its own end."""
        if self.is_current:
            self.dismiss(None)

    def on_key(self, event: events.Key) -> None:
        """The second key decides; an unknown one closes the strip; one behind them is for what stands there now."""
        event.stop()
        event.prevent_default()
        if not self.is_active:
            self.app.screen._forward_event(events.Key(event.key, event.character))  # noqa: SLF001 - as the app does it
            return
        held = event.key.removeprefix("ctrl+") if event.key != "ctrl+c" else ""  # Ctrl+X Ctrl+E: it was still down
        wanted = {event.key, event.character or "", held}
        known = {**{a.leader: a for a in self._keys.actions if a.leader}, **self._instead}
        self.dismiss()
        if action := next((action for key, action in known.items() if key in wanted), None):
            self._act(action.id)
