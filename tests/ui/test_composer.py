"""The composer: what its keys do, when the history is asked, what it looks like, and in a real terminal."""

from __future__ import annotations

import pytest
from textual import events
from textual.app import App
from textual.screen import ModalScreen
from textual.widgets import TextArea

from tests.pty.terminal import Home, Terminal
from tests.ui.writing import STYLES, desk, key
from tui_agent.ui.composer import KEYS, SELECTING_KEYS, Composer
from tui_agent.ui.keymap import keymap

# ------------------------------------------------------------------ sending and new lines


async def test_enter_sends_and_clears():
    async with desk() as (app, pilot, composer):
        await pilot.press(*"hello", "enter", *"next")
        assert app.sent == ["hello"]
        assert composer.text == "next"


async def test_enter_on_blank_sends_nothing_and_keeps_the_text():
    async with desk() as (app, pilot, composer):
        await pilot.press("enter")
        composer.load("  \n ")
        await pilot.press("enter")
        assert app.sent == []
        assert composer.text == "  \n "


@pytest.mark.parametrize("newline", ["ctrl+j", "shift+enter", "shift+\r", "alt+enter"])
async def test_newline_keys(newline):
    async with desk() as (app, pilot, composer):
        await pilot.press("a", newline, "b")
        assert composer.text == "a\nb"
        assert app.sent == []


async def test_backslash_enter_is_a_new_line():
    async with desk() as (app, pilot, composer):
        composer.load("one\\ two")
        await pilot.press("end", "\\", "enter", "x")
        assert composer.text == "one\\ two\nx"
        await pilot.press("enter")
        assert app.sent == ["one\\ two\nx"]


async def test_the_newline_keys_are_data():
    class Other(App):
        def compose(self):
            yield Composer(keys=keymap({"composer.newline": "f9"})[0])

    app = Other()
    async with app.run_test() as pilot:
        await pilot.press("a", "f9", "ctrl+j", "b")
        assert app.query_one(Composer).text == "a\nb"


# ------------------------------------------------------------------ keys it must not take


@pytest.mark.parametrize(
    "name",
    [
        *("ctrl+x", "ctrl+z", "f2", "f6", "f7", "pageup", "pagedown", "escape", "ctrl+o", "ctrl+g", "ctrl+r"),
        *("ctrl+p", "ctrl+t", "ctrl+l", "ctrl+home", "ctrl+c", "alt+x"),
    ],
)
async def test_keys_of_the_app_pass_through_with_text(name):
    async with desk() as (app, pilot, composer):
        composer.load("draft")
        await pilot.press(name)
        assert app.unused == [name]
        assert composer.text == "draft"


async def test_ctrl_d_passes_through_only_when_empty():
    async with desk() as (app, pilot, composer):
        await pilot.press("ctrl+d")
        assert app.unused == ["ctrl+d"]
        composer.load("xy")
        await pilot.press("home", "ctrl+d")
        assert composer.text == "y"
        assert app.unused == ["ctrl+d"]


async def test_tab_moves_on_only_from_an_empty_composer():
    async with desk() as (app, pilot, composer):
        await pilot.press("tab", "shift+tab")
        assert app.unused == ["tab", "shift+tab"]
        composer.load("x")
        await pilot.press("tab")
        assert app.unused == ["tab", "shift+tab"]
        assert composer.text == "x"


async def test_ctrl_c_copies_a_selection():
    async with desk() as (app, pilot, composer):
        composer.load("copy me")
        await pilot.press("shift+home", "ctrl+c")
        assert app.clipboard == "copy me"
        assert app.unused == []
        assert composer.text == "copy me"


async def test_intercept_sees_keys_first():
    async with desk() as (app, pilot, composer):
        composer.intercept = lambda event: event.key in {"tab", "up", "enter"}
        composer.load("x")
        await pilot.press("tab", "up", "enter", "y")
        assert (app.sent, app.unused, app.steps, composer.text) == ([], [], [], "xy")


def test_no_action_in_the_tables_is_unknown():
    for action in {*KEYS.values(), *SELECTING_KEYS.values()}:
        assert callable(getattr(Composer, f"action_{action}"))


# ------------------------------------------------------------------ history


async def test_history_is_asked_from_the_first_and_the_last_row_only():
    async with desk() as (app, pilot, composer):
        await pilot.press("up", "down")
        assert app.steps == [-1, 1]
        composer.load("two\nlines")
        await pilot.press("up")
        assert app.steps == [-1, 1]
        await pilot.press("up")
        assert app.steps == [-1, 1, -1]
        await pilot.press("down", "down")
        assert app.steps == [-1, 1, -1, 1]


async def test_a_wrapped_line_is_many_rows_to_the_history():
    async with desk((20, 24)) as (app, pilot, composer):
        composer.load("aaaa bbbb cccc dddd eeee ffff")
        await pilot.pause()
        await pilot.press("up")
        assert app.steps == []
        await pilot.press("up")
        assert app.steps == [-1]


