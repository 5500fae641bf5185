"""Finding files by some of their letters, and what is offered of a folder."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.ui.completion import Place
from tui_agent.ui.file_choices import FileChoices
from tui_agent.ui.path_index import BLOCK, ENOUGH, LIMIT, PathIndex


def index_of(paths: Iterable[str]) -> PathIndex:
    index = PathIndex()
    index.read(paths)
    return index


def search(index: PathIndex, query: str, near: Mapping[str, str] | None = None) -> list[str]:
    async def last() -> list[str]:
        found: list[str] = []
        async with aclosing(index.search(query, near or {})) as results:
            async for paths in results:
                found = paths
        return found

    return asyncio.run(last())


def offered(root: Path, word: str, *, every: bool = False) -> list[str]:
    async def last() -> list[str]:
        choices = FileChoices(root, dict)
        found: list[str] = []
        async with aclosing(choices.find(Place("file", 0, word, every=every))) as results:
            async for some in results:
                found = [choice.value for choice in some]
        return found

    return asyncio.run(last())


TREE = ["README.md", "docs/parsing.md", "src/lexer.py", "src/parser.py", "src/parts/old.py", "tests/test_parser.py"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("pars", "src/parser.py"),
        ("PARSER", "src/parser.py"),
        ("psr", "src/parser.py"),
        ("src/le", "src/lexer.py"),
        ("test_p", "tests/test_parser.py"),
        ("parts", "src/parts/"),
        ("old", "src/parts/old.py"),
        ("readme.md", "README.md"),
    ],
)
def test_what_is_meant_comes_first(query: str, first: str) -> None:
    assert search(index_of(TREE), query)[0] == first


def test_nothing_fits() -> None:
    assert search(index_of(TREE), "zzz") == []
    assert search(index_of(()), "a") == []


def test_without_letters_what_lies_on_top_behind_what_was_used() -> None:
    near = {"src/parser.py": "read", "src/lexer.py": "changed"}
    assert search(index_of(TREE), "", near) == ["src/lexer.py", "src/parser.py", "README.md", "docs/", "src/", "tests/"]


def test_what_was_used_comes_before_its_equals() -> None:
    paths = ["a/conf.py", "b/conf.py", "c/conf.py"]
    assert search(index_of(paths), "conf")[0] == "a/conf.py"
    assert search(index_of(paths), "conf", {"c/conf.py": ""})[0] == "c/conf.py"


def test_names_that_cannot_be_typed_are_left_out() -> None:
    names = ["a\nb.py", "a\x1bb.py", "a\u202eb.py", "a\tb.py", "a b.py", "aéb.py", "a漢b.py"]
    assert sorted(search(index_of(names), "a")) == ["a b.py", "aéb.py", "a漢b.py"]


def test_the_search_looks_at_every_block_and_lets_others_run_in_between() -> None:
    index = index_of(f"d{n:05}/file.py" for n in range(3 * BLOCK))

    async def count() -> tuple[int, list[str]]:
        turns, found = 0, []

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(others())
        async with aclosing(index.search("d05999")) as results:
            async for paths in results:
                found = paths
        task.cancel()
        return turns, found

    turns, found = asyncio.run(count())
    assert found[:2] == ["d05999/", "d05999/file.py"]
    assert turns >= 6
    assert len(search(index, "d")) == LIMIT


@given(
    st.lists(st.text("abc/.", min_size=1, max_size=8), max_size=30, unique=True),
    st.text("abc.", min_size=1, max_size=4),
)
def test_a_path_that_holds_the_letters_together_is_found(paths: list[str], query: str) -> None:
    usable = [p for p in paths if p.strip("/") and "//" not in p and not p.startswith("/") and not p.endswith("/")]
    found = set(search(index_of(usable), query))
    names = {path for path in usable if query in path.rpartition("/")[2]}
    assert names <= found or len(found) >= 20


def test_names_that_begin_with_the_letters_leave_room_for_those_that_hold_them() -> None:
    beginning = [f"a{number}" for number in range(ENOUGH - 1)]
    assert "xa" in search(index_of([*beginning, "xa"]), "a")


# ------------------------------------------------------------------ a real folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("src/parser.py", ".env.example", ".git/config", "build/out.o", "my file.py", "nö.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / ".gitignore").write_text("/build/\n")
    (tmp_path / "away").symlink_to("/etc")
    return tmp_path


def test_ignored_files_only_on_request_hidden_ones_always_and_git_never(folder: Path) -> None:
    assert offered(folder, "") == [".env.example", ".gitignore", "my file.py", "nö.py", "src/"]
    assert offered(folder, "out") == []
    assert offered(folder, "build/o", every=True) == ["build/out.o"]
    assert offered(folder, "b", every=True) == ["build/"]
    assert ".git/" not in offered(folder, "", every=True)
    assert offered(folder, "../", every=True) == []
    assert offered(folder, "nothing/x", every=True) == []


def test_what_tools_fill_by_themselves_only_on_request(folder: Path) -> None:
    for name in ("src/__pycache__/parser.pyc", ".pytest_cache/README.md"):
        (folder / name).parent.mkdir()
        (folder / name).write_text("")
    assert offered(folder, "pyc") == []
    assert offered(folder, "") == [".env.example", ".gitignore", "my file.py", "nö.py", "src/"]
    assert offered(folder, "src/__", every=True) == ["src/__pycache__/"]


def test_a_folder_that_is_gone_offers_nothing(tmp_path: Path) -> None:
    assert offered(tmp_path / "gone", "a") == []


async def test_the_folder_is_read_again_behind_what_is_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tui_agent.ui import file_choices

    monkeypatch.setattr(file_choices, "FRESH_SECONDS", 0.0)
    choices = FileChoices(folder, dict)

    async def find(word: str) -> list[str]:
        found: list[str] = []
        async with aclosing(choices.find(Place("file", 0, word))) as results:
            async for some in results:
                found = [choice.value for choice in some]
        return found

    assert await find("fresh") == []
    (folder / "fresh.py").write_text("")
    for _ in range(200):
        if found := await find("fresh"):
            break
        await asyncio.sleep(0.01)
    assert found == ["fresh.py"]
