"""The view of a file: one bounded pass, numbered lines, a hint how to go on."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.tools.arguments import ToolError
from tui_agent.tools.files import MAX_RESULT, render_file, scan


def view(data: bytes, start: int = 1, limit: int | None = None, size: int = 7):
    return scan("f.txt", (data[i : i + size] for i in range(0, len(data), size)), len(data), start, limit)


def test_header_numbers_and_hint() -> None:
    assert render_file(view(b"a\nb\nc\nd\n", 2, 2)) == (
        "[file: lines 2-3 of 4] 8 bytes\n     2\tb\n     3\tc\n[1 more lines. Use start=4 to continue.]"
    )
    assert render_file(view(b"a\nb")) == "[file: lines 1-2 of 2] 3 bytes, no newline at the end\n     1\ta\n     2\tb"
    assert render_file(view(b"a\n"), numbers=False) == "[file: lines 1-1 of 1] 2 bytes\na"
    assert render_file(view(b"")) == "[file: empty, 0 bytes]"


def test_a_model_never_sees_carriage_returns_or_the_mark() -> None:
    assert view(b"\xef\xbb\xbfa\r\nb\r\n").lines == ("a", "b")


def test_start_behind_the_end() -> None:
    with pytest.raises(ToolError, match=r"start is 5, but f\.txt has only 2 lines"):
        view(b"a\nb\n", 5)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"a\0b", "binary file"),
        (b"\x89PNG\r\n\x1a\n\0", "PNG"),
        (b"abc\xe9def", "first bad byte at offset 3"),
        (b"abcdefgh\xc3", "first bad byte at offset 8"),
        (b"\xff\xfek\0e\0", "UTF-16"),
    ],
)
def test_what_is_no_text_is_refused_with_its_kind(data: bytes, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        view(data)


def test_long_lines_and_long_files_are_bounded() -> None:
    text = render_file(view(b"x" * 500_000 + b"\nlast\n", size=65_536))
    assert len(text) <= MAX_RESULT
    assert "longer" in text
    assert "[1 more lines. Use start=2 to continue.]" in text
    text = render_file(view(b"line\n" * 100_000, size=65_536))
    assert len(text) <= MAX_RESULT
    assert "more lines. Use start=" in text


@given(st.text(alphabet="ab\n\r\u00e9\U0001f600", max_size=80), st.integers(1, 9), st.integers(1, 12))
def test_reading_in_parts_gives_the_whole_file(text: str, size: int, limit: int) -> None:
    data = text.encode()
    lines, start = [], 1
    while True:
        part = view(data, start, limit, size)
        assert part.sha256 == hashlib.sha256(data).hexdigest()
        lines += part.lines
        if part.last >= part.total:
            break
        start = part.last + 1
    expected = text.split("\n")
    if expected[-1] == "":
        expected.pop()
    assert lines == [line.removesuffix("\r") for line in expected]
