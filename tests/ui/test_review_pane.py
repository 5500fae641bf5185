"""The review pane: where am I, taking back at the second press, notes, the editor, the way back."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.app import App

from tui_agent.core.types import Outcome
from tui_agent.review import Entry
from tui_agent.ui.review import Review, World

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

    async def find(self, base):
        self.asked.append(base)
        return self.files

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
        world = World(made.find, made.revert, lambda *place: made.opened.append(place), lambda: made.working)
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


async def test_against_the_turn_nothing_is_taken_back():
    async with pane() as d:
        await d.key("b")
        assert d.asked == ["session", "turn"]
        assert "since your last message" in d.text
        await d.key("u", "u")
        assert d.reverted == []


async def test_a_failure_is_said():
    async with pane() as d:
        d.outcome = Outcome("error", "the file was changed since")
        await d.key("u", "u")
        assert [n.message for n in d.app._notifications] == ["the file was changed since"]


async def test_notes_come_back_as_one_message():
    async with pane() as d:
        await d.key(NEXT, "down", "down", "down", "m")
        assert "note on line 31" in d.text
        await d.key(*"why?", "enter")
        assert "notes 1" in d.text
        await d.key(NEXT_FILE, "down", "m", *"ok", "enter", "escape")
        assert d.result == (
            "Notes on your changes:\n\nsrc/a.py:31 (a line that you removed)\n> line 30\nwhy?\n\nb.txt:1\n> x\nok"
        )


async def test_a_note_side_by_side_is_about_the_new_line():
    async with pane(size=(160, 30)) as d:
        assert "side by side" in d.text
        await d.key(PREVIOUS, "down", "down", "down", "m", *"10", "enter", "escape")
        assert "src/a.py:11\n> ten\n10" in d.result


async def test_escape_drops_a_note_and_then_leaves():
    async with pane() as d:
        await d.key("down", "down", "m", "x", "escape")
        assert isinstance(d.app.screen, Review)
        await d.key("escape")
        assert d.result == ""


async def test_a_note_needs_a_line():
    async with pane() as d:
        await d.key("m", "x")
        assert not d.app.screen.notes.items
        assert d.app.screen.focused is None


async def test_the_editor_opens_at_the_line_and_the_files_are_read_again():
    async with pane() as d:
        await d.key(PREVIOUS, "e")
        assert d.opened == [("src/a.py", 8)]
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
