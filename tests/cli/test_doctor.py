"""`tui-agent doctor` as a process, with a server on loopback and in a terminal."""

from __future__ import annotations

import pytest

from tests.cli.conftest import CANARY, Shell
from tests.cli.server import Text, serving
from tests.cli.test_questions import seated

SECRET = f'api_key_env = "MY_KEY"\nheaders = {{ x-token = "{CANARY}2" }}\n'


def test_a_report_without_a_terminal(shell: Shell) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url, profile=SECRET)
        done = shell.run("doctor", env={"MY_KEY": CANARY, "EDITOR": "sh"})
        assert [path for path, _ in server.got] == ["/v1/models", "/props"]
    assert done.code == 0, done.out
    assert done.err == ""
    assert CANARY not in done.out
    assert "note   terminal   this is no terminal" in done.out
    assert f"ok     provider   local: m at {server.url.removesuffix('/v1')}; it answers" in done.out
    assert "ok     key        from MY_KEY, which is set" in done.out
    assert "ok     window     32,768 tokens" in done.out
    assert "~/.config/tui_agent/config.toml" in done.out
    assert not shell.data.exists(), "looking writes nothing"


def test_what_does_not_work_is_exit_code_1(shell: Shell) -> None:
    done = shell.run("doctor")
    assert done.code == 1
    assert "fault  provider   no model is configured" in done.out
    shell.use("http://127.0.0.1:9/v1")
    done = shell.run("doctor")
    assert done.code == 1
    assert "refuses connections: is the server running?" in done.out
    shell.configure("[profiles\n")
    done = shell.run("doctor")
    assert done.code == 1
    assert "config.toml:1:10: is not valid TOML" in done.out


def test_a_folder_that_is_not_trusted_starts_nothing(shell: Shell) -> None:
    shell.write(".tui_agent/config.toml", "[permissions]\nwrite = 'deny'\n")
    shell.write("git", "#!/bin/sh\ntouch PWN\n").chmod(0o755)
    done = shell.run("doctor", env={"PATH": f".:{shell.environment({})['PATH']}"})
    assert "not trusted" in done.out
    assert not (shell.work / "PWN").exists()


@pytest.mark.parametrize("kept", [True, False], ids=["in a file", "shown"])
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"\x1b[?0u\x1b[?2026;2$y\x1b[?62c", b"Esc are told apart"),
        (b"\x1b[?62c", b"Shift+Enter arrives as Enter"),
        (b"", b"answers no question about itself"),
    ],
)
def test_the_terminal_is_asked(shell: Shell, answer: bytes, said: bytes, kept: bool) -> None:
    shell.use("http://127.0.0.1:9/v1")
    with seated(shell, "doctor", out=kept, env={}) as seat:
        seat.until(b"\x1b[c")
        seat.type(answer)
        assert seat.end() == 1
    shown = seat.out.encode() if kept else seat.seen
    assert said in shown
    assert b"xterm-256color, " in shown
