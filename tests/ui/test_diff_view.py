"""The diff on the screen: rows, columns, marks, and that no content breaks it."""

from __future__ import annotations

import pytest

from tests.ui.diffs import changed, numbered, rows, shown
from tui_agent.core.display import sanitise
from tui_agent.ui import wrap_view
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.diff_words import changed_words
from tui_agent.ui.looks import Looks, remembered
from tui_agent.ui.wrap_view import TextView


async def test_both_numbers_on_a_wide_terminal():
    view = DiffView(numbered(30), changed(30, 10), context=1)
    async with shown(view):
        assert rows(view)[:6] == [
            "            ···  8 unchanged",
            "   9   9    line 9",
            "  10      - line 10",
            "      10  + LINE 10",
            "  11  11    line 11",
            "            ···  19 unchanged",
        ]
        assert (view.added, view.removed, view.total, view.seen, view.end_seen) == (1, 1, 2, 2, True)


async def test_one_number_then_only_the_sign_on_narrow_terminals():
    view = DiffView(numbered(3), changed(3, 2))
    async with shown(view, size=(60, 10)) as pilot:
        assert rows(view)[1:3] == ["   2 - line 2", "   2 + LINE 2"]
        await pilot.resize_terminal(44, 10)
        await pilot.pause()
        assert rows(view)[1:3] == ["- line 2", "+ LINE 2"]
        await pilot.resize_terminal(100, 10)
        await pilot.pause()
        assert rows(view)[1:3] == ["   2      - line 2", "       2  + LINE 2"]


async def test_a_bar_that_comes_after_the_scrolling_stands_where_the_text_does():
    view = DiffView(numbered(40), b"")
    async with shown(view, size=(80, 10)):
        view.show_vertical_scrollbar = False
        view.scroll_to(y=7, animate=False, immediate=True, force=True)
        view.show_vertical_scrollbar = True
        assert (view.scroll_offset.y, view.vertical_scrollbar.position) == (7, 7)


async def test_long_lines_wrap_with_a_mark_and_nothing_is_lost():
    text = "".join(chr(ord("a") + n % 26) for n in range(100))
    view = DiffView(b"", text.encode() + b"\n")
    async with shown(view, size=(40, 10)):
        first, second, third, *_ = rows(view)
        assert first == "+ " + text[:36] + "↩"
        assert second == "  " + text[36:72] + "↩"
        assert third == "  " + text[72:]
        assert view.rows == 3


@pytest.mark.parametrize(
    "line",
    [
        "[/foo]",
        "[@click=app.quit]x[/]",
        "\x1b[31mred",
        "a\rb",
        "\u202eevil",
        "[bold",
        "\\[x]",
        "x" + " " * 300 + "; rm",
    ],
)
async def test_hostile_lines_are_shown_escaped(line):
    view = DiffView(b"", line.encode() + b"\n")
    async with shown(view, size=(100, 10)):
        assert rows(view)[0] == "       1  + " + sanitise(line, "diff_line").plain
        assert view.warns == sanitise(line, "diff_line").warns
        assert view.full_view == sanitise(line, "diff_line").full_view


async def test_what_is_escaped_looks_different_from_the_same_letters():
    view = DiffView(b"", b"\x1b\n<ESC>\n")
    async with shown(view):
        real, letters = (view.render_line(y) for y in (0, 1))
        assert real.text[13:] == letters.text[13:]
        assert [s.style for s in real if "<ESC>" in s.text] != [s.style for s in letters if "<ESC>" in s.text]


async def test_tabs_are_four_blanks_and_wide_characters_stay_aligned():
    view = DiffView(None, "\tx\n日本語\ne\u0301\n".encode())
    async with shown(view):
        strips = [view.render_line(y) for y in range(3)]
        assert rows(view)[0].endswith("+     x")
        assert "日本語" in rows(view)[1]
        assert {strip.cell_length for strip in strips} == {79}


async def test_marks_for_endings_and_byte_order_mark():
    view = DiffView(b"\xef\xbb\xbfa\r\nb", b"a\nb\n")
    async with shown(view):
        assert rows(view)[:4] == [
            "   1      - a BOM CRLF",
            "   2      - b no newline at end",
            "       1  + a",
            "       2  + b",
        ]
        assert not view.full_view


async def test_uniform_crlf_is_not_marked():
    view = DiffView(b"a\r\nb\r\n", b"a\r\nc\r\n")
    async with shown(view):
        assert rows(view)[1:3] == ["   2      - b", "       2  + c"]


@pytest.mark.parametrize(
    ("base", "new", "ending"),
    [
        (b"a\r\nb", b"a\r\nc", "CRLF"),
        (None, b"a\r\n", "CRLF"),
        (b"a\r\n", None, "CRLF"),
        (b"a\n", b"a\r\n", ""),
        (b"a\r\nb\n", b"a\r\nb\n", ""),
        (b"a\n", b"b\n", ""),
        (b"a\rb", b"a\rc", ""),
        (b"\0\r\n", b"\0\r\n\r\n", ""),
    ],
)
def test_how_all_lines_end_is_known_where_no_line_says_it(base, new, ending):
    assert DiffView(base, new).ending == ending


