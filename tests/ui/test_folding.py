"""Pastes into the composer: one event, folded when they are big, never sent by themselves."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events

from tests.ui.writing import desk, key
from tui_agent.ui.chips import Draft, Pastes
from tui_agent.ui.composer import BURST_WAIT, KEYS, SELECTING_KEYS, Composer

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


@given(st.lists(st.tuples(st.sampled_from(["", LOG, "x" * 3_000]), st.text("ab \n[]1:", max_size=8)), max_size=4))
def test_what_was_folded_is_folded_in_another_life(parts):
    before, after = Pastes(), Pastes()
    draft = before.draft("".join(before.fold(long) + short for long, short in parts))
    again = after.draft(after.fold_at(draft.full, draft.folds))
    assert again.full == draft.full
    assert again.folds == draft.folds
    assert after.draft(after.fold_at(draft.full[1:], draft.folds)).full == draft.full[1:], "whatever stands there now"


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
