"""The review pane: where am I, what is shown of odd files, the editor, the pager, the way back."""

from __future__ import annotations

import asyncio

import pytest
from rich.cells import cell_len

from tests.ui.pane import BASE, FILES, NEW, NEXT, NEXT_FILE, PREVIOUS, PREVIOUS_FILE, pane
from tests.waiting import until
from tui_agent.core.receipt import Receipt
from tui_agent.review import Entry
from tui_agent.ui import review
from tui_agent.ui.actions import ACTIONS
from tui_agent.ui.keymap import textual_name
from tui_agent.ui.review import OWN, Review
from tui_agent.ui.review_text import Sums, head
from tui_agent.undo import Turn


@pytest.mark.parametrize("size", [(120, 30), (80, 24)])
@pytest.mark.parametrize(("forth", "back"), [(NEXT, PREVIOUS), ("n", "p")])
async def test_walk_over_hunks(forth, back, size):
    async with pane(size=size) as d:
        assert "2 files +3 -3" in d.text
        assert "1 not applied" in d.text
        assert "hunk 1/3" in d.text
        await d.key(forth, forth)
        assert "hunk 3/3" in d.text
        await d.key(back)
        assert "hunk 2/3" in d.text


@pytest.mark.parametrize(("forth", "back"), [(NEXT_FILE, PREVIOUS_FILE), ("N", "P")])
async def test_walk_over_files_and_round_the_end(forth, back):
    async with pane() as d:
        assert "file 1/3" in d.text
        await d.key(forth)
        assert "file 2/3" in d.text
        assert "› A b.txt" in d.text
        await d.key(back, back)
        assert "file 3/3" in d.text
        assert "refused: ugly" in d.text


async def test_the_picture_at_40_columns():
    async with pane(size=(40, 20)) as d:
        assert "M src/a.py   f 1/3  h 1/3" in d.text
        assert "ten" in d.text


async def test_hunks_are_walked_across_files_both_ways_with_a_word_at_the_end():
    async with pane() as d:
        await d.key(NEXT, NEXT)
        assert "hunk 3/3" in d.text
        await d.key(NEXT)
        assert "file 2/3  hunk 1/1" in d.text
        await d.key(NEXT, NEXT)
        assert "file 1/3  hunk 1/3" in d.text
        assert "From the last file to the first." in d.text
        await d.key(PREVIOUS)
        assert "file 3/3" in d.text
        await d.key(PREVIOUS, PREVIOUS)
        assert "file 1/3  hunk 3/3" in d.text


async def test_beyond_the_last_hunk_of_the_only_file_the_cursor_stays():
    async with pane(FILES[:1]) as d:
        await d.key(PREVIOUS, PREVIOUS, "down")
        assert d.app.screen.view.cursor_hunk == 1
        assert d.app.screen.view.cursor_line.new == 11


async def test_a_hunk_is_copied_as_a_diff():
    async with pane() as d:
        await d.key(NEXT, "y")
        assert d.app.clipboard == (
            "--- a/src/a.py\n+++ b/src/a.py\n@@ -28,7 +28,6 @@\n line 27\n line 28\n line 29\n-line 30\n"
            " line 31\n line 32\n line 33\n"
        )


async def test_the_difference_over_the_whole_width():
    async with pane() as d:
        assert "› M src/a.py" in d.text
        await d.key("z")
        assert "› M src/a.py" not in d.text
        await d.key("z")
        assert "› M src/a.py" in d.text


@pytest.mark.parametrize("key", ["v", "w", "full_stop"])
async def test_looks_are_those_of_the_session(key):
    async with pane(size=(160, 30)) as d:
        before = d.text.splitlines()[2:-1]
        await d.key(key)
        looks = d.app.screen._world.looks
        assert (looks.sides, looks.wraps, looks.blanks) == {
            "v": ("unified", True, False),
            "w": ("auto", False, False),
            "full_stop": ("auto", True, True),
        }[key]
        assert (d.text.splitlines()[2:-1] == before) is (key == "w")  # no line is long here


async def test_a_change_under_the_pane_is_shown_and_the_person_stays_where_they_are(monkeypatch):
    monkeypatch.setattr(review, "AGAIN_AFTER", 0.01)
    async with pane() as d:
        await d.key(NEXT, NEXT, NEXT, PREVIOUS, "space", "u")
        view = d.app.screen.view
        d.files = (FILES[0], Entry("b.txt", None, b"x\ny\n", added=2))
        d.app.screen.look_again()
        await until(lambda: "2 files +4 -3" in d.text)
        assert d.app.screen.view is view  # the file that is shown did not change
        assert view.cursor_hunk == 3
        assert view.left_out == {3}
        await d.key("u")
        assert d.reverted == []  # it asks anew
        d.files = (Entry("src/a.py", BASE, NEW + b"more\n", added=3, removed=3), d.files[1])
        d.app.screen.look_again()
        await until(lambda: "2 files +5 -3" in d.text and d.app.screen.view is not view)
        await until(lambda: d.app.screen.view.cursor_hunk == 3)


