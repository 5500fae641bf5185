"""Ctrl+C in its fixed order: the footer names what the next one does, and that is what it does."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets.text_area import Selection

from tests.ui.test_app import idle, running, send, stalling
from tests.ui.test_reviewing import writer
from tests.ui.test_steering import steps
from tests.ui.test_transcript import drag
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.providers.scripted import scripted
from tui_agent.ui.app import AgentApp
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.modal import Modal
from tui_agent.ui.palette import Palette

LOG = "".join(f"line {number}\n" for number in range(312))


def hints(app: AgentApp) -> str:
    return "   ".join(app.main._footer.state.hints)


async def test_the_footer_names_what_the_next_one_does(tmp_path: Path) -> None:
    model, _, go = steps(0)
    async with running(tmp_path, model) as (app, pilot):
        await until(lambda: "Ctrl+C twice quits" in hints(app))
        await pilot.press(*"draft")
        await until(lambda: "Ctrl+C puts it away" in hints(app))
        await pilot.press("shift+left", "shift+left")
        await until(lambda: "Ctrl+C copy" in hints(app))
        await pilot.press("left")
        await until(lambda: "Ctrl+C puts it away" in hints(app))
        await pilot.press("ctrl+c")
        await until(lambda: "Ctrl+C twice quits" in hints(app))
        assert app.main.composer.text == ""
        await send(app, pilot, "go")
        await until(lambda: "Ctrl+C stop" in hints(app))
        await pilot.press(*"next")
        await pilot.pause()
        assert "Ctrl+C stop" in hints(app)
        go.release()
        await idle(app)
        await until(lambda: "Ctrl+C puts it away" in hints(app))


async def test_what_is_selected_in_the_message_is_copied_and_stays(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        composer = app.main.composer
        composer.load("keep this text")
        composer.selection = Selection((0, 5), (0, 9))
        await pilot.press("ctrl+c")
        assert (app.clipboard, composer.text, composer.selected) == ("this", "keep this text", "")
        composer.load("")
        composer.insert_paste(LOG)
        composer.action_select_all()
        await pilot.press("ctrl+c")
        assert (app.clipboard, composer.text) == (LOG, LOG), "a folded paste is copied in full"
        await pilot.press("ctrl+c")
        assert composer.text == "", "the next one puts it away"


async def test_what_is_selected_in_the_transcript_is_named_too(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([{"text": "an answer to copy"}])) as (app, pilot):
        await send(app, pilot, "go")
        await idle(app)
        await pilot.pause()
        assert await drag(pilot, app.main.transcript, (2, 2), (11, 2))
        await until(lambda: "Ctrl+C copy" in hints(app))
        await pilot.press("ctrl+c")
        await until(lambda: "Ctrl+C copy" not in hints(app))


async def test_a_second_press_with_something_between_is_a_first_one(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await pilot.press("ctrl+c")
        assert app.main._footer.state.phase == "Ctrl+C again to quit"
        await pilot.press("x", "ctrl+c")
        assert app.main._footer.state.phase != "Ctrl+C again to quit"
        await pilot.press("ctrl+c")
        assert app.main._footer.state.phase == "Ctrl+C again to quit"
        await pilot.pause()
        assert app.is_running


@pytest.mark.parametrize("key", ["f4", "f2", "f1"])
async def test_over_a_running_turn_it_stops_the_turn_and_what_lies_over_it_stays(tmp_path: Path, key: str) -> None:
    model, _ = stalling()
    async with running(tmp_path, model) as (app, pilot):
        await send(app, pilot, "go")
        await until(lambda: app.talk.working)
        await pilot.press(key)
        await until(lambda: isinstance(app.screen, Modal))
        above = app.screen
        await pilot.press("ctrl+c")
        await idle(app)
        assert app.screen is above
        await pilot.press("ctrl+c")
        await until(lambda: app.screen is app.main)
        assert app.is_running


async def test_over_the_keys_of_a_question_it_is_the_answer_to_the_question(tmp_path: Path) -> None:
    async with running(tmp_path, writer()) as (app, pilot):
        await send(app, pilot, "work")
        await until(lambda: isinstance(app.screen, ApprovalScreen))
        await until(lambda: app.screen.armed)
        await pilot.press("f1")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.press("ctrl+c")
        await idle(app)
        assert app.screen is app.main
        (done,) = [event for event in app.session.events if isinstance(event, ev.ToolDone)]
        assert (done.status, done.denied) == ("refused", "person")
        assert app.is_running
