"""Receipts, copies and undo: exact, never over somebody's later change, and itself undoable."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.workspace.conftest import Desk
from tui_agent.core.codec import from_json, to_json
from tui_agent.core.policy import DEFAULT
from tui_agent.core.receipt import FileChange, Receipt
from tui_agent.core.types import Decision, ToolCall
from tui_agent.undo import undone
from tui_agent.workspace import committed, faults, index
from tui_agent.workspace.files import sha256
from tui_agent.workspace.receipts import Blobs, plan


def planned(desk, *receipts: Receipt) -> dict:
    return {step.path: step for step in asyncio.run(desk.workspace.plan_undo(receipts))}


def undo(desk, *receipts: Receipt) -> list[Receipt]:
    steps = asyncio.run(desk.workspace.plan_undo(receipts))
    outcomes = asyncio.run(desk.workspace.undo(steps))
    assert [outcome.status for outcome in outcomes] == ["applied"] * sum(step.possible for step in steps)
    return [outcome.receipt for outcome in outcomes]


def test_create_edit_delete_and_back_and_forth(desk) -> None:
    desk.put("edit.txt", "old\r\n")
    desk.put("delete.txt", b"\xff\0binary")
    desk.call("read_file", path="edit.txt")
    before = desk.tree()
    receipts = [
        desk.call("write_file", path="new/file.txt", content="new\n").receipt,
        desk.call("edit_file", path="edit.txt", old="old", new="middle").receipt,
        desk.call("edit_file", path="edit.txt", old="middle", new="last").receipt,
        desk.call("delete_file", path="delete.txt").receipt,
    ]
    after = desk.tree()
    assert {path: step.state for path, step in planned(desk, *receipts).items()} == {
        "new/file.txt": "ready",
        "edit.txt": "ready",
        "delete.txt": "ready",
    }
    back = undo(desk, *receipts)
    assert desk.tree() == before
    forth = undo(desk, *back)
    assert desk.tree() == after
    undo(desk, *forth)
    assert desk.tree() == before


def test_more_files_than_are_watched_are_said(command_desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index.take, "__defaults__", (2,))
    desk = command_desk(_nothing)
    for name in "abc":
        desk.put(name, name)
    outcome = desk.call("run_command", argv=["x"])
    assert outcome.receipt.unwatched
    assert outcome.note == "exit 0, too many files to watch them all"
    never = command_desk(_nothing, Result(exit_code=None, error="It could not be started."))
    assert never.call("run_command", argv=["x"]).note == "not started"
    (desk.root / "c").unlink()
    assert not desk.call("run_command", argv=["x"]).receipt.unwatched


def test_what_comes_back_has_the_permissions_that_it_had(command_desk) -> None:
    desk = command_desk(lambda cwd: (cwd / "secret.sh").unlink())
    for name, mode in (("run.sh", 0o755), ("secret.sh", 0o700)):
        desk.put(name, "#!/bin/sh\n").chmod(mode)
        desk.call("read_file", path=name)
    receipts = [desk.call("delete_file", path="run.sh").receipt, desk.call("run_command", argv=["rm"]).receipt]
    back = undo(desk, *receipts)
    modes = {path.name: path.stat().st_mode & 0o777 for path in desk.root.iterdir()}
    assert modes == {"run.sh": 0o755, "secret.sh": 0o700}
    undo(desk, *undo(desk, *back))
    assert {path.name: path.stat().st_mode & 0o777 for path in desk.root.iterdir()} == modes


def test_folders_that_were_made_go_with_their_last_file_and_come_back(desk) -> None:
    (desk.root / "old").mkdir()
    receipts = [
        desk.call("write_file", path=path, content="x\n").receipt for path in ("old/a/b/1.txt", "old/a/2.txt", "3.txt")
    ]
    assert [r.folders for r in receipts] == [("old/a", "old/a/b"), (), ()]
    back = undo(desk, *receipts)
    assert [p.name for p in desk.root.rglob("*")] == ["old"]
    again = undo(desk, *back)
    assert sorted(desk.tree()) == ["3.txt", "old/a/2.txt", "old/a/b/1.txt"]
    desk.put("old/a/mine.txt", "mine\n")
    undo(desk, *again)
    assert sorted(str(p.relative_to(desk.root)) for p in desk.root.rglob("*")) == ["old", "old/a", "old/a/mine.txt"]


def test_folders_that_were_made_go_when_their_file_is_gone_already(desk) -> None:
    receipts = [
        desk.call("write_file", path="a/b/1.txt", content="x\n").receipt,
        desk.call("delete_file", path="a/b/1.txt").receipt,
    ]
    other = desk.call("write_file", path="c/2.txt", content="x\n").receipt
    (desk.root / "c/2.txt").unlink()
    kept = desk.call("write_file", path="d/3.txt", content="x\n").receipt
    desk.put("d/3.txt", "mine\n")
    assert [step.state for step in planned(desk, *receipts, other, kept).values()] == ["same", "same", "changed"]
    steps = asyncio.run(desk.workspace.plan_undo([*receipts, other, kept]))
    asyncio.run(desk.workspace.undo([step for step in steps if step.state == "same"]))
    assert sorted(str(p.relative_to(desk.root)) for p in desk.root.rglob("*")) == ["d", "d/3.txt"]


def test_undo_to_the_middle(desk) -> None:
    first = desk.call("write_file", path="a.txt", content="one\n").receipt
    second = desk.call("write_file", path="a.txt", content="two\n").receipt
    third = desk.call("write_file", path="a.txt", content="three\n").receipt
    undo(desk, second, third)
    assert desk.tree() == {"a.txt": b"one\n"}
    assert first.after == second.before


def test_a_later_change_of_the_person_is_named_and_kept(desk) -> None:
    desk.put("a.txt", "old\n")
    desk.call("read_file", path="a.txt")
    receipt = desk.call("edit_file", path="a.txt", old="old", new="new").receipt
    desk.put("a.txt", "mine\n")
    steps = asyncio.run(desk.workspace.plan_undo([receipt]))
    assert [step.state for step in steps] == ["changed"]
    assert desk.tree() == {"a.txt": b"mine\n"}
    asyncio.run(desk.workspace.undo(steps))  # after the person said yes to this file
    assert desk.tree() == {"a.txt": b"old\n"}


def test_a_change_between_two_of_ours_is_named(desk) -> None:
    first = desk.call("write_file", path="a.txt", content="one\n").receipt
    desk.put("a.txt", "mine\n")
    desk.call("read_file", path="a.txt")
    second = desk.call("write_file", path="a.txt", content="two\n").receipt
    assert planned(desk, first, second)["a.txt"].state == "changed"
    assert planned(desk, second)["a.txt"].state == "ready"


def test_a_change_after_the_plan_stops_its_step(desk) -> None:
    receipt = desk.call("write_file", path="a.txt", content="one\n").receipt
    steps = asyncio.run(desk.workspace.plan_undo([receipt]))
    desk.put("a.txt", "mine\n")
    (outcome,) = asyncio.run(desk.workspace.undo(steps))
    assert outcome.status == "refused"
    assert desk.tree() == {"a.txt": b"mine\n"}


def test_copies_survive_the_process_and_are_private(make_desk, tmp_path: Path) -> None:
    folder = tmp_path / "session/blobs"
    desk = make_desk(blobs=folder)
    desk.put("a.txt", "old\n")
    desk.call("read_file", path="a.txt")
    receipt = desk.call("edit_file", path="a.txt", old="old", new="new").receipt
    assert {path.name for path in folder.iterdir()} == {receipt.before, receipt.after}
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    later = make_desk(blobs=folder)
    undo(later, from_json(Receipt, to_json(receipt)))
    assert later.tree() == {"a.txt": b"old\n"}


def test_the_copy_is_on_disk_before_the_file_changes(make_desk, tmp_path: Path) -> None:
    folder, seen = tmp_path / "blobs", []
    desk = make_desk(blobs=folder, reach=lambda point: seen.append((point, len(list(folder.glob("[0-9a-f]*"))))))
    desk.put("a.txt", "old\n")
    desk.call("read_file", path="a.txt")
    desk.call("edit_file", path="a.txt", old="old", new="new")
    assert ("commit", 2) in seen


def test_a_copy_that_cannot_be_kept_is_said_and_the_edit_still_happens(make_desk, tmp_path: Path) -> None:
    def reach(point: str) -> None:
        if point == "blob":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    desk = make_desk(blobs=tmp_path / "blobs", reach=reach)
    outcome = desk.call("write_file", path="a.txt", content="x\n")
    assert outcome.status == "applied"
    assert outcome.note.count("no undo: the copy could not be written: No space left on device") == 1
    assert planned(desk, replace(outcome.receipt, before="0" * 64))["a.txt"].state == "lost"


def test_copies_are_capped_and_checked(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "b", limit=100)
    assert blobs.put(b"x" * 60) is None
    assert blobs.put(b"x" * 60) is None
    assert "limit" in (blobs.put(b"y" * 60) or "")
    assert "limit" in (Blobs(tmp_path / "b", limit=100).put(b"y" * 60) or "")
    name = next((tmp_path / "b").iterdir())
    assert blobs.get(name.name) == b"x" * 60
    name.write_bytes(b"damaged")
    assert blobs.get(name.name) is None
    assert Blobs().get("none") is None


VERSIONS = st.sampled_from([None, b"a\n", b"b\n", b"c\n"])


@examples(50)
@given(start=VERSIONS, steps=st.lists(st.tuples(st.sampled_from(["x", "y"]), VERSIONS), min_size=1, max_size=6))
def test_undoing_everything_restores_the_start(start: bytes | None, steps: list[tuple[str, bytes | None]]) -> None:
    blobs, disk, receipts = Blobs(), {"x": start, "y": None}, []
    for number, (path, new) in enumerate(steps):
        old = disk[path]
        for data in (old, new):
            if data is not None:
                blobs.put(data)
        receipts.append(Receipt(str(number), "c", "t", {}, path, _hash(old), _hash(new)))
        disk[path] = new
    for step in plan(receipts, lambda path: _hash(disk[path]), blobs.__contains__):
        assert step.state in {"ready", "same"}
        disk[step.path] = None if step.target is None else blobs.get(step.target)
    assert disk == {"x": start, "y": None}


def _hash(data: bytes | None) -> str | None:
    import hashlib

    return None if data is None else hashlib.sha256(data).hexdigest()


# ------------------------------------------------------------------ commands


@dataclass
class Result:
    exit_code: int | None = 0
    timed_out: bool = False
    interrupted: bool = False
    output: str = ""
    duration: float = 0.25
    error: str | None = None
    killed: tuple[int, ...] = ()
    sandbox: str = ""
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@pytest.fixture
def command_desk(make_desk):
    """A desk whose runner does what `action` says instead of running anything; git runs for real."""

    def make(action, result: Result | None = None):
        async def run(argv, *, cwd, timeout, emit):
            if argv[0] == "git":
                return _git_result(argv, cwd)
            emit("live\n")
            action(cwd)
            return result or Result(output="done\n")

        return make_desk(run=run)

    return make


def _nothing(cwd: Path) -> None:
    """A command without consequences."""


def _git_result(argv, cwd) -> Result:
    done = subprocess.run(argv, cwd=cwd, capture_output=True, check=False)
    return Result(done.returncode, output=done.stdout.decode("utf-8", "surrogateescape"))


def sed(cwd: Path) -> None:
    (cwd / "read.txt").write_text("changed by sed\n")
    (cwd / "unread.txt").write_text("changed by sed\n")
    (cwd / "made.txt").write_text("made\n")
    (cwd / "removed.txt").unlink()


def test_what_a_command_changed_is_in_its_receipt_and_undone_where_known(command_desk) -> None:
    desk = command_desk(sed)
    for name in ("read.txt", "unread.txt", "removed.txt", "same.txt"):
        desk.put(name, f"{name}\n")
    desk.call("read_file", path="read.txt")
    desk.call("read_file", path="removed.txt")
    outcome = desk.call("run_command", argv=["sed", "-i", "..."])
    assert (outcome.status, outcome.text, outcome.note) == ("applied", "done\n(exit 0)", "exit 0, 4 files changed")
    receipt = outcome.receipt
    assert (receipt.exit_code, receipt.duration, receipt.path) == (0, 0.25, None)
    assert [change.path for change in receipt.changed] == ["made.txt", "read.txt", "removed.txt", "unread.txt"]
    assert from_json(Receipt, to_json(receipt)) == receipt
    steps = planned(desk, receipt)
    assert steps["unread.txt"].words == "changed by a command, cannot be restored"
    states = {path: step.state for path, step in steps.items()}
    assert states == {"made.txt": "ready", "read.txt": "ready", "removed.txt": "ready", "unread.txt": "command"}
    undo(desk, receipt)
    assert desk.tree() == {
        "read.txt": b"read.txt\n",
        "removed.txt": b"removed.txt\n",
        "same.txt": b"same.txt\n",
        "unread.txt": b"changed by sed\n",
    }


def test_a_file_that_was_read_comes_back_to_between_two_commands_and_to_what_the_person_wrote(command_desk) -> None:
    texts = iter(["one\n", "two\n", "three\n"])
    desk = command_desk(lambda cwd: (cwd / "a.txt").write_text(next(texts)))
    desk.put("a.txt", "begin\n")
    desk.call("read_file", path="a.txt")
    first, second = (desk.call("run_command", argv=["x"]).receipt for _ in range(2))
    (desk.root / "a.txt").write_text("by hand\n")
    third = desk.call("run_command", argv=["x"]).receipt
    assert planned(desk, third)["a.txt"].state == "ready"
    undo(desk, third)
    assert desk.tree() == {"a.txt": b"by hand\n"}
    assert planned(desk, first, second)["a.txt"].state == "changed"  # never over what the person wrote without asking
    (desk.root / "a.txt").write_text("two\n")
    undo(desk, second)
    assert desk.tree() == {"a.txt": b"one\n"}
    undo(desk, first)
    assert desk.tree() == {"a.txt": b"begin\n"}


def test_what_an_undo_wrote_back_is_known_as_far_as_it_was_read(command_desk) -> None:
    desk = command_desk(lambda cwd: (cwd / "a.txt").write_text("one\n"))
    desk.put("a.txt", "begin\n")
    desk.call("read_file", path="a.txt")
    (desk.root / "a.txt").write_text("by hand\n")
    receipt = desk.call("run_command", argv=["x"]).receipt
    desk.call("read_file", path="a.txt")
    undo(desk, receipt)
    assert desk.tree() == {"a.txt": b"by hand\n"}
    for change in (("write_file", {"content": "mine\n"}), ("edit_file", {"old": "by", "new": "my"})):
        outcome = desk.call(change[0], path="a.txt", **change[1])
        assert (outcome.status, "has changed since it was read" in outcome.text) == ("refused", True)
    assert desk.tree() == {"a.txt": b"by hand\n"}
    desk.call("read_file", path="a.txt")
    written = desk.call("write_file", path="a.txt", content="mine\n").receipt
    undo(desk, written)
    assert desk.call("write_file", path="a.txt", content="mine\n").status == "applied"


def test_after_a_command_changed_a_file_it_must_be_read_again(command_desk) -> None:
    desk = command_desk(sed)
    for name in ("read.txt", "unread.txt", "removed.txt"):
        desk.put(name, f"{name}\n")
    desk.call("read_file", path="read.txt")
    desk.call("run_command", argv=["sed"])
    assert "changed since it was read" in desk.call("edit_file", path="read.txt", old="sed", new="x").text


def test_secrets_are_not_copied_because_a_command_runs(command_desk, tmp_path: Path) -> None:
    desk = command_desk(lambda cwd: (cwd / ".env").write_text("TOKEN=2\n"))
    desk.put(".env", "TOKEN=1\n")
    desk.call("read_file", path=".env")
    receipt = desk.call("run_command", argv=["x"]).receipt
    assert planned(desk, receipt)[".env"].state == "lost"


def test_a_command_that_did_not_start(command_desk) -> None:
    desk = command_desk(_nothing, Result(None, error="There is no program x."))
    outcome = desk.call("run_shell", script="x")
    assert (outcome.status, outcome.note) == ("error", "not started")
    assert "There is no program x." in outcome.text


def test_a_refused_command_says_command(command_desk) -> None:
    desk = command_desk(_nothing)
    desk.answer = "no"
    assert desk.call("run_command", argv=["x"]).text == "user rejected the command"


def git(root: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=root, check=True, capture_output=True
    )


def test_files_clean_in_git_are_restored_though_nobody_read_them(command_desk) -> None:
    def action(cwd: Path) -> None:
        for name in ("clean.txt", "dirty.txt", "binary.dat", "sub/café.txt"):
            (cwd / name).write_text("changed\n")

    desk = command_desk(action)
    for name, content in (
        ("clean.txt", "clean\r\n"),
        ("dirty.txt", "x\n"),
        ("sub/café.txt", "é\n"),
        ("binary.dat", b"\xff\0"),
    ):
        desk.put(name, content)
        os.utime(desk.root / name, (1_000_000_000, 1_000_000_000))
    git(desk.root, "init", "-q")
    git(desk.root, "-c", "core.autocrlf=false", "add", ".")
    desk.put("dirty.txt", "not committed\n")
    receipt = desk.call("run_command", argv=["x"]).receipt
    states = {path: step.state for path, step in planned(desk, receipt).items()}
    assert states == {"clean.txt": "ready", "dirty.txt": "command", "binary.dat": "ready", "sub/café.txt": "ready"}
    undo(desk, receipt)
    assert (desk.tree()["clean.txt"], desk.tree()["binary.dat"]) == (b"clean\r\n", b"\xff\0")
    assert desk.tree()["sub/café.txt"] == "é\n".encode()
    assert desk.tree()["dirty.txt"] == b"changed\n"


@pytest.mark.parametrize("where", ["sub", "tree", "tree/sub"])
def test_a_folder_inside_a_repository_or_a_further_work_tree_of_it_does_as_well(where: str, make_desk) -> None:
    async def run(argv, *, cwd, timeout, emit):
        if argv[0] == "git":
            return _git_result(argv, cwd)
        (cwd / "a.txt").write_text("changed\n")
        return Result()

    top = make_desk().root
    for name in ("a.txt", "sub/a.txt"):
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text(f"{name}\n")
    git(top, "init", "-q")
    git(top, "add", ".")
    git(top, "commit", "-qm", "first")
    if where.startswith("tree"):
        git(top, "worktree", "add", "-q", "tree")
    root = top / where
    old = (root / "a.txt").read_bytes()
    desk = Desk(root, {"run": run})
    undo(desk, desk.call("run_command", argv=["x"]).receipt)
    assert (root / "a.txt").read_bytes() == old


@pytest.mark.parametrize("edited", [False, True])
def test_a_file_that_may_have_changed_since_git_looked_is_looked_into(edited: bool, command_desk) -> None:
    desk = command_desk(lambda cwd: (cwd / "a.txt").write_text("changed\n"))
    desk.put("a.txt", "old\n")
    git(desk.root, "init", "-q")
    git(desk.root, "add", ".")
    at = (desk.root / "a.txt").stat().st_mtime_ns
    if edited:
        (desk.root / "a.txt").write_text("new\n")
    for name in (".git/index", "a.txt"):
        os.utime(desk.root / name, ns=(at, at))
    receipt = desk.call("run_command", argv=["x"]).receipt
    assert planned(desk, receipt)["a.txt"].state == ("command" if edited else "ready")


@given(st.binary(max_size=400))
def test_any_bytes_are_an_index_that_can_be_read(data: bytes) -> None:
    for head in (b"", b"DIRC\0\0\0\2\0\0\0\3", b"DIRC\0\0\0\3\xff\xff\xff\xff"):
        assert isinstance(committed.parse(head + data), dict)


def test_unknown_bytes_are_written_as_such() -> None:
    receipt = Receipt("1", "c", "run_command", {}, changed=(FileChange("a", "", None), FileChange("b", None, "x")))
    steps = plan([receipt], lambda path: None if path == "a" else "x", frozenset().__contains__)
    assert [(step.path, step.state, step.target) for step in steps] == [("a", "command", None), ("b", "ready", None)]


def test_a_command_that_was_interrupted_leaves_a_receipt_of_what_it_changed(make_desk) -> None:
    started = asyncio.Event()

    async def forever(argv, *, cwd, timeout, emit):
        (cwd / "made.txt").write_text("half\n")
        started.set()
        await asyncio.Event().wait()

    desk = make_desk(run=forever)

    async def go():
        request = await desk.workspace.prepare(ToolCall("c", "run_command", {"argv": ["x"]}))
        task = asyncio.ensure_future(desk.workspace.commit(request, Decision(request.id, "yes"), lambda _: None))
        await started.wait()
        task.cancel()
        return await task

    outcome = asyncio.run(go())
    assert (outcome.status, outcome.note) == ("error", "stopped")
    assert [change.path for change in outcome.receipt.changed] == ["made.txt"]
    assert outcome.receipt.exit_code is None
    undo(desk, outcome.receipt)
    assert desk.tree() == {}


def test_in_a_folder_that_is_not_trusted_undo_runs_no_git(make_desk) -> None:
    ran = []

    async def run(argv, *, cwd, timeout, emit):
        ran.append(argv)
        raise AssertionError

    desk = make_desk(run=run, permissions=replace(DEFAULT, trusted=False))
    desk.put("a.txt", "changed\n")
    receipt = Receipt("1", "c", "run_command", {}, changed=(FileChange("a.txt", "git:" + "0" * 40, "x"),))
    assert planned(desk, receipt)["a.txt"].state == "command"
    assert ran == []


def test_receipts_say_how_long_it_took_and_who_said_yes(desk) -> None:
    receipt = desk.call("write_file", path="a.txt", content="x\n").receipt
    assert receipt.duration > 0
    assert receipt.by == "key"


@examples(40)
@given(data=st.binary(max_size=50), damage=st.binary(max_size=50), first=st.booleans())
def test_a_copy_is_held_only_while_it_can_be_given_back(data: bytes, damage: bytes, first: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        blobs = Blobs(Path(folder))
        name = sha256(data)
        assert blobs.put(data) is None
        assert not first or name in blobs
        Path(folder, name).write_bytes(damage)
        os.utime(Path(folder, name), ns=(1, 1))
        assert (name in blobs) == (damage == data) == (blobs.get(name) is not None)
        assert blobs.put(data) is None  # mended, or said to be missing
        assert blobs.get(name) == data


def test_a_damaged_copy_is_no_promise_and_is_mended_by_the_next_edit(tmp_path: Path, make_desk) -> None:
    desk = make_desk(blobs=tmp_path / "blobs")
    desk.put("f", "old\n")
    desk.call("read_file", path="f")
    receipt = desk.call("write_file", path="f", content="new\n").receipt
    (tmp_path / "blobs" / receipt.before).write_bytes(b"")
    assert [step.state for step in planned(desk, receipt).values()] == ["lost"]
    desk.put("f", "old\n")
    desk.call("read_file", path="f")
    again = desk.call("write_file", path="f", content="other\n").receipt
    undo(desk, again)
    assert desk.tree() == {"f": b"old\n"}


def test_a_failed_look_after_the_rename_is_a_doubt_and_leaves_a_receipt(make_desk) -> None:
    desk = make_desk(reach=faults.from_text("seen:1:EIO"))
    outcome = desk.call("write_file", path="f", content="new\n")
    assert (outcome.status, outcome.receipt.after) == ("error", sha256(b"new\n"))
    assert "was written" in outcome.text
    assert "did not confirm" in outcome.text
    undo(desk, outcome.receipt)
    assert desk.tree() == {}


def test_an_undo_that_the_disk_did_not_confirm_is_recorded(make_desk) -> None:
    desk = make_desk(reach=faults.from_text("fsync_dir:2:EIO"))
    receipt = desk.call("write_file", path="f", content="new\n").receipt
    steps = asyncio.run(desk.workspace.plan_undo([receipt]))
    outcomes = asyncio.run(desk.workspace.undo(steps))
    assert [r.path for r in undone(1, steps, outcomes).receipts] == ["f"]
