"""Undo over the event list: turns, what stands of them, and the way back and forth, against the real disk."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import StopReason
from tui_agent.core.log import FileLog, load
from tui_agent.core.receipt import FileChange, Receipt
from tui_agent.core.types import Outcome, ToolCall
from tui_agent.undo import state, undone
from tui_agent.workspace import Workspace
from tui_agent.workspace.receipts import Restore


class Desk:
    """A session on disk: its log, its copies and its workspace, with a person who says yes."""

    def __init__(self, base: Path) -> None:
        self.root = base / "ws"
        self.root.mkdir(exist_ok=True)
        self.log = FileLog(base / "session/log.jsonl")
        self.workspace = Workspace(self.root, None, blobs=base / "session/blobs")
        self.count = 0

    def call(self, name: str, **arguments: object) -> Outcome:
        """What the agent does, by any tool."""
        self.count += 1
        return self._carry(ToolCall(f"c{self.count}", name, arguments))

    def say(self, text: str) -> None:
        self.log.append(ev.UserSaid(text))

    def write(self, path: str, content: str | None) -> Outcome:
        """What the agent does to a file that it has read."""
        asyncio.run(self.workspace.call("read_file", {"path": path}))
        if content is None:
            return self.call("delete_file", path=path)
        return self.call("write_file", path=path, content=content)

    def _carry(self, call: ToolCall) -> Outcome:
        async def go() -> Outcome:
            request = await self.workspace.prepare(call)
            if isinstance(request, Outcome):
                return request
            from tui_agent.core.types import Decision

            return await self.workspace.commit(request, Decision(request.id, "yes"), lambda _: None)

        outcome = asyncio.run(go())
        self.log.append(ev.ToolDone(call, outcome.status, outcome.text, receipt=outcome.receipt))
        return outcome

    def undo(self, turn: int, yes: tuple[str, ...] = ()) -> ev.Undone:
        return self._go(turn, state(self.log.events).since(turn), yes, redo=False)

    def redo(self, yes: tuple[str, ...] = ()) -> ev.Undone:
        step = state(self.log.events).redo[-1]
        return self._go(step.turn, step.receipts, yes, redo=True)

    def _go(self, turn: int, receipts: tuple[Receipt, ...], yes: tuple[str, ...], *, redo: bool) -> ev.Undone:
        async def go() -> ev.Undone:
            plan = await self.workspace.plan_undo(receipts)
            chosen = [step for step in plan if step.state == "ready" or step.path in yes]
            return undone(turn, plan, await self.workspace.undo(chosen), redo=redo)

        event = asyncio.run(go())
        self.log.append(event)
        return event

    def tree(self) -> dict[str, str]:
        return {p.name: p.read_text() for p in sorted(self.root.iterdir())}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def story(desk: Desk) -> None:
    (desk.root / "old.txt").write_text("old\n")
    desk.say("one")
    desk.write("a.txt", "a1\n")
    desk.write("old.txt", "new\n")
    desk.say("two")
    desk.write("a.txt", "a2\n")
    desk.write("b.txt", "b2\n")
    desk.say("three")
    desk.write("old.txt", None)


def test_every_turn_can_be_gone_back_to(desk: Desk) -> None:
    story(desk)
    assert [(t.number, t.text, t.paths) for t in state(desk.log.events).changed] == [
        (3, "three", ("old.txt",)),
        (2, "two", ("a.txt", "b.txt")),
        (1, "one", ("a.txt", "old.txt")),
    ]
    desk.undo(3)
    assert desk.tree() == {"a.txt": "a2\n", "b.txt": "b2\n", "old.txt": "new\n"}
    desk.undo(2)
    assert desk.tree() == {"a.txt": "a1\n", "old.txt": "new\n"}
    desk.undo(1)
    assert desk.tree() == {"old.txt": "old\n"}
    assert state(desk.log.events).changed == ()
    for _ in range(3):
        desk.redo()
    assert desk.tree() == {"a.txt": "a2\n", "b.txt": "b2\n"}
    assert state(desk.log.events).redo == ()
    desk.undo(1)
    assert desk.tree() == {"old.txt": "old\n"}


def test_changes_and_history_stay_true(desk: Desk) -> None:
    story(desk)
    assert fold.changes(desk.log.events) == {
        "a.txt": fold.Change("A", 2, 1, edits=2),
        "old.txt": fold.Change("D", 1, 2, edits=2),
        "b.txt": fold.Change("A", 1, 0),
    }
    desk.undo(2)
    assert fold.changes(desk.log.events) == {"a.txt": fold.Change("A", 1, 0), "old.txt": fold.Change("M", 1, 1)}
    desk.redo()
    assert fold.changes(desk.log.events)["b.txt"] == fold.Change("A", 1, 0)
    desk.undo(1)
    assert fold.changes(desk.log.events) == {}
    last = fold.history(desk.log.events)[-1]
    assert last.text.count("\n") == 0
    assert last.text.startswith("The user undid your changes in: a.txt, old.txt, b.txt.")


def test_a_later_change_needs_a_yes_for_that_file(desk: Desk) -> None:
    story(desk)
    (desk.root / "a.txt").write_text("mine\n")
    event = desk.undo(2)
    assert (event.paths, event.left) == (("b.txt", "old.txt"), ("a.txt",))
    assert desk.tree() == {"a.txt": "mine\n", "old.txt": "new\n"}
    assert "Not touched: a.txt." in fold.history(desk.log.events)[-1].text
    assert [(t.number, t.paths) for t in state(desk.log.events).changed] == [(2, ("a.txt",)), (1, ("a.txt", "old.txt"))]
    desk.undo(2, yes=("a.txt",))
    assert desk.tree()["a.txt"] == "a1\n"
    desk.redo()
    assert desk.tree()["a.txt"] == "mine\n"  # the undo itself is undone: nothing of the person is lost


def test_what_was_done_after_an_undo_ends_the_redo(desk: Desk) -> None:
    story(desk)
    desk.undo(3)
    assert len(state(desk.log.events).redo) == 1
    desk.say("four")
    desk.write("c.txt", "c\n")
    assert state(desk.log.events).redo == ()
    assert [t.number for t in state(desk.log.events).changed] == [4, 2, 1]


def test_an_interrupted_session_is_undone_from_its_log(tmp_path: Path) -> None:
    first = Desk(tmp_path)
    story(first)
    with first.log.path.open("ab") as file:
        file.write(b'{"seq":99,"t":1,"type":"tool","call":{"id"')  # the process died while it wrote
    again = Desk(tmp_path)
    assert again.log.damage
    again.undo(1)
    assert again.tree() == {"old.txt": "old\n"}
    assert list(load(again.log.path).events) == again.log.events


def test_the_files_of_a_command_are_narrowed_one_by_one() -> None:
    ran = Receipt("r", "c", "run_command", {}, changed=(FileChange("x", "1", "2"), FileChange("y", "", "2")))
    events = [
        ev.UserSaid("go"),
        ev.ToolDone(ToolCall("c", "run_command", {}), "applied", "", receipt=ran),
        ev.RunEnded(StopReason.COMPLETED),
    ]
    plan = (Restore("x", "1", "2", "ready"), Restore("y", None, "2", "command"))
    back = undone(1, plan, [Outcome("applied", "", Receipt("u", "", "undo", {}, "x", "2", "1"))])
    assert (back.paths, back.left) == (("x",), ("y",))
    assert state([*events, back]).changed[0].paths == ("y",)
    forth = undone(
        1,
        (Restore("x", "2", "1", "ready"),),
        [Outcome("applied", "", Receipt("v", "", "undo", {}, "x", "1", "2"))],
        redo=True,
    )
    assert state([*events, back, forth]).changed == state(events).changed


def test_a_check_or_a_read_is_nothing_to_undo() -> None:
    events = [
        ev.UserSaid("go"),
        ev.CheckDone(("make",), 0, "", 1, receipt=Receipt("r", "check", "check", {}, exit_code=0)),
    ]
    assert state(events).changed == ()
    assert [r.id for r in fold.receipts(events)] == ["r"]


NAMES = st.sampled_from(["a", "b"])
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, st.sampled_from(["1\n", "2\n", None])),
        st.tuples(st.just("say"), st.just(""), st.none()),
    ),
    max_size=7,
)


@examples(25)
@given(ACTS, st.integers(1, 4), st.integers(1, 4))
def test_undo_and_redo_are_exact_for_any_session(acts: list, first: int, second: int) -> None:
    with tempfile.TemporaryDirectory() as base:
        desk = Desk(Path(base))
        trees = {1: desk.tree()}
        desk.say("start")
        turn = 1
        for kind, name, content in acts:
            if kind == "say":
                turn += 1
                trees[turn] = desk.tree()
                desk.say("more")
            else:
                desk.write(name, content)
        end = desk.tree()
        stands = state(desk.log.events).turns
        desk.undo(second)
        assert desk.tree() == trees.get(second, end)
        desk.undo(first)
        assert desk.tree() == trees.get(min(first, second), end)
        desk.redo()
        desk.redo()
        assert desk.tree() == end
        assert state(desk.log.events).turns == stands
        desk.undo(1)
        assert desk.tree() == trees[1]
        assert fold.changes(desk.log.events) == {}
