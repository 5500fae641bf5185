"""How much may be sent, and what is left out of it when it is too much: pure functions of the events.

First old results are cut to their heads, then whole turns are left out, then steps of today's turn. Never left out
are pinned steps, summaries, the person's newest message with what they said to its run, and the newest reply with its
results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeAlias, TypeVar

from tui_agent.core import events as ev
from tui_agent.core.codec import to_json
from tui_agent.core.endings import Limits
from tui_agent.core.log import digest_of
from tui_agent.core.sent import HEAD, Item, Sent, Step, size
from tui_agent.core.standing import AnyEvent
from tui_agent.core.types import Request, ToolMessage

HIGH, LOW, WARN = 0.92, 0.70, 0.80
"""Parts of the room: from the first on something is left out, down to the second; at the third there is a warning."""
AFTER_OVERFLOW = 0.75
"""How much of a request that was too long is tried next."""
ANSWER = 4_096
"""Tokens that are kept free for the answer where the profile says nothing, an eighth of the window at most."""

SLACK = 0.03
"""By which part of it a request may be longer than is known: only what came since the last count is a guess."""
LEAST_ANSWER = 256
"""Tokens that are left for an answer at least; where they are not there the server says so."""

Decision = TypeVar("Decision", ev.Marked, ev.Compacted, ev.Expanded)


@dataclass(frozen=True, slots=True)
class Room:
    """What a model takes: its `window` in tokens, None unknown, of which `reserve` are for the answer (0: as usual).

    `compacts`: a summary is written before whole turns are left out.
    """

    window: int | None = None
    reserve: int = 0
    compacts: bool = True


def instructed(request: Request, names: tuple[str, ...] = ()) -> ev.Instructed:
    """What a request says before its messages, and the tools that it offers in whatever form."""
    tools = sum(len(str(to_json(tool))) for tool in request.tools)
    digest = digest_of((request.system, request.tools, request.schema))
    return ev.Instructed(digest, len(request.system), tools, names)


def limit(events: Sequence[AnyEvent], sent: Sent, room: Room, limits: Limits) -> int:
    """The most characters that a request may have."""
    most = limits.max_context
    if room.window is not None:
        answer = min(room.reserve or ANSWER, room.window // (2 if room.reserve else 8))
        most = min(most, int((room.window - answer) * sent.density))
    for event in reversed(events):
        if isinstance(event, ev.ModelChosen):
            break
        if isinstance(event, ev.Overflowed):
            most = min(most, int(event.size * AFTER_OVERFLOW))
    return most


def answer_left(characters: int, density: float, room: Room) -> int | None:
    """Tokens that the window leaves for the reply to a request of this size; None when nobody knows the window."""
    if room.window is None:
        return None
    return max(LEAST_ANSWER, int(room.window - (1 + SLACK) * characters / density))


def decided(events: Sequence[AnyEvent], decision: Decision) -> Decision:
    """A decision about what is sent, with the number of tokens that it leaves."""
    sent = Sent([*events, decision])
    return replace(decision, left=round(sent.size / sent.density))


# ------------------------------------------------------------------ what is left out


def newest(steps: Sequence[Step]) -> tuple[int | None, int]:
    """Where the person's newest message is, and where the newest reply to it begins (the end when there is none)."""
    request = next((n for n in range(len(steps) - 1, -1, -1) if steps[n].head.kind == "request"), None)
    first = 0 if request is None else request + 1
    return request, next((n for n in range(len(steps) - 1, first - 1, -1) if steps[n].head.kind == "reply"), len(steps))


def kept(steps: Sequence[Step]) -> tuple[int, ...]:
    """The steps that a compaction leaves word for word, by their numbers."""
    request, tail = newest(steps)
    said = {n for n in range(request or 0, len(steps)) if n == request or steps[n].head.kind == "steer"}
    return tuple(step.head.at for n, step in enumerate(steps) if step.pinned or n in said or n >= tail)


def prune(steps: Sequence[Step], room: int, *, whole_turns: bool = True, most: int | None = None) -> tuple[Step, ...]:
    """The steps so marked that they have at most `room` characters, or as near as can be.

    Without `whole_turns` old results are shortened and nothing else is done. The results that the model waits for are
    shortened last, and only down to `most` characters: one that just fits stays whole.
    """
    out = list(steps)
    _shrink(out, room, _changes(out, whole_turns=whole_turns))
    if whole_turns:
        _shrink(out, room if most is None else most, _shorter(out, range(newest(steps)[1], len(out))))
    return tuple(out)


def _shrink(steps: list[Step], room: int, changes: Iterator[Change]) -> None:
    """Carry out changes until there are at most so many characters."""
    over = size(steps) - room
    for change in changes:
        if over <= 0:
            break
        for index, changed in change:
            over -= steps[index].size - changed.size
            steps[index] = changed


Change: TypeAlias = list[tuple[int, Step]]


def _changes(steps: list[Step], *, whole_turns: bool) -> Iterator[Change]:
    """What may be done, in the order in which it is done; `steps` are looked at as they are by then."""
    request, tail = newest(steps)
    yield from _shorter(steps, range(tail))
    if whole_turns:
        old = range(request or 0)
        starts = [n for n in old if n == 0 or steps[n].head.kind == "request"]
        for start, end in pairwise([*starts, len(old)]):
            yield _without(steps, range(start, end))
        for index in range(len(old) + (request is not None), tail):
            if steps[index].head.kind != "steer":
                yield _without(steps, range(index, index + 1))


def _shorter(steps: list[Step], where: range) -> Iterator[Change]:
    for index in where:
        for item in filter(_long, steps[index].items):
            yield [(index, steps[index].marked("short", item.at))]


def _without(steps: list[Step], where: range) -> Change:
    may = (n for n in where if not steps[n].pinned and steps[n].head.kind != "summary")
    return [(index, steps[index].marked("dropped")) for index in may]


def _long(item: Item) -> bool:
    return isinstance(item.stored, ToolMessage) and item.how == "whole" and len(item.stored.text) > HEAD + 100


def marks(before: Sequence[Step], after: Sequence[Step]) -> Iterator[ev.Marked]:
    """The events that make the one of the other."""
    for how in ("short", "dropped"):
        numbers = [
            new.at
            for old_step, new_step in zip(before, after, strict=True)
            for old, new in zip(old_step.items, new_step.items, strict=True)
            if new.how == how != old.how
        ]
        if numbers:
            yield ev.Marked(tuple(dict.fromkeys(numbers)), how, "room")
