"""Bell and title: only for who is away, once a call, and the title comes back."""

from __future__ import annotations

import pytest

from tui_agent.ui.attention import LONGEST, Attention


def test_nothing_is_written_to_somebody_who_is_here():
    sent = []
    attention = Attention(sent.append, lambda: True)
    attention.call("a question")
    attention.answered()
    assert sent == []


def test_one_bell_a_call_and_the_title_comes_back_once():
    sent = []
    attention = Attention(sent.append, lambda: False)
    attention.call("first")
    attention.call("second")
    attention.answered()
    attention.answered()
    assert sent == ["\a\x1b[22;2t\x1b]2;first\a", "\a\x1b]2;second\a", "\x1b[23;2t"]


@pytest.mark.parametrize("words", ["\x1b]0;evil\a", "a\nb", "\x9c\u202e", "x" * 500])
def test_no_outside_text_reaches_the_terminal_as_it_is(words):
    sent = []
    Attention(sent.append, lambda: False).call(words)
    inside = sent[0].removeprefix("\a\x1b[22;2t\x1b]2;").removesuffix("\a")
    assert inside.isprintable()
    assert len(inside) <= LONGEST
