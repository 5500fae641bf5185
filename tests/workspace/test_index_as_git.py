"""Repositories that git enters although no plain entry of an index names them: each bites a git without the hardening."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
from pathlib import Path

import pytest

from tests.workspace.test_git import git_here
from tui_agent.core.disk import beginning
from tui_agent.core.programs import names_program
from tui_agent.workspace import git_index
from tui_agent.workspace.git import FACT, fact
from tui_agent.workspace.git_index import gitlinks

AS = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
LINK, FOLDER = 0o160000, 0o040000


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *AS, *words], cwd=folder, check=False, capture_output=True, text=True)
    return done.stdout.strip()


def repositories(root: Path, place: str) -> str:
    """A repository with another at a place, whose programs leave `PWN` beside both; the commit of that one."""
    inner = root / place
    inner.mkdir(parents=True)
    for folder in (root, inner):
        git(folder, "init", "-q", "-b", "main")
        (folder / "f").write_text("1")
        git(folder, "add", "f")
        git(folder, "commit", "-qm", "1")
    (inner / ".git/info").mkdir(exist_ok=True)
    (inner / ".git/info/attributes").write_text("f filter=x diff=x")
    leaves = f"touch {root.parent}/PWN; cat"
    with (inner / ".git/config").open("a") as config:
        config.write(f'[filter "x"]\nclean = "{leaves}"\n[diff "x"]\ncommand = "{leaves}"\n')
    (inner / "f").write_text("2")
    return git(inner, "rev-parse", "HEAD")


def commit_of(root: Path, place: str) -> None:
    """Commit the other repository and take it out of the index again."""
    git(root, "add", place)
    git(root, "commit", "-qm", "2")
    git(root, "rm", "-q", "--cached", place)


def index(root: Path, *entries: tuple[int, str, bytes], sparse: bool = False, cut: int = 0) -> None:
    """Write an index; `cut`: the first name is told to be shorter than where its NUL is."""
    data = b"DIRC" + struct.pack(">II", 3, len(entries))
    for at, (mode, name, path) in enumerate(entries):
        length = len(path) - (0 if at else cut)
        skip = mode == FOLDER
        one = struct.pack(">10I", *[0] * 6, mode, 0, 0, 0) + bytes.fromhex(name)
        one += struct.pack(">H", length | 0x4000) + struct.pack(">H", 0x4000) if skip else struct.pack(">H", length)
        data += one + path[:length] + (b"\0" * (8 - (len(one) + length) % 8) if not cut or at else path[length:])
    data += b"sdir" + struct.pack(">I", 0) if sparse else b""
    (root / ".git/index").write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())


def bites(root: Path, cwd: Path, *words: str) -> None:
    """Run git hardened, then not: only the second starts a program of the other repository."""
    kept = (root / ".git/index").read_bytes()
    git_here(cwd, *words)
    assert not (root.parent / "PWN").exists()
    (root / ".git/index").write_bytes(kept)
    git(cwd, *words)
    assert (root.parent / "PWN").exists()


@pytest.mark.parametrize("words", ["status", "diff"])
def test_one_in_a_folder_that_a_sparse_index_does_not_take_apart(words: str, tmp_path: Path) -> None:
    root = tmp_path / "repo"
    repositories(root, "in/sub")
    commit_of(root, "in/sub")
    for setting in ("core.sparseCheckout", "core.sparseCheckoutCone", "index.sparse"):
        git(root, "config", setting, "true")
    index(root, (FOLDER, git(root, "rev-parse", "HEAD:in"), b"in/"), sparse=True)
    bites(root, root, words)


@pytest.mark.parametrize("mode", [LINK, 0o160755, 0xFFFFE001], ids=oct)
def test_one_whose_mode_is_written_otherwise(mode: int, tmp_path: Path) -> None:
    root = tmp_path / "repo"
    index(root, (mode, repositories(root, "sub"), b"sub"))
    bites(root, root, "status")


def test_one_behind_a_name_that_is_longer_than_it_says(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    commit = repositories(root, "sub")
    index(root, (0o100644, git(root, "rev-parse", "HEAD:f"), b"aX"), (LINK, commit, b"sub"), cut=1)
    bites(root, root, "diff")


def test_one_in_a_further_work_tree_seen_from_a_folder_in_it(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    repositories(root, "sub")
    git(root, "add", "sub")
    (root / "low").mkdir()
    (root / ".git").rename(root / "low/kept")
    (root / ".git").write_text("gitdir: low/kept")
    git_here(root / "low", "status")
    assert not (tmp_path / "PWN").exists()
    git(root / "low", "status")
    assert (tmp_path / "PWN").exists()


@pytest.mark.parametrize("words", ["diff --cached", "diff HEAD", "show", "log -p"])
def test_one_that_only_a_commit_names(words: str, tmp_path: Path) -> None:
    root = tmp_path / "repo"
    repositories(root, "sub")
    commit_of(root, "sub")
    git(root, "config", "diff.submodule", "diff")
    bites(root, root, *words.split())


def test_one_that_the_next_branch_names(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    repositories(root, "sub")
    commit_of(root, "sub")
    git(root, "branch", "next")
    git(root, "reset", "-q", "HEAD~1")
    git_here(root, "checkout", "next")
    assert git(root, "ls-files", "sub") == "sub"
    assert not (tmp_path / "PWN").exists()
    git(root, "checkout", "-q", "main")
    os.utime(root / "sub/f", (1, 1))
    git(root, "checkout", "next")
    assert (tmp_path / "PWN").exists()


def test_a_word_that_lets_git_into_them_is_said_to_start_programs() -> None:
    assert fact(("git", "log", "-p")) == FACT
    for word in ("--submodule=diff", "--sub=diff", "--submodule"):
        assert fact(("git", "log", "-p", word)) == ""
        assert names_program(("git", "log", "-p", word))


def test_an_index_is_read_again_when_it_has_changed_however_young(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    file = tmp_path / ".git/index"
    for kept_back in (False, True):
        for names in ((b"a",), (b"b",), (b"a", b"c")):
            index(tmp_path, *((LINK, "0" * 40, name) for name in names))
            if kept_back:
                os.utime(file, ns=(0, 0))
            assert gitlinks(tmp_path / ".git") == {name.decode() for name in names}


def test_an_old_index_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    index(tmp_path, (LINK, "0" * 40, b"a"))
    times: list[Path] = []
    monkeypatch.setattr(git_index, "_YOUNG", -(1 << 62))
    monkeypatch.setattr(git_index, "beginning", lambda file, most: times.append(file) or beginning(file, most))
    for _ in range(3):
        assert gitlinks(tmp_path / ".git") == {"a"}
    assert len(times) == 1


@pytest.mark.parametrize("which", ["gitlinks", "entries"])
def test_an_index_that_is_made_to_take_long_is_read_at_once(which: str, tmp_path: Path) -> None:
    """Each path is a little longer than the one before: together they would be gigabytes."""
    one = (
        struct.pack(">10I", *[0] * 6, LINK, 0, 0, 0) + bytes(20) + struct.pack(">H", 0xFFF) + b"\0" + b"x" * 100 + b"\0"
    )
    (tmp_path / "index").write_bytes(data := b"DIRC" + struct.pack(">II", 4, 200_000) + one * 200_000)
    if which == "entries":
        assert len(list(git_index.entries(data))) < 1000
    else:
        with pytest.raises(git_index.UnreadableIndexError):
            gitlinks(tmp_path)
