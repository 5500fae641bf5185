"""How full the context is: a fold over the events that never invents a number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

from tui_agent.core import events as ev
from tui_agent.core.context import CHARACTERS_PER_TOKEN, size_of
from tui_agent.core.endings import GIVES_BACK
from tui_agent.core.fold import message_of
from tui_agent.core.standing import AnyEvent, standing


@dataclass(frozen=True, slots=True)
class Meter:
    """How full the context is: tokens of the newest request and reply as the server counted them, and characters since.

    `counted` None: nothing was counted yet, all of it is an estimate, with the `frame`: the characters of system text
    and tools. `exact` False: another model counted. `before`: the characters without a message that has no answer yet.
    `apart`: a question is being answered with which nothing of this is sent.
    """

    counted: int | None = None
    characters: int = 0
    exact: bool = True
    frame: int = 0
    before: int | None = None
    apart: bool = False

    @property
    def tokens(self) -> int | None:
        """Tokens of the next request, None before anything was said."""
        if self.counted is None:
            return (self.frame + self.characters) // CHARACTERS_PER_TOKEN if self.characters else None
        return self.counted + self.characters // CHARACTERS_PER_TOKEN

    @property
    def estimated(self) -> bool:
        """Whether `tokens` is more than the server counted."""
        return self.counted is None or self.characters > 0 or not self.exact


def measure(so_far: Meter, event: AnyEvent) -> Meter:
    """The meter with one more event."""
    if isinstance(event, ev.Routed):
        return replace(so_far, apart=event.intent == "general")
    if so_far.apart:
        return replace(so_far, apart=not isinstance(event, ev.RunEnded))
    if isinstance(event, ev.ModelChosen):
        return replace(so_far, exact=so_far.counted is None)
    if isinstance(event, ev.Instructed):
        return replace(so_far, frame=event.size + event.tools)
    if isinstance(event, ev.Marked) and not event.left:  # how what has just come is sent: of the rest nothing changed
        return so_far
    if isinstance(event, ev.Marked | ev.Expanded) or (isinstance(event, ev.Compacted) and not event.fault):
        return Meter(event.left, exact=False)
    if isinstance(event, ev.RunEnded) and so_far.before is not None:
        back = event.reason in GIVES_BACK  # it leaves the history
        return replace(so_far, characters=so_far.before if back else so_far.characters, before=None)
    if isinstance(event, ev.UserSaid):
        so_far = replace(so_far, before=so_far.characters)
    elif isinstance(event, ev.AssistantSaid | ev.Checkpoint):
        so_far = replace(so_far, before=None)
    if isinstance(event, ev.AssistantSaid) and event.usage is not None and event.usage.input_tokens is not None:
        return Meter(event.usage.input_tokens + (event.usage.output_tokens or 0))
    message = message_of(event)
    return so_far if message is None else replace(so_far, characters=so_far.characters + size_of(message))


def meter(events: Iterable[AnyEvent]) -> Meter:
    """How full the context is after these events."""
    events = list(events)
    frames = (e.size + e.tools for e in reversed(events) if isinstance(e, ev.Instructed))  # a rewind changes none
    return reduce(measure, standing(events), Meter(frame=next(frames, 0)))
