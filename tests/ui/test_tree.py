"""The file tree: what it lists, what it follows, what it marks, and how it is driven."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from pathlib import Path

import pytest
from textual.app import App

from tui_agent.ui import tree as tree_module
from tui_agent.ui.tree import FileTree, list_folder

STYLES = Path(__file__).parents[2] / "styles" / "tree.tcss"


class Shelf(App):
    """A file tree and nothing else, keeping what was chosen."""

    CSS_PATH = STYLES
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, root: Path, **options) -> None:
        super().__init__()
        self.files = FileTree(root, **options)
        self.chosen: list[str] = []

    def compose(self):
        yield self.files

    def on_file_tree_chosen(self, message: FileTree.Chosen) -> None:
        self.chosen.append(message.path)


async def settle(app: App, pilot) -> None:
    """Wait until every folder was read."""
    await pilot.pause()
    await app.workers.wait_for_complete()
    await pilot.pause()


@contextlib.asynccontextmanager
async def shelf(root: Path, size=(60, 30), **options):
    app = Shelf(root, **options)
    async with app.run_test(size=size) as pilot:
        app.files.focus()
        await settle(app, pilot)
        yield app, pilot, app.files


def rows(tree: FileTree) -> list[str]:
    return [line for y in range(tree.size.height) if (line := tree.render_line(y).text.rstrip())]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in ("src/deep", "docs", "node_modules/x", ".git/objects", "__pycache__", ".mypy_cache"):
        (root / name).mkdir(parents=True)
    for name in ("b.py", "A.py", ".env", "b.py~", "#b.py#", "src/lexer.py", "src/parser.py", "src/deep/x.py"):
        (root / name).write_text("x")
    return root


async def test_folders_first_noise_hidden_dotfiles_shown(project):
    async with shelf(project) as (_, _pilot, tree):
        assert rows(tree) == ["▸ docs", "▸ node_modules", "▸ src", "  .env", "  A.py", "  b.py"]


async def test_the_first_key_says_something_of_the_first_line(project):
    async with shelf(project) as (app, pilot, files):
        assert files.selected_path == "docs"
        await pilot.press("enter")
        await settle(app, pilot)
        assert files.get_node_at_line(0).is_expanded
        files.show_only(["src/parser.py"])
        await settle(app, pilot)
        assert files.selected_path == "src/parser.py"


async def test_noise_is_shown_on_request_but_never_git(project):
    async with shelf(project) as (app, pilot, tree):
        await pilot.press("full_stop")
        await settle(app, pilot)
        assert {"▸ __pycache__", "▸ .mypy_cache", "  b.py~", "  #b.py#"} < set(rows(tree))
        assert not any(".git" in row for row in rows(tree))
        await pilot.press("full_stop")
        await settle(app, pilot)
        assert rows(tree) == ["▸ docs", "▸ node_modules", "▸ src", "  .env", "  A.py", "  b.py"]


async def test_ignored_paths_are_left_out(project):
    seen = []

    def ignored(path: str) -> bool:
        seen.append(path)
        return path in {"docs/", "src/lexer.py"}

    async with shelf(project, ignored=ignored) as (app, pilot, tree):
        await pilot.press("down", "right")
        await settle(app, pilot)
        assert rows(tree) == ["▸ node_modules", "▾ src", "  ▸ deep", "    parser.py", "  .env", "  A.py", "  b.py"]
        assert "src/deep/" in seen


async def test_a_folder_is_read_when_it_is_opened(project):
    async with shelf(project) as (app, pilot, tree):
        src = tree.root.children[2]
        assert len(src.children) == 0
        await pilot.press("down", "down", "enter")
        await settle(app, pilot)
        assert rows(tree)[2:6] == ["▾ src", "  ▸ deep", "    lexer.py", "    parser.py"]
        assert app.chosen == []
        await pilot.press("down", "down", "enter")
        assert app.chosen == ["src/lexer.py"]
        assert tree.selected_path == "src/lexer.py"


async def test_letters_and_arrows_walk(project):
    async with shelf(project) as (app, pilot, tree):
        await pilot.press("j", "j", "l")
        await settle(app, pilot)
        await pilot.press("l")
        assert tree.selected_path == "src/deep"
        await pilot.press("h")
        assert tree.selected_path == "src"
        await pilot.press("left", "k")
        assert rows(tree)[2] == "▸ src"
        assert tree.selected_path == "node_modules"
        await pilot.press("h", "end", "l")
        assert tree.selected_path == "b.py"


async def test_marks(project):
    async with shelf(project) as (app, pilot, tree):
        tree.mark_changed({"A.py": "A", "b.py": "M*", "src/parser.py": "M", "src/gone.py": "D", "top.py": "D"})
        await settle(app, pilot)
        assert rows(tree) == ["▸ docs", "▸ node_modules", "▸ src ±2", "  .env", "A A.py", "M b.py *", "D top.py"]
        tree.root.children[2].expand()
        await settle(app, pilot)
        assert rows(tree)[2:7] == ["▾ src", "  ▸ deep", "    lexer.py", "  M parser.py", "  D gone.py"]
        tree.mark_changed({})
        await settle(app, pilot)
        assert rows(tree)[2:6] == ["▾ src", "  ▸ deep", "    lexer.py", "    parser.py"]
        assert "  top.py" not in rows(tree)


async def test_a_marked_new_file_appears(project):
    async with shelf(project) as (app, pilot, tree):
        (project / "new.py").write_text("x")
        tree.mark_changed({"new.py": "A*"})
        await settle(app, pilot)
        assert rows(tree)[-1] == "A new.py *"


async def test_reload_keeps_what_is_open_and_where_the_cursor_is(project):
    async with shelf(project) as (app, pilot, tree):
        tree.root.children[2].expand()
        await settle(app, pilot)
        await pilot.press(*["down"] * 4)
        assert tree.selected_path == "src/lexer.py"
        (project / "src" / "aaa.py").write_text("x")
        (project / "A.py").unlink()
        (project / "docs").rmdir()
        tree.reload()
        await settle(app, pilot)
        assert rows(tree) == [
            *("▸ node_modules", "▾ src", "  ▸ deep", "    aaa.py", "    lexer.py", "    parser.py"),
            *("  .env", "  b.py"),
        ]
        assert tree.selected_path == "src/lexer.py"


async def test_focus_reads_again(project):
    async with shelf(project) as (app, pilot, tree):
        app.set_focus(None)
        (project / "z.py").write_text("x")
        tree.focus()
        await settle(app, pilot)
        assert rows(tree)[-1] == "  z.py"


@pytest.mark.parametrize("name", ["x" * 200 + ".py", "漢字" * 60, "👩‍👩‍👧" * 30, "a" * 27 + "\x1b[2J"])
@pytest.mark.parametrize("depth", [0, 1, 3])
async def test_a_name_that_is_too_long_says_so(tmp_path, name, depth):
    folder = tmp_path.joinpath(*"abc"[:depth])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name.encode()[:250].decode(errors="ignore")).touch()
    async with shelf(tmp_path, size=(30, 12)) as (app, pilot, tree):
        for _ in range(depth):
            await pilot.press("down", "right")
            await settle(app, pilot)
        strips = [tree.render_line(y) for y in range(depth + 1)]
        assert strips[-1].text.rstrip().endswith("…")
        assert {strip.cell_length for strip in strips} == {30}


async def test_names_cannot_act(project):
    for name in ("[red]x[bold]", "a\x1b[31mb", "r\u202egpj.exe", "two\nlines", "[@click=app.quit]q"):
        (project / name).write_text("x")
    os.close(os.open(os.fsencode(project) + b"/bad\xff.txt", os.O_CREAT | os.O_WRONLY))
    async with shelf(project) as (app, pilot, tree):
        shown = "".join(rows(tree))
        assert "[red]x[bold]" in shown
        assert "[@click=app.quit]q" in shown
        assert not {"\x1b", "\u202e", "\n", "\udcff"} & set(shown)
        shown.encode()
        await pilot.press("end", "up")
        while tree.selected_path != "bad\udcff.txt":
            await pilot.press("up")
        await pilot.press("enter")
        assert app.chosen == ["bad\udcff.txt"]


async def test_an_unreadable_folder_says_why(project, monkeypatch):
    def fails(path):
        raise PermissionError(13, "Permission denied")

    async with shelf(project) as (app, pilot, tree):
        monkeypatch.setattr(tree_module.os, "scandir", fails)
        tree.root.children[0].expand()
        await settle(app, pilot)
        assert rows(tree)[:2] == ["▾ docs", "    Permission denied"]
        await pilot.press("down", "enter")
        assert app.chosen == []
        assert tree.selected_path is None


async def test_a_vanished_folder_says_so(project):
    async with shelf(project) as (app, pilot, tree):
        (project / "docs").rmdir()
        tree.root.children[0].expand()
        await settle(app, pilot)
        assert rows(tree)[:2] == ["▾ docs", "    No such file or directory"]


async def test_big_folders_are_shown_in_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(tree_module, "PAGE", 10)
    monkeypatch.setattr(tree_module, "BATCH", 3)
    for number in range(25):
        (tmp_path / f"f{number:02}").touch()
    async with shelf(tmp_path) as (app, pilot, tree):
        assert rows(tree) == [*(f"  f{n:02}" for n in range(10)), "  … 15 more"]
        await pilot.press("end", "enter")
        await settle(app, pilot)
        assert rows(tree) == ["  … 10 before", *(f"  f{n:02}" for n in range(10, 20)), "  … 5 more"]
        await pilot.press("end", "enter")
        await settle(app, pilot)
        assert rows(tree) == ["  … 20 before", *(f"  f{n:02}" for n in range(20, 25))]
        assert app.chosen == []
        tree.move_cursor(tree.root.children[0])
        await pilot.press("enter")
        await settle(app, pilot)
        assert rows(tree)[1] == "  f10"


async def test_other_work_gets_its_turn_while_a_big_folder_is_filled(tmp_path):
    for number in range(1_000):
        (tmp_path / f"f{number}").touch()
    async with shelf(tmp_path) as (_, _pilot, tree):
        await tree._show(tree.root, [])
        entries = list_folder(tmp_path, "")
        sizes = []

        async def look() -> None:
            while len(tree.root.children) < len(entries):
                sizes.append(len(tree.root.children))
                await asyncio.sleep(0)

        looking = asyncio.create_task(look())
        await tree._show(tree.root, entries)
        await looking
        assert max(later - earlier for earlier, later in itertools.pairwise(sizes)) <= tree_module.BATCH


# ------------------------------------------------------------------ links


def kinds(root: Path, path: str = "") -> dict[str, str]:
    return {entry.path: entry.kind for entry in list_folder(root, path)}


def test_links_are_followed_inside_only(tmp_path):
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (root / "in").symlink_to("a")
    (root / "out").symlink_to("../outside")
    (root / "abs").symlink_to(tmp_path / "outside")
    (root / "rootlike").symlink_to(tmp_path / "root-other")
    (root / "file").symlink_to("a/missing")
    (root / "self").symlink_to("self")
    (root / "here").symlink_to(".")
    (root / "a" / "up").symlink_to("..")
    (root / "a" / "b" / "top").symlink_to("..")
    assert kinds(root) == {
        "a": "folder",
        "in": "folder",
        **dict.fromkeys(("abs", "file", "here", "out", "rootlike", "self"), "link"),
    }
    assert kinds(root, "in") == {"in/b": "folder", "in/up": "link"}
    assert kinds(root, "in/b") == {"in/b/top": "link"}
    notes = {entry.path: entry.note for entry in list_folder(root, "")}
    assert notes["out"] == "→ ../outside"


def test_two_links_to_each_other_end(tmp_path):
    for here, there in (("a", "b"), ("b", "a")):
        (tmp_path / here).mkdir()
        (tmp_path / here / "link").symlink_to(tmp_path / there)
    path, depth = "a", 0
    while kinds(tmp_path, path).get(f"{path}/link") == "folder":
        path, depth = f"{path}/link", depth + 1
    assert depth == 1


def test_a_folder_that_became_a_link_out_is_not_listed(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "sub").symlink_to(tmp_path)
    with pytest.raises(PermissionError, match="leads out"):
        list_folder(root, "sub")


def test_a_root_reached_through_a_link(tmp_path):
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "alias").symlink_to("real")
    assert kinds(tmp_path / "alias") == {"sub": "folder"}
    assert kinds(tmp_path / "alias", "sub") == {}


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert kinds(tmp_path) == {"pipe": "other"}
