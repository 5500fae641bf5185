"""What each message has cost over all requests that it was in. The shares add up to what the log says.

A request's tokens are spread over what it held by size. Its beginning is what the server had in its cache, so the
tokens that were read from there, and their lower price, go to the first messages. Nothing here looks at every message
for every request: sums run along, and a message takes its share of them when the list changes, or at the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui_agent.core import events as ev
from tui_agent.core.context import size_of
from tui_agent.core.profile import Pricing
from tui_agent.core.sent import Sent
from tui_agent.core.standing import AnyEvent
from tui_agent.core.types import Usage

INSTRUCTIONS = -1
"""Stands for the system text and the tools where a message is named by the number of its event."""

Prices = Callable[[str], Pricing | None]
"""The prices of a profile, by its name."""

_CHANGES = (ev.Instructed, ev.Marked, ev.Compacted, ev.Expanded, ev.RunEnded, ev.Rewound)
"""After these the list of messages may be another one than it was with something more at its end."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one message took: the `requests` it was in, the `tokens` of all of them, its own writing included.

    `cost` in USD, None as soon as that of one of them is unknown.
    """

    requests: int = 0
    tokens: float = 0.0
    cost: float | None = 0.0

    def plus(self, other: Spent) -> Spent:
        """Both together."""
        both = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Spent(self.requests + other.requests, self.tokens + other.tokens, both)


def ledger(events: Sequence[AnyEvent], prices: Prices) -> dict[int, Spent]:
    """What each message took, by the number of its event. What a reply wrote counts for the reply itself."""
    book = _Book()
    sent, profile = Sent(), ""
    for number, event in enumerate(events):
        if isinstance(event, ev.ModelChosen):
            profile = event.profile
        if isinstance(event, ev.AssistantSaid | ev.Compacted) and event.usage is not None:
            sent.catch_up(events[:number])
            if sent.apart:
                book.alone(number, event.usage, event.cost)
            else:
                book.hold(sent)
                book.request(number, event.usage, event.cost, prices(profile) or Pricing(1.0, 1.0, 1.0))
        if isinstance(event, ev.Routed) and event.usage is not None:
            book.alone(number, event.usage, event.cost)
        if isinstance(event, _CHANGES):
            book.settle()
    book.settle()
    return book.spent


@dataclass(slots=True)
class _Sums:
    """Sums over requests: how many, tokens and USD for each character, and those whose cost is unknown."""

    requests: int = 0
    tokens: float = 0.0
    cost: float = 0.0
    unknown: int = 0


class _Book:
    """The running sums, and for each part of the list what they were when it joined."""

    def __init__(self) -> None:
        self.spent: dict[int, Spent] = {}
        self._now = _Sums()
        self._steps = 0
        self._empty()

    def _empty(self) -> None:
        """A list without parts. `_ends`: characters up to the end of each; `_less`: see `request`."""
        self._parts: list[tuple[int, int, _Sums]] = []
        self._ends: list[int] = []
        self._less: list[float] = []
        self._partly: list[float] = []
        self._steps = 0

    def hold(self, sent: Sent) -> None:
        """Take in what is new at the end of the list."""
        if not self._parts:
            self._join(INSTRUCTIONS, sent.frame)
        steps = sent.settled(self._steps)
        self._steps += len(steps)
        for step in steps:
            for item in () if step.dropped else step.items:
                self._join(item.at, size_of(item.sent))

    def _join(self, at: int, characters: int) -> None:
        characters = max(1, characters)
        now = self._now
        self._parts.append((at, characters, _Sums(now.requests, now.tokens, now.cost, now.unknown)))
        self._ends.append((self._ends[-1] if self._ends else 0) + characters)
        self._less.append(0.0)
        self._partly.append(0.0)

    def request(self, number: int, usage: Usage, cost: float | None, rates: Pricing) -> None:
        """Count one request with all parts; `number` is the event of what was written.

        Everybody pays the full price; what the cache saved is noted once, at the part in which the cached beginning
        ends: in `_less` for the whole of each part before it, by character, in `_partly` for that one.
        """
        now, read, written = self._now, usage.input_tokens or 0, usage.output_tokens or 0
        cached = min(usage.cached_tokens or 0, read)
        weight = (read - cached) * rates.input + cached * rates.cached_input + written * rates.output
        if weight < 1e-9:  # no rates, or too small to divide by
            rates, weight = Pricing(1.0, 1.0, 1.0), read + written
        unit = (cost or 0.0) / weight if weight > 0 else 0.0
        per = read / self._ends[-1]
        now.requests += 1
        now.tokens += per
        now.cost += per * rates.input * unit
        now.unknown += cost is None
        if cached:
            saved, end = per * (rates.input - rates.cached_input) * unit, cached / per
            last = min(bisect_right(self._ends, end), len(self._ends) - 1)
            self._less[last] += saved
            before = self._ends[last - 1] if last else 0
            self._partly[last] += saved * (min(end, self._ends[last]) - before)
        own = None if cost is None else written * rates.output * unit if weight > 0 else cost
        self._add(number, Spent(0, written, own))

    def alone(self, number: int, usage: Usage, cost: float | None) -> None:
        """Count a request that held nothing of the list: all of it is for what was written, the event `number`."""
        self._add(number, Spent(1, (usage.input_tokens or 0) + (usage.output_tokens or 0), cost))

    def settle(self) -> None:
        """Give every part its share of the sums; the list begins anew."""
        now, less = self._now, 0.0
        for index in range(len(self._parts) - 1, -1, -1):
            at, characters, then = self._parts[index]
            cost = characters * (now.cost - then.cost - less) - self._partly[index]
            less += self._less[index]
            share = Spent(
                now.requests - then.requests,
                characters * (now.tokens - then.tokens),
                None if now.unknown > then.unknown else cost,
            )
            if share.requests:
                self._add(at, share)
        self._empty()

    def _add(self, at: int, share: Spent) -> None:
        self.spent[at] = self.spent.get(at, Spent()).plus(share)
