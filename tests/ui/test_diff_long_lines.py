"""Very long lines of a diff: in pieces, of a changed one what changed and a little around it, and how much is not shown."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.ui.diffs import rows, shown
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.hunk_lines import LONG, changed_part


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


async def test_in_a_very_long_line_what_differs_is_marked_and_its_layout_is_told():
    old = b"x" * 9_000 + b"old" + b"y" * 9_000 + b"\n"
    view = DiffView(old, old.replace(b"old", b"new"), path="a.txt")
    async with shown(view, size=(140, 40)):
        marked = [
            segment.text
            for strip in view.screen._compositor.render_strips()
            for segment in strip
            if segment.style and segment.style.underline
        ]
        assert marked == ["old", "new"]
        assert view.layout_words == "unified (very long lines)"


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
