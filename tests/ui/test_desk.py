"""Where the person writes, in the whole app by its keys: completion, history, the queue, the editor."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.ui.test_app import idle, running, send, stalling, text_of
from tests.waiting import until
from tui_agent.config import settings
from tui_agent.core import events as ev
from tui_agent.core.profile import ModelInfo
from tui_agent.providers.scripted import scripted
from tui_agent.session import Session
from tui_agent.ui import switching
from tui_agent.ui.app import AgentApp
from tui_agent.ui.chips import Draft
from tui_agent.ui.completion import Choice, Place
from tui_agent.ui.palette import Palette

ANSWERS = [{"text": str(number)} for number in range(9)]


def offered(app: AgentApp) -> list[str]:
    """The rows of the list of completions."""
    popup = app.main.desk._popup
    return [] if not popup.display else [line.strip() for line in str(popup.render()).split("\n")]


def names(app: AgentApp) -> list[str]:
    return [row.removeprefix("› ").split("  ")[0] for row in offered(app)]


async def type_in(app: AgentApp, pilot: Pilot[int], text: str) -> None:
    keys = {" ": "space", "/": "slash", "@": "at", ".": "full_stop", ":": "colon", "-": "minus", "_": "underscore"}
    await pilot.press(*[keys.get(letter, letter) for letter in text])
    await pilot.pause()


def told(app: AgentApp) -> list[str]:
    return [note.message for note in app._notifications]


def said(app: AgentApp) -> list[str]:
    return [event.text for event in app.session.events if isinstance(event, ev.UserSaid)]


# ------------------------------------------------------------------ commands


async def test_tab_fills_and_never_runs(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await type_in(app, pilot, "/he")
        assert names(app)[0] == "/help", "before what only holds these letters"
        await pilot.press("tab")
        assert app.main.composer.text == "/help"
        assert app.screen is app.main
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, Palette))
        assert app.main.composer.text == ""
        await pilot.press("escape")
        await type_in(app, pilot, "/re")
        await pilot.press("tab")
        assert app.main.composer.text.startswith("/re"), "nothing more is shared"
        assert app.screen is app.main


async def test_tab_fills_what_all_share_first(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await type_in(app, pilot, "/mod")
        assert names(app) == ["/model", "/mode"]
        await pilot.press("tab")
        assert app.main.composer.text == "/mode"
        assert names(app)[0] == "/mode"


@pytest.mark.parametrize("typed", ["/he", "/help"])
async def test_enter_runs_the_chosen_command_once(tmp_path: Path, typed: str) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await type_in(app, pilot, typed)
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, Palette))
        assert len(app.screen_stack) == 3
        assert (app.main.composer.text, said(app)) == ("", [])


async def test_enter_runs_the_one_under_the_cursor(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await type_in(app, pilot, "/")
        assert offered(app)[0].startswith("› /")
        await type_in(app, pilot, "mode")
        await pilot.press("down")
        assert offered(app)[1].startswith("› /model")
        await pilot.press("up", "enter")
        await pilot.pause()
        assert app.session.mode.name == "edits", "/mode went to the next one"


async def test_a_command_that_only_resembles_is_not_run_by_enter(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await type_in(app, pilot, "/ndo")
        assert names(app)[0] == "/undo"
        assert not offered(app)[0].startswith("›")
        await pilot.press("enter")
        await pilot.pause()
        assert app.main.composer.text == "/ndo", "there is no such command, and the text stays"
        await pilot.press("o", "backspace", "tab")
        assert app.main.composer.text == "/undo"


async def test_escape_closes_only_the_list_and_enter_then_means_the_text(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await type_in(app, pilot, "/mod")
        await pilot.press("escape")
        assert offered(app) == []
        assert app.main.composer.text == "/mod"
        await pilot.press("enter")
        await pilot.pause()
        assert app.main.composer.text == "/mod"
        assert app.session.mode.name == "ask"
        await pilot.press("tab")
        assert names(app) == ["/model", "/mode"], "Tab opens it again"


async def test_what_needs_an_argument_is_filled_and_waits_for_it(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await type_in(app, pilot, "/allow")
        await pilot.press("enter")
        assert app.main.composer.text == "/allow-cmd "
        assert offered(app) == []


async def test_arguments_modes_efforts_profiles(tmp_path: Path) -> None:
    known = settings({"profiles": {"local": {"endpoint": "http://127.0.0.1:9/v1", "model": "small"}}})
    async with running(tmp_path, scripted([]), settings=known) as (app, pilot):
        await type_in(app, pilot, "/mode ")
        assert names(app) == ["read", "ask", "edits", "review", "plan"]
        assert not any(row.startswith("›") for row in offered(app)), "nothing was begun: Enter goes to the next mode"
        await type_in(app, pilot, "pl")
        await pilot.press("enter")
        await pilot.pause()
        assert app.session.mode.name == "plan"
        await type_in(app, pilot, "/effort h")
        assert names(app) == ["high"]
        await pilot.press("ctrl+u")
        await type_in(app, pilot, "/provider ")
        assert names(app) == ["local", "demo"]
        await type_in(app, pilot, "lo")
        await pilot.press("tab")
        assert app.main.composer.text == "/provider local"
        await pilot.press("enter")
        await until(lambda: app.session.profile is not None and app.session.profile.name == "local")


async def test_models_are_asked_for_by_tab_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def list_models(profile, **_):
        asked.append(profile.name)
        return [ModelInfo("qwen-30b"), ModelInfo("qwen-4b"), ModelInfo("other")]

    monkeypatch.setattr(switching, "list_models", list_models)
    async with running(tmp_path, scripted([])) as (app, pilot):
        await type_in(app, pilot, "/model qw")
        assert (asked, offered(app)) == ([], [])
        await pilot.press("tab")
        await until(lambda: bool(offered(app)))
        assert names(app) == ["qwen-30b", "qwen-4b"]
        await pilot.press("tab")
        assert app.main.composer.text == "/model qwen-"
        assert len(asked) == 1
        await pilot.press("ctrl+u")
        await type_in(app, pilot, "/model ")
        assert names(app) == ["qwen-30b", "qwen-4b", "other"], "now they are known"


# ------------------------------------------------------------------ files


async def test_a_file_is_mentioned_with_its_lines(tmp_path: Path) -> None:
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    for name in ("src/parser.py", "src/my file.py"):
        (root / name).write_text("")
    async with running(tmp_path, scripted(ANSWERS)) as (app, pilot):
        await type_in(app, pilot, "fix @pars:10-20")
        await until(lambda: names(app) == ["src/parser.py"])
        await pilot.press("enter")
        assert app.main.composer.text == "fix @src/parser.py:10-20"
        assert offered(app) == []
        assert said(app) == []
        await pilot.press("enter")
        await idle(app)
        assert said(app) == ["fix @src/parser.py:10-20"]
        await type_in(app, pilot, "@my")
        await until(lambda: names(app) == ["src/my file.py"])
        await pilot.press("tab")
        assert app.main.composer.text == '@"src/my file.py"'
        await pilot.press("ctrl+u")
        await type_in(app, pilot, "@src")
        await until(lambda: names(app)[:1] == ["src/"])
        await pilot.press("tab")
        await until(lambda: names(app)[:2] == ["src/my file.py", "src/parser.py"] or len(names(app)) == 3)
        assert app.main.composer.text == "@src/"


async def test_a_search_that_still_runs_opens_no_list_for_a_word_that_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = asyncio.Event()

    async def slow(_: Place) -> AsyncGenerator[list[Choice]]:
        await found.wait()
        yield [Choice("a.py")]

    async with running(tmp_path, scripted(ANSWERS)) as (app, pilot):
        monkeypatch.setattr(app.main.composer.intercept.__self__, "_files", slow)
        await type_in(app, pilot, "@a b")
        found.set()
        await app.workers.wait_for_complete()
        assert offered(app) == []
        await type_in(app, pilot, " @a")
        await until(lambda: names(app) == ["a.py"])


async def test_an_at_that_means_nobody_sends_as_it_is(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(ANSWERS)) as (app, pilot):
        await type_in(app, pilot, "ask @zoe")
        await pilot.pause(0.1)
        await pilot.press("enter")
        await idle(app)
        assert said(app) == ["ask @zoe"]


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 20), (36, 10)])
async def test_the_list_never_covers_the_line_nor_what_is_below(tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(tmp_path, scripted([]), size=size) as (app, pilot):
        app.main.composer.load("one\ntwo\nthree ")
        await pilot.press("home", "ctrl+home")
        app.main.composer.load("")
        await type_in(app, pilot, "/")
        composer, popup = app.main.composer, app.main.desk._popup
        assert popup.display
        assert popup.region.height >= 2
        assert popup.region.bottom == composer.region.y
        assert popup.region.y >= 1
        assert composer.region.contains_point(app.cursor_position)
        assert "› /" in text_of(app)
        before = popup.region
        await type_in(app, pilot, "he")
        assert popup.region == before, "it keeps its place while it is filtered"


async def test_what_is_loaded_or_pasted_opens_no_list(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        app.main.composer.feed_paste("/he")
        await pilot.pause()
        assert offered(app) == []
        app.main.composer.load("/he")
        await pilot.pause()
        assert offered(app) == []
        await pilot.press("l", "left")
        assert offered(app) == [], "the cursor went elsewhere"


async def test_a_question_closes_the_list(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await type_in(app, pilot, "/he")
        assert offered(app)
        await pilot.press("f2")
        await pilot.pause()
        assert offered(app) == []
        assert app.main.composer.text == "/he"


# ------------------------------------------------------------------ history


async def test_the_history_survives_the_program_and_its_pastes_stay_folded(tmp_path: Path) -> None:
    log = "".join(f"line {number}\n" for number in range(300))
    async with running(tmp_path, scripted(ANSWERS)) as (app, pilot):
        await send(app, pilot, "first")
        await idle(app)
        app.main.composer.feed_paste(log)
        await pilot.press("enter")
        await idle(app)
        await send(app, pilot, "/help")
        await pilot.press("escape")
    async with running(tmp_path, scripted(ANSWERS)) as (app, pilot):
        await pilot.press("up")
        await pilot.pause()
        assert app.main.composer.document.text == "[paste 1: 300 lines, 2 kB]"
        assert app.main.composer.text == log
        await pilot.press("up")
        await pilot.pause()
        assert app.main.composer.text == "first", "commands are not in it"


async def test_up_keeps_the_draft_and_sending_an_old_one_brings_it_back(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(ANSWERS)) as (app, pilot):
        await send(app, pilot, "old")
        await idle(app)
        await type_in(app, pilot, "half a thought")
        await pilot.press("up")
        await pilot.pause()
        assert app.main.composer.text == "old"
        assert app.main.desk.unsent == (Draft("half a thought"), ()), "and that is what is kept on the disk"
        await pilot.press("down")
        await pilot.pause()
        assert app.main.composer.text == "half a thought"
        await pilot.press("up")
        await pilot.pause()
        await pilot.press("enter")
        await idle(app)
        assert said(app) == ["old", "old"]
        assert app.main.composer.text == "half a thought"


async def test_ctrl_r_searches_shows_and_takes(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(ANSWERS)) as (app, pilot):
        for text in ("fix the parser", "write the docs\nwith examples", "run it"):
            await send(app, pilot, text)
            await idle(app)
        app.main.composer.load("draft")
        await pilot.press("ctrl+r")
        await until(lambda: isinstance(app.screen, Palette))
        await type_in(app, pilot, "docs")
        assert "write the docs with examples" in text_of(app)
        await pilot.press("enter")
        await pilot.pause()
        assert app.main.composer.text == "write the docs\nwith examples"
        await pilot.press("down", "down")
        await pilot.pause()
        await pilot.press("down")
        await pilot.pause()
        assert app.main.composer.text == "draft"
        await pilot.press("ctrl+r", "escape")
        assert app.main.composer.text == "draft"


async def test_what_was_put_away_is_in_the_history_and_on_the_kill_ring(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await type_in(app, pilot, "a plan")
        await pilot.press("ctrl+c", "up")
        await pilot.pause()
        assert app.main.composer.text == "a plan"
        await pilot.press("ctrl+u", "ctrl+y")
        assert app.main.composer.text == "a plan"


# ------------------------------------------------------------------ the queue


async def queued(app: AgentApp, pilot: Pilot[int], *texts: str) -> None:
    await send(app, pilot, "work")
    await until(lambda: app.talk.working)
    for text in texts:
        await send(app, pilot, text)
    await until(lambda: app.talk.queue == list(texts))


async def choose(app: AgentApp, pilot: Pilot[int], message: str, answer: str) -> None:
    await pilot.press("ctrl+x", "l")
    await until(lambda: isinstance(app.screen, Palette))
    if len(app.talk.queue) > 1:
        first = app.screen
        await type_in(app, pilot, message)
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, Palette) and app.screen is not first)
    await type_in(app, pilot, answer)
    await pilot.press("enter")
    await until(lambda: app.screen is app.main)
    await pilot.pause()


async def test_the_queue_shows_its_messages_in_order(tmp_path: Path) -> None:
    model, _ = stalling()
    async with running(tmp_path, model) as (app, pilot):
        await queued(app, pilot, "alpha", "beta", "gamma", "delta")
        await pilot.pause()
        rows = [line.strip() for line in text_of(app).splitlines()[-7:]]
        assert rows[1].startswith("queued 4  next  alpha")
        assert rows[1].endswith("Up edit   Ctrl+X l send now, delete")
        assert rows[2:4] == ["2  beta", "3  gamma"]
        assert "delta" not in "".join(rows)


async def test_a_message_that_waits_is_deleted_and_can_be_yanked(tmp_path: Path) -> None:
    model, _ = stalling()
    async with running(tmp_path, model) as (app, pilot):
        await queued(app, pilot, "alpha", "beta", "gamma")
        await choose(app, pilot, "beta", "delete")
        assert app.talk.queue == ["alpha", "gamma"]
        await pilot.press("ctrl+y")
        assert app.main.composer.text == "beta"


async def test_a_message_that_waits_is_edited_while_it_cannot_be_sent(tmp_path: Path) -> None:
    model, _ = stalling()
    async with running(tmp_path, model) as (app, pilot):
        await queued(app, pilot, "alpha")
        app.main.composer.load("draft")
        await choose(app, pilot, "", "edit")
        assert app.talk.queue == []
        assert app.main.composer.text == "alpha"
        await pilot.press("ctrl+u", "ctrl+y", "alt+y")
        assert app.main.composer.text == "draft", "the draft is on the kill ring"


async def test_send_now_stops_the_turn_and_the_others_keep_waiting(tmp_path: Path) -> None:
    model, closed = stalling()
    async with running(tmp_path, model) as (app, pilot):
        await queued(app, pilot, "alpha", "beta")
        await choose(app, pilot, "beta", "send")
        await until(closed.is_set)
        await until(lambda: len(said(app)) == 3)
        assert said(app) == ["work", "beta", "alpha"], "what waited before it comes after it"


async def test_a_message_that_was_sent_meanwhile_is_neither_deleted_nor_sent_again(tmp_path: Path) -> None:
    model, _ = stalling()
    async with running(tmp_path, model) as (app, pilot):
        await queued(app, pilot, "alpha")
        await pilot.press("ctrl+x", "l")
        await until(lambda: isinstance(app.screen, Palette))
        app.talk.queue.clear()
        await pilot.press("enter")
        await until(lambda: app.screen is app.main)
        await pilot.pause()
        assert told(app) == ["That message was sent meanwhile."]
        assert said(app) == ["work"]
        assert await app.talk.send_now("alpha") is False


async def test_an_empty_queue_says_how_it_is_filled(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        await pilot.press("ctrl+x", "l")
        await until(lambda: bool(told(app)))
        assert told(app)[0].startswith("No message waits")


# ------------------------------------------------------------------ big pastes, sending again


async def test_a_paste_that_takes_much_of_the_window_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(tmp_path, scripted([])) as (app, pilot):
        for window, says in ((None, False), (100_000, False), (20_000, True)):
            monkeypatch.setattr(Session, "window", property(lambda _, w=window: w))
            app.main.composer.feed_paste("line\n" * 4_000)
            await pilot.pause()
            assert any("This paste takes ~5.0k tokens, 25% of" in words for words in told(app)) is says


async def test_what_is_sent_again_from_the_composer_is_in_the_history(tmp_path: Path) -> None:
    async with running(tmp_path, scripted([{"text": "yes"}])) as (app, pilot):
        app.main.composer.load("only here")
        await pilot.press("ctrl+x", "r")
        await until(lambda: "only here" in app.talk.said)
        await until(lambda: not app.talk.working)
        await pilot.press("up")
        assert app.main.composer.text == "only here"


# ------------------------------------------------------------------ the editor


def editor(folder: Path, body: str) -> dict[str, str]:
    path = folder / "fake-editor"
    path.write_text(f"#!{sys.executable}\nimport os, sys\npath = sys.argv[-1]\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return {"EDITOR": str(path), "PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("text = open(path).read(); open(path, 'w').write(text.upper() + '\\nmore\\x1b\\n')", "DRAFT\nmore"),
        ("open(path, 'w').write('   ')", "draft"),
        ("open(path, 'w').write('lost'); sys.exit(1)", "draft"),
        ("os.remove(path)", "draft"),
        ("pass", "draft"),
    ],
)
async def test_the_editor_gets_the_draft_and_gives_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, text: str
) -> None:
    from tui_agent.ui import editor as module
    from tui_agent.ui import reviewing

    environment = editor(tmp_path, body)
    ended = []

    async def lent(_app: object, _talk: object, path: str, line: int) -> None:
        try:
            await asyncio.to_thread(module.open_at, path, line, environment)
        finally:
            ended.append(path)

    monkeypatch.setattr(reviewing, "open_editor", lent)
    async with running(tmp_path, scripted([])) as (app, pilot):
        app.main.composer.load("draft")
        await pilot.press("ctrl+g")
        await until(lambda: bool(ended) and app.main.composer.text == text)
        await pilot.press("ctrl+x", "e")
        await until(lambda: app.screen is app.main)
