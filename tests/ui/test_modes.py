"""Modes, an approved plan and a reverted batch by their keys."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.ui.test_app import answer, ends, idle, running, send, text_of
from tests.waiting import until
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.providers.scripted import scripted

WRITE = {"calls": [{"name": "write_file", "arguments": {"path": "new.txt", "content": "x\n"}}]}
FAILING = (sys.executable, "-c", "raise SystemExit(3)")


async def test_one_key_goes_round_the_modes_and_the_header_says_which(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([{"text": "x"}])) as (app, pilot):
        assert app.main.composer.has_focus
        seen = []
        for _ in range(20):
            await pilot.press("shift+tab")
            seen.append(app.session.mode.name)
            assert app.main.header.mode == seen[-1]
        assert seen[:4] == ["edits", "read", "ask", "edits"]
        assert set(seen) == {"read", "ask", "edits"}
        assert app.main.composer.has_focus
        await pilot.pause()
        assert "edits" in text_of(app).splitlines()[0] or "read" in text_of(app).splitlines()[0]


async def test_a_mode_by_its_name(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([{"text": "x"}])) as (app, pilot):
        await send(app, pilot, "/mode review")
        assert app.session.mode.name == "review"
        assert app.main.header.mode == "review"
        await send(app, pilot, "/mode auto")
        assert app.session.mode.name == "review"


async def test_mode_edits_asks_nothing_for_an_edit(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([WRITE, {"text": "ok"}])) as (app, pilot):
        await pilot.press("shift+tab")
        await send(app, pilot, "write")
        await until(lambda: bool(ends(app)))
        assert (app.session.root / "new.txt").exists()
        assert app.session.holds_unseen_edits


async def test_a_plan_is_carried_out_when_it_is_approved(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([{"text": "1. write new.txt"}, WRITE, {"text": "ok"}])) as (app, pilot):
        await send(app, pilot, "/mode plan")
        await send(app, pilot, "/approve")
        assert app.session.mode.name == "plan"
        await send(app, pilot, "plan it")
        await until(lambda: bool(ends(app)))
        await idle(app)
        await pilot.pause()
        assert "/approve carries it out" in text_of(app)
        await send(app, pilot, "/approve")
        assert app.session.mode.name == "ask"
        await answer(app, pilot, "y")
        await until(lambda: len(ends(app)) == 2)
        assert (app.session.root / "new.txt").exists()


async def test_a_failed_batch_is_reverted_by_its_command(tmp_path: Path) -> None:
    settings = Settings(checks={str((tmp_path / "work").resolve()): FAILING})
    replies = [WRITE, *[{"text": str(n)} for n in range(4)]]
    async with running(tmp_path, scripted(replies), settings=settings) as (app, pilot):
        await send(app, pilot, "write")
        await answer(app, pilot, "y")
        await until(lambda: bool(ends(app)))
        await idle(app)
        assert ends(app)[0].reason is StopReason.UNVERIFIED
        await send(app, pilot, "/revert")
        await until(lambda: not (app.session.root / "new.txt").exists())
        await until(lambda: any(isinstance(e, ev.Undone) and e.paths == ("new.txt",) for e in app.session.events))


async def test_revert_stops_a_turn_that_runs(tmp_path: Path) -> None:
    settings = Settings(checks={str((tmp_path / "work").resolve()): FAILING})
    slow = scripted([WRITE, {"text": "word " * 10_000}], delay=0.01)
    async with running(tmp_path, slow, settings=settings) as (app, pilot):
        await send(app, pilot, "write")
        await answer(app, pilot, "y")
        await until(lambda: any(isinstance(e, ev.CheckDone) for e in app.session.events))
        await pilot.press("ctrl+x", "R")
        await until(lambda: not (app.session.root / "new.txt").exists())
        assert ends(app)[-1].reason is StopReason.STOPPED
