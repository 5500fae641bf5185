"""How full the context is, and what each model took: sums over events that never invent a number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import GIVES_BACK, StopReason
from tui_agent.core.meter import Meter, measure, meter
from tui_agent.core.types import AssistantMessage, Image, ToolCall, Usage

CHOSEN = ev.ModelChosen("p", "m")


def said(text: str = "ok", usage: Usage | None = None, cost: float | None = None) -> ev.AssistantSaid:
    return ev.AssistantSaid(AssistantMessage(text), usage=usage, cost=cost)


def test_before_anything_was_said_there_is_no_number() -> None:
    assert meter([CHOSEN]).tokens is None


def test_what_the_server_counted_is_exact_and_what_came_since_is_not() -> None:
    events: list[ev.Durable] = [CHOSEN, ev.UserSaid("x" * 400)]
    assert (meter(events).tokens, meter(events).estimated) == (100, True)
    events.append(said(usage=Usage(1000, 50, cached_tokens=800)))
    assert (meter(events).tokens, meter(events).estimated) == (1050, False)
    events.append(ev.ToolDone(ToolCall("c", "read_file", {}), "applied", "y" * 4000))
    assert (meter(events).tokens, meter(events).estimated) == (2050, True)
    events.append(ev.Notice("words to the person", "person"))
    assert meter(events).tokens == 2050


def test_another_model_counts_otherwise() -> None:
    events = [CHOSEN, said(usage=Usage(1000, 50)), ev.ModelChosen("q", "n")]
    assert (meter(events).tokens, meter(events).estimated) == (1050, True)
    events.append(said(usage=Usage(1200, 10)))
    assert (meter(events).tokens, meter(events).estimated) == (1210, False)


def test_a_server_that_counts_nothing_leaves_an_estimate() -> None:
    events = [CHOSEN, ev.UserSaid("x" * 400), said("y" * 400)]
    assert (meter(events).tokens, meter(events).estimated) == (200, True)


def test_system_text_and_tools_count_until_the_server_has_counted() -> None:
    """Before the first request what would be sent is nearly all system text."""
    events: list[ev.Durable] = [CHOSEN, ev.UserSaid("x" * 400), ev.Instructed("d", 6_000, 2_000)]
    assert (meter(events).tokens, meter(events).estimated) == (2_100, True)
    events += [said(usage=Usage(2_200, 10))]
    assert (meter(events).tokens, meter(events).estimated) == (2_210, False)
    events.append(ev.Rewound(1, ()))
    assert meter(events).tokens is None
    events.append(ev.UserSaid("x" * 400))
    assert meter(events).tokens == 2_100


@pytest.mark.parametrize("reason", sorted(GIVES_BACK))
def test_a_message_that_was_not_answered_and_went_back_counts_no_more(reason: StopReason) -> None:
    events: list[ev.Durable] = [CHOSEN, ev.UserSaid("x" * 400), ev.RunEnded(reason, "no")]
    assert meter(events).tokens is None
    events = [CHOSEN, ev.UserSaid("a"), said(usage=Usage(1000, 50)), ev.UserSaid("x" * 400)]
    assert meter(events).tokens == 1150
    events.append(ev.RunEnded(reason, "no"))
    assert (meter(events).tokens, meter(events).estimated) == (1050, False)
    events[-1:] = [ev.Checkpoint("half"), ev.RunEnded(reason, "no")]
    assert meter(events).tokens == 1150


def test_how_something_new_is_sent_says_nothing_of_the_rest() -> None:
    events: list[ev.Durable] = [CHOSEN, said(usage=Usage(1000, 50)), ev.Notice("x" * 400, "model")]
    assert meter([*events, ev.Marked((2,), "pinned")]).tokens == 1150
    assert meter([*events, ev.Marked((1,), "dropped", left=700)]).tokens == 700


def test_a_picture_counts() -> None:
    image = Image("a.png", "image/png", "0" * 64, 10)
    assert (meter([ev.UserSaid("look", (image,))]).tokens or 0) > 1000


counts = st.none() | st.integers(0, 10**6)
usages = st.none() | st.builds(Usage, counts, counts, counts, counts, counts)
costs = st.none() | st.floats(0, 10)
names = st.sampled_from(["a", "b", "c"])
happened = st.lists(
    st.builds(said, st.text(max_size=20), usages, costs)
    | st.builds(ev.ModelChosen, names, names)
    | st.builds(ev.UserSaid, st.text(max_size=20)),
    max_size=20,
)


@given(happened)
def test_the_sum_over_models_is_the_sum_over_replies(events: list[ev.Durable]) -> None:
    total, sums = fold.totals(events), fold.totals_by_model(events)
    assert sum(t.replies for _, t in sums) == total.replies
    assert sum(t.uncounted for _, t in sums) == total.uncounted
    assert sum(t.usage.input_tokens or 0 for _, t in sums) == (total.usage.input_tokens or 0)
    assert (total.cost is None) == any(t.cost is None for _, t in sums)


@given(happened)
def test_the_meter_is_the_same_event_by_event_and_never_negative(events: list[ev.Durable]) -> None:
    so_far = Meter()
    for event in events:
        so_far = measure(so_far, event)
    assert so_far == meter(events)
    assert (so_far.tokens or 0) >= 0
