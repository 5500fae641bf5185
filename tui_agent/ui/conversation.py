"""Drives the session's runs and tells the screen what happened; the queue of messages that wait is here.

The screen gives `show` (each event, in order, exactly once), `changed` (something to draw changed) and
`failed` (a run ended by a fault of the product itself).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from itertools import takewhile

from tui_agent import routing
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import GIVES_BACK, StopReason
from tui_agent.core.log import is_durable
from tui_agent.core.meter import measure, meter
from tui_agent.core.types import AgentError, ProviderError, ReasoningDelta, RetryTick, TextDelta
from tui_agent.own_command import MARK, own_command
from tui_agent.session import Session
from tui_agent.ui.failures import FAILED, TRAPPED, UNUSABLE, WAITING, CardKeys, next_try
from tui_agent.ui.flow import Flow
from tui_agent.window import Trap
from tui_agent.workspace.images import named

COMPACT = "/compact"
"""Begins what is sent in a message's place when a summary is wanted; it may wait for the end of a run like one."""

THINKING = "thinking"
"""What streams before the answer."""

SLICE_SECONDS = 0.01
"""How long a flood of deltas may keep the event loop before keys and frames get their turn."""


NOT_SAVED = "Make room, or let the folder be written: all of it is written then. Leave before that, and it is lost."


