"""The dialog's finer keys: hunks, notes, other requests, editing first, layout and wrapping."""

from __future__ import annotations

import pytest

from tests.ui.asked import RUN, dialog, edit, numbered, request
from tui_agent.core.types import Decision, WriteBytes
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.editor import EditorError
from tui_agent.ui.looks import Looks

NEXT, PREVIOUS = "right_square_bracket", "left_square_bracket"
OTHER, BACK = "greater_than_sign", "less_than_sign"
BASE = numbered(100)
NEW = BASE.replace(b"line 20\n", b"x\n").replace(b"line 50\n", b"y\n").replace(b"line 80\n", b"z\n")


def three(name="1", **more):
    return request(WriteBytes("src/a.py", BASE, NEW), name, **more)


# ------------------------------------------------------------------ hunks


async def test_space_leaves_a_hunk_out_and_y_applies_the_rest():
    async with dialog(three(), size=(80, 40)) as d:
        await d.key(NEXT, "space")
        assert "takes 2 of 3 hunks" in d.text
        assert sum("×" in line or "›" in line for line in d.lines) == 2  # the cursor is on one
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes", chosen=frozenset({1, 3})),)


async def test_a_hunk_can_be_taken_again():
    async with dialog(three(), size=(80, 40)) as d:
        await d.key(NEXT, "space", "space")
        assert "takes" not in d.text
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


@pytest.mark.parametrize("size", [(80, 40), (140, 40)])
@pytest.mark.parametrize("left_out", [(), (1,), (2,), (3,), (1, 2), (1, 3), (2, 3)])
async def test_every_choice_of_hunks(left_out, size):
    async with dialog(three(), size=size) as d:
        await d.key(PREVIOUS)
        for number in (1, 2, 3):
            if number in left_out:
                await d.key("space")
            await d.key(NEXT)
        await d.key("y")
        chosen = frozenset({1, 2, 3}) - set(left_out) if left_out else None
        assert await d.answer() == (Decision("1", "yes", chosen=chosen),)


async def test_nothing_taken_is_not_a_yes():
    async with dialog(edit()) as d:
        await d.key(NEXT, "space")
        assert "nothing is taken: n says no" in d.text
        await d.key("y", "Y")
        assert d.open
        assert not d.screen.field
        await d.key("space", "y")
        assert await d.answer() == (Decision("1", "yes"),)


async def test_space_is_text_until_a_hunk_key_put_a_cursor_in_sight():
    async with dialog(three(), size=(80, 18)) as d:
        await d.key("space")
        assert d.fed == ["space"]
        await d.later()
        await d.key(NEXT, "home", "space")  # the cursor is out of sight
        assert d.fed == ["space", "space"]
        assert "takes" not in d.text


async def test_space_in_a_command_is_text():
    async with dialog(RUN) as d:
        await d.key(NEXT, "space")
        assert d.fed == ["right_square_bracket"] or d.fed[-1] == "space"
        assert d.open


# ------------------------------------------------------------------ yes with a note


async def test_a_yes_with_a_note():
    async with dialog(edit()) as d:
        await d.key("Y")
        assert d.screen.field
        assert "yes, with this note" in d.text
        await d.pilot.press(*"add a test", "enter")
        assert await d.answer() == (Decision("1", "yes", "add a test"),)


async def test_escape_leaves_the_note_without_an_answer():
    async with dialog(edit()) as d:
        await d.key("Y")
        await d.pilot.press("o", "k", "escape")
        await d.later()
        assert d.open
        assert not d.screen.field
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


async def test_a_note_needs_the_second_press_too_when_lines_are_unseen():
    async with dialog(request(WriteBytes("long.txt", None, numbered(100)))) as d:
        await d.key("Y")
        assert not d.screen.field
        assert "y again" in d.text
        await d.later()
        await d.key("Y")
        assert d.screen.field


# ------------------------------------------------------------------ other requests


async def test_questions_can_be_answered_in_any_order():
    async with dialog(edit("1"), RUN_2, edit("3")) as d:
        await d.key(BACK)
        await d.later()
        assert "3/3" in d.text
        await d.key("n")
        await d.pilot.press("enter")
        await d.later()
        assert "1/3" in d.text
        await d.key(OTHER)
        await d.later()
        assert "git commit" in d.text
        await d.key("y")
        await d.later()
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"), Decision("2", "yes"), Decision("3", "no"))


async def test_going_away_and_back_keeps_what_was_chosen_and_seen():
    async with dialog(three("1"), edit("2"), size=(80, 40)) as d:
        await d.key(NEXT, "space", "right_curly_bracket")
        await d.later()
        assert "2/2" in d.text
        await d.key("left_curly_bracket")
        await d.later()
        assert "takes 2 of 3 hunks" in d.text
        assert d.screen.view.seen == d.screen.view.total == 6


