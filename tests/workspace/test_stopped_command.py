"""A command that the person stops keeps what it printed: head and tail, for the log and for the model."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from tui_agent.core.types import ApprovalRequest, Decision, Outcome, ToolCall
from tui_agent.workspace import supervisor


def stopped(desk, script: str, *, own: bool, once: str) -> Outcome:
    """Run a script until it has written `once`, then stop it."""

    async def work() -> Outcome:
        seen, there = "", asyncio.Event()

        def take(piece: str) -> None:
            nonlocal seen
            seen = (seen + piece)[-1000:]
            if once in seen:
                there.set()

        workspace = desk.workspace
        if own:
            task = asyncio.create_task(workspace.commit_own(workspace.own(script), take))
        else:
            request = await workspace.prepare(ToolCall("c1", "run_command", {"argv": ["sh", "-c", script]}))
            assert isinstance(request, ApprovalRequest)
            task = asyncio.create_task(workspace.commit(request, Decision(request.id, "yes"), take))
        await there.wait()
        task.cancel()
        return await task

    return asyncio.run(work())


@pytest.mark.parametrize("own", [False, True])
def test_what_it_printed_is_kept(own, desk):
    outcome = stopped(desk, "echo important; echo late >&2; exec sleep 600", own=own, once="late")
    assert outcome.text == "important\nlate\ninterrupted by the person; what it had done by then stays done"
    assert (outcome.status, outcome.note) == ("error", "stopped")
    assert outcome.receipt is not None


@pytest.mark.parametrize("own", [False, True])
def test_of_a_flood_head_and_tail_are_kept(own, desk):
    outcome = stopped(desk, "echo first; exec yes", own=own, once="y\ny\n")
    head, *_, last, end = outcome.text.split("\n")
    assert (head, last) == ("first", "y")
    assert end.startswith("interrupted by the person")
    assert len(outcome.text) < 20_000


def test_one_that_printed_nothing_says_only_that(desk):
    outcome = stopped(desk, "touch ran; echo; exec sleep 600", own=True, once="\n")
    assert outcome.text == "interrupted by the person; what it had done by then stays done"
    assert [change.path for change in outcome.receipt.changed] == ["ran"]


def test_all_are_frozen_before_any_hears_of_it(monkeypatch):
    """Else a script whose program ended a moment before it runs its next line."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(supervisor, "_descendants", lambda: {11, 12, 13})
    monkeypatch.setattr(supervisor, "_PROC", True)
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((number, pid)))
    reader, writer = os.pipe()
    try:
        supervisor._Family(11, reader).terminate()
    finally:
        os.close(reader)
        os.close(writer)
    assert [number for number, _ in sent] == [signal.SIGSTOP] * 3 + [signal.SIGTERM] * 3 + [signal.SIGCONT] * 3
    assert sorted(pid for _, pid in sent) == [11] * 3 + [12] * 3 + [13] * 3
