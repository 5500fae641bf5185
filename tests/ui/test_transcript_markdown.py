"""Markdown to rows: what it looks like, that it never changes again, and that it keeps within its width."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.examples import examples
from tui_agent.core.display import Span
from tui_agent.ui.highlight import LANGUAGES, ROOT, highlight
from tui_agent.ui.inline import inline
from tui_agent.ui.lines import CLOSE, OPEN, Line, marked, wrap
from tui_agent.ui.markdown import CHUNK_MAX, CONTINUED, LINE_MAX, Chunker, Tail, draw
from tui_agent.ui.selection import copied

MARKDOWN = st.lists(
    st.sampled_from(
        [
            *"ab 中é*_`~[]()<>!\\#|-+.1:\n",
            "\n",
            "  ",
            f"{OPEN}<ESC>{CLOSE}",
            "```",
            "\n```python\n",
            "\n| a | b |\n",
            "\n|--|--|\n",
            "\n| 中文 | word word |\n",
            "\n- item ",
            "\n> ",
            "long words of prose " * 6,
        ]
    ),
    max_size=60,
).map("".join)


def render(text: str, width: int = 60) -> list[Line]:
    chunker = Chunker()
    chunker.feed(text)
    return [line for chunk in chunker.finish() for line in draw(chunk, width)]


def screen(text: str, width: int = 60) -> list[str]:
    return [line.text for line in render(text, width)]


@pytest.mark.parametrize(
    ("source", "pieces"),
    [
        ("plain", [("plain", "")]),
        ("a **b** c", [("a ", ""), ("b", "strong"), (" c", "")]),
        ("*a* _b_", [("a", "em"), (" ", ""), ("b", "em")]),
        ("***both***", [("both", "strong-em")]),
        ("**a *b* c**", [("a ", "strong"), ("b", "strong-em"), (" c", "strong")]),
        ("~~gone~~", [("gone", "strike")]),
        ("`co*d*e`", [("co*d*e", "code")]),
        ("`` a`b ``", [("a`b", "code")]),
        ("[text](http://x.y/z)", [("text", ""), (" (http://x.y/z)", "dim")]),
        ("<http://x.y>", [("http://x.y", "")]),
        ("中文**粗体**中文", [("中文", ""), ("粗体", "strong"), ("中文", "")]),
        (f"a{OPEN}<ESC>{CLOSE}b", [("a", ""), ("<ESC>", "escape"), ("b", "")]),
    ],
)
def test_inline(source: str, pieces: list[tuple[str, str]]) -> None:
    assert inline(source) == pieces


@pytest.mark.parametrize(
    "source",
    [
        "snake_case_name",
        "2*3*4",
        "**open",
        "a ` b",
        "[x]",
        "[/foo]",
        "[@click=app.quit]x[/]",
        "* not em *",
        "a < b > c",
        "**" * 900,
        "`" * 900,
        "[" * 900,
    ],
)
def test_what_is_not_closed_stays_as_it_was_written(source: str) -> None:
    assert "".join(text for text, _ in inline(source)) == source


def test_blocks_at_eighty() -> None:
    text = (
        "\n\n## Title ##\nline one\nline two\n\n\n- item with `code`\n  1. nested\n> quote\n\n---\n"
        "```py\n\ndef f(): pass\n```\nend\n\n"
    )
    assert screen(text) == [
        "  Title",
        "  line one",
        "  line two",
        "",
        "  - item with code",
        "    1. nested",
        "  │ quote",
        "",
        "  " + "─" * 40,
        "    ",
        "    def f(): pass",
        "  end",
    ]


def test_items_hang_and_code_is_cut_and_marked() -> None:
    assert screen("- one two three four", 12) == ["- one two", "  three four"]
    assert screen("```\nabcdefghijkl\n```", 10) == ["  abcdefgh", "↳ ijkl"]


def test_a_fence_closes_only_with_its_own_marker() -> None:
    assert screen("````\n```\n~~~~\n````\nx") == ["    ```", "    ~~~~", "  x"]


def test_highlighting_carries_its_state_from_line_to_line() -> None:
    lines = render('```python\n"""doc\nif x\n"""\nif y: pass\n```')
    assert lines[1].pieces[1:] == (("if x", "literal"),)
    assert lines[3].pieces[1] == ("if", "strong")


TABLE = "| name | size | remark |\n|---|--:|---|\n| a | 1 | short |\n| 中文 | 22 | " + "word " * 20 + "|\n"


def test_a_table_is_fitted() -> None:
    lines = screen(TABLE, 70)
    assert lines[:4] == [
        "  name │ size │ remark" + " " * 48,
        "  ─────┼──────┼" + "─" * 55,
        "  a    │    1 │ short" + " " * 49,
        "  中文 │   22 │ " + " ".join(["word"] * 11),
    ]
    assert {cell_len(line) for line in lines} == {70}


def test_a_narrow_table_becomes_a_list() -> None:
    lines = screen(TABLE, 38)
    assert lines[:6] == ["name: a", "size: 1", "remark: short", "", "name: 中文", "size: 22"]
    assert all(cell_len(line) <= 38 for line in lines)


def test_pipes_without_a_rule_are_text() -> None:
    assert screen("| grep x\n| sort") == ["  | grep x", "  | sort"]


def test_rows_after_the_sample_keep_the_columns() -> None:
    rows = "".join(f"| n{n} | {'x' * (n // 10)} |\n" for n in range(60))
    lines = screen("| a | b |\n|---|---|\n" + rows)
    assert len({line.index("│") for line in lines if "│" in line}) == 1
    assert all(f"n{n} " in "\n".join(lines) for n in range(60))


def test_a_line_without_end_is_cut_into_parts_and_copied_whole() -> None:
    text = "word " * 3000
    lines = render(text.strip(), 80)
    assert copied(lines) == text.strip()
    blob = "x" * (3 * LINE_MAX)
    assert copied(render(blob, 80)) == blob
    assert copied(render(f"```\n{blob}\n```", 80)) == blob


@given(MARKDOWN, st.integers(1, 70))
@examples(200)
def test_rows_keep_within_the_width(text: str, width: int) -> None:
    for line in render(text, width):
        assert cell_len(line.text) <= max(width, 8), line


@given(MARKDOWN, st.lists(st.integers(0, 400), max_size=8), st.integers(20, 70))
@examples(200)
def test_the_live_form_is_the_final_form(text: str, cuts: list[int], width: int) -> None:
    text *= 4
    chunker, tail = Chunker(), Tail()
    text = text.replace(CLOSE + OPEN, "")
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    for begin, end in pairwise(edges):
        chunker.feed(text[begin:end])
        live = [line for chunk in chunker.chunks for line in draw(chunk, width)] + tail.draw(chunker, width)
        assert live == render(text[:end], width)


@given(MARKDOWN)
def test_chunks_are_bounded_and_lose_nothing(text: str) -> None:
    text *= 40
    chunker = Chunker()
    chunker.feed(text)
    chunks = chunker.finish()
    assert all(len(chunk.source) <= CHUNK_MAX + 30 * LINE_MAX for chunk in chunks)
    assert _bare("".join(chunk.source for chunk in chunks)) == _bare(text)


def _bare(text: str) -> str:
    return "".join(char for char in text if char not in f"\n{OPEN}{CLOSE}{CONTINUED}").strip()


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc", "Co"])), st.integers(1, 30), st.booleans())
def test_wrapping_loses_nothing(text: str, width: int, words: bool) -> None:
    assert "".join((line.joint or "") + line.text for line in wrap([(text, "")], width, words=words)) == text


def test_wrapping_by_cells() -> None:
    assert [line.text for line in wrap([("中文字符 abc", "")], 5)] == ["中文", "字符", "abc"]
    assert [line.text for line in wrap([("e\u0301" * 4, "")], 3)] == ["e\u0301" * 3, "e\u0301"]
    assert [line.text for line in wrap([("ab 😀😀", "")], 5)] == ["ab 😀", "😀"]


@pytest.mark.parametrize("language", sorted(LANGUAGES))
@given(
    st.lists(
        st.text(st.characters(min_codepoint=32, max_codepoint=126) | st.sampled_from("\"'`{}<>/*$()"), max_size=30),
        max_size=6,
    )
)
@examples(25)
def test_every_language_keeps_the_text(language: str, lines: list[str]) -> None:
    stack = ROOT
    for line in lines:
        stack, pieces = highlight(language, stack, line)
        assert "".join(text for text, _ in pieces) == line


def test_an_unknown_language_is_plain() -> None:
    assert highlight("klingon", ROOT, "if x") == (ROOT, [("if x", "")])


def test_escapes_look_the_same_however_they_arrive() -> None:
    whole, pieces = Chunker(), Chunker()
    escapes = [f"{OPEN}<ESC>{CLOSE}"] * 2000
    whole.feed(marked([Span("<ESC>" * 2000, "escape")]) + " end")
    for escape in escapes:
        pieces.feed(escape)
    pieces.feed(" end")
    assert whole.finish() == pieces.finish()
    lines = [line for chunk in whole.chunks for line in draw(chunk, 80)]
    assert copied(lines) == "<ESC>" * 2000 + " end"
    assert {style for line in lines for text, style in line.pieces if "ESC" in text} == {"escape"}
