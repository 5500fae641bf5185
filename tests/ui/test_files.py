"""The keys of the files: look, add to the message, mark, filter, copy; ignore files and marks in the whole app."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.repository import git
from tests.ui.test_app import idle, running, text_of
from tests.ui.test_tree import rows, settle
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import ToolCall
from tui_agent.providers.scripted import scripted
from tui_agent.tools.walk import Ignores
from tui_agent.tools.walk import files as walked
from tui_agent.ui.files import matching
from tui_agent.ui.tree import PAGE, FileTree
from tui_agent.ui.viewer import Viewer


@asynccontextmanager
async def with_files(tmp_path: Path) -> AsyncIterator[tuple[Any, Any, FileTree]]:
    root = tmp_path / "work"
    for name in ("src/deep", "build", "docs"):
        (root / name).mkdir(parents=True)
    for name in ("src/lexer.py", "src/deep/two words.py", "build/out.o", "docs/a.md", "b.py", "secret.log"):
        (root / name).write_text(f"text of {name}\n")
    (root / ".gitignore").write_text("build/\n*.log\n")
    async with running(tmp_path, scripted([]), trusted=True) as (app, pilot):
        tree = app.main._side.files
        tree.focus()
        await settle(app, pilot)
        yield app, pilot, tree


async def test_ignore_files_count_and_can_be_asked_past(tmp_path: Path) -> None:
    async with with_files(tmp_path) as (app, pilot, tree):
        assert rows(tree) == ["▸ docs", "▸ src", "  .gitignore", "  b.py"]
        await pilot.press("full_stop")
        await settle(app, pilot)
        assert {"▸ build", "  secret.log"} < set(rows(tree))


async def test_enter_looks_at_a_file(tmp_path: Path) -> None:
    async with with_files(tmp_path) as (app, pilot, _tree):
        await pilot.press("end", "enter")
        await until(lambda: isinstance(app.screen, Viewer))
        await pilot.pause(0.1)
        shown = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "text of b.py" in shown
        await pilot.press("escape")
        assert app.main.composer.text == ""


async def test_what_is_marked_goes_into_the_message_in_its_order(tmp_path: Path) -> None:
    async with with_files(tmp_path) as (app, pilot, tree):
        await pilot.press("end", "space", "down", "down", "right")
        await settle(app, pilot)
        tree.picked["src/deep/two words.py"] = None
        await pilot.press("home", "space")
        assert rows(tree)[0] == "▸›docs"
        await pilot.press("@")
        assert app.main.composer.text == '@b.py @"src/deep/two words.py" @docs '
        assert app.main.composer.has_focus
        assert tree.picked == {}


async def test_one_key_adds_what_is_under_the_cursor_and_one_copies_it(tmp_path: Path) -> None:
    async with with_files(tmp_path) as (app, pilot, tree):
        await pilot.press("end", "y", "@")
        assert app.clipboard == "b.py"
        assert app.main.composer.text == "@b.py "
        tree.picked["two\nlines"] = None
        app.main.files.add("")
        assert app.main.composer.text == "@b.py "


async def test_a_filter_shows_whole_paths_and_esc_ends_it(tmp_path: Path) -> None:
    async with with_files(tmp_path) as (app, pilot, tree):
        await pilot.press("/", *"SRC py", "enter")
        await until(lambda: tree.filtered)
        await settle(app, pilot)
        assert rows(tree) == ["  src/lexer.py", "  src/deep/two words.py"]
        assert "FILES  with SRC py" in text_of(app)
        await pilot.press("escape")
        await settle(app, pilot)
        assert rows(tree)[0] == "▸ docs"
        assert "with SRC py" not in text_of(app)
        assert app.main.pane == "files"


async def test_what_the_agent_changed_is_marked_and_can_be_shown_alone(tmp_path: Path) -> None:
    async with with_files(tmp_path) as (app, pilot, tree):
        receipt = Receipt("r", "c", "edit_file", {}, "src/lexer.py", "a", "b", by="key", added=1, removed=1)
        call = ToolCall("c", "edit_file", {"path": "src/lexer.py"})
        app.session.log.append(ev.ToolDone(call, "applied", "ok", "", "edit src/lexer.py", receipt))
        app.talk.catch_up()
        await settle(app, pilot)
        assert "▸ src ±1" in rows(tree)
        await pilot.press("c")
        await settle(app, pilot)
        assert rows(tree) == ["M src/lexer.py *"]
        assert "FILES  changed" in text_of(app)
        await pilot.press("c")
        await settle(app, pilot)
        assert "▸ src ±1" in rows(tree)


async def test_what_a_filter_leaves_out_is_counted(tmp_path: Path) -> None:
    async with with_files(tmp_path) as (app, pilot, tree):
        tree.show_only(f"many/{number:05}" for number in range(PAGE + 7))
        await until(lambda: tree.root.children and tree.root.children[-1].data.shown == "… 7 more")
        assert len(tree.root.children) == PAGE + 1
        await pilot.press("end", "@")
        assert app.main.composer.text == ""


async def test_a_page_of_files_goes_when_something_comes_of_it(tmp_path: Path) -> None:
    """Where it covers the transcript nobody would see what is answered; beside the transcript it stays."""
    for size, covers in (((40, 20), True), ((79, 24), True), ((80, 24), False)):
        async with running(tmp_path, scripted([{"text": "an answer"}]), size) as (app, pilot):
            (tmp_path / "work" / "b.py").write_text("x")
            await pilot.press("ctrl+t")
            tree = app.main._side.files
            await until(lambda: tree.has_focus and tree.selected_path == "b.py")  # noqa: B023
            await pilot.press("@")
            assert app.main.composer.text == "@b.py "
            assert tree.is_on_screen is not covers
            if not tree.is_on_screen:
                await pilot.press("ctrl+t", "tab")
                app.main.composer.focus()
                assert tree.is_on_screen
            await pilot.press("enter")
            await idle(app)
            await until(lambda: "an answer" in text_of(app))
            assert tree.is_on_screen is not covers


async def test_what_files_cover_has_nothing_below(tmp_path: Path) -> None:
    lines = "\n\n".join(f"line {n}" for n in range(60))
    async with running(tmp_path, scripted([{"text": lines}]), (40, 20)) as (app, pilot):
        app.talk.send("go")
        await until(lambda: not app.talk.working and app.main.transcript.scroll_offset.y > 0)
        await pilot.press("ctrl+home")
        await until(lambda: app.main._footer.state.below > 0)
        below = app.main._footer.state.below
        await pilot.press("ctrl+t")
        await until(lambda: app.main._footer.state.below == 0 and app.main._side.files.is_on_screen)
        await pilot.press("ctrl+t")
        await until(lambda: app.main._footer.state.below == below)


async def test_each_pane_has_a_key_that_leads_to_it(tmp_path: Path) -> None:
    for size in ((40, 20), (80, 24), (120, 40)):
        async with running(tmp_path, scripted([]), size) as (app, pilot):
            app.main.composer.load("a draft stays")
            for key, pane in (("3", "files"), ("2", "transcript"), ("3", "files"), ("1", ""), ("2", "transcript")):
                await pilot.press("ctrl+x", key)
                await until(lambda: app.screen is app.main and app.main.pane == pane)  # noqa: B023
                assert app.main.focused.is_on_screen
            assert app.main.composer.text == "a draft stays"


def test_matching(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "Big.txt").touch()
    (tmp_path / "a" / "big").mkdir()
    (tmp_path / "a" / "big" / "t").touch()
    assert matching(str(tmp_path), ["big", "a/"]) == ["a/Big.txt", "a/big/t"]
    assert matching(str(tmp_path), ["bgx"]) == ["a/Big.txt"], "letters in their order, as behind an @"
    assert matching(str(tmp_path), ["none"]) == []
    assert matching(str(tmp_path / "gone"), ["a"]) == []


lines = st.lists(st.sampled_from(["*.o", "/a", "a/", "!b.o", "b", "a/b.o", "**/b"]), max_size=4)


@given(lines, lines)
def test_what_is_ignored_folder_by_folder_is_what_a_walk_leaves_out(
    tmp_path_factory: Any, top: Any, below: Any
) -> None:
    root = tmp_path_factory.mktemp("ignores")
    for path in ("a/b.o", "a/c.o", "b/a/d", "b/b.o", "b.o", "c"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    (root / ".gitignore").write_text("\n".join(top))
    (root / "b" / ".gitignore").write_text("\n".join(below))
    ignores = Ignores(str(root))

    def seen(folder: str) -> set[str]:
        found: set[str] = set()
        for item in (root / folder).iterdir():
            path = f"{folder}{item.name}" + "/" * item.is_dir()
            if not ignores(path):
                found |= seen(path) if item.is_dir() else {path}
        return found

    assert seen("") == {path for path, _ in walked(str(root))}


async def test_what_git_says_is_marked_too_and_what_the_session_did_has_a_star(tmp_path: Path) -> None:
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    for name in ("src/mine.py", "src/both.py", "same.py", "gone.py"):
        (root / name).write_text("one\n")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        git(root, *words)
    (root / "src" / "mine.py").write_text("two\n")
    (root / "gone.py").unlink()
    async with running(tmp_path, scripted([]), trusted=True) as (app, pilot):
        tree = app.main._side.files
        tree.focus()
        await until(lambda: "D gone.py" in rows(tree))
        assert rows(tree) == ["▸ src ±1", "  same.py", "D gone.py"]
        for name, before in (("src/both.py", "a"), ("new.py", None)):
            (root / name).write_text("two\n")
            receipt = Receipt(name, "c", "write_file", {}, name, before, "b", by="key", added=1, removed=1)
            call = ToolCall("c", "write_file", {"path": name})
            app.session.log.append(ev.ToolDone(call, "applied", "ok", "", f"write {name}", receipt))
        app.talk.catch_up()
        await settle(app, pilot)
        await pilot.press("home", "right")
        await until(lambda: "  M both.py *" in rows(tree) and "A new.py *" in rows(tree))
        assert rows(tree) == ["▾ src", "  M both.py *", "  M mine.py", "A new.py *", "  same.py", "D gone.py"]
        git(root, "commit", "-qam", "mine")
        await pilot.press("R")
        await until(lambda: "    mine.py" in rows(tree))
        assert "  M both.py *" in rows(tree), "what the session did stays marked after a commit"
