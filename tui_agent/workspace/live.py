"""A command that runs now: its newest output, its time limit, and the way into the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tui_agent.core.stage import ended
from tui_agent.core.types import ApprovalRequest, Emit, Outcome

KEPT = 64_000
"""Characters of output that are kept of a command while it runs, the newest."""
UNLIMITED = 7 * 24 * 3600.0
"""Seconds after which a command in the background is ended."""


class Live:
    """One command that somebody waits for, until it ends or is sent to the background.

    As a number it is its time limit in seconds, which the background lifts. `work` is the command, to its very end.
    """

    def __init__(
        self, request: ApprovalRequest, seconds: float, emit: Emit, carry: Callable[[Live], Awaitable[Outcome]]
    ) -> None:
        """Start `carry`, which runs the command of `request` for at most `seconds` and gives its output to `take`."""
        self.request = request
        self.output = ""
        self._seconds = seconds
        self._emit = emit
        self._away: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.work: asyncio.Future[Outcome] = asyncio.ensure_future(carry(self))

    def __float__(self) -> float:
        return float(self._seconds)

    def take(self, piece: str) -> None:
        """Keep the newest output, and pass it on."""
        self.output = (self.output + piece)[-KEPT:]
        self._emit(piece)

    def send_away(self, name: str, emit: Emit) -> None:
        """Let it run on as the job of this name, without its limit; from now on `emit` gets what it writes."""
        self._seconds, self._emit = UNLIMITED, emit
        if not self._away.done():
            self._away.set_result(name)

    async def outcome(self) -> Outcome:
        """How it ended, or that it was sent away: then its end is its job's to tell.

        A cancellation ends it, unless it was sent away; what it had done by then is the outcome.
        """
        try:
            either: set[asyncio.Future[Any]] = {self.work, self._away}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not self._away.done():
                self.work.cancel()
                await ended(self.work)
        if not self._away.done():
            return self.work.result()
        name = self._away.result()
        text = f"The person sent this command to the background as {name}: it still runs, and you will be told its end."
        so_far = f" What it wrote so far:\n{self.output[-2_000:]}" if self.output else " It wrote nothing so far."
        return Outcome("applied", text + so_far, note=f"in the background, {name}")
