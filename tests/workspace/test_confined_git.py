"""In each sandbox git runs nothing that a repository's own configuration names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.waiting import PATIENCE
from tui_agent.workspace import git
from tui_agent.workspace.confined import Choice, Confined
from tui_agent.workspace.runner import child_environment

COMMANDS = (
    ("git", "status", "-s"),
    ("git", "diff"),
    ("git", "--no-pager", "diff", "HEAD"),
    ("git", "-C", ".", "log", "-p"),
    ("git", "show", "HEAD"),
    ("git", "add", "f.x"),
    ("git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-am", "x"),
    ("git", "stash"),
    ("git", "checkout", "--", "f.x"),
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose configuration starts a program wherever git has a place for one."""
    root = tmp_path / "work"
    root.mkdir()

    def run(*words: str) -> None:
        env = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null"}
        subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, env=env)

    run("init", "-q")
    (root / ".gitattributes").write_text("*.x diff=d filter=f.g\n")
    (root / "f.x").write_text("one\n")
    run("add", "-A")
    run("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
    with (root / ".git" / "config").open("a") as config:
        for section, *keys in (
            ('diff "d"', "textconv", "command"),
            ('filter "f.g"', "clean", "smudge"),
            ("core", "fsmonitor", "pager"),
            ("diff", "external"),
        ):
            config.write(f"[{section}]\n" + "".join(f"\t{key} = touch '{root}/RAN-{key}'; cat\n" for key in keys))
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{root}/RAN-hook'\n")
    hook.chmod(0o755)
    (root / "f.x").write_text("two\n")
    return root


@pytest.mark.parametrize("kind", ["none", "bwrap", "landlock"])
async def test_no_program_of_the_repository_runs(kind: Choice, repository: Path, capsys) -> None:
    commands = Confined(repository, lambda: child_environment(os.environ) | {"HOME": "/nowhere"}, choice=kind)
    if (found := await commands.ready()).kind != kind:
        with capsys.disabled():
            print(f"\n[sandbox {kind} was not tried on this machine: {found.reason}]")
        return
    shown = ""
    for argv in COMMANDS:
        (repository / "f.x").write_text(f"{argv}\n")
        result = await commands(git.argv(argv), cwd=repository, timeout=PATIENCE, emit=None)
        assert (result.exit_code, result.error) == (0, None), (argv, result.output)
        shown += result.output
    assert "+('git', 'diff')" in shown
    assert [name for name in os.listdir(repository) if name.startswith("RAN")] == []  # noqa: PTH208
