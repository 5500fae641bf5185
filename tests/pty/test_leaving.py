"""Every way out: the terminal is given back, the exit code says why, no child is left, the log is complete."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.pty.server import StallingServer
from tests.pty.terminal import CTRL_C, CTRL_D, CTRL_Q, Home, Terminal, call, kinds, say
from tests.waiting import PATIENCE
from tui_agent.restore import RESTORE

CODES = {signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130, signal.SIGQUIT: 131}
STATES = ("idle", "streaming", "dialog", "command")


def arrange(home: Home, state: str, server: StallingServer) -> None:
    if state == "streaming":
        home.serve(server.url)
    elif state == "dialog":
        home.script(say("", call("write_file", path="a.txt", content="a\n")), say("done"))
    elif state == "command":
        # a child that left its group goes as well
        code = (
            "import os, signal, time\n"
            "if os.fork() == 0:\n    os.setsid(); time.sleep(60)\n"
            "print('begun', flush=True); time.sleep(60)"
        )
        home.script(say("", call("run_command", argv=[sys.executable, "-c", code])), say("done"))
    else:
        home.script(say("hello"))


def reach(t: Terminal, state: str) -> None:
    t.ready().task()
    if state == "idle":
        t.wait_for("hello", "Enter send")
    elif state == "streaming":
        t.wait_for("thinking aloud")
    elif state == "dialog":
        t.wait_for("Create this file?")
    else:
        t.armed().send("y")
        t.wait_gone("Run this command?")
        t.wait_for("begun")


def assert_complete(home: Home, state: str) -> None:
    """The log ends with the end of the run, and a question that was open counts as no."""
    log = home.log()
    assert log[-1]["type"] == "run_ended"
    assert log[-1]["reason"] == ("completed" if state == "idle" else "stopped")
    calls = [c for e in log if e["type"] == "assistant" for c in e["message"].get("calls", ())]
    assert kinds(log).count("tool") == len(calls), "every call has its result"
    assert [e["seq"] for e in log[1:]] == sorted(e["seq"] for e in log[1:])
    assert not (home.project / "a.txt").exists()


@pytest.fixture
def programs(home: Home) -> Iterator[list[tuple[str, Home, Terminal, StallingServer]]]:
    """One program in each state, each with a home of its own; they start side by side."""
    with ExitStack() as stack:
        started = []
        for state in STATES:
            own = Home(home.base / state).make()
            server = stack.enter_context(StallingServer())
            arrange(own, state, server)
            started.append((state, own, stack.enter_context(Terminal(own)), server))
        for state, _, t, _ in started:
            reach(t, state)
        yield started


@pytest.mark.parametrize("number", CODES, ids=[s.name for s in CODES])
def test_a_signal(programs: list[tuple[str, Home, Terminal, StallingServer]], number: signal.Signals) -> None:
    for state, home, t, server in programs:
        t.process.send_signal(number)
        assert t.ended() == CODES[number], state
        t.assert_given_back()
        t.until(lambda home=home: not home.children(), f"{state}: a child is left")
        assert_complete(home, state)
        assert state != "streaming" or server.closed.wait(PATIENCE)


@pytest.mark.parametrize("number", CODES, ids=[s.name for s in CODES])
def test_a_signal_while_it_starts(home: Home, number: signal.Signals) -> None:
    """The terminal was asked for its colour and does not echo, and the screen with its guard is not there yet."""
    home.script(say("hello"))
    with Terminal(home) as t:
        t.until(lambda: b"\x1b]11;?" in t.raw, "never asked")
        t.process.send_signal(number)
        assert t.ended() == CODES[number]
        assert t.left_on() == set()
        assert termios.tcgetattr(t.slave) == t.before
        assert b"Traceback" not in t.raw


def test_a_closed_terminal(programs: list[tuple[str, Home, Terminal, StallingServer]]) -> None:
    for state, home, t, _ in programs:
        t.hang_up()
        assert t.process.wait(PATIENCE) == 129, state
        end = time.monotonic() + PATIENCE
        while home.children() and time.monotonic() < end:
            time.sleep(0.02)
        assert not home.children(), state
        assert_complete(home, state)


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "SIGTERM"])
def test_what_became_of_a_command_that_does_not_hear_is_in_the_log(home: Home, closed: bool) -> None:
    code = "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint('begun', flush=True)\ntime.sleep(60)"
    home.script(say("", call("run_command", argv=[sys.executable, "-c", code])), say("done"))
    with Terminal(home) as t:
        reach(t, "command")
        if closed:
            t.hang_up()
        else:
            t.process.send_signal(signal.SIGTERM)
        assert t.process.wait(PATIENCE) == (129 if closed else 143)
    assert_complete(home, "command")
    assert "tool" in kinds(home.log())
    assert not home.children()


@pytest.mark.parametrize(
    "keys", [[b"/quit\r"], [CTRL_C, CTRL_C], [CTRL_D], [CTRL_Q]], ids=["quit", "Ctrl+C twice", "Ctrl+D", "Ctrl+Q"]
)
def test_the_keys_for_it(home: Home, keys: list[bytes]) -> None:
    home.script(say("hello"))
    with Terminal(home) as t:
        t.ready()
        for key in keys:
            t.send(key)
            t.rest(0.05)
        assert t.ended() == 0
        t.assert_given_back()
        assert not home.children()


def test_ctrl_d_in_a_text_deletes_and_does_not_quit(home: Home) -> None:
    home.script(say("hello"))
    with Terminal(home) as t:
        t.ready().send("ab\x1b[D\x04c")
        t.wait_for("› ac")
        assert t.process.poll() is None


def test_a_kill_leaves_the_log_whole_and_no_child(home: Home) -> None:
    with StallingServer() as server:
        arrange(home, "command", server)
        with Terminal(home) as t:
            reach(t, "command")
            os.kill(t.process.pid, signal.SIGKILL)
            assert t.ended() == -signal.SIGKILL
            t.until(lambda: not home.children(), "a child is left")
            assert kinds(home.log())[-2:] == ["answered", "begun"]


BROKEN = """
import sys
import termios
from tui_agent.ui import {module} as module
def broken(*args, **kwargs):
    api_key = "sk-CANARY"
    raise RuntimeError("broken on purpose \\x1b]0;owned\\x07")
{patch}
from tui_agent.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("module", "patch"),
    [
        ("chrome", "module.Footer.render = broken"),
        ("conversation", "module.Conversation.send = broken"),
        (
            "transcript",
            (
                "module.Transcript.feed = lambda t, e, feed=module.Transcript.feed: "
                "broken() if type(e).__name__ == 'TextDelta' else feed(t, e)"
            ),
        ),
        ("beginning", "module.Beginning.profile = broken"),
        ("main", "module.MainScreen.compose = broken"),
        ("app", "module.AgentApp.__init__ = broken"),
        ("approval", "module.ApprovalScreen.show_state = broken"),
        ("pastes", "module.PasteParser.tick = broken"),
    ],
    ids=["render", "handler", "agent task", "worker", "compose", "before the screen", "dialog", "keys"],
)
def test_a_crash(home: Home, module: str, patch: str) -> None:
    home.script(say("I will write.", call("write_file", path="a.txt", content="a\n")))
    with Terminal(home, code=BROKEN.format(module=module, patch=patch)) as t:
        if module in {"approval", "transcript", "conversation"}:
            t.ready().send("go\r")
        assert t.ended() not in {0, 1}
        if "__init__" not in patch:
            t.assert_given_back()
        during, _, after = t.raw.rpartition(b"\x1b[?1049l")
        assert b"broken on purpose" not in during
        assert b"Traceback" not in t.raw
        assert b"CANARY" not in t.raw
        assert b"\x1b]0;" not in t.raw
        log = home.paths.state / "crash.log"
        assert f"Details: {log}".encode() in after.replace(b"\r\n", b"\n")
        assert after.count(b"tui-agent stopped on an internal error") == 1
        written = log.read_text()
        assert "in broken" in written
        assert "CANARY" not in written
        assert log.stat().st_mode & 0o777 == 0o600
    assert all(kinds(session)[-1] == "run_ended" for session in home.logs() if "user" in kinds(session))


