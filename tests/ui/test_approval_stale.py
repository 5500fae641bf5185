"""A file that changes while its change is being looked at, and notes on lines of a question."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual import events

from tests.ui.asked import dialog, edit, numbered, request
from tui_agent.core.file_state import FileState
from tui_agent.core.types import Decision, RunArgv, WriteBytes
from tui_agent.ui.looks import Looks

NEXT = "right_square_bracket"
FRESH = WriteBytes("src/a.py", b"zero\none\ntwo\nthree\n", b"zero\none\n2\nthree\n")


class Changing:
    """A file that is each time like the next of these."""

    def __init__(self, *answers):
        self.answers = list(answers)

    async def __call__(self, asked):
        return self.answers.pop(0) if asked.id == "1" else None


@pytest.mark.parametrize("broken", [FRESH, "it is a binary file", replace(edit().effect, at=FileState(0o755))])
@pytest.mark.parametrize("times", [1, 3])
async def test_a_file_that_is_again_as_it_was_shown_can_be_approved(broken, times):
    async with dialog(edit(), fresh=Changing(*[broken] * times, None, None)) as d:
        for _ in range(times):
            await d.key("y")
            await d.later()
            assert "changed on disk" in d.text
            assert "y look again" in d.text
            assert "y apply" not in d.text
            assert "Y apply" not in d.text
        await d.key("y")
        assert "the file is as it was shown again" in d.text
        await d.later()
        assert d.open
        assert "y apply" in d.text
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


async def test_that_only_its_permissions_changed_is_said():
    async with dialog(edit(), fresh=Changing(replace(edit().effect, at=FileState(0o755)))) as d:
        await d.key("y")
        await d.later()
        assert "not its text, but its permissions or its folder" in " ".join(d.text.replace("│", " ").split())


@pytest.mark.parametrize(
    ("asked", "now", "said"),
    [
        (edit(), WriteBytes("src/a.py", None, b"one\n2\nthree\n"), "the file is gone since this was shown"),
        (
            request(WriteBytes("src/a.py", None, b"x\n")),
            WriteBytes("src/a.py", b"mine\n", b"x\n"),
            "a file came there since this was shown",
        ),
        (edit(), FRESH, "the file changed on disk since this was shown"),
        (edit(), "no UTF-8 text", "and this change cannot be made on it: no UTF-8 text"),
    ],
)
async def test_what_became_of_the_file_is_said(asked, now, said):
    async with dialog(asked, fresh=Changing(now), size=(120, 24)) as d:
        await d.key("y")
        await d.later()
        assert said in d.text


async def test_a_file_that_changes_while_the_note_is_written_is_not_written_and_the_note_stays():
    now = [None]

    async def look(_):
        return now[0]

    async with dialog(edit(), fresh=look) as d:
        await d.key("Y", *"mind")
        now[0] = FRESH
        await d.key("enter")
        await d.later()
        assert "changed on disk" in d.text
        await d.key("r")
        await d.later()
        now[0] = None
        await d.key("Y")
        assert d.screen.field.value == "mind"
        await d.key("enter")
        (decision,) = await d.answer()
        assert (decision.answer, decision.reason, decision.instead.effect) == ("yes", "mind", FRESH)


# ------------------------------------------------------------------ what was left out

BASE = numbered(60)
NEW = BASE.replace(b"line 3\n", b"a\n").replace(b"line 20\n", b"b\n").replace(b"line 40\n", b"c\n")


def three():
    return request(WriteBytes("src/a.py", BASE, NEW))


@pytest.mark.parametrize("left_out", [(1,), (2,), (3,), (1, 3)])
async def test_what_was_left_out_stays_left_out_in_the_new_change(left_out):
    fresh = WriteBytes("src/a.py", b"zero\n" + BASE, b"zero\n" + NEW)
    async with dialog(three(), fresh=Changing(fresh), size=(80, 40)) as d:
        await d.key("left_square_bracket")
        for number in (1, 2, 3):
            await d.key(*["space"] * (number in left_out), NEXT)
        await d.key("y")
        await d.later()
        await d.key("r")
        await d.later()
        assert f"takes {3 - len(left_out)} of 3 hunks" in d.text
        assert "cannot be found again" not in d.text
        await d.key("y")
        (decision,) = await d.answer()
        assert decision.instead.effect == fresh
        assert decision.chosen == frozenset({1, 2, 3}) - set(left_out)


@pytest.mark.parametrize("how", ["r", "e"])
async def test_what_was_left_out_and_is_no_more_is_said(how):
    other = NEW.replace(b"b\n", b"other\n")

    async def changed(_path, _text):
        return other

    fresh = WriteBytes("src/a.py", BASE, other)
    async with dialog(three(), fresh=Changing(fresh), edit=changed, size=(80, 40)) as d:
        await d.key(NEXT, "space", NEXT, "space")
        assert "takes 1 of 3 hunks" in d.text
        await d.key(*["y"] * (how == "r"))
        await d.later()
        await d.key(how)
        await d.later()
        assert "takes 2 of 3 hunks" in d.text
        assert "of what you left out, 1 hunk cannot be found again: choose anew" in " ".join(
            d.text.replace("│", " ").split()
        )


async def test_the_sums_of_the_question_are_counted_again_after_an_edit():
    async def changed(_path, _text):
        return b"one\n2\nthree\nfour\n"

    async with dialog(edit("1"), request(WriteBytes("b", None, b"x\n"), "2"), edit=changed, size=(100, 24)) as d:
        assert "all 2 edits: 2 files +2 -1" in d.text
        await d.key("e")
        await d.later()
        assert "all 2 edits: 2 files +3 -1" in d.text
        await d.key("y")
        await d.later()
        assert "all 2 edits: 2 files +3 -1" in d.text


class World:
    """What the file is like now; asked for each request."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    async def __call__(self, asked):
        self.asked.append(asked.id)
        return self.answer if isinstance(asked.effect, WriteBytes) and asked.effect != self.answer else None