async def test_the_dialog_is_deaf_after_every_move():
    async with dialog(edit("1"), edit("2")) as d:
        await d.pilot.press(OTHER, "y")
        await d.later(0.1)
        assert d.fed == ["y"]
        assert not d.task.done()


async def test_with_one_request_the_keys_for_others_are_text():
    async with dialog(edit()) as d:
        await d.key(OTHER)
        assert d.fed == [OTHER]


async def test_the_whole_question_is_counted():
    async with dialog(three("1"), edit("2"), RUN_3) as d:
        assert "all 2 edits: 1 file +4 -4" in " ".join(d.text.split())


async def test_what_depends_on_a_partly_taken_edit_is_not_asked():
    async with dialog(three("1"), edit("2", depends_on=("1",)), edit("4"), size=(80, 40)) as d:
        await d.key(NEXT, "space", "y")
        await d.later()
        assert "3/3" in d.text
        await d.key("y")
        first, second, third = await d.answer()
        assert first.chosen == {1, 3}
        assert (second.answer, second.by) == ("skip", "rule")
        assert third.answer == "yes"


RUN_2 = request(RUN.effect, "2")
RUN_3 = request(RUN.effect, "3")

# ------------------------------------------------------------------ edit first


def editing(result):
    async def edit_text(path, text):
        assert path == "src/a.py"
        return result(text) if callable(result) else result

    return edit_text


async def test_an_edited_text_must_be_approved_again_under_a_new_id():
    async with dialog(edit("1"), edit=editing(lambda text: text + b"four\n")) as d:
        assert "e edit first" in " ".join(d.text.split())
        await d.pilot.press("e", "y")
        await d.later(0.1)
        assert not d.task.done()
        await d.later()
        assert "four" in d.text
        await d.key("y")
        (decision,) = await d.answer()
        assert decision.request_id == "1"
        assert decision.instead.id != "1"
        assert decision.instead.effect == WriteBytes("src/a.py", b"one\ntwo\nthree\n", b"one\n2\nthree\nfour\n")


@pytest.mark.parametrize("keys", [("n", "enter"), ("escape",), ("s", "enter")])
async def test_an_edited_text_that_is_not_applied_is_given_back(keys):
    async with dialog(edit("1"), edit=editing(lambda text: text + b"four\n")) as d:
        await d.pilot.press("e")
        await d.later()
        await d.key(*keys)
        (decision,) = await d.answer()
        assert (decision.answer, decision.instead) == ({"n": "no", "s": "skip"}.get(keys[0], "stop"), None)
        assert d.kept == ["src/a.py as I edited it:\none\n2\nthree\nfour\n"]


async def test_yes_to_a_text_that_was_edited_back_to_the_old_one_is_no_answer():
    async with dialog(edit("1"), edit=editing(b"one\ntwo\nthree\n")) as d:
        await d.key("e")
        await d.later()
        assert "nothing is changed: n says no" in d.text
        await d.key("y")
        await d.later()
        assert not d.task.done()
        await d.key("n", "enter")
        (decision,) = await d.answer()
        assert decision.answer == "no"


def failing(_text):
    raise EditorError("vim ended with 1; nothing was taken from it.")


@pytest.mark.parametrize(
    ("result", "said"), [(failing, "vim ended with 1"), (b"one\n2\nthree\n", "the text was not changed")]
)
async def test_an_editor_without_a_result_changes_nothing_and_says_so(result, said):
    async with dialog(edit("1"), edit=editing(result)) as d:
        await d.key("e")
        await d.later()
        assert said in d.text
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


async def test_what_cannot_be_edited_is_not_offered():
    gone = request(WriteBytes("src/a.py", b"x\n", None))
    async with dialog(gone, edit=editing(b"")) as d:
        assert "edit first" not in d.text
        await d.key("e")
        assert d.fed == ["e"]


@pytest.mark.parametrize("end", [("n", "enter"), ("s", "enter"), ("escape",)])
async def test_words_with_a_yes_that_another_answer_made_void_are_given_back(end):
    later = request(WriteBytes("src/a.py", b"one\n2\nthree\n", b"1\n2\nthree\n"), "2", depends_on=("1",))
    async with dialog(edit("1"), later) as d:
        await d.key("greater_than_sign")
        await d.later()
        await d.key("m", *"line", "enter")
        await d.later()
        await d.key("Y", *"note", "enter")
        await d.later()
        await d.key(*end)
        decisions = await d.answer()
        assert decisions[1].answer in {"skip", "yes"}
        assert decisions[1].answer == "skip" or decisions[0].answer == "stop"
        (kept,) = d.kept
        assert kept.startswith("note\n\nNotes on your changes:")
        assert kept.endswith("line")


# ------------------------------------------------------------------ looks


