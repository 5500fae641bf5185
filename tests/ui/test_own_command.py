"""`!command`: runs without a question, is shown as the person's, and the model hears of it as theirs."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.ui.test_app import ends, held, idle, running, send, text_of
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.core.types import Request, UserMessage
from tui_agent.providers.scripted import scripted


def own(app) -> list[ev.ToolDone]:
    return [e for e in app.session.events if isinstance(e, ev.ToolDone)]


def numbers(app) -> list[str]:
    rows = (line.partition("│")[0].strip() for line in text_of(app).splitlines())
    return [row for row in rows if row.isdigit()]


async def test_it_runs_unasked_is_shown_as_theirs_and_told(tmp_path: Path) -> None:
    seen: list[Request] = []
    async with running(tmp_path, scripted([{"text": "I see."}], seen=seen)) as (app, pilot):
        await send(app, pilot, "!echo one > made; echo two | tr t T")
        await until(lambda: bool(own(app)))
        await idle(app)
        (done,) = own(app)
        assert (done.receipt.by, done.receipt.exit_code, done.status) == ("person", 0, "applied")
        assert [c.path for c in done.receipt.changed] == ["made"]
        assert seen == []
        await pilot.pause()
        assert "you" in text_of(app)
        await send(app, pilot, "and now?")
        await until(lambda: bool(ends(app)))
        texts = [m.text for m in seen[0].messages if isinstance(m, UserMessage)]
        assert texts[0].startswith("I ran a command myself: echo one > made; echo two | tr t T\nTwo\n")
        assert texts[1] == "and now?"


async def test_what_it_printed_stays_on_the_screen(tmp_path: Path) -> None:
    """Nobody types `!ls` to read that it exited with 0."""
    async with running(tmp_path, scripted([])) as (app, pilot):
        await send(app, pilot, "!seq 1 3")
        await until(lambda: bool(own(app)))
        await idle(app)
        await pilot.pause()
        assert numbers(app) == ["1", "2", "3"]
        assert "(exit 0)" not in text_of(app)
        await send(app, pilot, "!seq 101 200; false")
        await until(lambda: len(own(app)) == 2)
        await idle(app)
        await pilot.pause()
        assert numbers(app)[-18:] == [str(n) for n in range(183, 201)], "the end of a long one"
        assert "82 more lines" in text_of(app)


async def test_it_sees_no_key_and_no_terminal(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await send(app, pilot, "!env; cat; tty; echo end")
        await until(lambda: bool(own(app)))
        assert "not a tty" in own(app)[0].text
        assert "_KEY=" not in own(app)[0].text


async def test_ctrl_c_stops_it_and_nothing_of_it_lives_on(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await send(app, pilot, "!echo $$ > pid; sleep 600 & wait")
        pid = tmp_path / "work" / "pid"
        await until(lambda: pid.exists() and bool(pid.read_text()))
        assert app.talk.working
        await pilot.press("ctrl+c")
        await until(lambda: bool(own(app)))
        assert own(app)[0].note == "stopped"
        await until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())
        assert app.talk.unsent is None


async def test_while_a_turn_runs_it_waits_for_its_end(tmp_path: Path) -> None:
    model, go = held("word " * 30)
    async with running(tmp_path, model) as (app, pilot):
        await send(app, pilot, "talk")
        await send(app, pilot, "!echo after")
        assert app.talk.queue == ["!echo after"]
        go.set()
        await until(lambda: bool(own(app)))
        order = [type(e).__name__ for e in app.session.events if isinstance(e, ev.RunEnded | ev.ToolDone)]
        assert order == ["RunEnded", "ToolDone"]


async def test_a_failing_one_is_no_fault_of_the_turn(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await send(app, pilot, "!exit 3")
        await until(lambda: bool(own(app)))
        await idle(app)
        await asyncio.sleep(0)
        assert own(app)[0].receipt.exit_code == 3
        assert not ends(app)
        assert app.main.composer.text == ""
