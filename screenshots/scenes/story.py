"""What happens in the pictures: a talk about a lexer, told in events."""

from __future__ import annotations

import hashlib
from typing import Any

from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import (
    ApprovalRequest,
    AssistantMessage,
    Effect,
    PolicyRequest,
    RunArgv,
    RunScript,
    ToolCall,
    Usage,
    WriteBytes,
)

LEXER = b"""class Lexer:
    def __init__(self, text):
        self.text = text
        self.pos = 0

    def read_escape(self):
        start = self.pos
        code = self.take(4)
        if not is_hex(code):
            self.fail(self.pos)
        return chr(code)

    def fail(self, at):
        raise ParseError(at)
"""

LEXER_NEW = b"""class Lexer:
    def __init__(self, text):
        self.text = text
        self.pos = 0

    def read_escape(self):
        start = self.pos
        code = self.take_hex(4, start)
        if 0xD800 <= code < 0xDC00:
            code = self.join_pair(code, start)
        if code is None:
            self.fail(start)
        return chr(code)

    def fail(self, at):
        at = min(at, len(self.text))
        raise ParseError(at)
"""


def call(number: int, name: str, **arguments: Any) -> ToolCall:
    """A tool call."""
    return ToolCall(f"c{number}", name, arguments)


def done(call: ToolCall, summary: str, note: str = "", seconds: float = 0.012, **kw: Any) -> ev.ToolDone:
    """A call that was carried out."""
    return ev.ToolDone(
        call, kw.pop("status", "applied"), kw.pop("text", "ok"), note, summary, kw.pop("receipt", None), seconds, **kw
    )


def receipt(path: str, added: int, removed: int, *, new: bool = False) -> Receipt:
    """A receipt of an edit."""
    return Receipt("r", "c", "edit_file", {}, path, None if new else "a", "b", by="key", added=added, removed=removed)


def said(text: str, *calls: ToolCall, tokens: int = 9100) -> ev.AssistantSaid:
    """A reply of the model."""
    return ev.AssistantSaid(AssistantMessage(text, calls=calls), usage=Usage(tokens, 60), cost=0.0)


PLAN = call(
    3,
    "update_plan",
    items=[
        {"status": "done", "text": "read the escape code"},
        {"status": "done", "text": "join surrogate halves"},
        {"status": "now", "text": "fix column offset"},
        {"status": "next", "text": "run the whole suite"},
    ],
)

STORY: tuple[ev.Durable, ...] = (
    ev.UserSaid("Unicode escapes outside the BMP come out as two lone surrogates. Fix it."),
    said(
        "Let me see how escapes are read today.",
        call(1, "read_file", path="src/parser.py"),
        call(2, "search", text="\\\\u"),
    ),
    done(call(1, "read_file", path="src/parser.py"), "read  src/parser.py  lines 1-220", "220 lines", 0.038),
    done(call(2, "search", text="\\\\u"), "search  \\\\u  in .", "7 hits", 0.022),
    said(
        'The surrogate pair is decoded **one half at a time** in `read_escape`, so `"\\ud83d\\ude00"` becomes two lone '
        "surrogates. I will join the halves and refuse a lone one with the column of the backslash.",
        PLAN,
        call(4, "edit_file", path="src/parser.py"),
        call(5, "write_file", path="tests/test_esc.py"),
    ),
    done(PLAN, "plan  2 of 4 done", "", 0.0),
    done(
        call(4, "edit_file", path="src/parser.py"),
        "edit  src/parser.py  +12 -4",
        "",
        0.004,
        receipt=receipt("src/parser.py", 12, 4),
    ),
    done(
        call(5, "write_file", path="tests/test_esc.py"),
        "create  tests/test_esc.py  +31 -0",
        "",
        0.003,
        receipt=receipt("tests/test_esc.py", 31, 0, new=True),
    ),
    ev.CheckDone(
        ("make", "check"),
        1,
        "tests/test_esc.py::test_lone_half FAILED\nE   AssertionError: column 9 != 8\n1 failed, 6 passed\n",
        1.8,
        "bwrap",
    ),
)

TAIL = (
    "Good: the message for `\\x` stays. The failing test counts from one while the lexer counts from zero. "
    "The fix is in the lexer, not in the test, because error positions elsewhere are zero-based"
)

ENDING: tuple[ev.Durable, ...] = (
    said(TAIL + ".", call(6, "edit_file", path="src/lexer.py")),
    done(
        call(6, "edit_file", path="src/lexer.py"),
        "edit  src/lexer.py  +6 -3",
        "",
        0.004,
        receipt=receipt("src/lexer.py", 6, 3),
    ),
    ev.CheckDone(("make", "check"), 0, "", 4.1, "bwrap"),
    said(
        "Columns now start at the backslash.\n\n| input | before | now |\n|---|---|---|\n| `\\ud83d\\ude00` | two halves | one character |\n| lone half | column 9 | column 8 |"
    ),
    ev.RunEnded(StopReason.VERIFIED, "the check passed after the last edit", 4, "passed"),
)


def request(number: int, effect: Effect, summary: str, reason: str) -> ApprovalRequest:
    """A question as the loop would ask it."""
    tool = {WriteBytes: "edit_file", RunArgv: "run_command", RunScript: "run_shell"}[type(effect)]  # type: ignore[index]
    policy = PolicyRequest(tool, "write" if isinstance(effect, WriteBytes) else "run")
    where = "" if isinstance(effect, WriteBytes) else "not sandboxed"
    return ApprovalRequest(f"q{number}", call(number, tool), effect, policy, summary, reason, where=where)


def sha(data: bytes) -> str:
    """The hash of a file's content."""
    return hashlib.sha256(data).hexdigest()
