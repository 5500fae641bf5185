"""The dialog listens late: what was typed ahead, bursts, pastes and the mouse never answer it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.widgets import TextArea

from tests.ui.asked import Host, dialog, edit
from tests.waiting import PATIENCE
from tui_agent.core.types import (
    Decision,
)
from tui_agent.ui.approval import ApprovalScreen, ask_on_screen
from tui_agent.ui.arming import Arming
from tui_agent.ui.late_modal import Outside

# ------------------------------------------------------------------ late arming


async def test_keys_typed_ahead_go_to_the_composer_until_half_a_second_of_silence():
    async with dialog(edit(), armed=False) as d:
        for _ in range(25):
            await d.pilot.press("y")
            await d.later(0.04)
        assert d.fed == ["y"] * 25
        assert d.open
        await d.later(0.47)
        assert "y apply" in d.text
        await d.later()
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


@pytest.mark.parametrize("late", [0.11, 5.0])
async def test_a_key_counts_from_when_it_was_pressed_not_from_when_a_busy_app_hears_of_it(late):
    async with dialog(edit(), armed=False) as d:
        await d.later(0.6)
        event = events.Key("y", "y")
        event.time -= late
        d.screen.post_message(event)
        await d.pilot.pause()
        await d.later(0.1)
        assert d.open
        assert d.fed == ["y"]


async def test_it_says_wait_while_it_is_deaf():
    async with dialog(edit(), armed=False) as d:
        assert "wait…" in d.text
        assert "y apply" not in d.text
        await d.later(0.49)
        assert "wait…" in d.text
        await d.later(0.02)
        assert "wait…" not in d.text
        assert "y apply" in d.text
        assert d.footers == [
            ("wait…", "keys go to your text"),
            ("y n s work now", "F1 all keys", "Enter does nothing", "PgUp PgDn scroll"),
        ]


async def test_escape_is_deaf_too_but_ctrl_c_acts_at_once():
    async with dialog(edit(), armed=False) as d:
        await d.pilot.press("escape")
        assert d.open
        assert d.fed == ["escape"]
        await d.pilot.press("ctrl+c")
        assert await d.answer() == (Decision("1", "stop"),)


async def test_a_double_y_answers_only_the_first_of_two():
    async with dialog(edit("1"), edit("2")) as d:
        await d.pilot.press("y", "y")
        await d.later(0.1)
        assert d.fed == ["y"]
        assert "2/2" in d.text
        assert not d.task.done()
        await d.later()
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"), Decision("2", "yes"))


@pytest.mark.parametrize("keys", ["y\ny\ny\n", "yes please", "no\n", "s "])
async def test_letters_that_come_together_are_text_not_an_answer(keys):
    names = {"\n": "enter", " ": "space"}
    pressed = [names.get(key, key) for key in keys]
    async with dialog(edit()) as d:
        await d.pilot.press(*pressed)
        await d.later(0.1)
        assert d.open
        assert d.fed == pressed


@pytest.mark.parametrize("reason", ["", "o"])
async def test_an_answer_whose_moment_is_over_counts_before_the_next_key_although_nobody_woke_up(reason, monkeypatch):
    async with dialog(edit()) as d:
        monkeypatch.setattr(d.screen, "set_timer", lambda *_: SimpleNamespace(stop=lambda: None))
        await d.pilot.press("n")
        d.clock.now += 0.05
        await d.pilot.press(*reason, "enter")
        assert await d.answer() == (Decision("1", "no", reason),)
        assert d.fed == []


async def test_a_key_after_the_last_answer_is_text():
    async with dialog(edit()) as d:
        await d.pilot.press("y")
        d.clock.now += 0.05
        screen = d.screen
        await screen.tick()
        screen.post_message(events.Key("x", "x"))
        await d.pilot.pause()
        assert d.fed in (["x"], [])  # gone with the screen, or text; never an answer
        assert await d.answer() == (Decision("1", "yes"),)


@pytest.mark.parametrize("armed", [True, False])
async def test_a_paste_never_answers(armed):
    async with dialog(edit(), armed=armed) as d:
        d.app.post_message(events.Paste("y\ny\ny\n"))
        await d.pilot.pause()
        await d.pilot.press("y")
        await d.later(0.1)
        assert d.fed == ["y\ny\ny\n", "y"]
        assert d.open


async def test_a_paste_behind_a_letter_makes_both_text():
    async with dialog(edit()) as d:
        await d.pilot.press("y")
        d.app.post_message(events.Paste("ellow"))
        await d.pilot.pause()
        await d.later(0.1)
        assert d.fed == ["y", "ellow"]
        assert d.open


async def test_the_mouse_never_answers():
    async with dialog(edit()) as d:
        for row in (1, 4, 8, 9, 15):
            await d.pilot.click(offset=(4, row))
        await d.later()
        assert d.open
        assert d.app.focused is None


async def test_the_real_composer_can_be_fed_and_is_seen_changing():
    async with dialog(edit(), armed=False) as d:
        composer = d.app.screen_stack[0].query_one(TextArea)

        async def feed(event):
            composer.insert(event.character)
            await asyncio.sleep(0)

        d.screen.outside.feed_key = feed
        await d.pilot.press("!")
        await d.pilot.pause()
        assert "my draft!" in d.lines[21]


async def test_the_arming_of_a_real_clock():
    app = Host()
    async with app.run_test() as pilot:
        arming = Arming(quiet=0.01, hold=0.01)
        task = asyncio.create_task(ask_on_screen(app, (edit(),), outside=Outside(arming=arming)))
        while not (isinstance(app.screen, ApprovalScreen) and app.screen.armed):
            await pilot.pause(0.01)
        await pilot.press("y")
        assert await asyncio.wait_for(task, PATIENCE) == (Decision("1", "yes"),)


# ------------------------------------------------------------------ arming, pure


def test_nothing_is_armed_before_it_was_painted():
    arming = Arming()
    assert not arming.armed(1e9)
    assert arming.wakes(5.0) is None
    assert arming.press("y", 5.0, answer=True) == "draft"
    assert not arming.armed(1e9)
    arming.painted(6.0)
    assert arming.wakes(6.1) == pytest.approx(0.4)
    assert not arming.armed(6.49)
    assert arming.armed(6.5)
    assert arming.wakes(6.5) is None


def test_an_answer_is_held_and_given_once():
    arming = Arming()
    arming.painted(0.0)
    assert arming.press("y", 1.0, answer=True) == "hold"
    assert arming.wakes(1.01) == pytest.approx(0.03)
    assert arming.due(1.03) is None
    assert arming.due(1.04) == "y"
    assert arming.due(1.05) is None


def test_new_content_forgets_a_held_answer():
    arming = Arming()
    arming.painted(0.0)
    arming.press("y", 1.0, answer=True)
    arming.hide()
    assert arming.due(9.0) is None


@given(st.lists(st.tuples(st.sampled_from("yns z?"), st.floats(0, 0.49)), max_size=40))
def test_no_answer_comes_from_keys_less_than_half_a_second_apart(keys):
    arming, now = Arming(), 0.0
    arming.painted(now)
    for key, pause in keys:
        now += pause
        assert arming.press(key, now, answer=key in "yns", command=key == "z", text=True) == "draft"
