"""Which events still stand: a rewind takes a message with all that belongs to it out of the conversation, not out of the log.

To a message belongs what was recorded for it before it: what it is about (`Routed`) and what was searched for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

from tui_agent.core import events as ev

AnyEvent: TypeAlias = ev.Event | ev.Unknown
E = TypeVar("E", bound=AnyEvent)


def standing(events: Iterable[AnyEvent]) -> list[AnyEvent]:
    """The events without those that a rewind of the conversation took out of it."""
    return [event for _, event in numbered(events)]


def numbered(events: Iterable[AnyEvent]) -> list[tuple[int, AnyEvent]]:
    """The events that stand, each with its number among all of them."""
    out: list[tuple[int, AnyEvent]] = []
    starts: list[int] = []
    opened: int | None = None
    for number, event in enumerate(events):
        match event:
            case ev.Rewound(turn) if 0 < turn <= len(starts):
                back = starts[turn - 1]
                del out[back:]
                starts[turn - 1 :] = [back] * (len(starts) - turn + 1)
                opened = None
            case ev.UserSaid():
                starts.append(len(out) if opened is None else opened)
                opened = None
            case ev.Routed() if opened is None:
                opened = len(out)
            case ev.RunEnded():
                opened = None
        out.append((number, event))
    return out


def turns(events: Iterable[AnyEvent]) -> list[int]:
    """The numbers of the messages that are still part of the conversation, oldest first."""
    said, out = 0, list[int]()
    for event in events:
        if isinstance(event, ev.UserSaid):
            said += 1
            out.append(said)
        elif isinstance(event, ev.Rewound):
            out = [number for number in out if number < event.turn]
    return out


def before(events: Sequence[E], turn: int) -> Sequence[E]:
    """The events before the message number `turn` (from 1) and what belongs to it; all of them when there is none."""
    starts = [at for at, event in enumerate(events) if isinstance(event, ev.UserSaid)]
    if not 0 < turn <= len(starts):
        return events
    start = starts[turn - 1]
    for at in range(start - 1, -1, -1):
        if isinstance(events[at], ev.UserSaid | ev.RunEnded | ev.Rewound):
            break
        if isinstance(events[at], ev.Routed):
            start = at
    return events[:start]


def apart(events: Sequence[AnyEvent]) -> bool:
    """Whether what is said next belongs to a question that is answered apart: its message has not come yet, or no end."""
    newest = next((e for e in reversed(events) if isinstance(e, ev.Routed | ev.RunEnded | ev.Rewound)), None)
    return isinstance(newest, ev.Routed) and newest.intent == "general"
