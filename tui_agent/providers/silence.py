"""How long a stream may be silent: to the first event, between bytes, and without a delta."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from tui_agent.core.profile import Timeouts
from tui_agent.core.types import ProviderError
from tui_agent.providers.wire import Decoder, WireFault

GRACE = 10.0
"""Seconds that a server may keep the connection open after a complete reply."""

_STUCK = 1.0
"""A timer that is later than this tells that the program was stopped (Ctrl+Z): that is no silence of the server."""


class Limits:
    """The limits of one body. There is no total one.

    One timer that is set anew only when it fires: a timer for each of 20,000 reads would cost as
    much as decoding them.
    """

    def __init__(self, times: Timeouts, asked: float) -> None:
        """`asked`: when the request had been sent, on the clock of the event loop."""
        self._times = times
        self._loop = asyncio.get_running_loop()
        self._first = asked + times.first_event
        self._progress: float | None = None
        self._until = self._first
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[Any] | None = None
        self._expired = False
        self._dull = False
        """What came last was no delta."""

    def progressed(self) -> None:
        """A delta came."""
        self._dull = False
        self._progress = self._loop.time() + self._times.progress

    async def read(self, chunks: AsyncIterator[bytes], decoder: Decoder) -> bytes | None:
        """The next bytes, None at the end of the body. Raises `WireFault` when a limit passes."""
        now = self._loop.time()
        self._until = until = self._limit(now, decoder)
        if now >= until:  # bytes that never pause never let a timer fire
            raise self._silence(decoder)
        if self._timer is None or self._timer.when() > until:
            self.close()
            self._timer = self._loop.call_at(until, self._fire)
        task = asyncio.current_task()
        assert task is not None
        cancelled_before = task.cancelling()
        self._waiting = task
        try:
            data = await anext(chunks, None)
        except asyncio.CancelledError:
            if self._expired and task.uncancel() <= cancelled_before:
                raise self._silence(decoder) from None
            raise
        else:
            self._dull = True
            return data
        finally:
            self._waiting = None

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        late = self._loop.time() - self._timer.when() if self._timer is not None else 0.0
        self._timer = None
        if late > _STUCK:
            more = late + min(GRACE, self._times.idle)
            self._first += more
            self._until += more
            if self._progress is not None:
                self._progress += more
        if self._waiting is None:  # whoever reads the deltas is busy; the next read sets the timer again
            return
        if self._loop.time() < self._until:
            self._timer = self._loop.call_at(self._until, self._fire)
        else:
            self._expired = True
            self._waiting.cancel()

    def _limit(self, now: float, decoder: Decoder) -> float:
        if not decoder.seen:
            return self._first
        if decoder.finished:
            return now + min(GRACE, self._times.idle)
        if self._progress is None:
            self._progress = now + self._times.progress
        return min(now + self._times.idle, self._progress)

    def _silence(self, decoder: Decoder) -> WireFault:
        if not decoder.seen:
            message = f"no answer within {self._times.first_event:g} s"
        elif self._dull and self._until == self._progress:
            message = f"nothing but keep-alives for {self._times.progress:g} s"
        else:
            message = f"no bytes for {min(self._times.idle, self._times.progress):g} s"
        return WireFault(ProviderError("network", message, retryable=True))
