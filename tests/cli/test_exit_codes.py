"""The exit code of one task is a promise to scripts: real processes, a server on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.cli.server import Calls, Failure, Stall, Text, call, serving
from tests.waiting import PATIENCE

CHECK = "[checks]\n'{work}' = ['{python}', '-c', 'raise SystemExit({code})']\n"


def check(shell: Shell, code: int) -> str:
    return CHECK.format(work=shell.work, python=sys.executable, code=code)


def test_0_a_plain_answer(shell: Shell) -> None:
    with serving(Text("It is 4.")) as server:
        shell.use(server.url)
        done = shell.run("-p", "what is 2 + 2?")
    assert (done.code, done.out) == (0, "It is 4.\n")
    assert server.bodies[0]["messages"][-1] == {"role": "user", "content": "what is 2 + 2?"}
    assert "exit 0" in done.err


def test_0_an_edit_whose_check_passed(shell: Shell) -> None:
    with serving(call("write_file", path="a.txt", content="a\n"), Text("Done.")) as server:
        shell.use(server.url, check(shell, 0))
        done = shell.run("--yes", "--allow", "check", "-p", "write a.txt")
    assert done.code == 0, done.err
    assert "verified" in done.err


def test_1_the_server_fails(shell: Shell) -> None:
    with serving(Failure(500, b'{"error": {"message": "out of memory"}}')) as server:
        shell.use(server.url)
        done = shell.run("-p", "hi")
    assert (done.code, done.out) == (1, "")
    assert "out of memory" in done.err


FILTERED = (
    b'data: {"choices": [{"delta": {"content": "Half an ans"}, "finish_reason": "content_filter"}]}\n\ndata: [DONE]\n\n'
)
NO = b'data: {"choices": [{"delta": {"refusal": "I will not."}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
CLAUDE = (
    b'event: message_start\ndata: {"type": "message_start", "message": {"usage": {"input_tokens": 3}}}\n\n'
    b'event: message_delta\ndata: {"type": "message_delta", "delta": {"stop_reason": "refusal"}}\n\n'
    b'event: message_stop\ndata: {"type": "message_stop"}\n\n'
)


@pytest.mark.parametrize(
    ("kind", "body", "finish", "said"),
    [
        ("openai", FILTERED, "content_filter", "Half an ans"),
        ("openai", NO, "refusal", "I will not."),
        ("anthropic", CLAUDE, "refusal", ""),
    ],
)
def test_1_what_was_filtered_or_refused_is_no_answer(
    shell: Shell, kind: str, body: bytes, finish: str, said: str
) -> None:
    words = {"content_filter": "cut by the server's content filter", "refusal": "the model refused"}[finish]
    with serving(Failure(200, body, "text/event-stream")) as server:
        shell.use(server.url, profile=f'type = "{kind}"\n')
        plain = shell.run("-p", "hi")
        result = shell.run("--json", "-p", "hi").json
    assert (plain.code, plain.out.strip()) == (1, said)
    assert f"tui-agent: not answered: {words}.\n" in plain.err
    assert (result["status"], result["detail"], result["finish"]) == ("failed", words, finish)
    assert (result["answer"], result["exit_code"]) == (said, 1)


def test_2_the_check_failed(shell: Shell) -> None:
    with serving(call("write_file", path="a.txt", content="a\n"), Text("Done.")) as server:
        shell.use(server.url, check(shell, 1))
        done = shell.run("--yes", "--allow", "check", "-p", "write a.txt")
    assert done.code == 2, done.err
    assert "FAILED (exit 1)" in done.err


def test_2_the_check_was_not_run(shell: Shell) -> None:
    with serving(call("write_file", path="a.txt", content="a\n"), Text("Done.")) as server:
        shell.use(server.url, check(shell, 0))
        done = shell.run("--yes", "-p", "write a.txt")
    assert done.code == 2, done.err
    assert "--allow check" in done.err


def test_3_nobody_to_ask(shell: Shell) -> None:
    with serving(call("write_file", path="a.txt", content="a\n"), Text("I could not.")) as server:
        shell.use(server.url)
        done = shell.run("-p", "write a.txt")
    assert (done.code, done.out) == (3, "I could not.\n")
    assert "tui-agent: 1 action needed approval (create  a.txt" in done.err
    assert "Use --yes for edits in the folder or a terminal to ask on.\n" in done.err
    assert not (shell.work / "a.txt").exists()


def test_the_json_has_the_reason_of_the_run_whatever_the_exit_code(shell: Shell) -> None:
    with serving(call("write_file", path="a.txt", content="a\n"), Text("I could not.")) as server:
        shell.use(server.url)
        done = shell.run("-p", "write a.txt", "--json")
    assert done.code == 3
    assert (done.json["status"], done.json["reason"]) == ("refused", "completed")


def test_3_wins_over_2(shell: Shell) -> None:
    both = Calls((("write_file", {"path": "a.txt", "content": "a\n"}), ("run_shell", {"script": "true"})))
    with serving(both, Text("Half.")) as server:
        shell.use(server.url, check(shell, 1))
        done = shell.run("--yes", "--allow", "check", "-p", "both")
    assert done.code == 3, done.err


def test_4_the_steps_are_used_up(shell: Shell) -> None:
    shell.write("a.txt", "a\n")
    looks = [call("read_file", path="a.txt", start=n) for n in (1, 2, 3)]
    with serving(*looks, Text("Not finished.")) as server:
        shell.use(server.url, "[limits]\nmax_steps = 3")
        done = shell.run("-p", "look")
    assert done.code == 4, done.err
    assert "stopped at a limit, [limits] max_steps: " in done.err


@pytest.mark.parametrize(
    "words", [("--max-steps", "1"), ("--max-tokens", "150"), ("--max-cost", "0.0001")], ids=" ".join
)
def test_4_a_limit_of_the_command_line(shell: Shell, words: tuple[str, ...]) -> None:
    shell.write("a.txt", "a\n")
    looks = [call("read_file", path="a.txt", start=n) for n in (1, 2, 3)]
    with serving(*looks, Text("Not finished.")) as server:
        shell.use(server.url, profile="pricing = { input = 1.0, output = 1.0 }\n")
        done = shell.run(*words, "-p", "look")
    assert done.code == 4, done.err
    assert f"stopped at a limit, [limits] {words[0].lstrip('-').replace('-', '_')}: " in done.err
    assert len(server.bodies) <= 2


def test_5_a_limit_of_the_cost_without_prices(shell: Shell) -> None:
    shell.configure('[profiles.far]\nendpoint = "https://far.invalid/v1"\nmodel = "m"\n')
    done = shell.run("--max-cost", "1", "-p", "x")
    assert done.code == 5
    assert "set input and output in [profiles.far.pricing]" in done.err


def test_0_a_failed_action_is_named_at_the_end(shell: Shell) -> None:
    with serving(call("read_file", path="gone.txt"), Text("All is well.")) as server:
        shell.use(server.url)
        done = shell.run("-p", "look")
        server.bodies.clear()
        quiet = shell.run("-q", "-p", "look")
    assert (done.code, quiet.code) == (0, 0)
    last = done.err.splitlines()[-1]
    assert last == "tui-agent: failed and was not made good: read_file  gone.txt."
    assert quiet.err == last + "\n"


def test_5_a_command_that_no_rule_can_allow(shell: Shell) -> None:
    shell.use("http://127.0.0.1:9/v1")
    done = shell.run("--allow", "make | sh", "-p", "x")
    assert (done.code, done.out) == (5, "")
    assert "--allow 'make | sh' needs a shell" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("--no-such-flag",),
        ("--provider",),
        ("--max-steps", "0", "-p", "x"),
        ("--max-cost", "free", "-p", "x"),
        ("--json", "--stream-json", "-p", "x"),
        ("--plain",),
        ("-p", "   "),
        ("--yes",),
        ("--theme", "dark", "-p", "x"),
        ("--no-mouse", "--accessible", "-p", "x"),
        ("--cwd", "/no/such/folder", "-p", "x"),
        ("--config", "/no/such/file", "-p", "x"),
        ("--config", "/dev/zero", "-p", "x"),
        ("--continue", "--resume", "nope", "-p", "x"),
        # a variable that is not set
        *((flag, "", "-p", "x") for flag in ("--model", "--resume", "--fork", "--cwd", "--config", "--provider")),
        ("trust", ""),
        ("--provider", "nobody", "-p", "x"),
        ("-p", "x"),  # nothing is configured
        ("trust", "/no/such/folder"),
        ("demo", "please"),
        (),  # the screen without a terminal
    ],
    ids=" ".join,
)
def test_5_usage(shell: Shell, words: tuple[str, ...]) -> None:
    done = shell.run(*words)
    assert (done.code, done.out) == (5, "")
    assert done.err.count("\n") == 1
    assert done.err.startswith("tui-agent: ")


@pytest.mark.parametrize(
    "words", [("--bad\x1b]0;p\x07\u202e",), ("trust", "--x\x9b2J"), ("--mode", "\x1b[2J", "-p", "x")]
)
def test_a_wrong_word_acts_on_no_terminal(shell: Shell, words: tuple[str, ...]) -> None:
    done = shell.run(*words)
    assert done.code == 5
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", done.err)


@contextmanager
def running(shell: Shell, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tui_agent", *words],
        cwd=shell.work,
        env=shell.environment({}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_128_and_the_signal(shell: Shell, number: signal.Signals, code: int) -> None:
    with serving(Stall("One mo")) as server:
        shell.use(server.url)
        with running(shell, "--json", "-p", "hi") as process:
            assert server.asked.wait(PATIENCE)
            process.send_signal(number)
            out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    result = json.loads(out)
    assert (result["exit_code"], result["status"]) == (code, "stopped")
    assert b"Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_behind_the_result_changes_no_exit_code(shell: Shell, number: signal.Signals) -> None:
    code = (
        "import os; from tui_agent import oneshot\n"
        f"oneshot.closing_line = lambda *_: [str(os.kill(os.getpid(), {int(number)}))]\n"
        "from tui_agent.cli import entry; entry()"
    )
    with serving(Text("It is 4.")) as server:
        shell.use(server.url)
        done = shell.run("--json", "-p", "hi", command=("-c", code))
    assert (done.code, done.json["exit_code"], done.err.count("Traceback")) == (0, 0, 0)


def sleeping(seconds: str) -> bool:
    """Whether a `sleep` of exactly this argument runs anywhere on this machine."""
    wanted = f"sleep\0{seconds}\0".encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes() == wanted:
                return True
    return False


def test_a_signal_ends_the_command_that_runs(shell: Shell) -> None:
    started = shell.work / "started"
    # inside the sandbox a process sees another number for itself, so that its argument is what names it
    marker = f"60.{os.getpid()}"
    script = f"touch {started}; sleep {marker}; touch {shell.work}/late"
    with serving(call("run_shell", script=script), Text("no")) as server:
        shell.use(server.url, "[permissions]\nshell = 'allow'")
        assert shell.run("trust").code == 0
        with running(shell, "-p", "wait") as process:
            assert process.stderr is not None
            while not (started.exists() and sleeping(marker)):
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.02)
            process.terminate()
            _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143, err
    while sleeping(marker):  # killed: the kernel takes it away when it comes to it
        time.sleep(0.02)
    assert not (shell.work / "late").exists()


def test_a_check_that_is_stopped_is_not_advised_to_be_allowed(shell: Shell) -> None:
    started = shell.work / "started"
    with serving(call("write_file", path="a.txt", content="a\n"), Text("Done.")) as server:
        shell.use(server.url, f"[checks]\n'{shell.work}' = ['sh', '-c', 'touch started; sleep 61']\n")
        with running(shell, "-p", "write", "--yes", "--allow", "check") as process:
            while not started.exists():
                assert process.poll() is None
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert b"tui-agent: the check was not run to its end.\n" in err
    assert b"--allow" not in err


def test_an_ignored_hangup_stays_ignored(shell: Shell) -> None:
    with serving(Stall()) as server:
        shell.use(server.url)
        old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            with running(shell, "-p", "hi") as process:
                assert server.asked.wait(PATIENCE)
                process.send_signal(signal.SIGHUP)
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(0.5)
                process.terminate()
                process.communicate(timeout=PATIENCE)
        finally:
            signal.signal(signal.SIGHUP, old)
    assert process.returncode == 143


STUCK = """
import threading, time
def stuck():
    while signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait()
