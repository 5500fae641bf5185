"""A process that dies in the middle of an effect: whatever is on the disk then has a receipt, and undo knows it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.workspace.conftest import Desk
from tui_agent.core import events as ev
from tui_agent.core import fold, unfinished
from tui_agent.core.codec import from_json, to_json
from tui_agent.core.log import FileLog
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import BACKGROUND, AssistantMessage, ToolCall
from tui_agent.sessions import Place, fork
from tui_agent.undo import state
from tui_agent.workspace import aftermath, faults, index

POINTS = ["blob:1", "blob:2", "commit:1", "mkdir:1", "mkdir:2", "temp:1", "write:2", "fsync:1"]
POINTS += ["rename:1", "unlink:1", "fsync_dir:1", "fsync_dir:2", "seen:1"]
EFFECTS = {
    "create": ("write_file", {"path": "a/b/new.txt", "content": "new\n"}),
    "edit": ("write_file", {"path": "old.txt", "content": "new\n"}),
    "delete": ("delete_file", {"path": "old.txt"}),
}


def whole(root: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(root)): p.read_bytes() if p.is_file() else None for p in sorted(root.rglob("*"))}


def dies(work: Callable[[], object]) -> int:
    """Do something in a child process; its exit code."""
    if (pid := os.fork()) == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def desk(base: Path, log: FileLog, **options: object) -> Desk:
    (base / "ws").mkdir(exist_ok=True)
    return Desk(base / "ws", {"blobs": base / "blobs", "temporary": base / "writing", "journal": log.append, **options})


def resumed(base: Path) -> tuple[Desk, list[ev.Durable]]:
    """The session is opened again: the workspace, and the events that made up for what was missing."""
    log = FileLog(base / "log/log.jsonl")
    again, known, made = desk(base, log), unfinished.known(log.events), []
    for begun in unfinished.left(log.events):
        made += unfinished.ends(begun, again.workspace.aftermath(begun, known), log.events)
    for event in made:
        log.append(event)
    assert unfinished.left(log.events) == ()
    return again, made


def undo(desk: Desk, receipts: list[Receipt]) -> list[str]:
    plan = asyncio.run(desk.workspace.plan_undo(receipts))
    asyncio.run(desk.workspace.undo(step for step in plan if step.state == "ready"))
    return [step.state for step in plan]


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("point", POINTS)
def test_killed_anywhere_in_a_change_what_is_on_the_disk_has_its_receipt(
    tmp_path: Path, effect: str, point: str
) -> None:
    tool, arguments = EFFECTS[effect]
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/old.txt").write_text("old\n")
    before = whole(tmp_path / "ws")

    def work() -> None:
        log = FileLog(tmp_path / "log/log.jsonl")
        log.append(ev.UserSaid("go"))
        at_work = desk(tmp_path, log, reach=faults.from_text(point))
        at_work.call("read_file", path="old.txt")
        at_work.call(tool, **arguments)

    dies(work)  # at the point, or, where the change does not pass it, before its end was recorded
    again, made = resumed(tmp_path)
    now = whole(tmp_path / "ws")
    receipts = list(fold.receipts(made))
    if now == before:
        assert receipts == []
        return
    assert [(r.path, r.interrupted) for r in receipts] == [(arguments["path"], True)]
    assert [event.status for event in made if isinstance(event, ev.ToolDone)] == ["applied"]
    assert undo(again, receipts) == ["ready"]
    assert whole(tmp_path / "ws") == before


def test_a_command_that_was_killed_names_what_changed_since_it_began(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    for name in ("read.txt", "gone.txt", "other.txt", "still.txt"):
        (tmp_path / "ws" / name).write_text("old\n")
        os.utime(tmp_path / "ws" / name)
    before = whole(tmp_path / "ws")
    ctime = (tmp_path / "ws/still.txt").stat().st_ctime
    while time.time() < ctime + 0.1:  # the times of files are coarse
        time.sleep(0.01)

    def work() -> None:
        async def run(argv: tuple[str, ...], *, cwd: Path, **_: object) -> None:
            (cwd / "read.txt").write_text("by the command\n")
            (cwd / "other.txt").write_text("by the command\n")
            (cwd / "gone.txt").unlink()
            os._exit(137)

        log = FileLog(tmp_path / "log/log.jsonl")
        log.append(ev.UserSaid("go"))
        at_work = desk(tmp_path, log, run=run)
        for name in ("read.txt", "gone.txt", "still.txt"):
            at_work.call("read_file", path=name)
        at_work.call("run_command", argv=["make", "it"])

    assert dies(work) == 137
    again, (event,) = resumed(tmp_path)
    assert isinstance(event, ev.ToolDone)
    assert event.receipt is not None
    assert (event.status, event.receipt.unwatched, event.receipt.exit_code) == ("error", True, None)
    assert event.summary == "run_command  make it"
    assert "result unknown" in event.text
    plan = asyncio.run(again.workspace.plan_undo([event.receipt]))
    assert {step.path: step.state for step in plan} == {
        "read.txt": "unsure",
        "gone.txt": "unsure",
        "other.txt": "lost",
    }
    asyncio.run(again.workspace.undo(plan))  # after a yes for each
    assert whole(tmp_path / "ws") == before | {"other.txt": b"by the command\n"}


def test_nobody_knows_who_wrote_after_a_kill_so_undo_asks(tmp_path: Path) -> None:
    """Between the kill and the resume the person wrote, made and deleted files; an ignored one that was read counts, too."""
    root = tmp_path / "ws"
    root.mkdir()
    (root / ".gitignore").write_text("my.db\n")
    for name in ("f", "gone", "my.db"):
        (root / name).write_text("old\n")

    def work() -> None:
        async def run(argv: tuple[str, ...], **_: object) -> None:
            os._exit(137)

        log = FileLog(tmp_path / "log/log.jsonl")
        log.append(ev.UserSaid("go"))
        at_work = desk(tmp_path, log, run=run)
        for name in ("f", "gone", "my.db"):
            at_work.call("read_file", path=name)
        at_work.call("run_command", argv=["make", "it"])

    assert dies(work) == 137
    for name in ("f", "my.db", "new"):
        (root / name).write_text("the person's\n")
    (root / "gone").unlink()
    mine = whole(root)
    again, (event,) = resumed(tmp_path)
    assert isinstance(event, ev.ToolDone)
    assert event.receipt is not None
    receipt = from_json(Receipt, to_json(event.receipt))
    states = {step.path: step.state for step in asyncio.run(again.workspace.plan_undo([receipt]))}
    assert states == {"f": "unsure", "gone": "unsure", "my.db": "unsure", "new": "lost"} | (
        {".gitignore": "lost"} if ".gitignore" in states else {}
    )
    undo(again, [receipt])
    assert whole(root) == mine


def test_of_very_many_files_the_known_ones_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aftermath, "MOST", 3)
    at_work = desk(tmp_path, FileLog(tmp_path / "log/log.jsonl"))
    for number in range(9):
        at_work.put(f"a{number}", "new\n")
    at_work.put("z", "new\n")
    begun = ev.Begun(Receipt("r1", "c1", "run_shell", {"script": "x"}), time.time() - 9)
    found = aftermath.aftermath(at_work.workspace._disk, begun, {"z": "aa", "y": "bb"})
    assert found.receipt is not None
    assert found.receipt.touched == ("y", "z", "a0")
    assert found.receipt.unwatched


def test_it_looks_no_further_than_while_a_command_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aftermath.index, "take", partial(index.take, limit=2))
    at_work = desk(tmp_path, FileLog(tmp_path / "log/log.jsonl"))
    for name in ("a", "b", "c", "z"):
        at_work.put(name, "new\n")
    begun = ev.Begun(Receipt("r1", "c1", "run_shell", {"script": "x"}), time.time() - 9)
    found = aftermath.aftermath(at_work.workspace._disk, begun, {"z": "aa"})
    assert found.receipt is not None
    assert found.receipt.touched == ("z", "a", "b")


def test_the_person_changed_it_meanwhile_so_undo_asks(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "log/log.jsonl")
    log.append(ev.UserSaid("go"))
    log.append(ev.Begun(Receipt("r1", "c1", "write_file", {}, "f.txt", "aa", "bb"), time.time()))
    desk(tmp_path, log).put("f.txt", "mine\n")
    _, (event,) = resumed(tmp_path)
    assert isinstance(event, ev.ToolDone)
    assert (event.status, event.note) == ("error", "interrupted, result unknown")
    assert event.receipt is not None
    assert event.receipt.after == "bb"  # so that what is there now counts as changed since


def test_what_failed_or_ended_is_not_unfinished(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "log/log.jsonl")
    log.append(ev.UserSaid("go"))
    at_work = desk(tmp_path, log, reach=faults.from_text("rename:1:ENOSPC"))
    assert at_work.call("write_file", path="a.txt", content="x").status == "error"
    assert unfinished.left(log.events) == ()
    outcome = at_work.call("write_file", path="a.txt", content="x")
    (begun,) = unfinished.left(log.events)
    assert begun.receipt.arguments == {}  # the texts are in the call
    log.append(ev.ToolDone(ToolCall("c", "write_file", {}), "applied", "", receipt=outcome.receipt))
    assert unfinished.left(log.events) == ()
    assert fold.history(log.events) == fold.history(e for e in log.events if not isinstance(e, ev.Begun | ev.NotDone))


def test_what_the_log_tells_about_the_end() -> None:
    call = ToolCall("c1", "run_shell", {"script": "sleep 9"})
    begun = ev.Begun(Receipt("r1", "c1", "run_shell", {"script": "sleep 9"}))
    said = [ev.UserSaid("go"), ev.AssistantSaid(AssistantMessage("", calls=(call,))), begun]
    found = unfinished.Found(Receipt("r1", "c1", "run_shell", {}, interrupted=True))
    (event,) = unfinished.ends(begun, found, said)
    assert isinstance(event, ev.ToolDone)
    assert event.call == call
    away = [*said, ev.ToolDone(call, "applied", "sent to the background")]
    (event,) = unfinished.ends(begun, found, away)
    assert isinstance(event, ev.ToolDone)
    assert (event.call.name, event.call.arguments) == (BACKGROUND, {"command": "sleep 9"})
    check = ev.Begun(Receipt("r2", "check", "check", {"argv": ["make", "check"]}))
    (event,) = unfinished.ends(check, found, said)
    assert isinstance(event, ev.CheckDone)
    assert (event.argv, event.passed) == (("make", "check"), False)
    assert unfinished.line(event) == "check  make check: interrupted, result unknown"
    back = ev.Begun(Receipt("r3", "u1", "undo", {}, "f", "a", "b"))
    assert unfinished.ends(back, unfinished.Found(), said) == (ev.NotDone("r3"),)


def test_a_fork_leaves_the_end_of_what_runs_to_the_other_session(tmp_path: Path) -> None:
    place = Place(tmp_path / "sessions/one")
    for event in (ev.SessionStarted("one", "/w", 0.0, "1"), ev.UserSaid("go"), ev.Begun(Receipt("r", "c", "x", {}))):
        place.log.append(event)
    copy = fork(place, tmp_path / "sessions", tmp_path)
    assert unfinished.left(place.log.events) != ()
    assert unfinished.left(copy.log.events) == ()
    copy.close()
    place.close()


@pytest.mark.parametrize("wrote", [True, False])
def test_a_fork_says_that_nobody_knows_and_can_undo_what_happened(tmp_path: Path, wrote: bool) -> None:
    place = Place(tmp_path / "sessions/one")
    call = ToolCall("c1", "write_file", {"path": "f.txt", "content": "new\n"})
    for event in (
        ev.SessionStarted("one", "/w", 0.0, "1"),
        ev.UserSaid("go"),
        ev.AssistantSaid(AssistantMessage("", calls=(call,))),
    ):
        place.log.append(event)
    (tmp_path / "ws").mkdir()
    at_work = Desk(tmp_path / "ws", {"blobs": place.blobs, "journal": place.log.append})
    at_work.put("f.txt", "old\n")
    at_work.call("read_file", path="f.txt")
    at_work.batch(("write_file", call.arguments or {}))  # its end is lost
    if not wrote:
        at_work.put("f.txt", "old\n")
    copy = fork(place, tmp_path / "sessions", tmp_path)
    (receipt,) = fold.receipts(copy.log.events)
    assert "result unknown" in fold.history(copy.log.events)[-1].text
    assert undo(Desk(tmp_path / "ws", {"blobs": copy.blobs}), [receipt]) == ["ready" if wrote else "same"]
    assert (tmp_path / "ws/f.txt").read_text() == "old\n"
    copy.close()
    place.close()


def test_undo_knows_what_was_interrupted(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "log/log.jsonl")
    log.append(ev.UserSaid("go"))
    at_work = desk(tmp_path, log)
    at_work.call("write_file", path="a.txt", content="x")  # its end is lost
    _, made = resumed(tmp_path)
    assert state([*log.events, *made]).changed[0].paths == ("a.txt",)
