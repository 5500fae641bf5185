"""The list of the person's messages: with the files that each turn touched, and the way to them."""

from __future__ import annotations

from pathlib import Path

from tests.ui.test_app import answer, idle, running, send, text_of
from tests.ui.test_steering import steps
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.providers.scripted import scripted
from tui_agent.ui.palette import Palette
from tui_agent.ui.rewind import RewindScreen


def write(path: str) -> dict[str, object]:
    return {"calls": [{"name": "write_file", "arguments": {"path": path, "content": "x\n"}}]}


async def test_each_message_with_its_files_and_the_way_there(tmp_path: Path) -> None:
    replies = [{"text": "word\n\n" * 60}, write("a.txt"), write("b.txt"), {"text": "done\n\n" * 60}]
    async with running(tmp_path, scripted(replies)) as (app, pilot):
        await send(app, pilot, "explain\nthis")
        await idle(app)
        await send(app, pilot, "then write")
        await answer(app, pilot, "y")
        await until((app.session.root / "a.txt").exists)
        await answer(app, pilot, "y")
        await idle(app)
        await send(app, pilot, "/outline")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.pause()  # it is painted
        assert "1  explain this" in text_of(app)
        assert "2  then write" in text_of(app)
        assert text_of(app).count("±2") >= 1
        await pilot.press("down")
        await until(lambda: "a.txt, b.txt" in text_of(app))
        await pilot.press("up", "enter")
        await until(lambda: app.screen is app.main)
        assert app.main.pane == "transcript"
        await until(lambda: "explain" in text_of(app).splitlines()[2])
        await pilot.press("o")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.press(*"then", "enter")
        await until(lambda: app.screen is app.main and "then write" in text_of(app))


async def test_a_message_to_the_running_turn_belongs_to_that_turn(tmp_path: Path) -> None:
    """Going back to the message behind it goes back to that one, and not to one after it."""
    model, _, go = steps(1)
    async with running(tmp_path, model) as (app, pilot):
        await send(app, pilot, "first")
        await until(lambda: app.talk.working)
        app.talk.steer("use tabs")
        go.release()
        go.release()
        await idle(app)
        await send(app, pilot, "second")
        go.release()
        await idle(app)
        assert [type(e) for e in app.session.events if isinstance(e, ev.UserSaid | ev.Steered)] == [
            ev.UserSaid,
            ev.Steered,
            ev.UserSaid,
        ]
        await send(app, pilot, "/outline")
        await until(lambda: isinstance(app.screen, Palette))
        for line in ("1  first", "1  use tabs", "2  second"):
            assert line in text_of(app)
        await pilot.press(*"second", "enter")
        await until(lambda: app.main.pane == "transcript")
        await pilot.press("r")
        await until(lambda: isinstance(app.screen, RewindScreen))
        turns, at = app.screen._turns, app.screen._at  # type: ignore[attr-defined]
        assert turns[at].text == "second"
