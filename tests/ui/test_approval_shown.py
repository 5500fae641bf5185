"""Everything is shown before it can be approved: unseen lines, hostile text, pictures, small screens."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ui.asked import LONG_SCRIPT, RUN, dialog, edit, key_style, long_edit, numbered, request
from tui_agent.core.lookup import Lookup
from tui_agent.core.types import (
    Decision,
    ListFiles,
    ReadFile,
    RunArgv,
    RunScript,
    SearchText,
    SetPlan,
    WriteBytes,
)
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.chrome import FooterState, footer_line
from tui_agent.ui.subject import body, subject

# ------------------------------------------------------------------ seeing everything


async def test_the_first_y_with_unseen_lines_only_asks_again():
    async with dialog(long_edit()) as d:
        seen = d.screen.view.seen
        assert 0 < seen < 100
        assert f"{seen} of 100 changed lines seen" in d.text
        await d.key("y")
        assert f"y again: {100 - seen} of 100 not seen" in d.text
        await d.key("y")
        assert d.open  # deaf again
        assert d.fed == ["y"]
        await d.later()
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


@pytest.mark.parametrize("size", [(80, 24), (80, 20), (120, 40), (50, 24), (40, 20)])
@pytest.mark.parametrize("lines", [60, 200])
async def test_only_what_stood_there_when_it_began_to_listen_was_seen(size, lines):
    """The lines around a view need more room when its hunks are known: for a moment more of it was drawn."""
    base = numbered(lines)
    new = base.replace(b"line 10\n", b"ten\n").replace(b"line 30\n", b"").replace(b"line 50\n", b"fifty\nmore\n")
    async with dialog(request(WriteBytes("a.py", base, new), reason="three places " * 9), size=size) as d:
        view = d.screen.view
        top = view.scroll_offset.y
        there = map(view._locate, range(top, min(view.rows, top + view.size.height)))
        assert view.seen == sum(view._blocks[block].line(line).counted for block, line, _ in there)
        assert view.seen > 0


async def test_what_is_drawn_before_it_listens_is_not_called_seen():
    async with dialog(long_edit(), armed=False) as d:
        assert "100 changed lines" in d.text
        assert "seen" not in d.text
        await d.later()
        assert f"{d.screen.view.seen} of 100 changed lines seen" in d.text


async def test_everything_seen_needs_one_y():
    async with dialog(long_edit()) as d:
        for _ in range(12):
            await d.key("pagedown")
        assert "all 100 changed lines shown" in d.text
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


@pytest.mark.parametrize(
    "asked",
    [
        LONG_SCRIPT,
        request(RunArgv(("echo", "x" * 5000), 60.0)),
        request(WriteBytes("a", None, numbered(60) + b"\x1b[2J\n" + numbered(60))),
        request(WriteBytes("a", b"\x1b\n" + numbered(60), b"")),
    ],
    ids=["script", "argv", "escapes", "escapes-removed"],
)
async def test_y_waits_until_the_end_was_on_screen(asked):
    async with dialog(asked) as d:
        assert "PgDn to see the end" in d.text
        assert key_style(d, "y") == key_style(d, " scroll")
        for _ in range(3):
            await d.key("y")
            await d.later()
            assert d.open
        await d.key("end")
        assert "PgDn to see the end" not in d.text
        assert key_style(d, "y") != key_style(d, " scroll")
        await d.key("y")
        if isinstance(asked.effect, WriteBytes):  # the lines in between are still unseen
            assert "y again:" in d.text
            await d.later()
            await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


async def test_no_and_skip_work_with_unseen_lines():
    async with dialog(LONG_SCRIPT) as d:
        await d.key("n")
        await d.pilot.press("enter")
        assert await d.answer() == (Decision("1", "no"),)


async def test_unseen_lines_of_one_request_say_nothing_about_the_next():
    async with dialog(long_edit(), request(WriteBytes("b", None, numbered(90)), "2")) as d:
        await d.key("y")
        await d.later()
        await d.key("y")
        await d.later()
        assert "2/2" in d.text
        await d.key("y")
        assert "y again:" in d.text


# ------------------------------------------------------------------ what is shown


@pytest.mark.parametrize(
    ("effect", "title", "shown"),
    [
        (WriteBytes("src/a.py", b"a\n", b"b\n"), "Apply this edit?", "src/a.py"),
        (WriteBytes("src/a.py", None, b"b\n"), "Create this file?", "+ b"),
        (WriteBytes("src/a.py", b"a\n", None), "Delete this file?", "- a"),
        (WriteBytes("x", b"\0a", b"\0bc"), "Apply this edit?", "binary file, 2 bytes → 3 bytes"),
        (WriteBytes("x", None, b""), "Create this file?", "the file is empty"),
        (
            RunArgv(("git", "commit", "-m", "a b; rm -rf x"), 120.0),
            "Run this command?",
            "git commit -m 'a b; rm -rf x'",
        ),
        (RunScript("cd x && make\necho [/foo]", 60.0), "Run this shell script?", "2 echo [/foo]"),
        (ReadFile(".env"), "Read this file?", ".env"),
        (ListFiles("secret"), "List this folder?", "secret"),
        (SearchText("password", "src"), "Search here?", "password"),
        (Lookup("skill", "deploy", "more.md"), "Read this skill?", "more.md"),
        (Lookup("search", "a question"), "Search the web for this?", "a question"),
        (Lookup("page", "https://example.org/a"), "Fetch this page?", "https://example.org/a"),
        (SetPlan((("now", "read"),)), "Accept this plan?", "now: read"),
    ],
)
async def test_every_effect_has_a_title_and_is_shown(effect, title, shown):
    async with dialog(request(effect)) as d:
        assert title in d.text
        assert shown in " ".join(d.text.split())
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


def test_an_unknown_effect_is_an_error():
    with pytest.raises(TypeError):
        subject(object())
    with pytest.raises(TypeError):
        body(object())
    with pytest.raises(ValueError, match="nothing"):
        ApprovalScreen(())


HOSTILE = "[/foo] [@click=app.quit]x[/] \x1b[31m\u202e"


async def test_hostile_text_is_shown_as_text_everywhere():
    effect = WriteBytes(f"src/{HOSTILE}.py", b"[/foo]\n", HOSTILE.encode() + b"\n")
    async with dialog(request(effect, reason=HOSTILE, floors=(HOSTILE,)), size=(100, 40), after=HOSTILE) as d:
        assert d.text.count("[/foo] [@click=app.quit]x[/] <ESC>[31m<U+202E>") == 5
        assert "\x1b" not in d.text
        assert "look closely:" in d.text
        assert "control characters" in d.text


async def test_the_reason_the_check_and_the_place_are_shown():
    async with dialog(
        edit("0", reason="The fix\nbelongs here."), replace(RUN, where="in ~/x · no sandbox"), after="make check"
    ) as d:
        assert "model: The fix belongs here." in d.text
        assert "after applying: make check" in d.text
        await d.key("y")
        await d.later()
        assert "in ~/x · no sandbox" in d.text
        assert "no shell · the repository's programs off" in d.text
        assert "at most 120 s" in " ".join(d.text.split())


async def test_a_long_reason_is_cut_with_a_mark():
    async with dialog(edit(reason="because " * 60)) as d:
        assert sum("because" in line for line in d.lines) == 2
        assert "…" in d.text


EDIT_80 = """\
header
┌─ Apply this edit? ───────────────────────────────────────────────────── 1/2 ─┐
│ edit   src/a.py   +1 -1   hunk 1/1   unified (auto)                          │
│ all 2 edits: 1 file +2 -2                                                    │
│    1   1    one                                                              │
│    2      - two                                                              │
│        2  + 2                                                                │
│    3   3    three                                                            │
│ all 2 changed lines shown   after applying: make check                       │
│ y apply   n no, say why   s skip   Esc no and stop   < > other               │
│ Y apply + note   m note   v layout   z full   w no wrap                      │
└──────────────────────────────────────────────────────────────────────────────┘"""
EDIT_40 = """\
─Apply this edit? ───────────── 1/2─────
 edit   src/a.py   +1 -1   hunk 1/1
 all 2 edits: 1 file +2 -2
   one
 - two
 + 2
   three
 all 2 changed lines shown
 after applying: make check
 y apply   n no…   s skip
 Esc no and stop   < > other
 Y apply + note   m note   v layout
