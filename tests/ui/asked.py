"""An open approval dialog for tests: a clock that is moved by hand, what reached the composer, and the answer."""

from __future__ import annotations

import asyncio
import math
from contextlib import asynccontextmanager
from pathlib import Path

from textual.app import App
from textual.widgets import Static, TextArea

from tests.waiting import PATIENCE
from tui_agent.core.types import (
    ApprovalRequest,
    PolicyRequest,
    RunArgv,
    RunScript,
    ToolCall,
    WriteBytes,
)
from tui_agent.ui.approval import ApprovalScreen, ask_on_screen
from tui_agent.ui.late_modal import Outside

STYLES = Path(__file__).parents[2] / "styles" / "approval.tcss"


class Clock:
    """Time that passes only when told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Host(App):
    """A transcript and a composer, as below the real dialog."""

    CSS_PATH = STYLES
    CSS = "TextArea { dock: bottom; height: 1; border: none; padding: 0; margin-bottom: 2; }"
    ENABLE_COMMAND_PALETTE = False

    def compose(self):
        yield Static("header")
        yield Static("said before\n" * 10)
        yield TextArea("my draft")

    def on_mount(self):
        self.query_one(TextArea).move_cursor((0, 8))


class Dialog:
    """One open dialog with its clock, what reached the composer, and the answer."""

    def __init__(self, app, pilot, clock):
        self.app, self.pilot, self.clock = app, pilot, clock
        self.fed, self.footers, self.kept = [], [], []
        self.task = None

    def ask(self, *requests, **options):
        outside = Outside(
            lambda event: self.fed.append(event.key),
            lambda event: self.fed.append(event.text),
            self.footers.append,
            self.clock,
            keep=self.kept.append,
        )
        self.task = asyncio.create_task(ask_on_screen(self.app, requests, outside=outside, **options))

    @property
    def screen(self):
        assert isinstance(self.app.screen, ApprovalScreen)
        return self.app.screen

    async def later(self, seconds=10.0):
        """Let time pass, and the dialog notice it: so much that a key that a busy machine handles late is no early one."""
        while isinstance(self.app.screen, ApprovalScreen) and self.app.screen.arming._since == math.inf:
            await self.pilot.pause()  # not painted yet
        self.clock.now += seconds
        await self.pilot.pause()
        if isinstance(self.app.screen, ApprovalScreen):
            await self.app.screen.tick()
        await self.pilot.pause()

    async def key(self, *keys):
        """Press keys, each alone and listened to."""
        for key in keys:
            await self.pilot.press(key)
            await self.later(0.05)

    async def answer(self):
        return await asyncio.wait_for(self.task, PATIENCE)

    @property
    def open(self):
        return isinstance(self.app.screen, ApprovalScreen)

    @property
    def lines(self):
        return [strip.text.rstrip() for strip in self.app.screen._compositor.render_strips()]

    @property
    def text(self):
        return "\n".join(self.lines)


@asynccontextmanager
async def dialog(*requests, size=(80, 24), armed=True, **options):
    app = Host()
    async with app.run_test(size=size) as pilot:
        found = Dialog(app, pilot, Clock())
        found.ask(*requests, **options)
        await pilot.pause()
        await pilot.pause()
        if armed:
            await found.later()
        try:
            yield found
        finally:
            found.task.cancel()
            await asyncio.wait({found.task}, timeout=PATIENCE)


def request(effect, name="1", reason="", floors=(), depends_on=()):
    policy = PolicyRequest("edit_file", "write", floors=floors)
    return ApprovalRequest(name, ToolCall("c", "edit_file", {}), effect, policy, "summary", reason, depends_on)


def edit(name="1", **more):
    return request(WriteBytes("src/a.py", b"one\ntwo\nthree\n", b"one\n2\nthree\n"), name, **more)


def numbered(count):
    return b"".join(b"line %d\n" % n for n in range(count))


def long_edit():
    return request(WriteBytes("long.txt", None, numbered(100)))


RUN = request(RunArgv(("git", "commit", "-m", "a b; rm -rf x"), 120.0))
SCRIPT = request(RunScript("for i in *; do\n  echo $i\ndone\n", 60.0))
LONG_SCRIPT = request(RunScript("\n".join(f"echo {n}" for n in range(100)), 60.0))


def key_style(d, text):
    """How a part of the key row is painted, apart from being dim."""
    content = d.screen.query_one("#keys", Static).content
    at = content.plain.index(text)
    return {span.style for span in content.spans if span.start <= at < span.end} - {"dim"}
