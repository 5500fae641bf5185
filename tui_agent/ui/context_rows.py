"""What fills the next request, as rows: each message with its tokens, and what it has cost so far. Knows no screen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.agent import Agent
from tui_agent.core.context import size_of
from tui_agent.core.ledger import INSTRUCTIONS, Spent
from tui_agent.core.room import instructed
from tui_agent.core.sent import Item, Sent, Step
from tui_agent.core.tail import tail
from tui_agent.core.types import AssistantMessage, Message, Request, ToolMessage, ToolSpec

Part: TypeAlias = Literal["instructions", "files", "tool output", "chat"]
PARTS: tuple[Part, ...] = ("instructions", "files", "tool output", "chat")

ROLES = {
    "request": "you",
    "steer": "you",
    "reply": "model",
    "result": "result",
    "word": "product",
    "summary": "summary",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that the next request holds, or could hold: with `how` "dropped" it is not sent.

    `marks` are the numbers of the events that a mark on it names, none where it cannot be marked. `text` is all of it
    as it is sent, not sanitised.
    """

    role: str
    part: Part
    text: str
    characters: int
    tokens: int
    marks: tuple[int, ...] = ()
    how: ev.How = "whole"
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True, slots=True)
class Overview:
    """The next request: its `rows`, how much they are together, and what all requests so far took.

    `gone` is the part of it that was for messages which are not sent any more; `uncounted` are the replies whose tokens
    nobody told.
    """

    rows: tuple[Row, ...]
    tokens: int
    characters: int
    window: int | None
    spent: Spent
    gone: Spent
    compaction: int | None
    uncounted: int = 0

    def part(self, part: Part) -> int:
        """Tokens of one part."""
        return sum(row.tokens for row in self.rows if row.part == part)


def overview(agent: Agent, book: Mapping[int, Spent], window: int | None) -> Overview:
    """What the agent's next request holds. `book` is the ledger of its log, `window` in tokens."""
    events = agent.log.events
    sent = Sent(events)
    sized = list(_sized(agent, sent.steps))
    rows, characters, before = [], 0, 0
    seen: set[int] = set()
    for role, part, text, size, item, marks in sized:
        characters += size
        upto = round(characters / sent.density)
        number = INSTRUCTIONS if role == "system" else item.at if item is not None else None
        spent = book.get(number, Spent()) if number is not None and number not in seen else Spent()
        seen |= {number} if number is not None else set()
        how = item.how if item is not None else "whole"
        rows.append(Row(role, part, text, size, upto - before, marks, how, spent))
        before = upto
    gone = [spent for number, spent in book.items() if number not in seen]
    return Overview(
        tuple(rows),
        before,
        characters,
        window,
        _sum(list(book.values())),
        _sum(gone),
        sent.compaction,
        fold.totals(events).uncounted,
    )


_Sized: TypeAlias = tuple[str, Part, str, int, Item | None, tuple[int, ...]]


def _sized(agent: Agent, steps: Sequence[Step]) -> Iterator[_Sized]:
    """Everything that is sent, in order, with its characters."""
    request = agent.dialect.encode(Request(agent.system, (), agent.tools.specs))
    frame = instructed(request)
    yield "system", "instructions", request.system, frame.size, None, ()
    if request.tools:
        yield "tools", "instructions", "\n\n".join(map(_tool, request.tools)), frame.tools, None, ()
    for step in steps:
        every = tuple(dict.fromkeys(item.at for item in step.items))
        for item in step.items:
            message = item.sent
            size = 0 if step.dropped else size_of(message)
            shown = Item(item.at, item.kind, item.stored, "dropped") if step.dropped else item
            marks = every if item.kind == "reply" else (item.at,)
            yield ROLES[item.kind], _part(item), text_of(item.stored if step.dropped else message), size, shown, marks
    for message in tail(agent.log.events, steps) if agent.memory else ():
        yield "memory", "chat", message.text, size_of(message), None, ()


def _tool(spec: ToolSpec) -> str:
    return f"{spec.name}: {spec.description}\n{json.dumps(dict(spec.parameters), ensure_ascii=False)}"


def _part(item: Item) -> Part:
    if isinstance(item.stored, ToolMessage):
        return "files" if item.stored.name == "read_file" else "tool output"
    return "chat"


def text_of(message: Message) -> str:
    """A message as text: what was said, then its calls."""
    if not isinstance(message, AssistantMessage):
        return message.text
    calls = [f"→ {call.name} {call.raw or json.dumps(dict(call.arguments or {}))}" for call in message.calls]
    return "\n".join(filter(None, [message.text, *calls]))


def _sum(several: Sequence[Spent]) -> Spent:
    total = Spent()
    for spent in several:
        total = total.plus(spent)
    return total


def next_mark(row: Row, how: ev.How) -> ev.How:
    """How a row is sent after its key was pressed: the second time as it was."""
    return "whole" if row.how == how else how