async def test_a_file_that_changed_is_not_approved_and_its_new_change_is_offered():
    world = World(FRESH)
    async with dialog(edit(), fresh=world) as d:
        await d.key("y")
        await d.later()
        assert d.open
        assert "the file changed on disk since this was shown" in d.text
        assert "r show the new change" in d.text
        await d.key("y", "Y")
        await d.later()
        assert d.open
        assert not d.screen.field
        await d.key("r")
        await d.later()
        assert "zero" in d.text
        assert "changed on disk" not in d.text
        await d.key("y")
        (decision,) = await d.answer()
        assert decision.request_id == "1"
        assert decision.instead is not None
        assert decision.instead.id != "1"
        assert decision.instead.effect == FRESH
        assert len(set(world.asked)) == 2


async def test_the_new_change_is_asked_late_like_every_other():
    async with dialog(edit(), fresh=World(FRESH)) as d:
        await d.key("y")
        await d.later()
        await d.pilot.press("r", "y")
        await d.later(0.1)
        assert d.open
        assert d.fed == ["y"]


async def test_a_change_that_fits_no_more_can_only_be_refused():
    async with dialog(edit(), fresh=World("its old lines stand there no more")) as d:
        await d.key("y")
        await d.later()
        assert "its old lines stand there no more" in " ".join(d.text.replace("│", " ").split())
        await d.key("r")
        assert d.fed == ["r"]
        await d.later()
        await d.key("n")
        await d.pilot.press("enter")
        assert await d.answer() == (Decision("1", "no"),)


async def test_what_was_built_on_another_edit_is_not_compared_with_the_disk():
    world = World(FRESH)
    async with dialog(request(FRESH, "1"), edit("2", depends_on=("1",)), fresh=world) as d:
        await d.key("y")
        await d.later()
        await d.key("y")
        assert [decision.answer for decision in await d.answer()] == ["yes", "yes"]
        assert world.asked == ["1"]


# ------------------------------------------------------------------ notes


async def test_notes_on_lines_go_with_the_answer():
    async with dialog(edit()) as d:
        await d.key(NEXT, "down", "m")
        assert d.screen.field
        assert d.footers[-1] == ("Enter keeps the note", "Esc back")
        await d.pilot.press(*"why 2?", "enter")
        await d.later()
        assert "notes 1" in d.text
        await d.key("n")
        await d.pilot.press("n", "o", "enter")
        (decision,) = await d.answer()
        assert decision.answer == "no"
        assert decision.reason == "no\n\nNotes on your changes:\n\nsrc/a.py:2\n> 2\nwhy 2?"


async def test_a_note_on_a_removed_line_goes_with_a_yes_too():
    async with dialog(edit()) as d:
        await d.key(NEXT, "m")
        await d.pilot.press("x", "enter")
        await d.later()
        await d.key("y")
        (decision,) = await d.answer()
        assert (decision.answer, decision.chosen) == ("yes", None)
        assert "src/a.py:2 (in the text before your change)\n> two\nx" in decision.reason


