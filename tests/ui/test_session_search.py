"""The search over all sessions: a word may stand in the path of a folder, another one in what was said there."""

from __future__ import annotations

import os
from pathlib import Path

from tests.sessions.story import made, turn
from tests.ui.test_app import text_of
from tests.ui.test_session_list import list_open, shown
from tests.ui.test_sessions import answers, kept, opened
from tests.waiting import until
from tui_agent.sessions import Place
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