class Conversation:
    """One session on the screen: at most one run at a time, later messages wait."""

    def __init__(
        self,
        session: Session,
        show: Callable[[ev.Event | ev.Unknown], None],
        changed: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self.session = session
        self._show = show
        self._changed = changed
        self._failed = failed
        self._shown = 0
        self._task: asyncio.Task[None] | None = None
        self.queue: list[str] = []
        self.soon = 0
        """How many at the head of the queue are for the run that goes on, after what it does now."""
        self.phase: ev.Phase = ev.Phase("idle")
        self.since = time.monotonic()
        self.totals = fold.totals(session.events)
        self.meter = meter(session.events)
        self.heard = time.monotonic()
        """When the last event came."""
        self.flow = Flow()
        self.retrying = False
        self.failure: ProviderError | None = None
        """Why the newest message got no whole answer, when the model or the way to it failed."""
        self.trap: Trap | None = None
        """The newest thing said is that the model runs in too small a window."""
        self.unusable = False
        """The configuration cannot be used, and there is a card that says so."""
        self.unsent: str | None = None
        """A message that got no answer at all: stopped before the first word, or the model was not reached."""
        self._fault: str | None = None
        self._sending: str | None = None
        """A message that is on its way into the log."""
        self._answering = ""
        """What was sent last."""
        self._sent_on = False
        """The message of the run that ends now is sent to somebody else."""
        session.meanwhile = self._handed_over
        for event in session.events:
            show(event)
        self._shown = len(session.events)

    @property
    def working(self) -> bool:
        """True while a run goes on."""
        return self._task is not None and not self._task.done()

    @property
    def card(self) -> CardKeys | None:
        """The keys of the card that is the newest thing: of a failure, of a window, or of a broken configuration."""
        if self.retrying:
            return WAITING
        if self.failure is not None:
            return FAILED
        return TRAPPED if self.trap is not None else UNUSABLE if self.unusable else None

    @property
    def said(self) -> list[str]:
        """The messages of the person, oldest first."""
        return [event.text for event in self.session.events if isinstance(event, ev.UserSaid)]

    @property
    def waiting(self) -> list[str]:
        """What the person sent and the log does not hold, oldest first."""
        return [text for text in (self._sending, self.unsent, *self.queue) if text is not None]

    def send(self, text: str) -> None:
        """Start a run, or let the message wait for the end of the one that goes on."""
        if self.working:
            self.queue.append(text)
            self._changed()
        else:
            self._sending = self._answering = text
            self._task = asyncio.create_task(self._drive(text), name="agent")
            self._task.add_done_callback(self._ended)

    def steer(self, text: str) -> None:
        """Let the run that goes on hear a message after what it does now; where that cannot be, it waits for the end."""
        if not self.working or not _for_a_run(text):
            self.send(text)
            return
        self.soon = min(self.soon, len(self.queue)) + 1
        self.queue.insert(self.soon - 1, text)
        self._changed()

    def hasten(self) -> bool:
        """Let the run hear the first message that waits for its end; False when there is none that it can."""
        left = self.queue[self.soon :]
        if can := self.working and bool(left) and _for_a_run(left[0]):
            self.soon += 1
            self._changed()
        return can

    def _handed_over(self) -> list[ev.Steered]:
        """What the run is to hear now; it is in the log before anything else happens."""
        heard, self.queue[: self.soon], self.soon = self.queue[: self.soon], [], 0
        return [ev.Steered(text) for text in heard]

    def unqueue(self) -> str | None:
        """Take back the newest message that waits."""
        text = self.queue.pop() if self.queue else None
        self.soon = min(self.soon, len(self.queue))
        self._changed()
        return text

    def discard(self, text: str) -> bool:
        """Take a message out of those that wait; False when it waits no more."""
        if waits := text in self.queue:
            self.soon -= self.queue.index(text) < self.soon
            self.queue.remove(text)
            self._changed()
        return waits

    async def send_now(self, text: str) -> bool:
        """Stop the run and send a message that waits; False when it waits no more."""
        if not self.discard(text):
            return False
        await self.stop()
        self.send(text)
        return True

    async def stop(self) -> None:
        """Interrupt the run: the stream is closed and the log holds a valid ending when this returns."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})

    def hurry(self) -> None:
        """Make the next try now, instead of waiting for it."""
        self.session.terms.network.impatient.set()

    async def send_on(self) -> None:
        """End the wait for the next try, and send its message to who was chosen meanwhile."""
        self._sent_on = True
        await self.stop()
        self.send(self._answering)

    def catch_up(self) -> None:
        """Show what is in the log and has not been shown."""
        self._show_until(None)

    async def _work(self, text: str) -> AsyncGenerator[ev.Event, None]:
        """What a message asks for: a command of the person's own, or a run."""
        if text.startswith(MARK):
            return own_command(self.session, text.removeprefix(MARK))
        if text.startswith(COMPACT):
            return self.session.compact(text.removeprefix(COMPACT).strip())
        names = named(text)
        images = await asyncio.to_thread(self.session.attach, names) if names else ()
        return routing.run(self.session, text, images)

    async def _drive(self, text: str) -> None:
        self.unsent = None
        last = time.monotonic()
        try:
            async with aclosing(await self._work(text)) as events:
                async for event in events:
                    if is_durable(event):
                        self.catch_up()  # with what was recorded beside it
                    else:
                        self._take(event)
                    if time.monotonic() - last > SLICE_SECONDS:
                        await asyncio.sleep(0)
                        last = time.monotonic()
        except AgentError as error:
            self.unsent = text
            self.note(str(error), "Not sent")
        finally:
            self.catch_up()  # an interrupted run recorded its ending without yielding it
            self._settle(text)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Only now nothing is working any more; an exception here is one that no border took."""
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._failed(error)
        self._changed()

    def _settle(self, text: str) -> None:
        self._sending, self.soon = None, 0
        self._enter(ev.Phase("idle"))
        run = (
            []
            if text.startswith((MARK, COMPACT))
            else list(takewhile(lambda e: not isinstance(e, ev.UserSaid), reversed(self.session.events)))
        )
        end = next((e for e in run if isinstance(e, ev.RunEnded)), None)
        stopped = end is not None and end.reason is StopReason.STOPPED
        back = end is not None and end.reason in GIVES_BACK
        if back and not self._sent_on and not any(isinstance(e, ev.AssistantSaid) for e in run):
            self.unsent = text
        self._sent_on = False
        if self.queue and self.unsent is None and not stopped:  # who stops wants to look first
            following = self.queue.pop(0)
            asyncio.get_running_loop().call_soon(self.send, following)
        self._changed()

    def hint(self, text: str) -> None:
        """Say something in the transcript that belongs to no session."""
        self.catch_up()
        self._see(ev.Notice(text))

    def fail(self, error: ProviderError) -> None:
        """Show why no message can be answered as things are. Nothing was sent, so nothing of it is in the log."""
        self.catch_up()
        self._see(ev.ProviderFailed(error))
        self._changed()

    def note(self, text: str, title: str = "") -> None:
        """Say something to the person in the transcript; with a title as a card: something is wrong."""
        self.session.log.append(ev.Notice(text, title=title))
        self.catch_up()

    def _take(self, event: ev.Event) -> None:
        self.heard = time.monotonic()
        if isinstance(event, TextDelta | ReasoningDelta):  # the hot path: one hop to the transcript
            if self.phase.name != "streaming":
                self._enter(ev.Phase("streaming", THINKING))
            self.flow.take(len(event.text), self.heard)
            self._show(event)
            return
        if is_durable(event):
            self._show_until(event)
        else:
            self._see(event)

    def _show_until(self, last: ev.Event | None) -> None:
        """Show what the log holds up to this event, None for all: not everything in it is yielded, nor at once."""
        events = self.session.events
        known = last is None or any(events[at] is last for at in range(self._shown, len(events)))
        while known and self._shown < len(events):
            event = events[self._shown]
            self._shown += 1
            self.totals = fold.add(self.totals, event)
            self.meter = measure(self.meter, event)
            self._see(event)
            if event is last:
                return

    def _see(self, event: ev.Event | ev.Unknown) -> None:
        self._show(event)
        match event:
            case ev.UserSaid():
                self._sending = self.failure = self.trap = None
            case ev.Rewound():
                self.meter = meter(self.session.events)
                self._changed()
            case ev.Phase():
                self._enter(event)
            case RetryTick():
                self._enter(ev.Phase("waiting", f"{next_try(event)} in {event.seconds:.0f}s"), retrying=True)
            case ev.ArgumentsDelta(name, size):
                self.flow.grown(size, self.heard)
                phase = ev.Phase("streaming", f"writing {name}, {size:,} characters")
                if self.phase.name == "streaming":  # for each piece; the footer looks every second
                    self.phase = phase
                else:
                    self._enter(phase)
            case ev.ProviderFailed(error):
                self.failure = error
            case ev.AssistantSaid() | ev.ToolDone() | ev.CheckDone() | ev.RunEnded() | ev.ModelChosen():
                self._changed()
                self._tell_fault()
            case ev.Compacted() | ev.Expanded() | ev.Marked():
                self._changed()

    def _tell_fault(self) -> None:
        """Say once that the disk refuses the log, and once that it takes it again."""
        if (fault := self.session.log.fault) != self._fault:
            self._fault = fault
            if fault:
                self.note(f"{fault}.\n{NOT_SAVED}", "This session is not being saved")
            else:
                self.note("This session is saved again, with all that waited.")

    def _enter(self, phase: ev.Phase, *, retrying: bool = False) -> None:
        if phase.name != self.phase.name:
            self.since = time.monotonic()
            if phase.name == "waiting":
                self.flow.begin()
        self.phase = phase
        self.retrying = retrying
        self._changed()


def _for_a_run(text: str) -> bool:
    """Whether a run can hear a message in its middle: it is no command, and brings no picture that has to be read first."""
    return not text.startswith((MARK, COMPACT)) and not named(text)
