"""The field of one line: used for every one, and still while nothing happens."""

from __future__ import annotations

from pathlib import Path

from textual import events
from textual.app import App, ComposeResult

import tui_agent.ui
from tui_agent.ui.field import Field


class Bare(App[None]):
    def compose(self) -> ComposeResult:
        yield Field()
        yield Field()


async def test_its_cursor_stands_still_and_is_seen_again_after_a_walk() -> None:
    app = Bare()
    async with app.run_test() as pilot:
        first, second = app.query(Field)
        for field in (first, second, first):
            await pilot.press("tab") if not field.has_focus else None
            assert field.has_focus
            assert field._cursor_visible
            assert not field._blink_timer._active.is_set(), "no timer runs that would draw it on and off"


async def test_all_lines_of_a_paste_are_kept_on_one() -> None:
    app = Bare()
    async with app.run_test() as pilot:
        field = app.query(Field).first()
        field.write("so: ", "")
        assert field.has_focus
        field.post_message(events.Paste("one\ntwo\x1b[m\r\nthree\n"))
        await pilot.pause()
        assert field.value == "so: one two three"
        field.feed_paste("\n4\n5")
        assert field.value == "so: one two three 4 5"


def test_no_screen_has_another_one() -> None:
    modules = Path(tui_agent.ui.__file__).parent.glob("*.py")
    assert [path.name for path in modules if " Input(" in path.read_text()] == []