threading.Thread(target=stuck).start()
"""
LAST = """
class Late:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGINT):
        kill(pid, number)
sys.late = Late()
"""


@pytest.mark.parametrize("ends", ["lambda: 3", "lambda: sys.exit(3)"], ids=["returns", "raises"])
@pytest.mark.parametrize("late", [STUCK, LAST], ids=["a thread is waited for", "the interpreter ends"])
def test_an_interrupt_behind_the_end_changes_no_code(shell: Shell, late: str, ends: str) -> None:
    code = f"import os, signal, sys\nfrom tui_agent import cli\ncli.main = {ends}\n{late}cli.entry()"
    done = shell.run(command=("-c", code))
    assert (done.code, done.err) == (3, "")


def test_70_a_bug_leaves_a_reason_and_no_traceback(shell: Shell) -> None:
    with serving(Text("hi")) as server:
        shell.use(server.url)
        code = (
            "import tui_agent.oneshot as o\n"
            "def closing_line(*a): raise RuntimeError('the \\x1b[31mbug')\n"
            "o.closing_line = closing_line\n"
            "from tui_agent.cli import entry; entry()"
        )
        done = shell.run("-p", "hi", command=("-c", code))
    assert done.code == 70
    assert "the <ESC>[31mbug" in done.err
    assert "Traceback" not in done.err
    crash = shell.state / "crash.log"
    assert "RuntimeError" in crash.read_text()
    assert crash.stat().st_mode & 0o777 == 0o600
