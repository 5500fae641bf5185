"""An app in a test is as quick and as patient as it must be on a busy machine.

Textual's own pilot waits until this process used little of the processor for a while. A busy machine makes that true before
anything has happened, and it costs several hundredths of a second for each key. What is left to do is looked at instead.

And what stands on the screen for a few seconds, a notice or the first of two keys, stands until a test has seen it.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import textual.app
import textual.pilot
from textual.app import App
from textual.pilot import Pilot

from tests.waiting import PATIENCE
from tui_agent.ui import leader, twice

SOON = 0.025
"""A timer that is due within so many seconds belongs to what is being done: the next frame."""
KEY = 0.021
"""Seconds between two keys of a person; what comes faster is a paste."""
FRAMES = 3
"""So many timers one after the other are waited for; an answer that streams has no end of them."""
LONG = 1.0
"""Seconds after which a thread that never rests is let be."""
WIRE = 0.2
"""Seconds in which an answer may come on an open connection. One that only stays open looks the same."""


async def at_rest(_least: float = 0.0, _most: float = 0.0) -> None:
    """Wait until all is done that can be done now: nothing is ready, no thread works, no timer is due soon."""
    loop: Any = asyncio.get_running_loop()
    began = loop.time()
    quiet, frames, worked = 0, 0, False
    while quiet < 3 and loop.time() < began + LONG:
        await asyncio.sleep(0)
        due = min((timer.when() for timer in loop._scheduled if not timer.cancelled()), default=began + LONG)
        if loop._ready:
            quiet, worked = 0, True
        elif _threads_work(loop._default_executor):
            quiet = 0
            await asyncio.sleep(0.001)
        elif due <= loop.time() + SOON and frames < FRAMES:
            quiet, frames = 0, frames + 1
            await asyncio.sleep(max(0.0, due - loop.time()))
        elif worked and loop.time() < began + KEY:
            await asyncio.sleep(began + KEY - loop.time())
        else:
            quiet += 1


def _threads_work(pool: ThreadPoolExecutor | None) -> bool:
    return pool is not None and pool._idle_semaphore._value < len(pool._threads)


def _connected(loop: Any) -> bool:
    return any(not transport.is_closing() for transport in list(loop._transports.values()))


def patch() -> None:
    """Let every pilot wait for the app to be at rest, and every app for the test. Once."""
    if textual.app.wait_for_idle is at_rest:
        return
    App.NOTIFICATION_TIMEOUT = leader.GIVE_UP_AFTER = twice.AGAIN_SECONDS = PATIENCE
    textual.app.wait_for_idle = textual.pilot.wait_for_idle = at_rest
    theirs = Pilot.pause

    async def pause(self: Pilot[Any], delay: float | None = None) -> None:
        """Let so much time pass, and all that it and the open connections bring."""
        await theirs(self, delay)
        loop: Any = asyncio.get_running_loop()
        began = loop.time()
        while _connected(loop) and loop.time() < began + WIRE:  # noqa: ASYNC110 - nothing tells of what has not come
            await asyncio.sleep(WIRE / 10)
        if delay is not None or loop.time() > began:
            await theirs(self)

    Pilot.pause = pause  # type: ignore[method-assign]
