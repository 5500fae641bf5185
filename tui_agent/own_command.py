"""A command of the person's own, typed as `!command`: same runner, no question, no sandbox, shown and told as theirs."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from tui_agent.core import events as ev
from tui_agent.core.stage import Stage
from tui_agent.core.types import Outcome
from tui_agent.session import Session

MARK = "!"
"""Begins a message that is a command."""


async def own_command(session: Session, script: str) -> AsyncGenerator[ev.Event, None]:
    """Run a shell text in the session's folder and record it; closing the generator stops it."""
    session.begin()
    workspace = session.workspace
    request = workspace.own(script)
    yield ev.Phase("running", request.summary)
    yield ev.ToolStarted(request.call, request.summary)
    stage = Stage(lambda emit: workspace.commit_own(request, emit))
    try:
        async for piece in stage.output():
            yield ev.CommandOutput(request.call.id, piece)
    finally:
        stage.cancel()
        outcome = await stage.settle() or Outcome("error", "stopped by the person", note="stopped")
        duration = outcome.receipt.duration if outcome.receipt else 0.0
        done = ev.ToolDone(
            request.call, outcome.status, outcome.text, outcome.note, request.summary, outcome.receipt, duration
        )
        session.log.append(done)
    yield done
    yield ev.Phase("idle")
