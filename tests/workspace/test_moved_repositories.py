"""Repositories inside the workspace: what a command moves is followed, what it may not leave is kept aside, never lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tui_agent.workspace.protected import remember, restore


def sh(script: str, cwd: Path) -> str:
    done = subprocess.run(["sh", "-ec", script], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout


def after(work: Path, script: str) -> dict[str, str]:
    """What a command was found to have changed."""
    before = remember(work)
    sh(script, work)
    return dict(restore(work, before).changed)


HOOK = "#!/bin/sh\nexit 0\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with clones below it that have a history, a hook and a setting that names a program."""
    root = tmp_path / "work"
    root.mkdir()
    sh("git init -q; mkdir deep", root)
    for name in ("lib", "deep/other"):
        sh(
            f"git init -q {name}; cd {name}; git config user.email a@b; git config user.name a; echo 1 > f; git add f;"
            f"git commit -qm {name}; git config credential.helper store; mkdir -p .git/hooks",
            root,
        )
        (root / name / ".git" / "hooks" / "pre-commit").write_text(HOOK)
        (root / name / ".git" / "hooks" / "pre-commit").chmod(0o755)
    return root


def history(folder: Path) -> str:
    return sh(
        "git log --format=%s; git fsck --no-progress; git config credential.helper; cat .git/hooks/pre-commit", folder
    )


@pytest.mark.parametrize(
    ("script", "now"),
    [
        ("mkdir -p vendor && mv lib vendor/lib", {"lib": "vendor/lib"}),
        ("mv lib lib2", {"lib": "lib2"}),
        ("mv deep lower", {"deep/other": "lower/other"}),
        ("mv lib x; mv deep/other lib; mv x deep/other", {"lib": "deep/other", "deep/other": "lib"}),
        ("mv lib deep/other/lib", {"lib": "deep/other/lib"}),
        ("mv lib lib2; git init -q lib", {"lib": "lib2"}),
    ],
)
def test_a_repository_that_is_moved_with_its_folder_stays_whole(script, now, work):
    was = {name: history(work / name) for name in ("lib", "deep/other")}
    assert after(work, script) == {}
    for name, text in was.items():
        assert history(work / now.get(name, name)) == text
    assert not list(work.rglob("*.not-allowed-*"))


def test_what_a_command_changes_in_a_moved_repository_is_put_back_there(work):
    was = history(work / "lib")
    script = (
        "mv lib lib2; git -C lib2 config alias.st '!id'; echo evil > lib2/.git/hooks/pre-commit; rm -r lib2/.git/info"
    )
    assert list(after(work, script)) == ["lib2/.git/config", "lib2/.git/hooks/pre-commit", "lib2/.git/info"]
    assert history(work / "lib2") == was
    assert not (work / "lib").exists()


@pytest.mark.parametrize("script", ["mkdir x; mv lib/.git x/.git", "mkdir x; mv lib/.git x/y"])
def test_a_repository_that_is_taken_out_of_its_folder_comes_back_whole(script, work):
    was = history(work / "lib")
    assert list(after(work, script)) == ["lib/.git"]
    assert history(work / "lib") == was


def test_the_workspaces_own_comes_back_from_anywhere(work):
    sh("git -c user.name=a -c user.email=a@b commit -q --allow-empty -m mine", work)
    assert ".git" in after(work, "mkdir sub; mv .git sub/")
    assert sh("git log --format=%s", work) == "mine\n"


def test_a_copy_that_names_a_program_is_moved_aside_with_its_history(work):
    ((name, kept),) = after(work, "cp -r lib copy").items()
    assert name == "copy/.git"
    assert sh(f"git --git-dir={kept} log --format=%s", work) == "lib\n"
    assert not (work / "copy/.git").exists()


def test_a_repository_that_a_command_removes_is_gone(work):
    assert after(work, "rm -rf lib") == {}
    assert not (work / "lib").exists()


def test_what_was_moved_to_a_protected_name_is_kept(work):
    sh("mkdir src; echo work > src/a; echo more > b", work)
    changed = after(work, "mv src .git/hooks/src; mv b lib/.git/hooks/b")
    assert list(changed) == [".git/hooks/src", "lib/.git/hooks/b"]
    assert (work / changed[".git/hooks/src"] / "a").read_text() == "work\n"
    assert (work / changed["lib/.git/hooks/b"]).read_text() == "more\n"
    assert not any(".git" in Path(kept).parts for kept in changed.values())