async def test_a_word_about_a_key_stands_where_the_keys_stand_until_the_next_one():
    async with pane((FILES[2],)) as d:
        before = d.text
        await d.key("u")
        assert d.text.splitlines()[:-1] == before.splitlines()[:-1]
        assert "Only a change of this session" in d.text.splitlines()[-1]
        await d.key("z")
        assert "Only a change" not in d.text
        assert not d.app._notifications


@pytest.mark.parametrize(
    ("size", "named"),
    [((120, 30), ["unified (auto)", "unified", "side by side"]), ((40, 20), ["", "unified", "unified (too narrow"])],
)
async def test_the_layout_is_named_and_v_is_never_silent(size, named):
    async with pane(size=size) as d:
        for words in named:
            assert words in "\n".join(d.text.splitlines()[2:4])
            await d.key("v")
        await d.key(NEXT_FILE, "v")
        assert "There is only one side." in d.text


async def test_the_editor_opens_at_the_line_and_the_files_are_read_again():
    async with pane() as d:
        await d.key(PREVIOUS, "e")
        assert d.opened == [("src/a.py", 11)]
        assert len(d.asked) == 2


@pytest.mark.parametrize("entry", [FILES[2], Entry("gone", b"1\n", None)])
async def test_no_file_no_editor(entry):
    async with pane((entry,)) as d:
        await d.key("e")
        assert d.opened == []


async def test_what_is_found_while_the_pane_is_taken_down_is_drawn_nowhere():
    async with pane() as d:
        screen = d.app.screen
    screen._draw()  # as its worker does, which ends after its widgets


async def test_the_file_and_its_difference_are_one_whatever_comes_together():
    files = tuple(Entry(f"f{n}.py", b"1\n", b"%d\n" % (n + 20), added=1, removed=1) for n in range(6))
    async with pane(files) as d:
        screen = d.app.screen
        for n in range(30):
            screen._find()
            for _ in range(n % 7):
                await asyncio.sleep(0)
            await screen.action_file(1)
            assert screen.entry.path == screen.view.path
        await d.pilot.pause()
        assert len(screen.query("DiffView")) == 1
        assert f"› M {screen.view.path}" in d.text


async def test_of_several_changes_of_one_file_the_shown_one_stays(monkeypatch):
    monkeypatch.setattr("tui_agent.ui.review.AGAIN_AFTER", 0.01)
    ways = [Entry("src/a.py", b"1\n", b"%d\n" % n, proposed=True, words=f"refused: {n}", call=str(n)) for n in (2, 3)]
    async with pane((FILES[0], *ways)) as d:
        await d.key(NEXT_FILE, NEXT_FILE)
        assert "refused: 3" in d.text
        count = len(d.asked)
        d.app.screen.look_again()
        await until(lambda: len(d.asked) > count and not d.app.screen.sums.more)
        await d.pilot.pause()
        assert "refused: 3" in d.text
        d.files = (FILES[0], ways[0])  # it was applied: its file is shown
        await d.key("b")
        assert "file 1/2" in d.text


@pytest.mark.parametrize("key", [NEXT, PREVIOUS])
@pytest.mark.parametrize(
    "other",
    [Entry("run.sh", b"x\n", b"x\n", words="mode 644 → 755"), Entry("b", b"\0", b"\0\0"), Entry("e", None, b"")],
    ids=["mode", "binary", "empty"],
)
async def test_hunks_are_walked_into_a_file_that_has_none(key, other):
    async with pane((Entry("a.py", b"1\n", b"2\n"), other)) as d:
        await d.key(PREVIOUS, key)
        assert d.app.screen.entry == other
        await d.key(key, key)
        assert d.app.screen.view is not None


async def test_nothing_changed():
    async with pane(()) as d:
        assert "Nothing was changed." in d.text
        await d.key(NEXT, NEXT_FILE, "down", "u", "m", "e", "v", "w", "b", "pagedown", "escape")
        assert d.result == ""


