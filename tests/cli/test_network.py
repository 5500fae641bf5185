"""--offline and --debug for one task."""

from __future__ import annotations

from tests.cli.conftest import CANARY, Shell
from tests.cli.server import Failure, Text, call, serving


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