SEPARATE = "git init -q --separate-git-dir e2 q3"
BY_HAND = "git init -q q4; mv q4/.git ev3; ln -s ../ev3 q4/.git"


@pytest.mark.parametrize(("made", "body"), [(SEPARATE, "e2"), (BY_HAND, "ev3")])
def test_where_a_mark_leads_is_watched_too(made, body, work):
    assert after(work, made) == {}
    evil = f"git config -f {body}/config core.fsmonitor id; mkdir -p {body}/hooks; echo x > {body}/hooks/pre-commit"
    assert list(after(work, evil)) == [f"{body}/config", f"{body}/hooks/pre-commit"]
    assert "fsmonitor" not in (work / body / "config").read_text()
    assert not (work / body / "hooks" / "pre-commit").exists()


# ------------------------------------------------------------------ bare ones, and what is gone


@pytest.fixture
def bare(work: Path) -> Path:
    """A bare clone that no `.git` leads to, with a hook of the person's own."""
    sh(
        f"git clone -q --bare lib store.git; printf '{HOOK}' > store.git/hooks/update; chmod +x store.git/hooks/update",
        work,
    )
    return work / "store.git"


@pytest.mark.parametrize("name", ["store.git", "deep/x.git"])
def test_a_bare_repository_is_watched_where_it_is_and_where_it_goes(name: str, bare: Path, work: Path) -> None:
    was = (bare / "config").read_text()
    evil = (
        f"git config -f {name}/config core.fsmonitor id; echo x >> {name}/hooks/update; echo x > {name}/hooks/pre-push"
    )
    move = f"mv store.git {name};" if name != "store.git" else ""
    assert list(after(work, move + evil)) == [f"{name}/{each}" for each in ("config", "hooks/pre-push", "hooks/update")]
    assert (work / name / "config").read_text() == was
    assert (work / name / "hooks/update").read_text() == HOOK
    assert sh(f"git --git-dir={name} log --format=%s", work) == "lib\n"


@pytest.mark.parametrize("name", ["store.git", "lib"])
def test_a_repository_does_not_become_what_the_product_reads(name: str, bare: Path, work: Path) -> None:
    ((place, kept),) = after(work, f"ls {bare}; echo x > {name}/config.toml; mv -T {name} .tui_agent").items()
    assert place == ".tui_agent"
    assert not (work / ".tui_agent").exists()
    assert sh("git log --format=%s", work / kept) == "lib\n"


def test_a_new_bare_repository_is_disarmed_only_if_it_names_a_program(work: Path) -> None:
    assert after(work, "git init -q --bare new.git; git clone -q --bare lib copy.git; rm -rf copy.git") == {}
    by_hand = "mkdir -p b/objects b/refs b/hooks; echo 'ref: refs/heads/x' > b/HEAD; "
    hook = "echo x > b/hooks/post-index-change; chmod +x b/hooks/post-index-change"
    assert list(after(work, by_hand + hook)) == ["b/hooks"]
    assert list(after(work, "printf '[core]\n fsmonitor = id\n' > b/config")) == ["b/config"]


@pytest.mark.parametrize(
    ("script", "lost"),
    [
        ("rm -rf lib/.git", ("lib/.git",)),
        ("rm -rf lib/.git; mkdir x; cd lib; git init -q", ("lib/.git",)),
        ("rm lib/.git/HEAD; rm -rf lib/.git/objects", ("lib/.git",)),
        ("rm -rf .git lib/.git", (".git", "lib/.git")),
        ("rm -rf lib", ()),
        ("rm -rf store.git; git init -q --bare store.git", ()),
        ("git -C lib gc -q; git -C store.git gc -q", ()),
    ],
)
def test_a_deleted_repository_is_told_and_no_skeleton_takes_its_place(
    script: str, lost: tuple[str, ...], bare: Path, work: Path
) -> None:
    before = remember(work)
    sh(f"mkdir keep; mv {bare} keep/; mv keep/store.git .; {script}", work)
    found = restore(work, before)
    if "init -q" in script:  # the new one may have got the number of the old one on the disk
        assert set(found.lost) <= set(lost)
        return
    assert (found.lost, dict(found.changed)) == (lost, {})
    for name in lost:
        assert not (work / name / "HEAD").exists()


def test_one_that_a_command_makes_in_the_place_of_the_workspaces_own_is_moved_aside(work: Path) -> None:
    before = remember(work)
    sh("cp -r .git other; rm -rf .git; mv other .git", work)
    found = restore(work, before)
    assert (list(found.changed), found.lost) == ([".git"], (".git",))
    assert not (work / ".git").exists()
