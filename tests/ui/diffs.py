"""A diff view alone on a screen, for tests."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path

from textual.app import App

STYLES = Path(__file__).parents[2] / "styles" / "approval.tcss"


class Host(App):
    CSS_PATH = STYLES

    def __init__(self, view):
        super().__init__()
        self.view = view

    def compose(self):
        yield self.view


@asynccontextmanager
async def shown(view, size=(80, 24)):
    app = Host(view)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        while not view.complete:
            await pilot.pause()
        await pilot.pause()
        yield pilot


def rows(view):
    return [strip.text.rstrip() for strip in view.screen._compositor.render_strips()]


def numbered(count):
    return b"".join(b"line %d\n" % n for n in range(1, count + 1))


def changed(count, *places):
    text = numbered(count)
    for n in places:
        text = text.replace(b"line %d\n" % n, b"LINE %d\n" % n)
    return text
