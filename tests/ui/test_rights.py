"""Mode AUTO, the list of rules, one more and taking it back, by their commands and keys."""

from __future__ import annotations

from pathlib import Path

from tests.ui.test_app import answer, idle, running, send, text_of, until
from tui_agent.config import Settings
from tui_agent.providers.scripted import scripted
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.palette import Palette

TALK = [{"text": "x"}] * 3


async def test_auto_needs_the_word_yes_and_is_loud(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK)) as (app, pilot):
        works = (await app.session.commands.ready()).kind != "none"
        await send(app, pilot, "/auto")
        assert app.session.mode.name == "ask"
        await send(app, pilot, "yes")
        if not works:
            await until(lambda: "needs a sandbox" in text_of(app))
            return
        await until(lambda: app.main.header.mode == "AUTO")
        assert app.main._header.has_class("-auto")
        await pilot.pause()
        assert "AUTO" in text_of(app).splitlines()[0]
        await pilot.press("shift+tab")
        assert app.session.mode.name == "ask"
        assert not app.main._header.has_class("-auto")


async def test_any_other_message_is_no_yes(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK)) as (app, pilot):
        for word in ("Yes, please", "/files"):
            await send(app, pilot, "/auto")
            await send(app, pilot, word)
            await until(lambda: not app.talk.working)
            await send(app, pilot, "yes")  # too late: it is a message now
            await until(lambda: not app.talk.working)
            assert app.session.mode.name == "ask"
        assert app.main.confirmed is None


async def test_where_there_is_no_sandbox_auto_says_why(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK), settings=Settings(sandbox="none")) as (app, pilot):
        await send(app, pilot, "/auto")
        await send(app, pilot, "yes")
        await until(lambda: "Not entered: mode AUTO needs a sandbox" in text_of(app))
        assert app.session.mode.name == "ask"


async def test_a_rule_is_added_listed_and_taken_back(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK)) as (app, pilot):
        await send(app, pilot, "/allow-cmd git log")
        assert "git log" in app.session.workspace.permissions.allow
        await send(app, pilot, "/allow-cmd --folder make lint")
        assert "make lint" in (tmp_path / "user/data/rules.toml").read_text()
        await until(lambda: "it does not match" in text_of(app))
        await send(app, pilot, "/allow-cmd sudo ls")
        assert "sudo ls" not in app.session.workspace.permissions.allow
        await send(app, pilot, "/permissions")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.pause()
        shown = text_of(app)
        assert "THIS SESSION" in shown
        assert "allow  git log" in shown
        assert "not used yet" in shown
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, Palette) and "Take it back" in text_of(app))
        await pilot.press("down", "enter")
        await until(lambda: "git log" not in app.session.workspace.permissions.allow)
        assert "make lint" in app.session.workspace.permissions.allow


async def test_enter_enter_keeps_a_rule(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK)) as (app, pilot):
        await send(app, pilot, "/allow-cmd git log")
        await send(app, pilot, "/permissions")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.press("enter")
        await until(lambda: "Take it back" in text_of(app))
        await pilot.press("enter")
        await until(lambda: not isinstance(app.screen, Palette))
        assert "git log" in app.session.workspace.permissions.allow


async def test_policy_test_names_the_rule(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK)) as (app, pilot):
        await send(app, pilot, "/policy test git push")
        await until(lambda: "table: git = ask" in text_of(app) or "table: network = ask" in text_of(app))
        await send(app, pilot, "/policy")
        await until(lambda: any("/policy test CALL" in n.message for n in app._notifications))


async def test_the_question_says_in_which_sandbox_the_command_will_run(tmp_path: Path) -> None:
    call = {"calls": [{"name": "run_command", "arguments": {"argv": ["true"]}}]}
    for choice in ("auto", "none"):
        async with running(tmp_path, scripted([call, *TALK]), settings=Settings(sandbox=choice)) as (app, pilot):
            await send(app, pilot, "go")
            await until(lambda app=app: isinstance(app.screen, ApprovalScreen) and "run" in text_of(app))
            await pilot.pause()
            words = app.session.commands.words() or "not sandboxed"
            assert words in text_of(app)
            assert (words == "not sandboxed") is not app.session.commands.working
            await answer(app, pilot, "n")
            await pilot.press("enter")
            await idle(app)
