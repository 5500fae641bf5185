"""Functions of the event list: history to send, totals, changes, plan, exit code.

Nothing here is stored anywhere else: a live run, a resumed one and a replay fold the same list.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias, TypeGuard

from tui_agent.core import events as ev
from tui_agent.core.context import head_and_tail, rest_of
from tui_agent.core.endings import GIVES_BACK, StopReason
from tui_agent.core.guards import signature
from tui_agent.core.receipt import Receipt
from tui_agent.core.standing import AnyEvent, standing
from tui_agent.core.types import (
    BACKGROUND,
    DRY_RUN,
    NO_BASE,
    OWN_COMMAND,
    REPEATED,
    AssistantMessage,
    History,
    Message,
    Spoken,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)

CHECK_HEAD, CHECK_TAIL = 1_000, 7_000
"""Characters of a failed check's output that the model is told; errors stand at its end."""
NAMED = 8
"""Files that the model is told of at once."""
INTERRUPTED = "interrupted: the result of this action is unknown. Look before you try it again."


def message_of(event: AnyEvent) -> Message | None:
    """The message that an event adds to the history, if it adds one."""
    match event:
        case ev.UserSaid(text, images):
            return UserMessage(text, images)
        case ev.Steered(text):
            return UserMessage(text)
        case ev.AssistantSaid(message, complete=True):
            return message
        case ev.AssistantSaid(message) if message.text:
            return AssistantMessage(message.text, author=message.author)
        case ev.ToolDone(call, text=text) if call.name == OWN_COMMAND:
            return UserMessage(f"I ran a command myself: {(call.arguments or {}).get('script', '')}\n{text}")
        case ev.ToolDone(call, text=text) if call.name == BACKGROUND:
            return UserMessage(
                f"A command in the background has ended: {(call.arguments or {}).get('command')}\n{text}"
            )
        case ev.ToolDone(call, text=text):
            return ToolMessage(call.id, call.name, text)
        case ev.CheckDone():
            return UserMessage(check_text(event))
        case ev.Undone():
            return UserMessage(undone_text(event))
        case ev.Rewound(_, paths) if paths:
            return UserMessage(
                f"Changed since you last looked: {', '.join(paths)}. Read a file again before you change it."
            )
        case ev.Notice(text, "model"):
            return UserMessage(text)
    return None


def history(events: Iterable[AnyEvent]) -> History:
    """The conversation as it stands, valid for the next request: every call has its answer right behind it."""
    messages: list[Message] = []
    pending, start = "", 0
    for event in standing(events):
        if isinstance(event, ev.Checkpoint):
            pending += event.text
            continue
        message = message_of(event)
        if isinstance(event, ev.UserSaid):
            start = len(messages)
        if isinstance(event, ev.RunEnded) and event.reason in GIVES_BACK:
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
        return f"check passed: {command}{_changed_by(check)}"
    if not check.ran:
        return f"the check could not be run, which is no fault of yours: {command}\n{check.output}"
    how = "did not end" if check.exit_code is None else f"exit {check.exit_code}"
    output = head_and_tail(check.output, CHECK_HEAD, CHECK_TAIL, rest_of(check.kept))
    return f"check FAILED ({how}): {command}{_changed_by(check)}\n{output}"


def _changed_by(check: ev.CheckDone) -> str:
    """What a check changed itself, for the model: its next edit of that would be refused."""
    paths = check.receipt.touched if check.receipt is not None else ()
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return f"\nThe check itself changed {', '.join(paths[:NAMED])}{more}." if paths else ""


def protocol(events: Iterable[AnyEvent]) -> Spoken:
    """The protocol in which the model of a session is asked to act."""
    chosen = [e.protocol for e in events if isinstance(e, ev.ModelChosen | ev.ProtocolChosen)]
    return chosen[-1] if chosen else "native"


def undone_text(event: ev.Undone) -> str:
    """What the model is told about an undo or a redo: one line."""
    did = "made your undone changes again" if event.redo else "undid your changes"
    if event.batch:
        did = "took back your last edits, after which the check failed,"
    left = f" Not touched: {', '.join(event.left)}." if event.left else ""
    return f"The user {did} in: {', '.join(event.paths) or 'no file'}.{left} Read a file again before you change it."


def mode(events: Iterable[AnyEvent]) -> str | None:
    """The name of the mode that was chosen last."""
    return next((e.name for e in reversed(list(events)) if isinstance(e, ev.ModeChosen)), None)


def search(events: Iterable[AnyEvent]) -> str | None:
    """The engine that was chosen last, "" when search was turned off, None when nothing was said of it."""
    return next((e.engine for e in reversed(list(events)) if isinstance(e, ev.SearchSet)), None)


def planned(events: Sequence[AnyEvent]) -> bool:
    """Whether the last turn was begun in mode `plan` and came to its answer: the plan that the person read."""
    said = next((n for n in range(len(events) - 1, -1, -1) if isinstance(events[n], ev.UserSaid)), None)
    if said is None or mode(events[:said]) != "plan":
        return False
    return any(isinstance(e, ev.RunEnded) and e.reason is StopReason.COMPLETED for e in events[said:])


