"""Repositories where a walk through the folder does not come by itself: no command gets one past what is protected."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import tempfile
import traceback
from pathlib import Path

import pytest

from tests.workspace.test_moved_repositories import after, sh
from tui_agent.workspace import protected, repositories
from tui_agent.workspace.confined import Confined
from tui_agent.workspace.protected import remember, restore
from tui_agent.workspace.sandbox import Sandbox

EVIL = "git config core.fsmonitor 'touch PWN; false'"
COMMIT = "git -c user.name=a -c user.email=a@b commit -qm x"
HIDDEN = f"git init -q $P; (cd $P; echo 1 > f; git add f; {COMMIT}; {EVIL}); git add -f $P"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with a module, a further work tree and a clone that is none of its modules."""
    root, source = tmp_path / "work", tmp_path / "source"
    for folder in (root, source):
        folder.mkdir()
        sh(f"git init -q; echo 1 > f; git add f; {COMMIT}", folder)
    sh("git -c protocol.file.allow=always submodule -q add ../source lib; git worktree add -q tree", root)
    sh(f"{COMMIT}; git clone -q ../source clone", root)
    return root


def bites(folder: Path) -> bool:
    """Whether git, as a person starts it there, runs what the test has put into a configuration."""
    for path in folder.parent.rglob("PWN"):
        path.unlink()
    subprocess.run(["git", "status"], cwd=folder, check=False, capture_output=True)
    return any(folder.parent.rglob("PWN"))


SPLIT = f"git update-index --split-index; {HIDDEN}; git update-index --split-index; (cd $P; {COMMIT} --allow-empty); git add -f $P"


@pytest.mark.parametrize("script", [HIDDEN, SPLIT], ids=["", "a split index"])
@pytest.mark.parametrize("folder", [".", "lib", "tree", "clone"])
@pytest.mark.parametrize("cache", [".tox", "__pycache__"])
def test_one_in_a_cache_that_an_index_lets_git_enter_is_disarmed(
    cache: str, folder: str, script: str, work: Path
) -> None:
    place = f"{cache}/x/y"
    assert list(after(work, f"cd {folder}; P={place}; {script}")) == [str(Path(folder, place, ".git"))]
    assert not bites(work / folder)
    assert not bites(work)


AWAY = {
    "into .git": ("mv clone .git/clone", ".git/clone"),
    "among objects": ("mkdir -p .git/objects/zz; mv clone .git/objects/zz", ".git/objects/zz/clone"),
    "into a cache": ("mkdir -p .tox/x; mv clone .tox/x", ".tox/x/clone"),
    "into another": ("mv clone lib/clone", "lib/clone"),
}


@pytest.mark.parametrize("link", [False, True], ids=["", "a link in its place"])
@pytest.mark.parametrize(("move", "place"), AWAY.values(), ids=AWAY.keys())
def test_one_that_is_moved_out_of_sight_is_followed(move: str, place: str, link: bool, work: Path) -> None:
    ours = f"; ln -s {place} clone" if link else ""
    assert list(after(work, f"{move}; (cd {place}; {EVIL}){ours}")) == [f"{place}/.git/config"]
    assert not bites(work / place)


@pytest.mark.parametrize("place", [".git/x", ".git/objects/zz/x", ".tox/x"])
def test_a_new_one_out_of_sight_is_disarmed_where_a_link_leads_to_it(place: str, work: Path) -> None:
    made = f"mkdir -p {place}; git init -q {place}/deep; (cd {place}/deep; {EVIL}); ln -s {place} new"
    assert list(after(work, made)) == [f"{place}/deep/.git"]
    assert not bites(work / "new/deep")


@pytest.mark.parametrize("name", ["refs", "logs", "objects", "lfs"])
def test_a_work_tree_that_is_called_like_a_part_of_a_repository_is_watched_too(name: str, work: Path) -> None:
    sh(f"git worktree add -q ../{name}", work)
    made = f"mkdir evil; cp -r .git/* evil; git --git-dir=evil {EVIL[4:]}; echo ../../../evil > .git/worktrees/{name}/commondir"
    assert f".git/worktrees/{name}/commondir" in after(work, made)
    assert not bites(work.parent / name)


LOOPS = [
    "mkdir -p e/worktrees q; ln -s w e/worktrees/w; echo gitdir: $PWD/e/worktrees/w > q/.git",
    "mkdir -p .git/worktrees/w; ln -s l l; echo ../../l/.git > .git/worktrees/w/gitdir",
    "mkdir q; ln -s .git q/.git; ln -s q .git/modules/q; ln -s . .git/modules/dot",
    f"mkdir -p .git/worktrees/w q; echo {'a' * 3000}/.git > .git/worktrees/w/gitdir; echo gitdir: {'a' * 3000} > q/.git",
]


