"""Background jobs on the screen: `/bg COMMAND` starts one, `/background` sends there what is waited for, `/jobs` lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui_agent.core.display import label, plain
from tui_agent.jobs import Job, Jobs
from tui_agent.ui.palette import Palette, PaletteItem

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler

SHOWN = 4_000
"""Characters of a job's output that are shown, the newest."""


class JobList:
    """The handlers of these actions."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {"jobs.start": self.start, "jobs.send": self.send, "jobs.list": self.show}

    @property
    def _jobs(self) -> Jobs:
        jobs = self._app.session.jobs
        jobs.told = self._ended
        return jobs

    def _tell(self, text: str) -> None:
        self._app.notify(text, markup=False)

    async def end_all(self) -> None:
        """The app ends."""
        if self._app.main.conversation is not None:
            await self._jobs.end_all()

    def start(self, script: str) -> None:
        """Run a command of the person's own; it goes on while they do something else."""
        if not script or self._app.main.conversation is None:
            self._tell("/bg COMMAND runs a command of yours in the background.")
            return
        job = self._jobs.start(script)
        self._tell(f"Job {job.number} runs. /jobs shows and ends it.")

    def send(self, _: str) -> None:
        """Let the command that is waited for run on in the background; the model goes on without it."""
        live = self._app.session.workspace.live if self._app.main.conversation is not None else ()
        if not live:
            self._tell("No command is waited for now.")
        for one in live:
            self._tell(f"Sent to the background as job {self._jobs.adopt(one).number}. /jobs shows and ends it.")

    def _ended(self, job: Job) -> None:
        self._tell(f"Job {job.number} has ended ({job.state}): {label(job.command, 60, 'action')}")
        if self._app.session.jobs.record():
            self._app.talk.catch_up()

    def show(self, _: str) -> None:
        """All jobs, newest first; choosing one shows its output or ends it."""
        if self._app.main.conversation is None or not self._jobs.all:
            self._tell("There are no jobs. /bg COMMAND starts one.")
        else:
            self._app.run_worker(self._show(self._jobs), name="jobs", exclusive=True, group="jobs")

    async def _show(self, jobs: Jobs) -> None:
        items = [
            PaletteItem(str(job.number), f"{job.number}  {plain(job.command, 'action')}", job.state)
            for job in reversed(jobs.all)
        ]
        choice = await self._app.push_screen_wait(Palette(items, title="Background jobs"))
        if choice is None:
            return
        job = next(job for job in jobs.all if job.number == int(choice))
        answers = [PaletteItem("output", "Show its output")]
        answers += [PaletteItem("end", "End it")] if job.running else []
        answer = await self._app.push_screen_wait(Palette(answers, title=f"Job {job.number}: {job.state}"))
        if answer == "output":
            self._app.talk.note(
                f"job {job.number} ({job.state})  {job.command}\n{job.output[-SHOWN:] or 'no output yet'}"
            )
        elif answer == "end":
            await jobs.end(job)
            self._tell(f"Job {job.number} was ended.")
