"""An edit as its call names it: the difference below its line in the transcript, and as text to be copied. Pure.

What was refused stays to be read. What became of the file is for the review, which knows its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from tui_agent.core.diff import diff, unified
from tui_agent.core.types import ToolCall
from tui_agent.review import proposed
from tui_agent.ui.lines import Line, shown, wrap

ROWS = 400
"""Lines of a difference that are shown."""
LONGEST = 200_000
"""Bytes of both texts together that are compared: this is done while the person waits for a picture."""
_SIGNS = {"context": (" ", "dim"), "add": ("+", "ok"), "remove": ("-", "fail")}


def lines(call: ToolCall, width: int, hang: str) -> Iterator[Line]:
    """The difference in rows of at most `width` cells."""
    texts = proposed(call)
    if texts is None:
        return
    yield from wrap([("what the model proposed:", "dim")], width, hang)
    if sum(map(len, filter(None, texts))) > LONGEST:
        yield from wrap([("too long to be shown here; /diff shows what was changed", "dim")], width, hang)
        return
    rows = [row for hunk in diff(*texts).hunks for row in hunk.rows()]
    for row in rows[:ROWS]:
        sign, style = _SIGNS[row.kind]
        text = shown(row.text.expandtabs(4), "dim" if row.kind == "context" else "")
        yield from wrap([(f"{sign} ", style), *text], width, hang, f"{hang}  ", words=False)
    if (more := len(rows) - ROWS) > 0:
        yield from wrap([(f"… {more:,} more lines; /diff shows what was changed", "dim")], width, hang)


def text(call: ToolCall) -> str:
    """The difference as `patch` reads it, "" when it is none of an edit or too long."""
    texts, path = proposed(call), (call.arguments or {}).get("path")
    if texts is None or sum(map(len, filter(None, texts))) > LONGEST:
        return ""
    return unified(diff(*texts), path if isinstance(path, str) else "")
