"""The dialog's answers: what each key does, batches in their order, and every way a question can end."""

from __future__ import annotations

import ast
import asyncio
import inspect

import pytest
from textual import events
from textual.app import App
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView

from tests.ui.asked import Host, dialog, edit, long_edit, numbered, request
from tests.waiting import PATIENCE
from tui_agent.core.types import (
    Decision,
    WriteBytes,
)
from tui_agent.ui import approval, diff_view, late_modal, wrap_view
from tui_agent.ui.approval import ask_on_screen
from tui_agent.ui.late_modal import Outside
from tui_agent.ui.palette import Palette

# ------------------------------------------------------------------ what each key does


async def test_y_is_yes_once():
    async with dialog(edit()) as d:
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)
        assert not d.open


@pytest.mark.parametrize(("key", "answer"), [("n", "no"), ("s", "skip")])
@pytest.mark.parametrize(("typed", "reason"), [("", ""), ("use pathlib", "use pathlib"), ("y", "y")])
async def test_n_and_s_take_a_reason(key, answer, typed, reason):
    async with dialog(edit()) as d:
        await d.key(key)
        await d.pilot.press(*("space" if c == " " else c for c in typed), "enter")
        assert await d.answer() == (Decision("1", answer, reason),)
        assert d.fed == []


async def test_a_reason_is_edited_key_by_key():
    async with dialog(edit()) as d:
        await d.key("n")
        await d.pilot.press(*"abcd", "backspace", "left", "x", "end", "y", "ctrl+a", "delete", "enter")
        assert await d.answer() == (Decision("1", "no", "bxcy"),)


async def test_keys_that_come_together_count_in_their_order():
    async with dialog(edit()) as d:
        await d.key("n")
        for key in (*"ab", "backspace", *"cd", "left", "x", "enter"):
            d.app.post_message(events.Key(key, key if len(key) == 1 else None))
        assert await d.answer() == (Decision("1", "no", "acxd"),)


async def test_the_reason_field_names_its_keys():
    async with dialog(edit()) as d:
        await d.key("s")
        await d.pilot.press("a", "b")
        await d.pilot.pause()
        assert "│ Enter skip, with this reason or none   Esc back" in d.text
        assert "│ ab" in d.text
        assert d.footers[-1] == ("Enter sends", "empty: without a reason", "Esc back")
        await d.pilot.press("escape")
        await d.later()
        assert "│ y apply" in d.text


async def test_escape_leaves_the_reason_and_the_dialog_is_deaf_again():
    async with dialog(edit()) as d:
        await d.key("n")
        await d.pilot.press("x", "escape")
        await d.pilot.press("y")
        await d.later(0.1)
        assert d.open
        assert d.fed == ["y"]
        await d.later()
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_stop_answers_this_and_all_later_requests(key):
    async with dialog(edit("1"), edit("2"), edit("3")) as d:
        await d.key("y")
        await d.later()
        await d.pilot.press(key)
        assert await d.answer() == (Decision("1", "yes"), Decision("2", "stop"), Decision("3", "stop"))


async def test_ctrl_c_stops_from_the_reason_field():
    async with dialog(edit()) as d:
        await d.key("n")
        await d.pilot.press("x", "ctrl+c")
        assert await d.answer() == (Decision("1", "stop"),)


@pytest.mark.parametrize("key", ["enter", "space", "tab", "Y", "a", "f2", "shift+tab", "ctrl+m"])
async def test_no_other_key_answers(key):
    async with dialog(edit()) as d:
        await d.key(key)
        await d.later()
        assert d.open
        assert not d.task.done()


async def test_a_printable_key_goes_to_the_composer_and_disarms():
    async with dialog(edit()) as d:
        await d.key("space", "y")
        assert d.fed == ["space", "y"]
        assert d.open


@pytest.mark.parametrize("erases", ["backspace", "delete", "ctrl+w", "ctrl+u", "alt+d"])
async def test_what_went_to_the_text_can_be_taken_back_there(erases):
    async with dialog(edit()) as d:
        await d.key("x")
        await d.later()
        await d.key(erases, "y")
        assert d.fed == ["x", erases, "y"]
        assert d.open


async def test_a_key_that_is_no_text_is_dropped_and_does_not_disarm():
    async with dialog(edit()) as d:
        await d.key("enter", "y")
        assert await d.answer() == (Decision("1", "yes"),)
        assert d.fed == []


@pytest.mark.parametrize(("key", "name"), [("f2", "F2"), ("f4", "F4"), ("ctrl+x", "Ctrl+X"), ("ctrl+t", "Ctrl+T")])
async def test_a_key_of_what_lies_below_says_when_it_works_again(key, name):
    async with dialog(edit()) as d:
        await d.key(key)
        assert f"{name} works again when this is answered" in d.text
        await d.key("z")
        assert "works again" not in d.text
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


@pytest.mark.parametrize(
    ("keys", "row"), [(["pagedown"], 8), (["down", "down", "up"], 1), (["end", "home"], 0), (["end", "pageup"], 84)]
)
async def test_scroll_keys(keys, row):
    async with dialog(long_edit()) as d:
        height = d.screen.view.size.height
        await d.key(*keys)
        expected = {8: height, 84: 100 - 2 * height}.get(row, row)
        assert d.screen.view.scroll_offset.y == expected
        await d.key("y")
        assert d.open  # scrolling does not disarm, but not everything was seen


