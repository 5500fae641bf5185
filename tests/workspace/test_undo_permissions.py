"""Undo of what is not bytes: permissions, links, folders that files took the place of and the other way round."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.workspace.test_undo import command_desk, git, planned, undo
from tui_agent.core.codec import from_json, to_json
from tui_agent.core.receipt import Receipt

__all__ = ["command_desk"]


def tree(root: Path) -> dict[str, tuple[object, ...]]:
    """All of a folder: kinds, permissions, contents, targets."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        what = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(root))] = (what, oct(path.lstat().st_mode))
    return found


def sh(script: str) -> Callable[[Path], object]:
    return lambda cwd: subprocess.run(["/bin/sh", "-c", script], cwd=cwd, check=True)


@pytest.mark.parametrize(
    "script",
    [
        "echo y >> conf; chmod 666 conf",
        "chmod 755 conf",
        "chmod 000 other",
        "echo y > other; chmod 444 other",
        "rm conf; echo z > conf; chmod 777 conf",
        "rm -r dd; echo q > dd",
        "rm conf; mkdir conf; echo q > conf/q",
        "rm conf; mkdir -p conf/a; echo q > conf/a/q; echo r > conf/r",
        "mv dd z",
        "mkdir -p new/er; echo n > new/er/n",
        "rm -r dd conf",
    ],
)
def test_after_an_undo_nothing_is_another_and_after_a_redo_all_is(command_desk, script: str) -> None:
    desk = command_desk(sh(script))
    for name, mode in (("conf", 0o600), ("other", 0o644), ("dd/f", 0o640), ("dd/inner/g", 0o644)):
        desk.put(name, f"{name}\n").chmod(mode)
        desk.call("read_file", path=name)
    before = tree(desk.root)
    receipt = desk.call("run_shell", script=script).receipt
    after = tree(desk.root)
    assert after != before
    back = undo(desk, receipt)
    assert tree(desk.root) == before
    undo(desk, *back)
    assert tree(desk.root) == after


@pytest.mark.parametrize(
    ("script", "named"),
    [
        ("chmod 755 unread", {"unread"}),
        ("rm link", {"link"}),
        ("ln -sfn nowhere link", {"link"}),
        ("ln -s read added", {"added"}),
        ("rm read; ln -s unread read", {"read"}),
        ("rm link; echo x > link", {"link"}),
        ("touch -h link", set()),
    ],
)
def test_links_and_permissions_that_a_command_changed_are_named(command_desk, script: str, named: set[str]) -> None:
    desk = command_desk(sh(script))
    desk.put("read", "r\n")
    desk.put("unread", "u\n")
    (desk.root / "link").symlink_to("read")
    desk.call("read_file", path="read")
    receipt = desk.call("run_shell", script=script).receipt
    assert set(receipt.touched) == named
    assert from_json(Receipt, to_json(receipt)) == receipt
    steps = planned(desk, receipt)
    assert set(steps) == named
    for step in steps.values():
        assert step.state == {"unread": "ready", "link": "command"}.get(step.path, "link")
        if step.state == "link":
            gone = "cannot be restored: a link has taken its place"
            assert step.words == (gone if step.path == "read" else "stays: a link")


OWN = {"data.db": "years of work\n", "notes/a": "my notes\n", "src/x.log": "x\n", "plain": "p\n", "src/y": "y\n"}


