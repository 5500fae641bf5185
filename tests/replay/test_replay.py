"""The committed session through today's loop, what makes a replay diverge, and effects carried out again in a copy."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Shell, shell  # noqa: F401 - a fixture
from tests.replay.record import CHECK, FOLDER, START, person, record
from tui_agent.core import events as ev
from tui_agent.core.endings import Limits, StopReason
from tui_agent.core.log import load
from tui_agent.replay import Divergence, RecordedTools, Stage, play, runs, shape_of
from tui_agent.workspace.receipts import Blobs

EVENTS = load(FOLDER / "log.jsonl").events
HELD = Blobs(FOLDER / "blobs").get


def stage(**kw: Any) -> Stage:
    return Stage(tools=lambda run: RecordedTools(run, lambda name: HELD(name) if name else None), **kw)


def changed(index: int, change: Callable[[Any], Any]) -> list[Any]:
    events = list(EVENTS)
    events[index] = change(events[index])
    return events


def find(kind: type[Any], number: int = 0) -> int:
    return [at for at, event in enumerate(EVENTS) if isinstance(event, kind)][number]


async def test_the_committed_session_plays_as_it_was_recorded() -> None:
    shown: list[Any] = []
    number, divergence = await play(EVENTS, stage(), shown.append)
    assert divergence is None
    ends = [s["reason"] for s in shown if s["event"] == "end"]
    assert ends == ["verified", "completed", "repeated"]
    assert number == len(shown) == sum(shape_of(e) is not None for e in EVENTS) - 2  # the interrupted end


def test_the_committed_session_holds_what_a_session_can_hold() -> None:
    kinds = {type(event) for event in EVENTS}
    assert {ev.ProtocolChosen, ev.CheckDone, ev.Asked, ev.ToolDone, ev.RunEnded} <= kinds
    assert [run.whole for run in runs(EVENTS)] == [True, True, True, False]
    assert not [event for event in EVENTS if isinstance(event, ev.Unknown)]


async def diverges(events: list[Any], **kw: Any) -> Divergence:
    _, divergence = await play(events, stage(**kw))
    assert divergence is not None
    return divergence


async def test_another_ending_is_a_divergence_that_shows_both() -> None:
    at = find(ev.RunEnded)
    divergence = await diverges(changed(at, lambda e: replace(e, reason=StopReason.UNVERIFIED)))
    assert (divergence.expected["reason"], divergence.actual["reason"]) == ("unverified", "verified")


async def test_a_guard_that_is_another_one_today_is_found() -> None:
    divergence = await diverges(list(EVENTS), limits=Limits(max_identical=9, repeat_window=9))
    assert divergence.expected["event"] == "end"
    divergence = await diverges(list(EVENTS), limits=Limits(max_invalid=1))
    assert divergence.actual == {"event": "end", "reason": "invalid_action_limit", "steps": 3, "check": "none"}


@pytest.mark.parametrize("number", range(2))
async def test_another_answer_of_the_person_leads_elsewhere(number: int) -> None:
    at = find(ev.Answered, number)
    divergence = await diverges(changed(at, lambda e: replace(e, answer="no")))
    assert divergence.actual["denied"] == "person"


async def test_another_result_of_the_check_leads_elsewhere() -> None:
    divergence = await diverges(changed(find(ev.CheckDone, 1), lambda e: replace(e, exit_code=1)))
    assert divergence.actual["text"].startswith("NOT VERIFIED")


async def test_a_missing_reply_and_a_missing_end_are_divergences() -> None:
    without = [e for at, e in enumerate(EVENTS) if at != find(ev.AssistantSaid, 2)]
    assert (await diverges(without)).number < len(EVENTS)
    late = [*EVENTS[: find(ev.RunEnded)], ev.Notice("one more", "model"), *EVENTS[find(ev.RunEnded) :]]
    assert (await diverges(late)).expected["text"] == "one more"


async def test_times_ids_and_words_to_the_person_do_not_count() -> None:
    events = [replace(e, duration=9.9) if isinstance(e, ev.ToolDone | ev.CheckDone) else e for e in EVENTS]
    events.insert(3, ev.Notice("for the person"))
    events.insert(9, ev.Unknown("later", {}))
    assert (await play(events, stage()))[1] is None


async def test_a_session_of_a_process_that_died_plays_up_to_its_death() -> None:
    for end in range(3, find(ev.RunEnded)):
        number, divergence = await play(EVENTS[:end], stage())
        assert divergence is None, (end, divergence)
        assert number >= 1


# ------------------------------------------------------------------ the command


def test_the_command_needs_no_model_and_no_network(shell: Shell) -> None:  # noqa: F811
    done = shell.run("replay", str(FOLDER))
    assert done.code == 0, done.err
    assert "all as recorded" in done.err
    assert done.out.splitlines()[-1].startswith("user")
    assert shell.sessions() == []


def test_a_session_is_named_by_its_id_too(shell: Shell) -> None:  # noqa: F811
    shutil.copytree(FOLDER, shell.data / "sessions" / "20260101-aaa")
    assert shell.run("replay", "20260101-aaa").code == 0
    unknown = shell.run("replay", "nope")
    assert unknown.code == 5
    assert "there is no session 'nope'" in unknown.err


def test_a_divergence_is_printed_with_both_sides(shell: Shell) -> None:  # noqa: F811
    copy = shell.base / "copy"
    shutil.copytree(FOLDER, copy)
    log = copy / "log.jsonl"
    log.write_text(log.read_text().replace('"reason":"repeated"', '"reason":"completed"'))
    done = shell.run("replay", str(copy))
    assert done.code == 2
    assert re.search(r"event 39 is not as recorded: reason", done.err)
    assert re.search(r'^expected  end  \{"reason": "completed"', done.out, re.MULTILINE)
    assert re.search(r'^actual    end  \{"reason": "repeated"', done.out, re.MULTILINE)


async def test_effects_are_carried_out_again_in_a_copy(shell: Shell) -> None:  # noqa: F811
    root = shell.work.resolve()
    session = await record(root, shell.data, person())
    before = shell.files()
    done = shell.run("replay", session.id, "--execute")
    assert done.code == 0, done.out[-2000:] + done.err
    assert shell.files() == before
    assert (root / "sums.py").read_text() == "total = 3\n"
    assert list((shell.base / "tmp").iterdir()) == []


async def test_what_cannot_be_taken_back_is_named_and_nothing_is_played(shell: Shell) -> None:  # noqa: F811
    session = await record(shell.work.resolve(), shell.data, person())
    (shell.work / "sums.py").write_text("mine\n")
    done = shell.run("replay", session.id, "--execute")
    assert done.code == 1
    assert "sums.py was changed since" in done.err
    assert done.out == ""
    shutil.rmtree(shell.work)
    shell.work.mkdir()
    assert "cannot be brought back" in shell.run("replay", session.id, "--execute").err


async def test_a_folder_that_is_another_one_today_diverges(shell: Shell) -> None:  # noqa: F811
    session = await record(shell.work.resolve(), shell.data, person())
    (shell.work / "notes.txt").write_text("new notes\n")
    done = shell.run("replay", session.id, "--execute")
    assert done.code == 2
    assert "not as recorded: text" in done.err


def test_execution_needs_the_folder_of_the_session(shell: Shell) -> None:  # noqa: F811
    done = shell.run("replay", str(FOLDER), "--execute")
    assert done.code == 1
    assert "the folder of the session is not there" in done.err


def test_the_recording_is_what_its_script_says() -> None:
    tasks = [event.text for event in EVENTS if isinstance(event, ev.UserSaid)]
    assert len(tasks) == 4
    assert {e.argv for e in EVENTS if isinstance(e, ev.CheckDone)} == {CHECK}
    assert set(START) == {"sums.py", "notes.txt"}


def test_no_path_of_the_machine_that_recorded_is_in_the_fixture(tmp_path: Path) -> None:
    text = (FOLDER / "log.jsonl").read_text()
    assert str(tmp_path.parents[2]) not in text
    assert "/home/ada/work" in text
