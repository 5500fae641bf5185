"""The title says how it stands; the bell is only for who is away, once a call; and the terminal's own title comes back."""

from __future__ import annotations

import pytest

from tui_agent.ui.attention import LONGEST, Attention


def test_nobody_who_is_here_is_called():
    sent = []
    attention = Attention(sent.append, lambda: True)
    attention.call("a question")
    attention.answered()
    attention.leave()
    assert sent == []


def test_one_bell_a_call_and_the_title_comes_back_once():
    sent = []
    attention = Attention(sent.append, lambda: False)
    attention.stand("work")
    attention.stand("work")
    attention.call("first")
    attention.stand("… work")
    attention.call("second")
    attention.answered()
    attention.answered()
    attention.leave()
    attention.leave()
    titles = ["\x1b[22;2t\x1b]2;work\a", "\a", "\x1b]2;first\a", "\a", "\x1b]2;second\a", "\x1b]2;… work\a"]
    assert sent == [*titles, "\x1b[23;2t"]
    attention.come_back()
    assert sent[-1] == "\x1b[22;2t\x1b]2;… work\a"


def test_who_goes_away_from_a_question_reads_it_in_the_title_and_hears_nothing():
    sent, here = [], [True]
    attention = Attention(sent.append, lambda: here[0])
    attention.stand("[!] work")
    attention.ask("[!] work - run pytest")
    for here[0] in (False, True, False):
        attention.looked_at(here[0])
    attention.answered()
    attention.looked_at(False)
    asked, stands = "\x1b]2;[!] work - run pytest\a", "\x1b]2;[!] work\a"
    assert sent == [f"\x1b[22;2t{stands}", asked, stands, asked, stands]


def test_what_is_said_while_the_terminal_is_lent_stands_when_it_is_back():
    sent = []
    attention = Attention(sent.append, lambda: True, signs=lambda words: words.replace("…", "~"))
    attention.stand("work")
    attention.leave()
    attention.stand("… work")
    attention.answered()
    assert sent == ["\x1b[22;2t\x1b]2;work\a", "\x1b[23;2t"]
    attention.come_back()
    assert sent[2:] == ["\x1b[22;2t\x1b]2;~ work\a"]


def test_without_titles_it_only_rings():
    sent = []
    attention = Attention(sent.append, lambda: False, lambda: False)
    attention.stand("work")
    attention.call("first")
    attention.answered()
    attention.leave()
    assert sent == ["\a"]


@pytest.mark.parametrize("words", ["\x1b]0;evil\a", "a\nb", "\x9c\u202e", "x" * 500])
def test_no_outside_text_reaches_the_terminal_as_it_is(words):
    sent = []
    Attention(sent.append, lambda: False).call(words)
    inside = sent[1].removeprefix("\x1b[22;2t\x1b]2;").removesuffix("\a")
    assert inside.isprintable()
    assert len(inside) <= LONGEST
