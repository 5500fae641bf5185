"""What the next request holds: a fold over the events that is kept up to date one event at a time.

Stored is everything that was said; sent is what is left of it by the decisions in the log: how a message is marked,
where a summary took the place of others. A call and its results are one `Step` here and are never parted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.context import CHARACTERS_PER_TOKEN, size_of
from tui_agent.core.endings import GIVES_BACK, StopReason
from tui_agent.core.standing import AnyEvent, numbered
from tui_agent.core.types import AssistantMessage, History, Message, ToolMessage, UserMessage

Kind: TypeAlias = Literal["request", "steer", "reply", "result", "word", "summary"]
"""What a message is: the person's, theirs in the middle of a run, the model's, a call's answer, the product's own, or in
the place of others."""

LEAST_COUNTED = 2_000
"""Characters of a request below which its count says little about the text: the server's own frame is part of it."""
HEAD = 400
"""Characters that are left of a message that is sent short."""
SUMMARY = "Summary of the conversation before this point; the messages themselves were left out:\n\n"
LEFT_OUT = "[this result was left out by the user]"


@dataclass(frozen=True, slots=True)
class Item:
    """A stored message with how it is sent. `at` is the number of its event, that of the call where no result came."""

    at: int
    kind: Kind
    stored: Message
    how: ev.How = "whole"

    @property
    def sent(self) -> Message:
        """The message as it is sent, if its step is."""
        if self.how == "short":
            return shortened(self.stored)
        if self.how == "dropped" and isinstance(self.stored, ToolMessage):
            return replace(self.stored, text=LEFT_OUT)
        return self.stored


@dataclass(frozen=True, slots=True)
class Step:
    """What stays together: a reply with the results of its calls, or any other message by itself."""

    items: tuple[Item, ...]

    @property
    def head(self) -> Item:
        """The message, or the reply."""
        return self.items[0]

    @property
    def pinned(self) -> bool:
        """Whether one of them is never to be left out."""
        return any(item.how == "pinned" for item in self.items)

    @property
    def dropped(self) -> bool:
        """Whether nothing of it is sent."""
        return self.head.how == "dropped" and not self.pinned

    @property
    def sent(self) -> History:
        """Its messages as they are sent."""
        return () if self.dropped else tuple(item.sent for item in self.items)

    @property
    def size(self) -> int:
        """Characters of it in a request."""
        return sum(map(size_of, self.sent))

    def marked(self, how: ev.How, at: int | None = None) -> Step:
        """The step with all of it, or the item of the event `at`, sent like this."""
        return Step(tuple(replace(item, how=how) if at in {None, item.at} else item for item in self.items))


def shortened(message: Message) -> Message:
    """The head of a message with a line that counts what is left out; calls stay as they are, pictures do not."""
    text = message.text
    if len(text) > HEAD:
        text = (
            f"{text[:HEAD]}\n[... {len(text) - HEAD:,} characters left out to save room; ask for them again if needed]"
        )
    if len(text) >= len(message.text):
        text = message.text
    return replace(message, text=text, images=()) if isinstance(message, UserMessage) else replace(message, text=text)


def size(steps: Iterable[Step]) -> int:
    """Characters of some steps in a request."""
    return sum(step.size for step in steps)


def messages(steps: Iterable[Step]) -> History:
    """The messages of some steps as they are sent."""
    return tuple(message for step in steps for message in step.sent)


def kind_of(event: AnyEvent, message: Message) -> Kind:
    """What the message of an event is."""
    if isinstance(event, ev.UserSaid):
        return "request"
    if isinstance(event, ev.Steered):
        return "steer"
    if isinstance(message, AssistantMessage):
        return "reply"
    return "result" if isinstance(message, ToolMessage) else "word"


