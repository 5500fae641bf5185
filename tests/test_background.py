"""Whether the terminal is light or dark: what its answer means, and that nothing waits for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.background import Answer, from_variable, may_be_asked, read

LAST = b"\x1b[?62;22c"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\" + LAST, Answer(True)),
        (b"\x1b]11;rgb:1e1e/1e1e/1e1e\x07" + LAST, Answer(False)),
        (b"\x1b]11;rgb:fd/f6/e3\x1b\\" + LAST, Answer(True)),
        (b"\x1b]11;rgba:0/0/0/f\x1b\\" + LAST, Answer(False)),
        (LAST, Answer()),
        (b"", Answer()),
        (b"fix \x1b]11;rgb:ffff/ffff/ffff\x1b\\" + LAST + "the grüße\r".encode(), Answer(True, "fix the grüße\n")),
        (b"\x1b[12;2R" + LAST, Answer()),
        (b"a\x1b[1;3Rb" + LAST, Answer(None, "ab", wide=True)),
        (b"\x1b[Aab\x1bOP\x03\x7fc" + LAST, Answer(None, "abc")),
        (b"\x1b]11;rgb:zz/ffff/ffff\x1b\\", Answer(None, "11;rgb:zz/ffff/ffff")),
    ],
)
def test_what_an_answer_means(data: bytes, expected: Answer) -> None:
    assert read(data) == expected


@given(st.text(st.characters(min_codepoint=32, exclude_characters="\x7f", exclude_categories=["Cs", "Cc"])))
def test_nothing_typed_meanwhile_is_lost(text: str) -> None:
    data = text.encode()
    half = len(text[: len(text) // 2].encode())
    answer = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
    assert read(data[:half] + answer + data[half:] + LAST) == Answer(True, text)


@pytest.mark.parametrize(
    ("value", "light"),
    [("15;0", False), ("0;15", True), ("0;7", True), ("15;8", False), ("0;default;15", True), ("", None), ("x", None)],
)
def test_the_variable(value: str, light: bool | None) -> None:
    assert from_variable({"COLORFGBG": value}) is light


@pytest.mark.parametrize(
    ("env", "asked"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm-256color", "SSH_CONNECTION": "a 1 b 2"}, False),
        ({"TERM": "linux"}, False),
        ({"TERM": "dumb"}, False),
        ({}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    ],
)
def test_who_is_asked(env: dict[str, str], asked: bool) -> None:
    assert may_be_asked(env) is asked
