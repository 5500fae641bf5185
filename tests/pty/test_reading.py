"""Scrolling while a draft is being written: by the wheel and by keys, and the badge of what is below."""

from __future__ import annotations

from tests.pty.terminal import Home, Terminal, say

UP = "\x1b[<64;10;8M"
CTRL_END = "\x1b[1;5F"


def test_the_wheel_and_the_keys_scroll_and_leave_the_draft_alone(home: Home) -> None:
    home.script(say("\n".join(f"- row {number}" for number in range(100))))
    with Terminal(home, size=(80, 24)) as t:
        t.ready().task()
        t.wait_for("row 99", "completed")
        t.send("a draft")
        t.wait_for("a draft")
        t.send(UP)
        t.wait_for("below - Ctrl+End", "› a draft")
        t.send("\x1b[5~")
        t.wait_gone("row 99")
        t.wait_for("› a draft")
        t.send(CTRL_END)
        t.wait_for("row 99", "completed", "› a draft")
        t.wait_gone("below")
        t.send("\x03")
        t.wait_gone("a draft")
        t.send("/quit\r")
        assert t.ended() == 0