@pytest.mark.parametrize("script", LOOPS, ids=["a work tree", "its mark", "modules", "long"])
def test_loops_and_names_that_are_too_long_keep_nothing_from_coming_back(script: str, work: Path) -> None:
    for _ in range(2):  # what one command leaves is what the next one finds
        before = remember(work)
        sh(f"{script}; {EVIL}", work)
        found = restore(work, before)
        assert ".git/config" in found.changed
        assert not found.faults
        sh("rm -rf e q l .git/worktrees/w", work)
    assert not bites(work)


@pytest.mark.parametrize("name", ["config", "hooks/own"])
def test_what_is_mounted_counts_as_safe_only_while_it_has_one_name(name: str, work: Path) -> None:
    file = work / ".git" / name
    file.write_text("old")
    (work / "other").hardlink_to(file)
    before = remember(work)
    (work / "other").write_text("evil")
    assert list(restore(work, before, mounted=True).changed) == [f".git/{name}"]
    assert (file.read_text(), (work / "other").read_text()) == ("old", "evil")


# ------------------------------------------------------------------ what cannot be put back


LOCKED = [(".",), (".git",), (".git/hooks",), ("deep",), (".git", "deep/low", "deep"), ("deep/low/.git",)]


@pytest.mark.parametrize("folders", LOCKED, ids=",".join)
def test_a_folder_that_a_command_locks_is_opened_for_that(folders: tuple[str, ...]) -> None:
    """As somebody who is not root: rights do not hold root."""
    base = Path(tempfile.mkdtemp(prefix="open-"))
    base.chmod(0o777)
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
            locked_and_restored(base / "work", folders)
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the parent sees the exit code
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    shutil.rmtree(base)
    assert os.waitstatus_to_exitcode(status) == 0


def locked_and_restored(root: Path, folders: tuple[str, ...]) -> None:
    marks = (root / ".git", root / "deep/low/.git")
    for mark in marks:
        (mark / "hooks").mkdir(parents=True)
        (mark / "config").write_text("old")
    before = remember(root)
    for mark in marks:
        (mark / "config").write_text("evil")
        (mark / "hooks/pre-commit").write_text("evil")
    for folder in folders:
        (root / folder).chmod(0)
    found = restore(root, before)
    assert (found.faults, found.lost) == ((), ())
    assert [(mark / "config").read_text() for mark in marks] == ["old", "old"]
    assert not [path for mark in marks for path in (mark / "hooks").iterdir()]


def no_room(path: Path, data: bytes) -> int:
    with path.open("wb") as file:
        file.write(data[:3])
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def test_without_room_the_file_that_stands_there_stays_and_the_rest_is_put_back(work, monkeypatch):
    before = remember(work)
    sh(
        f"{EVIL}; (cd clone; {EVIL}); for i in 1 2 3 4 5 6 7 8; do echo x > .git/hooks/$i; done; rm .git/hooks/*.sample",
        work,
    )
    stands = (work / ".git/config").read_bytes()
    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", no_room)
        found = restore(work, before)
    assert (work / ".git/config").read_bytes() == stands
    assert not list((work / ".git/hooks").iterdir())
    assert len(found.changed) == 8
    assert not list(work.rglob(".not-allowed-*"))
    assert {fault.errno for fault in found.faults} == {errno.ENOSPC}
    once = restore(work, before)  # there is room again
    assert not once.faults
    assert {".git/config", "clone/.git/config", ".git/hooks/pre-commit.sample"} <= {*once.changed}
    assert remember(work) == before


async def test_what_cannot_be_put_back_or_seen_is_told(work, monkeypatch):
    box = Confined(work, lambda: {"PATH": os.environ["PATH"]})
    box._found = Sandbox("landlock")
    monkeypatch.setattr(Sandbox, "wrap", lambda _, argv, **__: argv)
    monkeypatch.setattr(protected, "_write", lambda path, _: no_room(path.with_name("x"), b""))
    monkeypatch.setattr(repositories, "MOST", 40)
    script = f"{EVIL}; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit; mkdir many; cd many; seq 60 | xargs mkdir"
    result = await box(("sh", "-c", script), cwd=work, timeout=60, emit=None)
    assert [warning.partition(":")[0] for warning in result.warnings] == [
        "not allowed, and put back as it was",
        *["careful"] * 2,
    ]
    assert ".git/hooks/pre-commit" in result.warnings[0]
    assert "No space left" in result.warnings[1]
    assert "too many folders" in result.warnings[2]
