"""The lines that name keys around the composer: the queue, and the letters behind the leader."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.test_app import running, send, text_of, until
from tests.ui.test_steering import steps
from tui_agent.ui.actions import ACTIONS, key_name
from tui_agent.ui.keymap import USUAL
from tui_agent.ui.leader import strip_text


@pytest.mark.parametrize(("width", "rows"), [(40, 20), (80, 9), (120, 6)])
def test_the_letters_behind_the_leader_fit_the_screen(width: int, rows: int) -> None:
    text = strip_text(USUAL, {}, width).plain
    wrapped = sum(-(-max(1, len(line)) // width) for line in text.split("\n"))
    assert wrapped <= rows
    for action in ACTIONS:
        if action.leader:
            title = action.title.lower().split(":")[0].split(";")[0]
            assert any(f" {key_name(action.leader)} {words}" in text for words in (title, action.hint or title))


async def test_a_key_for_what_waits_is_named_while_it_does_that(tmp_path: Path) -> None:
    """Up edits what waits only where there is no draft to go up in."""
    model, _, go = steps(0)
    async with running(tmp_path, model, (80, 24)) as (app, pilot):
        await send(app, pilot, "go")
        await until(lambda: app.talk.working)
        await send(app, pilot, "wait for it")
        await until(lambda: "Up edit" in text_of(app))
        await pilot.press(*"draft")
        await until(lambda: "Ctrl+X l send now, edit, delete" in text_of(app))
        assert "Up edit" not in text_of(app)
        app.main.composer.load("")
        await until(lambda: "Up edit" in text_of(app))
        await pilot.press("up")
        await until(lambda: app.main.composer.text == "wait for it" and not app.talk.queue)
        go.release()
