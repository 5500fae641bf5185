"""The review pane: where am I, taking back at the second press, notes, the editor, the way back."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.app import App

from tests.ui.test_app import until
from tui_agent.core.types import ApprovalRequest, Outcome, PolicyRequest, ToolCall, WriteBytes
from tui_agent.review import Entry
from tui_agent.ui import review
from tui_agent.ui.actions import ACTIONS
from tui_agent.ui.keymap import textual_name
from tui_agent.ui.review import OWN, Review, World

STYLES = [Path(__file__).parents[2] / "styles" / f"{name}.tcss" for name in ("approval", "review")]
BASE = b"".join(b"line %d\n" % n for n in range(60))
NEW = BASE.replace(b"line 10\n", b"ten\n").replace(b"line 30\n", b"").replace(b"line 50\n", b"fifty\n")
FILES = (
    Entry("src/a.py", BASE, NEW, added=2, removed=3),
    Entry("b.txt", None, b"x\n", added=1),
    Entry("c.txt", b"1\n", b"2\n", proposed=True, words="refused: ugly"),
)


class Pane:
    def __init__(self, files):
        self.files, self.reverted, self.opened, self.result = files, [], [], None
        self.asked, self.working, self.outcome = [], False, Outcome("applied", "")
        self.applied, self.kept, self.disk, self.paged = [], [], {}, []

    async def find(self, base):
        self.asked.append(base)
        for entry in self.files:
            yield entry

    async def page(self, view):
        self.paged.append(view.whole())

    async def present(self, path):
        return self.disk.get(path, next(entry.now for entry in self.files if entry.path == path))

    async def apply(self, entry, hunks):
        self.applied.append((entry.path, hunks))
        return self.outcome

    async def revert(self, entry, hunks):
        self.reverted.append((entry.path, hunks))
        return self.outcome

    @property
    def text(self):
        return "\n".join(strip.text.rstrip() for strip in self.app.screen._compositor.render_strips())

    async def key(self, *keys):
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause()
        await self.pilot.pause()


class Host(App):
    CSS_PATH = STYLES


@asynccontextmanager
async def pane(files=FILES, size=(120, 30)):
    made = Pane(files)
    async with Host().run_test(size=size) as pilot:
        made.pilot, made.app = pilot, pilot.app
        world = World(
            made.find,
            made.revert,
            made.apply,
            lambda *place: made.opened.append(place),
            lambda: made.working,
            page=made.page,
            present=made.present,
            keep=made.kept.append,
        )
        pilot.app.push_screen(Review(world), lambda result: setattr(made, "result", result))
        await pilot.pause()
        await pilot.pause()
        yield made


NEXT, PREVIOUS = "right_square_bracket", "left_square_bracket"
NEXT_FILE, PREVIOUS_FILE = "right_curly_bracket", "left_curly_bracket"


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


async def test_a_hunk_is_taken_back_at_the_second_press():
    async with pane() as d:
        await d.key(NEXT, "u")
        assert d.reverted == []
        assert "u again takes back hunk 2" in d.text
        await d.key("u")
        assert d.reverted == [("src/a.py", frozenset({2}))]
        assert d.asked == ["session", "session"]


@pytest.mark.parametrize("other", ["down", "x", "escape", "U"])
async def test_any_other_key_takes_the_question_back(other):
    async with pane() as d:
        await d.key(NEXT, "u", other, "u")
        assert d.reverted == []
        assert isinstance(d.app.screen, Review)


async def test_marked_hunks_are_taken_back_together():
    async with pane() as d:
        await d.key(PREVIOUS, "space", NEXT, NEXT, "space")
        assert "2 marked" in d.text
        await d.key("u", "u")
        assert d.reverted == [("src/a.py", frozenset({1, 3}))]


async def test_the_whole_file():
    async with pane() as d:
        await d.key("U", "U")
        assert d.reverted == [("src/a.py", None)]


async def test_what_was_refused_cannot_be_taken_back():
    async with pane() as d:
        await d.key(PREVIOUS_FILE, "u", "u", NEXT, "space", "U", "U")
        assert d.reverted == []


async def test_nothing_is_taken_back_while_a_turn_runs():
    async with pane() as d:
        d.working = True
        await d.key("u", "u")
        assert d.reverted == []


async def test_b_goes_round_the_bases_and_only_against_the_session_is_taken_back():
    async with pane() as d:
        for base, words in (("turn", "since your last message"), ("head", "against HEAD")):
            await d.key("b")
            assert d.asked[-1] == base
            assert words in d.text
            await d.key("u", "u")
            assert d.reverted == []
        await d.key("b")
        assert d.asked == ["session", "turn", "head", "session"]
        await d.key(NEXT, "u", "u")
        assert d.reverted == [("src/a.py", frozenset({2}))]


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


async def test_all_hunks_are_marked_and_unmarked():
    async with pane() as d:
        await d.key("a")
        assert "3 marked" in d.text
        await d.key("u", "u")
        assert d.reverted == [("src/a.py", frozenset({1, 2, 3}))]
        await d.key("a")  # the marks stay as long as the file is as it was
        assert "marked" not in d.text


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


# ------------------------------------------------------------------ what was not applied

ASKED = ApprovalRequest(
    "7", ToolCall("c", "edit_file", {}), WriteBytes("d.txt", BASE, NEW), PolicyRequest("edit_file", "write"), ""
)
PARKED = Entry("d.txt", BASE, NEW, proposed=True, words="left out", request=ASKED)


async def test_a_parked_change_is_applied_at_the_second_press():
    async with pane((PARKED,)) as d:
        assert "A apply" in d.text
        await d.key("A")
        assert "A again applies this change" in d.text
        assert d.applied == []
        await d.key("A")
        assert d.applied == [("d.txt", None)]
        assert d.asked == ["session", "session"]


async def test_some_of_its_hunks_are_applied():
    async with pane((PARKED,)) as d:
        await d.key(NEXT, "space")
        assert "1 left out" in d.text
        await d.key("A", "A")
        assert d.applied == [("d.txt", frozenset({1, 3}))]


@pytest.mark.parametrize("other", ["down", "u", "x", "escape"])
async def test_any_other_key_takes_that_question_back_too(other):
    async with pane((PARKED,)) as d:
        await d.key("A", other, "A")
        assert d.applied == []


async def test_what_does_not_fit_any_more_or_is_applied_already_is_not_applied():
    async with pane() as d:
        await d.key("A", "A", PREVIOUS_FILE, "A", "A")
        assert d.applied == []


async def test_nothing_taken_is_nothing_to_apply():
    async with pane((PARKED,)) as d:
        await d.key("a", "A", "A")
        assert d.applied == []


async def test_a_failure_is_said():
    async with pane() as d:
        d.outcome = Outcome("error", "the file was changed since")
        await d.key("u", "u")
        assert "the file was changed since" in d.text


async def test_notes_come_back_as_one_message():
    async with pane() as d:
        await d.key(NEXT, "m")
        assert "note on line 31" in d.text
        await d.key(*"why?", "enter")
        assert "notes 1" in d.text
        assert d.kept[-1] == "Notes on your changes:\n\nsrc/a.py:31 (a line that you removed)\n> line 30\nwhy?"
        await d.key(NEXT_FILE, "down", "m", *"ok", "enter", "escape")
        assert d.result == (
            "Notes on your changes:\n\nsrc/a.py:31 (a line that you removed)\n> line 30\nwhy?\n\nb.txt:1\n> x\nok"
        )


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


async def test_a_note_side_by_side_is_about_the_new_line():
    async with pane(size=(160, 30)) as d:
        assert "side by side" in d.text
        await d.key(PREVIOUS, "m", *"10", "enter", "escape")
        assert "src/a.py:11\n> ten\n10" in d.result


async def test_escape_drops_a_note_and_then_leaves():
    async with pane() as d:
        await d.key("down", "down", "m", "x", "escape")
        assert isinstance(d.app.screen, Review)
        await d.key("escape")
        assert d.result == ""


async def test_a_note_without_a_cursor_is_about_the_first_change_in_sight():
    async with pane(size=(120, 14)) as d:
        await d.key("m", *"uuAA", "enter")
        (note,) = d.app.screen.notes.items
        assert (note.quote, note.text) == ("line 10", "uuAA")
        assert d.reverted == d.applied == []
        await d.key("pagedown", "m", "x", "enter")
        assert d.app.screen.notes.items[1].line > 20


@pytest.mark.parametrize("entry", [FILES[2], Entry("bin", b"\0a", b"\0b")])
async def test_where_no_note_can_be_written_it_is_said(entry):
    async with pane((entry,)) as d:
        await d.key("m")
        assert d.app.screen.focused is None
        assert " note about" in d.text or "A note is about a line of a change that was applied." in d.text


async def test_a_word_about_a_key_stands_where_the_keys_stand_until_the_next_one():
    async with pane((FILES[2],)) as d:
        before = d.text
        await d.key("u")
        assert d.text.splitlines()[:-1] == before.splitlines()[:-1]
        assert "Only a change since the start of the session" in d.text.splitlines()[-1]
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


@pytest.mark.parametrize("now", [b"x", None, NEW.replace(b"ten", b"TEN")], ids=["other", "gone", "that line"])
async def test_a_note_whose_line_changed_under_the_open_pane_is_marked(now):
    async with pane() as d:
        await d.key(NEXT, PREVIOUS, "down", "m", "o", "enter")
        line = d.app.screen.notes.items[0]
        assert line.quote == "ten"
        d.disk["src/a.py"] = now
        await d.key("escape")
        assert f"src/a.py:{line.line} (outdated: the line has changed since)\n> ten" in d.result


async def test_a_note_whose_line_stands_is_not_marked():
    async with pane() as d:
        await d.key(NEXT, NEXT, "down", "m", "o", "enter")
        assert d.app.screen.notes.items[0].quote == "fifty"
        d.disk["src/a.py"] = NEW.replace(b"ten", b"TEN")
        await d.key("escape")
        assert "outdated" not in d.result


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


async def test_a_change_of_permission_bits_alone_is_said_and_not_taken_back():
    async with pane((Entry("run.sh", b"x\n", b"x\n", words="mode 644 → 755"),)) as d:
        assert "mode 644 → 755" in d.text
        assert "no difference" in d.text
        await d.key("u", "u")
        assert d.reverted == []
