"""Notes on lines in the review pane: written, marked when their line is gone, and given back as one message."""

from __future__ import annotations

import pytest
from textual import events

from tests.ui.pane import FILES, NEW, NEXT, NEXT_FILE, PREVIOUS, pane
from tests.waiting import until
from tui_agent.review import Entry
from tui_agent.ui.review import Review


async def test_notes_come_back_as_one_message():
    async with pane() as d:
        await d.key(NEXT, "m")
        assert "note on line 31" in d.text
        await d.key(*"why?", "enter")
        assert "notes 1" in d.text
        assert d.kept[-1] == "Notes on your changes:\n\nsrc/a.py:31 (in the text before your change)\n> line 30\nwhy?"
        await d.key(NEXT_FILE, "down", "m", *"ok", "enter", "escape")
        assert d.result == (
            "Notes on your changes:\n\nsrc/a.py:31 (in the text before your change)\n> line 30\nwhy?\n\nb.txt:1\n> x\nok"
        )


async def test_a_note_side_by_side_is_about_the_new_line():
    async with pane(size=(160, 30)) as d:
        assert "side by side" in d.text
        await d.key(PREVIOUS, "m", *"10", "enter", "escape")
        assert "src/a.py:11\n> ten\n10" in d.result


async def test_escape_leaves_a_note_which_is_there_again_and_then_the_pane_with_what_was_begun():
    async with pane() as d:
        await d.key("down", "down", "m", "x", "escape")
        assert isinstance(d.app.screen, Review)
        assert not d.app.screen.notes.items
        assert d.kept[-1] == "x"
        await d.key("m", "y", "escape", "escape")
        assert d.result == "xy"


async def test_what_was_begun_and_is_kept_then_is_a_note_alone():
    async with pane() as d:
        await d.key("down", "down", "m", "x", "escape", "m", "y", "enter", "escape")
        assert d.result.endswith("\nxy")
        assert d.result.count("x") == 1


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


@pytest.mark.parametrize("keys", [(PREVIOUS, "down"), (NEXT,)], ids=["there", "gone"])
@pytest.mark.parametrize("listed", [False, True])
async def test_a_note_stands_whatever_the_files_are_compared_with(keys, listed):
    other = Entry("z.py", b"a\n", b"b\n", added=1, removed=1)
    async with pane((FILES[0], other)) as d:
        await d.key(*keys, "m", "o", "enter")
        d.files = (other, Entry("src/a.py", b"", NEW)) if listed else (other,)
        d.disk["src/a.py"] = NEW
        await d.key("b", "escape")
        assert d.result.startswith("Notes on your changes:\n\nsrc/a.py:")
        assert "outdated" not in d.result


async def test_what_comes_right_behind_the_key_for_a_note_is_the_note():
    async with pane() as d:
        await d.key(NEXT)
        for key in ("m", *"uue", "backspace", *"ye", "enter"):
            d.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(lambda: [note.text for note in d.app.screen.notes.items] == ["uuye"])
        assert (d.reverted, d.opened, d.app.clipboard) == ([], [], "")
