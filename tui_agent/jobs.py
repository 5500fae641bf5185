"""Commands that the person runs in the background: listed, looked at, ended; none outlives the product.

A job is a task of the event loop, so leaving the product ends it; should the product die, the job's supervisor does.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_agent.tools.commands import CommandResult, note
from tui_agent.workspace.confined import Confined

KEPT = 64_000
"""Characters of output that are kept of a running job, the newest."""
TIMEOUT = 7 * 24 * 3600.0
"""Seconds after which a job is ended."""


@dataclass(eq=False, slots=True)
class Job:
    """One command in the background. `output` is the newest part of what it wrote; `result` how it ended."""

    number: int
    script: str
    output: str = ""
    result: CommandResult | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def state(self) -> str:
        """In words: "running", "exit 0", "stopped"."""
        if self.result is not None:
            return note(self.result)
        return "stopped" if self.task is not None and self.task.done() else "running"

    def take(self, piece: str) -> None:
        """Keep the newest output."""
        self.output = (self.output + piece)[-KEPT:]


class Jobs:
    """The jobs of one session. `told` hears of a job that has ended by itself."""

    def __init__(self, commands: Confined, told: Callable[[Job], None]) -> None:
        self._commands = commands
        self._told = told
        self.all: list[Job] = []

    def start(self, script: str) -> Job:
        """Run a shell text in the background: it is the person's own, so in no sandbox."""
        job = Job(len(self.all) + 1, script)
        self.all.append(job)
        job.task = asyncio.create_task(self._run(job), name=f"job {job.number}")
        return job

    async def _run(self, job: Job) -> None:
        argv = ("/bin/sh", "-c", job.script)
        job.result = await self._commands.plain(argv, cwd=self._commands.root, timeout=TIMEOUT, emit=job.take)
        if job.result.error is not None:
            job.take(job.result.error)
        self._told(job)

    async def end(self, job: Job) -> None:
        """End a job and all that it started; returns when it is gone."""
        if job.task is not None:
            job.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await job.task

    async def end_all(self) -> None:
        """End every job that still runs."""
        await asyncio.gather(*(self.end(job) for job in self.all if job.state == "running"))
