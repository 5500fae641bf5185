"""The composer: keys, pastes, history, kills, height."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.app import App
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from tui_agent.core.characters import kind
from tui_agent.core.display import sanitise
from tui_agent.ui.chips import Draft, Pastes
from tui_agent.ui.composer import BURST_WAIT, KEYS, SELECTING_KEYS, Composer
from tui_agent.ui.editing import KillRing, clean, grapheme_end, grapheme_start
from tui_agent.ui.keymap import keymap

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


# ------------------------------------------------------------------ editing


async def test_readline_set():
    async with desk() as (_, pilot, composer):
        composer.load("one two three")
        await pilot.press("ctrl+a", "X", "ctrl+e", "Y")
        assert composer.text == "Xone two threeY"
        await pilot.press("ctrl+w")
        assert composer.text == "Xone two "
        await pilot.press("ctrl+u")
        assert composer.text == ""
        await pilot.press("ctrl+y")
        assert composer.text == "Xone two threeY"
        await pilot.press("ctrl+a", "ctrl+f", "ctrl+k")
        assert composer.text == "X"
        await pilot.press("ctrl+underscore")
        assert composer.text == "Xone two threeY"


async def test_kills_that_follow_one_another_are_one_and_alt_y_goes_back():
    async with desk() as (_, pilot, composer):
        composer.load("one two three four")
        await pilot.press("ctrl+w", "ctrl+w")
        assert composer.text == "one two "
        await pilot.press("ctrl+a", "alt+d", "ctrl+k")
        assert composer.text == ""
        await pilot.press("ctrl+y")
        assert composer.text == "one two "
        await pilot.press("alt+y")
        assert composer.text == "three four"
        await pilot.press("alt+y")
        assert composer.text == "one two "
        await pilot.press("x", "alt+y")
        assert composer.text == "one two x"
        await pilot.press("ctrl+w", "y", "backspace", "ctrl+w", "ctrl+y")
        assert composer.text == "one two ", "a key in between begins a new kill"


@given(st.lists(st.tuples(st.text("ab", min_size=1, max_size=3), st.booleans(), st.booleans()), min_size=1))
def test_the_kill_ring_loses_nothing_but_what_is_old(kills):
    ring = KillRing(len(kills))
    wanted: list[str] = []
    for text, forward, chained in kills:
        ring.kill(text, forward=forward, chained=chained)
        if chained and wanted:
            wanted[-1] = wanted[-1] + text if forward else text + wanted[-1]
        else:
            wanted.append(text)
    assert [ring.yank(age) for age in range(len(ring))] == wanted[::-1]
    assert ring.yank(len(ring)) == wanted[-1]


async def test_undo_of_many_lines_shrinks_the_composer():
    async with desk() as (_, pilot, composer):
        composer.feed_paste("\n" * 12)
        await pilot.pause()
        await pilot.press("ctrl+underscore", "ctrl+shift+z", "ctrl+underscore")
        assert composer.text == ""
        assert composer.size.height == 1


async def test_kills_at_line_edges_take_the_line_break():
    async with desk() as (_, pilot, composer):
        composer.load("a\nb")
        await pilot.press("home", "ctrl+u")
        assert composer.text == "ab"
        await pilot.press("ctrl+j", "up", "end", "ctrl+k")
        assert composer.text == "ab"
        await pilot.press("end", "ctrl+k", "ctrl+y")
        assert composer.text == "ab\n"


async def test_alt_d_and_word_moves():
    async with desk() as (_, pilot, composer):
        composer.load("one two")
        await pilot.press("ctrl+a", "alt+d")
        assert composer.text in {"two", " two"}
        await pilot.press("ctrl+y")
        assert composer.text == "one two"


async def test_put_away_and_yank():
    async with desk() as (_, pilot, composer):
        composer.load("a long thought")
        assert composer.put_away() == "a long thought"
        assert composer.text == ""
        assert composer.put_away() == ""
        await pilot.press("ctrl+y")
        assert composer.text == "a long thought"


async def test_alt_y_without_a_yank_changes_nothing():
    async with desk() as (_, pilot, composer):
        composer.load("abc")
        composer.put_away()
        await pilot.press("x", "alt+y")
        assert composer.text == "x"


@pytest.mark.parametrize(
    "sample",
    ["é", "e\u0301", "👍🏽", "👨\u200d👩\u200d👧\u200d👦", "🇩🇪", "❤\ufe0f", "नि", "漢", "1\ufe0f\u20e3"],
)
async def test_one_backspace_deletes_one_visible_character(sample):
    async with desk() as (_, pilot, composer):
        composer.load(f"a{sample}{sample}")
        await pilot.press("backspace")
        assert composer.text == f"a{sample}"
        await pilot.press("ctrl+a", "right", "right")
        assert composer.cursor_at_end_of_text
        await pilot.press("left", "delete")
        assert composer.text == "a"


@given(st.text(alphabet="ab\u0301\u200d🇩🇪👍🏽👩漢", max_size=12))
def test_graphemes_cover_the_line_in_both_directions(line):
    forward = [0]
    while forward[-1] < len(line):
        forward.append(grapheme_end(line, forward[-1]))
    backward = [len(line)]
    while backward[-1] > 0:
        backward.append(grapheme_start(line, backward[-1]))
    assert forward == sorted(set(forward))
    assert backward[::-1] == sorted(set(backward))
    assert forward == backward[::-1]


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


# ------------------------------------------------------------------ pastes

LOG = "".join(f"line {number}\n" for number in range(312))
CHIP = "[paste 1: 312 lines, 2 kB]"


async def test_a_paste_is_one_event_and_never_sends():
    async with desk() as (app, pilot, composer):
        composer.post_message(events.Paste("one\r\ntwo\rthree\x1b[31m\x07\x00\tx\n"))
        await pilot.pause()
        assert composer.text == "one\ntwo\nthree\tx\n"
        assert app.sent == []
        await pilot.press("ctrl+underscore")
        assert composer.text == ""


async def test_a_picture_dropped_into_a_sentence_is_named(tmp_path):
    (tmp_path / "my shot.png").touch()
    async with desk() as (_, pilot, composer):
        await pilot.press(*"see ")
        composer.post_message(events.Paste(f"'{tmp_path}/my shot.png' "))
        await pilot.press(*"ok")
        assert composer.text == f'see @"{tmp_path}/my shot.png" ok'


async def test_a_big_paste_folds_and_is_sent_in_full():
    async with desk() as (app, pilot, composer):
        await pilot.press(*"see ")
        composer.feed_paste(LOG)
        await pilot.press(*" ok")
        assert composer.document.text == f"see {CHIP} ok"
        assert composer.text == f"see {LOG} ok"
        await pilot.press("enter")
        assert app.sent == [f"see {LOG} ok"]
        composer.load(app.sent[0])
        assert composer.document.text == f"see {CHIP} ok"


async def test_a_long_line_folds():
    async with desk() as (_, _pilot, composer):
        composer.feed_paste("x" * 200_000)
        assert composer.document.text == "[paste 1: 200,000 characters]"
        composer.load("")
        for _ in range(3):
            composer.feed_paste("y" * 1_500)
        assert max(map(len, composer.document.lines)) <= 2_000
        assert composer.text == "y" * 4_500


async def test_a_chip_is_removed_whole_and_never_cut():
    async with desk() as (_, pilot, composer):
        composer.feed_paste(LOG)
        chip = composer.document.text
        await pilot.press("left")
        assert composer.cursor_location == (0, 0)
        await pilot.press("right")
        assert composer.cursor_location == (0, len(chip))
        await pilot.press("x", "backspace", "backspace")
        assert composer.document.text == ""
        await pilot.press("ctrl+underscore", "ctrl+underscore")
        assert composer.text == LOG
        composer.move_cursor((0, 5))
        assert composer.cursor_location[1] in {0, len(chip)}
        await pilot.press("ctrl+a", "delete")
        assert composer.document.text == ""
        await pilot.press("ctrl+underscore", "end", "ctrl+w")
        assert composer.document.text == ""
        await pilot.press("ctrl+y")
        assert composer.document.text == chip
        assert composer.text == LOG


async def test_tab_beside_a_chip_unfolds_it_and_undo_folds_it_again():
    async with desk() as (app, pilot, composer):
        composer.feed_paste(LOG)
        await pilot.press("tab")
        assert composer.document.text == LOG
        await pilot.press("ctrl+underscore")
        assert composer.document.text == CHIP
        await pilot.press("home", "tab")
        assert composer.text == composer.document.text == LOG
        assert app.unused == []


async def test_a_paste_with_a_line_too_long_to_edit_stays_folded():
    async with desk() as (app, pilot, composer):
        composer.feed_paste("x" * 3_000)
        await pilot.press("tab")
        assert len(composer.document.text) < 60
        assert [note.message for note in app._notifications] == [
            "This paste has a line too long to edit here. It is sent in full."
        ]


async def test_a_draft_is_a_value_and_its_chips_find_their_numbers_again():
    async with desk() as (_, _pilot, composer):
        composer.feed_paste(LOG)
        composer.feed_key(key("!", "!"))
        draft = composer.draft
        assert draft == Draft(f"{CHIP}!", {CHIP: LOG})
        assert draft.full == f"{LOG}!"
    async with desk() as (_, _pilot, other):
        other.feed_paste(LOG.replace("line", "item"))
        other.draft = draft
        assert other.document.text == "[paste 2: 312 lines, 2 kB]!"
        assert other.text == draft.full
        other.draft = Draft("[paste 9: 99 lines]")
        assert other.text == "[paste 9: 99 lines]", "what only reads like a chip stays what it is"


@pytest.mark.parametrize("seed", range(6))
async def test_no_sequence_of_keys_cuts_a_chip(seed):
    keys = [key for key in [*KEYS, *SELECTING_KEYS] if key not in {"ctrl+c", "super+c", "super+x", "ctrl+v", "super+v"}]
    dice = random.Random(seed)
    async with desk((40, 24)) as (_, _pilot, composer):
        for _unused in range(400):
            name = dice.choice([*keys, "x", "space", "ctrl+j", "PASTE"])
            if name == "PASTE":
                composer.feed_paste(dice.choice([LOG, "y" * 3_000, CHIP, "a b"]))
            else:
                composer.feed_key(key(name, {"x": "x", "space": " "}.get(name)))
            document = composer.document.text
            for chip in composer._pastes._texts:
                document = document.replace(chip, "")
            assert "paste" not in document, name
            row, column = composer.cursor_location
            assert composer._pastes.chip_around(composer.document[row], column) is None, name


async def test_a_paste_that_reads_like_a_chip_is_sent_as_it_is():
    async with desk() as (_, _pilot, composer):
        composer.feed_paste(LOG)
        composer.feed_paste(CHIP)
        assert composer.text == LOG + CHIP


words = st.lists(st.sampled_from([*"ab \n[]1:,é漢", "[paste 1: 60 lines]"]), max_size=30).map("".join)


@given(st.lists(st.tuples(st.sampled_from(["", "x" * 3_000, "l\n" * 60, "[paste 1: 60 lines]"]), words), max_size=5))
def test_fold_then_unfold_is_the_identity(parts):
    pastes = Pastes()
    wanted = "".join(long + short for long, short in parts)
    folded = "".join(pastes.fold(long) + pastes.fold(short) for long, short in parts)
    assert pastes.unfold(folded) == wanted
    assert pastes.unfold(pastes.refold(wanted)) == wanted
    assert len(folded) <= len(wanted) + 40 * len(parts) * 2


@given(st.text())
def test_cleaned_text_holds_nothing_that_acts_on_a_terminal(raw):
    cleaned = clean(raw)
    assert clean(cleaned) == cleaned
    assert cleaned.splitlines() == cleaned.removesuffix("\n").split("\n") or not cleaned
    assert all(character.isprintable() or not character < "\xa0" or character in "\n\t" for character in cleaned)
    cleaned.encode()


HIDING = (
    "".join(map(chr, range(0xE0100, 0xE01F0))) + "\ufff9\ufffa\ufffb\u180e\u180b\u3164\uffa0\u115f\u1160\u2800\u034f"
)
HIDING += "\u200b\u200c\u200d\u2060\ufe00\ufe0e\ufe0f\u202e\u2066\u00ad\ufeff\U000e0041\U0001d159\u17b4"
odd = st.text(
    st.sampled_from(HIDING + "ab \u00a0\u3000\u2003\ue000\u0301😀👩🏽❤#1نمक्षé漢") | st.characters(), max_size=40
)


@given(odd, odd)
def test_what_is_sent_is_what_is_seen(raw, before):
    cleaned = clean(raw, clean(before))
    assert clean(cleaned, clean(before)) == cleaned
    last = (clean(before) or " ")[-1]
    for character in cleaned:
        what = kind(character)
        if character in "\u200c\u200d\ufe0f":
            assert last not in "\u200c\u200dab \n"  # one, behind what it changes
        else:
            assert what in {None, "combining"} or character in "\n\t "
        last = character
    alone = "".join(c for c in cleaned if c not in "\u200c\u200d\ufe0f")
    shown = sanitise(alone.replace("\t", ""), "text")
    assert not shown.warns & {"invisible", "control", "bidi", "invalid", "non-ascii-space"}
    assert not sanitise(cleaned, "prose").warns & {"invisible"}  # the transcript shows it as it was typed


@pytest.mark.parametrize(
    "kept",
    [
        "👨\u200d👩\u200d👧\u200d👦",
        "❤\ufe0f",
        "1\ufe0f\u20e3",
        "می\u200cخواهم",
        "क्\u200dष",
        "👩🏽\u200d🚀",
        "e\u0301",
        "🇩🇪",
        "漢字",
    ],
)
def test_joiners_stay_where_they_are_drawn(kept):
    assert clean(kept) == kept
    typed = ""
    for character in kept:
        typed += clean(character, typed)
    assert typed == kept


def test_blanks_are_blanks_and_what_a_font_may_lack_is_written_out():
    assert clean("a\u00a0b\u3000c") == "a b c"
    assert clean("\ue0b0 \U000e0fff") == "<U+E0B0> <U+E0FFF>"
    assert clean("hello" + HIDING[:240] + "\ufff9hid\ufffb \u180e") == "hellohid "


async def test_joiners_can_be_typed():
    async with desk() as (_, pilot, composer):
        for character in "می\u200cخواهم 👩\u200d🚀 a\u200d":
            composer.post_message(key(character, character))
        await pilot.pause(BURST_WAIT * 2)
        assert composer.text == "می\u200cخواهم 👩\u200d🚀 a"


async def test_hidden_characters_come_in_by_no_way():
    async with desk() as (app, pilot, composer):
        for character in "a\u3164\U000e0101b":
            composer.post_message(key(character, character))
        await pilot.pause(BURST_WAIT * 2)
        composer.insert_paste("c\ufff9d")
        composer.load(composer.text + "\u2800e")
        assert composer.text == "abcde"
        composer.type("\u115ff")
        await pilot.press("enter")
        assert app.sent == ["abcdef"]


async def type_at_once(composer: Composer, pilot, data: str) -> None:
    """Keys as a terminal without bracketed paste replays a paste: all in one read."""
    names = {"\r": "enter", "\n": "ctrl+j", " ": "space"}
    began = time.monotonic() - 1  # every real key comes after it, on a machine that has just started too
    for number, character in enumerate(data):
        composer.post_message(key(names.get(character, character), character, at=began + number * 0.0001))
    await pilot.pause(BURST_WAIT * 2)


async def test_an_unbracketed_paste_does_not_send():
    async with desk() as (app, pilot, composer):
        await type_at_once(composer, pilot, "first line \\\r\nsecond line\r\nthird\r\n")
        assert app.sent == []
        assert composer.text == "first line \\\nsecond line\nthird\n"
        await pilot.press("enter")
        assert app.sent == ["first line \\\nsecond line\nthird\n"]


async def test_one_line_in_one_write_is_sent():
    async with desk() as (app, pilot, composer):
        await type_at_once(composer, pilot, "run the tests\r")
        assert app.sent == ["run the tests"]
        assert composer.text == ""


async def test_a_key_after_the_wait_does_not_undo_enter():
    async with desk() as (app, _pilot, composer):
        for number in range(12):
            composer.feed_key(key("a", at=1000 + number / 1000))
        composer.feed_key(key("enter", "\r", at=1000.012))
        composer.feed_key(key("b", at=1000.04))
        await _pilot.pause()
        assert app.sent == ["a" * 12]
        assert composer.text == "b"


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
def test_bytes_of_a_real_terminal():
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, STYLES],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=STYLES.parents[1],
        env={**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(STYLES.parents[1])},
    )
    try:
        read_until(master, b"GO")
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
            os.write(master, typed.encode())
            time.sleep(0.02)
        assert read_until(master, None, 0.5)  # what was typed is drawn
        assert read_until(master, None, 0.7) == b""  # then nothing is: no cursor blinks
        os.write(master, b"\r")
        assert b"sent 'a\\n\\n\\n\\n\\n1\\n2\\n'" in read_until(master, b"sent '", 5) + read_until(master, None, 0.3)
    finally:
        process.kill()
        process.wait()
        os.close(master)
        os.close(slave)


def read_until(master: int, wanted: bytes | None, seconds: float = 15.0) -> bytes:
    """Read until `wanted` was seen, or for all of `seconds` when it is None."""
    end = time.monotonic() + seconds
    output = b""
    while (left := end - time.monotonic()) > 0 and (wanted is None or wanted not in output):
        if select.select((master,), (), (), left)[0]:
            output += os.read(master, 65536)
    assert wanted is None or wanted in output
    return output
