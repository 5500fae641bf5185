"""Asks for one line above the panes: what to search for, what to filter by."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Static

from tui_agent.ui.field import Field
from tui_agent.ui.modal import Modal


class OneLine(Modal[str | None]):
    """Returns what was typed when Enter ends it, None when Esc does."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "leave", show=False)]

    def __init__(self, label: str, text: str = "") -> None:
        super().__init__()
        self._label, self._text = label, text

    def compose(self) -> ComposeResult:
        """What is asked for, and the field."""
        with Horizontal():
            yield Static(self._label, markup=False)
            yield Field(self._text)

    async def on_key(self, event: events.Key) -> None:
        """What is typed at once is for the field."""
        await self.query_one(Field).take_early(event)

    @on(Input.Submitted)
    def entered(self, event: Input.Submitted) -> None:
        """The line is complete."""
        self.dismiss(event.value)

    def action_leave(self) -> None:
        """Nothing is wanted."""
        self.dismiss(None)
