"""What of an event must be the same when a session is played again, and how that is said in a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tui_agent.core import events as ev
from tui_agent.core.types import ToolCall

Recorded: TypeAlias = ev.Durable | ev.Unknown
Shape: TypeAlias = Mapping[str, Any]
COMMANDS = frozenset({"run_command", "run_shell"})
END = {"event": "the end of the recording"}


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event that is not as it was recorded; `number` counts the events compared before it."""

    number: int
    expected: Shape
    actual: Shape


def shape_of(event: Recorded, *, executes: bool = False) -> Shape | None:
    """What of an event must be the same in a replay; None for what is not compared.

    Times, ids and hashes of questions differ from run to run. When commands are carried out again only how they
    ended counts, not what they printed.
    """
    match event:
        case ev.UserSaid(text):
            return {"event": "user", "text": text}
        case ev.Steered(text):
            return {"event": "steered", "text": text}
        case ev.AssistantSaid(message, complete, finish):
            return {
                "event": "assistant",
                "text": message.text,
                "calls": [_call(call) for call in message.calls],
                "complete": complete,
                "finish": finish,
            }
        case ev.Asked(tool="run_unsandboxed"):
            return None  # asked from within an effect, which a replay does not carry out like this
        case ev.Answered(request_id=name) if name.startswith("unsandboxed-"):
            return None
        case ev.Asked(_, _, tool, summary):
            return {"event": "asked", "tool": tool, "summary": summary}
        case ev.Answered(_, answer, reason):
            return {"event": "answered", "answer": answer, "reason": reason}
        case ev.ToolDone():
            return _tool(event, executes=executes)
        case ev.CheckDone(argv, code):
            return {"event": "check", "argv": list(argv), "exit_code": code}
        case ev.Notice(text, "model"):
            return {"event": "notice", "text": text}
        case ev.ProtocolChosen(protocol):
            return {"event": "protocol", "protocol": protocol}
        case ev.ProviderFailed(error):
            return {"event": "failed", "kind": error.kind}
        case ev.RunEnded(reason, _, steps, check):
            return {"event": "end", "reason": reason.value, "steps": steps, "check": check}
    return None


def _call(call: ToolCall) -> Shape:
    return {"name": call.name, "arguments": dict(call.arguments) if call.arguments is not None else call.raw}


def _tool(event: ev.ToolDone, *, executes: bool) -> Shape:
    receipt = event.receipt
    effect = None if receipt is None else [receipt.path, receipt.before, receipt.after, receipt.exit_code]
    shape = {"event": "tool", **_call(event.call), "status": event.status, "effect": effect, "denied": event.denied}
    return shape if executes and event.call.name in COMMANDS else {**shape, "text": event.text}


def describe(shape: Shape) -> str:
    """A compared event in one line."""
    rest = {key: value for key, value in shape.items() if key != "event"}
    return f"{shape['event']}  {json.dumps(rest, ensure_ascii=False)}" if rest else str(shape["event"])
