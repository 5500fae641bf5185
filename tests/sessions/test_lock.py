from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tui_agent.core.lock import HeldError, Holder, Lock, holder, started

HOLD = "import sys, time; from pathlib import Path; from tui_agent.core.lock import Lock; lock = Lock(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"


def other(path: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_process_is_refused_with_the_pid_of_the_first_and_takes_over_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with other(path) as process:
        with pytest.raises(HeldError, match=str(process.pid)) as refused:
            Lock(path)
        assert refused.value.holder is not None
        assert refused.value.holder.pid == process.pid
        assert holder(path) == refused.value.holder
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert holder(path) is None
    lock = Lock(path)
    assert lock.took_over
    lock.release()


def test_a_lock_given_back_is_simply_free(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    with pytest.raises(HeldError):
        Lock(tmp_path / "lock")
    lock.release()
    lock.release()
    again = Lock(tmp_path / "lock")
    assert not again.took_over
    again.release()


def test_a_pid_that_is_used_again_fools_nobody(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(json.dumps({"pid": os.getpid(), "started": "another boot:1"}))
    assert holder(tmp_path / "lock") is None
    assert Holder(os.getpid(), started(os.getpid())).alive
    lock = Lock(tmp_path / "lock")
    assert lock.took_over
    lock.release()


@pytest.mark.parametrize("alive", [True, False])
def test_where_the_disk_has_no_locks_the_process_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alive: bool
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    mark = started(os.getpid()) if alive else "another boot:1"
    (tmp_path / "lock").write_text(json.dumps({"pid": os.getpid(), "started": mark}))
    if alive:
        with pytest.raises(HeldError):
            Lock(tmp_path / "lock")
    else:
        Lock(tmp_path / "lock").release()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}', "null"])
def test_a_damaged_lock_file_is_no_obstacle(tmp_path: Path, content: str) -> None:
    (tmp_path / "lock").write_text(content)
    assert holder(tmp_path / "lock") is None
    Lock(tmp_path / "lock").release()


@pytest.mark.parametrize("pid", ["1e999", "99999999999999999999", "NaN", "-1", "0", "[" * 400])
def test_a_pid_that_nobody_can_have_is_no_obstacle(tmp_path: Path, pid: str) -> None:
    (tmp_path / "lock").write_text(f'{{"pid": {pid}, "started": ""}}')
    assert holder(tmp_path / "lock") is None
    Lock(tmp_path / "lock").release()


@pytest.mark.parametrize("content", ["", '{"pid": 1, "started": "the boot of a container:1"}'])
def test_the_kernel_says_who_is_there_not_the_pid(tmp_path: Path, content: str) -> None:
    with other(tmp_path / "lock") as process:
        (tmp_path / "lock").write_text(content)
        assert holder(tmp_path / "lock") == Holder(1, "the boot of a container:1") if content else Holder(0)
        with pytest.raises(HeldError, match="process 1" if content else "another window:"):
            Lock(tmp_path / "lock")
        process.kill()
    assert holder(tmp_path / "lock") is None


def test_a_look_at_a_lock_does_not_keep_anybody_out(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    with path.open("rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        threading.Timer(0.005, fcntl.flock, (looking, fcntl.LOCK_UN)).start()
        Lock(path).release()
