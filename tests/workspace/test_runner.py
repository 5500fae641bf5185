"""The command runner, on real programs: what a command can see, what it may leave, how it ends."""
# ruff: noqa: ASYNC110, ASYNC220 - a test that watches other processes polls, and may block its loop

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.waiting import PATIENCE
from tests.workspace.conftest import UntilSaid
from tui_agent.workspace import supervisor
from tui_agent.workspace.runner import RUN_MARK, CommandResult, child_environment, run

ROOT = Path(__file__).resolve().parents[2]


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def py(script: str, *args: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", script, *args]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def pids_in(folder: Path) -> list[int]:
    return [int(path.read_text()) for path in folder.glob("*.pid")]


async def appears(*paths: Path) -> None:
    """Wait until files exist and are not empty."""
    async with asyncio.timeout(PATIENCE):
        while not all(path.exists() and path.read_text().strip() for path in paths):
            await asyncio.sleep(0.01)


def marked(mark: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"{RUN_MARK}={mark}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return [pid for pid in found if is_alive(pid)]


# ------------------------------------------------------------------ the ordinary case


async def test_output_of_both_streams_comes_in_order_with_the_exit_code(tmp_path):
    result = await run(sh("echo one; echo two >&2; echo three; exit 3"), cwd=tmp_path, timeout=PATIENCE)
    assert result.output == "one\ntwo\nthree\n"
    assert (result.exit_code, result.signal, result.error, result.timed_out, result.killed) == (
        3,
        None,
        None,
        False,
        (),
    )
    assert result.total_bytes == len(result.output)
    assert result.duration > 0


async def test_it_runs_in_the_given_folder_with_the_given_words(tmp_path):
    words = ["", " a  b ", "$HOME", "*", "'\"", "\n", "ünïcödé", "\udcff"]
    result = await run(py("import os,sys; print(os.getcwd(), sys.argv[1:])", *words), cwd=tmp_path, timeout=PATIENCE)
    assert result.output == f"{tmp_path} {words}\n"


async def test_a_signal_is_told_and_becomes_an_exit_code(tmp_path):
    result = await run(sh("kill -SEGV $$"), cwd=tmp_path, timeout=PATIENCE)
    assert (result.exit_code, result.signal, result.error) == (128 + signal.SIGSEGV, signal.SIGSEGV, None)


async def test_the_command_is_alone_in_its_session_and_group(tmp_path):
    script = "import os; print(os.getsid(0) == os.getpgrp() == os.getpid(), os.getsid(0) == int(os.sys.argv[1]))"
    result = await run(py(script, str(os.getsid(0))), cwd=tmp_path, timeout=PATIENCE)
    assert result.output == "True False\n"


async def test_it_gives_way_to_the_screen(tmp_path):
    result = await run(["nice"], cwd=tmp_path, timeout=PATIENCE)
    assert int(result.output) == min(os.nice(0) + supervisor.NICENESS, 19)


async def test_input_is_empty_and_there_is_no_terminal(tmp_path):
    script = "import sys; print(repr(sys.stdin.read()))\ntry: open('/dev/tty')\nexcept OSError as e: print(e.errno)"
    result = await run(py(script), cwd=tmp_path, timeout=PATIENCE)
    assert result.output == "''\n6\n"  # ENXIO, at once


async def test_signals_and_descriptors_are_as_a_program_expects_them(tmp_path):
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        result = await run(
            sh("grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd"), cwd=tmp_path, timeout=PATIENCE
        )
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    _, blocked, _, ignored, *descriptors = result.output.split()
    internal = 1 << 31 | 1 << 32  # 32 and 33 belong to glibc, whose posix_spawn may leave them ignored
    assert (int(blocked, 16), int(ignored, 16) & ~internal) == (0, 0)
    assert descriptors == ["0", "1", "2", "3"]  # 3: ls itself


async def test_two_commands_at_once_do_not_mix(tmp_path):
    results = await asyncio.gather(
        *(run(sh(f"for i in 1 2 3; do echo {n}; done"), cwd=tmp_path, timeout=PATIENCE) for n in "abcd")
    )
    assert [r.output for r in results] == [f"{n}\n" * 3 for n in "abcd"]


def test_it_works_in_a_loop_of_another_thread_and_survives_the_thread_that_started_it(tmp_path):
    results: list[CommandResult] = []
    thread = threading.Thread(
        target=lambda: results.append(asyncio.run(run(sh("sleep 0.1; echo ok"), cwd=tmp_path, timeout=PATIENCE)))
    )
    thread.start()
    thread.join()
    assert results[0].output == "ok\n"


def test_no_descriptor_and_no_process_is_left_behind(tmp_path):
    async def rounds() -> None:
        await run(["true"], cwd=tmp_path, timeout=PATIENCE)
        await run(["nothing-of-that-name"], cwd=tmp_path, timeout=PATIENCE)
        await run(["sleep", "60"], cwd=tmp_path, timeout=0.1)

    def held() -> tuple[int, int]:
        children = (path.read_text().split() for path in Path("/proc/self/task").glob("*/children"))
        return len(list(Path("/proc/self/fd").iterdir())), sum(map(len, children))

    before = held()
    asyncio.run(rounds())
    assert held() == before


# ------------------------------------------------------------------ what a command leaves


LEFTOVERS = {
    "background job": "sleep 600 & echo $! > a.pid",
    "own session": "setsid sh -c 'echo $$ > a.pid; exec sleep 600' & ",
    "double fork": "(setsid sh -c '(sh -c \"echo \\$\\$ > a.pid; exec sleep 600\" &)' &)",
    "nohup": "nohup sh -c 'echo $$ > a.pid; exec sleep 600' > /dev/null 2>&1 &",
    "without its environment": "(env -i setsid sh -c 'echo $$ > a.pid; exec sleep 600' > /dev/null 2>&1 &)",
    "stopped": "sleep 600 & kill -STOP $!; echo $! > a.pid",
    "ignores TERM": "(trap '' TERM; setsid sh -c 'echo $$ > a.pid; exec sleep 600' &)",
}


@pytest.mark.parametrize("script", LEFTOVERS.values(), ids=LEFTOVERS.keys())
async def test_a_leftover_is_ended_and_its_pipe_not_waited_for(script, tmp_path):
    wait = "while ! [ -s a.pid ]; do sleep 0.01; done; echo done; exit 4"
    result = await run(sh(f"{script}\n{wait}"), cwd=tmp_path, timeout=PATIENCE)
    [pid] = pids_in(tmp_path)
    assert not is_alive(pid)
    assert pid in result.killed
    assert (result.exit_code, result.output, result.timed_out) == (4, "done\n", False)


async def test_a_leftover_that_ends_within_the_grace_is_left_alone(tmp_path, supervision):
    supervision(GRACE=PATIENCE, KILL=PATIENCE)
    result = await run(sh("(sleep 0.01; echo late) & echo soon"), cwd=tmp_path, timeout=PATIENCE)
    assert (result.output, result.killed) == ("soon\nlate\n", ())


async def test_a_fork_bomb_is_ended(tmp_path):
    bomb = """
import os, resource, time
if os.getuid() == 0:
    os.setresuid(61234, 61234, 61234)  # limits do not hold root
resource.setrlimit(resource.RLIMIT_NPROC, (40, 40))
while True:
    try:
        os.fork()
    except OSError:
        os.write(1, b"full")
        time.sleep(0.01)
"""
    env = child_environment(os.environ)
    limit = UntilSaid("full")
    result = await run(py(bomb), cwd=tmp_path, timeout=limit, env=env, emit=limit.hear)
    assert result.timed_out
    assert not [pid for pid in result.killed if is_alive(pid)]


# ------------------------------------------------------------------ the limit, a cancellation, the end of the product


async def test_the_limit_ends_the_whole_tree_and_keeps_the_output(tmp_path):
    script = "echo before; sleep 600 & echo $! > a.pid; setsid sleep 600 & echo $! > b.pid; echo all; wait"
    limit = UntilSaid("all")
    result = await run(sh(script), cwd=tmp_path, timeout=limit, emit=limit.hear)
    assert result.timed_out
    assert (result.exit_code, result.signal, result.error) == (None, signal.SIGTERM, None)
    assert result.output.startswith("before\n")
    assert set(pids_in(tmp_path)) <= set(result.killed)
    assert not [pid for pid in pids_in(tmp_path) if is_alive(pid)]


async def test_a_program_may_clean_up_at_term(tmp_path, supervision):
    supervision(STOP=PATIENCE, KILL=PATIENCE)
    limit = UntilSaid("set")
    script = "trap 'echo cleaned; exit 0' TERM; echo set; while :; do sleep 1; done"
    result = await run(sh(script), cwd=tmp_path, timeout=limit, emit=limit.hear)
    said = result.output.replace("Terminated\n", "")  # of a shell, about the program that it waited for
    assert (result.timed_out, result.exit_code, result.signal, said) == (True, None, None, "set\ncleaned\n")


async def test_a_program_that_ignores_term_is_killed(tmp_path):
    limit = UntilSaid("set")
    script = "trap '' TERM; echo $$ > a.pid; echo set; sleep 600"
    result = await run(sh(script), cwd=tmp_path, timeout=limit, emit=limit.hear)
    assert (result.timed_out, result.exit_code, result.signal) == (True, None, signal.SIGKILL)
    assert not is_alive(pids_in(tmp_path)[0])


async def test_the_limit_does_not_follow_the_wall_clock(tmp_path, monkeypatch):
    jumps = itertools.count(time.time(), 86400)
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    result = await run(["true"], cwd=tmp_path, timeout=PATIENCE)
    assert not result.timed_out
    assert 0 < result.duration < 86400


@pytest.mark.parametrize("cancels", [1, 2])
async def test_a_cancellation_is_passed_on_when_all_is_gone(cancels, tmp_path):
    script = "trap 'sleep 0.3; exit' TERM; sleep 600 & echo $! > a.pid; setsid sleep 600 & echo $$ > b.pid; wait"
    task = asyncio.create_task(run(sh(script), cwd=tmp_path, timeout=PATIENCE))
    await appears(tmp_path / "a.pid", tmp_path / "b.pid")
    for _ in range(cancels):
        task.cancel()
        await asyncio.sleep(0.05)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not [pid for pid in pids_in(tmp_path) if is_alive(pid)]


async def test_a_cancellation_during_the_stop_after_the_limit_is_not_lost(tmp_path):
    limit = UntilSaid("set")
    task = asyncio.create_task(
        run(
            sh("trap 'echo > got; sleep 0.3; exit' TERM; echo set; while :; do sleep 1; done"),
            cwd=tmp_path,
            timeout=limit,
            emit=limit.hear,
        )
    )
    async with asyncio.timeout(PATIENCE):
        while not (tmp_path / "got").exists():
            assert not task.done()
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancelled_before_it_began_it_does_nothing(tmp_path):
    task = asyncio.create_task(run(sh("echo > ran"), cwd=tmp_path, timeout=PATIENCE))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (tmp_path / "ran").exists()


def test_stopped_between_request_and_start_it_does_nothing(tmp_path):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(supervisor.encode_request(sh("echo > ran"), str(tmp_path), {}))
        ours.shutdown(socket.SHUT_WR)
        subprocess.run([sys.executable, "-I", "-S", supervisor.__file__], stdin=theirs, check=True)
        theirs.close()
        assert ours.recv(100) == b""
    assert not (tmp_path / "ran").exists()


def test_the_end_of_a_loop_ends_its_commands(tmp_path):
    async def main() -> None:
        tasks.append(asyncio.create_task(run(sh("echo $$ > a.pid; exec sleep 600"), cwd=tmp_path, timeout=PATIENCE)))
        await appears(tmp_path / "a.pid")

    tasks: list[asyncio.Task[CommandResult]] = []
    asyncio.run(main())
    assert tasks[0].cancelled()
    assert not is_alive(pids_in(tmp_path)[0])


PRODUCT = """
import asyncio, sys
from pathlib import Path
from tui_agent.workspace.runner import run
asyncio.run(run(sys.argv[2:], cwd=Path(sys.argv[1]), timeout=60))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
async def test_nothing_outlives_the_product(how, tmp_path):
    script = "sleep 600 & echo $! > a.pid; (env -i setsid sh -c 'echo $$ > b.pid; exec sleep 600' &); wait"
    product = subprocess.Popen([sys.executable, "-c", PRODUCT, str(tmp_path), *sh(script)], cwd=ROOT)
    await appears(tmp_path / "a.pid", tmp_path / "b.pid")
    product.send_signal(how)
    product.wait()
    async with asyncio.timeout(PATIENCE):
        while any(is_alive(pid) for pid in pids_in(tmp_path)):
            await asyncio.sleep(0.01)


async def test_an_error_of_the_listener_is_not_swallowed_and_the_command_ends(tmp_path):
    def emit(piece: str) -> None:
        raise LookupError(piece)

    with pytest.raises(LookupError):
        await run(sh("echo $$ > a.pid; echo hi; exec sleep 600"), cwd=tmp_path, timeout=PATIENCE, emit=emit)
    assert not is_alive(pids_in(tmp_path)[0])


async def test_a_command_that_kills_its_supervisor_ends_with_it(tmp_path):
    script = "echo $" + RUN_MARK + " > mark; setsid sleep 600 & kill -9 $PPID; sleep 600"
    result = await run(sh(script), cwd=tmp_path, timeout=PATIENCE)
    assert (result.exit_code, result.timed_out) == (None, False)
    assert "killed" in result.error
    assert not marked((tmp_path / "mark").read_text().strip())


async def test_without_supervisor_and_mark_the_kernel_ends_the_command(tmp_path):
    result = await run(sh("echo $$ > a.pid; kill -9 $PPID; exec env -i sleep 600"), cwd=tmp_path, timeout=PATIENCE)
    assert result.exit_code is None
    assert not is_alive(pids_in(tmp_path)[0])


async def test_a_command_that_freezes_its_supervisor_is_ended_at_the_limit(tmp_path, supervision):
    supervision()  # nobody waits long for one that is frozen
    limit = UntilSaid("frozen")
    script = "echo $$ > a.pid; kill -STOP $PPID; echo frozen; exec sleep 600"
    result = await run(sh(script), cwd=tmp_path, timeout=limit, emit=limit.hear)
    assert (result.exit_code, result.timed_out, result.error) == (None, True, None)
    assert not is_alive(pids_in(tmp_path)[0])


async def test_a_supervisor_that_is_told_to_end_ends_the_command(tmp_path):
    result = await run(sh("kill -TERM $PPID; exec sleep 600"), cwd=tmp_path, timeout=PATIENCE)
    assert (result.exit_code, result.signal, result.timed_out) == (None, signal.SIGTERM, False)
    assert result.error


# ------------------------------------------------------------------ programs that cannot be started


def make(path: Path, text: str = "", mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


REFUSED: dict[str, tuple[list[str], str]] = {
    "nothing": ([], "empty"),
    "an empty name": ([""], "empty"),
    "not on PATH": (["nothing-of-that-name"], "no such program on PATH"),
    "no such file": (["./nothing"], "there is no such program."),
    "below a file": (["./text/x"], "there is no such program."),
    "not executable": (["DIR/text"], "not executable"),
    "not executable, relative": (["./text"], "not executable"),
    "bad interpreter": (["./bad"], "interpreter"),
    "no interpreter": (["./bare"], "neither a binary"),
    "a folder": (["DIR"], "folder"),
    "one word of 3 MB": (["echo", "x" * 3_000_000], "longer"),
    "3 MB of words": (["echo", *["x" * 1000] * 3000], "longer"),
    "a name of 5000 letters": (["x" * 5000], "too long"),
    "a path of 5000 letters": (["/" + "x" * 5000], "too long"),
    "a NUL": (["echo", "a\0b"], "NUL"),
    "a lone surrogate": (["echo", "\ud800"], "surrogate"),
}


@pytest.mark.parametrize(("argv", "why"), REFUSED.values(), ids=REFUSED.keys())
async def test_what_cannot_be_started_is_one_sentence(argv, why, tmp_path):
    make(tmp_path / "text", "#!/bin/sh\n", 0o644)
    make(tmp_path / "bad", "#!/nothing/there\n")
    make(tmp_path / "bare", "echo hi\n")
    result = await run([word.replace("DIR", str(tmp_path)) for word in argv], cwd=tmp_path, timeout=PATIENCE)
    assert (result.exit_code, result.output, result.timed_out, result.signal) == (None, "", False, None)
    assert why in result.error.replace("File name too long", "too long")
    assert result.error.endswith(".")
    assert len(result.error) < 250


@pytest.mark.parametrize("make_cwd", [lambda d: d / "gone", lambda d: Path(make(d / "f"))], ids=["gone", "a file"])
async def test_a_folder_that_is_gone_is_one_sentence(make_cwd, tmp_path):
    result = await run(["true"], cwd=make_cwd(tmp_path), timeout=PATIENCE)
    assert "folder" in result.error
    assert result.exit_code is None


async def test_a_folder_that_is_deleted_by_the_command_does_no_harm(tmp_path):
    folder = tmp_path / "w"
    folder.mkdir()
    result = await run(sh("rmdir $PWD; echo gone"), cwd=folder, timeout=PATIENCE)
    assert (result.exit_code, result.output) == (0, "gone\n")


async def test_a_variable_that_no_program_can_be_given_is_one_sentence(tmp_path):
    result = await run(["true"], cwd=tmp_path, timeout=PATIENCE, env={"A=B": "1"})
    assert "variable" in result.error


@pytest.mark.parametrize("fault", ["interpreter", "descriptors"])
async def test_without_means_to_make_a_process_it_is_one_sentence(fault, tmp_path, monkeypatch):
    if fault == "interpreter":
        monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    else:
        monkeypatch.setattr(os, "pipe", lambda: (_ for _ in ()).throw(OSError(24, "Too many open files")))
    result = await run(["true"], cwd=tmp_path, timeout=PATIENCE)
    assert result.error.startswith("No process can be started: ")


def test_the_request_survives_any_words():
    request = supervisor.encode_request(["a", "", "b c"], "/x", {"N": "v=w", "E": ""})
    assert int.from_bytes(request[:8], "big") == len(request) - 8
    assert request[8:].split(b"\0") == [b"/x", b"3", b"a", b"", b"b c", b"N=v=w", b"E="]
