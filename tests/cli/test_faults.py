"""What is wrong is said in one sentence with its cause and the next step; no traceback, no key, nothing overwritten."""

from __future__ import annotations

import json
import re
import socket
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import CANARY, Result, Shell
from tests.cli.server import Failure, Text, call, serving
from tui_agent.__main__ import entry

KEY = 'api_key_env = "MY_KEY"\n'


def one_sentence(done: Result) -> str:
    """What was said besides banner and closing line."""
    assert "Traceback" not in done.err
    said = [line for line in done.err.splitlines() if line.startswith("tui-agent: ")]
    assert len(said) == 1, done.err
    return said[0].removeprefix("tui-agent: ")


def error(text: str) -> bytes:
    return json.dumps({"error": {"message": text, "type": "x"}}).encode()


# ------------------------------------------------------------------ configuration


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[profiles.local\n", r"config.toml:1:\d+: is not valid TOML"),
        ("a = 1\na = 2\n", r"config.toml:2:\d+: is not valid TOML"),
        ("[limits]\n\nmax_steps = 'ten'\n", r"config.toml:3:1: limits.max_steps: "),
        ("[permissions]\nwrite = 'sometimes'\n", r"config.toml:2:1: permissions.write: "),
        ("[profiles.x]\ntype = 'gpt'\nmodel = 'm'\n", r"unknown type 'gpt'"),
        ("x = '\x00'\n", r"config.toml:1:\d+: is not valid TOML"),
    ],
)
def test_a_faulty_config(shell: Shell, text: str, says: str) -> None:
    shell.configure(text)
    done = shell.run("-p", "hi")
    assert (done.code, done.out) == (5, "")
    assert re.search(says, one_sentence(done))
    assert shell.config_file.read_text() == text
    assert shell.sessions() == []


def _binary(shell: Shell) -> None:
    shell.config_file.write_bytes(b"\xff\xfe\x00")


def _folder(shell: Shell) -> None:
    shell.config_file.mkdir()


def _loop(shell: Shell) -> None:
    shell.config_file.symlink_to(shell.config_file)


@pytest.mark.parametrize(("spoil", "where"), [(_binary, ":1:1"), (_folder, ""), (_loop, "")])
def test_a_config_that_cannot_be_read(shell: Shell, spoil: Callable[[Shell], None], where: str) -> None:
    shell.config_file.parent.mkdir(parents=True)
    spoil(shell)
    done = shell.run("-p", "hi")
    assert (done.code, done.out) == (5, "")
    assert f"config.toml{where}: cannot be read" in one_sentence(done)


def test_an_unknown_key_is_a_warning(shell: Shell) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url, "[permissions]\nwrites = 'ask'")
        done = shell.run("-p", "hi")
    assert (done.code, done.out) == (0, "ok\n")
    assert "config.toml:2:1: permissions.writes" in one_sentence(done)


def test_a_check_of_a_user_that_does_not_exist_is_for_no_folder(shell: Shell) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url, "[checks]\n'~no-such-user/x' = ['make']")
        assert shell.run("-p", "hi").code == 0


def test_an_unknown_profile_names_those_that_exist(shell: Shell) -> None:
    shell.use("http://127.0.0.1:9/v1")
    done = shell.run("--provider", "locl", "-p", "hi")
    assert done.code == 5
    assert one_sentence(done) == "there is no profile 'locl'; did you mean local?; --provider takes one of local"


def test_an_unknown_profile_where_none_is_configured_says_how_to_get_one(shell: Shell) -> None:
    done = shell.run("--provider", "zzz", "-p", "hi")
    assert done.code == 5
    assert one_sentence(done).startswith("there is no profile 'zzz', and none is configured: ")
    assert "tui-agent without --provider" in done.err


def test_nothing_configured_names_both_places(shell: Shell) -> None:
    done = shell.run("-p", "hi")
    assert done.code == 5
    assert str(shell.config_file) in done.err
    assert ".tui_agent/config.toml" in done.err


def test_a_config_of_many_megabytes(shell: Shell) -> None:
    shell.configure("# filler\n" * 1_200_000 + "[limits]\nmax_steps = 0\n")
    done = shell.run("-p", "hi")
    assert done.code == 5
    assert "config.toml:1200002:1: limits.max_steps" in one_sentence(done)


# ------------------------------------------------------------------ keys


@pytest.mark.parametrize("key", [f"{CANARY}\nx: y", f"{CANARY} ", f"{CANARY}ä"])
def test_a_key_that_cannot_be_sent_is_not_sent(shell: Shell, key: str) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url, profile=KEY)
        done = shell.run("-p", "hi", env={"MY_KEY": key})
    assert done.code == 5
    assert "the value of MY_KEY is no usable key" in one_sentence(done)
    assert CANARY not in done.err
    assert server.bodies == []


