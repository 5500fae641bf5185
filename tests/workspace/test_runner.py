"""The command runner, on real programs: what a command can see, what it may leave, how it ends."""
# ruff: noqa: ASYNC110, ASYNC220 - a test that watches other processes polls, and may block its loop

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.workspace import runner, supervisor
from tui_agent.workspace.runner import LIVE_PIECE, RUN_MARK, CommandResult, child_environment, run

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
    async with asyncio.timeout(10):
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
    result = await run(sh("echo one; echo two >&2; echo three; exit 3"), cwd=tmp_path, timeout=10)
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
    result = await run(py("import os,sys; print(os.getcwd(), sys.argv[1:])", *words), cwd=tmp_path, timeout=10)
    assert result.output == f"{tmp_path} {words}\n"


async def test_a_signal_is_told_and_becomes_an_exit_code(tmp_path):
    result = await run(sh("kill -SEGV $$"), cwd=tmp_path, timeout=10)
    assert (result.exit_code, result.signal, result.error) == (128 + signal.SIGSEGV, signal.SIGSEGV, None)


async def test_the_command_is_alone_in_its_session_and_group(tmp_path):
    script = "import os; print(os.getsid(0) == os.getpgrp() == os.getpid(), os.getsid(0) == int(os.sys.argv[1]))"
    result = await run(py(script, str(os.getsid(0))), cwd=tmp_path, timeout=10)
    assert result.output == "True False\n"


async def test_input_is_empty_and_there_is_no_terminal(tmp_path):
    script = "import sys; print(repr(sys.stdin.read()))\ntry: open('/dev/tty')\nexcept OSError as e: print(e.errno)"
    result = await run(py(script), cwd=tmp_path, timeout=10)
    assert result.output == "''\n6\n"  # ENXIO, at once


async def test_signals_and_descriptors_are_as_a_program_expects_them(tmp_path):
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        result = await run(sh("grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd"), cwd=tmp_path, timeout=10)
    finally:
        signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    assert result.output.split() == ["SigBlk:", "0" * 16, "SigIgn:", "0" * 16, "0", "1", "2", "3"]  # 3: ls itself


async def test_two_commands_at_once_do_not_mix(tmp_path):
    results = await asyncio.gather(
        *(run(sh(f"for i in 1 2 3; do echo {n}; done"), cwd=tmp_path, timeout=10) for n in "abcd")
    )
    assert [r.output for r in results] == [f"{n}\n" * 3 for n in "abcd"]


def test_it_works_in_a_loop_of_another_thread_and_survives_the_thread_that_started_it(tmp_path):
    results: list[CommandResult] = []
    thread = threading.Thread(
        target=lambda: results.append(asyncio.run(run(sh("sleep 0.1; echo ok"), cwd=tmp_path, timeout=10)))
    )
    thread.start()
    thread.join()
    assert results[0].output == "ok\n"


def test_no_descriptor_and_no_process_is_left_behind(tmp_path):
    async def rounds() -> None:
        await run(["true"], cwd=tmp_path, timeout=10)
        await run(["nothing-of-that-name"], cwd=tmp_path, timeout=10)
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
    result = await run(sh(f"{script}\n{wait}"), cwd=tmp_path, timeout=10)
    [pid] = pids_in(tmp_path)
    assert not is_alive(pid)
    assert pid in result.killed
    assert (result.exit_code, result.output, result.timed_out) == (4, "done\n", False)
    assert result.duration < 5


async def test_a_leftover_that_ends_within_the_grace_is_left_alone(tmp_path):
    result = await run(sh("(sleep 0.01; echo late) & echo soon"), cwd=tmp_path, timeout=10)
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
        time.sleep(0.01)
