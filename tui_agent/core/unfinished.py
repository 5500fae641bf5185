"""What was going on when the process died: effects that have begun and whose end the log does not hold.

`left` finds them, the workspace looks what became of each (`workspace.aftermath`), and `ends` gives the events that make
up for the missing one: from then on transcript, receipts and undo know of it like of any other effect.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.receipt import Receipt
from tui_agent.core.standing import AnyEvent
from tui_agent.core.types import BACKGROUND, OutcomeStatus, ToolCall

WORD = "interrupted"
"""Begins the note of what `ends` tells."""


def left(events: Iterable[AnyEvent]) -> tuple[ev.Begun, ...]:
    """What has begun and neither left its receipt nor came to nothing, oldest first."""
    open_: dict[str, ev.Begun] = {}
    for event in events:
        match event:
            case ev.Begun(receipt):
                open_[receipt.id] = event
            case ev.NotDone(name):
                open_.pop(name, None)
        for receipt in fold.receipts((event,)):
            open_.pop(receipt.id, None)
    return tuple(open_.values())


def known(events: Iterable[AnyEvent]) -> dict[str, str | None]:
    """The hash of each file as it was last known to the session, None where it was gone then."""
    out: dict[str, str | None] = {}
    for event in events:
        if isinstance(event, ev.Begun):
            out |= {change.path: change.after for change in event.receipt.changed}
        for receipt in fold.receipts((event,)):
            if receipt.path is not None:
                out[receipt.path] = receipt.after
            out |= {change.path: change.after for change in receipt.changed}
    return {path: name for path, name in out.items() if name != ""}


@dataclass(frozen=True, slots=True)
class Found:
    """What became of an effect: its receipt, None where nothing had been changed; `sure`: it was carried out to its end."""

    receipt: Receipt | None = None
    sure: bool = False


def ends(begun: ev.Begun, found: Found, events: Iterable[AnyEvent]) -> tuple[ev.Durable, ...]:
    """The events of an end that was found out later."""
    nothing = () if found.receipt is not None else (ev.NotDone(begun.receipt.id),)
    if nothing and begun.receipt.tool == "undo":
        return nothing  # the person sees that the file is as it was
    return (*nothing, _told(begun.receipt, _words(found, begun.receipt.path), found.receipt, events))


def unknown(begun: ev.Begun, events: Iterable[AnyEvent]) -> tuple[ev.Durable, ...]:
    """The events for a copy of a session: how it ended only the other one finds out, so undo goes by what was approved."""
    if begun.receipt.tool == "undo":
        return (ev.NotDone(begun.receipt.id),)
    return (
        _told(begun.receipt, _ELSEWHERE, replace(begun.receipt, changed=(), unwatched=True, interrupted=True), events),
    )


_ELSEWHERE: tuple[OutcomeStatus, str, str] = (
    "error",
    f"{WORD}, result unknown: this conversation was copied before its end. Look before you do it again.",
    f"{WORD}, result unknown",
)


def _told(
    expected: Receipt, words: tuple[OutcomeStatus, str, str], receipt: Receipt | None, events: Iterable[AnyEvent]
) -> ev.Durable:
    command = command_of(expected)
    status, text, note = words
    if receipt is not None and expected.tool == "check":
        argv = tuple(map(str, expected.arguments.get("argv", ())))
        return ev.CheckDone(argv, None, text, 0.0, receipt=receipt)
    call, asked, answered = ToolCall(expected.call_id, expected.tool, expected.arguments), "", False
    for event in events:
        match event:
            case ev.AssistantSaid(message):
                call = next((c for c in message.calls if c.id == expected.call_id), call)
            case ev.Asked(call_id=expected.call_id, summary=summary):
                asked = summary
            case ev.ToolDone(call=ToolCall(id=expected.call_id)):
                answered = True
    if answered and command:  # it ran on in the background
        call = ToolCall(expected.id, BACKGROUND, {"command": command})
    return ev.ToolDone(call, status, text, note, asked or f"{expected.tool}  {expected.path or command}", receipt)


def line(event: ev.Durable) -> str:
    """One line about such an end for a person, "" where there is nothing to tell."""
    match event:
        case ev.ToolDone(summary=summary, note=note):
            return f"{summary}: {note}"
        case ev.CheckDone(argv):
            return f"check  {shlex.join(argv)}: {WORD}, result unknown"
        case ev.Undone(paths=paths, redo=redo):
            return f"{'redo' if redo else 'undo'}  {_head(paths)}: {WORD}, but this was done"
    return ""


def _words(found: Found, path: str | None) -> tuple[OutcomeStatus, str, str]:
    """Status, words for the model, and the short note for the screen."""
    receipt = found.receipt
    if receipt is None:
        return "error", f"{WORD}: the program ended before anything was changed.", f"{WORD}, nothing was changed"
    if found.sure:
        text = f"{WORD}: the program ended before it could confirm this, but it was done: {path} is as approved."
        return "applied", f"{text} Read it again before you change it.", f"{WORD}, but it was done"
    if path is not None:
        text = f"the program ended while it changed {path}, which now is neither as it was nor as approved."
        return "error", f"{WORD}, result unknown: {text} Read it again.", f"{WORD}, result unknown"
    names = [change.path for change in receipt.changed]
    seen = f"changed since it began: {_head(names)}" if names else "no file that is there has changed since it began"
    text = f"the program ended while this ran; {seen}. Look before you run it again."
    return "error", f"{WORD}, result unknown: {text}", f"{WORD}, result unknown" + (f"; {seen}" if names else "")


def _head(names: Sequence[str], count: int = 8) -> str:
    """The first of many names."""
    return ", ".join(names[:count]) + (f" and {len(names) - count} more" if len(names) > count else "")


def command_of(receipt: Receipt) -> str:
    """The command of a receipt in one line, "" when it is none."""
    argv, script = receipt.arguments.get("argv"), receipt.arguments.get("script")
    if isinstance(argv, list | tuple):
        return shlex.join(map(str, argv))
    return script if isinstance(script, str) else ""
