"""A saved session as recordings: each of its tasks with what came before it, and what its log tells of how it was run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from tui_agent.core import events as ev
from tui_agent.core import unfinished
from tui_agent.core.endings import INTERRUPTED, Limits, StopReason
from tui_agent.core.guards import TOO_OFTEN, Denied, signature
from tui_agent.core.loop import ONLY_STEP, WARNINGS
from tui_agent.core.types import ToolSpec
from tui_agent.shapes import Recorded, shape_of
from tui_agent.tools.lookups import LOOKUPS
from tui_agent.tools.registry import TOOLS

SPECS: Mapping[str, ToolSpec] = {name: tool.spec for name, tool in {**TOOLS, **LOOKUPS}.items()}
_LEFT = {text: left for left, text in WARNINGS.items()} | {ONLY_STEP: 0}


@dataclass(frozen=True, slots=True)
class Run:
    """One task of a session: the events before it, and its own up to its end or to where it was interrupted."""

    before: tuple[Recorded, ...]
    events: tuple[Recorded, ...]
    whole: bool
    """False when the person interrupted it, or the process died: then it is compared up to there."""
    beside: tuple[Recorded, ...] = ()
    """The events right before it that belong to no task: what the person did, and the part of an interrupted one that
    cannot be played."""

    @property
    def task(self) -> str:
        """What the person said."""
        first = self.events[0]
        assert isinstance(first, ev.UserSaid)
        return first.text

    def of(self, kind: type[Any]) -> list[Any]:
        """Its events of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def stopping(self) -> Denied:
        """Whose no ended it at once, as the settings then said; "" when none did."""
        ends, denied = self.of(ev.RunEnded), [done for done in self.of(ev.ToolDone) if done.denied]
        if not (ends and ends[-1].reason is StopReason.DENIED and denied):
            return ""
        ending = [done for done in denied if ends[-1].detail == f"denied: {done.summary}" and done.denied != "skip"]
        last: ev.ToolDone = (ending or denied)[-1]  # behind it stands what the person said no to in the same question
        same = [done for done in denied if signature(done.call) == signature(last.call)]
        return last.denied if len(same) < TOO_OFTEN else ""

    @property
    def too_long(self) -> int:
        """How many of its requests the server refused as too long; each was a step, and was said again shorter."""
        return len(self.of(ev.Overflowed))

    @property
    def checks_each(self) -> bool:
        """Whether its check ran, or was asked for, before all calls of a reply had been carried out."""
        left: set[str] = set()
        for event in self.events:
            match event:
                case ev.AssistantSaid(message):
                    left = {call.id for call in message.calls}
                case ev.ToolDone(call):
                    left.discard(call.id)
                case ev.CheckDone() | ev.Asked(tool="check") if left:
                    return True
        return False

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that a model was offered in any protocol; a server's own come without what is known of their fields."""
        names = dict.fromkeys((*self.named(text=False), *self.named(text=True)))
        return tuple(SPECS.get(name) or ToolSpec(name, "", {"type": "object"}, {}) for name in names)

    def named(self, *, text: bool) -> tuple[str, ...]:
        """What was offered natively or as text; today's tools where the log does not tell."""
        protocol, named = "native", {False: (tuple(TOOLS), 0), True: (tuple(TOOLS), 0)}
        for at, event in enumerate((*self.before, *self.events)):
            if isinstance(event, ev.ModelChosen | ev.ProtocolChosen):
                protocol = event.protocol
            kind = protocol != "native"
            if isinstance(event, ev.Instructed) and event.names and named[kind][1] <= len(self.before):
                named[kind] = event.names, at
        return named[text][0]

    def limits(self, today: Limits) -> Limits:
        """Today's limits with the number of steps that the recording shows it had, where it shows one; none on the cost."""
        today, asked, replied = replace(today, max_cost=None), 0, False
        for event in self.events:
            if isinstance(event, ev.Notice) and event.text in _LEFT:
                return replace(today, max_steps=asked + 1 + _LEFT[event.text])
            if isinstance(event, ev.AssistantSaid) or (isinstance(event, ev.ProtocolChosen) and not replied):
                asked += 1  # a server that took no calls said nothing else
            replied = isinstance(event, ev.AssistantSaid) or (replied and shape_of(event) is None)
        ends = self.of(ev.RunEnded)
        if ends and ends[-1].reason is StopReason.STEP_LIMIT:
            return replace(today, max_steps=ends[-1].steps - self.too_long)
        return today


def runs(events: Sequence[Recorded]) -> Iterator[Run]:
    """The tasks of a session, in order."""
    played = 0
    starts = [at for at, event in enumerate(events) if isinstance(event, ev.UserSaid)]
    for start, end in pairwise([*starts, len(events)]):
        own = list(events[start:end])
        ended = next((at for at, event in enumerate(own) if isinstance(event, ev.RunEnded)), None)
        own = own if ended is None else own[: ended + 1]
        cut = next((at for at in range(len(own)) if _interrupted(own, at)), None)
        whole = cut is None and ended is not None
        part = tuple(own) if whole else _answered_part(own[:cut])
        yield Run(tuple(events[:start]), part, whole, tuple(events[played:start]))
        played = start + len(part)


def _answered_part(own: Sequence[Recorded]) -> tuple[Recorded, ...]:
    """An interrupted run up to its last reply, and beyond it only when all calls of that reply were carried out."""
    last = max((at for at, event in enumerate(own) if isinstance(event, ev.AssistantSaid)), default=-1)
    if last >= 0:
        reply = own[last]
        done = {event.call.id for event in own[last:] if isinstance(event, ev.ToolDone)}
        assert isinstance(reply, ev.AssistantSaid)
        if not done.issuperset(call.id for call in reply.message.calls):
            return tuple(own[: last + 1])
    return tuple(own)


def _interrupted(own: Sequence[Recorded], at: int) -> bool:
    match own[at]:
        case ev.AssistantSaid(complete=False):
            return not (at + 1 < len(own) and isinstance(own[at + 1], ev.ProviderFailed))
        case ev.ToolDone(note=note) if note == "stopped" or note.startswith(unfinished.WORD):
            return True
        case ev.CheckDone(exit_code=None):  # by the end that follows at once: a check at its limit has none, either
            return at + 1 < len(own) and isinstance(own[at + 1], ev.RunEnded) and _interrupted(own, at + 1)
        case ev.RunEnded(reason=StopReason.STOPPED, detail=detail):
            return detail in INTERRUPTED
        case ev.RunEnded(reason=StopReason.CONTEXT_LIMIT | StopReason.TOKEN_LIMIT | StopReason.COST_LIMIT):
            return True  # how full it was and what it took depend on prompt and prices, which the log does not hold
        case ev.Overflowed():  # a step that leaves nothing to play: what was said behind it, or counts steps, has no place
            then = next((event for event in own[at:] if isinstance(event, ev.Steered | ev.AssistantSaid)), None)
            warned = any(isinstance(event, ev.Notice) and event.text in _LEFT for event in own[:at])
            return warned or isinstance(then, ev.Steered)
    return False
