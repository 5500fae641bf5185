"""Finding a session, and going to another one at the right time."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.sessions.story import made, turn
from tests.ui.test_app import running, send, text_of
from tests.ui.test_session_list import list_open, shown
from tests.ui.test_sessions import answers, kept, opened
from tests.ui.test_undo_screen import closed, model, two_turns, undo_open
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.core.lock import holder
from tui_agent.sessions import Place
from tui_agent.ui import shelf
from tui_agent.unsent import Unsent


async def test_in_all_projects_the_path_counts_beside_the_text(tmp_path: Path) -> None:
    made(kept(tmp_path), *turn("elsewhere", "the word is surrogate"), cwd="/srv/parser")
    async with opened(tmp_path, answers("x")) as (app, pilot):
        screen = await list_open(app, pilot)
        await pilot.press("slash", *"parser surrogate")
        await until(lambda: screen.searched and not shown(screen))
        screen.action_all()
        await until(lambda: shown(screen) == ["elsewhere"])


async def test_a_draft_is_named_also_when_the_newest_session_is_open_in_another_window(tmp_path: Path) -> None:
    left, open_elsewhere = (made(kept(tmp_path), *turn(task), cwd=str(tmp_path / "work")) for task in ("left", "open"))
    os.utime(left / "log.jsonl", (1, 1))
    place = Place(left)
    place.keep(Unsent("two hours of work"))
    place.close()
    other = Place(open_elsewhere)
    async with opened(tmp_path, answers("x")) as (app, _):
        await until(lambda: f"did not send is kept: /resume {left.name}" in text_of(app))
    other.close()


async def test_no_other_session_is_gone_to_while_files_are_restored(tmp_path: Path) -> None:
    """The undo would be recorded in a session that is given back by then."""
    (tmp_path / "work").mkdir()
    done = asyncio.Event()
    async with running(tmp_path, model(), yes=True) as (app, pilot):
        await two_turns(app, pilot)
        restore, session = app.session.workspace.undo, app.session

        async def slowly(*words: Any) -> Any:
            await done.wait()
            return await restore(*words)

        app.session.workspace.undo = slowly  # type: ignore[method-assign]
        await undo_open(app, pilot)
        await pilot.press("enter")
        await until(lambda: "will be" in text_of(app))
        await pilot.press("u")
        await until(lambda: app.screen is app.main)
        await send(app, pilot, "/new")
        await until(lambda: any("Files are being restored" in n.message for n in app._notifications))
        assert app.session is session
        done.set()
        await closed(app)
        assert isinstance(session.events[-1], ev.Undone)


@pytest.mark.parametrize("command", ["/new", "/fork", "/load saved.json", "/resume earlier"])
async def test_in_a_folder_that_is_gone_no_session_is_opened_and_this_one_stays(tmp_path: Path, command: str) -> None:
    made(kept(tmp_path), *turn("earlier"), cwd=str(tmp_path / "work"))
    folder = made(kept(tmp_path), *turn("one"), cwd=str(tmp_path / "work"))
    async with opened(tmp_path, answers("still here"), folder) as (app, pilot):
        (tmp_path / "work").rename(tmp_path / "moved")
        await send(app, pilot, command)
        await until(lambda: any("is gone. Put it back first" in n.message for n in app._notifications))
        await send(app, pilot, "hello")
        await until(lambda: "still here" in text_of(app))
        assert app.session.id == folder.name
        (tmp_path / "moved").rename(tmp_path / "work")


async def test_a_folder_that_goes_at_the_last_moment_leaves_the_screen_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(kept(tmp_path), *turn("one"), cwd=str(tmp_path / "work"))
    async with opened(tmp_path, answers("still here"), folder) as (app, pilot):
        (tmp_path / "work").rename(tmp_path / "moved")
        monkeypatch.setattr(shelf, "is_folder", lambda _: True)
        await send(app, pilot, "/fork")
        await until(lambda: any("cannot be used: No such file" in n.message for n in app._notifications))
        assert (app.session.id, "done" in text_of(app)) == (folder.name, True)
        assert [one.name for one in kept(tmp_path).iterdir() if holder(one / "lock")] == [folder.name]
        (tmp_path / "moved").rename(tmp_path / "work")
