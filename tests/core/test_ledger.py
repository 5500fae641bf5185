"""What each message has cost: shares whose sums are those of the log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.test_sent import decided
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.context import size_of
from tui_agent.core.ledger import INSTRUCTIONS, ledger
from tui_agent.core.profile import Pricing
from tui_agent.core.sent import Sent
from tui_agent.core.types import AssistantMessage, ToolCall, Usage

counts = st.integers(0, 100_000)
usages = st.none() | st.builds(Usage, counts, counts, st.none() | counts)
prices = st.none() | st.builds(Pricing, st.floats(0, 10), st.floats(0, 10), st.floats(0, 50))
replies = st.builds(
    ev.AssistantSaid, st.builds(AssistantMessage, st.text(max_size=9)), usage=usages, cost=st.floats(0, 9)
)
summaries = st.builds(ev.Compacted, st.just("s"), usage=usages, cost=st.floats(0, 9))


@given(decided(), st.lists(replies | summaries | st.just(ev.Instructed("d", 900, 300)), max_size=6), prices)
def test_the_shares_add_up_to_what_the_log_says(
    events: list[ev.Durable], calls: list[ev.Durable], pricing: Pricing | None
) -> None:
    mixed = [event for pair in zip(events, [*calls, *events], strict=False) for event in pair]
    mixed = [event for event in mixed if not isinstance(event, ev.Expanded)]
    book = ledger(mixed, lambda _: pricing)
    usage = fold.totals(mixed).usage
    total = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    assert sum(spent.tokens for spent in book.values()) == pytest.approx(total)
    known = [e.cost for e in mixed if isinstance(e, ev.AssistantSaid | ev.Compacted) and e.usage is not None and e.cost]
    if all(spent.cost is not None for spent in book.values()):
        assert sum(spent.cost or 0.0 for spent in book.values()) == pytest.approx(sum(known))


CALL = ToolCall("1", "read_file", {}, raw="{}")
TALK: list[ev.Durable] = [
    ev.Instructed("d", 400),  # 0
    ev.UserSaid("x" * 400),  # 1
    ev.AssistantSaid(AssistantMessage("", calls=(CALL,)), usage=Usage(200, 10), cost=2.1),  # 2
    ev.ToolDone(CALL, "applied", "y" * 1_198),  # 3
    ev.AssistantSaid(AssistantMessage("done"), usage=Usage(500, 20, 200), cost=4.2),  # 4
]


def test_a_message_is_paid_again_with_every_request() -> None:
    book = ledger(TALK, lambda _: None)
    assert book[1].requests == 2
    assert book[1].tokens == pytest.approx(200, abs=1)
    assert book[3].requests == 1
    assert book[3].tokens == pytest.approx(300, abs=1)
    assert book[INSTRUCTIONS].tokens == pytest.approx(200, abs=1)
    assert book[4].tokens == 20


def test_what_came_from_the_cache_is_cheaper_and_stands_in_front() -> None:
    dear = ledger(TALK, lambda _: Pricing(input=10.0, cached_input=10.0, output=10.0))
    cheap = ledger(TALK, lambda _: Pricing(input=10.0, cached_input=1.0, output=10.0))
    assert (cheap[1].cost or 0) < (dear[1].cost or 0)
    assert (cheap[3].cost or 0) > (dear[3].cost or 0)


def test_the_sums_that_run_along_are_those_of_every_single_request() -> None:
    """A talk with a reply that came in two requests, a mark and a summary, counted the slow way."""
    events = [
        *TALK,
        ev.Marked((3,), "short"),
        ev.UserSaid("more"),
        ev.AssistantSaid(AssistantMessage("ok"), usage=Usage(300, 5, 150), cost=2.0),
        ev.Compacted("s", (6,), usage=Usage(400, 9, 390), cost=1.0),
        ev.AssistantSaid(AssistantMessage("end"), usage=Usage(100, 5, 30), cost=3.0),
    ]
    rates = Pricing(input=10.0, cached_input=1.0, output=20.0)
    slow: dict[int, float] = {}
    for number, event in enumerate(events):
        if isinstance(event, ev.AssistantSaid | ev.Compacted) and event.usage is not None:
            usage, cost = event.usage, event.cost or 0.0
            steps = Sent(events[:number]).steps
            parts = [(-1, 400), *((i.at, max(1, size_of(i.sent))) for s in steps if not s.dropped for i in s.items)]
            per = (usage.input_tokens or 0) / sum(size for _, size in parts)
            cached, start = usage.cached_tokens or 0, 0.0
            weights = [(number, (usage.output_tokens or 0) * rates.output)]
            for at, characters in parts:
                count = characters * per
                old = min(max(0.0, cached - start), count)
                weights.append((at, (count - old) * rates.input + old * rates.cached_input))
                start += count
            whole = sum(weight for _, weight in weights)
            for at, weight in weights:
                slow[at] = slow.get(at, 0.0) + cost * weight / whole
    assert {at: spent.cost for at, spent in ledger(events, lambda _: rates).items()} == pytest.approx(slow)


def test_an_unknown_price_is_unknown_for_all_that_was_sent() -> None:
    events = [*TALK, ev.UserSaid("more"), ev.AssistantSaid(AssistantMessage("ok"), usage=Usage(600, 5))]
    book = ledger(events, lambda _: None)
    assert book[1].cost is None
    assert book[1].tokens > 200


def test_what_is_not_sent_any_more_costs_nothing_more() -> None:
    more = [ev.Marked((2, 3), "dropped"), ev.AssistantSaid(AssistantMessage("ok"), usage=Usage(900, 5), cost=1.0)]
    assert ledger([*TALK, *more], lambda _: None)[3] == ledger(TALK, lambda _: None)[3]
