"""The diff on the screen: rows, columns, wrapping, what was seen, and that no content breaks it."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App

from tui_agent.core.diff import between, compare
from tui_agent.core.display import sanitise
from tui_agent.ui import wrap_view
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.diff_words import changed_words
from tui_agent.ui.hunk_lines import LONG, changed_part
from tui_agent.ui.looks import Looks
from tui_agent.ui.wrap_lines import Block, Line, plain_widths, shown_pieces, text_lines, wrap
from tui_agent.ui.wrap_view import TextView

STYLES = Path(__file__).parents[2] / "styles" / "approval.tcss"


class Host(App):
    CSS_PATH = STYLES

    def __init__(self, view):
        super().__init__()
        self.view = view

    def compose(self):
        yield self.view


@asynccontextmanager
async def shown(view, size=(80, 24)):
    app = Host(view)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        while not view.complete:
            await pilot.pause()
        await pilot.pause()
        yield pilot


def rows(view):
    return [strip.text.rstrip() for strip in view.screen._compositor.render_strips()]


def numbered(count):
    return b"".join(b"line %d\n" % n for n in range(1, count + 1))


def changed(count, *places):
    text = numbered(count)
    for n in places:
        text = text.replace(b"line %d\n" % n, b"LINE %d\n" % n)
    return text


# ------------------------------------------------------------------ rows


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


# ------------------------------------------------------------------ seen, moving, sizes


async def test_lines_are_seen_as_they_come_on_screen():
    view = DiffView(None, numbered(50))
    async with shown(view, size=(80, 10)) as pilot:
        assert (view.seen, view.total, view.end_seen) == (10, 50, False)
        view.scroll_end(animate=False)
        await pilot.pause()
        assert (view.seen, view.end_seen) == (20, True)
        view.scroll_page_up(animate=False)
        await pilot.pause()
        assert view.seen == 30
        view.scroll_home(animate=False)
        await pilot.pause()
        assert view.seen == 30


async def test_a_wrapped_line_is_seen_when_all_its_rows_were():
    view = DiffView(None, b"x" * 1000 + b"\n")
    async with shown(view, size=(80, 4)) as pilot:
        assert (view.seen, view.total) == (0, 1)
        view.scroll_end(animate=False)
        await pilot.pause()
        assert (view.seen, view.end_seen) == (0, True)
        for _ in range(4):
            view.scroll_page_up(animate=False)
            await pilot.pause()
        assert view.seen == 1


async def test_a_very_long_line_is_shown_in_pieces_and_counts_once():
    text = "0123456789" * (LONG // 5) + "END"
    view = DiffView(b"a\n", b"a\n" + text.encode() + b"\nb\n", context=3)
    async with shown(view, size=(102, 10)) as pilot:
        assert view.total == 2
        assert view.rows > 4000 // 88
        view.scroll_end(animate=False)
        await pilot.pause()
        assert "END" in "\n".join(rows(view))
        assert view.seen == 1
        view.scroll_home(animate=False)
        for _ in range(8):
            await pilot.pause()
            view.scroll_page_down(animate=False)
        await pilot.pause()
        assert view.seen == 2


async def test_what_is_not_shown_stands_where_it_is_in_coloured_code_too():
    old = b"var a=1;" * 2_000 + b"\n"
    async with shown(view := DiffView(old, old[:8_000] + b"new" + old[8_000:], path="a.js"), size=(102, 40)) as pilot:
        while not view.coloured:
            await pilot.pause()
        await pilot.pause()
        first = next(row for row in rows(view) if " - " in row)
        assert first.split(" - ")[1].startswith("… 7,800 characters unchanged, not shown …")


async def test_how_a_very_long_line_ends_is_told_at_its_end():
    old = b"x" * 9_000 + b"old" + b"y" * 9_000
    async with shown(view := DiffView(old, old.replace(b"old", b"new")), size=(102, 40)):
        text = " ".join("".join(row[16:].strip("↩") for row in rows(view)).split())
        assert text.count("8,800 characters unchanged, not shown … no newline at end") == 2


async def test_of_a_very_long_line_only_what_changed_is_shown_and_the_rest_is_counted():
    old = b"x" * 9_000 + b"old" + b"y" * 9_000 + b"\n"
    view = DiffView(b"a" * 5_000 + b"\n" + old, b"a" * 5_000 + b"\n" + old.replace(b"old", b"new!"))
    async with shown(view, size=(102, 40)):
        text = "".join(row.strip("↩ ") for row in rows(view))
        assert text.count("8,800 characters unchanged, not shown") == 4
        assert "x" * 20 + "old" + "y" * 20 in re.sub(r"[^a-z!]", "", text)
        assert "new!" in text
        assert view.seen == view.total == 2


@given(
    st.text("ab\u0301", max_size=2_000),
    st.text("xé", max_size=9),
    st.text("xé", max_size=9),
    st.text("ab", max_size=2_000),
)
def test_what_is_not_shown_of_a_long_line_is_the_same_on_both_sides(head, old, new, tail):
    texts = head + old + tail, head + new + tail
    parts = changed_part(*texts), changed_part(*reversed(texts))
    before = {text[: part.start] for text, part in zip(texts, parts, strict=True)}
    after = {text[part.stop :] for text, part in zip(texts, parts, strict=True)}
    assert len(before) == 1
    assert len(after) == 1
    assert all(0 <= part.start <= part.stop <= len(text) for text, part in zip(texts, parts, strict=True))


async def test_hunks_are_jumped_to_with_a_cursor():
    view = DiffView(numbered(400), changed(400, 50, 200, 390))
    async with shown(view, size=(80, 8)) as pilot:
        assert (view.hunk, len(view.hunks)) == (1, 3)
        for expected, line in ((2, "200"), (3, "390"), (3, "390")):
            view.jump(1)
            await pilot.pause()
            assert view.hunk == expected
            assert any(row.startswith(f"›{line:>3}") for row in rows(view))
        view.scroll_home(animate=False)
        await pilot.pause()
        assert view.hunk == 1
        view.jump(-1)
        await pilot.pause()
        assert any(row.startswith("› 50") for row in rows(view))


@pytest.mark.parametrize(("height", "first"), [(4, 1), (8, 2), (40, 4)])
async def test_the_first_change_is_in_the_upper_third_until_the_person_scrolls(height, first):
    base = b"".join(b"%d %s\n" % (n, b"word " * 12) for n in range(20))
    new = base.replace(b"\n9 ", b"\n9 new ").replace(b"\n15 ", b"\n15 new ")
    view = DiffView(base, new)

    def at():
        return next((y for y, row in enumerate(rows(view)) if "- 9 " in row), None)

    async with shown(view, (90, height)) as pilot:
        assert at() == first
        assert view.seen >= min(2, height - first)
        for size, place in (((90, 30), 4), ((40, height), None), ((90, height), first)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            if place is not None:
                assert at() == place
        view.scroll_home(animate=False)
        await pilot.pause()
        await pilot.resize_terminal(90, height + 1)
        await pilot.pause()
        assert "unchanged" in rows(view)[0]


async def test_resizing_keeps_the_line_at_the_top():
    view = DiffView(None, b"".join(b"%d %s\n" % (n, b"x" * 100) for n in range(1, 400)))
    async with shown(view, size=(100, 10)) as pilot:
        view.scroll_to(y=400, animate=False)
        await pilot.pause()
        number = rows(view)[0].split()[0]
        for width in (60, 120, 41, 100):
            await pilot.resize_terminal(width, 10)
            await pilot.pause()
            await pilot.pause()
        assert rows(view)[0].split()[0] == number


async def test_a_big_diff_is_shown_before_it_is_complete(monkeypatch):
    monkeypatch.setattr(wrap_view, "SLICE", 0.0)  # one unit of work per turn of the loop
    view = DiffView(numbered(30_000), changed(30_000, 5, 29_990))
    app = Host(view)
    async with app.run_test(size=(80, 24)) as pilot:
        while not view.hunks:
            await pilot.pause()
        assert "unchanged" in rows(view)[0]
        while not view.complete:
            await pilot.pause()
        assert len(view.hunks) == 2


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


# ------------------------------------------------------------------ pure parts


characters = st.text(st.sampled_from("ab \t日é\u0301\u200d🎉\x1b\u202e[]"), max_size=60)


@given(st.lists(characters, max_size=5), st.integers(2, 20))
def test_wrapping_keeps_every_character_and_the_width(texts, width):
    pieces = [
        (text, f"style{n}") for n, raw in enumerate(texts) for text, _ in shown_pieces(sanitise(raw, "diff_line"))
    ]
    rows = wrap(pieces, width)
    assert "".join(text for row in rows for text, _ in row) == "".join(text for text, _ in pieces)
    assert all(sum(cell_len(text) for text, _ in row) <= width for row in rows)


@given(
    st.lists(st.text(st.sampled_from("ab \t\x1bé[日"), max_size=40)),
    st.integers(2, 20),
    st.sampled_from(["\n", "\r\n"]),
)
def test_quick_widths_are_the_true_ones(texts, width, ending):
    lines = [(text + ending).encode() for text in texts]
    widths = plain_widths(lines)
    if widths is None:
        assert any(not sanitise(t, "diff_line").plain.isascii() or sanitise(t, "diff_line").full_view for t in texts)
        return
    for text, cells in zip(texts, widths, strict=True):
        shown = sanitise(text, "diff_line")
        assert not shown.full_view
        assert max(1, -(-cells // width)) == len(wrap(shown_pieces(shown), width))


def test_lines_of_a_text():
    shown = sanitise("a\n\x1bb\n\nc", "command")
    assert ["".join(text for text, _ in line) for line in text_lines(shown)] == ["a", "<ESC>b", "", "c"]
    assert text_lines(sanitise("", "command")) == [()]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=20))
def test_a_block_finds_the_line_at_each_row(heights):
    block = Block(len(heights), lambda _: Line(()), height=sum(heights))
    block.starts = [sum(heights[:n]) for n in range(len(heights))]
    found = [block.find(row) for row in range(block.height)]
    assert found == [(n, k) for n, height in enumerate(heights) for k in range(height)]
    assert [len(block.rows(n)) for n in range(len(heights))] == heights
    assert sum(block.saw(*place) for place in found) == len(heights)
    assert sum(block.saw(*place) for place in found) == 0


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


@pytest.mark.parametrize(
    "sizes", [((60, 20), (120, 40)), ((45, 20), (80, 24), (45, 20)), ((120, 40), (40, 12), (90, 30))]
)
async def test_a_new_width_may_be_painted_before_it_is_told(sizes):
    """Textual draws at the new size first; lines measured for the old one must still be found."""
    new = b"".join(b"line %d %s\n" % (n, "wörd ".encode() * 60) for n in range(40))
    view = DiffView(None, new)
    async with shown(view, sizes[0]) as pilot:
        view.scroll_to(y=30, animate=False)
        await pilot.pause()
        for size in sizes[1:]:
            await pilot.resize_terminal(*size)
            for y in range(size[1]):
                view.render_line(y)
            await pilot.pause()
            assert "line" in "".join(rows(view))


# ------------------------------------------------------------------ the unchanged lines between hunks


@pytest.mark.parametrize("sides", ["unified", "beside"])
async def test_unchanged_lines_are_shown_around_a_hunk_and_hidden_again(sides):
    view = DiffView(numbered(60), changed(60, 20, 40), looks=Looks(sides=sides))
    async with shown(view, size=(120, 70)) as pilot:
        folded = rows(view)
        assert [row.split("···")[1].strip() for row in folded if "···" in row] == [
            "16 unchanged",
            "13 unchanged",
            "17 unchanged",
        ]
        view.jump(1)
        assert view.hunk == 2
        view.fold()
        await pilot.pause()
        shown_ = rows(view)
        assert [row.split("···")[1].strip() for row in shown_ if "···" in row] == ["16 unchanged"]
        numbers = [int(m[1]) for row in shown_ if (m := re.search(r"[lL][iI][nN][eE] (\d+)", row))]
        assert set(range(17, 61)) <= set(numbers)
        assert view.hunk == 2
        assert view.chosen is None
        view.fold()
        await pilot.pause()
        view.move_cursor(None)
        await pilot.pause()
        assert rows(view) == folded


async def test_unfolded_lines_carry_both_numbers():
    base = numbered(30)
    view = DiffView(base, b"new\n" + base.replace(b"line 25\n", b"LINE 25\n"))
    async with shown(view, size=(80, 50)) as pilot:
        view.fold()
        await pilot.pause()
        (row,) = (row for row in rows(view) if row.endswith("line 12"))
        assert row.split() == ["12", "13", "line", "12"]


async def test_a_file_that_is_new_has_nothing_to_unfold():
    view = DiffView(None, numbered(5))
    async with shown(view):
        assert view.folds == frozenset()
        view.fold()
        assert view.unfolded == frozenset()


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n"]), max_size=40).map(b"".join)


@given(LINES, LINES)
def test_hunks_and_what_is_between_them_are_the_whole_file(base, new):
    hunks = [hunk for hunk in compare(base, new, 1) if hunk is not None]
    if not hunks:
        return
    parts = [hunks[0]]
    for above, below in zip([None, *hunks], [*hunks, None], strict=True):
        parts += [between(above, below), *([below] if below else [])]
    found = [row for part in parts[1:] for row in part.rows()]
    assert b"".join(row.line for row in found if row.kind != "add") == base
    assert b"".join(row.line for row in found if row.kind != "remove") == new
    assert [row.old for row in found if row.old] == list(range(1, base.count(b"\n") + 1))
    assert [row.new for row in found if row.new] == list(range(1, new.count(b"\n") + 1))


async def test_the_whole_difference_as_text_is_safe_to_print():
    view = DiffView(b"a\x1b[2J\n" + numbered(2000), b"b\n" + numbered(2000), path="src/a.py")
    text = view.whole()
    assert "\x1b" not in text
    assert text.startswith("--- a/src/a.py\n+++ b/src/a.py\n@@ -1,4 +1,4 @@\n-a<ESC>[2J\n+b\n")
    assert TextView(sanitise("echo a\n\techo b", "command")).whole() == "echo a\n<TAB>echo b"


def test_before_it_is_laid_out_it_can_be_asked_what_unfolds():
    view = DiffView(numbered(30), changed(30, 10), context=1)
    assert view.hunk == 0
    assert view.folds == frozenset()
