"""Undo, redo and receipts in the whole app, by their keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.ui.test_app import answer, idle, running, send, text_of
from tests.waiting import until
from tui_agent.config import settings
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import Author, Model, Request, TextDelta
from tui_agent.providers.scripted import scripted
from tui_agent.ui import receipts
from tui_agent.ui.app import AgentApp
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.undo import UndoScreen, words
from tui_agent.ui.viewer import Viewer
from tui_agent.workspace.receipts import Restore


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def model() -> Model:
    return scripted(
        [
            {
                "text": "",
                "calls": [
                    call("write_file", path="a.txt", content="a1\n"),
                    call("write_file", path="new/n.txt", content="n\n"),
                ],
            },
            {"text": "first done"},
            {
                "text": "",
                "calls": [call("write_file", path="a.txt", content="a2\n"), call("delete_file", path="old.txt")],
            },
            {"text": "second done"},
            {"text": "third answer"},
        ]
    )


async def two_turns(app: AgentApp, pilot: Pilot[int]) -> None:
    for text in ("make it", "change it"):
        await send(app, pilot, text)
        await until(lambda: app.talk.working or bool(app.session.events))
        await idle(app)


async def undo_open(app: AgentApp, pilot: Pilot[int], command: str = "/undo") -> UndoScreen:
    await send(app, pilot, command)
    await until(lambda: isinstance(app.screen, UndoScreen) and bool(app.screen.query_one(OptionList).option_count))
    await pilot.pause(0.05)
    assert isinstance(app.screen, UndoScreen)
    return app.screen


async def closed(app: AgentApp) -> None:
    await until(lambda: app.screen is app.main and not any(w.name == "undo" for w in app.workers))


def noticed(app: AgentApp) -> str:
    return "\n".join(n.message for n in app._notifications)


def tree(root: Path) -> dict[str, str]:
    return {str(p.relative_to(root)): p.read_text() for p in sorted(root.rglob("*")) if p.is_file()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "old.txt").write_text("old\n")
    return folder


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 20)])
async def test_undo_redo_and_what_the_model_is_told(tmp_path: Path, root: Path, size: tuple[int, int]) -> None:
    async with running(tmp_path, model(), size, yes=True) as (app, pilot):
        await two_turns(app, pilot)
        after = tree(root)
        assert after == {"a.txt": "a2\n", "new/n.txt": "n\n"}
        await undo_open(app, pilot)
        assert "change it" in text_of(app)
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert "will be restored" in text_of(app)
        assert "will be there again" in text_of(app)
        assert tree(root) == after
        await pilot.press("u")
        await closed(app)
        assert tree(root) == {"a.txt": "a1\n", "new/n.txt": "n\n", "old.txt": "old\n"}
        assert set(fold.changes(app.session.events)) == {"a.txt", "new/n.txt"}
        await pilot.pause(0.1)
        assert "undone" in text_of(app)

        await undo_open(app, pilot, "/redo")
        await pilot.press("u")
        await closed(app)
        assert tree(root) == after

        await undo_open(app, pilot)
        await pilot.press("down", "enter")  # to before the first message
        await pilot.pause(0.1)
        await pilot.press("u")
        await closed(app)
        assert tree(root) == {"old.txt": "old\n"}
        assert fold.changes(app.session.events) == {}

        await send(app, pilot, "go on")
        await idle(app)
        told = [m.text for m in fold.history(app.session.events)]
        assert (
            "The user undid your changes in: a.txt, new/n.txt, old.txt. Read a file again before you change it." in told
        )


async def test_a_file_that_somebody_changed_since_needs_its_own_yes(tmp_path: Path, root: Path) -> None:
    async with running(tmp_path, model(), yes=True) as (app, pilot):
        await two_turns(app, pilot)
        (root / "a.txt").write_text("mine\n")
        await undo_open(app, pilot)
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert "[ ] a.txt" in text_of(app)
        assert "changed since; y to overwrite" in text_of(app)
        await pilot.press("v")
        await until(lambda: isinstance(app.screen, Viewer))
        await pilot.pause(0.2)
        assert "mine" in text_of(app)
        assert "a1" in text_of(app)
        await pilot.press("escape")
        await pilot.press("enter", "escape")  # Enter shows the difference, and is never a yes
        await pilot.press("u")
        await closed(app)
        assert tree(root)["a.txt"] == "mine\n"
        assert tree(root)["old.txt"] == "old\n"
        await undo_open(app, pilot)
        await pilot.press("enter")
        await pilot.pause(0.1)
        await pilot.press("y")
        await pilot.pause(0.1)
        assert "[x] a.txt" in text_of(app)
        await pilot.press("u")
        await closed(app)
        assert tree(root)["a.txt"] == "a1\n"


async def test_a_change_between_the_look_and_the_key_is_kept(tmp_path: Path, root: Path) -> None:
    async with running(tmp_path, model(), yes=True) as (app, pilot):
        await two_turns(app, pilot)
        await undo_open(app, pilot)
        await pilot.press("enter")
        await pilot.pause(0.1)
        (root / "a.txt").write_text("mine\n")
        await pilot.press("u")
        await closed(app)
        assert tree(root)["a.txt"] == "mine\n"
        (event,) = [e for e in app.session.events if isinstance(e, ev.Undone)]
        assert (event.paths, event.left) == (("old.txt",), ("a.txt",))
        assert noticed(app) == "a.txt was not restored: changed meanwhile"


async def test_leaving_changes_nothing(tmp_path: Path, root: Path) -> None:
    async with running(tmp_path, model(), yes=True) as (app, pilot):
        await two_turns(app, pilot)
        after, events = tree(root), list(app.session.events)
        await undo_open(app, pilot)
        await pilot.press("enter")
        await pilot.pause(0.1)
        await pilot.press("space", "enter")
        await until(lambda: isinstance(app.screen, Viewer))
        await pilot.press("escape", "escape", "escape")
        await closed(app)
        await undo_open(app, pilot)
        await pilot.press("u", "y", "ctrl+c")  # there is no plan yet
        await closed(app)
        assert (tree(root), app.session.events) == (after, events)


async def test_nothing_to_undo_is_said(tmp_path: Path, root: Path) -> None:
    async with running(tmp_path, scripted([{"text": "hello"}])) as (app, pilot):
        await send(app, pilot, "/undo")
        await until(lambda: "nothing to undo" in noticed(app))
        await send(app, pilot, "/redo")
        await until(lambda: "nothing to redo" in noticed(app))
        await send(app, pilot, "/receipts")
        await until(lambda: "There are no receipts yet" in text_of(app))


async def test_undo_waits_for_the_end_of_the_turn_and_works_after_an_interrupt(tmp_path: Path, root: Path) -> None:
    write = scripted([{"text": "", "calls": [call("write_file", path="a.txt", content="a1\n")]}])

    async def stream(request: Request) -> AsyncIterator[Any]:
        if len(request.messages) == 1:
            async for delta in write.stream(request):
                yield delta
            return
        yield TextDelta("and now ")
        await asyncio.Event().wait()

    async with running(tmp_path, Model(Author("t", "t", "t"), stream), yes=True) as (app, pilot):
        await send(app, pilot, "go")
        await until(lambda: (root / "a.txt").exists() and app.talk.phase.name == "streaming")
        await send(app, pilot, "/undo")
        await until(lambda: "Stop it first" in noticed(app))
        assert app.screen is app.main
        await app.talk.stop()
        await undo_open(app, pilot)
        await pilot.press("enter")
        await pilot.pause(0.1)
        await pilot.press("u")
        await closed(app)
        assert tree(root) == {"old.txt": "old\n"}


async def test_receipts_show_what_was_done(tmp_path: Path, root: Path) -> None:
    async with running(tmp_path, model(), yes=True) as (app, pilot):
        await two_turns(app, pilot)
        await send(app, pilot, "/receipts")
        await until(lambda: isinstance(app.screen, Viewer))
        await pilot.pause(0.2)
        shown = text_of(app)
        for text in ("delete_file  old.txt", "write_file  new/n.txt", "no file → ", "+1 -0", "by flag: --yes"):
            assert text in shown
        for receipt in fold.receipts(app.session.events):
            assert receipt.id in shown
        await pilot.press("escape")
        assert app.screen is app.main


def test_a_receipt_of_a_command_names_its_words_its_end_and_its_files() -> None:
    from tui_agent.core.receipt import FileChange

    ran = Receipt(
        "r1", "c", "run_command", {"argv": ["sed", "-i", "a\x1b[31mb", "x y"]}, exit_code=2, duration=1.25, by="key",
        changed=(FileChange("a.txt", "1" * 64, None), FileChange("b\n.txt", "", "git:" + "2" * 40)),
    )  # fmt: skip
    text = ["".join(piece for piece, _ in line.pieces) for line in receipts.lines([ran])]
    assert text == [
        "run_command  sed -i 'a<ESC>[31mb' 'x y'",
        "    r1   exit 2   1.2s   by key",
        "    changed  a.txt  1111111111 → no file",
        "    changed  b<LF>.txt  unknown → 2222222222",
    ]


def test_every_state_has_its_words() -> None:
    said = {
        state: words(Restore("a", "1", "2", state), "y", chosen=False)
        for state in ("ready", "same", "changed", "lost", "command")
    }
    assert len(set(said.values())) == 5
    assert "cannot be restored" in said["lost"]
    assert "cannot be restored" in said["command"]
    assert words(Restore("a", "1", "2", "link"), "y", chosen=False) == "cannot be restored: now a link"
    assert words(Restore("a", None, "2", "link"), "y", chosen=False) == "stays: a link"
    assert words(Restore("a", None, "2", "ready"), "y", chosen=True) == "will be deleted: was not there"


@pytest.mark.parametrize("state", ["changed", "unsure"])
def test_what_asks_says_whether_a_file_is_overwritten_deleted_or_comes_back(state: Any) -> None:
    steps = {"overwrite": ("1", "2"), "delete": (None, "2"), "restore": ("1", None)}
    for verb, (target, now) in steps.items():
        step = Restore("a", target, now, state)
        assert words(step, "y", chosen=False).endswith(f"; y to {verb}")
        assert words(step, "y", chosen=True).startswith({"restore": "will be there again"}.get(verb, f"{verb}s "))


async def test_a_file_that_agents_read_as_instructions_is_named_in_the_dialog(tmp_path: Path, root: Path) -> None:
    write = {"text": "Short reason.", "calls": [call("write_file", path="AGENTS.md", content="x\n")]}
    async with running(tmp_path, scripted([write, {"text": "done"}])) as (app, pilot):
        await send(app, pilot, "go")
        await until(lambda: isinstance(app.screen, ApprovalScreen))
        await pilot.pause(0.2)
        shown = text_of(app)
        assert "look closely:   agents read this file as instructions" in shown
        assert "model: Short reason." in shown
        await answer(app, pilot, "n")
        await pilot.press("enter")
        await idle(app)


@pytest.mark.parametrize(("yes", "by"), [(False, "rule: your check for this folder"), (True, "key")])
async def test_the_check_leaves_a_receipt_with_who_approved(tmp_path: Path, root: Path, yes: bool, by: str) -> None:
    write = {"text": "", "calls": [call("write_file", path="a.txt", content="x\n")]}
    table = {"checks": {str(root): ["ls", "a.txt"]}, "permissions": {"sandbox": "none"}}
    async with running(tmp_path, scripted([write, {"text": "done"}]), settings=settings(table), yes=yes) as (
        app,
        pilot,
    ):
        await send(app, pilot, "go")
        await answer(app, pilot, "y")  # the edit, or with --yes the check that would run code nobody saw
        await idle(app)
        (check,) = [r for r in fold.receipts(app.session.events) if r.tool == "check"]
        assert (check.arguments, check.exit_code, check.by) == ({"argv": ["ls", "a.txt"]}, 0, by)
        assert check.duration > 0
        assert len({r.id for r in fold.receipts(app.session.events)}) == 2
