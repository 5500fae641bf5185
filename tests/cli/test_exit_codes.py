"""The exit code of one task is a promise to scripts: real processes, a server on loopback."""

from __future__ import annotations

import contextlib
import os
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
    assert not (shell.work / "a.txt").exists()


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
    assert "stopped at a limit" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("--no-such-flag",),
        ("--provider",),
        ("--allow", "everything", "-p", "x"),
        ("-p", "   "),
        ("--yes",),
        ("--cwd", "/no/such/folder", "-p", "x"),
        ("--config", "/no/such/file", "-p", "x"),
        ("--provider", "nobody", "-p", "x"),
        ("-p", "x"),  # nothing is configured
        ("doctor",),
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
            assert server.asked.wait(30)
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert f'"exit_code": {code}'.encode() in out
    assert b'"status": "stopped"' in out
    assert b"Traceback" not in err


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
            _, err = process.communicate(timeout=30)
    assert process.returncode == 143, err
    assert not sleeping(marker)
    assert not (shell.work / "late").exists()


def test_an_ignored_hangup_stays_ignored(shell: Shell) -> None:
    with serving(Stall()) as server:
        shell.use(server.url)
        old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            with running(shell, "-p", "hi") as process:
                assert server.asked.wait(30)
                process.send_signal(signal.SIGHUP)
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(0.5)
                process.terminate()
                process.communicate(timeout=30)
        finally:
            signal.signal(signal.SIGHUP, old)
    assert process.returncode == 143


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