def model(events: Iterable[AnyEvent]) -> ev.ModelChosen | None:
    """What was chosen last to answer."""
    return next((e for e in reversed(list(events)) if isinstance(e, ev.ModelChosen)), None)


def cut_off(events: Sequence[AnyEvent]) -> ev.UserSaid | None:
    """The message whose run has no end because the process died; None when the last run ended."""
    for event in reversed(events):
        if isinstance(event, ev.RunEnded):
            return None
        if isinstance(event, ev.UserSaid):
            return event
    return None


def unanswered(events: Sequence[AnyEvent]) -> str | None:
    """The text of a message whose run was cut off before a word of the answer came; None when there is none."""
    for event in reversed(events):
        if isinstance(event, ev.RunEnded | ev.AssistantSaid | ev.Checkpoint):
            return None
        if isinstance(event, ev.UserSaid):
            return event.text
    return None


def waiting(events: Iterable[AnyEvent]) -> list[ev.Asked]:
    """The questions that were never answered, of a run that was cut off."""
    asked: dict[str, ev.Asked] = {}
    for event in events:
        match event:
            case ev.Asked(request_id):
                asked[request_id] = event
            case ev.Answered(request_id):
                asked.pop(request_id, None)
            case ev.RunEnded() | ev.UserSaid():
                asked.clear()
    return list(asked.values())


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a session. `cost` in USD is None as soon as the cost of one call is unknown.

    `uncounted` is the number of replies whose tokens the server did not tell.
    """

    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    replies: int = 0
    uncounted: int = 0


Call: TypeAlias = ev.AssistantSaid | ev.Compacted | ev.Routed | ev.Spent
"""What holds what a model call took."""


def asked_a_model(event: AnyEvent) -> TypeGuard[Call]:
    """Whether an event holds what a model call took; a reply of nobody came out of a file (`/load`)."""
    match event:
        case ev.AssistantSaid(message, usage=usage):
            return message.author is not None or usage is not None
        case ev.Routed(usage=usage):
            return usage is not None
    return isinstance(event, ev.Compacted | ev.Spent)


def add(so_far: Totals, event: AnyEvent) -> Totals:
    """The totals with one more event."""
    if not asked_a_model(event):
        return so_far
    known = so_far.cost is not None and event.cost is not None
    counted = event.usage is not None and None not in (event.usage.input_tokens, event.usage.output_tokens)
    return Totals(
        so_far.usage.plus(event.usage or Usage()),
        (so_far.cost or 0.0) + (event.cost or 0.0) if known else None,
        so_far.replies + (answered := not isinstance(event, ev.Spent) and not _refused(event)),
        so_far.uncounted + (answered and not counted),
    )


def _refused(event: Call) -> bool:
    """Whether it is a summary that no tokens went into: nobody answered."""
    return isinstance(event, ev.Compacted) and bool(event.fault) and event.usage is None and event.cost == 0


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
        elif asked_a_model(event):
            sums[now] = add(sums.get(now, Totals()), event)
    return list(sums.items())


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens that the person gave (`/budget`), and how many of them were used since."""

    tokens: int
    used: int = 0

    @property
    def left(self) -> int:
        """What may still be used."""
        return max(0, self.tokens - self.used)


def budget(events: Sequence[AnyEvent]) -> Budget | None:
    """The budget in force, None when there is none."""
    at = next((n for n in range(len(events) - 1, -1, -1) if isinstance(events[n], ev.BudgetSet)), None)
    given = events[at] if at is not None else None
    if at is None or not isinstance(given, ev.BudgetSet) or given.tokens is None:
        return None
    usage = totals(events[at:]).usage
    return Budget(given.tokens, (usage.input_tokens or 0) + (usage.output_tokens or 0))


def over_budget(events: Sequence[AnyEvent]) -> tuple[StopReason, str] | None:
    """The ending of a run whose budget is used up, None while there is something left."""
    given = budget(events)
    if given is None or given.left:
        return None
    return StopReason.TOKEN_LIMIT, f"the budget of {given.tokens:,} tokens is used up; /budget N gives a new one"


@dataclass(frozen=True, slots=True)
class Change:
    """What a session did to one file: `mark` is A, M or D, the counts are sums over its receipts, which are `edits`."""

    mark: str
    added: int
    removed: int
    edits: int = 1