────────────────────────────────────────"""
EDIT_60 = """\
─Apply this edit? ───────────────────────────────── 1/2─────
 edit   src/a.py   +1 -1   hunk 1/1   unified (auto)
 all 2 edits: 1 file +2 -2
    1   one
    2 - two
    2 + 2
    3   three
 all 2 changed lines shown   after applying: make check
 y apply   n no, say why   s skip   Esc no and stop
 < > other   Y apply + note   m note   v layout   z full
 w no wrap
────────────────────────────────────────────────────────────"""


@pytest.mark.parametrize(
    ("size", "first", "expected"), [((80, 24), 0, EDIT_80), ((60, 24), 1, EDIT_60), ((40, 20), 0, EDIT_40)]
)
async def test_the_picture_at_three_sizes(size, first, expected):
    async with dialog(edit("1"), edit("2"), size=size, after="make check") as d:
        assert d.lines[first : first + expected.count("\n") + 1] == expected.split("\n")
        assert d.lines[size[1] - 3].strip() == "my draft"


async def test_the_picture_at_120_columns():
    async with dialog(edit("1"), edit("2"), size=(120, 40), after="make check") as d:
        assert d.lines[3][:28] == "    ┌─ Apply this edit? ────", "nothing beside it"
        assert d.lines[3].endswith("─── 1/2 ─┐")
        assert " ".join(d.lines[6].split()) == "│ 2 - two │ 2 + 2 │"
        assert "said before" in d.lines[1]
        assert d.lines[37].strip() == "my draft"


@pytest.mark.parametrize("size", [(40, 20), (60, 20), (80, 24), (120, 40)])
async def test_where_all_keys_are_told_is_said_at_every_size(size):
    async with dialog(edit(), size=size) as d:
        assert "F1 all keys" in d.footers[-1]
        assert footer_line(FooterState("waiting for you 10:12", d.footers[-1]), size[0]).plain.count("F1 all keys") == 1


@pytest.mark.parametrize("size", [(40, 12), (120, 12), (36, 10)])
async def test_keys_stay_visible_on_a_small_screen(size):
    async with dialog(LONG_SCRIPT, size=size) as d:
        assert "y run" in d.text
        assert "my draft" in d.lines[size[1] - 3]
        await d.key("end")
        assert d.screen.view.end_seen


async def test_free_rows_can_grow_while_it_is_open():
    async with dialog(long_edit()) as d:
        assert d.lines[20].startswith("└")
        d.screen.outside.free_rows = lambda _: 6
        d.screen.show_state()
        await d.pilot.pause()
        assert d.lines[17].startswith("└")


# ------------------------------------------------------------------ sizes


async def test_what_does_not_fit_around_the_view_cannot_be_approved():
    async with dialog(request(WriteBytes("long/" * 400, b"a\n", b"b\n"))) as d:
        assert "too small to approve" in d.text
        await d.key("y")
        await d.later()
        assert d.open
        await d.pilot.resize_terminal(120, 50)
        await d.later()
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


@pytest.mark.parametrize("size", [(35, 24), (80, 9)])
async def test_too_small_cannot_approve(size):
    async with dialog(edit()) as d:
        await d.pilot.resize_terminal(*size)
        await d.later()
        assert "too small to approve" in d.text
        for key in "yns":
            await d.key(key)
            await d.later()
        assert d.open
        assert d.fed == ["y", "n", "s"]
        await d.pilot.resize_terminal(80, 24)
        await d.later()
        await d.key("y")
        assert await d.answer() == (Decision("1", "yes"),)


async def test_a_note_is_no_yes_where_it_is_too_small():
    async with dialog(edit()) as d:
        await d.key("Y", *"mind")
        await d.pilot.resize_terminal(30, 8)
        await d.later()
        assert "Esc back" in d.text
        assert d.screen.footer == ("too small to approve", "Esc back")
        await d.key("enter")
        assert d.open
        await d.pilot.resize_terminal(80, 24)
        await d.later()
        assert "mind" in d.text
        await d.key("enter")
        assert await d.answer() == (Decision("1", "yes", "mind"),)


async def test_too_small_can_stop():
    async with dialog(edit(), size=(30, 8)) as d:
        assert "too small to approve" in d.screen.footer
        await d.pilot.press("escape")
        assert await d.answer() == (Decision("1", "stop"),)


async def test_resizing_changes_nothing_else():
    async with dialog(long_edit()) as d:
        screen = d.screen
        for size in [(120, 40), (1, 1), (200, 60), (40, 12), (80, 24)]:
            await d.pilot.resize_terminal(*size)
            await d.pilot.pause()
        assert d.screen is screen
        assert not d.task.done()


async def test_why_to_look_closely_breaks_between_words():
    caution = "found in Makefile; yes also keeps it as the check of this folder, no does not ask again"
    effect = WriteBytes("a.py", b"a\n", b"b\n")
    async with dialog(replace(request(effect), caution=caution), size=(80, 24)) as d:
        assert "this folder, no does not" in " ".join(d.text.replace("│", " ").split())
