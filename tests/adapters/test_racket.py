"""The Racket harness's table of results, hidden files, and allowed commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.racket import GATE, NAMES, Harness, answer_of, hidden, shell_refusal
from tui_agent.tools.registry import TOOLS

OLD, NEW = "one\n", "two\n"


@pytest.mark.parametrize(
    ("kw", "old", "new", "says", "written"),
    [
        ({}, "other\n", NEW, "stale base: on-disk contents of a.txt do not match ", False),
        ({}, OLD, OLD, "no changes (proposed content matches current file)", False),
        ({"answer": "n"}, OLD, NEW, "user rejected the change", False),
        ({"answer": " No "}, OLD, NEW, "user rejected the change", False),
        ({"answer": None}, OLD, NEW, "user rejected the change", False),
        ({"answer": "s", "reason": "later"}, OLD, NEW, "user skipped: later", False),
        ({}, OLD, NEW, "applied; make check passed", True),
        ({"exit_code": 2, "output": "boom"}, OLD, NEW, "applied; make check FAILED (exit 2):\nboom", True),
        ({"mode": "dry-run"}, OLD, NEW, "dry-run: diff shown, file not written ", False),
        ({"mode": "auto"}, OLD, NEW, "applied (auto-approved); make check passed", True),
        ({"mode": "auto", "exit_code": 1}, OLD, NEW, "applied (auto-approved); make check FAILED (exit 1):", True),
        ({"mode": "auto"}, "other\n", NEW, "stale base: ", False),
    ],
)
async def test_each_ending_has_its_words(
    tmp_path: Path, kw: Any, old: str, *, new: str, says: str, written: bool
) -> None:
    (tmp_path / "a.txt").write_text(OLD)
    assert (await Harness(tmp_path, **kw).propose_edit("a.txt", old, new)).startswith(says)
    assert (tmp_path / "a.txt").read_text() == (NEW if written else OLD)


async def test_new_files(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    assert await harness.propose_edit("n.txt", "", "") == "refused: cannot create an empty file"
    assert await harness.propose_edit("d/n.txt", "", NEW) == "applied; make check passed"
    assert (tmp_path / "d" / "n.txt").read_text() == NEW
    assert "not a regular file" in await harness.propose_edit("d", "x", NEW)


async def test_a_long_log_keeps_its_head_and_its_tail(tmp_path: Path) -> None:
    output = "HEAD" + "x" * 10_000 + "TAIL"
    said = await Harness(tmp_path, exit_code=1, output=output).propose_edit("n.txt", "", NEW)
    body = said.partition(":\n")[2]
    assert body.startswith("HEAD")
    assert body.endswith("TAIL")
    assert len(body) < GATE + 100


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("y", "yes"),
        ("YES ", "yes"),
        ("n", "no"),
        ("skip", "skip"),
        (" S", "skip"),
        ("maybe", None),
        ("q", None),
        ("", None),
        (None, "no"),
    ],
)
def test_what_a_typed_answer_means(typed: str | None, meant: str | None) -> None:
    assert answer_of(typed) == meant


@pytest.mark.parametrize("path", [".env", "src/.git", "a~", "src/#a#", ".git/"])
def test_hidden_names(path: str) -> None:
    assert hidden(path)


@pytest.mark.parametrize("path", ["a", "src/a.py", "a#", "~a", ".git/config"])
def test_names_that_are_not_hidden(path: str) -> None:
    assert not hidden(path)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["ls", "-a"], ""),
        (["cat", "a"], ""),
        ([], "empty command"),
        (["rm", "x"], "allowed are cat, ls, make, pwd, uv"),
        (["cat", ".env"], "hidden/internal file: .env"),
        (["cat", "src/"], ""),
    ],
)
def test_allowed_commands(command: list[str], says: str) -> None:
    refusal = shell_refusal(command)
    assert refusal.endswith(says) if says else refusal == ""


def test_the_five_tools_are_tools_of_the_product() -> None:
    assert list(NAMES) == ["read_file", "list_dir", "grep", "run_shell", "propose_edit"]
    assert set(NAMES.values()) <= set(TOOLS)
