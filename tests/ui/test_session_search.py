"""The search over all sessions: a word may stand in the path of a folder, another one in what was said there."""

from __future__ import annotations

from pathlib import Path

from tests.sessions.story import made, turn
from tests.ui.test_session_list import list_open, shown
from tests.ui.test_sessions import answers, kept, opened
from tests.waiting import until


async def test_in_all_projects_the_path_counts_beside_the_text(tmp_path: Path) -> None:
    made(kept(tmp_path), *turn("elsewhere", "the word is surrogate"), cwd="/srv/parser")
    async with opened(tmp_path, answers("x")) as (app, pilot):
        screen = await list_open(app, pilot)
        await pilot.press("slash", *"parser surrogate")
        await until(lambda: screen.searched and not shown(screen))
        screen.action_all()
        await until(lambda: shown(screen) == ["elsewhere"])