@pytest.mark.parametrize(
    ("script", "gone"),
    [
        ("echo '*.pyc' > .gitignore", set()),
        ("rm .gitignore src/.gitignore", set()),
        ("echo '*' > .gitignore", set()),
        ("echo '*' > src/.gitignore", set()),
        ("rm -r src/.gitignore; echo '!data.db' >> .gitignore", set()),
        ("mv notes shown", {"notes"}),
        ("mv data.db data.txt", {"data.db"}),
        ("mv plain p2; mv src src2", {"plain", "src"}),
        ("chmod 755 shut", set()),
    ],
)
def test_what_only_came_into_sight_was_not_created(command_desk, script: str, gone: set[str]) -> None:
    """Undo without a yes never deletes a file that was there before, wherever it was hidden, nor says that one is gone."""
    desk = command_desk(sh(script))
    desk.put(".gitignore", "data.db\nnotes/\n*.pyc\n")
    desk.put("src/.gitignore", "*.log\n")
    desk.put("shut/f", "f\n")
    (desk.root / "shut").chmod(0)
    for path, text in OWN.items():
        desk.put(path, text)
        os.utime(desk.root / path, (1e9, 1e9))
    os.utime(desk.root / "notes", (1e9, 1e9))
    desk.call("read_file", path=".gitignore")
    receipt = desk.call("run_shell", script=script).receipt
    (desk.root / "shut").chmod(0o755)
    texts = sorted(path.read_text() for path in desk.root.rglob("*") if path.is_file() and path.name != ".gitignore")
    ready = [step for step in planned(desk, receipt).values() if step.state == "ready"]
    assert all(step.path.endswith(".gitignore") for step in ready)
    asyncio.run(desk.workspace.undo(ready))
    assert texts == sorted(
        path.read_text() for path in desk.root.rglob("*") if path.is_file() and path.name != ".gitignore"
    )
    named = {
        change.path for change in receipt.changed if change.after is None and not change.path.endswith(".gitignore")
    }
    assert {path.split("/")[0] for path in named} <= gone
    assert (".gitignore" in receipt.touched) is (" .gitignore" in script)


def test_what_a_command_moves_is_moved_back(command_desk) -> None:
    desk = command_desk(sh("mv read moved; echo n > new"))
    os.utime(desk.put("read", "r\n"), (1e9, 1e9))
    desk.call("read_file", path="read")
    receipt = desk.call("run_shell", script="x").receipt
    assert {step.path: step.state for step in planned(desk, receipt).values()} == dict.fromkeys(
        ("read", "moved", "new"), "ready"
    )


@pytest.mark.parametrize("again", ["echo two > made", "echo one > made", "chmod 600 made", "mv made other", "rm made"])
@pytest.mark.parametrize("mine", [False, True])
def test_what_two_commands_wrote_nobody_else_has_changed(command_desk, again: str, mine: bool) -> None:
    """And what the person wrote between the two asks before it is deleted."""
    scripts = iter(("echo one > made", again))

    def run_next(cwd: Path) -> None:
        sh(next(scripts))(cwd)

    desk = command_desk(run_next)
    first = desk.call("run_shell", script="x").receipt
    if mine:
        desk.put("made", "by the person\n")
    second = desk.call("run_shell", script="x").receipt
    steps = planned(desk, first, second)
    if not mine:
        assert second.touched == () or second.changed[-1].before in {first.changed[0].after, None}
        assert {step.state for step in steps.values()} <= {"ready", "same"}
        undo(desk, first, second)
        assert tree(desk.root) == {}
    elif again.startswith("echo"):
        assert steps["made"].words == "may be yours; undo would overwrite that"


@pytest.mark.parametrize(
    ("script", "state"),
    [("rm my.db", "ready"), ("echo x > my.db", "ready"), ("chmod 600 my.db", "ready"), ("rm out/o", "ready")],
)
def test_what_the_session_has_read_is_watched_though_it_is_ignored(command_desk, script: str, state: str) -> None:
    desk = command_desk(sh(script))
    desk.put(".gitignore", "*.db\nout/\n")
    for path in ("my.db", "out/o"):
        desk.put(path, "bytes\n").chmod(0o644)
        desk.call("read_file", path=path)
    before = tree(desk.root)
    receipt = desk.call("run_shell", script=script).receipt
    assert {step.path: step.state for step in planned(desk, receipt).values()} == {script.rsplit(maxsplit=1)[-1]: state}
    undo(desk, receipt)
    assert tree(desk.root) == before


FORGED = "touch -r {0} .r; printf 'EVIL\\n' > {0}; touch -r .r {0}; rm .r"


@pytest.mark.parametrize(("path", "state"), [("read", "ready"), ("unread", "command")])
@pytest.mark.parametrize("more", ["", "; chmod 755 {0}"])
def test_times_that_are_set_back_hide_nothing(command_desk, path: str, state: str, more: str) -> None:
    script = (FORGED + more).format(path)
    desk = command_desk(sh(script))
    for name in ("read", "unread"):
        desk.put(name, "good\n").chmod(0o644)
    desk.call("read_file", path="read")
    receipt = desk.call("run_shell", script=script).receipt
    assert receipt.touched == (path,)
    if path == "read" or not more:  # with other permissions nobody can say of bytes that nobody knew
        assert planned(desk, receipt)[path].state == state
    undo(desk, receipt)
    assert (desk.root / "read").read_text() == "good\n"


