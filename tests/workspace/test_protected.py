"""The protected names of a workspace: whatever a command does there is put back and told, and nothing outside is touched."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from tests.waiting import PATIENCE
from tui_agent.workspace import protected
from tui_agent.workspace.protected import remember, restore
from tui_agent.workspace.runner import run

CHANGES = {
    "a changed config": ("echo evil >> .git/config", [".git/config"]),
    "a new hook": ("echo evil > .git/hooks/pre-push", [".git/hooks/pre-push"]),
    "a removed hook": ("rm .git/hooks/sample", [".git/hooks/sample"]),
    "a mode": ("chmod +x .git/hooks/sample", [".git/hooks/sample"]),
    "a mode of a folder, and what is kept of it": ("chmod 700 .git/hooks; echo x > .git/hooks/new; rm .git/hooks/sample",
                                                  [".git/hooks", ".git/hooks/new"]),
    "a link instead of a file": ("ln -sf ../out/file .git/config", [".git/config"]),
    "a link instead of a folder": ("rm -r .git/hooks; ln -s ../../out .git/hooks", [".git/hooks"]),
    "another target": ("ln -sfn other .git/hooks/link", [".git/hooks/link"]),
    "a folder instead of a file": ("rm .git/config; mkdir -p .git/config/deep", [".git/config"]),
    "first creation": ("mkdir .git/info .tui_agent; echo x > .git/info/a; echo x > .tui_agent/config.toml",
                       [".git/info", ".tui_agent"]),
    ".git as a link": ("mv .git away; ln -s ../out .git", [".git"]),
    "no .git at all": ("rm -r .git", []),
    ".git moved away": ("mv .git away", [".git"]),
    ".git moved away, another made": ("mv .git away; mkdir .git; echo evil > .git/config", [".git"]),
    "another common folder": ("cp -r .git evil; echo ../evil > .git/commondir", [".git/commondir"]),
    "of a work tree": ("echo evil > .git/config.worktree", [".git/config.worktree"]),
    "of a module": ("echo evil > .git/modules/a/b/config; mkdir .git/modules/a/b/hooks",
                    [".git/modules/a/b/config", ".git/modules/a/b/hooks"]),
    "of another work tree": ("mkdir -p .git/worktrees/w; echo x > .git/worktrees/w/commondir", [".git/worktrees/w/commondir"]),
    "of a repository below": ("echo evil >> low/est/.git/config; mkdir -p low/est/.git/hooks/x/y",
                              ["low/est/.git/config", "low/est/.git/hooks"]),
    "a new one that names a program": ("mkdir new; git init -q new; git -C new config alias.st '!id'", ["new/.git"]),
    "a new one with a hook": ("mkdir new; git init -q new; printf x > new/.git/hooks/a; chmod +x new/.git/hooks/a", ["new/.git"]),
    "a new one without": ("mkdir new; git init -q new; echo x > new/.git/index", []),
    "too much, sparse": ("echo evil > .git/hooks/pre-commit; truncate -s 900G .git/hooks/big; mkdir .tui_agent; truncate -s 900G .tui_agent/x",
                         [".git/hooks/big", ".git/hooks/pre-commit", ".tui_agent"]),
    "many": ("mkdir .tui_agent; cd .tui_agent; seq 3000 | xargs mkdir; echo evil > ../.git/config", [".git/config", ".tui_agent"]),
    "without rights": ("mkdir -p .tui_agent/x; chmod 0 .tui_agent", [".tui_agent"]),
    "a further work tree that leads elsewhere": (
        "mkdir -p .git/worktrees/w t; echo ../.. > .git/worktrees/w/commondir; echo $PWD/low/.git > .git/worktrees/w/gitdir",
        [".git/worktrees/w/gitdir"]),
    "a mark of one with a folder of its own": (
        ("git init -q x; git -C x config alias.st '!id'; mkdir -p t e/worktrees/w; mv x/.git/* e;\n"
         "echo ../.. > e/worktrees/w/commondir; echo gitdir: $PWD/e/worktrees/w > t/.git"),
        ["e/config", "e/hooks", "e/info", "t/.git"]),
    "ordinary work": ("echo x > .git/index; echo x > file", []),
}  # fmt: skip


@pytest.mark.parametrize(("script", "expected"), CHANGES.values(), ids=CHANGES.keys())
async def test_protected_names_are_restored_and_reported(script, expected, tmp_path):
    work, out = tmp_path / "work", tmp_path / "out"
    (work / ".git" / "hooks").mkdir(parents=True)
    out.mkdir()
    (out / "file").write_text("outside")
    (work / ".git" / "config").write_text("old")
    for other in (".git/modules/a/b", "low/est/.git"):
        (work / other).mkdir(parents=True)
        (work / other / "config").write_text("old")
    (work / ".git" / "hooks" / "sample").write_text("hook")
    (work / ".git" / "hooks" / "link").symlink_to("sample")
    before = remember(work)
    assert (await run(["sh", "-c", script], cwd=work, timeout=PATIENCE)).exit_code == 0
    assert list(restore(work, before).changed) == expected
    if not any(
        each in script for each in ("rm -r .git", "git init", "worktrees/w t")
    ):  # what is really gone, what may stay
        assert remember(work) == before
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [("file", "outside")]


async def test_a_further_work_tree_can_be_made_and_removed(tmp_path):
    async def git(*words):
        before = remember(tmp_path)
        result = await run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=tmp_path, timeout=PATIENCE)
        assert result.exit_code == 0, result.output
        return result.output, tuple(restore(tmp_path, before).changed)

    await run(["git", "init", "-q"], cwd=tmp_path, timeout=PATIENCE)
    await git("commit", "--allow-empty", "-m", "x")
    hook = tmp_path / ".git" / "hooks" / "pre-commit"  # the person's own
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    assert (await git("worktree", "add", "deep/tree", "-b", "b"))[1] == ()
    assert "On branch b" in (await git("-C", "deep/tree", "status"))[0]
    before = remember(tmp_path)
    (tmp_path / ".git" / "worktrees" / "tree" / "commondir").write_text("../../../evil\n")
    (tmp_path / "deep" / "tree" / ".git").write_text("gitdir: ../evil\n")
    assert tuple(restore(tmp_path, before).changed) == (".git/worktrees/tree/commondir", "deep/tree/.git")
    assert (await git("worktree", "remove", "deep/tree"))[1] == ()
    assert "b" not in (await git("worktree", "list", "--porcelain"))[0].split()


def test_a_further_work_tree_may_be_written_with_relative_names(tmp_path):
    for folder in (".git", "deep/tree", "evil/worktrees/tree"):
        (tmp_path / folder).mkdir(parents=True)
    before = remember(tmp_path)
    inner = tmp_path / ".git/worktrees/tree"
    inner.mkdir(parents=True)
    (inner / "commondir").write_text("../..\n")
    (inner / "gitdir").write_text("../../../deep/tree/.git\n")
    (tmp_path / "deep/tree/.git").write_text("gitdir: ../../.git/worktrees/tree\n")
    assert tuple(restore(tmp_path, before).changed) == ()
    link = tmp_path / ".git/worktrees/link"
    link.symlink_to(tmp_path / "evil/worktrees/tree")
    (tmp_path / "evil/worktrees/tree/commondir").write_text("../..\n")
    (tmp_path / "evil/config").write_text("[alias]\nst = !id\n")
    (tmp_path / "evil/HEAD").write_text("ref: refs/heads/x\n")
    (tmp_path / "deep/tree/.git").write_text("gitdir: ../../.git/worktrees/link\n")
    assert tuple(restore(tmp_path, before).changed) == (".git/worktrees/link", ".git/worktrees/tree/gitdir")
    assert not link.is_symlink()  # so what was written there leads nowhere


def test_a_worktree_file_is_protected_too(tmp_path):
    (tmp_path / ".git").write_text("gitdir: /elsewhere\n")
    before = remember(tmp_path)
    (tmp_path / ".git").write_text("gitdir: /evil\n")
    assert tuple(restore(tmp_path, before).changed) == (".git",)
    assert (tmp_path / ".git").read_text() == "gitdir: /elsewhere\n"
    (tmp_path / ".git").unlink()
    (tmp_path / ".git").mkdir()
    assert tuple(restore(tmp_path, before).changed) == (".git",)
    assert (tmp_path / ".git").read_text() == "gitdir: /elsewhere\n"


def test_too_much_to_remember_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(protected, "_MAX_BYTES", 10)
    (tmp_path / ".tui_agent").mkdir()
    (tmp_path / ".tui_agent" / "big").write_text("x" * 11)
    with pytest.raises(OSError, match="more than 10 bytes"):
        remember(tmp_path)


# ------------------------------------------------------------------ links, and what an index names


def entry(path: str) -> bytes:
    """An index with one entry, by which git would enter another repository there."""
    name = path.encode()
    body = struct.pack(">10I20sH", *[0] * 6, 0o160000, 0, 0, 0, bytes(20), len(name)) + name
    return b"DIRC" + struct.pack(">II", 2, 1) + body + b"\0" * (8 - len(body) % 8)


def tree(folder: Path) -> dict[str, bytes | str]:
    """All that is in a folder: the bytes of each file, where each link leads."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        found[str(path)] = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
    return found


