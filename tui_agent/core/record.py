"""The log of one run and what is sent of it."""

from __future__ import annotations

from typing import TypeVar

from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.guards import CheckState, Denied
from tui_agent.core.log import Log, is_durable
from tui_agent.core.sent import Sent
from tui_agent.core.types import Outcome, ToolCall

D = TypeVar("D", bound=ev.Durable)


class Record:
    """Everything durable of a run goes through `note` into the log; what is sent is a function of that.

    `open` holds the calls that wait for their answer. `check` is how the person's check stands after the last
    edit, `step` the number of the current model call.
    `apart`: only the question that is answered apart is sent.
    """

    def __init__(self, log: Log, *, apart: bool = False) -> None:
        self.log = log
        self._sent = Sent(log.events, apart=apart)
        self.open: dict[str, ToolCall] = {}
        self.check: CheckState = "none"
        self.step = 0
        self.ended = False

    @property
    def sent(self) -> Sent:
        """What the next request holds; the person may change it while a run goes on."""
        self._sent.catch_up(self.log.events)
        return self._sent

    def note(self, event: D) -> D:
        """Record a durable event."""
        self.log.append(event)
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
                outcome.sight,
            )
        )

    def end(self, reason: StopReason, detail: str = "") -> ev.RunEnded:
        """Record the end of the run."""
        self.ended = True
        return self.note(ev.RunEnded(reason, detail, self.step, self.check))