"""
    env = child_environment(os.environ)
    result = await run(py(bomb), cwd=tmp_path, timeout=1.0, env=env)
    assert result.timed_out
    assert not [pid for pid in result.killed if is_alive(pid)]


# ------------------------------------------------------------------ the limit, a cancellation, the end of the product


async def test_the_limit_ends_the_whole_tree_and_keeps_the_output(tmp_path):
    script = "echo before; sleep 600 & echo $! > a.pid; setsid sleep 600 & echo $! > b.pid; wait"
    result = await run(sh(script), cwd=tmp_path, timeout=1.0)
    assert result.timed_out
    assert (result.exit_code, result.signal, result.error) == (None, signal.SIGTERM, None)
    assert result.output.startswith("before\n")
    assert set(pids_in(tmp_path)) <= set(result.killed)
    assert not [pid for pid in pids_in(tmp_path) if is_alive(pid)]


async def test_a_program_may_clean_up_at_term(tmp_path):
    result = await run(sh("trap 'echo cleaned; exit 0' TERM; sleep 600 & wait"), cwd=tmp_path, timeout=1.0)
    assert (result.timed_out, result.exit_code, result.signal, result.output) == (True, None, None, "cleaned\n")


async def test_a_program_that_ignores_term_is_killed(tmp_path):
    result = await run(sh("trap '' TERM; echo $$ > a.pid; sleep 600"), cwd=tmp_path, timeout=0.7)
    assert (result.timed_out, result.exit_code, result.signal) == (True, None, signal.SIGKILL)
    assert not is_alive(pids_in(tmp_path)[0])


async def test_the_limit_does_not_follow_the_wall_clock(tmp_path, monkeypatch):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 86400 * len(str(time.monotonic_ns())[-1]))
    result = await run(["true"], cwd=tmp_path, timeout=30)
    assert not result.timed_out
    assert 0 < result.duration < 30


@pytest.mark.parametrize("cancels", [1, 2])
async def test_a_cancellation_is_passed_on_when_all_is_gone(cancels, tmp_path):
    script = "trap 'sleep 0.3; exit' TERM; sleep 600 & echo $! > a.pid; setsid sleep 600 & echo $$ > b.pid; wait"
    task = asyncio.create_task(run(sh(script), cwd=tmp_path, timeout=60))
    await appears(tmp_path / "a.pid", tmp_path / "b.pid")
    for _ in range(cancels):
        task.cancel()
        await asyncio.sleep(0.05)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not [pid for pid in pids_in(tmp_path) if is_alive(pid)]


async def test_a_cancellation_during_the_stop_after_the_limit_is_not_lost(tmp_path):
    task = asyncio.create_task(
        run(sh("trap 'echo > got; sleep 0.3; exit' TERM; sleep 600 & wait"), cwd=tmp_path, timeout=1.0)
    )
    async with asyncio.timeout(10):
        while not (tmp_path / "got").exists():
            assert not task.done()
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancelled_before_it_began_it_does_nothing(tmp_path):
    task = asyncio.create_task(run(sh("echo > ran"), cwd=tmp_path, timeout=60))
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
        tasks.append(asyncio.create_task(run(sh("echo $$ > a.pid; exec sleep 600"), cwd=tmp_path, timeout=60)))
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
    async with asyncio.timeout(10):
        while any(is_alive(pid) for pid in pids_in(tmp_path)):
            await asyncio.sleep(0.01)


async def test_a_command_that_kills_its_supervisor_ends_with_it(tmp_path):
    script = "echo $" + RUN_MARK + " > mark; setsid sleep 600 & kill -9 $PPID; sleep 600"
    result = await run(sh(script), cwd=tmp_path, timeout=10)
    assert (result.exit_code, result.timed_out) == (None, False)
    assert "killed" in result.error
    assert not marked((tmp_path / "mark").read_text().strip())


async def test_without_supervisor_and_mark_the_kernel_ends_the_command(tmp_path):
    result = await run(sh("echo $$ > a.pid; kill -9 $PPID; exec env -i sleep 600"), cwd=tmp_path, timeout=10)
    assert result.exit_code is None
    assert not is_alive(pids_in(tmp_path)[0])


async def test_a_command_that_freezes_its_supervisor_is_ended_at_the_limit(tmp_path):
    result = await run(sh("echo $$ > a.pid; kill -STOP $PPID; exec sleep 600"), cwd=tmp_path, timeout=0.5)
    assert (result.exit_code, result.timed_out, result.error) == (None, True, None)
    assert not is_alive(pids_in(tmp_path)[0])


async def test_a_supervisor_that_is_told_to_end_ends_the_command(tmp_path):
    result = await run(sh("kill -TERM $PPID; exec sleep 600"), cwd=tmp_path, timeout=10)
    assert (result.exit_code, result.signal, result.timed_out) == (None, signal.SIGTERM, False)
    assert result.error


# ------------------------------------------------------------------ output


async def test_a_line_of_100_mb_stays_in_bounds(tmp_path):
    tracemalloc.start()
    try:
        result = await run(["head", "-c", "100000000", "/dev/zero"], cwd=tmp_path, timeout=60, emit=lambda _: None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (result.exit_code, result.total_bytes) == (0, 100_000_000)
    assert result.output.count("\0") == 1_000_000
    assert "\n[99,000,000 bytes left out, 0 lines]\n" in result.output
    assert peak < 20_000_000


async def test_an_endless_flood_is_cut_and_the_loop_goes_on(tmp_path):
    turns = 0

    async def other_work() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.001)
            turns += 1

    work = asyncio.create_task(other_work())
    result = await run(["yes"], cwd=tmp_path, timeout=0.5, max_output=1000)
    work.cancel()
    assert result.timed_out
    assert result.output.startswith("y\n" * 250 + "\n[")
    assert result.output.endswith("lines]\n" + "y\n" * 250)
    assert turns > 20


async def test_output_that_is_not_utf8_is_replaced(tmp_path):
    result = await run(py("import os; os.write(1, b'a\\xff\\0b\\xc3')"), cwd=tmp_path, timeout=10)
    assert result.output == "a\ufffd\0b\ufffd"


async def test_the_last_state_of_a_progress_bar_is_kept(tmp_path):
    result = await run(py("for i in range(200001): print(i, end='\\r')"), cwd=tmp_path, timeout=10, max_output=100)
    assert result.output.endswith("199999\r200000\r")


async def test_output_is_live(tmp_path):
    pieces: list[str] = []

    def emit(piece: str) -> None:
        pieces.append(piece)
        (tmp_path / "seen").touch()

    result = await run(
        sh("echo first; while ! [ -e seen ]; do sleep 0.01; done; echo last"), cwd=tmp_path, timeout=10, emit=emit
    )
    assert not result.timed_out
    assert pieces[0] == "first\n"
    assert "".join(pieces) == result.output == "first\nlast\n"


async def test_live_pieces_are_few_and_bounded(tmp_path):
    pieces: list[str] = []
    result = await run(["seq", "1000000"], cwd=tmp_path, timeout=30, emit=pieces.append)
    assert len(pieces) <= result.duration / runner.LIVE_INTERVAL + 2
    assert max(map(len, pieces)) <= LIVE_PIECE + 40
    assert pieces[-1].endswith("1000000\n")


async def test_an_error_of_the_listener_is_not_swallowed_and_the_command_ends(tmp_path):
    def emit(piece: str) -> None:
        raise LookupError(piece)

    with pytest.raises(LookupError):
        await run(sh("echo $$ > a.pid; echo hi; exec sleep 600"), cwd=tmp_path, timeout=60, emit=emit)
    assert not is_alive(pids_in(tmp_path)[0])


CHUNKS = st.lists(st.one_of(st.binary(max_size=40), st.text("aé€🎈\n", max_size=20).map(str.encode)), max_size=12)


@given(chunks=CHUNKS, limit=st.integers(0, 60))
def test_head_tail_and_counts_do_not_depend_on_the_chunks(chunks, limit):
    output = runner._Output(limit)
    for chunk in chunks:
        output.feed(chunk)
    whole = b"".join(chunks)
    assert output.total == len(whole)
    if len(whole) <= limit:
        assert output.text() == whole.decode(errors="replace")
        return
    once = runner._Output(limit)
    once.feed(whole)
    assert output.text() == once.text()
    head, tail = whole[: (limit + 1) // 2], whole[len(whole) - limit // 2 :]
    middle = whole[len(head) : len(whole) - len(tail)]
    count = middle.count(b"\n")
    assert f"\n[{len(middle):,} bytes left out, {count:,} lines]\n" in output.text()


@given(text=st.text("aé€🎈\n", min_size=30, max_size=60), limit=st.integers(0, 29))
def test_a_cut_never_tears_a_character(text, limit):
    output = runner._Output(limit)
    output.feed(text.encode())
    shown = output.text()
    assert "\ufffd" not in shown
    head, tail = shown.split("\n[", 1)[0], shown.rsplit("lines]\n", 1)[1]
    assert text.startswith(head)
    assert text.endswith(tail)


@given(chunks=CHUNKS)
def test_live_pieces_join_to_the_whole(chunks):
    output = runner._Output(10)
    pieces = []
    for chunk in chunks:
        output.feed(chunk)
        pieces.append(output.take_live())
    pieces.append(output.take_live(final=True))
    assert "".join(pieces) == b"".join(chunks).decode(errors="replace")


@given(sizes=st.lists(st.integers(0, 3 * LIVE_PIECE), min_size=1, max_size=6))
def test_a_live_piece_says_what_it_skips(sizes):
    output = runner._Output(10)
    for size in sizes:
        output.feed(b"x" * size)
    piece, skipped = output.take_live(), sum(sizes) - LIVE_PIECE
    assert piece.count("x") == min(sum(sizes), LIVE_PIECE)
    assert (f"[{skipped:,} bytes not shown live]" in piece) == (skipped > 0)


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
    result = await run([word.replace("DIR", str(tmp_path)) for word in argv], cwd=tmp_path, timeout=10)
    assert (result.exit_code, result.output, result.timed_out, result.signal) == (None, "", False, None)
    assert why in result.error.replace("File name too long", "too long")
    assert result.error.endswith(".")
    assert len(result.error) < 250


@pytest.mark.parametrize("make_cwd", [lambda d: d / "gone", lambda d: Path(make(d / "f"))], ids=["gone", "a file"])
async def test_a_folder_that_is_gone_is_one_sentence(make_cwd, tmp_path):
    result = await run(["true"], cwd=make_cwd(tmp_path), timeout=10)
    assert "folder" in result.error
    assert result.exit_code is None


async def test_a_folder_that_is_deleted_by_the_command_does_no_harm(tmp_path):
    folder = tmp_path / "w"
    folder.mkdir()
    result = await run(sh("rmdir $PWD; echo gone"), cwd=folder, timeout=10)
    assert (result.exit_code, result.output) == (0, "gone\n")


async def test_a_variable_that_no_program_can_be_given_is_one_sentence(tmp_path):
    result = await run(["true"], cwd=tmp_path, timeout=10, env={"A=B": "1"})
    assert "variable" in result.error


@pytest.mark.parametrize("fault", ["interpreter", "descriptors"])
async def test_without_means_to_make_a_process_it_is_one_sentence(fault, tmp_path, monkeypatch):
    if fault == "interpreter":
        monkeypatch.setattr(sys, "executable", str(tmp_path / "gone"))
    else:
        monkeypatch.setattr(os, "pipe", lambda: (_ for _ in ()).throw(OSError(24, "Too many open files")))
    result = await run(["true"], cwd=tmp_path, timeout=10)
    assert result.error.startswith("No process can be started: ")


def test_the_request_survives_any_words():
    request = supervisor.encode_request(["a", "", "b c"], "/x", {"N": "v=w", "E": ""})
    assert int.from_bytes(request[:8], "big") == len(request) - 8
    assert request[8:].split(b"\0") == [b"/x", b"3", b"a", b"", b"b c", b"N=v=w", b"E="]


# ------------------------------------------------------------------ the environment


CANARIES = {
    "OPENAI_API_KEY": "canary-1", "X_TOKEN": "canary-2", "MY_PROVIDER": "canary-3", "AWS_SECRET_ACCESS_KEY": "canary-4",
    "LD_PRELOAD": "canary-5", "PYTHONPATH": "canary-6", "BASH_ENV": "canary-7", "GIT_EXTERNAL_DIFF": "canary-8",
    "TUI_AGENT_FAULT": "canary-9", "HTTP_PROXY": "canary-0", "lc_x": "canary-a", "PATHX": "canary-b",
}  # fmt: skip
ORDINARY = {
    "HOME": "/h", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "xterm", "TMPDIR": "/t",
    "USER": "u", "SHELL": "/bin/sh", "VIRTUAL_ENV": "/v", "NO_COLOR": "",
}  # fmt: skip
MARKERS = {"AGENT": "tui-agent", "AI_AGENT": "tui-agent"}


async def test_a_command_sees_no_key(tmp_path, monkeypatch):
    for name, value in {**ORDINARY, **CANARIES}.items():
        if name not in {"LD_PRELOAD", "TMPDIR", "HOME"}:
            monkeypatch.setenv(name, value)
    output = (await run(["env"], cwd=tmp_path, timeout=10)).output
    assert "canary" not in output
    assert "LC_ALL=C.UTF-8\n" in output
    assert "AI_AGENT=tui-agent\n" in output
    assert f"{RUN_MARK}=" in output


def test_only_listed_variables_pass():
    assert child_environment({**ORDINARY, **CANARIES}) == ORDINARY | MARKERS


def test_the_person_may_let_more_pass_but_no_key():
    allow = ["X_TOKEN", "OPENAI_API_KEY", "MY_PROVIDER", "AWS_*", "COPY", "HOLDS"]
    source = {**ORDINARY, **CANARIES, "COPY": "canary-3", "HOLDS": "https://u:canary-3@host", "AWSX": "no"}
    passed = child_environment(source, allow=allow, secrets=["MY_PROVIDER", "NOT_SET"])
    assert passed == ORDINARY | MARKERS | {"X_TOKEN": "canary-2", "AWS_SECRET_ACCESS_KEY": "canary-4"}


@pytest.mark.parametrize("secret", ["", "x", "/h", "none"])
def test_a_short_dummy_key_does_not_empty_the_environment(secret):
    passed = child_environment({**ORDINARY, "K": secret}, allow=["K"], secrets=["K"])
    assert ORDINARY.keys() - passed.keys() <= {"HOME"}  # equal to the dummy is still too much
    assert "K" not in passed


@pytest.mark.parametrize("path", ["", ":", ".", "bin:./x:..", "~/bin", None])
def test_path_without_an_absolute_entry_falls_back(path):
    passed = child_environment({} if path is None else {"PATH": path})
    assert passed["PATH"] == "/usr/local/bin:/usr/bin:/bin"


def test_path_entries_of_an_untrusted_folder_are_dropped(tmp_path):
    work, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (work / "bin", outside / "bin", tmp_path / "work-evil"):
        folder.mkdir(parents=True)
    (outside / "into").symlink_to(work / "bin")
    (work / "out").symlink_to(outside / "bin")
    (tmp_path / "alias").symlink_to(work)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    bad = [
        work,
        work / "bin",
        outside / "into",
        work / "out",
        tmp_path / "alias" / "bin",
        f"{outside}/../work/bin",
        f"{work}/",
    ]
    good = [str(outside / "bin"), str(tmp_path / "work-evil"), str(tmp_path / "loop"), "/usr/bin"]
    source = {"PATH": ":".join(map(str, [*bad, *good])), "VIRTUAL_ENV": str(work / ".venv"), "SHELL": str(work / "sh")}
    for root in (work, tmp_path / "alias"):
        passed = child_environment(source, workspace=root)
        assert passed == {"PATH": ":".join(good)} | MARKERS
    assert child_environment(source)["PATH"] == source["PATH"]


async def test_a_program_is_looked_up_on_the_path_of_the_child(tmp_path):
    (tmp_path / "bin").mkdir()
    make(tmp_path / "bin" / "only-here", "#!/bin/sh\necho found\n")
    env = child_environment({"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})
    assert (await run(["only-here"], cwd=tmp_path, timeout=10, env=env)).output == "found\n"
    env = child_environment({"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}, workspace=tmp_path)
    assert "PATH" in (await run(["only-here"], cwd=tmp_path, timeout=10, env=env)).error
