"""Background jobs: they run while something else does, are listed, looked at and ended, and end with the app."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.ui.test_app import answer, ends, idle, running, send, text_of
from tests.waiting import until
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core.policy import DEFAULT
from tui_agent.core.types import ApprovalRequest, Outcome, PolicyRequest, Request, RunArgv, ToolCall
from tui_agent.jobs import KEPT, Job, Jobs
from tui_agent.providers.scripted import scripted
from tui_agent.ui.palette import Palette
from tui_agent.workspace import Workspace
from tui_agent.workspace.confined import Confined
from tui_agent.workspace.live import UNLIMITED, Live
from tui_agent.workspace.runner import CommandResult, child_environment

OPEN = replace(DEFAULT, table=dict.fromkeys(DEFAULT.table, "allow"))


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


async def test_quitting_while_a_job_runs_asks_once_more(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await send(app, pilot, "/bg sleep 600")
        await until(lambda: bool(app.session.jobs.all))
        await pilot.press("ctrl+q")
        await until(lambda: "A background job is running. Again to quit" in text_of(app))
        assert app.return_code is None
        await pilot.press("ctrl+q")
        await until(lambda: app.return_code is not None)


async def test_jobs_are_listed_looked_at_and_ended(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await send(app, pilot, "/jobs")
        assert not isinstance(app.screen, Palette)
        await send(app, pilot, "/bg echo $((40 + 2)); echo $$ > pid; sleep 600")
        jobs = app.session.jobs
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
    jobs = Jobs(commands)
    jobs.told = lambda job: told.append(job.state)
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


# ------------------------------------------------------------------ what the model waits for, sent away


def shell_call(script: str) -> dict[str, Any]:
    return {"calls": [{"name": "run_shell", "arguments": {"script": script}}]}


LONG = "echo $$ > pid; echo first; while [ ! -e go ]; do sleep 0.05; done; echo last; echo x > made"


async def test_the_running_command_goes_to_the_background_and_the_model_is_told(tmp_path: Path) -> None:
    seen: list[Request] = []
    model = scripted([shell_call(LONG), {"text": "on with it"}, {"text": "thanks"}], seen=seen)
    work = tmp_path / "work"
    async with running(tmp_path, model, settings=Settings(sandbox="none")) as (app, pilot):
        await send(app, pilot, "go")
        await answer(app, pilot, "y")
        await until(lambda: bool(app.session.workspace.live) and "first" in app.session.workspace.live[0].output)
        await until(lambda: "Ctrl+X b background" in text_of(app))
        await pilot.press("ctrl+x", "b")
        await until(lambda: bool(ends(app)))
        await idle(app)
        (answered,) = (m.text for m in seen[1].messages if "sent this command to the background as job 1" in m.text)
        assert "first" in answered
        assert alive((work / "pid").read_text())
        (job,) = app.session.jobs.all
        assert job.running
        assert app.session.workspace.live == ()
        await until(lambda: "Ctrl+X b background" not in text_of(app))
        (work / "go").touch()
        await until(lambda: not job.running)
        assert job.state.startswith("exit 0")
        assert "last" in job.output
        await send(app, pilot, "and?")
        await until(lambda: len(ends(app)) == 2)
        (told,) = (m.text for m in seen[2].messages if m.text.startswith("A command in the background has ended: "))
        assert "last" in told
        assert "(exit 0)" in told
        done = [e for e in app.session.events if isinstance(e, ev.ToolDone)]
        assert [e.receipt is None for e in done] == [True, False]
        assert "made" in done[1].receipt.touched


async def test_an_end_in_the_middle_of_a_run_is_told_after_it(tmp_path: Path) -> None:
    replies = [shell_call(LONG), shell_call("touch go; sleep 0.6; echo second"), {"text": "done"}]
    async with running(tmp_path, scripted(replies)) as (app, pilot):
        await send(app, pilot, "go")
        await answer(app, pilot, "y")
        await until(lambda: bool(app.session.workspace.live) and "first" in app.session.workspace.live[0].output)
        await send(app, pilot, "/background")
        await answer(app, pilot, "y")
        await until(lambda: not app.session.jobs.all[0].running)
        await until(lambda: bool(ends(app)))
        await idle(app)
        kinds = [type(e).__name__ for e in app.session.events]
        assert kinds[-2:] == ["RunEnded", "ToolDone"]
        shown = text_of(app)
        assert shown.count("job 1") >= 1
        assert app.talk._shown == len(app.session.events)


async def test_a_job_of_the_model_ends_with_the_app_and_leaves_its_receipt(tmp_path: Path) -> None:
    settings = Settings(sandbox="none")  # in a sandbox the command would see a number of its own
    async with running(tmp_path, scripted([shell_call(LONG), {"text": "x"}]), settings=settings) as (app, pilot):
        await send(app, pilot, "go")
        await answer(app, pilot, "y")
        await until(lambda: bool(app.session.workspace.live) and "first" in app.session.workspace.live[0].output)
        await pilot.press("ctrl+x", "b")
        await until(lambda: bool(ends(app)))
        pid = (tmp_path / "work" / "pid").read_text()
        assert alive(pid)
    assert not alive(pid)
    last = app.session.events[-1]
    assert isinstance(last, ev.ToolDone)
    assert (last.note, last.receipt.exit_code) == ("stopped", None)
    assert "pid" in last.receipt.touched


async def test_with_nothing_to_send_away_it_says_so(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await pilot.press("ctrl+x", "b")
        await until(lambda: any("No command" in n.message for n in app._notifications))
        assert app.session.jobs.all == []


async def test_a_command_of_the_persons_own_can_be_sent_away_too(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([{"text": "hi"}])) as (app, pilot):
        await send(app, pilot, f"!{LONG}")
        await until(lambda: bool(app.session.workspace.live) and "first" in app.session.workspace.live[0].output)
        await pilot.press("ctrl+x", "b")
        await idle(app)
        assert app.session.jobs.all[0].running
        (tmp_path / "work" / "go").touch()
        await until(lambda: not app.session.jobs.all[0].running)


# ------------------------------------------------------------------ another session


async def test_a_job_of_the_persons_own_goes_with_them_to_another_session(tmp_path: Path) -> None:
    pid = tmp_path / "work" / "pid"
    async with running(tmp_path, scripted([])) as (app, pilot):
        await send(app, pilot, "/bg echo $$ > pid; echo here; sleep 600 & wait")
        await until(lambda: pid.exists() and bool(pid.read_text()))
        old = app.session
        await send(app, pilot, "/new")
        await until(lambda: app.session is not old)
        await until(lambda: [job.state for job in app.session.jobs.all] == ["running"])
        await send(app, pilot, "/bg exit 3")
        await until(lambda: [job.state for job in app.session.jobs.all] == ["running", "exit 3"])
        assert [job.number for job in app.session.jobs.all] == [1, 2]
        await pilot.press("ctrl+q")
        await until(lambda: "A background job is running. Again to quit" in text_of(app))
        assert alive(pid.read_text())
    assert not alive(pid.read_text())


async def test_one_whose_end_the_session_is_told_keeps_the_person_there_until_then(tmp_path: Path) -> None:
    model = scripted([shell_call(LONG), {"text": "x"}])
    async with running(tmp_path, model, settings=Settings(sandbox="none")) as (app, pilot):
        await send(app, pilot, "go")
        await answer(app, pilot, "y")
        await until(lambda: bool(app.session.workspace.live) and "first" in app.session.workspace.live[0].output)
        await pilot.press("ctrl+x", "b")
        await until(lambda: bool(ends(app)))
        await idle(app)
        old = app.session
        await send(app, pilot, "/new")
        await until(lambda: any("runs in the background. End it first" in n.message for n in app._notifications))
        assert app.session is old
        (tmp_path / "work" / "go").touch()
        await until(lambda: not old.jobs.all[0].running)
        await send(app, pilot, "/new")
        await until(lambda: app.session is not old)
        assert app.session.jobs.all == []


# ------------------------------------------------------------------ the limit and the session's own edits


class Recorder:
    """A runner whose command ends when it is told to, and that looks at its limit."""

    def __init__(self, root: Path) -> None:
        self.root, self.go, self.limits = root, asyncio.Event(), []

    async def __call__(self, argv: Any, *, cwd: Path, timeout: Any, emit: Any) -> CommandResult:
        emit("a piece\n")
        self.limits.append(float(timeout))
        await self.go.wait()
        self.limits.append(float(timeout))
        (self.root / "by_job.txt").write_text("x")
        emit("the rest\n")
        return CommandResult(0, "a piece\nthe rest\n", 1.0)


async def test_sent_away_it_has_no_limit_and_the_sessions_own_edits_are_not_its_doing(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("one\n")
    recorder = Recorder(tmp_path)
    desk = Workspace(tmp_path, run=recorder, permissions=OPEN)
    task = asyncio.create_task(desk.call("run_command", {"argv": ["slow"]}))
    await until(lambda: bool(recorder.limits))
    (live,) = desk.live
    heard: list[str] = []
    live.send_away("job 1", heard.append)
    outcome = await task
    assert (outcome.status, outcome.note, outcome.receipt) == ("applied", "in the background, job 1", None)
    await desk.call("read_file", {"path": "old.txt"})
    assert (await desk.call("write_file", {"path": "old.txt", "content": "two\n"})).status == "applied"
    recorder.go.set()
    end = await live.work
    assert recorder.limits == [120.0, UNLIMITED]
    assert heard == ["the rest\n"]
    assert end.receipt is not None
    assert end.receipt.touched == ("by_job.txt",)
    assert "(exit 0)" in end.text


async def test_code_that_runs_in_the_background_counts_as_unseen(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    desk = Workspace(tmp_path, run=recorder, permissions=replace(OPEN, table={**OPEN.table, "run": "allow"}))
    task = asyncio.create_task(desk.call("run_command", {"argv": ["slow"]}))
    await until(lambda: bool(recorder.limits))
    assert (await desk.explain("make check")).permission == "allow"
    desk.live[0].send_away("job 1", lambda _: None)
    await task
    assert (await desk.explain("make check")).rule == "floor: code nobody saw, and no sandbox"
    recorder.go.set()


async def test_stopped_twice_a_command_still_leaves_its_receipt(tmp_path: Path) -> None:
    desk = Workspace(tmp_path, permissions=OPEN)
    script = "trap '' TERM; echo x > made; echo ready; sleep 600"
    task = asyncio.create_task(desk.call("run_shell", {"script": script}))
    await until(lambda: bool(desk.live) and "ready" in desk.live[0].output)
    task.cancel()
    await asyncio.sleep(0.1)
    task.cancel()
    outcome = await task
    assert (outcome.note, outcome.receipt.touched) == ("stopped", ("made",))


@pytest.mark.parametrize("when", ["it has just ended", "a stop comes in the same moment"])
async def test_the_end_of_one_that_was_sent_away_is_told_once(when: str) -> None:
    go = asyncio.Event()

    async def carry(_: Live) -> Outcome:
        await go.wait()
        return Outcome("applied", "its end")

    request = ApprovalRequest(
        "r", ToolCall("c", "run_command", {}), RunArgv(("x",), 1.0), PolicyRequest("x", "run"), "run  x"
    )
    live = Live(request, 1.0, lambda _: None, carry)
    waiting = asyncio.ensure_future(live.outcome())
    await asyncio.sleep(0)
    if when == "it has just ended":
        go.set()
        await live.work
    live.send_away("job 1", lambda _: None)
    if not go.is_set():
        waiting.cancel()
    assert (await waiting).note == "in the background, job 1"
    go.set()
    assert (await live.work).text == "its end"
