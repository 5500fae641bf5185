"""Commands in the background: listed, looked at, ended; none outlives the product.

The person starts one of their own, or sends one there that they wait for. A job is a task of the event loop, so leaving
the product ends it; should the product die, the job's supervisor does.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from tui_agent.core import events as ev
from tui_agent.core.types import BACKGROUND, ToolCall
from tui_agent.tools.commands import note
from tui_agent.workspace.confined import Confined
from tui_agent.workspace.live import KEPT, UNLIMITED, Live


@dataclass(eq=False, slots=True)
class Job:
    """One command in the background. `output` is the newest part of what it wrote; `state` is in words.

    One that is the person's `own` goes with them to another session; the end of any other is told in this one.
    """

    number: int
    command: str
    own: bool = True
    output: str = ""
    state: str = "running"
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.state == "running"

    def take(self, piece: str) -> None:
        """Keep the newest output."""
        self.output = (self.output + piece)[-KEPT:]


class Jobs:
    """The jobs of one session. `told` hears of every end.

    The end of a job that was waited for goes to `keep`, and so to the model with the next message; never while `busy`,
    in the middle of a run.
    """

    def __init__(
        self,
        commands: Confined,
        keep: Callable[[ev.Durable], None] = lambda _: None,
        busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self._commands = commands
        self._keep, self._busy = keep, busy
        self._ends: list[ev.Durable] = []
        self.told: Callable[[Job], None] = lambda _: None
        self.all: list[Job] = []

    def record(self) -> bool:
        """Keep the ends that wait for that; whether none waits any more."""
        while self._ends and not self._busy():
            self._keep(self._ends.pop(0))
        return not self._ends

    @property
    def bound(self) -> bool:
        """Whether one runs whose end has to be told in this session."""
        return any(job.running and not job.own for job in self.all)

    def bring(self, others: Jobs) -> None:
        """Go on with the person's own of a session that is left."""
        self.all = [job for job in others.all if job.own]

    def start(self, script: str) -> Job:
        """Run a shell text in the background: it is the person's own, so in no sandbox."""
        job = self._new(script)
        return self._go(job, self._run(job))

    def adopt(self, live: Live) -> Job:
        """Send a command that somebody waits for to the background."""
        job = self._new(live.request.summary.partition("  ")[2] or live.request.summary, own=False)
        job.output = live.output
        live.send_away(f"job {job.number}", job.take)
        return self._go(job, self._follow(job, live))

    def _new(self, command: str, *, own: bool = True) -> Job:
        job = Job(max((job.number for job in self.all), default=0) + 1, command, own)
        self.all.append(job)
        return job

    def _go(self, job: Job, work: Coroutine[Any, Any, str]) -> Job:
        async def to_the_end() -> None:
            try:
                job.state = await work
            finally:
                job.state = "stopped" if job.running else job.state
            self.told(job)

        job.task = asyncio.create_task(to_the_end(), name=f"job {job.number}")
        return job

    async def _run(self, job: Job) -> str:
        argv = ("/bin/sh", "-c", job.command)
        result = await self._commands.plain(argv, cwd=self._commands.root, timeout=UNLIMITED, emit=job.take)
        if result.error is not None:
            job.take(result.error)
        return note(result)

    async def _follow(self, job: Job, live: Live) -> str:
        outcome = await live.work
        call = ToolCall(live.request.id, BACKGROUND, {"command": job.command})
        summary = f"job {job.number}  {job.command}"
        duration = outcome.receipt.duration if outcome.receipt else 0.0
        self._ends.append(
            ev.ToolDone(call, outcome.status, outcome.text, outcome.note, summary, outcome.receipt, duration)
        )
        self.record()
        return outcome.note or outcome.status

    async def end(self, job: Job) -> None:
        """End a job and all that it started; returns when it is gone."""
        if job.task is not None:
            job.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await job.task

    async def end_all(self) -> None:
        """End every job that still runs."""
        await asyncio.gather(*(self.end(job) for job in self.all if job.running))
