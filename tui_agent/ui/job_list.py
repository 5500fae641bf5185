"""Background jobs on the screen: `/bg COMMAND` starts one, `/jobs` lists them, shows their output, ends them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui_agent.jobs import Job, Jobs
from tui_agent.ui.palette import Palette, PaletteItem

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler

SHOWN = 4_000
"""Characters of a job's output that are shown, the newest."""


class JobList:
    """The handlers of these actions, and the jobs of the app's session."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app
        self._jobs: Jobs | None = None

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {"jobs.start": self.start, "jobs.list": self.show}

    def _tell(self, text: str) -> None:
        self._app.notify(text, markup=False)

    async def end_all(self) -> None:
        """The app ends."""
        if self._jobs is not None:
            await self._jobs.end_all()

    def start(self, script: str) -> None:
        """Run a command of the person's own; it goes on while they do something else."""
        if not script or self._app.main.conversation is None:
            self._tell("/bg COMMAND runs a command of yours in the background.")
            return
        self._jobs = self._jobs or Jobs(self._app.session.commands, self._ended)
        job = self._jobs.start(script)
        self._tell(f"Job {job.number} runs. /jobs shows and ends it.")

    def _ended(self, job: Job) -> None:
        self._tell(f"Job {job.number} has ended ({job.state}): {job.script[:60]}")

    def show(self, _: str) -> None:
        """All jobs, newest first; choosing one shows its output or ends it."""
        if self._jobs is None:
            self._tell("There are no jobs. /bg COMMAND starts one.")
        else:
            self._app.run_worker(self._show(self._jobs), name="jobs", exclusive=True, group="jobs")

    async def _show(self, jobs: Jobs) -> None:
        items = [PaletteItem(str(job.number), f"{job.number}  {job.script}", job.state) for job in reversed(jobs.all)]
        choice = await self._app.push_screen_wait(Palette(items, title="Background jobs"))
        if choice is None:
            return
        job = jobs.all[int(choice) - 1]
        answers = [PaletteItem("output", "Show its output")]
        answers += [PaletteItem("end", "End it")] if job.state == "running" else []
        answer = await self._app.push_screen_wait(Palette(answers, title=f"Job {job.number}: {job.state}"))
        if answer == "output":
            self._app.talk.note(
                f"job {job.number} ({job.state})  {job.script}\n{job.output[-SHOWN:] or 'no output yet'}"
            )
        elif answer == "end":
            await jobs.end(job)
            self._tell(f"Job {job.number} was ended.")
