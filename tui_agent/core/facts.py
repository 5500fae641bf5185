"""What the receipts of a session show, in words: computed from the log, so that a summary cannot lose or invent it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.standing import AnyEvent

HEAD = "What the receipts of this session show, computed and not written by a model:"
MOST = 24
"""Lines of each kind, the newest."""
LINE = 160
"""Characters of one line."""


def facts(events: Sequence[AnyEvent]) -> str:
    """Files as they differ from the beginning, how each command and check ended last, what was refused, the plan; "" for nothing."""
    changed = [
        f"changed: {change.mark} {path} +{change.added} -{change.removed}"
        for path, change in fold.changes(events).items()
    ]
    ran: dict[str, str] = {}
    for event in events:
        if isinstance(event, ev.CheckDone):
            name, code = f"check  {shlex.join(event.argv)}", event.exit_code
            other = "it did not end" if event.ran else "it could not be run"
        elif isinstance(event, ev.ToolDone) and event.receipt is not None and event.receipt.path is None:
            name, code = " ".join(event.summary.split()), event.receipt.exit_code
            other = "done" if event.status == "applied" else event.note or "it did not end"  # a server has no exit code
        else:
            continue
        ran.pop(name, None)  # the newest last
        ran[name] = f"{name}: {other if code is None else f'exit {code}'}"
    refused = [f"not done, as it was refused: {done.summary or done.call.name}" for done in fold.undone(events)]
    plan = [f"plan, {status}: {text}" for status, text in fold.plan(events)]
    lines = [line for kind in (changed, list(ran.values()), refused, plan) for line in kind[-MOST:]]
    return "\n".join([HEAD, *(f"- {_short(line)}" for line in lines)]) if lines else ""


def _short(line: str) -> str:
    one = " ".join(line.split())
    return one if len(one) <= LINE else f"{one[: LINE - 1]}…"