async def test_a_file_whose_old_bytes_are_not_held_is_named():
    async with pane((Entry("a", None, b"x", words="changed by a command, cannot be restored", known=False),)) as d:
        assert "changed by a command" in d.text
        await d.key("U", "U")
        assert d.reverted == []


async def test_hostile_names_and_words_are_shown_as_text():
    async with pane((Entry("a\x1b[31m[b]", b"1\n", b"\x1b2\n", words="\x1b]0;x"),)) as d:
        assert "\x1b" not in d.text
        assert "<ESC>[31m[b]" in d.text


async def test_letters_that_pose_as_others_are_marked_in_the_list_and_above_the_file():
    async with pane((Entry("\u0430pp.py", b"1\n", b"2\n"), Entry("app.py", b"1\n", b"2\n"))) as d:
        assert d.text.count("M <U+0430>pp.py") == 2
        assert "\u0430" not in d.text


@pytest.mark.parametrize("size", [(120, 30), (60, 12), (20, 6), (1, 1)])
async def test_every_size(size):
    async with pane() as d:
        await d.pilot.resize_terminal(*size)
        await d.key(NEXT, "down", "v", "w")
        assert isinstance(d.app.screen, Review)


async def test_many_files_keep_the_present_one_in_the_list():
    async with pane(tuple(Entry(f"f{n}", None, b"x\n") for n in range(100))) as d:
        await d.key(PREVIOUS_FILE)
        assert "› A f99" in d.text
        assert "A f1 " not in d.text


@pytest.mark.parametrize("key", ["x", "enter"])
async def test_unchanged_lines_can_be_shown(key):
    async with pane(size=(120, 60)) as d:
        assert "line 5\n" not in d.text
        await d.key(key)
        assert "line 5\n" in d.text
        await d.key(key)
        assert "line 5\n" not in d.text


async def test_the_whole_difference_in_the_pager():
    async with pane() as d:
        await d.key("o")
        assert d.paged[0].startswith("--- a/src/a.py")


async def test_every_action_of_the_table_is_done_by_the_pane():
    actions = {action.id: action for action in ACTIONS if action.scope == "review"}
    assert actions.keys() == OWN.keys()
    async with pane() as d:
        for action in actions.values():
            assert {d.app.screen.active_bindings[textual_name(key)].binding.id for key in action.keys} == {action.id}
            name = OWN[action.id].partition("(")[0]
            assert hasattr(d.app.screen, f"action_{name}")


async def test_all_keys_are_listed_and_one_can_be_chosen():
    async with pane() as d:
        await d.key("question_mark")
        for title in ("The hunk after this, or the next file", "Take back the whole file"):
            assert title in d.text
        await d.key(*"zoom", "escape")
        assert "src/a.py" in d.text
        await d.key("question_mark")
        await d.key(*"pager", "enter")
        assert len(d.paged) == 1


@pytest.mark.parametrize("width", [36, 40, 50, 60, 80, 120])
@pytest.mark.parametrize("base", ["session", "turn", "head"])
def test_no_number_of_the_head_is_lost_where_there_is_little_room(width, base):
    sums = Sums(files=2, added=1234, removed=56, others=3, more=False, known=True)
    words = head(sums, base, 4, width).plain
    assert cell_len(words) <= width - 2
    assert "+1,234 -56" in words
    assert "notes 4" in words
    assert ("3 not applied" in words) != ("x 3" in words)


async def test_where_nothing_is_shown_only_what_does_something_is_offered():
    async with pane(()) as d:
        assert d.text.splitlines()[-1].strip().split("   ") == ["b base", "? all keys", "Esc back"]


async def test_of_binary_files_no_lines_are_counted():
    async with pane((Entry("a.bin", b"\0", b"\0\0", binary=True),)) as d:
        assert "› M a.bin" in d.text
        assert "binary │" in d.text
        assert "+0 -0" not in d.text


async def test_the_turns_that_changed_files_are_listed_and_those_of_the_shown_one_marked():
    def turn(number, text, path):
        return Turn(number, text, (Receipt("w", "c", "write", {}, path=path, before="x", after="y"),))

    turns = (turn(3, "fix the\nb column", "b.txt"), turn(1, "read, then " + "plan " * 20, "src/a.py"))
    async with pane(turns=turns) as d:
        rows = [line[:33].rstrip() for line in d.text.splitlines()]
        at = rows.index("  turns")
        assert rows[at + 1] == "   3 fix the b column"
        assert rows[at + 2].startswith("›  1 read, then plan")
        assert rows[at + 2].endswith("…")
        await d.key(NEXT_FILE)
        assert "›  3 fix the b column" in d.text
        assert "›  1" not in d.text
