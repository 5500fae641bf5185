"""The conversation in plain lines: no cursor moves, nothing is drawn twice, questions are answered with numbers."""

from __future__ import annotations

import os
import signal

import pytest

from tests.cli.conftest import Shell
from tests.cli.server import Stall, Text, call, serving
from tests.cli.test_exit_codes import check
from tests.cli.test_questions import seated
from tests.sessions.story import made, turn
from tests.waiting import PATIENCE
from tui_agent.core import events as ev
from tui_agent.core import fold, log

EDIT = call("write_file", path="a.txt", content="one\ntwo\n")
TASK = b"task > "


@pytest.mark.parametrize(
    ("words", "env"), [(("--accessible",), {}), ((), {"ACCESSIBLE": "1", "TERM": "dumb"})], ids=str
)
def test_a_conversation_through_a_question(shell: Shell, words: tuple[str, ...], env: dict[str, str]) -> None:
    with serving(EDIT, Text("Done."), Text("It is 4.")) as server:
        shell.use(server.url)
        with seated(shell, *words, out=False, env=env) as seat:
            seat.until(TASK)
            seat.type(b"write a.txt\n")
            seat.until(b"apply? 1 yes, 2 no, 3 skip, 4 stop. > ")
            seat.type(b"1\n")
            seat.until(TASK, 2)
            seat.type(b"what is 2 + 2?\n")
            seat.until(TASK, 3)
            seat.type(b"/quit\n")
            assert seat.end() == 0
    assert (shell.work / "a.txt").read_text() == "one\ntwo\n"
    assert b"\x1b" not in seat.seen
    assert b"\b" not in seat.seen
    assert seat.seen.count(b"Done.\r\n") == 1
    assert seat.seen.count(b"It is 4.\r\n") == 1
    assert seat.seen.count(b"tui-agent. local/m") == 1
    # one session with both tasks, and the second request knows of the first
    (file,) = shell.sessions()
    assert [e.text for e in log.load(file).events if isinstance(e, ev.UserSaid)] == ["write a.txt", "what is 2 + 2?"]
    assert "write a.txt" in str(server.bodies[-1]["messages"])


@pytest.mark.parametrize(
    ("number", "told"), [(b"2", "user rejected the change: too long"), (b"3", "user skipped: too long")]
)
def test_a_no_with_a_reason(shell: Shell, number: bytes, told: str) -> None:
    with serving(EDIT, Text("All right.")) as server:
        shell.use(server.url)
        with seated(shell, "--accessible", "-p", "write", out=False) as seat:
            seat.until(b"4 stop. > ")
            seat.type(number + b"\n")
            seat.until(b"why? ")
            seat.type(b"too long\n")
            assert seat.end() == 3
    assert server.told() == [told]


def test_letters_answer_too_but_numbers_are_for_this_alone(shell: Shell) -> None:
    with serving(EDIT, Text("Done.")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write", out=False) as seat:
            seat.until(b"q stop")
            seat.type(b"1\n")
            seat.until(b"q stop", 2)
            seat.type(b"y\n")
            assert seat.end() == 0


def test_commands_and_the_end_of_input(shell: Shell) -> None:
    with serving(EDIT, Text("I only read.")) as server:
        shell.use(server.url)
        with seated(shell, "--accessible", out=False) as seat:
            seat.until(TASK)
            for line, said in (
                (b"/help", b"Ctrl+C stops it"),
                (b"/nothing", b"no command /nothing"),
                (b"/mode none", b"none"),
                (b"/mode read", b"mode read: "),
            ):
                before = seat.seen.count(TASK)
                seat.type(line + b"\n")
                seat.until(said)
                seat.until(TASK, before + 1)
            seat.type(b"write\n")
            seat.until(b"I only read.")
            seat.until(TASK, 6)
            seat.type(b"\x04")
            assert seat.end() in {0, 3}
    assert not (shell.work / "a.txt").exists()
    assert b"apply?" not in seat.seen


def test_the_mode_that_was_entered_here_stays(shell: Shell) -> None:
    shell.use("http://127.0.0.1:9/v1")
    made(shell.data / "sessions", *turn("one"), ev.ModeChosen("edits"), cwd=str(shell.work))
    with seated(shell, "--accessible", "--continue", out=False) as seat:
        seat.until(TASK)
        seat.type(b"/mode read\n")
        seat.until(TASK, 2)
        seat.type(b"/quit\n")
        assert seat.end() == 0
    assert fold.mode(log.load(shell.sessions()[0]).events) == "read"


def test_a_plan_is_approved_and_what_failed_the_check_is_taken_back(shell: Shell) -> None:
    with serving(Text("1. Write a.txt."), EDIT, *[Text(f"Done {n}.") for n in range(4)]) as server:
        shell.use(server.url, check(shell, 1))
        with seated(shell, "--accessible", out=False) as seat:
            for number, (line, said) in enumerate(
                (
                    (b"/approve", b"no plan to approve"),
                    (b"/revert", b"nothing to take back"),
                    (b"/mode plan", b"mode plan: "),
                    (b"plan it", b"1. Write a.txt."),
                ),
                1,
            ):
                seat.until(TASK, number)
                seat.type(line + b"\n")
                seat.until(said)
            seat.until(TASK, 5)
            seat.type(b"/approve\n")
            seat.until(b"mode ask: ")
            for count in (1, 2):  # the edit, and the check of a folder that is not trusted
                seat.until(b"4 stop. > ", count)
                seat.type(b"1\n")
            seat.until(TASK, 6)
            assert (shell.work / "a.txt").exists()
            seat.type(b"/revert\n")
            seat.until(b"taken back: a.txt")
            seat.until(TASK, 7)
            seat.type(b"/quit\n")
            assert seat.end() == 2
    assert not (shell.work / "a.txt").exists()


def test_ctrl_c_stops_the_task_and_not_the_conversation(shell: Shell) -> None:
    with serving(Stall("One mo"), Text("Here.")) as server:
        shell.use(server.url)
        with seated(shell, "--accessible", out=False) as seat:
            seat.until(TASK)
            seat.type(b"hi\n")
            assert server.asked.wait(PATIENCE)
            os.kill(seat.pid, signal.SIGINT)
            seat.until(TASK, 2)
            seat.type(b"again\n")
            seat.until(b"Here.")
            seat.until(TASK, 3)
            seat.type(b"/quit\n")
            assert seat.end() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_what_ends_a_program_ends_the_conversation(shell: Shell, number: signal.Signals, code: int) -> None:
    with serving(Stall("One mo"), Text("Here."), Text("Here too.")) as server:
        shell.use(server.url)
        with seated(shell, "--accessible", out=False) as seat:
            seat.until(TASK)
            seat.type(b"hi\n")
            assert server.asked.wait(PATIENCE)
            os.kill(seat.pid, number)
            assert seat.end() == code
            assert seat.seen.count(TASK) == 1
        with seated(shell, "--accessible", out=False) as seat:  # between two tasks, too
            seat.until(TASK)
            seat.type(b"hi\n")
            seat.until(TASK, 2)
            os.kill(seat.pid, number)
            assert seat.end() == code


def test_without_a_terminal_it_says_so(shell: Shell) -> None:
    done = shell.run("--accessible")
    assert (done.code, done.out) == (5, "")
    assert done.err == 'tui-agent: there is no terminal to type tasks on; give one with -p "…"\n'
