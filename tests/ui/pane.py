"""An open review pane for tests: made-up files, and what was asked of the world."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path

from textual.app import App

from tui_agent.core.types import Outcome
from tui_agent.review import Entry
from tui_agent.ui.review import Review, World

STYLES = [Path(__file__).parents[2] / "styles" / f"{name}.tcss" for name in ("approval", "review")]


BASE = b"".join(b"line %d\n" % n for n in range(60))


NEW = BASE.replace(b"line 10\n", b"ten\n").replace(b"line 30\n", b"").replace(b"line 50\n", b"fifty\n")


FILES = (
    Entry("src/a.py", BASE, NEW, added=2, removed=3),
    Entry("b.txt", None, b"x\n", added=1),
    Entry("c.txt", b"1\n", b"2\n", proposed=True, words="refused: ugly"),
)


class Pane:
    def __init__(self, files):
        self.files, self.reverted, self.opened, self.result = files, [], [], None
        self.asked, self.working, self.outcome = [], False, Outcome("applied", "")
        self.applied, self.kept, self.disk, self.paged = [], [], {}, []

    async def find(self, base):
        self.asked.append(base)
        for entry in self.files:
            yield entry

    async def open_at(self, *place):
        self.opened.append(place)

    async def page(self, view):
        self.paged.append(view.whole())

    async def present(self, path):
        return self.disk.get(path, next((entry.now for entry in self.files if entry.path == path), None))

    async def apply(self, entry, hunks):
        self.applied.append((entry.path, hunks))
        return self.outcome

    async def revert(self, entry, hunks):
        self.reverted.append((entry.path, hunks))
        return self.outcome

    @property
    def text(self):
        return "\n".join(strip.text.rstrip() for strip in self.app.screen._compositor.render_strips())

    async def key(self, *keys):
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause()
        await self.pilot.pause()


class Host(App):
    CSS_PATH = STYLES


@asynccontextmanager
async def pane(files=FILES, size=(120, 30), turns=()):
    made = Pane(files)
    async with Host().run_test(size=size) as pilot:
        made.pilot, made.app = pilot, pilot.app
        world = World(
            made.find,
            made.revert,
            made.apply,
            made.open_at,
            lambda: made.working,
            turns=lambda: turns,
            page=made.page,
            present=made.present,
            keep=made.kept.append,
        )
        pilot.app.push_screen(Review(world), lambda result: setattr(made, "result", result))
        await pilot.pause()
        await pilot.pause()
        yield made


NEXT, PREVIOUS = "right_square_bracket", "left_square_bracket"


NEXT_FILE, PREVIOUS_FILE = "right_curly_bracket", "left_curly_bracket"
