"""Line editing in the composer: the readline set, the kill ring, and moving by what is seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui.writing import desk
from tui_agent.ui.editing import KillRing, grapheme_end, grapheme_start


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
