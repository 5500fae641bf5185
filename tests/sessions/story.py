"""A short session as events, and logs made of them."""

from __future__ import annotations

from pathlib import Path

from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import AssistantMessage, ToolCall, Usage
from tui_agent.sessions import Place, new_id

CALL = ToolCall("c1", "edit_file", {"path": "src/a.py", "old": "x", "new": "y"})


def reply(text: str, *calls: ToolCall, cost: float | None = 0.5) -> ev.AssistantSaid:
    return ev.AssistantSaid(AssistantMessage(text, calls=calls), usage=Usage(100, 10, 20), cost=cost)


def turn(task: str, answer: str = "done") -> tuple[ev.Durable, ...]:
    return (ev.UserSaid(task), reply(answer), ev.RunEnded(StopReason.COMPLETED, "", 1))


EDIT: tuple[ev.Durable, ...] = (
    ev.UserSaid("rename x"),
    reply("I rename it.", CALL),
    ev.Asked("r1", "c1", "edit_file", "edit  src/a.py", "ab"),
    ev.Answered("r1", "yes"),
    ev.ToolDone(
        CALL, "applied", "ok", receipt=Receipt("r1", "c1", "edit_file", {}, "src/a.py", "aa", "bb", added=1, removed=1)
    ),
    reply("Renamed."),
    ev.RunEnded(StopReason.UNVERIFIED, "", 2),
)


def made(sessions: Path, *events: ev.Durable, cwd: str = "/w", at: float = 1_700_000_000.0) -> Path:
    """A session that is kept and closed; its folder."""
    place = Place(sessions / new_id(at))
    for event in (ev.SessionStarted(place.id, cwd, at, "1"), ev.ModelChosen("local", "m", local=True), *events):
        place.log.append(event)
    place.log.save()
    place.close()
    return place.folder
