"""Lines as rows of a width, without a screen: nothing is lost, the quick way counts like the slow one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui_agent.core.display import sanitise
from tui_agent.ui.wrap_lines import Block, Line, plain_widths, shown_pieces, text_lines, wrap

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