def test_a_missing_key_is_named(shell: Shell) -> None:
    shell.configure('[profiles.far]\nendpoint = "https://far.invalid/v1"\nmodel = "m"\napi_key_env = "FAR_KEY"\n')
    done = shell.run("-p", "hi")
    assert done.code == 5
    assert "FAR_KEY" in one_sentence(done)
    assert shell.sessions() == []


# ------------------------------------------------------------------ servers


def test_a_server_that_is_down(shell: Shell) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        shell.use(f"http://127.0.0.1:{port}/v1")
        done = shell.run("-p", "hi")
    assert done.code == 1
    assert one_sentence(done).startswith(f"http://127.0.0.1:{port} refuses connections: is the server running? ")
    assert "--provider" in done.err


def test_waiting_for_a_server_is_not_silent(shell: Shell) -> None:
    with serving(Failure(503, error("loading the model")), Text("ok")) as server:
        shell.configure(f'[profiles.local]\nendpoint = "{server.url}"\nmodel = "m"\n')
        done = shell.run("-p", "hi")
    assert (done.code, done.out) == (0, "ok\n")
    assert done.err.count("loading the model; try 2 of 6 in 1 s\n") == 1


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (401, error("invalid key"), "the server refused the key (HTTP 401)"),
        (403, error("no access"), "the server refuses access (HTTP 403): no access"),
        (404, error("model 'm' not found"), "model 'm' not found"),
        (404, b"<html>not here</html>", "HTTP 404"),
        (413, b"", "HTTP 413"),
        (500, b"\x1b[31m" + b"x" * 10_000_000, "HTTP 500"),
    ],
    ids=["401", "403", "404 model", "404 path", "413", "500"],
)
def test_a_server_that_refuses(shell: Shell, status: int, body: bytes, says: str) -> None:
    with serving(Failure(status, body.replace(b"invalid key", f"invalid key {CANARY}".encode()))) as server:
        shell.use(server.url, profile=KEY)
        done = shell.run("-p", "hi", env={"MY_KEY": CANARY})
    assert (done.code, done.out) == (1, "")
    assert says in one_sentence(done)
    assert re.search(r"[.)…] (Set|Wait|Give|Try|Choose) .*--(provider|model)", one_sentence(done))  # the next step
    assert len(done.err) < 5000
    assert "\x1b" not in done.err
    assert "[31m" not in done.err


def test_a_model_may_be_named_on_the_command_line(shell: Shell) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url)
        shell.run("--provider", "local", "--model", "other", "-p", "hi")
    assert server.bodies[0]["model"] == "other"


# ------------------------------------------------------------------ keys are in no file and in no output


def test_no_key_is_left_anywhere(shell: Shell) -> None:
    env = {"MY_KEY": CANARY, "OPENAI_API_KEY": CANARY}
    spilling = Failure(400, error(f"your request had Authorization: Bearer {CANARY}"))
    results = []
    with serving(
        call("run_command", argv=["env"]), call("run_command", argv=["printenv", "MY_KEY"]), spilling
    ) as server:
        shell.use(server.url, "[permissions]\nrun = 'allow'", KEY)
        shell.run("trust")
        results.append(shell.run("-p", "hi", env=env))
        results.append(shell.run("--json", "-p", "hi", env=env))
    crash = (
        "import tui_agent.providers.keys as k, tui_agent.oneshot as o\n"
        "def answer(events): raise RuntimeError('bug')\n"
        "o.answer = answer\n"
        "from tui_agent.cli import entry; entry()"
    )
    with serving(Text("hi")) as server:
        shell.use(server.url, profile=KEY)
        results.append(shell.run("-p", "hi", env=env, command=("-c", crash)))
    shell.use(server.url, profile=KEY)  # nobody listens there any more
    results.append(shell.run("-p", "hi", env=env))
    shell.configure(f"x = '{CANARY}\n")
    results.append(shell.run("-p", "hi", env=env))
    shell.config_file.unlink()
    assert [r.code for r in results] == [1, 1, 70, 1, 5]
    assert all(CANARY not in r.out + r.err for r in results)
    assert len(shell.sessions()) == 4
    assert [name for name, data in shell.files().items() if CANARY.encode() in data] == []


@pytest.mark.parametrize("words", [("paths",), ("-p", "x"), ("config", "path")])
def test_a_home_that_depends_on_the_folder_is_refused(shell: Shell, words: tuple[str, ...]) -> None:
    done = shell.run(*words, env={"TUI_AGENT_HOME": "own"})
    assert done.code == 5
    assert "TUI_AGENT_HOME must be an absolute path, not 'own'" in done.err
    assert "Traceback" not in done.err
    assert not (shell.base / "own").exists()
    assert not (shell.work / "own").exists()


def test_an_interrupt_while_the_modules_are_read_shows_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    class Reading(types.ModuleType):
        def __getattr__(self, name: str) -> Any:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "tui_agent.cli", Reading("tui_agent.cli"))
    with pytest.raises(SystemExit) as ended:
        entry()
    assert ended.value.code == 130
