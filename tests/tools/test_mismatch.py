"""A text that was not found: the answer names the difference and shows the lines to copy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.tools.mismatch import not_found
from tui_agent.tools.text import TextFile


def told(have: str, old: str) -> str:
    return not_found(TextFile.decode(have.encode(), "f.py"), "f.py", old)


@pytest.mark.parametrize(
    ("have", "old", "cause", "copy"),
    [
        ("\tif x:\n\t\ty\n", "    if x:\n        y", "tabs where old has spaces", "\tif x:\n\t\ty\n"),
        ("    if x:\n", "\tif x:", "spaces where old has tabs", "    if x:\n"),
        ("a = 1  \nb = 2\n", "a = 1\nb = 2", "trailing whitespace", "a = 1  \nb = 2\n"),
        ("a\n\n\nb\n", "a\n\nb", "blank lines", "a\n\n\nb\n"),
        ("  x\n", "    x\n    y", "", ""),
        ("say “hi”\n", 'say "hi"', "U+201C left double quotation mark", "say “hi”\n"),
        ("price:\u00a05\n", "price: 5", "U+00A0 no-break space", "price:\u00a05\n"),
        ("cafe\u0301\n", "caf\u00e9", "similar character", "cafe\u0301\n"),
        ("Foo = 1\n", "foo = 1", "upper and lower case", "Foo = 1\n"),
        ("a\nb\n", "a\\nb", "backslash", "a\nb\n"),
        ("a < b\n", "a &lt; b", "HTML", "a < b\n"),
        ("x\ny\n", "     1\tx\n     2\ty", "line-number", "x\ny\n"),
        ("x = 1\n", "```python\nx = 1\n```", "fence", "x = 1\n"),
        ("a\nx = 1\nb\n", " a\n-x = 1\n+x = 2\n", "written as a diff", "a\nx = 1\n"),
        ("pas\u0441al = 1\n", "pascal = 1", "U+0441 cyrillic small letter es", "pas\u0441al = 1\n"),
        ("x = '\u2764\ufe0f'\n", "x = '\u2764'", "U+FE0F variation selector-16", ""),
        ("a\nb", "b\n", "does not end with a newline", "b\n"),
        ("def total(values):\n    return sum(values)\n", "def total(value):\n    return 0", "", "def total(values):\n"),
    ],
)
def test_the_difference_is_named(have: str, old: str, cause: str, copy: str) -> None:
    text = told(have, old)
    assert "not found" in text
    assert cause in text
    assert copy in text


def test_nothing_alike_shows_nothing() -> None:
    assert told("alpha\n", "zzzzzzzz") == (
        "the text in old was not found in f.py (it occurs 0 times; it must occur exactly once). Nothing was changed."
    )


def test_long_lines_and_many_lines_are_cut() -> None:
    text = told(("word " * 500 + "\n") * 100, "word " * 400 + "other\n" * 50)
    assert len(text) < 6000


@given(st.text(max_size=60), st.text(min_size=1, max_size=30))
def test_it_never_fails(have: str, old: str) -> None:
    have = have.replace("\0", "")
    assert "Nothing was changed" in told(have, old.replace("\r\n", "\n"))
