"""The process dies at any moment: what its log holds by then goes on, with a request that every server takes."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.core.test_sent import assert_paired
from tests.sessions.story import EDIT
from tests.test_routing import play
from tests.workspace.test_outputs import call, session
from tui_agent import recording, undo
from tui_agent.core import events as ev
from tui_agent.core import fold, unfinished
from tui_agent.core.endings import StopReason
from tui_agent.core.ledger import ledger
from tui_agent.core.log import load
from tui_agent.core.meter import meter
from tui_agent.core.room import kept
from tui_agent.core.secrets import Secrets
from tui_agent.core.sent import Sent, sent
from tui_agent.core.types import AssistantMessage
from tui_agent.export import markdown
from tui_agent.session import Session
from tui_agent.sessions import Place, fork
from tui_agent.summaries import summarise


async def rich(base: Path) -> Path:
    """A session with all that the log can hold of a conversation; its folder."""
    (base / "work").mkdir()
    (base / "work/a.txt").write_text("text\n")
    steps = [
        call("read_file", path="a.txt"),
        call("write_file", path="a.txt", content="new\n"),
        call("run_command", argv=[sys.executable, "-c", "print('x' * 30_000)"]),
        {"text": "done"},
    ]
    made, _ = session(base, [*steps, *[{"text": "so"}] * 9])
    left = [ev.Steered("hurry")]
    made.meanwhile = lambda: [left.pop()] if left else []
    await play(made, "first")
    made.log.append(ev.Marked((2,), "pinned"))
    await play(made, "second")
    made.log.append(ev.Compacted("so far", kept(Sent(made.events).steps), facts="changed: a.txt"))
    for event in (
        ev.Routed("general"),
        ev.Notice("found", "model"),
        ev.UserSaid("weather"),
        ev.AssistantSaid(AssistantMessage("rain")),
        ev.RunEnded(StopReason.COMPLETED),
        ev.Rewound(2, ("a.txt",)),
    ):
        made.log.append(event)
    await play(made, "third")
    made.place.close()
    return made.folder


async def test_wherever_the_process_died_the_session_goes_on(tmp_path: Path) -> None:
    folder = await rich(tmp_path)
    data = (folder / "log.jsonl").read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    cuts = sorted({cut for end in ends for cut in (end, end - 1, end + 7) if cut <= len(data)})
    assert len(ends) > 30
    for number, cut in enumerate(cuts):
        died = folder.with_name(f"20300101-000000-{number:06x}")
        shutil.copytree(folder, died)
        (died / "log.jsonl").write_bytes(data[:cut])
        assert summarise(died).turns <= 4
        place = Place(died)
        before = tuple(place.log.events)
        assert_paired(sent(before))
        for reader in (meter, undo.state, lambda events: list(recording.runs(events))):
            reader(before)  # type: ignore[operator] # each takes events
        ledger(before, lambda _: None)
        assert markdown(before, Secrets()).startswith("# ")
        after, seen = session(tmp_path, [{"text": "x"}] * 20, place)
        await play(after, "the new task")
        assert_paired(seen[-1].messages)
        texts = [message.text for message in seen[-1].messages]
        assert texts.count("the new task") == 1
        assert "rain" not in texts
        place.close()
        assert load(died / "log.jsonl").events == tuple(after.events)
    for turn in range(5):
        copy = fork(folder, tmp_path / "copies", tmp_path / "work", turn)
        assert_paired(sent(copy.log.events))
        copy.close()


@pytest.mark.parametrize("done", [1, 2, 3])
@pytest.mark.parametrize("redo", [False, True])
async def test_a_killed_undo_can_be_redone_and_gone_on_with(tmp_path: Path, done: int, redo: bool) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name in "ab":
        (work / name).write_text("old\n")
    steps = [
        *(call("read_file", path=name) for name in "ab"),
        *(call("write_file", path=name, content="new\n") for name in "abc"),
        {"text": "end"},
    ]
    made, _ = session(tmp_path, steps)
    await play(made, "go")

    def tree() -> dict[str, str]:
        return {path.name: path.read_text() for path in work.iterdir()}

    async def back(at: Session, count: int = 9, *, again: bool = False, record: bool = True) -> None:
        stands = undo.state(at.events)
        turn = stands.redo[-1].turn if again else 1
        plan = await at.workspace.plan_undo(stands.redo[-1].receipts if again else stands.since(1))
        chosen = [step for step in plan if step.state == "ready"][:count]
        outcomes = await at.workspace.undo(chosen)
        if record:
            at.log.append(undo.undone(turn, plan, outcomes, redo=again))

    new, old = tree(), {"a": "old\n", "b": "old\n"}
    if redo:
        await back(made)
        assert tree() == old
    await back(made, done, again=redo, record=False)  # and here the process dies
    made.place.close()
    killed = tree()

    place = Place(made.folder)
    after, _ = session(tmp_path, [], place)
    (told,) = after.made_up
    assert isinstance(told, ev.Undone)
    assert (len(told.paths), told.redo, tree()) == (done, redo, killed)
    assert unfinished.line(told).endswith("interrupted, but this was done")
    assert len(undo.state(after.events).redo) == (not redo or done < 3)
    if undo.state(after.events).redo:
        await back(after, again=True)
    assert (tree(), undo.state(after.events).redo) == (new, ())
    await back(after)
    assert tree() == old
    place.close()


def test_a_run_that_was_cut_off_is_found_and_one_that_ended_is_not() -> None:
    assert fold.cut_off(EDIT) is None
    assert fold.cut_off(EDIT[:3]) == EDIT[0]
    assert fold.cut_off([*EDIT[:3], ev.RunEnded(StopReason.STOPPED)]) is None
    assert fold.cut_off([]) is None
    assert fold.waiting(EDIT) == []
