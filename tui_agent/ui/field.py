"""A field of one line, for reasons and addresses."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from tui_agent.ui.composer import clean


class Field(Input):
    """An `Input` that takes of a paste what can be shown, as the composer does.

    Textual's own hands every character on to the terminal, controls and direction marks included.
    """

    def on_paste(self, event: events.Paste) -> None:
        """Clean the text before `Input` inserts it."""
        event.text = clean(event.text)
