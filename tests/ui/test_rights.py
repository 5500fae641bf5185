"""Mode AUTO, the list of rules, one more and taking it back, by their commands and keys."""

from __future__ import annotations

from pathlib import Path

from tests.ui.test_app import answer, idle, running, send, text_of
from tests.waiting import until
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.providers.scripted import scripted
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.palette import Palette

TALK = [{"text": "x"}] * 3


async def test_auto_needs_the_word_yes_and_is_loud(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK)) as (app, pilot):
        works = (await app.session.commands.ready()).kind != "none"
        await send(app, pilot, "/auto anyway")
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
            await send(app, pilot, "/auto anyway")
            await send(app, pilot, word)
            await until(lambda: not app.talk.working)
            await send(app, pilot, "yes")  # too late: it is a message now
            await until(lambda: not app.talk.working)
            assert app.session.mode.name == "ask"
        assert app.main.sending.confirmed is None


async def test_where_there_is_no_sandbox_auto_says_why(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK), settings=Settings(sandbox="none")) as (app, pilot):
        await send(app, pilot, "/auto anyway")
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
        await send(app, pilot, "/allow-cmd --unsandboxed make check")
        assert app.session.rules.free(("make", "check"))
        await send(app, pilot, "/allow-cmd --unsandboxed npm test")
        assert len(app.session.rules.unsandboxed) == 1
        await send(app, pilot, "/permissions")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.pause()
        shown = text_of(app)
        assert "THIS SESSION" in shown
        assert "not sandboxed  make check" in shown
        assert "allow  git log" in shown
        assert "not used yet" in shown
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, Palette) and "Take it back" in text_of(app))
        await pilot.press("down", "enter")
        await until(lambda: "git log" not in app.session.workspace.permissions.allow)
        assert "make lint" in app.session.workspace.permissions.allow


async def test_a_rule_that_does_not_count_here_is_not_said_to_be_enough(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK), trusted=False) as (app, pilot):
        await send(app, pilot, "/allow-cmd git log")
        await until(lambda: "it is asked all the same: floor: the folder is not trusted" in text_of(app))
        await send(app, pilot, "/allow-cmd write:docs/")
        await until(lambda: "it does not match: write_file docs.other" in text_of(app))
        await pilot.pause()
        assert text_of(app).count("all the same") == 1
        await send(app, pilot, "/mode read")
        await send(app, pilot, "/allow-cmd write:src/")
        await until(lambda: "it is refused all the same: table: write = deny" in text_of(app))


async def test_allow_cmd_offers_the_exact_rule_and_the_wider_one(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK)) as (app, pilot):
        await send(app, pilot, "/allow-cmd git diff main")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.pause()
        shown = text_of(app)
        assert shown.index("git diff main") < shown.index("matches: git diff main")
        assert "not: git diff --output=x" in shown
        assert "git diff main" not in app.session.rules.session
        await pilot.press("enter")
        await until(lambda: "git diff main" in app.session.rules.session)
        await send(app, pilot, "/allow-cmd pytest -q")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.press("escape")
        await until(lambda: not isinstance(app.screen, Palette))
        assert app.session.rules.session == ("git diff main",)


async def test_a_folder_is_allowed_by_its_path(tmp_path: Path) -> None:
    async with running(tmp_path, scripted(TALK)) as (app, pilot):
        await send(app, pilot, "/allow-cmd --folder write:src/")
        await until(lambda: "it does not match: write_file src.other" in text_of(app))
        assert app.session.rules.folder == ("write:src/",)
        await send(app, pilot, "/allow-cmd --unsandboxed write:src/")
        assert app.session.rules.unsandboxed == ()
        await send(app, pilot, "/policy test delete_file src/a.py")
        await until(lambda: "the rule write:src/ is not for deleting" in text_of(app))


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
            words = app.session.commands.where(("true",))
            assert words in text_of(app)
            assert (words == "not sandboxed") is not app.session.commands.working
            await answer(app, pilot, "n")
            await pilot.press("enter")
            await idle(app)


WRITES = [
    {"name": "write_file", "arguments": {"path": path, "content": "x\n"}} for path in ("src/a.py", "src/b.py", "c.py")
]
TESTS = {"name": "run_command", "arguments": {"argv": ["pytest"]}}


async def test_a_rule_chosen_for_one_request_answers_the_others_that_it_covers(tmp_path: Path) -> None:
    model = scripted([{"text": "work", "calls": [*WRITES, TESTS]}, {"text": "done"}])
    async with running(tmp_path, model, settings=Settings(sandbox="none")) as (app, pilot):
        app.session.rules.add("pytest")
        await send(app, pilot, "work")
        for key in ("a", "a", "y"):  # the folder's rule
            await answer(app, pilot, key)
        await until(lambda: "c.py" in text_of(app) and "3/3" in text_of(app))
        await answer(app, pilot, "y")
        await until(lambda: "Run this command?" in text_of(app))  # it may run src/b.py, which nobody saw
        assert not (tmp_path / "work/src").exists()
        await answer(app, pilot, "s")
        await pilot.press("enter")
        await idle(app)
        assert sorted(path.name for path in (tmp_path / "work").rglob("*.py")) == ["a.py", "b.py", "c.py"]
        given = [(event.answer, event.by) for event in app.session.events if isinstance(event, ev.Answered)]
        assert given == [("yes", "key"), ("yes", "allow pattern: write:src/"), ("yes", "key"), ("skip", "key")]


async def test_after_a_stop_nothing_more_is_asked(tmp_path: Path) -> None:
    model = scripted([{"text": "work", "calls": [*WRITES, TESTS]}, {"text": "done"}])
    async with running(tmp_path, model, settings=Settings(sandbox="none")) as (app, pilot):
        app.session.rules.add("pytest")
        await send(app, pilot, "work")
        for key in ("a", "a", "y", "escape"):
            await answer(app, pilot, key)
        await idle(app)
        assert not isinstance(app.screen, ApprovalScreen)
        asked = [event.tool for event in app.session.events if isinstance(event, ev.Asked)]
        assert asked == ["write_file"] * 3


async def test_in_a_folder_that_is_not_trusted_no_rule_for_a_command_is_offered(tmp_path: Path) -> None:
    call = {"name": "run_command", "arguments": {"argv": ["pytest", "-x"]}}
    model = scripted([{"text": "I test.", "calls": [call]}, {"text": "done"}])
    async with running(tmp_path, model, trusted=False) as (app, pilot):
        await send(app, pilot, "work")
        await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
        assert "the folder is not trusted" in " ".join(text_of(app).split())
        assert "allow…" not in text_of(app)
        await pilot.press("escape")
        await idle(app)
