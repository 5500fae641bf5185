"""`--stream-json`: one JSON object a line, for other programs; `docs/stream.schema.json` is their schema.

The first line is `{"type": "stream", "v": 1, "session": …}`, then every event as it happens: the durable ones as they
stand in the log, the transient ones, which are not in it, marked as such. The last line is the result, as `--json` prints it, with
`"type": "result"`. A field that has its default value is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_agent.core import events as ev
from tui_agent.core.codec import to_json
from tui_agent.core.log import encode, is_durable
from tui_agent.core.types import ReasoningDelta, RetryTick, TextDelta

VERSION = 1

TRANSIENT: Mapping[type, str] = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    ev.ArgumentsDelta: "arguments",
    RetryTick: "retry",
    ev.ToolStarted: "started",
    ev.CommandOutput: "output",
    ev.Phase: "phase",
}
"""What is not in the log, and its name in the stream."""


def record(event: ev.Event) -> dict[str, Any]:
    """An event as a JSON object with its type."""
    if is_durable(event):
        return encode(event)
    return {"type": TRANSIENT[type(event)], "transient": True, **to_json(event)}


def opening(session: str) -> dict[str, Any]:
    """The first line."""
    return {"type": "stream", "v": VERSION, "session": session}


def closing(report: Mapping[str, Any]) -> dict[str, Any]:
    """The last line."""
    return {"type": "result", **report}
