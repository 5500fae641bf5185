"""Skills and commands by their names in the composer, their list and completion, and the writing of instructions."""

from __future__ import annotations

from pathlib import Path

from tests.ui.test_app import answer, idle, running, send, text_of
from tests.ui.test_desk import type_in
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.log import is_durable
from tui_agent.providers.scripted import scripted
from tui_agent.session import Session
from tui_agent.sessions import fork
from tui_agent.ui.palette import Palette
from tui_agent.words import of_folder

TALK = [{"text": "x"}] * 3


def brought(tmp_path: Path) -> Path:
    """A folder with a skill and two commands."""
    root = tmp_path / "work"
    for name, text in (
        (".agents/skills/deploy/SKILL.md", "---\ndescription: how to\x1b[31m deploy\n---\nSTEP ONE"),
        (".agents/commands/fix.md", "---\ndescription: fixes\n---\nFix $1 at once."),
        (".agents/commands/quit.md", "never in place of a command of the table"),
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def said(app) -> list[str]:  # type: ignore[no-untyped-def]
    return [event.text for event in app.session.events if isinstance(event, ev.UserSaid)]


def told(app, text: str) -> bool:  # type: ignore[no-untyped-def]
    return any(text in one.message for one in app._notifications)


async def test_a_command_is_sent_as_what_it_stands_for(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK), words=of_folder(brought(tmp_path))) as (app, pilot):
        await send(app, pilot, "/fix the bug")
        await idle(app)
        assert said(app) == ["Fix the bug at once."]
        await send(app, pilot, "/nothing at all")
        assert told(app, "There is no command /nothing")
        assert app.main.composer.text == "/nothing at all"


async def test_a_skill_is_put_in_force_by_its_name_and_the_rest_is_the_task(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK), words=of_folder(brought(tmp_path))) as (app, pilot):
        await send(app, pilot, "/deploy")
        await until(lambda: "skill deploy, in force" in text_of(app))
        assert (said(app), app.talk.working) == ([], False)
        assert (app.talk.meter.tokens or 0) > 10, "the rest of what is sent did not go"
        await send(app, pilot, "/deploy")
        await until(lambda: "is in force already" in text_of(app))
        await send(app, pilot, "/skill:deploy to the test server")
        await idle(app)
        assert said(app) == ["to the test server"]
        assert str(app.session.history).count("STEP ONE") == 1


async def test_the_list_of_skills_shows_them_and_puts_one_in_force(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK), words=of_folder(brought(tmp_path))) as (app, pilot):
        await send(app, pilot, "/skills")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.pause()
        assert "deploy: how to<ESC>[31m deploy" in text_of(app)
        await pilot.press("enter")
        await until(lambda: "skill deploy, in force" in text_of(app))


async def test_without_skills_the_list_says_where_they_go(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK)) as (app, pilot):
        await send(app, pilot, "/skills")
        assert told(app, "~/.agents/skills/NAME/SKILL.md")


async def test_they_are_completed_behind_the_commands_of_the_table(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK), words=of_folder(brought(tmp_path))) as (app, pilot):
        await pilot.press(*"/fix")
        await until(lambda: "command: fixes" in text_of(app))
        await pilot.press("tab")
        await until(lambda: app.main.composer.text == "/fix ")


async def test_enter_in_their_list_sends_what_needs_no_more(tmp_path: Path) -> None:
    root = brought(tmp_path)
    (root / ".agents/commands/tidy.md").write_text("Tidy up.", encoding="utf-8")
    async with running(tmp_path, scripted(TALK), words=of_folder(root)) as (app, pilot):
        await type_in(app, pilot, "/tid")
        assert "Enter runs" in text_of(app)
        await pilot.press("enter")
        await idle(app)
        assert said(app) == ["Tidy up."]
        await type_in(app, pilot, "/fix")
        assert "Enter takes" in text_of(app), "it has places for arguments"
        await pilot.press("enter")
        assert app.main.composer.text == "/fix "
        app.main.composer.load("")
        await type_in(app, pilot, "/deploy")
        await pilot.press("tab")
        assert app.main.composer.text == "/deploy ", "a task may stand behind it"


async def test_init_writes_instructions_by_an_edit_that_is_asked_for(tmp_path: Path) -> None:
    write = {"calls": [{"name": "write_file", "arguments": {"path": "AGENTS.md", "content": "Be kind.\n"}}]}
    async with running(tmp_path, scripted([write, {"text": "Done."}])) as (app, pilot):
        await send(app, pilot, "/init and mention the tests")
        await answer(app, pilot, "y")
        await idle(app)
        assert (tmp_path / "work/AGENTS.md").read_text() == "Be kind.\n"
        assert said(app)[0].startswith("Write AGENTS.md for this folder")
        assert said(app)[0].endswith("and mention the tests")


async def test_search_is_switched_and_says_by_whom(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK)) as (app, pilot):
        await send(app, pilot, "/search")
        await until(lambda: "search is on, by DuckDuckGo" in text_of(app))
        await send(app, pilot, "/search exa")
        assert told(app, "Exa needs a key: set EXA_SEARCH_API_KEY")
        assert (app.session.beyond.engine, app.session.beyond.searching) == ("ddg", True)
        again = Session(app.terms(), app.main.asking.ask, fork(app.session.place, tmp_path / "forks", tmp_path))
        assert (again.beyond.engine, again.beyond.searching) == ("ddg", True), "it goes on as it was"
        await send(app, pilot, "/search")
        await until(lambda: "search is off" in text_of(app))
        assert fold.search(app.session.events) == ""
        app.session.log.append(ev.SearchSet("of a newer version"))
        assert not Session(app.terms(), app.main.asking.ask, app.session.place).beyond.searching


async def test_what_was_chosen_of_search_and_intents_holds_in_a_new_session(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK)) as (app, pilot):
        await send(app, pilot, "/search ddg")
        await send(app, pilot, "/intents words")
        old = app.session
        await send(app, pilot, "/new")
        await until(lambda: app.session is not old)
        await until(lambda: "search is on, by DuckDuckGo" in text_of(app))
        assert (app.session.beyond.searching, app.session.beyond.intents) == (True, "words")
        assert fold.search(app.session.events) == "ddg", "it is on when that one goes on"
        await send(app, pilot, "/search off")
        second = app.session
        await send(app, pilot, "/new")
        await until(lambda: app.session is not second)
        assert not app.session.beyond.searching


async def test_the_intent_can_be_switched_off(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK)) as (app, pilot):
        await send(app, pilot, "/intents off")
        await until(lambda: "every message is for the work" in text_of(app))
        await send(app, pilot, "what is the weather?")
        await idle(app)
        assert not [event for event in app.session.events if isinstance(event, ev.Routed)]
        await send(app, pilot, "/intents words")
        assert app.session.beyond.intents == "words"


async def test_what_is_recorded_beside_a_run_is_shown_once_and_in_its_place(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "AGENTS.md").write_text("Be kind.\n")
    async with running(tmp_path, scripted(TALK), words=of_folder(root)) as (app, pilot):
        (root / "AGENTS.md").write_text("Be quick.\n")
        shown: list[object] = []
        show = app.talk._show
        app.talk._show = lambda event: (shown.append(event), show(event))[1]  # type: ignore[method-assign]
        await send(app, pilot, "hello")
        await idle(app)
        durable = [event for event in shown if is_durable(event)]  # type: ignore[arg-type]
        assert durable == app.session.events[-len(durable) :]
        assert next(e.text for e in durable if isinstance(e, ev.Notice)).startswith("AGENTS.md: changed")
        assert sum(isinstance(e, ev.RunEnded) for e in durable) == 1