async def test_a_note_is_changed_and_taken_away():
    async with dialog(edit()) as d:
        for typed in (["o", "k"], ["backspace", "backspace"]):
            await d.key(*([NEXT] if typed[0] == "o" else []), "m")
            await d.pilot.press(*typed, "enter")
            await d.later()
            assert ("notes 1" in d.text) is (typed[0] == "o")
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_notes_that_go_with_no_answer_are_given_back(key):
    async with dialog(edit("1"), edit("2"), edit("3")) as d:
        for text in ("one", "two"):
            await d.key(NEXT, "m")
            await d.pilot.press(*text, "enter")
            await d.later()
            await d.key("greater_than_sign" if text == "one" else "n")
            await d.later()
        await d.pilot.press("enter")  # no to the second, with its note
        await d.later()
        await d.key(key)
        assert [decision.answer for decision in await d.answer()] == ["stop", "no", "stop"]
        (kept,) = d.kept
        assert "one" in kept.splitlines()
        assert "two" not in kept.splitlines()


@pytest.mark.parametrize(("columns", "line"), [(80, "* - two"), (40, "-*two"), (120, "*+ 2")])
async def test_a_line_with_a_note_carries_a_mark(columns, line):
    async with dialog(edit(), size=(columns, 24)) as d:
        await d.key(NEXT, "m")
        await d.pilot.press("x", "enter")
        await d.later()
        await d.key("down")
        assert line in d.text
        await d.key("up", "m")
        await d.pilot.press("backspace", "enter")
        await d.later()
        await d.key("down")
        assert line not in d.text


async def test_a_reason_that_is_being_written_is_given_back():
    async with dialog(edit()) as d:
        await d.key("n")
        await d.pilot.press(*"use pathlib", "ctrl+c")
        await d.answer()
        assert d.kept == ["use pathlib"]


async def test_what_was_begun_is_there_again_after_a_look_at_the_change():
    async with dialog(edit()) as d:
        await d.key("n")
        await d.pilot.press(*"use", "escape")
        await d.later()
        await d.key(NEXT, "m")
        await d.pilot.press(*"odd", "escape")
        await d.later()
        await d.key("m")
        assert d.screen.field.value == "odd"
        await d.pilot.press("enter")
        await d.later()
        await d.key("s")
        assert d.screen.field.value == "", "words for another answer are others"
        await d.pilot.press("escape")
        await d.later()
        await d.key("n")
        await d.pilot.press(*" it", "enter")
        (decision,) = await d.answer()
        assert decision.reason.startswith("use it\n\nNotes on your changes:")
        assert decision.reason.endswith("odd")
        assert d.kept == []


async def test_what_was_begun_is_given_back_when_nothing_is_answered():
    async with dialog(edit()) as d:
        await d.key("n")
        await d.pilot.press(*"use pathlib", "escape")
        await d.later()
        await d.key("escape")
        await d.answer()
        assert d.kept == ["use pathlib"]


async def test_what_was_begun_for_another_answer_or_on_a_line_is_given_back_behind_the_answer():
    async with dialog(edit()) as d:
        await d.key("n")
        await d.pilot.press(*"use pathlib", "escape")
        await d.later()
        await d.key(NEXT, "m")
        await d.pilot.press(*"odd", "escape")
        await d.later()
        await d.key("y")
        assert (await d.answer())[0].answer == "yes"
        assert d.kept == ["use pathlib\n\nodd"]


async def test_a_yes_that_an_earlier_stop_keeps_from_beginning_gives_its_words_back():
    async with dialog(edit("1"), edit("2"), edit("3")) as d:
        await d.key("greater_than_sign")
        await d.later()
        await d.key("Y")
        await d.pilot.press(*"for now", "enter")
        await d.later()
        await d.key("n")
        await d.pilot.press(*"never", "enter")
        await d.later()
        await d.key("escape")
        assert [decision.answer for decision in await d.answer()] == ["stop", "yes", "no"]
        assert d.kept == ["for now"], "a no is told with its reason, whatever was stopped before it"


async def test_nothing_is_given_back_of_what_was_sent():
    async with dialog(edit()) as d:
        await d.key(NEXT, "m")
        await d.pilot.press("x", "enter")
        await d.later()
        await d.key("y")
        await d.answer()
        assert d.kept == []


