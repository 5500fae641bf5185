"""stdout holds the answer and nothing else; what cannot be written ends quietly."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.cli.server import Calls, Failure, Text, call, serving
from tests.waiting import PATIENCE
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
    assert "  unverified (no check)    1 file  +1 -0    2 steps" in done.err


def test_json_of_a_finished_task(shell: Shell) -> None:
    with serving(EDIT, Text("Done.")) as server:
        shell.use(server.url)
        done = shell.run("--yes", "--json", "-p", "write")
    result = done.json
    assert result.pop("session") == shell.sessions()[0].parent.name
    assert result == {
        "status": "unverified",
        "reason": "unverified",
        "detail": "no check is configured for this folder",
        "answer": "Done.",
        "finish": "stop",
        "check": "none",
        "unsandboxed": False,
        "refused": [],
        "failed": [],
        "files": {"a.txt": {"mark": "A", "added": 1, "removed": 0}},
        "steps": 2,
        "usage": {"in": 200, "out": 20, "cached": None, "reasoning": None, "uncounted": 0, "cost": 0.0},
        "exit_code": 0,
    }


COUNTED = (
    b'data: {"choices": [{"delta": {"content": "4"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 50, "completion_tokens": 9, '
    b'"prompt_tokens_details": {"cached_tokens": 40}, "completion_tokens_details": {"reasoning_tokens": 7}}}\n\ndata: [DONE]\n\n'
)
SILENT = (
    b'data: {"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "list_files", "arguments": "{}"}}]},'
    b' "finish_reason": "tool_calls"}]}\n\ndata: [DONE]\n\n'
)


@pytest.mark.parametrize(
    ("pricing", "silent", "cost"),
    [("", 0, None), ("input = 1.0\ncached_input = 0.1\noutput = 10.0\n", 0, 0.000104), ("input = 1.0\n", 1, None)],
)
def test_the_numbers_are_those_of_the_server_and_unknown_is_never_nothing(
    shell: Shell, pricing: str, silent: int, cost: float | None
) -> None:
    replies = [Failure(200, SILENT, "text/event-stream")] * silent + [Failure(200, COUNTED, "text/event-stream")]
    with serving(*replies, *replies) as server:
        shell.use(server.url, profile="local = false\n" + (f"[profiles.local.pricing]\n{pricing}" if pricing else ""))
        result = shell.run("--json", "-p", "hi").json
        plain = shell.run("-p", "hi")
    assert result["usage"] == {
        "in": 50,
        "out": 9,
        "cached": 40,
        "reasoning": 7,
        "uncounted": silent,
        "cost": cost if cost is None else pytest.approx(cost),
    }
    assert ("$0.00" in plain.err, "cost n/a" in plain.err) == (cost is not None, cost is None)
    assert ("1 of 2 replies not counted" in plain.err) == bool(silent)


def test_what_a_request_cost_that_brought_no_reply_is_not_known(shell: Shell) -> None:
    with serving(Failure(400, b"no"), Failure(400, b"no")) as server:
        shell.use(server.url, profile="local = false\n")
        result = shell.run("--json", "-p", "hi").json
        plain = shell.run("-p", "hi")
    assert (result["exit_code"], result["usage"]["cost"]) == (1, None)
    assert "no reply  cost n/a" in plain.err
    assert "$" not in plain.err


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


def test_the_intent_is_a_line_of_its_own_and_none_in_quiet(shell: Shell) -> None:
    with serving(Text("Rain.")) as server:
        shell.use(server.url, '[web]\nintents = "words"\nendpoints = { ddg = "http://127.0.0.1:9/" }')
        said = shell.run("-p", "what is the weather in Bern?").err
        assert "\n  intent: general  → one answer with a search of the web, apart from the work; no files\n" in said
        assert "intent" not in shell.run("-q", "-p", "what is the weather in Bern?").err


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


@pytest.mark.parametrize(
    ("word", "meant"), [("doctr", "doctor"), ("completion", "completions"), ("help", "--help"), ("Config", "config")]
)
def test_one_word_that_is_nearly_a_command_is_not_sent_to_a_model(shell: Shell, word: str, meant: str) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url)
        done = shell.run(word)
        assert server.bodies == []
        assert done.code == 5
        assert (
            done.err
            == f"tui-agent: there is no command {word!r}; did you mean {meant}? As a task it goes behind --: tui-agent -- {word}\n"
        )
        assert shell.run("--", word).code == shell.run("tidy").code == 0
        assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("line", "meant", "as_task"),
    [
        ("completion bash", "completions", "-- completion bash"),
        ("confg check", "config", "-- confg check"),
        ("session list", "sessions", "-- session list"),
        ("session prune", "sessions", "-- session prune"),
        ("docter --json", "doctor", "--json -- docter"),
        ("help doctor", "--help", "-- help doctor"),
    ],
)
def test_nor_is_one_with_its_words(shell: Shell, line: str, meant: str, as_task: str) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url)
        done = shell.run(*line.split())
        assert (done.code, server.bodies) == (5, [])
        assert f"did you mean {meant}? As a task it goes behind --: tui-agent {as_task}\n" in done.err
        assert shell.run(*as_task.split()).code == 0
        assert shell.run("path", "handling", "is", "wrong").code == 0  # a sentence that begins like one is a task
        assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("line", "near"),
    [
        ("--resum x -p y", "--resum; did you mean --resume? Try: tui-agent --help"),
        ("-p y --jsn=1", "--jsn=1; did you mean --json? Try: tui-agent --help"),
        ("sessions prune --oldr 9d", "--oldr 9d; did you mean --older? Try: tui-agent sessions --help"),
        ("config import --replac", "--replac; did you mean --replace? Try: tui-agent config --help"),
        ("-p y --max-turns=3", "--max-turns=3; did you mean --max-steps? Try: tui-agent --help"),
        ("-p y --utterly-else", "--utterly-else. Try: tui-agent --help"),
        ("say -q hi", "hi; flags stand before all words or behind them, and not between. Try: tui-agent --help"),
        ("paths x", "x. Try: tui-agent paths --help"),
        ("doctor -x", "-x. Try: tui-agent doctor --help"),
    ],
)
def test_a_mistyped_flag_is_told_with_the_one_that_was_meant(shell: Shell, line: str, near: str) -> None:
    done = shell.run(*line.split())
    assert (done.code, done.out, done.err) == (5, "", f"tui-agent: unrecognized arguments: {near}\n")


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
        command, cwd=shell.work, env=shell.environment({}), capture_output=True, timeout=PATIENCE, check=False
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
            timeout=PATIENCE,
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
    assert done.out == "ä → \ufffd ok\n", "who reads a pipe gets UTF-8"
    assert server.bodies[0]["messages"][-1]["content"] == "lies ü"
    assert as_json.json["answer"].endswith(" ok")
    assert server.told(1)[0].endswith("ä")


def test_words_that_are_no_utf8(shell: Shell) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url)
        done = shell.run("-p", os.fsdecode(b"caf\xe9"))
    assert done.code == 0, done.err
    assert server.bodies[0]["messages"][-1]["content"] == "caf\ufffd"


@pytest.mark.parametrize("home", [None, "", "/nowhere/at/all"])
def test_a_home_that_is_missing(shell: Shell, home: str | None) -> None:
    # XDG variables keep the test out of the real home of whoever runs it
    xdg = {f"XDG_{n}_HOME": str(shell.home / n.lower()) for n in ("CONFIG", "DATA", "STATE")}
    with serving(Text("ok")) as server:
        shell.use(server.url)
        done = shell.run("--config", str(shell.config_file), "-p", "hi", env={"HOME": home, **xdg})
    assert (done.code, done.out) == (0, "ok\n"), done.err


@pytest.mark.parametrize("home", [None, "", "own"])
def test_a_home_that_is_no_place_is_that_of_the_user(shell: Shell, home: str | None) -> None:
    code = (
        f"import pwd, types\npwd.getpwuid = lambda uid: types.SimpleNamespace(pw_dir={str(shell.home)!r})\n"
        "from tui_agent.cli import entry; entry()"
    )
    done = shell.run("config", "path", command=("-c", code), env={"HOME": home})
    assert (done.code, done.out) == (0, f"{shell.config_file}\n"), done.err


@pytest.mark.parametrize("words", [("-p", "hi"), ("trust",), ()], ids=" ".join)
def test_a_user_without_any_home(shell: Shell, words: tuple[str, ...]) -> None:
    code = "import pwd\ndef no(uid): raise KeyError(uid)\npwd.getpwuid = no\nfrom tui_agent.cli import entry; entry()"
    done = shell.run(*words, command=("-c", code), env={"HOME": None})
    assert done.code == 5
    assert done.err == "tui-agent: there is no home folder: set HOME, or XDG_CONFIG_HOME to an absolute path\n"


def test_with_folders_named_nobody_needs_a_home(shell: Shell) -> None:
    code = "import pwd\ndef no(uid): raise KeyError(uid)\npwd.getpwuid = no\nfrom tui_agent.cli import entry; entry()"
    env = {"HOME": None, "TUI_AGENT_HOME": str(shell.base / "own")}
    assert shell.run("trust", command=("-c", code), env=env).code == 0
    with serving(Text("ok")) as server:
        shell.use(server.url)
        done = shell.run("--config", str(shell.config_file), "-p", "hi", command=("-c", code), env=env)
    assert (done.code, done.out) == (0, "ok\n"), done.err


def test_a_home_that_cannot_be_written_is_said_and_the_task_goes_on(shell: Shell) -> None:
    blocked = shell.base / "file"
    blocked.touch()
    with serving(EDIT, Text("ok")) as server:
        shell.use(server.url)
        done = shell.run("--yes", "-p", "hi", env={"XDG_DATA_HOME": str(blocked)})
    assert (done.code, done.out) == (0, "ok\n"), done.err
    assert "tui-agent: session not saved" in done.err
    assert "(this session has no copy of it, so it cannot be shown)" in done.err


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


def test_a_full_disk_behind_stdout_is_a_sentence_and_a_code(shell: Shell) -> None:
    with serving(Text("Hello.")) as server, Path("/dev/full").open("w") as full:
        shell.use(server.url)
        done = subprocess.run(
            [sys.executable, "-m", "tui_agent", "-q", "-p", "hi"],
            cwd=shell.work,
            env=shell.environment({}),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=PATIENCE,
        )
    assert done.returncode == 74
    assert done.stderr.decode() == "tui-agent: what had to be written could not be: No space left on device\n"
    assert not (shell.state / "crash.log").exists()


@pytest.mark.parametrize("words", [("--version",), ("--help",), ("sessions",), ("paths",)])
def test_a_full_disk_behind_a_subcommand_is_the_same_sentence(shell: Shell, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tui_agent", *words],
            cwd=shell.work,
            env=shell.environment({}),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=PATIENCE,
        )
    assert done.returncode == 74
    assert done.stderr.decode() == "tui-agent: what had to be written could not be: No space left on device\n"


def test_a_full_disk_behind_stderr_has_its_exit_code(shell: Shell) -> None:
    with serving(Text("Hello.")) as server, Path("/dev/full").open("w") as full:
        shell.use(server.url)
        for words in (("-p", "hi"), ("--no-such-flag",)):
            done = subprocess.run(
                [sys.executable, "-m", "tui_agent", *words],
                cwd=shell.work,
                env=shell.environment({}),
                stdin=subprocess.DEVNULL,
                stderr=full,
                check=False,
                timeout=PATIENCE,
            )
            assert done.returncode == 74
    assert not (shell.state / "crash.log").exists()


def test_a_terminal_that_is_gone_behind_stderr_is_no_crash(shell: Shell) -> None:
    ours, theirs = os.openpty()
    os.close(ours)
    with serving(Text("Hello.")) as server:
        shell.use(server.url)
        done = subprocess.run(
            [sys.executable, "-m", "tui_agent", "-p", "hi"],
            cwd=shell.work,
            env=shell.environment({}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
            timeout=PATIENCE,
            check=False,
            start_new_session=True,
        )
    os.close(theirs)
    assert done.returncode == 129, done.stdout
    assert not (shell.state / "crash.log").exists()


def test_an_empty_answer_is_said(shell: Shell) -> None:
    with serving(Text("")) as server:
        shell.use(server.url)
        done = shell.run("-p", "hi")
    assert (done.code, done.out) == (0, "")
    assert "(empty response from model)" in done.err


def test_what_another_program_left_non_blocking_is_waited_for(shell: Shell) -> None:
    answer = "word " * 60_000
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with serving(Text(answer)) as server:
        shell.use(server.url)
        command = [sys.executable, "-m", "tui_agent", "-p", "hi"]
        environment = shell.environment({})
        with subprocess.Popen(command, stdout=writer, stderr=subprocess.PIPE, cwd=shell.work, env=environment) as run:
            assert run.stderr is not None
            while select.select((), (writer,), (), 0)[1]:  # nobody reads until no more fits in
                assert run.poll() is None
                time.sleep(0.01)
            os.close(writer)
            with os.fdopen(reader, "rb") as said:
                assert said.read().decode().strip() == answer.strip()
            run.stderr.read()
    assert run.returncode == 0