async def test_hunk_keys_and_position():
    base = numbered(200)
    new = base.replace(b"line 20\n", b"x\n").replace(b"line 90\n", b"y\n").replace(b"line 150\n", b"z\n")
    async with dialog(request(WriteBytes("a", base, new)), size=(80, 18)) as d:
        assert "hunk 1/3" in d.text
        await d.key("right_square_bracket")
        assert "hunk 2/3" in d.text
        await d.key("right_square_bracket", "right_square_bracket")
        assert "hunk 3/3" in d.text
        assert "+ z" in " ".join(d.text.split())
        await d.key("left_square_bracket", "left_square_bracket")
        assert "hunk 1/3" in d.text


async def test_z_uses_the_whole_width():
    async with dialog(long_edit(), size=(120, 40)) as d:
        assert d.lines[3].startswith("    ┌")
        await d.key("z")
        assert d.lines[0].startswith("┌")
        assert len(d.lines[0]) == 120
        await d.key("z")
        assert d.lines[3].startswith("    ┌")


# ------------------------------------------------------------------ batches and endings


async def test_a_batch_is_answered_in_order_with_different_answers():
    async with dialog(edit("1"), edit("2"), edit("3")) as d:
        await d.key("y")
        await d.later()
        await d.key("n")
        await d.pilot.press("n", "o", "enter")
        await d.pilot.pause()
        await d.later()
        assert "3/3" in d.text
        await d.key("s")
        await d.pilot.press("enter")
        assert await d.answer() == (Decision("1", "yes"), Decision("2", "no", "no"), Decision("3", "skip"))


async def test_what_depends_on_a_refused_request_is_not_asked():
    chain = (edit("2", depends_on=("1",)), edit("2b", depends_on=("2",)))
    async with dialog(edit("1"), *chain, edit("3")) as d:
        await d.key("n")
        await d.pilot.press("enter")
        await d.pilot.pause()
        await d.later()
        assert "4/4" in d.text
        await d.key("y")
        found = [(decision.request_id, decision.answer, decision.by) for decision in await d.answer()]
        assert found == [("1", "no", "key"), ("2", "skip", "rule"), ("2b", "skip", "rule"), ("3", "yes", "key")]


async def test_a_cancelled_question_is_withdrawn():
    async with dialog(edit()) as d:
        d.task.cancel()
        await d.pilot.pause()
        assert not d.open
        with pytest.raises(asyncio.CancelledError):
            await d.task


async def test_withdrawing_closes_what_lies_above():
    from textual.screen import Screen

    async with dialog(edit()) as d:
        await d.app.push_screen(Screen())
        d.task.cancel()
        await d.pilot.pause()
        assert len(d.app.screen_stack) == 1


async def test_the_end_of_the_application_is_stop():
    app = Host()
    async with app.run_test() as pilot:
        task = asyncio.create_task(ask_on_screen(app, (edit("1"), edit("2"))))
        await pilot.pause()
        await pilot.pause()
        app.exit()
    assert await asyncio.wait_for(task, PATIENCE) == (
        Decision("1", "stop", by="nobody"),
        Decision("2", "stop", by="nobody"),
    )


async def test_questions_wait_for_each_other():
    async with dialog(edit("1")) as d:
        second = asyncio.create_task(ask_on_screen(d.app, (edit("2"),), outside=Outside(clock=d.clock)))
        await d.pilot.pause()
        assert len(d.app.screen_stack) == 2
        first = d.app.screen
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)
        async with asyncio.timeout(PATIENCE):
            while d.app.screen is first or not getattr(d.app.screen, "armed", False):
                await d.later()
        await d.key("y")
        assert await asyncio.wait_for(second, PATIENCE) == (Decision("2", "yes"),)


async def test_f1_lists_the_keys_and_answers_nothing():
    async with dialog(edit("1")) as d:
        await d.pilot.press("f1")
        await d.pilot.pause()
        assert isinstance(d.app.screen, Palette)
        assert "Yes: apply or run exactly this" in d.text
        await d.pilot.press("enter")
        await d.pilot.pause()
        assert not d.screen.armed
        await d.pilot.press("y")
        assert d.fed == ["y"]
        await d.later()
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


async def test_a_question_that_is_withdrawn_takes_its_list_of_keys_with_it():
    async with dialog(edit("1")) as d:
        await d.pilot.press("f1")
        await d.pilot.pause()
        d.task.cancel()
        await d.pilot.pause()
        await d.pilot.pause()
        assert not d.open or isinstance(d.app.screen, Palette)


async def test_nothing_to_ask():
    assert await ask_on_screen(Host(), ()) == ()


@pytest.mark.parametrize(
    ("module", "base"),
    [(approval, ModalScreen), (late_modal, ModalScreen), (wrap_view, ScrollView), (diff_view, ScrollView)],
)
async def test_no_name_of_ours_hides_one_of_textual(module, base):
    """Textual keeps its own state in attributes such as `_closed`; a clash loses messages."""
    ours = set()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                ours.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                ours.add(name)
            case ast.ClassDef(body=body):
                targets = [
                    target for part in body for target in getattr(part, "targets", [getattr(part, "target", None)])
                ]
                ours.update(target.id for target in targets if isinstance(target, ast.Name))
    async with App().run_test():
        theirs = set(dir(base()))
    meant = {"AUTO_FOCUS", "DEFAULT_CSS", "COMPONENT_CLASSES", "ALLOW_SELECT"}
    meant |= {"__init__", "compose", "render_line", "notify_style_update", "virtual_size"}
    meant |= {"on_mount"}  # Textual calls the one of every class
    assert ours & theirs <= meant
