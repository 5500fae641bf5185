"""A composer on an otherwise empty screen, for the tests of what is written in it."""

from __future__ import annotations

import contextlib
from pathlib import Path

from textual import events
from textual.app import App
from textual.widgets import Static

from tui_agent.ui.composer import Composer

STYLES = Path(__file__).parents[2] / "styles" / "composer.tcss"


class Desk(App):
    """A composer and nothing else, keeping what it posts."""

    CSS_PATH = STYLES
    ENABLE_COMMAND_PALETTE = False

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []
        self.steps: list[int] = []
        self.unused: list[str] = []

    def compose(self):
        yield Static("transcript", id="rest")
        yield Composer(placeholder="Say what to do")

    def on_composer_submitted(self, message: Composer.Submitted) -> None:
        self.sent.append(message.text)

    def on_composer_history_requested(self, message: Composer.HistoryRequested) -> None:
        self.steps.append(message.step)

    def on_key(self, event: events.Key) -> None:
        self.unused.append(event.key)


@contextlib.asynccontextmanager
async def desk(size=(80, 24)):
    app = Desk()
    async with app.run_test(size=size) as pilot:
        composer = app.query_one(Composer)
        composer.focus()
        await pilot.pause()
        yield app, pilot, composer


def key(name: str, character: str | None = None, *, at: float | None = None) -> events.Key:
    """A key as the driver makes it; `at` is the time of the press in seconds."""
    event = events.Key(name, character if character is not None else name if len(name) == 1 else None)
    if at is not None:
        event.time = at
    return event