# ------------------------------------------------------------------ under a dialog


class Dialog(ModalScreen):
    """A question that hands early keys to the composer."""

    def on_key(self, event: events.Key) -> None:
        self.app.screen_stack[0].query_one(Composer).feed_key(event)


async def test_keys_typed_under_a_dialog_edit_the_draft():
    async with desk() as (app, pilot, composer):
        composer.load("old")
        await app.push_screen(Dialog())
        await pilot.press(*"abc", "backspace", "left", "X", "ctrl+j", "end", "Z")
        assert composer.text == "oldaX\nbZ"
        await pilot.press("ctrl+underscore", "ctrl+a", "ctrl+k", "ctrl+y")
        composer.feed_paste("P")
        assert "P" in composer.text
        await pilot.press("shift+left", "delete", "enter")
        assert app.sent == ["oldaX\nb"]


async def test_feed_key_says_what_it_did_not_use():
    async with desk() as (_, _pilot, composer):
        assert composer.feed_key(key("f2")) is False
        assert composer.feed_key(key("escape", "\x1b")) is False
        assert composer.feed_key(key("alt+x", "x")) is False
        assert composer.feed_key(key("ctrl+c", "\x03")) is False
        assert composer.feed_key(key("space", " ")) is True
        assert composer.feed_key(key("漢")) is True
        assert composer.text == " 漢"


# ------------------------------------------------------------------ looks


async def test_it_grows_with_its_content_from_one_to_eight_rows():
    async with desk((40, 24)) as (_, pilot, composer):
        assert composer.size.height == 1
        await pilot.press("ctrl+j", "ctrl+j")
        assert composer.size.height == 3
        composer.load("word " * 20)
        await pilot.pause()
        assert composer.size.height == 3
        composer.load("\n" * 20)
        await pilot.pause()
        assert composer.size.height == 8
        assert composer.size.width == 40
        await pilot.press("enter")
        composer.load("")
        await pilot.pause()
        assert composer.size.height == 1


def row(composer: Composer, y: int) -> str:
    return composer.render_line(y).text.rstrip()


async def test_prompt_placeholder_and_wrap():
    async with desk((20, 24)) as (app, pilot, composer):
        assert row(composer, 0) == "› Say what to do"
        composer.load("aaaa bbbb cccc dddd eeee")
        await pilot.pause()
        rows = [row(composer, y) for y in range(composer.size.height)]
        assert rows[0].startswith("› aaaa")
        assert all(line.startswith("  ") for line in rows[1:])
        assert "".join(line[2:] + " " for line in rows).split() == ["aaaa", "bbbb", "cccc", "dddd", "eeee"]
        assert all(composer.render_line(y).cell_length == 20 for y in range(len(rows)))
        assert app.cursor_position.x == composer.region.x + 2 + len(rows[-1][2:])


async def test_nothing_blinks():
    async with desk() as (_, pilot, composer):
        assert composer.cursor_blink is False
        assert composer.blink_timer._active.is_set() is False
        await pilot.press("a")
        assert composer.blink_timer._active.is_set() is False


async def test_a_click_puts_the_cursor_behind_the_prompt():
    async with desk() as (_, pilot, composer):
        composer.load("abcdef")
        await pilot.click(Composer, offset=(2 + 3, 0))
        assert composer.cursor_location == (0, 3)


def test_it_is_a_text_area():
    assert issubclass(Composer, TextArea)


# ------------------------------------------------------------------ in a real terminal

PROGRAM = """
import sys
from textual.app import App
from tui_agent.ui.composer import Composer
from tui_agent.ui.pastes import patch_pastes
from tui_agent.ui.terminal import patch_keys

class Desk(App):
    CSS_PATH = sys.argv[1]
    def compose(self):
        yield Composer()
    def on_mount(self):
        self.call_after_refresh(lambda: self._driver.write("GO"))
    def on_composer_submitted(self, message):
        self.exit(repr(message.text))

patch_keys()
patch_pastes()
print("sent", Desk().run())
"""


@pytest.mark.pty
def test_bytes_of_a_real_terminal(tmp_path):
    with Terminal(Home(tmp_path).make(), [str(STYLES)], code=PROGRAM) as t:
        t.until(lambda: b"GO" in t.raw, "never painted")
        for typed in (
            "a",
            "\n",
            "\x1b[13;2u",
            "\x1b[27;2;13~",
            "\x1b\r",
            "\\",
            "\r",
            "b",
            "\x7f",
            "\x1b[200~1\x1b[31m\r\n\x1b[A\x072\r\x1b[201~",
        ):
            t.send(typed)
            t.rest(0.03)
        drawn = len(t.raw)
        t.pump(0.8)
        assert len(t.raw) == drawn, "no cursor blinks"
        t.send("\r")
        t.ended()
        assert b"sent 'a\\n\\n\\n\\n\\n1\\n2\\n'" in t.raw
