"""A session that goes on later knows what it has read and written, and still compares bytes."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import Person
from tests.test_modes import play, session
from tui_agent.core import events as ev
from tui_agent.core.file_state import Sight
from tui_agent.core.profile import Profile
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import ToolCall
from tui_agent.providers.scripted import scripted
from tui_agent.session import Session
from tui_agent.sessions import Place
from tui_agent.workspace.memory import seen

LINES = "".join(f"line {number}\n" for number in range(1, 31))


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


READ = call("read_file", path="a.txt")
PART = call("read_file", path="a.txt", limit=10)
REST = call("read_file", path="a.txt", start=11)
EDIT = call("edit_file", path="a.txt", old="line 2\n", new="two\n")
WRITE = call("write_file", path="a.txt", content="all new\n")
NEW = call("write_file", path="new.txt", content="one\n")
ANEW = call("write_file", path="new.txt", content="two\n")
DELETE = call("delete_file", path="a.txt")
SED = call("run_command", argv=["sed", "-i", "s/line 3/three/", "a.txt"])
ENV = call("read_file", path=".env")


def gone_on(made: Session, replies: list[Any], before: int) -> Session:
    made.place.close()
    again = Session(made.terms, Person(), Place(made.folder))
    again.use(scripted([{"text": "-"}] * before + replies), Profile("p", "scripted", "scripted", model="m"))
    return again


async def later(tmp_path: Path, first: list[Any], second: Any) -> tuple[Session, ev.ToolDone]:
    """What a call comes to that is made in a session that went on after these calls."""
    made, _ = session(tmp_path, [*first, {"text": "ok"}])
    (made.root / "a.txt").write_text(LINES)
    (made.root / ".env").write_text("KEY=1\n")
    await play(made)
    again = gone_on(made, [second, {"text": "ok"}], len(first) + 1)
    events = await play(again)
    return again, [e for e in events if isinstance(e, ev.ToolDone)][-1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([READ], EDIT),
        ([READ], WRITE),
        ([READ], DELETE),
        ([PART], EDIT),
        ([PART, REST], WRITE),
        ([READ, EDIT], WRITE),
        ([NEW], ANEW),
        ([READ, call("search", text="line")], EDIT),
        ([REST, PART], WRITE),
        ([{"calls": [*REST["calls"], *PART["calls"]]}], WRITE),
    ],
    ids=str,
)
async def test_what_was_read_before_may_be_changed_later(tmp_path: Path, first: list[Any], second: Any) -> None:
    _, done = await later(tmp_path, first, second)
    assert done.status == "applied", done.text


async def test_parts_make_a_whole_in_whatever_order_they_were_read(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [{"calls": [*REST["calls"], *PART["calls"]]}, WRITE, {"text": "ok"}])
    (made.root / "a.txt").write_text(LINES)
    done = [e for e in await play(made) if isinstance(e, ev.ToolDone)]
    assert [e.status for e in done] == ["applied"] * 3


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 9)), max_size=8), st.randoms())
def test_what_was_read_does_not_depend_on_the_order(parts: list[tuple[int, int]], random: Random) -> None:
    def together(some: list[tuple[int, int]]) -> Sight:
        sight = Sight("a", "h")
        for first, more in some:
            sight = Sight("a", "h", ((first, first + more),)).beside(sight)
        return sight

    mixed = list(parts)
    random.shuffle(mixed)
    assert together(parts) == together(mixed)
    read = {line for first, more in parts for line in range(first, first + more + 1)}
    assert {line for first, last in together(parts).lines for line in range(first, last + 1)} == read
    assert together(parts).upto == next(line for line in range(99) if line + 1 not in read)
    assert Sight("a", "other").beside(together(parts)) == Sight("a", "other")


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ([], EDIT, "was not read in this session"),
        ([PART], WRITE, "was read only up to line 10"),
        ([call("read_file", path="a.txt", start=20)], WRITE, "was not read whole from its first line on"),
        ([READ, SED], EDIT, "has changed since it was read"),
        ([READ, DELETE, call("run_command", argv=["cp", ".env", "a.txt"])], EDIT, "was not read in this session"),
    ],
    ids=str,
)
async def test_what_was_not_read_is_still_refused(tmp_path: Path, first: list[Any], second: Any, why: str) -> None:
    _, done = await later(tmp_path, first, second)
    assert done.status == "refused"
    assert why in done.text


async def test_what_changed_meanwhile_is_still_refused(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [READ, {"text": "ok"}])
    (made.root / "a.txt").write_text(LINES)
    await play(made)
    again = gone_on(made, [EDIT, {"text": "ok"}], 2)
    (made.root / "a.txt").write_text(LINES + "mine\n")
    done = next(e for e in await play(again) if isinstance(e, ev.ToolDone))
    assert (done.status, "has changed since it was read" in done.text) == ("refused", True)
    assert (made.root / "a.txt").read_text() == LINES + "mine\n"


async def test_what_a_command_does_later_to_a_file_that_was_read_before_can_be_undone(tmp_path: Path) -> None:
    again, done = await later(tmp_path, [READ], SED)
    assert done.receipt is not None
    (step,) = await again.workspace.plan_undo([done.receipt])
    assert step.words == "will be restored"
    (outcome,) = await again.workspace.undo([step])
    assert outcome.status == "applied"
    assert (again.root / "a.txt").read_text() == LINES


async def test_a_secret_is_copied_later_as_little_as_before(tmp_path: Path) -> None:
    again, done = await later(tmp_path, [ENV], call("run_command", argv=["sed", "-i", "s/1/2/", ".env"]))
    assert done.receipt is not None
    held = [file.read_bytes() for file in (again.folder / "blobs").rglob("*") if file.is_file()]
    assert b"KEY=1\n" not in held


async def test_an_undo_in_between_leaves_the_file_known(tmp_path: Path) -> None:
    made, _ = session(tmp_path, [READ, EDIT, {"text": "ok"}])
    (made.root / "a.txt").write_text(LINES)
    await play(made)
    receipt = next(e.receipt for e in made.events if isinstance(e, ev.ToolDone) and e.receipt is not None)
    (step,) = await made.workspace.plan_undo([receipt])
    (outcome,) = await made.workspace.undo([step])
    assert outcome.receipt is not None
    made.log.append(ev.Undone(1, (outcome.receipt,), ("a.txt",)))
    again = gone_on(made, [EDIT, {"text": "ok"}], 3)
    done = next(e for e in await play(again) if isinstance(e, ev.ToolDone))
    assert done.status == "applied", done.text


def written(before: str, after: str | None, sight: Sight | None = None, *, interrupted: bool = False) -> ev.ToolDone:
    receipt = Receipt("r", "1", "edit_file", {}, "a.txt", before, after, interrupted=interrupted)
    return ev.ToolDone(ToolCall("1", "edit_file", {}), "applied", "", receipt=receipt, sight=sight)


def undone(before: str | None, after: str) -> ev.Undone:
    return ev.Undone(1, (Receipt("u", "2", "undo", {}, "a.txt", before, after),), ("a.txt",))


READ_ONCE = ev.ToolDone(ToolCall("0", "read_file", {}), "applied", "", sight=Sight("a.txt", "h", ((1, 3),), whole=True))


@pytest.mark.parametrize(
    ("events", "known"),
    [
        ([READ_ONCE], "h"),
        ([READ_ONCE, written("h", "i", Sight("a.txt", "i", ((1, 3),), whole=True))], "i"),
        ([READ_ONCE, written("h", None)], None),
        ([READ_ONCE, written("h", "i", interrupted=True)], None),
        ([READ_ONCE, written("x", "x")], "h"),  # its permissions only, and nobody read those bytes
        ([written("h", "i")], None),
        ([READ_ONCE, undone("i", "g")], "h"),  # and nobody read g
        ([READ_ONCE, written("h", "i", Sight("a.txt", "i", whole=True)), undone("i", "h")], "h"),
        ([READ_ONCE, written("h", None), undone(None, "h")], "h"),
        ([READ_ONCE, written("h", None), undone(None, "g")], None),
        ([undone("i", "h")], None),
    ],
)
def test_what_the_log_tells_of_a_file(events: list[ev.Durable], known: str | None) -> None:
    sight = seen(events).get("a.txt")
    assert (sight and sight.sha256) == known
