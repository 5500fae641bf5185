"""A diff while it is read: what was seen, moving over hunks, other sizes, a big one that is still being laid out."""

from __future__ import annotations

import pytest

from tests.ui.diffs import Host, changed, numbered, rows, shown
from tui_agent.ui import wrap_view
from tui_agent.ui.diff_view import DiffView


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
