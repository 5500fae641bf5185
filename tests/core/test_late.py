from __future__ import annotations

import re

import pytest

from tui_agent.core.late import late, unescaped


def test_a_late_pattern_does_what_a_compiled_one_does() -> None:
    text = "One two\nTHREE two"
    pattern, compiled = late("two$", re.MULTILINE | re.IGNORECASE), re.compile("two$", re.MULTILINE | re.IGNORECASE)
    assert pattern.findall(text) == compiled.findall(text)
    assert pattern.sub("2", text) == compiled.sub("2", text)
    assert [m.span() for m in pattern.finditer(text)] == [m.span() for m in compiled.finditer(text)]
    assert pattern.match(text) is None
    assert pattern.pattern == compiled.pattern


def test_a_wrong_one_is_told_at_its_first_use() -> None:
    pattern = late("(")
    with pytest.raises(re.error):
        pattern.search("")


def test_entities_are_read() -> None:
    assert unescaped("a &lt; b &amp;amp; &eacute;") == "a < b &amp; é"
