"""Side by side shows every row exactly once, in order, and knows its widths."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core.diff import diff
from tui_agent.ui.beside import Pairs
from tui_agent.ui.wrap_lines import plain_widths

TEXT = st.lists(st.sampled_from([b"a\n", b"b\n", b"  long line\n", b"\tc\n", b"\n"]), max_size=20).map(b"".join)


@given(TEXT, TEXT, st.integers(0, 3))
def test_each_row_stands_on_its_side_once(base, new, context):
    for hunk in diff(base, new, context).hunks:
        pairs = Pairs(hunk)
        shown = [pairs[n] for n in range(len(pairs))]
        kinds = [row.kind for row in hunk.rows()]
        left, right = ([side for side in sides if side is not None] for sides in zip(*shown, strict=True))
        assert left == [n for n, kind in enumerate(kinds) if kind != "add"]
        assert right == [n for n, kind in enumerate(kinds) if kind != "remove"]
        assert pairs.changed(0, len(pairs)) == hunk.added + hunk.removed
        assert all(a == b for a, b in shown if a is not None and b is not None and kinds[a] == "context")


@given(TEXT, TEXT, st.integers(0, 9), st.integers(0, 9))
def test_a_part_is_measured_as_its_lines(base, new, start, count):
    for hunk in diff(base, new).hunks:
        pairs = Pairs(hunk)
        stop = min(len(pairs), start + count)
        expected = []
        for n in range(start, stop):
            lines = [hunk.row(side).line for side in pairs[n] if side is not None]
            expected.append(max(plain_widths(lines)))
        if (found := pairs.widths(start, stop)) is not None:
            assert found == expected
