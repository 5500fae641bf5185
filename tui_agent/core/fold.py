"""Functions of the event list: history to send, totals, changes, plan, exit code.

Nothing here is stored anywhere else: a live run, a resumed one and a replay fold the same list.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from tui_agent.core import events as ev
from tui_agent.core.context import CHARACTERS_PER_TOKEN, head_and_tail, size_of
from tui_agent.core.endings import StopReason
from tui_agent.core.guards import signature
from tui_agent.core.types import (
    OWN_COMMAND,
    AssistantMessage,
    History,
    Message,
    Receipt,
    Spoken,
    ToolMessage,
    Usage,
    UserMessage,
)

CHECK_HEAD, CHECK_TAIL = 1_000, 7_000
"""Characters of a failed check's output that the model is told; errors stand at its end."""
INTERRUPTED = "interrupted: the result of this action is unknown. Look before you try it again."

AnyEvent = ev.Event | ev.Unknown


def message_of(event: AnyEvent) -> Message | None:
    """The message that an event adds to the history, if it adds one."""
    match event:
        case ev.UserSaid(text, images):
            return UserMessage(text, images)
        case ev.AssistantSaid(message, complete=True):
            return message
        case ev.AssistantSaid(message) if message.text:
            return AssistantMessage(message.text, author=message.author)
        case ev.ToolDone(call, text=text) if call.name == OWN_COMMAND:
            return UserMessage(f"I ran a command myself: {(call.arguments or {}).get('script', '')}\n{text}")
        case ev.ToolDone(call, text=text):
            return ToolMessage(call.id, call.name, text)
        case ev.CheckDone():
            return UserMessage(check_text(event))
        case ev.Undone():
            return UserMessage(undone_text(event))
        case ev.Notice(text, "model"):
            return UserMessage(text)
    return None


def history(events: Iterable[AnyEvent]) -> History:
    """The whole conversation, valid for the next request: every call has its answer right behind it."""
    messages: list[Message] = []
    pending, start = "", 0
    for event in events:
        if isinstance(event, ev.Checkpoint):
            pending += event.text
            continue
        message = message_of(event)
        if isinstance(event, ev.UserSaid):
            start = len(messages)
        if isinstance(event, ev.RunEnded) and event.reason in {StopReason.FAILED, StopReason.STOPPED}:
            answers = [m for m in messages[start:] if isinstance(m, AssistantMessage)]
            if not answers and not pending:
                # a message that was never answered goes back to the composer, not into the next request
                del messages[start:]
        if isinstance(event, ev.AssistantSaid):
            pending = ""
        elif pending and isinstance(event, ev.UserSaid):
            messages.append(AssistantMessage(pending))
            pending, start = "", start + 1
        if message is not None:
            messages.append(message)
    if pending:
        messages.append(AssistantMessage(pending))
    return answered(messages)


def answered(messages: Sequence[Message]) -> History:
    """Answer every open call and put the answers right behind their calls, in call order.

    A result belongs to the newest reply before it: servers give the same id to calls of different replies.
    """
    out: list[Message] = []
    waiting: dict[str, int] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            if (place := waiting.pop(message.call_id, None)) is not None:
                out[place] = message
            continue
        out.append(message)
        if isinstance(message, AssistantMessage):
            waiting = {call.id: len(out) + n for n, call in enumerate(message.calls)}
            out += [ToolMessage(call.id, call.name, INTERRUPTED) for call in message.calls]
    return tuple(out)


def check_text(check: ev.CheckDone) -> str:
    """What the model is told about a check."""
    command = shlex.join(check.argv)
    if check.passed:
        return f"check passed: {command}"
    how = "could not be run or did not end in time" if check.exit_code is None else f"exit {check.exit_code}"
    return f"check FAILED ({how}): {command}\n{head_and_tail(check.output, CHECK_HEAD, CHECK_TAIL)}"