def test_a_terminal_that_goes_without_a_signal(home: Home) -> None:
    home.script(say("hello"))
    master, slave = pty.openpty()
    process = subprocess.Popen(  # in a session of its own, so that nobody sends it SIGHUP
        [sys.executable, "-m", "tui_agent"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=home.project,
        env=home.environment(),
        start_new_session=True,
    )
    try:
        os.close(slave)
        seen = b""
        while b"Enter send" not in seen:
            seen += os.read(master, 65536)
        os.close(master)
        assert process.wait(PATIENCE) == 129
    finally:
        process.kill()
        process.wait()


ELSEWHERE = """
import os, sys
os.dup2(os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT), 2)
from tui_agent.cli import entry
entry()
"""


def test_with_stderr_in_a_file_the_screen_is_on_the_terminal_all_the_same(home: Home) -> None:
    home.script(say("hello"))
    errors = home.base / "errors.txt"
    with Terminal(home, [str(errors)], code=ELSEWHERE) as t:
        t.ready().task()
        t.wait_for("hello", "Enter send")
        t.send(CTRL_Q)
        assert t.ended() == 0
        t.assert_given_back()
    assert errors.read_text() == ""


def test_a_killed_program_is_cleaned_up_after_by_a_command(home: Home) -> None:
    code = (
        "import os, sys, tty\n"
        "tty.setraw(0)\n"
        "os.write(1, b'\\x1b[?1049h\\x1b[?1003h\\x1b[?2004h\\x1b[?25lraw')\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'tui_agent', 'reset-terminal'])\n"
    )
    with Terminal(home, code=code) as t:
        assert t.ended() == 0
        assert t.raw.endswith(RESTORE)
        local = termios.tcgetattr(t.slave)[3]
        assert local & termios.ECHO
        assert local & termios.ICANON
        assert local & termios.ISIG
