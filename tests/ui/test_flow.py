"""How fast a reply comes: an estimate that is none before there is a pace, and the same however it was cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core import events as ev
from tui_agent.ui.chrome import FooterState, footer_line, phase_words
from tui_agent.ui.conversation import THINKING
from tui_agent.ui.flow import Flow


@given(st.lists(st.integers(1, 50), min_size=1, max_size=20), st.floats(1, 100))
def test_the_pace_is_that_of_all_its_pieces(pieces: list[int], seconds: float) -> None:
    flow = Flow()
    flow.take(0, 5.0)
    for at, piece in enumerate(pieces):
        flow.take(piece, 10.0 + seconds * at / len(pieces))
    flow.take(0, 10.0 + seconds)
    assert flow.rate == (round(sum(pieces) / 4 / seconds) or None)
    flow.begin()
    assert flow.rate is None


def test_what_came_at_once_has_no_pace() -> None:
    flow = Flow()
    flow.take(10_000, 1.0)
    flow.take(10_000, 1.5)
    assert flow.rate is None


def test_arguments_count_by_what_they_have_grown_by() -> None:
    flow = Flow()
    for size in (40, 80, 40):  # the last one is of another call
        flow.grown(size, size / 40)
    flow.grown(80, 3.0)
    assert flow.rate == round((80 + 40 + 40) / 4 / 2.0)


def test_it_stands_in_the_footer_at_every_width() -> None:
    words = phase_words(ev.Phase("streaming"), 6, 0.1, 41)
    assert words == "streaming ~41 tok/s 6s"
    assert phase_words(ev.Phase("streaming", THINKING), 6, 0.1, 41) == "thinking ~41 tok/s 6s"
    assert phase_words(ev.Phase("streaming"), 6, 0.1) == "streaming 6s"
    assert phase_words(ev.Phase("streaming"), 30, 21, 41) == "no data for 21s"
    assert phase_words(ev.Phase("waiting"), 4, 4, None) == "waiting for the model 4s"
    state = FooterState(words, ("Ctrl+C stop",), brief=words.removeprefix("streaming "))
    assert footer_line(state, 120).plain.startswith(" streaming ~41 tok/s 6s   Ctrl+C stop")
    assert footer_line(state, 40).plain.startswith(" ~41 tok/s 6s   Ctrl+C stop")
