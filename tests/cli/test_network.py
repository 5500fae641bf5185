"""--offline and --debug for one task, and what a server tells of its window."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import CANARY, Shell
from tests.cli.server import Failure, Text, call, serving
from tests.ui.looking import Fake
from tests.ui.looking import serving as local


def test_offline_refuses_a_model_outside_before_anything_is_sent(shell: Shell) -> None:
    shell.use("https://api.example.com/v1")
    done = shell.run("--offline", "-p", "hi")
    assert done.code == 5
    assert "https://api.example.com is not on this machine, and --offline was given" in done.err
    assert done.out == ""


def test_offline_works_with_a_model_on_this_machine(shell: Shell) -> None:
    with serving(Text("hello")) as server:
        shell.use(server.url)
        done = shell.run("--offline", "-p", "hi")
    assert (done.code, done.out) == (0, "hello\n")


def test_debug_writes_what_was_asked_without_the_words(shell: Shell) -> None:
    with serving(Text("the answer")) as server:
        shell.use(server.url, profile='api_key_env = "MY_KEY"')
        done = shell.run("--debug", "-p", "the question", env={"MY_KEY": CANARY})
    assert done.code == 0
    text = (shell.state / "debug.log").read_text(encoding="utf-8")
    assert '"messages": 2' in text
    assert "the question" not in text
    assert "the answer" not in text
    assert CANARY not in text


def test_a_setting_that_the_server_refuses_is_told_once(shell: Shell) -> None:
    refused = Failure(400, b'{"error": {"message": "unknown parameter: stream_options"}}')
    with serving(refused, call("list_files"), Text("done")) as server:
        shell.use(server.url)
        done = shell.run("-p", "hi")
    assert (done.code, done.out) == (0, "done\n")
    assert done.err.count("the server refused stream_options: it is left out from now on") == 1
    assert ["stream_options" in body for body in server.bodies] == [True, False, False]
    (log,) = shell.sessions()
    assert log.read_text().count("it is left out from now on") == 1


@pytest.mark.parametrize("loaded", [4096, 32_768])
def test_a_window_that_cuts_older_text_is_told_at_the_end(shell: Shell, loaded: int) -> None:
    chat = {"message": {"content": "ok"}, "done": True, "done_reason": "stop"}
    answers = {
        "/api/chat": (200, json.dumps(chat).encode() + b"\n"),
        "/api/show": (200, {"capabilities": ["tools"], "model_info": {"q.context_length": 262_144}}),
        "/api/ps": (200, {"models": [{"name": "q", "context_length": loaded}]}),
    }
    with local(Fake(answers)) as fake:
        shell.configure(f'[profiles.o]\ntype = "ollama"\nendpoint = "{fake.url}"\nmodel = "q"\n')
        result = shell.run("-p", "hi")
        quiet = shell.run("-q", "-p", "hi")
    assert (result.code, result.out) == (0, "ok\n")
    assert ("q is loaded with 4,096 tokens; it could take 262,144" in result.err) is (loaded == 4096)
    assert ("Set num_ctx = 32768 in [profiles.o.generation]." in result.err) is (loaded == 4096)
    assert "/window" not in result.err
    assert quiet.err == ""


def test_who_does_not_say_what_is_loaded_is_not_waited_for(shell: Shell) -> None:
    chat = {"message": {"content": "ok"}, "done": True, "done_reason": "stop"}
    with local(Fake({"/api/chat": (200, json.dumps(chat).encode() + b"\n"), "/api/show": (500, {})})) as fake:
        shell.configure(f'[profiles.o]\ntype = "ollama"\nendpoint = "{fake.url}"\nmodel = "q"\n')
        result = shell.run("-p", "hi")
    assert result.code == 0
    assert "tokens" not in result.err