@pytest.mark.parametrize(
    ("base", "new", "text"),
    [
        (b"\0" * 1000, b"\0", "binary file, 1,000 bytes → 1 bytes"),
        (None, b"\0", "binary file, no file → 1 bytes"),
        (None, b"", "the file is empty"),
        (b"a\n", b"a\n", "no difference"),
    ],
)
async def test_when_there_are_no_lines_a_sentence_says_why(base, new, text):
    view = DiffView(base, new)
    async with shown(view):
        assert rows(view)[0].strip() == text
        assert (view.total, view.end_seen) == (0, True)
        view.jump(1)


async def test_words_that_differ_are_marked():
    view = DiffView(b"value = compute(a)\n", b"value = compute(a, start)\n")
    async with shown(view):
        bold = [s.text for y in (0, 1) for s in view.render_line(y) if s.style and s.style.underline]
        assert bold == [", start"]


@pytest.mark.parametrize(
    ("mine", "other", "marked"),
    [
        ("a = 1", "a = 2", "    x"),
        ("日本 語", "日本 字", "   x"),
        ("same", "same", "    "),
        ("alpha beta", "9;8'7", " " * 10),
        ("x " * 500, "y " * 500, " " * 1000),
    ],
)
def test_changed_words(mine, other, marked):
    assert changed_words(mine, other) == [sign == "x" for sign in marked]


async def test_the_theme_can_change():
    view = DiffView(b"a\n", b"b\n")
    async with shown(view) as pilot:
        before = list(view.render_line(0))
        pilot.app.theme = "textual-light"
        await pilot.pause()
        assert list(view.render_line(0)) != before


async def test_more_lines_than_the_cache_holds(monkeypatch):
    monkeypatch.setattr(wrap_view, "CACHED_LINES", 5)
    view = DiffView(None, numbered(40))
    async with shown(view, size=(80, 10)):
        assert len(view._drawn) == 5
        assert rows(view)[9].endswith("line 10")


async def test_a_text_view_numbers_lines():
    view = TextView(sanitise("a\nb\n", "command"), "one")
    async with shown(view):
        assert rows(view)[:3] == ["   1   a", "   2   b", ""]
        assert view.end_seen


async def test_an_empty_view_has_been_seen():
    view = wrap_view.WrapView()
    async with shown(view):
        assert view.end_seen
        assert view.rows == 0


@pytest.mark.parametrize(
    ("base", "new", "warn"),
    [(b"a\nb\n", b"a\r\nb\r\n", "line-endings"), (b"if x:\n  y\n", b"if x:\n    y\n", "whitespace-only")],
)
async def test_what_rows_do_not_show_is_warned_of(base, new, warn):
    for texts, warns in (((base, new), {warn}), ((b"a\n", b"b\n"), set())):
        async with shown(view := DiffView(*texts)):
            assert view.complete
            assert warns <= view.warns
            assert bool(warns) == bool(view.warns)


async def test_blanks_and_tabs_are_marks_when_asked_and_take_the_same_cells():
    looks = Looks()
    async with shown(view := DiffView(b"", b"\ta  b\n", looks=looks)) as pilot:
        plain = rows(view)
        looks.press("full_stop")
        view.redraw()
        await pilot.pause()
        marked = rows(view)
        assert [len(row) for row in plain] == [len(row) for row in marked]
        assert any("→   a··b" in row for row in marked)
        assert not any("·" in row for row in plain)


async def test_the_whole_difference_as_text_is_safe_to_print():
    view = DiffView(b"a\x1b[2J\n" + numbered(2000), b"b\n" + numbered(2000), path="src/a.py")
    text = view.whole()
    assert "\x1b" not in text
    assert text.startswith("--- a/src/a.py\n+++ b/src/a.py\n@@ -1,4 +1,4 @@\n-a<ESC>[2J\n+b\n")
    assert TextView(sanitise("echo a\n\techo b", "command")).whole() == "echo a\n<TAB>echo b"


def test_one_column_or_two_is_remembered(tmp_path):
    file = tmp_path / "state" / "diff-layout"
    looks = remembered(file)
    assert looks.sides == "auto"
    assert not file.exists()
    looks.press("w")
    assert not file.exists()
    looks.press("v")
    assert remembered(file).sides == "unified"
    remembered(file).press("v")
    assert remembered(file).sides == "beside"
    for odd in (b"sideways", b"\xff", b""):
        file.write_bytes(odd)
        assert remembered(file).sides == "auto"
    file.unlink()
    file.mkdir()
    looks.press("v")
    assert looks.sides == "beside"
