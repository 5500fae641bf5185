"""Ctrl+C and Esc in their fixed order, and a stalled server that is hung up on."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.pty.server import StallingServer
from tests.pty.terminal import CTRL_C, CTRL_D, CTRL_Y, CTRL_Z, ENTER, ESC, Home, Terminal, call, kinds, say
from tests.waiting import PATIENCE


def test_ctrl_c_stops_a_stalled_stream_and_the_next_message_works(home: Home) -> None:
    with StallingServer() as server:
        home.serve(server.url)
        with Terminal(home) as t:
            t.ready().task("first question")
            t.wait_for("thinking aloud", "Ctrl+C stop")
            t.send("a draft")
            t.wait_for("a draft")
            t.send(CTRL_C)
            assert server.closed.wait(PATIENCE), "the server still waits for us"
            t.wait_for("stopped", "thinking aloud", "› a draft")  # what came is kept, and so is the draft
            t.wait_gone("Ctrl+C stop")
            t.send(ENTER)
            t.wait_for("all is well")
            t.wait_gone("Ctrl+C stop")
    roles = [(m["role"], m["content"]) for m in server.requests[1]["messages"] if m["role"] != "system"]
    assert [role for role, _ in roles] == ["user", "assistant", "user"]
    assert roles[1][1].startswith("thinking aloud")
    assert roles[2][1].endswith("a draft")
    assert [e["reason"] for e in home.log() if e["type"] == "run_ended"] == ["stopped", "completed"]


@pytest.mark.parametrize("state", ["stream", "command"])
def test_esc_twice_stops(home: Home, state: str) -> None:
    with StallingServer() as server:
        if state == "stream":
            home.serve(server.url)
        else:
            argv = [sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(60)"]
            home.script(say("", call("run_command", argv=argv)), say("done"))
        with Terminal(home) as t:
            t.ready().task()
            if state == "command":
                t.armed().send("y")
                t.wait_gone("Run this command?")
            t.wait_for("thinking aloud" if state == "stream" else "begun")
            t.send(ESC)
            t.wait_for("Esc again stops")
            t.send(ESC)
            t.wait_for("stopped", "Enter send")
            assert len(home.children()) == 1, "only the program itself is left"
            assert home.log()[-1]["reason"] == "stopped"


def test_ctrl_c_in_its_order(home: Home) -> None:
    home.script(say("hello"), say("", call("write_file", path="a.txt", content="a\n")))
    with Terminal(home) as t:
        t.ready().send("precious words")
        t.wait_for("precious words")
        t.send(CTRL_C)
        t.wait_for("Put away. Ctrl+Y brings it back.", "State a task")
        t.send(CTRL_Y)
        t.wait_for("› precious words")
        t.send(CTRL_C)
        t.wait_for("State a task")
        t.task()
        t.wait_for("hello", "Enter send")
        t.task("and now")
        t.armed().send(CTRL_C)  # an open question: no, and stop
        t.wait_for("stopped", "Enter send")
        assert not (home.project / "a.txt").exists()
        assert [e["answer"] for e in home.log() if e["type"] == "answered"] == ["stop"]
        t.send(CTRL_C)
        t.wait_for("Ctrl+C again to quit")
        t.wait_gone("Ctrl+C again to quit")  # after two seconds the first press is forgotten
        t.send(CTRL_C)
        t.wait_for("Ctrl+C again to quit")
        t.send(CTRL_C)
        assert t.ended() == 0


def test_esc_in_a_question_refuses_and_stops(home: Home) -> None:
    home.script(say("", call("write_file", path="a.txt", content="a\n")), say("never asked for"))
    with Terminal(home) as t:
        t.ready().task()
        t.armed().send(ESC)
        t.wait_for("stopped", "Enter send")
        assert not (home.project / "a.txt").exists()
        t.send(ESC)  # idle: nothing
        t.rest(0.2)
        t.task("again")
        t.wait_for("never asked for")
    assert kinds(home.log()).count("run_ended") == 2


def test_quitting_while_a_turn_runs_asks_first(home: Home) -> None:
    with StallingServer() as server:
        home.serve(server.url)
        with Terminal(home) as t:
            t.ready().task()
            t.wait_for("thinking aloud")
            t.send("/quit\r")
            t.wait_for("A turn is running. Again to quit")
            t.send("/quit\r")
            assert t.ended() == 0
            t.assert_given_back()
        assert home.log()[-1]["reason"] == "stopped"


def state(t: Terminal) -> str:
    """How the kernel sees the program: S sleeping, T stopped."""
    return Path(f"/proc/{t.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def test_suspending_gives_the_terminal_back_and_fg_draws_again(home: Home) -> None:
    home.script(say("", call("write_file", path="a.txt", content="a\n")), say("done"))
    with Terminal(home) as t:
        t.ready().send("a draft")
        t.wait_for("a draft")
        t.send(CTRL_Z)
        t.until(lambda: state(t) == "T", "never stopped")
        t.rest()
        t.assert_given_back()
        t.clear()  # another program drew over it
        t.resize(90, 25)
        t.process.send_signal(signal.SIGCONT)
        t.wait_for("a draft", "Ctrl+J new line")
        assert t.left_on()
        t.send(" goes on")
        t.wait_for("a draft goes on")
        t.send(ENTER)
        t.armed().wait_for("Create this file?")
        t.process.send_signal(signal.SIGTSTP)  # with a question open
        t.until(lambda: state(t) == "T", "never stopped")
        t.rest()
        t.assert_given_back()
        t.clear()
        t.process.send_signal(signal.SIGCONT)
        t.wait_for("Create this file?", "y apply")
        assert "answered" not in kinds(home.log())
        t.armed().send("y")
        t.wait_for("done")
        t.ready().send(CTRL_D)
        assert t.ended() == 0
        t.assert_given_back()


def test_the_shell_can_be_had_while_a_question_waits(home: Home) -> None:
    """What is typed there answers nothing, and the question is there again afterwards."""
    home.script(say("I write.", call("write_file", path="a.txt", content="a\n")), say("done"))
    with Terminal(home) as t:
        t.ready().task()
        for _ in range(3):  # each time all of it is drawn again
            t.armed()
            t.send(CTRL_Z)
            t.until(lambda: state(t) == "T", "not stopped")
            assert t.left_on() == set()
            t.clear()
            t.process.send_signal(signal.SIGCONT)
            t.wait_for("y apply")
        assert not (home.project / "a.txt").exists()
        t.armed().send("y")
        t.wait_for("done")
        assert (home.project / "a.txt").read_text() == "a\n"