def changes(events: Iterable[AnyEvent]) -> dict[str, Change]:
    """The files that differ by the receipts of a session, by path, in order of first change.

    What an undo took back is taken back in the counts; a file that is as it was at first is left out. Of what a
    command changed no lines are counted.
    """
    first: dict[str, str | None] = {}
    last: dict[str, str | None] = {}
    born: dict[str, tuple[int, str]] = {}  # the turn and the receipt of the first change
    out: dict[str, Change] = {}
    turn = 0
    for event in events:
        turn += isinstance(event, ev.UserSaid)
        back = event if isinstance(event, ev.Undone) and not event.redo else None
        taken = isinstance(event, ev.ToolDone) and event.call.name == "undo"  # hunks of a file, in the review
        for receipt in receipts((event,)):
            for path, before, after, added, removed in _effects(receipt):
                first.setdefault(path, before)
                born.setdefault(path, (turn, receipt.id))
                if back and back.turn <= born[path][0] and (not back.batch or born[path][1] in back.batch):
                    first[path] = after  # as at first, also where only git held the bytes, under its own name
                last[path] = after
                old = out.get(path, Change("", 0, 0, 0))
                mark = "D" if after is None else "A" if first[path] is None else "M"
                more, less = (-removed, -added) if back or taken else (added, removed)
                edits = max(0, old.edits + (-1 if back else 1))
                out[path] = Change(mark, max(0, old.added + more), max(0, old.removed + less), edits)
    return {path: change for path, change in out.items() if first[path] != last[path]}


def _effects(receipt: Receipt) -> Iterator[tuple[str, str | None, str | None, int, int]]:
    """What a receipt says of each file: path, hash before and after, lines added and removed."""
    if receipt.path is not None and receipt.before != receipt.after:
        yield receipt.path, receipt.before, receipt.after, receipt.added, receipt.removed
    for change in receipt.changed:
        yield change.path, change.before, change.after, 0, 0


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
    for event in standing(events):
        if isinstance(event, ev.ToolDone) and event.call.name == "update_plan" and event.status == "applied":
            raw = (event.call.arguments or {}).get("items", ())
            items = tuple((str(i.get("status", "next")), str(i.get("text", ""))) for i in raw)
    return items


def failed_batch(events: Sequence[AnyEvent]) -> tuple[Receipt, ...]:
    """The receipts of the batch that the newest check judged, when it failed and nothing was changed or undone since."""
    receipts: list[Receipt] = []
    passed: list[tuple[str, ...]] = []  # commands of the model since: one of them may have been the check
    failed = False
    for event in reversed(events):
        match event:
            case ev.CheckDone():
                if failed or event.passed or event.argv in passed:
                    break
                failed = True
            case ev.AssistantSaid() if failed:
                break
            case ev.Undone() if not failed:
                return ()
            case ev.ToolDone(receipt=Receipt() as receipt):
                if not failed and (receipt.path is not None or receipt.changed):
                    return ()
                if not failed and receipt.exit_code == 0:
                    passed.append(tuple(map(str, receipt.arguments.get("argv", ()))))
                receipts.insert(0, receipt)
    return tuple(receipts) if failed else ()


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


def failed(events: Iterable[AnyEvent]) -> list[ev.ToolDone]:
    """The actions that failed and were not made good by a later one on the same object, in order, each once.

    A command that ran and said no (any exit code but 0) has failed, too, until a check has passed after it. This
    changes no exit code: that an answer is wrong is for the person to say.
    """
    left: dict[tuple[str, str], ev.ToolDone] = {}
    for event in events:
        if isinstance(event, ev.CheckDone) and event.passed:
            left = {key: done for key, done in left.items() if done.receipt is None}
        if not isinstance(event, ev.ToolDone) or event.denied:
            continue
        receipt, target = event.receipt, _target(event.call)
        if event.note in {"stopped", DRY_RUN, REPEATED, NO_BASE} or not event.call.name:
            continue  # by the person, who knows; or as they wanted it; or no action of its own
        if event.status != "applied" or (receipt is not None and receipt.exit_code not in {0, None}):
            left[event.call.name, target] = event
        elif event.status == "applied":
            edited = receipt is not None and receipt.path is not None
            for name, other in list(left):
                if (other in {target, ""} and name == event.call.name) or (edited and other == target):
                    del left[name, other]
    return list(left.values())


def _target(call: ToolCall) -> str:
    """What a call is about, "" when it does not say."""
    named = call.arguments or {}
    return next((json.dumps(named[key]) for key in ("path", "argv", "script", "text") if key in named), "")


def exit_code(events: Sequence[AnyEvent]) -> int:
    """The exit code of a one-shot run, from its events alone; first match counts.

    1 model or network, 3 a refusal or skip left its action undone, 130 stopped, 2 the last check failed or was not
    run, or it passed and what the task asks for is still not shown, 4 a limit, 0.
    """
    end = next((e for e in reversed(events) if isinstance(e, ev.RunEnded)), None)
    if end is None or end.reason is StopReason.FAILED:
        return 1
    if end.reason is StopReason.DENIED or undone(events):
        return 3
    if end.reason is StopReason.STOPPED:
        return 130
    check = next((e for e in reversed(events) if isinstance(e, ev.CheckDone)), None)
    unproven = end.reason is StopReason.UNVERIFIED and end.check != "none"
    red = check is not None and not check.passed and end.check == "none"  # the model may have run it again since
    if unproven or end.check in {"failed", "not run"} or red:
        return 2
    return 4 if end.reason in LIMITS else 0