OUTSIDE = {
    "modules that are a link": "ln -s ../../out .git/modules",
    "modules that became a link": "mv .git/modules away; ln -s ../../out .git/modules",
    "a module that became a link": "mv .git/modules/git away; ln -s ../../../out/git .git/modules/git",
    "a module that became a link to nothing": "mv .git/modules/git away; ln -s nowhere .git/modules/git",
    "work trees that are a link": "ln -s ../../out .git/worktrees",
    "a link deep among modules": "mkdir -p .git/modules/a; ln -s ../../../../out .git/modules/a/b",
    "a folder that became a link": "mv low away; ln -s ../out low",
    "a folder that is gone behind a link": "rm -r low; ln -s ../out low",
    "an index that leads up": "cp up .git/index",
    "an index that leads away": "cp away .git/index",
    "an index that leads through a link": "cp link .git/index; ln -sfn ../out l",
}


@pytest.mark.parametrize("script", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_what_lies_outside_is_never_touched_wherever_a_command_makes_names_lead(script, tmp_path):
    work, out = tmp_path / "work", tmp_path / "out"
    for repository in (work, work / "low" / "project", out / "project"):
        subprocess.run(["git", "init", "-q", str(repository)], check=True)
    (work / ".git/modules/git").mkdir(parents=True)
    for config in (work / ".git/modules/git/config", out / "git/config"):
        config.parent.mkdir(exist_ok=True)
        config.write_text(f"of {config}")
    with (out / "project/.git/config").open("a") as own:
        own.write("[alias]\n\tst = !id\n")
    for name, path in (("up", "../out/project"), ("away", f"{out}/project"), ("link", "l/project")):
        (work / name).write_bytes(entry(path))
    was, module = tree(out), (work / ".git/modules/git/config").read_text()
    for _ in range(2):  # what one leaves is what the next one finds
        before = remember(work)
        subprocess.run(["sh", "-c", script], cwd=work, check=False)
        restore(work, before)
        assert tree(out) == was
        assert (work / ".git/modules/git/config").read_text() == module
        assert not (work / ".git/modules").is_symlink()