async def test_a_letter_on_its_way_when_the_field_opens_is_in_the_field():
    async with dialog(edit()) as d:
        await d.key("n")
        await d.screen.on_key(events.Key("b", "b"))
        await d.pilot.press("e")
        assert d.screen.field.value == "be"


async def test_escape_leaves_a_note_without_keeping_it():
    async with dialog(edit()) as d:
        await d.key(NEXT, "m")
        await d.pilot.press("x", "escape")
        await d.later()
        assert "notes" not in d.text
        assert d.open


async def test_m_without_a_cursor_is_about_the_first_change_in_sight():
    async with dialog(edit()) as d:
        assert "m note " in d.text
        await d.key("m")
        await d.pilot.press(*"why", "enter")
        await d.later()
        await d.key("y")
        (decision,) = await d.answer()
        assert decision.reason == "Notes on your changes:\n\nsrc/a.py:2 (in the text before your change)\n> two\nwhy"
        assert d.fed == []


@pytest.mark.parametrize("effect", [RunArgv(("pytest",), 9.0), WriteBytes("a", b"\0", b"\0\0")])
async def test_m_is_text_where_there_are_no_lines(effect):
    async with dialog(request(effect)) as d:
        assert "m note" not in d.text
        assert "+0" not in d.text
        assert "hunk" not in d.text
        await d.key("m")
        assert d.fed == ["m"]


async def test_enter_counts_where_it_was_pressed_when_the_terminal_loses_the_focus_right_behind_it():
    async with dialog(edit()) as d:
        await d.key("n")
        await d.pilot.press(*"ugly")
        d.app.post_message(events.Key("enter", "\r"))
        d.app.post_message(events.AppBlur())
        (decision,) = await d.answer()
        assert (decision.answer, decision.reason) == ("no", "ugly")


async def test_notes_stay_when_the_text_is_edited_and_are_marked_outdated():
    async def changed(_path, _text):
        return b"one\nthree\n"

    async with dialog(edit(), edit=changed) as d:
        await d.key(NEXT, "down", "m")
        await d.pilot.press("x", "enter")
        await d.later()
        await d.key("e")
        await d.later()
        assert "notes 1" in d.text
        await d.key("y")
        (decision,) = await d.answer()
        assert "src/a.py:2 (outdated: the line has changed since)\n> 2\nx" in decision.reason


async def test_the_arrows_move_the_cursor_once_there_is_one_and_scroll_otherwise():
    async with dialog(request(WriteBytes("long.txt", None, numbered(100)))) as d:
        await d.key("down")
        assert d.screen.view.scroll_offset.y == 1
        assert d.screen.view.cursor_line is None
        await d.key(NEXT, "down", "down")
        assert d.screen.view.cursor_line.new == 3


async def test_blanks_are_drawn_as_marks():
    async with dialog(request(WriteBytes("a", None, b"a b\n"))) as d:
        assert "a b" in d.text
        await d.key("full_stop")
        assert "a·b" in d.text


@pytest.mark.parametrize("size", [(80, 24), (140, 40), (40, 20), (80, 14)])
@pytest.mark.parametrize("line", [1, 2, 10, 50])
async def test_a_hunk_key_puts_the_cursor_on_the_first_changed_line(line, size):
    base = numbered(50)
    new = base.replace(b"line %d\n" % (line - 1), b"new\n" * 3)
    async with dialog(request(WriteBytes("a", base, new)), size=size) as d:
        for _ in range(2):  # again in another layout
            await d.key(NEXT)
            about = d.screen.sheet.about
            assert (about.quote, about.line) in {(f"line {line - 1}", line), ("new", line)}
            assert d.screen.view.cursor_line is not None
            await d.key("v")


async def test_the_end_of_what_is_not_wrapped_is_seen_when_nothing_of_it_is_cut():
    padded = b"x = 1" + b" " * 200 + b";y\n"
    async with dialog(request(WriteBytes("a.py", None, padded))) as d:
        await d.key("w")
        assert "the changed line is shown" in d.text
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


async def test_of_what_is_cut_the_key_that_shows_it_is_named():
    padded = b"x = 1" + b" " * 200 + b"; " + b"y" * 100 + b"\n"
    async with dialog(request(WriteBytes("a.py", None, padded)), looks=Looks(wraps=False)) as d:
        await d.key("end", "y", "y")
        await d.later()
        assert d.open
        assert "w shows lines that are cut" in d.text
        await d.key("w", "end", "y")
        assert await d.answer() == (Decision("1", "yes"),)
