"""The unchanged lines between the hunks of a diff: counted, shown when asked for, and none of them lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui.diffs import changed, numbered, rows, shown
from tui_agent.core.diff import between, compare
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.looks import Looks


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


def test_before_it_is_laid_out_it_can_be_asked_what_unfolds():
    view = DiffView(numbered(30), changed(30, 10), context=1)
    assert view.hunk == 0
    assert view.folds == frozenset()


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
