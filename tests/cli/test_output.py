"""stdout holds the answer and nothing else; what cannot be written ends quietly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.cli.server import Calls, Text, call, serving
from tui_agent import __version__
from tui_agent.core import events as ev
from tui_agent.core import log

EDIT = call("write_file", "I will write it.", path="a.txt", content="a\n")


def test_remarks_beside_actions_are_not_the_answer(shell: Shell) -> None:
    with serving(EDIT, Text("Done.")) as server:
        shell.use(server.url)
        done = shell.run("--yes", "-p", "write")
    assert done.out == "Done.\n"
    assert "  I will write it.\n" in done.err


def test_json_of_a_finished_task(shell: Shell) -> None:
    with serving(EDIT, Text("Done.")) as server:
        shell.use(server.url)
        done = shell.run("--yes", "--json", "-p", "write")
    result = done.json
    assert result.pop("session") == shell.sessions()[0].parent.name
    assert result == {
        "status": "unverified",
        "detail": "no check is configured for this folder",
        "answer": "Done.",
        "check": "none",
        "unsandboxed": False,
        "refused": [],
        "files": {"a.txt": {"mark": "A", "added": 1, "removed": 0}},
        "steps": 2,
        "usage": {"in": 200, "out": 20, "cost": 0.0},
        "exit_code": 0,
    }


def test_json_of_a_refused_action(shell: Shell) -> None:
    with serving(EDIT, Text("I would write it.")) as server:
        shell.use(server.url)
        done = shell.run("--json", "-p", "write")
    result = done.json
    assert (done.code, result["exit_code"], result["status"]) == (3, 3, "refused")
    assert result["answer"] == "I would write it."
    (refused,) = result["refused"]
    assert (refused["tool"], refused["path"], refused["by"]) == ("write_file", "a.txt", "nobody")
    assert result["files"] == {}


def test_quiet(shell: Shell) -> None:
    with serving(EDIT, Text("Done.")) as server:
        shell.use(server.url)
        assert shell.run("--quiet", "--yes", "-p", "write").err == ""
    with serving(call("run_shell", script="true"), Text("No.")) as server:
        shell.use(server.url)
        assert shell.run("-q", "-p", "run").err.startswith("tui-agent: 1 action needed approval (shell  true).")


@pytest.mark.parametrize(
    ("words", "stdin", "task"),
    [
        (("say", "hi"), "", "say hi"),
        (("-p", " one ", "-p", "two "), "", "one \ntwo"),
        (("three", "-p", "one", "--prompt", "two"), "", "three\n\none\ntwo"),
        (("--stdin",), "  from a pipe\n\n", "from a pipe"),
        (("--stdin", "-p", "review this"), "+a\n-b\n", "review this\n\n+a\n-b"),
        (("-p", "x"), "not read", "x"),
        (("--", "demo"), "", "demo"),
        (("--", "-p"), "", "-p"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_task_is_joined_from_its_sources(shell: Shell, words: tuple[str, ...], stdin: str, task: str) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url)
        done = shell.run(*words, stdin=stdin)
    assert done.code == 0, done.err
    assert server.bodies[0]["messages"][-1]["content"] == task


def test_an_empty_or_endless_stdin_is_refused(shell: Shell) -> None:
    shell.use("http://127.0.0.1:9/v1")
    assert "the task is empty" in shell.run("--stdin", stdin=" \n").err
    with Path("/dev/zero").open("rb") as zero:
        done = shell.run("--stdin", stdin=zero.fileno())
    assert done.code == 5
    assert "stdin holds more than" in done.err


def test_help_and_version_need_no_configuration(shell: Shell) -> None:
    shell.configure("broken [")
    assert shell.run("--version").out == f"tui-agent {__version__}\n"
    done = shell.run("--help")
    assert done.code == 0
    assert "tui-agent demo" in done.out


def into(shell: Shell, redirection: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run with the streams as a shell redirects them."""
    command = ["sh", "-c", f'"$@" {redirection}', "sh", sys.executable, "-m", "tui_agent", *words]
    return subprocess.run(
        command, cwd=shell.work, env=shell.environment({}), capture_output=True, timeout=30, check=False
    )


def test_nobody_reads_stdout(shell: Shell) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with serving(Text("line\n" * 50_000)) as server:
        shell.use(server.url)
        done = subprocess.run(
            [sys.executable, "-m", "tui_agent", "-p", "hi"],
            cwd=shell.work,
            env=shell.environment({}),
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )
        os.close(writer)
        piped = into(shell, "2>&1 | head -1", "-p", "hi")
    assert done.returncode == 141
    assert b"Traceback" not in done.stderr
    assert b"Broken" not in done.stderr
    assert piped.stdout.count(b"\n") == 1
    assert piped.stderr == b""


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_take_no_file_of_ours_in(shell: Shell, streams: str) -> None:
    with serving(EDIT, Text("Done.")) as server:
        shell.use(server.url)
        done = into(shell, streams, "--yes", "-p", "write")
    assert done.returncode == 0
    assert done.stdout == (b"" if ">&-" in streams.replace("2>&-", "") else b"Done.\n")
    assert not done.stderr or b"exit 0" in done.stderr
    loaded = log.load(shell.sessions()[0])
    assert loaded.problems == ()
    assert (shell.work / "a.txt").read_text() == "a\n"


