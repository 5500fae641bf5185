"""The review in the whole app: a question that comes over a note, and notes that nobody may lose."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual import events

from tests.ui.asked import RUN
from tests.ui.test_app import idle, running, send, text_of
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.core.types import ToolCall
from tui_agent.providers.scripted import scripted
from tui_agent.review import revert
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.field import Field
from tui_agent.ui.review import Review


def writer():
    call = {"name": "write_file", "arguments": {"path": "a.txt", "content": "one\ntwo\n"}}
    return scripted([{"text": "I write.", "calls": [call]}, {"text": "done"}])


async def reviewed(app, pilot):
    """A session with one change, and its review with the note field open."""
    await send(app, pilot, "work")
    await until(lambda: isinstance(app.screen, ApprovalScreen))
    await until(lambda: app.screen.armed)
    await pilot.press("y")
    await idle(app)
    await pilot.press("f4")
    await until(lambda: isinstance(app.screen, Review) and app.screen.view is not None and app.screen.view.complete)
    await pilot.press("m", *"why")


async def test_a_question_over_a_note_leaves_the_keyboard_to_the_note(tmp_path: Path) -> None:
    async with running(tmp_path, writer()) as (app, pilot):
        await reviewed(app, pilot)
        question = asyncio.create_task(app.main.asking.ask((RUN,)))
        await until(lambda: isinstance(app.screen, ApprovalScreen))
        await pilot.press(*" twox", "backspace")
        app.screen.post_message(events.Paste("?\nyes"))
        await pilot.pause()
        assert app.main.composer.text == ""
        assert app.screen_stack[-2].query_one(Field).value == "why two? yes"
        await until(lambda: app.screen.armed)
        await pilot.press("ctrl+c")
        assert (await question)[0].answer == "stop"
        await pilot.press(*"!", "enter")
        await until(lambda: "a.txt:1 why two? yes!" in text_of(app))


async def test_a_paste_over_the_review_is_in_the_message(tmp_path: Path) -> None:
    async with running(tmp_path, writer()) as (app, pilot):
        await reviewed(app, pilot)
        app.post_message(events.Paste(" two"))
        await until(lambda: app.screen.query_one(Field).value == "why two")
        await pilot.press("enter")
        app.post_message(events.Paste("uu\nyes"))
        await until(lambda: app.main.composer.text == "uu\nyes")
        assert "What you pasted is in your message." in text_of(app)
        assert (app.session.root / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"


async def test_a_change_under_the_review_is_looked_at(tmp_path: Path) -> None:
    async with running(tmp_path, writer()) as (app, pilot):
        await reviewed(app, pilot)
        await pilot.press("enter")
        (app.session.root / "a.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
        await pilot.press("u", "u")
        await until(lambda: "+3" in text_of(app))
        assert (app.session.root / "a.txt").read_text(encoding="utf-8") == "one\ntwo\nthree\n"
        entry = app.screen.entry
        await revert(app.session, entry, None)
        app.main.conversation.catch_up()
        app.main.refresh_state()
        await until(lambda: "Nothing was changed." in text_of(app))


async def test_what_a_command_does_to_a_changed_file_is_looked_at(tmp_path: Path) -> None:
    async with running(tmp_path, writer()) as (app, pilot):
        await reviewed(app, pilot)
        await pilot.press("enter")
        app.talk.send("!printf 'one\\n2\\n' > a.txt")
        await idle(app)
        await until(lambda: "+ 2" in text_of(app))


async def test_what_is_refused_meanwhile_is_looked_at(tmp_path: Path) -> None:
    async with running(tmp_path, writer()) as (app, pilot):
        await reviewed(app, pilot)
        await pilot.press("enter")
        assert "not applied" not in text_of(app)
        call = ToolCall("c", "edit_file", {"path": "a.txt", "old": "two\n", "new": "2\n"})
        app.session.log.append(ev.ToolDone(call, "refused", "", "ugly", denied="person"))
        app.talk.catch_up()
        await until(lambda: "1 not applied" in text_of(app))


async def test_of_an_edit_that_was_taken_in_part_the_card_counts_the_part(tmp_path: Path) -> None:
    text = "".join(f"{n}\n" for n in range(30))
    changes = [{"old": "\n5\n", "new": "\nfive\nmore\n"}, {"old": "\n25\n", "new": "\n"}]
    calls = [{"name": "multi_edit", "arguments": {"path": "a.txt", "edits": changes}}]
    read = [{"name": "read_file", "arguments": {"path": "a.txt"}}]
    model = scripted([{"text": "I read.", "calls": read}, {"text": "Both.", "calls": calls}, {"text": "done"}])
    async with running(tmp_path, model) as (app, pilot):
        (app.session.root / "a.txt").write_text(text, encoding="utf-8")
        await send(app, pilot, "work")
        await until(lambda: isinstance(app.screen, ApprovalScreen))
        await until(lambda: app.screen.armed)
        await pilot.press("right_square_bracket", "right_square_bracket", "space")
        await pilot.press("y")
        await idle(app)
        await until(lambda: "done" in text_of(app))
        line = next(line for line in text_of(app).splitlines() if "edit" in line and "a.txt" in line)
        assert "+2 -1" in line
        assert "1 of 2 hunks" in line
        assert "read the file again" not in text_of(app)


async def test_how_long_a_question_waits_is_told(tmp_path: Path) -> None:
    async with running(tmp_path, writer()) as (app, pilot):
        now = [100.0]
        app.main.asking.clock = lambda: now[0]
        await send(app, pilot, "work")
        await until(lambda: isinstance(app.screen, ApprovalScreen))
        await until(lambda: app.screen.armed)
        for seconds, shown in ((0, "0:00"), (12, "0:12"), (754, "12:34"), (3723, "1:02:03")):
            now[0] = 100.0 + seconds
            await until(lambda shown=shown: app.main._footer.state.phase == f"waiting for you {shown}", 30)
        await pilot.press("ctrl+c")
        await idle(app)
        assert "waiting" not in app.main._footer.state.phase


async def test_notes_are_on_the_disk_before_the_review_is_left_and_in_the_draft_after(tmp_path: Path) -> None:
    async with running(tmp_path, writer()) as (app, pilot):
        await reviewed(app, pilot)
        app.main.composer.load("and then")
        await until(lambda: app.session.place.unsent().draft == "and then\n\nwhy")
        await pilot.press("enter")
        words = "and then\n\nNotes on your changes:\n\na.txt:1\n> one\nwhy"
        await until(lambda: app.session.place.unsent().draft == words)
        await pilot.press("escape")
        await until(lambda: app.main.composer.text == words)
        await until(lambda: app.session.place.unsent().draft == words)


async def test_what_is_written_in_a_question_is_on_the_disk_until_it_is_answered(tmp_path: Path) -> None:
    async with running(tmp_path, writer()) as (app, pilot):
        await send(app, pilot, "work")
        await until(lambda: isinstance(app.screen, ApprovalScreen))
        await until(lambda: app.screen.armed)
        note = "Notes on your changes:\n\na.txt:1\n> one\nwhy"
        await pilot.press("right_square_bracket", "m", *"why")
        await until(lambda: app.session.place.unsent().draft == "why")
        await pilot.press("enter")
        await until(lambda: app.session.place.unsent().draft == note)
        await until(lambda: app.screen.armed)
        await pilot.press("n")
        await until(lambda: app.screen.field is not None)
        await pilot.press(*"no")
        await until(lambda: app.session.place.unsent().draft == f"{note}\n\nno")
        await pilot.press("enter")
        await idle(app)
        await until(lambda: app.session.place.unsent().draft == "")


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_a_note_on_a_change_that_is_stopped_stays_in_the_draft(tmp_path: Path, key: str) -> None:
    async with running(tmp_path, writer()) as (app, pilot):
        await send(app, pilot, "work")
        await until(lambda: isinstance(app.screen, ApprovalScreen))
        await until(lambda: app.screen.armed)
        await pilot.press("right_square_bracket", "m", *"why", "enter")
        await until(lambda: app.screen.armed)
        await pilot.press(key)
        await until(lambda: app.main.composer.text == "Notes on your changes:\n\na.txt:1\n> one\nwhy")