def protocol(events: Iterable[AnyEvent]) -> Spoken:
    """The protocol in which the model of a session is asked to act."""
    chosen = [e.protocol for e in events if isinstance(e, ev.ModelChosen | ev.ProtocolChosen)]
    return chosen[-1] if chosen else "native"


def undone_text(event: ev.Undone) -> str:
    """What the model is told about an undo or a redo: one line."""
    did = "made your undone changes again" if event.redo else "undid your changes"
    left = f" Not touched: {', '.join(event.left)}." if event.left else ""
    return f"The user {did} in: {', '.join(event.paths) or 'no file'}.{left} Read a file again before you change it."


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a session. `cost` in USD is None as soon as the cost of one call is unknown.

    `uncounted` is the number of replies whose tokens the server did not tell.
    """

    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    replies: int = 0
    uncounted: int = 0


def add(so_far: Totals, event: AnyEvent) -> Totals:
    """The totals with one more event."""
    if not isinstance(event, ev.AssistantSaid):
        return so_far
    known = so_far.cost is not None and event.cost is not None
    return Totals(
        so_far.usage.plus(event.usage or Usage()),
        (so_far.cost or 0.0) + (event.cost or 0.0) if known else None,
        so_far.replies + 1,
        so_far.uncounted + (event.usage is None or event.usage.input_tokens is None),
    )


def totals(events: Iterable[AnyEvent]) -> Totals:
    """Add up what the model calls took."""
    return reduce(add, events, Totals())


def totals_by_model(events: Iterable[AnyEvent]) -> list[tuple[ev.ModelChosen, Totals]]:
    """The totals of each model that answered, in order of its first choice."""
    sums: dict[ev.ModelChosen, Totals] = {}
    now = ev.ModelChosen("", "")
    for event in events:
        if isinstance(event, ev.ModelChosen):
            now = event
        elif isinstance(event, ev.AssistantSaid):
            sums[now] = add(sums.get(now, Totals()), event)
    return list(sums.items())


@dataclass(frozen=True, slots=True)
class Meter:
    """How full the context is: tokens of the newest request and reply as the server counted them, and characters since.

    `counted` None: nothing was counted yet, all of it is an estimate. `exact` False: another model counted.
    """

    counted: int | None = None
    characters: int = 0
    exact: bool = True

    @property
    def tokens(self) -> int | None:
        """Tokens of the next request without its system text, None before anything was said."""
        if self.counted is None and not self.characters:
            return None
        return (self.counted or 0) + self.characters // CHARACTERS_PER_TOKEN

    @property
    def estimated(self) -> bool:
        """Whether `tokens` is more than the server counted."""
        return self.counted is None or self.characters > 0 or not self.exact


def measure(so_far: Meter, event: AnyEvent) -> Meter:
    """The meter with one more event."""
    if isinstance(event, ev.ModelChosen):
        return replace(so_far, exact=so_far.counted is None)
    if isinstance(event, ev.AssistantSaid) and event.usage is not None and event.usage.input_tokens is not None:
        return Meter(event.usage.input_tokens + (event.usage.output_tokens or 0))
    message = message_of(event)
    return so_far if message is None else replace(so_far, characters=so_far.characters + size_of(message))


def meter(events: Iterable[AnyEvent]) -> Meter:
    """How full the context is after these events."""
    return reduce(measure, events, Meter())


@dataclass(frozen=True, slots=True)
class Change:
    """What a session did to one file: `mark` is A, M or D, the counts are sums over its receipts."""

    mark: str
    added: int
    removed: int


def changes(events: Iterable[AnyEvent]) -> dict[str, Change]:
    """The files that differ by the receipts of a session, by path, in order of first change.

    What an undo took back is taken back in the counts; a file that is as it was at first is left out.
    """
    first: dict[str, str | None] = {}
    last: dict[str, str | None] = {}
    out: dict[str, Change] = {}
    for event in events:
        back = isinstance(event, ev.Undone) and not event.redo
        for receipt in receipts((event,)):
            if receipt.path is None or receipt.before == receipt.after:
                continue
            before = first.setdefault(receipt.path, receipt.before)
            last[receipt.path] = receipt.after
            old = out.get(receipt.path, Change("", 0, 0))
            mark = "D" if receipt.after is None else "A" if before is None else "M"
            added, removed = (-receipt.removed, -receipt.added) if back else (receipt.added, receipt.removed)
            out[receipt.path] = Change(mark, max(0, old.added + added), max(0, old.removed + removed))
    return {path: change for path, change in out.items() if first[path] != last[path]}


def receipts(events: Iterable[AnyEvent]) -> Iterator[Receipt]:
    """Every receipt, in order: of calls, of checks, of undo and redo."""
    for event in events:
        match event:
            case ev.ToolDone(receipt=Receipt() as receipt) | ev.CheckDone(receipt=Receipt() as receipt):
                yield receipt
            case ev.Undone(receipts=several):
                yield from several


def plan(events: Iterable[AnyEvent]) -> tuple[tuple[str, str], ...]:
    """The to-do list as last set: (status, text) pairs."""
    items: tuple[tuple[str, str], ...] = ()
    for event in events:
        if isinstance(event, ev.ToolDone) and event.call.name == "update_plan" and event.status == "applied":
            raw = (event.call.arguments or {}).get("items", ())
            items = tuple((str(i.get("status", "next")), str(i.get("text", ""))) for i in raw)
    return items


def failed_batch(events: Sequence[AnyEvent]) -> tuple[ev.CheckDone, tuple[Receipt, ...]] | None:
    """The newest check, when it failed and nothing was changed or undone since, and the receipts of the batch that it judged."""
    receipts: list[Receipt] = []
    check: ev.CheckDone | None = None
    for event in reversed(events):
        if isinstance(event, ev.CheckDone):
            if check is not None or event.passed:
                break
            check = event
        elif isinstance(event, ev.AssistantSaid) and check is not None:
            break
        elif isinstance(event, ev.Undone) and check is None:
            return None
        elif isinstance(event, ev.ToolDone) and event.receipt is not None:
            if check is None and (event.receipt.path is not None or event.receipt.changed):
                return None
            receipts.insert(0, event.receipt)
    return (check, tuple(receipts)) if check is not None else None


LIMITS = {
    StopReason.STEP_LIMIT,
    StopReason.CONTEXT_LIMIT,
    StopReason.TOKEN_LIMIT,
    StopReason.COST_LIMIT,
    StopReason.REPEATED,
    StopReason.INVALID,
}
"""The endings at a limit."""


def undone(events: Iterable[AnyEvent]) -> list[ev.ToolDone]:
    """The refused or skipped actions that nobody carried out later, in order, each once."""
    left: dict[str, ev.ToolDone] = {}
    for event in events:
        if isinstance(event, ev.ToolDone):
            key = signature(event.call)
            if event.denied:
                left[key] = event
            elif event.status == "applied":
                left.pop(key, None)
                if event.receipt is not None and event.receipt.path is not None:
                    for other, denied in list(left.items()):
                        if (denied.call.arguments or {}).get("path") == event.receipt.path:
                            del left[other]
    return list(left.values())


def exit_code(events: Sequence[AnyEvent]) -> int:
    """The exit code of a one-shot run, from its events alone; first match counts.

    1 model or network, 3 a refusal or skip left its action undone, 2 the last check failed or was not
    run, 4 a limit, 130 stopped, 0.
    """
    end = next((e for e in reversed(events) if isinstance(e, ev.RunEnded)), None)
    if end is None or end.reason is StopReason.FAILED:
        return 1
    if end.reason is StopReason.DENIED or undone(events):
        return 3
    if end.reason is StopReason.STOPPED:
        return 130
    check = next((e for e in reversed(events) if isinstance(e, ev.CheckDone)), None)
    if end.check in {"failed", "not run"} or (check is not None and not check.passed):
        return 2
    return 4 if end.reason in LIMITS else 0
