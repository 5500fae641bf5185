"""git in a hostile repository: nothing that its configuration names is started, whoever asks for git."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.hostile import canaries, hostile_git
from tui_agent.core.types import RunArgv, ToolCall
from tui_agent.workspace import Workspace, git
from tui_agent.workspace.runner import run


def git_here(root: Path, *words: str) -> str:
    result = asyncio.run(run(git.argv(("git", *words)), cwd=root, timeout=30))
    assert result.error is None
    return result.output


COMMANDS = [
    "status",
    "status --short",
    "diff",
    "diff HEAD",
    "diff --cached",
    "show",
    "log -p",
    "blame a.txt",
    "stash list -p",
    "add a.txt",
    "commit -m next -a",
    "checkout -- a.txt",
    "-C embedded.git log",
    "-C . diff",
    "grep one",
    "diff-files -p",
    "format-patch -1 --stdout",
    "--git-dir=.git status",
    "switch -c other",
    "ls-files -m",
]


@pytest.mark.parametrize("words", COMMANDS)
def test_no_program_of_the_repository_runs(tmp_path: Path, words: str) -> None:
    root = hostile_git(tmp_path / "repo", tmp_path)
    git_here(root, *words.split())
    assert canaries(tmp_path) == []


@pytest.mark.parametrize("words", ["status", "diff", "show", "blame a.txt", "commit -m next -a", "checkout -- a.txt"])
def test_the_repository_bites_without_the_hardening(tmp_path: Path, words: str) -> None:
    """Otherwise the tests above would prove nothing."""
    root = hostile_git(tmp_path / "repo", tmp_path)
    subprocess.run(["git", *words.split()], cwd=root, capture_output=True, check=False)
    assert canaries(tmp_path)


def test_what_git_says_is_still_right(tmp_path: Path) -> None:
    root = hostile_git(tmp_path / "repo", tmp_path)
    assert "M a.txt" in git_here(root, "status", "--short")
    assert "-one\n+two\n" in git_here(root, "diff")
    assert "one" in git_here(root, "show", "HEAD:a.txt")
    assert "two" in git_here(root, "blame", "a.txt")


def test_what_is_shown_is_what_runs_and_the_policy_sees_what_was_asked(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    request = asyncio.run(workspace.prepare(ToolCall("c", "run_command", {"argv": ["git", "diff", "--stat"]})))
    assert isinstance(request.effect, RunArgv)
    assert request.effect.argv == ("git", "--no-pager", "diff", "--no-ext-diff", "--no-textconv", "--stat")
    assert request.policy.argv == ("git", "diff", "--stat")
    assert request.summary == "run  git diff --stat"
    assert workspace.decide(request).permission == "allow"


def test_in_a_folder_that_is_not_trusted_git_asks(tmp_path: Path) -> None:
    from dataclasses import replace

    workspace = Workspace(tmp_path)
    workspace.permissions = replace(workspace.permissions, trusted=False)
    request = asyncio.run(workspace.prepare(ToolCall("c", "run_command", {"argv": ["git", "status"]})))
    assert workspace.decide(request).permission == "ask"


def test_names_come_from_every_file_that_git_reads(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/x\n")
    (root / ".git/config").write_text(
        '[filter "a"]\n clean = x\n[Filter.B]\n[diff "with \\"quote\\""]\n[core][filter "eq=ual"] clean = x\n'
        '[include]\n path = ../more\n[includeIf "gitdir:/x/"]\n\tpath = "~/absent"\n'
    )
    (root / "more").write_text('[include] path = again\n[filter "c"]\n')
    (root / "again").write_text('[include] path = more\n[diff "d"]\n')
    (root / ".git/config.worktree").write_text('[filter "w"]\n')
    want = {("filter", n) for n in ("a", "b", "c", "w", "eq=ual")} | {("diff", 'with "quote"'), ("diff", "d")}
    assert git.names(str(root)) == want
    (root / "sub").mkdir()
    assert git.names(str(root / "sub")) == want
    (tmp_path / "tree").mkdir()
    (root / ".git/worktrees/tree").mkdir(parents=True)
    (root / ".git/worktrees/tree/commondir").write_text("../..\n")
    (tmp_path / "tree/.git").write_text(f"gitdir: {root}/.git/worktrees/tree\n")
    assert ("filter", "a") in git.names(str(tmp_path / "tree"))


def test_a_configuration_that_cannot_be_read_gives_no_names(tmp_path: Path) -> None:
    assert git.names(str(tmp_path / "nowhere")) == set()
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git/config")
    assert git.names(str(tmp_path)) == set()


WORDS = st.lists(st.sampled_from(["-C", "sub", "diff", "--no-pager", "log", "-p", "--", "a b", "-c", "x=y", "status"]))


@given(WORDS)
def test_only_words_are_added_and_twice_is_once_as_far_as_it_matters(words: list[str]) -> None:
    before = ("git", *words)
    after = git.argv(before)
    left = list(after)
    for word in before:
        left.remove(word)  # everything that was asked is still there
    assert set(left) <= {"--no-pager", "--no-ext-diff", "--no-textconv"}
    assert [w for w in after if w not in {"--no-pager", "--no-ext-diff", "--no-textconv"}] == [
        w for w in before if w != "--no-pager"
    ]
    assert git.argv(("ls", *words)) == ("ls", *words)
