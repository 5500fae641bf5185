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

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import StopReason
from tui_agent.core.log import is_durable
from tui_agent.core.types import AgentError, RetryTick, TextDelta
from tui_agent.own_command import MARK, own_command
from tui_agent.session import Session
from tui_agent.workspace.images import named

SLICE_SECONDS = 0.01
"""How long a flood of deltas may keep the event loop before keys and frames get their turn."""


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
        self.phase: ev.Phase = ev.Phase("idle")
        self.since = time.monotonic()
        self.totals = fold.Totals()
        self.meter = fold.Meter()
        self.heard = time.monotonic()
        """When the last event came."""
        self.retrying = False
        self.unsent: str | None = None
        """A message that got no answer at all: stopped before the first word, or the model was not reached."""
        self.catch_up()

    @property
    def working(self) -> bool:
        """True while a run goes on."""
        return self._task is not None and not self._task.done()

    def send(self, text: str) -> None:
        """Start a run, or let the message wait for the end of the one that goes on."""
        if self.working:
            self.queue.append(text)
            self._changed()
        else:
            self._task = asyncio.create_task(self._drive(text), name="agent")
            self._task.add_done_callback(self._ended)

    def unqueue(self) -> str | None:
        """Take back the newest message that waits."""
        text = self.queue.pop() if self.queue else None
        self._changed()
        return text

    async def stop(self) -> None:
        """Interrupt the run: the stream is closed and the log holds a valid ending when this returns."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task})

    def catch_up(self) -> None:
        """Show what is in the log and has not been shown."""
        for event in self.session.events[self._shown :]:
            self._take(event)

    async def _work(self, text: str) -> AsyncGenerator[ev.Event, None]:
        """What a message asks for: a command of the person's own, or a run."""
        if text.startswith(MARK):
            return own_command(self.session, text.removeprefix(MARK))
        names = named(text)
        images = await asyncio.to_thread(self.session.attach, names) if names else ()
        return self.session.run(text, images)

    async def _drive(self, text: str) -> None:
        self.unsent = None
        last = time.monotonic()
        try:
            async with aclosing(await self._work(text)) as events:
                async for event in events:
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
        self._enter(ev.Phase("idle"))
        run = (
            []
            if text.startswith(MARK)
            else list(takewhile(lambda e: not isinstance(e, ev.UserSaid), reversed(self.session.events)))
        )
        end = next((e for e in run if isinstance(e, ev.RunEnded)), None)
        stopped = end is not None and end.reason is StopReason.STOPPED
        failed = end is not None and end.reason is StopReason.FAILED
        if (stopped or failed) and not any(isinstance(e, ev.AssistantSaid) for e in run):
            self.unsent = text
        if self.queue and self.unsent is None and not stopped:  # who stops wants to look first
            following = self.queue.pop(0)
            asyncio.get_running_loop().call_soon(self.send, following)
        self._changed()

    def note(self, text: str, title: str = "") -> None:
        """Say something to the person in the transcript; with a title as a card: something is wrong."""
        self.session.log.append(ev.Notice(text, title=title))
        self.catch_up()

    def _take(self, event: ev.Event | ev.Unknown) -> None:
        self.heard = time.monotonic()
        if isinstance(event, TextDelta):  # the hot path: one hop to the transcript
            self._show(event)
            return
        if isinstance(event, ev.Unknown) or is_durable(event):
            self._shown += 1
            self.totals = fold.add(self.totals, event)
            self.meter = fold.measure(self.meter, event)
        self._show(event)
        match event:
            case ev.Phase():
                self._enter(event)
            case RetryTick(attempt, seconds):
                self._enter(ev.Phase("waiting", f"try {attempt + 1} in {seconds:.0f}s"))
                self.retrying = True
            case ev.ArgumentsDelta(name, size):
                self._enter(ev.Phase("streaming", f"writing {name}, {size:,} characters"))
            case ev.AssistantSaid() | ev.ToolDone() | ev.CheckDone() | ev.RunEnded() | ev.ModelChosen():
                self._changed()

    def _enter(self, phase: ev.Phase) -> None:
        if phase.name != self.phase.name:
            self.since = time.monotonic()
        self.phase = phase
        self.retrying = False
        self._changed()