async def test_side_by_side_when_each_side_is_wide_enough():
    async with dialog(three(), size=(140, 40)) as d:
        assert "side by side (auto)" in d.text
        assert any("- line 20" in line and "+ x" in line for line in d.lines)
        await d.pilot.resize_terminal(100, 40)
        await d.later()
        assert "unified (auto)" in d.text
        assert not any("- line 20" in line and "+ x" in line for line in d.lines)


async def test_v_goes_round_the_layouts_and_the_session_remembers():
    looks = Looks()
    async with dialog(three("1"), three("2"), size=(140, 40), looks=looks) as d:
        await d.key("v")
        assert "unified" in d.text
        assert looks.sides == "unified"
        await d.key("v")
        assert "side by side" in d.text
        await d.key("v")
        assert "side by side (auto)" in d.text
        await d.key("v", OTHER)
        await d.later()
        assert "side by side" not in d.text


async def test_a_narrow_screen_stays_unified_and_says_why():
    async with dialog(three(), size=(50, 30), looks=Looks("beside")) as d:
        assert "unified (too narrow for two sides)" in " ".join(d.text.split())


async def test_a_new_file_has_one_side():
    async with dialog(request(WriteBytes("a", None, b"x\n")), size=(140, 40)) as d:
        assert "side by side" not in d.text
        assert "unified" not in d.text


async def test_the_hunk_stays_in_sight_and_what_was_seen_stays_seen_in_the_other_layout():
    async with dialog(three(), size=(140, 18)) as d:
        await d.key(NEXT, NEXT, NEXT, "end", PREVIOUS)
        assert "hunk 2/3" in d.text
        seen = d.screen.view.seen
        assert seen == d.screen.view.total == 6
        await d.key("v")
        await d.later()
        assert "hunk 2/3" in d.text
        assert d.screen.view.seen == 6
        assert any("- line 50" in line for line in d.lines)


async def test_a_choice_survives_the_other_layout():
    async with dialog(three(), size=(140, 40)) as d:
        await d.key(NEXT, "space", "v")
        await d.later()
        assert "takes 2 of 3 hunks" in d.text
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes", chosen=frozenset({1, 3})),)


async def test_cut_lines_do_not_count_as_seen():
    long = b"a" * 300 + b"\n"
    async with dialog(request(WriteBytes("a", b"b\n", long)), looks=Looks(wraps=False)) as d:
        view = d.screen.view
        assert (view.seen, view.total) == (1, 2)
        assert any(line.rstrip(" │").endswith("a…") for line in d.lines)
        await d.key("w")
        await d.later()
        assert (view.seen, view.total) == (2, 2)
        assert any("↩" in line for line in d.lines)


async def test_very_long_lines_are_shown_whole_in_either_layout():
    long = b"a" * 5_000 + b"\n"
    async with dialog(request(WriteBytes("a", b"b\n", long)), size=(140, 60)) as d:
        assert isinstance(d.screen.view, DiffView)
        assert d.text.count("a" * 60) > 30


async def test_code_is_coloured_for_what_is_on_screen():
    source = b"def f():\n    return 'x'  # why\n"
    async with dialog(request(WriteBytes("a.py", b"", source))) as d:
        view = d.screen.view
        for _ in range(200):
            if view.coloured:
                break
            await d.pilot.pause(0.02)
        await d.pilot.pause()
        assert {"comment", "keyword", "literal"} <= {part for _, part in view._styles}
        assert "return 'x'  # why" in d.text


async def test_x_shows_the_unchanged_lines_and_counts_nothing_as_changed():
    base = numbered(40)
    new = base.replace(b"line 10\n", b"ten\n").replace(b"line 30\n", b"thirty\n")
    async with dialog(request(WriteBytes("a.txt", base, new)), size=(80, 60)) as d:
        assert "x unchanged" in " ".join(d.text.split())
        assert "unchanged x" not in d.text
        total = d.screen.view.total
        await d.key("x")
        assert "line 5" in d.text
        assert (d.screen.view.total, d.screen.view.seen) == (total, total)
        assert d.fed == []
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


async def test_x_is_text_where_nothing_is_folded():
    async with dialog(edit("1")) as d:
        await d.key("x")
        assert d.fed == ["x"]


async def test_o_gives_all_of_it_to_the_pager_and_the_dialog_is_deaf_again():
    read = []

    async def page(view):
        read.append(view.whole())

    async with dialog(request(WriteBytes("long.txt", None, numbered(100))), page=page) as d:
        assert "o pager" in " ".join(d.text.split())
        await d.pilot.press("o")
        await d.pilot.pause()
        assert read[0].count("\n+line") == 100
        assert not d.screen.armed
        assert d.screen.view.seen < 100, "nobody knows how far they read"
        await d.pilot.press("y")
        assert d.fed == ["y"]


async def test_a_pager_that_cannot_be_had_is_said():
    async def page(view):
        raise EditorError("No pager was found. Set PAGER to the name of yours.")

    async with dialog(RUN, page=page) as d:
        await d.key("o")
        await d.later()
        assert "Set PAGER" in d.text
