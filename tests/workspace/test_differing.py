"""What git says of the files of a folder, as marks: right in each state, and nothing of the repository is started."""

from __future__ import annotations

import asyncio
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fixtures.hostile import canaries, hostile_git
from tests.fixtures.repository import git
from tui_agent.core.policy import DEFAULT
from tui_agent.workspace import Workspace


def differing(root: Path, *, trusted: bool = True) -> dict[str, str]:
    return asyncio.run(Workspace(root, permissions=replace(DEFAULT, trusted=trusted)).differing())


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "sub" / "deep").mkdir(parents=True)
    git(root, "init", "-q")
    for name in ("same", "edited", "gone", "removed", "two words", "sub/edited", "sub/same"):
        (root / name).write_text("one\n")
    (root / ".gitignore").write_text("*.log\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def test_each_state_has_its_letter(repository: Path) -> None:
    assert differing(repository) == {}
    for name in ("edited", "sub/edited", "two words"):
        (repository / name).write_text("two\n")
    (repository / "gone").unlink()
    git(repository, "rm", "-q", "removed")
    for name in ("new", "added", "a.log", "sub/deep/ü\n.txt"):
        (repository / name).write_text("new\n")
    git(repository, "add", "added", "sub/edited")
    expected = {"edited": "M", "two words": "M", "gone": "D", "removed": "D", "new": "?", "added": "A"}
    below = {"sub/edited": "M", "sub/deep/ü\n.txt": "?"}
    assert differing(repository) == expected | below
    assert differing(repository / "sub") == {path.removeprefix("sub/"): mark for path, mark in below.items()}


def test_before_the_first_commit_everything_is_new(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    git(tmp_path, "add", "a")
    assert differing(tmp_path) == {"a": "A", "b": "?"}


def test_a_conflict_is_a_change(repository: Path) -> None:
    git(repository, "checkout", "-qb", "other")
    (repository / "edited").write_text("theirs\n")
    git(repository, "commit", "-qam", "theirs")
    git(repository, "checkout", "-q", "-")
    (repository / "edited").write_text("ours\n")
    git(repository, "commit", "-qam", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(repository, "merge", "-q", "other")
    assert differing(repository) == {"edited": "M"}


def test_no_repository_and_no_trust_mark_nothing(repository: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "a").touch()
    assert differing(plain) == {}
    (repository / "edited").write_text("two\n")
    assert differing(repository, trusted=False) == {}
    (repository / ".git" / "index").write_bytes(b"nonsense")
    assert differing(repository) == {}


def test_nothing_that_a_repository_names_is_started(tmp_path: Path) -> None:
    root = hostile_git(tmp_path / "repo", tmp_path)
    assert differing(root)["a.txt"] == "M"
    assert canaries(tmp_path) == []
