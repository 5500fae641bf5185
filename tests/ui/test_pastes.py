"""A paste is one event, however it was read and whatever stands in it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.drivers import linux_driver, linux_inline_driver

from tui_agent.ui.editing import clean
from tui_agent.ui.pastes import PasteParser, patch_pastes

START, END = "\x1b[200~", "\x1b[201~"


def told(*pieces: str) -> list[str]:
    parser = PasteParser()
    found = [event for piece in (*pieces, "") for event in parser.feed(piece)]
    return [repr(event.text) if isinstance(event, events.Paste) else event.key for event in found]


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("one \x1b[31mred\x1b[0m end\r", "one red end\n"),
        ("x \x1b[A\r/new\r", "x \n/new\n"),
        ("\x1b[31mred\x07\rthree", "red\nthree"),
        ("\x1b]8;;http://a.b\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b", ""),
        ("a\x1b\r\x1b\x1bb", "a\nb"),
        ("\x1b[200~\x03\x11a", "a"),
        ("\x1b]0;never closed", "]0;never closed"),
        ("", ""),
    ],
)
def test_what_stands_in_a_paste_is_cleaned_and_no_key(inside: str, text: str) -> None:
    assert told(f"a{START}{inside}{END}\r") == ["a", repr(text), "enter"]


@given(
    st.text(st.sampled_from("a\r\n\x1b[20~1;m\x07A\x00"), max_size=30).filter(lambda text: END not in text),
    st.lists(st.integers(0, 45), max_size=6),
)
def test_it_is_the_same_however_it_was_cut(inside: str, cuts: list[int]) -> None:
    whole = f"{START}{inside}{END}b{START}c{END}\x1b[A"
    if whole.find(END, len(START)) != len(START) + len(inside):
        return  # the last characters made an end mark of their own
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    pieces = [whole[a:b] for a, b in pairwise(edges) if a < b]
    assert told(*pieces) == [repr(clean(inside)), "b", "'c'", "up"]


def test_an_escape_that_stayed_alone_begins_no_paste(monkeypatch: pytest.MonkeyPatch) -> None:
    parser = PasteParser()
    assert list(parser.feed("\x1b")) == []
    monkeypatch.setattr("textual._parser.get_time", lambda: float("inf"))
    assert [event.key for event in parser.tick() if isinstance(event, events.Key)] == ["escape"]
    assert len(list(parser.feed("[200~"))) == len("[200~")


def test_the_drivers_read_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for driver in (linux_driver, linux_inline_driver):
        monkeypatch.setattr(driver, "XTermParser", None)
    patch_pastes()
    assert linux_driver.XTermParser is linux_inline_driver.XTermParser is PasteParser
