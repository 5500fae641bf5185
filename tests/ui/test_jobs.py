"""Background jobs: they run while something else does, are listed, looked at and ended, and end with the app."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from tests.ui.test_app import ends, idle, running, send, text_of, until
from tui_agent.jobs import KEPT, Job, Jobs
from tui_agent.providers.scripted import scripted
from tui_agent.ui.palette import Palette
from tui_agent.workspace.confined import Confined
from tui_agent.workspace.runner import child_environment


def alive(pid: str) -> bool:
    return Path(f"/proc/{pid.strip()}").exists()


async def test_a_job_runs_beside_a_turn_and_ends_with_the_app(tmp_path: Path) -> None:
    pid = tmp_path / "work" / "pid"
    async with running(tmp_path, scripted([{"text": "hi"}])) as (app, pilot):
        await send(app, pilot, "/bg echo $$ > pid; sleep 600 & wait")
        await until(lambda: pid.exists() and bool(pid.read_text()))
        await send(app, pilot, "hello")
        await until(lambda: bool(ends(app)))
        await idle(app)
        assert alive(pid.read_text())
    assert not alive(pid.read_text())


async def test_jobs_are_listed_looked_at_and_ended(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await send(app, pilot, "/jobs")
        assert not isinstance(app.screen, Palette)
        await send(app, pilot, "/bg echo $((40 + 2)); echo $$ > pid; sleep 600")
        jobs = app.jobs._jobs
        await until(lambda: "42" in jobs.all[0].output)
        await send(app, pilot, "/jobs")
        await until(lambda: isinstance(app.screen, Palette) and "running" in text_of(app))
        await pilot.press("enter")
        await until(lambda: "Show its output" in text_of(app))
        await pilot.press("enter")
        await until(lambda: not isinstance(app.screen, Palette))
        await until(lambda: "42" in text_of(app))
        await send(app, pilot, "/jobs")
        await until(lambda: isinstance(app.screen, Palette) and "running" in text_of(app))
        await pilot.press("enter")
        await until(lambda: "End it" in text_of(app))
        await pilot.press("down", "enter")
        await until(lambda: jobs.all[0].state == "stopped")
        assert not alive((tmp_path / "work" / "pid").read_text())


async def test_a_job_that_ends_is_told_once(tmp_path: Path) -> None:
    told: list[str] = []
    commands = Confined(tmp_path, lambda: child_environment(os.environ))
    jobs = Jobs(commands, lambda job: told.append(job.state))
    first, second = jobs.start("exit 3"), jobs.start("echo done")
    await asyncio.gather(first.task, second.task)
    assert sorted(told) == ["exit 0", "exit 3"]
    assert [job.number for job in jobs.all] == [1, 2]
    await jobs.end(first)  # nothing more happens
    await jobs.end_all()
    assert len(told) == 2


def test_of_a_flood_the_newest_is_kept() -> None:
    job = Job(1, "yes")
    for n in range(100):
        job.take(f"{n}" * 2000)
    assert len(job.output) == KEPT
    assert job.output.endswith("99")
