"""Sessions in a real terminal: a kill -9 loses nothing that was typed, and two windows do not disturb one another."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from tests.pty.terminal import CTRL_X, ENTER, Home, Terminal, say


def session(home: Home) -> Path:
    (log,) = home.paths.sessions.glob("*/log.jsonl")
    return log.parent


def test_a_kill_loses_neither_draft_nor_session_and_the_next_start_goes_on(home: Home) -> None:
    home.script(say("the first answer"), say("the second answer"))
    with Terminal(home) as t:
        t.ready()
        t.send("one\r")
        t.wait_for("the first answer")
        t.send("half a sen")
        t.wait_for("half a sen")
        t.until(lambda: "half a sen" in _draft(home), "the draft was not kept")
        os.kill(json.loads((session(home) / "lock").read_text())["pid"], signal.SIGKILL)
    with Terminal(home, ("--continue",)) as t:
        t.wait_for("the first answer")
        t.wait_for("half a sen")
        t.wait_for("ended without closing this session")
        t.send("tence\r")
        t.wait_for("the second answer")
    assert "half a sentence" in [event.get("text") for event in home.log()]


def _draft(home: Home) -> str:
    file = session(home) / "state.json"
    return file.read_text(encoding="utf-8") if file.exists() else ""


def test_a_second_window_is_refused_with_the_process_of_the_first_and_offered_a_copy(home: Home) -> None:
    home.script(say("the first answer"), say("the second answer"))
    with Terminal(home) as first:
        first.ready()
        first.send("one\r")
        first.wait_for("the first answer")
        pid = json.loads((session(home) / "lock").read_text())["pid"]
        with Terminal(home, ("--continue",)) as second:
            second.wait_for("open in another window")
            assert str(pid) in second.text
        with Terminal(home) as third:
            third.ready()
            third.send(CTRL_X + b"s")
            third.wait_for("elsewhere")
            third.send(ENTER)
            third.wait_for("another window")
            third.send(CTRL_X + b"s")
            third.wait_for("elsewhere")
            third.send("f")
            third.wait_for("the first answer")
