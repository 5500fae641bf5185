"""The check after edits, what counts as an edit, and what is looked at for evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.core.test_loop import assert_answered, call, ended, events_of, passing, read, write
from tests.fakes import FakeTools, Person, sha
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.check import Check
from tui_agent.core.edits import Edits
from tui_agent.core.endings import StopReason
from tui_agent.core.loop import Agent
from tui_agent.core.receipt import FileChange, Receipt
from tui_agent.core.types import (
    ApprovalRequest,
    Decision,
    Request,
    UserMessage,
    WriteBytes,
)
from tui_agent.providers.scripted import scripted


async def test_a_passing_check_verifies() -> None:
    ran: list[str] = []
    events = await events_of(Agent(scripted([write(), {"text": "done"}]), FakeTools(), Person(), check=passing(ran)))
    assert ended(events).reason is StopReason.VERIFIED
    assert ran == ["ran"]
    assert fold.exit_code(events) == 0


async def test_it_runs_once_after_each_batch_of_approved_edits_and_after_no_other() -> None:
    ran: list[str] = []
    two = {"calls": [write("a.py")["calls"][0], write("b.py")["calls"][0]]}
    replies = [two, read(), write("c.py"), write("d.py"), {"text": "done"}]
    person = Person(["yes", "yes", "yes", "no"])
    events = await events_of(Agent(scripted(replies), FakeTools(), person, check=passing(ran)))
    after = [e for e in events if isinstance(e, ev.CheckDone | ev.ToolDone)]
    assert ["check" if isinstance(e, ev.CheckDone) else e.call.name for e in after] == [
        "write_file", "write_file", "check", "read_file", "write_file", "check", "write_file",
    ]  # fmt: skip
    assert len(ran) == 2
    assert ended(events).reason is StopReason.VERIFIED


async def test_it_runs_behind_each_edit_when_that_is_wanted() -> None:
    two = {"calls": [write("a.py")["calls"][0], read()["calls"][0], write("b.py")["calls"][0]]}
    seen: list[Request] = []
    check = passing(each_edit=True)
    events = await events_of(Agent(scripted([two, {"text": "done"}], seen=seen), FakeTools(), Person(), check=check))
    after = [e for e in events if isinstance(e, ev.CheckDone | ev.ToolDone)]
    assert ["check" if isinstance(e, ev.CheckDone) else e.call.name for e in after] == [
        "write_file", "check", "read_file", "write_file", "check",
    ]  # fmt: skip
    told = [type(message).__name__ for message in seen[1].messages]
    assert told == ["UserMessage", "AssistantMessage", *["ToolMessage"] * 3, *["UserMessage"] * 2]
    assert ended(events).reason is StopReason.VERIFIED


async def test_a_stop_at_the_question_for_the_check_of_one_edit_lets_no_later_one_begin() -> None:
    two = {"calls": [write("a.py")["calls"][0], write("b.py")["calls"][0]]}
    tools = FakeTools()
    check = passing(each_edit=True, asks="always")
    events = await events_of(
        Agent(scripted([two, {"text": "done"}]), tools, Person(["yes", "yes", "stop"]), check=check)
    )
    assert [e.status for e in events if isinstance(e, ev.ToolDone)] == ["applied", "refused"]
    assert ended(events).reason is StopReason.STOPPED


async def test_no_edit_runs_no_check() -> None:
    ran: list[str] = []
    events = await events_of(Agent(scripted([read(), {"text": "done"}]), FakeTools({"a.py": b""}), check=passing(ran)))
    assert ended(events).reason is StopReason.COMPLETED
    assert ran == []


async def test_a_failing_check_is_told_and_ends_unverified() -> None:
    seen: list[Request] = []
    replies = [write(), *[{"text": f"done {n}"} for n in range(5)]]
    agent = Agent(scripted(replies, seen=seen), FakeTools(), Person(), check=passing(code=1))
    events = await events_of(agent)
    assert ended(events).reason is StopReason.UNVERIFIED
    assert ended(events).check == "failed"
    assert fold.exit_code(events) == 2
    told = [m.text for m in seen[1].messages if isinstance(m, UserMessage)]
    assert any("check FAILED (exit 1)" in t and "1 failed" in t for t in told)
    assert sum(isinstance(e, ev.Notice) and e.text.startswith("NOT VERIFIED") for e in events) == 3


async def test_a_check_that_fails_first_and_passes_later_is_verified_and_exits_0() -> None:
    codes = [1, 0]

    async def go(_emit: Any) -> ev.CheckDone:
        return ev.CheckDone(("make", "check"), codes.pop(0), "", 0.1)

    replies = [write(content="1"), write(content="2"), {"text": "done"}]
    events = await events_of(Agent(scripted(replies), FakeTools(), Person(), check=Check(("make", "check"), go)))
    assert ended(events).reason is StopReason.VERIFIED
    assert fold.exit_code(events) == 0


async def test_running_the_check_command_counts_as_the_check() -> None:
    replies = [write(), {"calls": [call("run_command", argv=["make", "check"])]}, {"text": "done"}]
    events = await events_of(Agent(scripted(replies), FakeTools(), Person(), check=passing(code=1)))
    assert ended(events).reason is StopReason.VERIFIED
    assert fold.exit_code(events) == 0
    assert fold.failed_batch(events) == (), "nothing is left to revert"


async def test_the_check_asks_when_nobody_saw_the_edit() -> None:
    ran: list[str] = []
    person = Person(["yes", "no"], by="flag")
    events = await events_of(Agent(scripted([write(), {"text": "done"}]), FakeTools(), person, check=passing(ran)))
    assert ran == []
    assert ended(events).reason is StopReason.UNVERIFIED
    assert ended(events).check == "not run"
    assert fold.exit_code(events) == 2


@pytest.mark.parametrize("proposed", [False, True])
async def test_who_stops_at_the_question_for_the_check_ends_the_run(proposed: bool) -> None:
    ran: list[str] = []
    seen: list[Request] = []
    check = passing(ran, asks="always", proposed=proposed)
    agent = Agent(
        scripted([write(), {"text": "done"}], seen=seen), FakeTools(), Person(["yes", "stop", "yes"]), check=check
    )
    events = await events_of(agent)
    assert (ended(events).reason, ended(events).check) == (StopReason.STOPPED, "not run")
    assert (len(seen), ran) == (1, [])
    assert_answered(fold.history(events))


class Shell(FakeTools):
    """Its commands change a file, and leave that in their receipts."""

    async def commit(self, request: Any, decision: Any, emit: Any) -> Any:
        outcome = await super().commit(request, decision, emit)
        if outcome.receipt is not None and outcome.receipt.exit_code is not None:
            change = FileChange("a.py", "1", "2")
            return replace(outcome, receipt=replace(outcome.receipt, changed=(change,)))
        return outcome


async def test_a_command_that_changes_a_file_is_an_edit() -> None:
    ran: list[str] = []
    command = {"calls": [call("run_command", argv=["sed", "-i"])]}
    events = await events_of(Agent(scripted([command, {"text": "ok"}]), Shell(), Person(), check=passing(ran)))
    assert any(isinstance(e, ev.Asked) and e.tool == "check" for e in events), "nobody saw what it wrote"
    assert ran == ["ran"]
    assert ended(events).reason is StopReason.VERIFIED


async def test_a_check_is_stale_after_a_command_changed_a_file() -> None:
    codes = [0, 1, 1, 1, 1]

    async def go(_emit: Any) -> ev.CheckDone:
        return ev.CheckDone(("make", "check"), codes.pop(0), "", 0.1)

    check = Check(("make", "check"), go, asks="never")
    replies = [
        write(),
        {"calls": [call("run_command", argv=["sed", "-i"])]},
        *[{"text": f"done {n}"} for n in range(5)],
    ]
    events = await events_of(Agent(scripted(replies), Shell(), Person(), check=check))
    assert ended(events).reason is StopReason.UNVERIFIED
    assert ended(events).check == "failed"


@pytest.mark.parametrize(("there", "reason"), [(b"x", StopReason.UNVERIFIED), (b"bar()", StopReason.VERIFIED)])
async def test_what_a_command_changed_is_looked_at_for_evidence(there: bytes, reason: StopReason) -> None:
    command = {"calls": [call("run_command", argv=["sed", "-i"])]}
    replies = [command, *[{"text": f"done {n}"} for n in range(5)]]
    agent = Agent(scripted(replies), Shell(), Person(), check=passing(), content=lambda _: there)
    assert ended(await events_of(agent, "rename foo to bar")).reason is reason


async def test_where_it_cannot_be_looked_at_nothing_is_held_against_the_model() -> None:
    command = {"calls": [call("run_command", argv=["sed", "-i"])]}
    events = await events_of(
        Agent(scripted([command, {"text": "ok"}]), Shell(), Person(), check=passing()), "rename foo to bar"
    )
    assert ended(events).reason is StopReason.VERIFIED


async def test_evidence_is_what_was_written_not_what_was_proposed() -> None:
    lines = [f"line {n}" for n in range(30)]
    base = "\n".join(lines) + "\n"
    new = "\n".join(["first", *lines[1:-1], "def foo(): ..."]) + "\n"
    tools = FakeTools({"a.py": base.encode()})

    async def leaves_out(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        return tuple(Decision(r.id, "yes", chosen=frozenset({1})) for r in batch)

    replies = [write(content=new), *[{"text": f"done {n}"} for n in range(5)]]
    events = await events_of(
        Agent(scripted(replies), tools, leaves_out, check=passing(asks="never")), "add a function `foo` to a.py"
    )
    end = ended(events)
    assert end.reason is StopReason.UNVERIFIED
    assert "foo" in end.detail
    assert fold.exit_code(events) == 2, "a check that passed is no proof of the task"


class Crowded(FakeTools):
    """A folder with more files than are watched."""

    async def commit(self, request: Any, decision: Any, emit: Any) -> Any:
        outcome = await super().commit(request, decision, emit)
        return replace(outcome, receipt=outcome.receipt and replace(outcome.receipt, unwatched=True))


async def test_where_not_every_file_is_watched_a_command_counts_as_an_edit() -> None:
    ran: list[str] = []
    command = {"calls": [call("run_command", argv=["sed", "-i"])]}
    events = await events_of(Agent(scripted([command, {"text": "ok"}]), Crowded(), Person(), check=passing(ran)))
    assert ran == ["ran"]
    events = await events_of(Agent(scripted([command, {"text": "ok"}]), Crowded(), Person()))
    assert ended(events).reason is StopReason.UNVERIFIED


def meddling(*changes: tuple[str, str | None, str | None]) -> Check:
    """A check that passes and changes files itself."""
    check = passing()

    async def go(emit: Any) -> ev.CheckDone:
        receipt = Receipt("r", "check", "check", {}, exit_code=0, changed=tuple(FileChange(*c) for c in changes))
        return replace(await check.run(emit), receipt=receipt)

    return replace(check, run=go)


async def test_a_check_that_changes_files_itself_is_told() -> None:
    seen: list[Request] = []
    replies = [write(), {"text": "done"}]
    how = Agent(scripted(replies, seen=seen), FakeTools(), Person(), check=meddling((".cov", None, "h")))
    events = await events_of(how)
    assert seen[1].messages[-1].text == "check passed: make check\nThe check itself changed .cov."
    assert ended(events).reason is StopReason.VERIFIED
    assert [e.text for e in events if isinstance(e, ev.Notice)] == ["look at it: the check itself changed .cov"]


async def test_a_check_that_takes_the_edit_back_verifies_nothing() -> None:
    """What passed is not what the model wrote."""
    before = {"a.py": b"hi"}
    check = meddling(("a.py", sha(b"x"), sha(b"hi")))
    replies = [write(), *[{"text": f"done {n}"} for n in range(5)]]
    how = Agent(scripted(replies), FakeTools(dict(before)), Person(), check=check, content=before.get)
    events = await events_of(how)
    assert ended(events).reason is StopReason.UNVERIFIED
    assert "every file is as it was before" in ended(events).detail


async def test_a_check_that_cannot_be_started_is_no_fault_of_the_model() -> None:
    check = passing(code=None)

    async def go(emit: Any) -> ev.CheckDone:
        return replace(await check.run(emit), output="there is no program make", ran=False)

    seen: list[Request] = []
    replies = [write(), {"text": "done"}]
    how = Agent(scripted(replies, seen=seen), FakeTools(), Person(), check=replace(check, run=go))
    events = await events_of(how)
    assert (ended(events).reason, ended(events).detail) == (StopReason.UNVERIFIED, "the check could not be run")
    assert ended(events).check == "failed"
    assert len(seen) == 2
    told = seen[1].messages[-1].text
    assert told == "the check could not be run, which is no fault of yours: make check\nthere is no program make"
    assert fold.exit_code(events) == 2


def test_what_was_not_seen_or_not_watched_once_stays_so() -> None:
    effect = WriteBytes("a.py", None, b"1")

    def receipt(by: str, *, unwatched: bool = False) -> Receipt:
        return Receipt("r", "c", "write_file", {}, "a.py", None, sha(b"1"), by=by, unwatched=unwatched)

    edits = Edits(lambda _: b"1")
    edits.add(receipt("flag: --yes"), effect, None)
    edits.add(receipt("key"), effect, None)
    assert edits.unseen
    assert edits.evidence() is not None
    edits.add(receipt("key", unwatched=True), effect, None)
    edits.add(receipt("key"), effect, None)
    assert edits.evidence() is None
