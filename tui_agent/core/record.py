"""The log of one run and the history that grows with it."""

from __future__ import annotations

from typing import TypeVar

from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.fold import message_of
from tui_agent.core.guards import CheckState, Denied
from tui_agent.core.log import Log, is_durable
from tui_agent.core.types import Message, Outcome, ToolCall

D = TypeVar("D", bound=ev.Durable)


class Record:
    """Everything durable of a run goes through `note`: into the log first, then into the history.

    `open` holds the calls that wait for their answer. `check` is how the person's check stands after the last
    edit, `step` the number of the current model call.
    """

    def __init__(self, log: Log, history: list[Message]) -> None:
        self.log = log
        self.messages = history
        self.open: dict[str, ToolCall] = {}
        self.check: CheckState = "none"
        self.step = 0
        self.ended = False

    def note(self, event: D) -> D:
        """Record a durable event and what it adds to the history."""
        self.log.append(event)
        message = message_of(event)
        if message is not None:
            self.messages.append(message)
        if isinstance(event, ev.ToolDone):
            self.open.pop(event.call.id, None)
        return event

    def keep(self, event: ev.Event) -> ev.Event:
        """Record an event of a stage when it is durable, and pass it on."""
        return self.note(event) if is_durable(event) else event

    def done(
        self, call: ToolCall, outcome: Outcome, summary: str = "", seconds: float = 0.0, denied: Denied = ""
    ) -> ev.ToolDone:
        """Record the end of one call."""
        return self.note(
            ev.ToolDone(
                call,
                outcome.status,
                outcome.text,
                outcome.note,
                summary,
                outcome.receipt,
                seconds,
                denied,
                outcome.invalid,
            )
        )

    def end(self, reason: StopReason, detail: str = "") -> ev.RunEnded:
        """Record the end of the run."""
        self.ended = True
        return self.note(ev.RunEnded(reason, detail, self.step, self.check))