class Sent:
    """The steps of the next request. Feed it the log with `catch_up`, again and again: only what is new is looked at."""

    def __init__(self, events: Sequence[AnyEvent] = (), *, apart: bool = False) -> None:
        self.seen = 0
        self._wanted = apart
        self._forget()
        self.catch_up(events)

    def _forget(self) -> None:
        self.frame = 0
        """Characters of the system text and the tools."""
        self._counted = (0, 0)
        """Characters and tokens of the newest request that the server counted."""
        self._size: int | None = 0
        """Characters of the steps, None when that is to be found out."""
        self._steps: list[list[Item]] = []
        self._how: dict[int, ev.How] = {}
        self._saved: list[tuple[int, list[list[Item]]]] = []
        """Number of each compaction that stands, and the steps as they were before it."""
        self._waiting: dict[str, tuple[list[Item], int]] = {}
        """Where the result of each open call goes: the newest reply's only, for ids may come again."""
        self._pending, self._pending_at = "", 0
        self.apart = False
        """Whether what comes belongs to a question that is answered apart; a list for such a one holds only that."""
        self._request, self._replied = 0, False
        """Number of the person's newest message, and whether anything was said to it."""

    def catch_up(self, events: Sequence[AnyEvent]) -> None:
        """Take the events that are new since the last time."""
        new = [(number, events[number]) for number in range(self.seen, len(events))]
        if any(isinstance(event, ev.Rewound) for _, event in new):
            # what was decided since then is taken back with what was said
            self._forget()
            new = numbered(events)
        for number, event in new:
            self._take(number, event)
        self.seen = max(self.seen, len(events))

    def settled(self, start: int = 0) -> tuple[Step, ...]:
        """The steps from this index on, without a reply that is still being written."""
        return tuple(map(self._step, self._steps[start:]))

    def _step(self, items: list[Item]) -> Step:
        how = self._how
        if not how:
            return Step(tuple(items))
        return Step(tuple(replace(item, how=how[item.at]) if item.at in how else item for item in items))

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every step that is sent or could be brought back by a mark, in the order of the request."""
        if not self._pending:
            return self.settled()
        return (*self.settled(), Step((Item(self._pending_at, "reply", AssistantMessage(self._pending)),)))

    @property
    def size(self) -> int:
        """Characters of a request: of the system text, the tools and the messages."""
        if self._size is None:
            self._size = size(self.settled())
        return self.frame + self._size + len(self._pending)

    @property
    def density(self) -> float:
        """Characters of a token, from the newest request that the server counted; else the usual guess."""
        characters, count = self._counted
        if characters < LEAST_COUNTED:
            return float(CHARACTERS_PER_TOKEN)
        return min(8.0, max(1.0, characters / count))

    @property
    def history(self) -> History:
        """The messages of the next request: every call has its answer right behind it."""
        return messages(self.steps)

    @property
    def compaction(self) -> int | None:
        """The number of the newest compaction that stands."""
        return self._saved[-1][0] if self._saved else None

    @property
    def replaced(self) -> tuple[Step, ...]:
        """The steps in whose place the summary of that compaction is."""
        left = {id(items) for items in self._steps}
        return tuple(Step(tuple(items)) for items in self._saved[-1][1] if id(items) not in left) if self._saved else ()

    # -------------------------------------------------------------- one event

    def _take(self, at: int, event: AnyEvent) -> None:
        match event:
            case ev.Routed(intent):
                self.apart = intent == "general"
                if self._wanted:
                    self._steps = []
            case ev.RunEnded() if self.apart != self._wanted:
                self.apart = False
            case _ if self.apart != self._wanted and _is_said(event):
                return
            case ev.Checkpoint(text):
                self._pending, self._pending_at = self._pending + text, at
            case ev.Instructed():
                self.frame = event.size + event.tools
            case ev.Marked(numbers, how):
                self._how.update(dict.fromkeys(numbers, how))
                self._size = None
            case ev.Compacted(kept=kept, fault=""):
                self._compact(at, event.text, frozenset(kept))
            case ev.Expanded(compaction):
                self._expand(compaction)
            case _:
                self._message(at, event)

    def _message(self, at: int, event: AnyEvent) -> None:
        if isinstance(event, ev.AssistantSaid):
            self._pending = ""
            if event.usage is not None and event.usage.input_tokens:
                self._counted = (self.size, event.usage.input_tokens)
        elif isinstance(event, ev.UserSaid):
            self._leave_pending()
            self._request, self._replied = at, False
        elif isinstance(event, ev.RunEnded) and not self._replied and not self._pending:
            self._take_back(event.reason)
        message = fold.message_of(event)
        if isinstance(event, ev.RunEnded):
            self.apart = False
        if message is None:
            return
        if isinstance(message, ToolMessage):
            if (place := self._waiting.pop(message.call_id, None)) is not None:
                items, index = place
                self._grow(-self._step(items).size)
                items[index] = Item(at, "result", message)
                self._grow(self._step(items).size)
            return
        self._replied = self._replied or isinstance(message, AssistantMessage)
        self._add(Item(at, kind_of(event, message), message))

    def _leave_pending(self) -> None:
        """The text of a reply whose process died is what there is of it."""
        if self._pending:
            self._add(Item(self._pending_at, "reply", AssistantMessage(self._pending)))
            self._pending = ""

    def _take_back(self, reason: StopReason) -> None:
        """A message that was never answered goes back to the composer, not into the next request."""
        if reason not in GIVES_BACK:
            return
        self._size = None
        for steps in (self._steps, *(before for _, before in self._saved)):
            steps[:] = [items for items in steps if items[0].at < self._request or items[0].kind == "summary"]

    def _add(self, item: Item) -> None:
        items = [item]
        if isinstance(item.stored, AssistantMessage):
            self._waiting = {call.id: (items, n) for n, call in enumerate(item.stored.calls, 1)}
            items += [
                Item(item.at, "result", ToolMessage(call.id, call.name, fold.INTERRUPTED)) for call in item.stored.calls
            ]
        self._steps.append(items)
        self._grow(self._step(items).size)

    def _grow(self, by: int) -> None:
        if self._size is not None:
            self._size += by

    def _compact(self, at: int, summary: str, kept: frozenset[int]) -> None:
        self._leave_pending()
        self._size = None
        self._saved.append((at, self._steps))
        stays = [items for items in self._steps if any(i.at in kept for i in items)]
        self._steps = [[Item(at, "summary", UserMessage(SUMMARY + summary))], *stays]

    def _expand(self, compaction: int) -> None:
        if not self._saved or self._saved[-1][0] != compaction:
            return
        self._size = None
        _, before = self._saved.pop()
        self._steps = before + [items for items in self._steps if items[0].at > compaction]


def _is_said(event: AnyEvent) -> bool:
    return isinstance(event, ev.Checkpoint) or fold.message_of(event) is not None


def sent(events: Sequence[AnyEvent]) -> History:
    """The messages of the next request after these events."""
    return Sent(events).history
