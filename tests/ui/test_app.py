"""The whole app headless: the main job by its keys, and what its actions do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from tests.waiting import PATIENCE, until
from tui_agent import demo
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.types import (
    Author,
    Model,
    ProviderError,
    ReplyEnd,
    Request,
    TextDelta,
)
from tui_agent.paths import Paths
from tui_agent.providers.scripted import scripted
from tui_agent.session import Terms
from tui_agent.ui import leader
from tui_agent.ui.actions import ACTIONS, clashes, key_name
from tui_agent.ui.app import AgentApp, Ready, Start
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.keymap import USUAL
from tui_agent.ui.main import MainScreen
from tui_agent.ui.palette import Palette
from tui_agent.ui.tree import OWN


def terms(root: Path, base: Path, **kw: Any) -> Terms:
    paths = Paths(base / "config", base / "data", base / "state")
    return Terms(root, kw.pop("settings", Settings()), paths, trusted=kw.pop("trusted", True), environment={}, **kw)


@asynccontextmanager
async def running(
    tmp_path: Path, model: Model, size: tuple[int, int] = (120, 40), **kw: Any
) -> AsyncIterator[tuple[AgentApp, Pilot[int]]]:
    root = tmp_path / "work"
    root.mkdir(exist_ok=True)
    at = terms(root, tmp_path / "user", **kw)
    app = AgentApp(Start(root, at.paths, at.paths.config_file, ready=Ready(at, model)))
    async with app.run_test(size=size) as pilot:
        await until(lambda: app.main.conversation is not None and app.session.profile is not None)
        yield app, pilot


async def send(app: AgentApp, pilot: Pilot[int], text: str) -> None:
    app.main.composer.load(text)
    await pilot.press("enter")


async def idle(app: AgentApp) -> None:
    await until(lambda: not app.talk.working)


async def answer(app: AgentApp, pilot: Pilot[int], key: str) -> None:
    await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
    if key == "y":  # what was not on screen yet would have to be confirmed twice
        await until(lambda: app.screen.view.counts)
        await pilot.pause()  # what counts is drawn
        await pilot.press("pagedown", "pagedown")
    await pilot.press(key)


def text_of(app: AgentApp) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


def ends(app: AgentApp) -> list[ev.RunEnded]:
    return [e for e in app.session.events if isinstance(e, ev.RunEnded)]


# ------------------------------------------------------------------ the main job


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 20)])
async def test_the_demo_by_its_keys(size: tuple[int, int]) -> None:
    with demo.prepared() as played:
        at = played.terms
        app = AgentApp(Start(at.root, at.paths, at.paths.config_file, ready=Ready(at, played.model, task=demo.TASK)))
        async with app.run_test(size=size) as pilot:
            await until(lambda: app.main.conversation is not None and app.main.composer.text == demo.TASK)
            await pilot.press("enter")
            await answer(app, pilot, "y")
            await until(lambda: any(isinstance(e, ev.CheckDone) for e in app.session.events))
            await answer(app, pilot, "y")
            await idle(app)
            assert ends(app)[-1].reason is StopReason.VERIFIED
            checks = [e.passed for e in app.session.events if isinstance(e, ev.CheckDone)]
            assert checks == [False, True]
            await pilot.pause(0.2)
            assert "verified" in text_of(app)
        assert "re.findall" in (at.root / "slugs.py").read_text(encoding="utf-8")


async def test_a_refusal_in_the_demo_writes_nothing_and_says_so() -> None:
    with demo.prepared() as played:
        at = played.terms
        before = (at.root / "slugs.py").read_bytes()
        app = AgentApp(Start(at.root, at.paths, at.paths.config_file, ready=Ready(at, played.model, task=demo.TASK)))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(lambda: app.main.conversation is not None and bool(app.main.composer.text))
            await pilot.press("enter")
            await answer(app, pilot, "n")
            await pilot.press(*"keep it", "enter")
            await idle(app)
            done = [e for e in app.session.events if isinstance(e, ev.ToolDone) and e.denied]
            assert [e.text for e in done] == ["user rejected the change: keep it"]
            assert ends(app)[-1].reason is StopReason.COMPLETED
        assert (at.root / "slugs.py").read_bytes() == before


async def test_the_log_on_disk_is_what_was_shown(tmp_path: Path) -> None:
    from tui_agent.core.log import load

    async with running(tmp_path, scripted([{"text": "hello"}])) as (app, pilot):
        await send(app, pilot, "hi")
        await idle(app)
        assert list(load(app.session.log.path).events) == app.session.events


# ------------------------------------------------------------------ stop, queue, failures


def stalling(text: str = "partial ") -> tuple[Model, asyncio.Event]:
    closed = asyncio.Event()

    async def stream(request: Request) -> AsyncIterator[Any]:
        if len(request.messages) > 1:
            yield TextDelta("second answer")
            yield ReplyEnd("stop")
            return
        try:
            if text:
                yield TextDelta(text)
            await asyncio.sleep(600)
        finally:
            closed.set()

    return Model(Author("scripted", "s", "s"), stream), closed


def held(*texts: str) -> tuple[Model, asyncio.Event]:
    """A model that says these texts, each after its first piece not before the event is set."""
    go = asyncio.Event()
    model = scripted([{"text": text} for text in texts])

    async def stream(request: Request) -> AsyncIterator[Any]:
        async with aclosing(model.stream(request)) as deltas:
            async for delta in deltas:
                yield delta
                await go.wait()

    return Model(model.author, stream), go


@pytest.mark.parametrize("keys", [("ctrl+c",), ("escape", "escape")])
async def test_stop_closes_the_stream_and_the_next_message_works(tmp_path: Path, keys: Sequence[str]) -> None:
    model, closed = stalling()
    async with running(tmp_path, model) as (app, pilot):
        await send(app, pilot, "one")
        await until(lambda: app.talk.phase.name == "streaming")
        await pilot.press(*keys)
        await idle(app)
        assert closed.is_set()
        assert ends(app)[-1].reason is StopReason.STOPPED
        await send(app, pilot, "two")
        await idle(app)
        assert ends(app)[-1].reason is StopReason.COMPLETED


async def test_a_message_stopped_before_the_first_word_comes_back(tmp_path: Path) -> None:
    model, _ = stalling("")
    async with running(tmp_path, model) as (app, pilot):
        await send(app, pilot, "my long message")
        await until(lambda: app.talk.phase.name == "waiting")
        await pilot.press("ctrl+c")
        await idle(app)
        assert app.main.composer.text == "my long message"


async def test_a_message_that_could_not_be_sent_comes_back_and_is_not_in_the_history(tmp_path: Path) -> None:
    seen: list[Request] = []

    async def stream(request: Request) -> AsyncIterator[Any]:
        seen.append(request)
        if len(seen) == 1:
            yield ReplyEnd("error", error=ProviderError("network", "nothing listens there"))
        else:
            yield TextDelta("ok")
            yield ReplyEnd("stop")

    async with running(tmp_path, Model(Author("x", "y", "z"), stream)) as (app, pilot):
        await send(app, pilot, "do it")
        await idle(app)
        await pilot.pause()
        assert app.main.composer.text == "do it"
        assert "nothing listens there" in text_of(app)
        await pilot.press("enter")
        await idle(app)
        assert [m.text for m in seen[1].messages] == ["do it"]


async def test_messages_wait_while_a_turn_runs_and_can_be_taken_back(tmp_path: Path) -> None:
    release = asyncio.Event()
    seen: list[str] = []

    async def stream(request: Request) -> AsyncIterator[Any]:
        seen.append(request.messages[-1].text)
        if len(seen) == 1:
            await release.wait()
        yield TextDelta("ok")
        yield ReplyEnd("stop")

    async with running(tmp_path, Model(Author("x", "y", "z"), stream)) as (app, pilot):
        await send(app, pilot, "one")
        await until(lambda: bool(seen))
        await send(app, pilot, "two")
        await send(app, pilot, "three")
        await until(lambda: len(app.talk.queue) == 2)
        await pilot.pause()
        assert "queued 2" in text_of(app)
        await pilot.press("up")
        assert app.main.composer.text == "three"
        release.set()
        await until(lambda: len(ends(app)) == 2)
        assert seen == ["one", "two"]


async def test_stop_keeps_what_waits(tmp_path: Path) -> None:
    model, _ = stalling()
    async with running(tmp_path, model) as (app, pilot):
        await send(app, pilot, "one")
        await until(lambda: app.talk.phase.name == "streaming")
        await send(app, pilot, "two")
        await until(lambda: app.talk.queue == ["two"])
        await pilot.press("ctrl+c")
        await idle(app)
        assert app.talk.queue == ["two"]


async def test_cancel_in_a_question_writes_nothing(tmp_path: Path) -> None:
    reply = {"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "x\n"}}]}
    async with running(tmp_path, scripted([reply])) as (app, pilot):
        await send(app, pilot, "write")
        await answer(app, pilot, "escape")
        await idle(app)
        assert ends(app)[-1].reason is StopReason.STOPPED
        assert not (app.session.root / "a.txt").exists()
        assert type(app.screen) is MainScreen


async def test_keys_typed_in_a_question_are_in_the_composer(tmp_path: Path) -> None:
    reply = {"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "x\n"}}]}
    async with running(tmp_path, scripted([reply, {"text": "ok"}])) as (app, pilot):
        await send(app, pilot, "write")
        await until(lambda: isinstance(app.screen, ApprovalScreen))
        app.screen.arming.quiet = 3600.0  # deaf, however slow this machine types
        await pilot.press(*"yes y", "backspace", "left")
        assert app.main.composer.text == "yes "
        assert isinstance(app.screen, ApprovalScreen)
        app.screen.arming.quiet = 0.0
        await answer(app, pilot, "s")
        await pilot.press("enter")
        await idle(app)
        assert app.main.composer.text == "yes "
        assert not (app.session.root / "a.txt").exists()


# ------------------------------------------------------------------ leaving


async def test_ctrl_c_puts_the_draft_away_then_quits_the_second_time(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        app.main.composer.load("a draft")
        await pilot.press("ctrl+c")
        assert app.main.composer.text == ""
        await pilot.press("ctrl+y")
        assert app.main.composer.text == "a draft"
        await pilot.press("ctrl+c", "ctrl+c")
        await pilot.pause()
        assert "Ctrl+C again to quit" in text_of(app)
        await pilot.press("ctrl+c")
        await until(lambda: app.return_code is not None)
        assert app.return_code == 0


@pytest.mark.parametrize("how", ["ctrl+d", "ctrl+q", "/quit", "ctrl+x q"])
async def test_other_ways_out(tmp_path: Path, how: str) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        if how.startswith("/"):
            await send(app, pilot, how)
        else:
            for key in how.split():
                await pilot.press(key)
                await pilot.pause()
        await until(lambda: app.return_code is not None)
        assert app.return_code == 0


async def test_quitting_while_a_turn_runs_asks_once_more(tmp_path: Path) -> None:
    model, closed = stalling()
    async with running(tmp_path, model) as (app, pilot):
        await send(app, pilot, "one")
        await until(lambda: app.talk.phase.name == "streaming")
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert app.return_code is None
        await pilot.press("ctrl+q")
        await until(lambda: app.return_code is not None)
        assert closed.is_set()


# ------------------------------------------------------------------ actions


def test_every_action_has_its_handler_and_no_key_is_claimed_twice(tmp_path: Path) -> None:
    at = terms(tmp_path, tmp_path)
    app = AgentApp(Start(tmp_path, at.paths, at.paths.config_file, ready=Ready(at, scripted([]))))
    assert clashes() == []
    handled = {a.id for a in ACTIONS if a.scope in {"app", "transcript", "files"}} - set(OWN)
    assert handled | {"composer.paste"} == set(app.main.handlers)  # a key of the composer, for which the app reads
    forbidden = {"ctrl+b", "ctrl+h", "ctrl+i", "ctrl+m", "ctrl+["}
    assert not forbidden & {key for a in ACTIONS for key in a.keys}
    reachable = [a for a in ACTIONS if a.scope == "app" and a.listed]
    assert all(a.slash or a.leader for a in reachable)


async def test_palette_and_leader_reach_the_same_actions(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        for keys in (("f2",), ("ctrl+p",), ("f1",), ("ctrl+x", "question_mark")):
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            await until(lambda: isinstance(app.screen, Palette))
            await pilot.pause()  # it is painted
            assert "Switch provider" in text_of(app)
            await pilot.press("escape")
            await until(lambda: type(app.screen) is MainScreen)


async def test_switching_the_provider_answers_from_the_next_message_on(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"replies": [{"text": "first"}, {"text": "I am the other one"}]}', encoding="utf-8")
    from tui_agent.config import settings

    table: Mapping[str, Any] = {"profiles": {"other": {"type": "scripted", "endpoint": str(script), "model": "m"}}}
    async with running(tmp_path, scripted([{"text": "I am the first"}]), settings=settings(table)) as (app, pilot):
        await send(app, pilot, "who")
        await idle(app)
        await send(app, pilot, "/provider")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.press(*"other", "enter")
        await until(lambda: app.session.profile is not None and app.session.profile.name == "other")
        await send(app, pilot, "who now")
        await idle(app)
        await pilot.pause(0.2)
        assert "I am the other one" in text_of(app)
        assert "m · other" in text_of(app)
        await send(app, pilot, "/model fancy")
        await pilot.pause()
        assert "fancy · other" in text_of(app)
        await send(app, pilot, "/provider nowhere")
        assert app.session.profile is not None
        assert app.session.profile.name == "other"


async def test_an_unknown_command_keeps_the_draft(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await send(app, pilot, "/nonsense please")
        assert app.main.composer.text == "/nonsense please"
        assert ends(app) == []


async def test_no_notice_holds_what_acts_on_a_terminal(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, _):
        app.main.notify("job: echo a\u202eb \x1b]0;owned\x07", markup=False)
        await until(lambda: app._notifications)
        assert [shown.message for shown in app._notifications] == ["job: echo a<U+202E>b <ESC>]0;owned<BEL>"]


async def test_a_path_at_the_start_is_no_command(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([{"text": "ok"}])) as (app, pilot):
        await send(app, pilot, "/usr/lib is what?")
        await idle(app)
        assert len(ends(app)) == 1


async def test_the_first_of_two_keys_is_forgotten_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader, "GIVE_UP_AFTER", 0.1)
    async with running(tmp_path, scripted([])) as (app, pilot):
        await pilot.press("ctrl+x")
        await until(lambda: app.screen is app.main)
        await pilot.press("m")
        assert app.main.composer.text == "m"


async def test_what_was_put_away_comes_back_from_every_pane(tmp_path: Path) -> None:
    """A click in the transcript, or Tab, has moved the keys meanwhile, and the screen has said Ctrl+Y."""
    async with running(tmp_path, scripted([])) as (app, pilot):
        for pane in ("1", "2", "3"):
            app.main.composer.load("a draft")
            app.main.composer.focus()
            await pilot.press("ctrl+c")
            assert app.main.composer.text == ""
            await pilot.press("ctrl+x", pane)
            await until(lambda: app.screen is app.main)
            await pilot.press("ctrl+y")
            await until(lambda: app.main.composer.text == "a draft" and app.main.composer.has_focus)


def test_where_there_is_little_room_the_strip_of_the_leader_has_a_word_for_each() -> None:
    for width, most in ((36, 10), (40, 9), (60, 6), (80, 9), (120, 6)):
        rows = leader.strip_text(USUAL, {}, width).plain.splitlines()
        assert len(rows) <= most, rows
        assert max(map(len, rows)) <= width
    brief = leader.strip_text(USUAL, {}, 40).plain
    assert all(f" {key_name(a.leader)} {a.hint}" in brief for a in ACTIONS if a.leader)
    assert "d review what was changed" in leader.strip_text(USUAL, {}, 80).plain


async def test_ctrl_may_stay_down_behind_the_leader(tmp_path: Path) -> None:
    """As a shell has it: Ctrl+X Ctrl+E. Ctrl+C only leaves."""
    async with running(tmp_path, scripted([])) as (app, pilot):
        for keys, screen in ((("ctrl+p",), Palette), (("ctrl+c",), MainScreen), (("p",), Palette)):
            await pilot.press("ctrl+x", *keys)
            await until(lambda: type(app.screen) is screen)  # noqa: B023
            if screen is Palette:
                await pilot.press("escape")
                await until(lambda: app.screen is app.main)


@pytest.mark.parametrize("second", ["slash", "t", "p", "m", "l"])
async def test_what_is_typed_at_once_behind_the_leader_is_not_lost(tmp_path: Path, second: str) -> None:
    """On a busy machine all of it reached the strip, which was gone, and nobody else."""
    async with running(tmp_path, scripted([])) as (app, _):
        for key in ("ctrl+x", second, *"needle"):
            app.post_message(events.Key(key, {"slash": "/", "ctrl+x": None}.get(key, key)))
        if second in "lm":  # nothing waits, so that no list opens; and one that asks something first opens later
            await until(lambda: app.main.composer.text == "needle")
        else:
            await until(lambda: [field.value for field in app.screen.query(Input)] == ["needle"])


async def test_copying_the_last_answer(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([{"text": "**bold** words"}])) as (app, pilot):
        await send(app, pilot, "hi")
        await idle(app)
        await pilot.pause(0.2)
        await send(app, pilot, "/copy")
        await pilot.pause()
        assert app.clipboard == "**bold** words"


async def test_history_with_up_and_down(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([{"text": "1"}, {"text": "2"}])) as (app, pilot):
        for text in ("one", "two"):
            await send(app, pilot, text)
            await idle(app)
        await pilot.press("up")
        assert app.main.composer.text == "two"
        await pilot.press("up")
        assert app.main.composer.text == "one"
        await pilot.press("down", "down")
        assert app.main.composer.text == ""


@pytest.mark.parametrize(
    ("size", "visible"), [((120, 40), True), ((80, 24), False), ((60, 24), False), ((40, 20), False)]
)
async def test_the_side_pane_by_width(tmp_path: Path, size: tuple[int, int], visible: bool) -> None:
    async with running(tmp_path, scripted([]), size=size) as (app, pilot):
        await pilot.pause()
        assert ("CHANGED" in text_of(app)) is visible
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert ("CHANGED" in text_of(app)) is not visible
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert ("CHANGED" in text_of(app)) is visible


async def test_resize_keeps_the_draft_and_the_focus(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await pilot.press(*"draft")
        for size in ((40, 20), (20, 5), (120, 40)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert app.main.composer.text == "draft"
        assert app.main.composer.has_focus


async def test_an_app_that_ends_with_a_question_open_does_not_hang(tmp_path: Path) -> None:
    reply = {"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "x\n"}}]}
    async with asyncio.timeout(PATIENCE):
        async with running(tmp_path, scripted([reply])) as (app, pilot):
            await send(app, pilot, "write")
            await until(lambda: isinstance(app.screen, ApprovalScreen))
            log = app.session.log
            app.exit(0)
    assert isinstance(log.events[-1], ev.RunEnded)
    assert not (tmp_path / "work" / "a.txt").exists()


@pytest.mark.parametrize(("setting", "presses"), [("single", 1), ("double", 2), ("never", 0)])
async def test_esc_stops_as_it_is_set(tmp_path: Path, setting: str, presses: int) -> None:
    from tui_agent.config import settings

    model, _ = stalling()
    async with running(tmp_path, model, settings=settings({"ui": {"esc_stops": setting}})) as (app, pilot):
        await send(app, pilot, "one")
        await until(lambda: app.talk.phase.name == "streaming")
        for number in range(1, 4):
            await pilot.press("escape")
            await pilot.pause(0.05)
            if number == presses:
                await idle(app)
                return
            assert app.talk.working
        assert presses == 0


async def test_the_side_pane_can_be_closed_by_the_configuration(tmp_path: Path) -> None:
    from tui_agent.config import settings

    async with running(tmp_path, scripted([]), settings=settings({"ui": {"side_pane": False}})) as (app, pilot):
        await pilot.pause()
        assert "CHANGED" not in text_of(app)
        await pilot.press("ctrl+t")
        await pilot.pause()
        assert "CHANGED" in text_of(app)


async def test_a_terminal_that_gets_narrow_under_the_open_side_pane_ends_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([{"text": "an answer of some words " * 40}]), size=(100, 30)) as (app, pilot):
        await send(app, pilot, "hi")
        await idle(app)
        await pilot.press("ctrl+t")
        for size in [(79, 30), (40, 20), (100, 30), (60, 16), (1, 1), (120, 40)]:  # it covers the transcript in some
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert app._exception is None
        await pilot.press("ctrl+t")
        await until(lambda: "an answer of some words" in text_of(app))
