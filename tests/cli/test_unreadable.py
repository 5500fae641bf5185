"""Folders that the person may not enter: each is a sentence, and what can go on goes on."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Result, Shell
from tests.cli.server import Text, call, serving
from tests.waiting import PATIENCE
from tui_agent import unsent
from tui_agent.core.log import load
from tui_agent.summaries import contains
from tui_agent.ui.history import History
from tui_agent.ui.looks import remembered
from tui_agent.ui.themes import own
from tui_agent.workspace.receipts import Blobs

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 24, 1, 2


def without_privilege() -> None:
    """In the child: permissions count for root, too."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            assert libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0


def run(shell: Shell, *words: str) -> Result:
    done = subprocess.run(
        [sys.executable, "-m", "tui_agent", *words],
        cwd=shell.work,
        env=shell.environment({"PATH": f"{shell.base / 'locked'}:{os.environ['PATH']}", "EDITOR": "true"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        start_new_session=True,
        preexec_fn=without_privilege,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


@contextmanager
def locked(*folders: Path) -> Iterator[None]:
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0)
    try:
        yield
    finally:
        for folder in folders:
            folder.chmod(0o700)


def test_a_task_goes_on_without_what_was_kept(shell: Shell) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url)
        with locked(shell.data, shell.work / ".agents", shell.base / "locked"):
            done = run(shell, "-p", "hi")
    assert (done.code, done.out) == (0, "ok\n"), done.err
    assert f"tui-agent: {shell.data}/trust.toml cannot be used (Permission denied); nothing is trusted" in done.err
    assert "tui-agent: session not saved: Permission denied" in done.err


@pytest.mark.parametrize(
    ("folder", "name", "says"),
    [
        ("data", "trust.toml", "trust.toml cannot be used (it is no ordinary file); nothing is trusted"),
        ("data", "checks.toml", "checks.toml cannot be used (it is no ordinary file); nothing is trusted"),
        ("data", "rules.toml", ""),
        ("config", "prompts/coding.txt", "it is no ordinary file"),
    ],
)
def test_a_pipe_in_the_place_of_a_file_of_the_person_is_waited_for_by_nobody(
    shell: Shell, folder: str, name: str, says: str
) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url)
        file = (shell.data if folder == "data" else shell.config_file.parent) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(file)
        done = run(shell, "-p", "hi")
    assert done.code == (0 if folder == "data" else 5), done.err
    assert says in done.err


def test_what_is_kept_is_read_only_where_it_is_a_file(tmp_path: Path) -> None:
    for name in ("a" * 64, "log.jsonl", "unsent.json", "side", "history"):
        os.mkfifo(tmp_path / name)
    assert Blobs(tmp_path).get("a" * 64) is None
    assert not contains(tmp_path, "word")
    assert History(tmp_path / "history").entries == []
    assert remembered(tmp_path / "side").sides == "auto"
    with pytest.raises(ValueError, match="cannot be read"):
        unsent.read(tmp_path / "unsent.json", ())
    with pytest.raises(OSError, match="no ordinary file"):
        load(tmp_path / "log.jsonl")


def test_a_task_in_a_folder_that_cannot_be_entered(shell: Shell) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url)
        with locked(shell.work):
            done = run(shell, "-p", "hi")
    assert (done.code, done.out) == (0, "ok\n"), done.err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("paths",), 0, "data "),
        (("sessions",), 1, "cannot be read: Permission denied"),
        (("--continue", "-p", "hi"), 1, "cannot be read: Permission denied"),
        (("trust",), 1, "trust.toml cannot be used (Permission denied)"),
        (("purge", "--dry-run"), 0, "would remove"),
        (("config", "check"), 5, "config.toml: cannot be read: Permission denied"),
        (("config", "edit"), 5, "config.toml could not be made: Permission denied"),
        (("keys", "ui.help"), 0, "F1"),
        (("doctor", "--offline"), 1, "cannot be written to: no session and no answer is kept"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_says_it(shell: Shell, words: tuple[str, ...], code: int, says: str) -> None:
    with locked(shell.data, shell.config_file.parent, shell.base / "locked"):
        done = run(shell, *words)
    assert done.code == code, done.err
    assert says in done.out + done.err
    assert not shell.state.exists(), "no report of a crash"


def test_a_copy_of_a_folder_is_made_without_what_may_not_be_read(shell: Shell) -> None:
    file = shell.write("a.txt", "hi\n")
    with serving(call("read_file", path="a.txt"), Text("It says hi.")) as server:
        shell.use(server.url)
        assert run(shell, "-p", "look").code == 0
    session = shell.sessions()[0].parent.name
    shell.write("sub/b.txt", "x\n")
    with locked(shell.work / "sub/shut"):
        done = run(shell, "replay", "--execute", session)
        assert (done.code, "tui-agent: not copied, because you may not read it: sub/shut\n" in done.err) == (0, True)
        file.chmod(0)
        done = run(shell, "replay", "--execute", session)
        assert (done.code, "a.txt" in done.err) == (2, True)  # and so it reads otherwise
    with locked(shell.work):
        done = run(shell, "replay", "--execute", session)
    assert (done.code, "cannot be copied: Permission denied" in done.err) == (1, True), done.err
    assert not shell.state.exists(), "no report of a crash"


def test_themes_that_cannot_be_listed_are_named(tmp_path: Path) -> None:
    assert own(tmp_path / "none") == ([], [])
    (tmp_path / "themes").touch()
    assert own(tmp_path / "themes") == ([], [f"{tmp_path / 'themes'}: Not a directory"])