def test_only_the_inode_changed_and_the_bytes_are_known(command_desk) -> None:
    desk = command_desk(sh("touch read; ln read other; ln clean linked; rm linked"))
    desk.put("read", "r\n")
    desk.put("clean", "c\n")
    for words in (("init", "-q"), ("add", "clean"), ("commit", "-qm", "x")):
        git(desk.root, *words)
    os.utime(desk.root / ".git/index", (4e9, 4e9))  # younger than its files: then they are certain
    desk.call("read_file", path="read")
    assert desk.call("run_shell", script="x").receipt.touched == ("other",)


def test_a_file_that_the_person_replaced_is_asked_about_before_its_permissions_go_back(command_desk) -> None:
    desk = command_desk(sh("chmod 755 f"))
    desk.put("f", "old\n").chmod(0o644)
    receipt = desk.call("run_shell", script="x").receipt
    assert planned(desk, receipt)["f"].state == "ready"
    desk.put("f", "the person's own\n").chmod(0o755)
    assert planned(desk, receipt)["f"].state == "changed"


@pytest.mark.parametrize("script", ["chmod 666 f", "echo new > f"])
@pytest.mark.parametrize("meanwhile", ["locked", "rewritten", "replaced"])
def test_what_the_person_does_between_the_plan_and_the_key_stays(command_desk, script: str, meanwhile: str) -> None:
    desk = command_desk(sh(script))
    file = desk.put("f", "old\n")
    file.chmod(0o600)
    desk.call("read_file", path="f")
    receipt = desk.call("run_shell", script=script).receipt
    steps = tuple(planned(desk, receipt).values())
    assert [step.state for step in steps] == ["ready"]
    if meanwhile == "locked":
        file.chmod(0o400)
    elif meanwhile == "rewritten":
        file.write_text("the person's own\n")
    else:
        desk.put("mine", "the person's own\n").chmod(0o600)
        (desk.root / "mine").rename(file)
    before = tree(desk.root)
    assert [outcome.status for outcome in asyncio.run(desk.workspace.undo(steps))] == ["refused"]
    assert tree(desk.root) == before


def test_where_only_permissions_go_back_the_text_is_shown_as_it_is(command_desk) -> None:
    desk = command_desk(sh("chmod 755 f"))
    desk.put("f", "old\n").chmod(0o600)
    (step,) = planned(desk, desk.call("run_shell", script="x").receipt).values()
    desk.put("f", "newer\n")
    assert asyncio.run(desk.workspace.versions(replace(step, target="0" * 64, now="0" * 64))) == (b"newer\n",) * 2


def test_a_folder_that_a_command_made_is_in_its_receipt(command_desk) -> None:
    desk = command_desk(sh("mkdir -p a/b"))
    assert desk.call("run_shell", script="x").receipt.folders == ("a", "a/b")


def test_permissions_that_the_person_changed_stay_or_are_asked_about(command_desk) -> None:
    desk = command_desk(sh("chmod 755 f"))
    file = desk.put("f", "old\n")
    file.chmod(0o600)
    desk.call("read_file", path="f")
    edit = desk.call("write_file", path="f", content="new\n").receipt
    file.chmod(0o640)
    undo(desk, edit)
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("old\n", 0o640)
    command = desk.call("run_shell", script="x").receipt
    file.chmod(0o644)
    assert [step.state for step in planned(desk, command).values()] == ["changed"]


def test_a_file_that_the_person_made_read_only_is_asked_about(desk) -> None:
    file = desk.put("f", "old\n")
    desk.call("read_file", path="f")
    edit = desk.call("write_file", path="f", content="new\n").receipt
    file.chmod(0o444)
    (step,) = planned(desk, edit).values()
    assert step.state == "changed"
    assert [outcome.status for outcome in asyncio.run(desk.workspace.undo([step]))] == ["applied"]  # after a yes
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("old\n", 0o444)