@pytest.mark.parametrize(
    "env",
    [
        {"LANG": "C"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"TERM": "dumb"},
        {"TERM": None},
        {"LANG": None},
    ],
    ids=str,
)
def test_any_locale_and_terminal(shell: Shell, env: dict[str, str | None]) -> None:
    shell.write("u.txt", "ä\n")
    with serving(call("read_file", "Größe:", path="u.txt"), Text("ä → \ud800 ok")) as server:
        shell.use(server.url)
        done = shell.run("-p", "lies ü", env=env)
        as_json = shell.run("--json", "-p", "lies ü", env=env)
    assert done.code == 0, done.err
    assert done.out.endswith(" ok\n")
    assert as_json.json["answer"].endswith(" ok")
    assert server.told(1)[0].endswith("ä")


def test_words_that_are_no_utf8(shell: Shell) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url)
        done = shell.run("-p", os.fsdecode(b"caf\xe9"))
    assert done.code == 0, done.err
    assert server.bodies[0]["messages"][-1]["content"] == "caf?"


@pytest.mark.parametrize("home", [None, "", "/nowhere/at/all"])
def test_a_home_that_is_missing(shell: Shell, home: str | None) -> None:
    # XDG variables keep the test out of the real home of whoever runs it
    xdg = {f"XDG_{n}_HOME": str(shell.home / n.lower()) for n in ("CONFIG", "DATA", "STATE")}
    with serving(Text("ok")) as server:
        shell.use(server.url)
        done = shell.run("--config", str(shell.config_file), "-p", "hi", env={"HOME": home, **xdg})
    assert (done.code, done.out) == (0, "ok\n"), done.err


@pytest.mark.parametrize("words", [("-p", "hi"), ("trust",), ()], ids=" ".join)
def test_a_user_without_any_home(shell: Shell, words: tuple[str, ...]) -> None:
    code = "import pwd\ndef no(uid): raise KeyError(uid)\npwd.getpwuid = no\nfrom tui_agent.cli import entry; entry()"
    done = shell.run(*words, command=("-c", code), env={"HOME": None})
    assert done.code == 5
    assert done.err == "tui-agent: there is no home folder: set HOME, or XDG_CONFIG_HOME to an absolute path\n"


def test_a_home_that_cannot_be_written_is_said_and_the_task_goes_on(shell: Shell) -> None:
    blocked = shell.base / "file"
    blocked.touch()
    with serving(EDIT, Text("ok")) as server:
        shell.use(server.url)
        done = shell.run("--yes", "-p", "hi", env={"XDG_DATA_HOME": str(blocked)})
    assert (done.code, done.out) == (0, "ok\n"), done.err
    assert "tui-agent: session not saved" in done.err


def test_a_folder_that_was_deleted(shell: Shell) -> None:
    gone = shell.base / "gone"
    gone.mkdir()
    code = f"import os; os.rmdir({str(gone)!r}); from tui_agent.cli import entry; entry()"
    done = shell.run("-p", "hi", command=("-c", code), cwd=gone)
    assert done.code == 5
    assert "cannot be used" in done.err


def test_nothing_raw_reaches_stderr(shell: Shell) -> None:
    evil = "\x1b]52;c;AAAA\x07\u202e\x9b31m"
    calls = Calls((("read_file", {"path": evil}), ("run_command", {"argv": ["echo", evil]})), evil)
    with serving(calls, Text(evil)) as server:
        shell.use(server.url)
        done = shell.run("-p", "x")
    assert done.out == evil + "\n"  # a pipe gets the bytes as they are
    assert not any(c in done.err for c in "\x1b\x07\u202e\x9b")


def test_the_session_is_private_and_can_be_loaded(shell: Shell) -> None:
    with serving(EDIT, Text("Done.")) as server:
        shell.use(server.url)
        shell.run("--yes", "-p", "write")
    (file,) = shell.sessions()
    loaded = log.load(file)
    assert loaded.problems == ()
    assert isinstance(loaded.events[0], ev.SessionStarted)
    assert isinstance(loaded.events[-1], ev.RunEnded)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert all(json.loads(line) for line in file.read_text().splitlines())
    assert all(p.stat().st_mode & 0o077 == 0 for p in file.parent.rglob("*"))
