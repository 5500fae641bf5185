"""MCP servers in one task from the shell: started for it, asked or denied, ended with it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from tests.cli.conftest import Shell
from tests.cli.server import Stall, Text, call, serving
from tests.cli.stream_schema import schema
from tests.waiting import PATIENCE

HERE = Path(__file__).parents[1] / "mcp"


def server(file: str, *words: str, more: str = f"start_timeout = {PATIENCE}") -> str:
    args = json.dumps([str(HERE / file), *words])
    return f"[mcp_servers.sums]\ncommand = {json.dumps(sys.executable)}\nargs = {args}\n{more}\n"


ALLOWED = '[permissions]\nmcp = "allow"\n'


def test_a_task_has_the_tools_and_nothing_is_left_afterwards(shell: Shell) -> None:
    with serving(call("sums__add", a=2, b=40), Text("It is 42.")) as mine:
        shell.use(mine.url, ALLOWED + server("sdk_server.py", "stdio"))
        done = shell.run("-p", "add", "--json")
    assert done.code == 0
    assert done.json["answer"] == "It is 42."
    assert any(tool["function"]["name"] == "sums__add" for tool in mine.bodies[0]["tools"])
    assert "\n42\n" in mine.told()[-1]
    assert "mcp  sums/add" in done.err


def test_without_a_terminal_a_call_is_denied_and_named(shell: Shell) -> None:
    with serving(call("sums__add", a=2, b=40), Text("No.")) as mine:
        shell.use(mine.url, server("sdk_server.py", "stdio"))
        done = shell.run("-p", "add", "--yes")
    assert done.code == 3
    assert "1 action needed approval (mcp  sums/add" in done.err


def test_a_server_that_does_not_start_is_named_and_the_task_goes_on(shell: Shell) -> None:
    with serving(Text("Fine.")) as mine:
        shell.use(mine.url, server("hostile.py", "slow", more="start_timeout = 0.5"))
        done = shell.run("-p", "hello")
    assert (done.code, done.out) == (0, "Fine.\n")
    assert "the MCP server sums is not there: it did not start within 0.5 s\n" in done.err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_while_a_server_starts_ends_it_with_a_result(shell: Shell, number: signal.Signals, code: int) -> None:
    shell.use("http://127.0.0.1:9/v1", server("hostile.py", "slow"))
    process = subprocess.Popen(
        [sys.executable, "-m", "tui_agent", "-p", "hello", "--stream-json"],
        cwd=shell.work,
        env=shell.environment({}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["type"] == "stream"
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err
    result = json.loads(out.splitlines()[-1])
    jsonschema.validate(result, schema(closed=True))
    assert (result["type"], result["status"], result["exit_code"]) == ("result", "stopped", code)
    assert b"stopped" in err


def test_a_signal_after_the_result_makes_no_other_one_of_it(shell: Shell) -> None:
    with serving(Text("Fine.")) as mine:
        shell.use(mine.url, server("hostile.py", "stays"))
        process = subprocess.Popen(
            [sys.executable, "-m", "tui_agent", "-p", "hello", "--json"],
            cwd=shell.work,
            env=shell.environment({}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        with process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert json.loads(process.stdout.readline())["exit_code"] == 0
            while b"exit 0" not in process.stderr.readline():  # the last line; the server takes two seconds to end
                pass
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize("mode", ["read", "plan"])
def test_modes_that_only_read_start_none(shell: Shell, mode: str) -> None:
    note = shell.base / "note"
    with serving(Text("Fine.")) as mine:
        shell.use(mine.url, server("hostile.py", "fine", str(note)))
        assert shell.run("-p", "hello", "--mode", mode).code == 0
    assert not note.exists()


def test_the_servers_of_a_folder_wait_for_trust(shell: Shell) -> None:
    note = shell.base / "note"
    words = [str(HERE / "hostile.py"), "fine", str(note)]
    shell.write(".mcp.json", json.dumps({"mcpServers": {"theirs": {"command": sys.executable, "args": words}}}))
    with serving(Text("One."), Text("Two.")) as mine:
        shell.use(mine.url)
        shell.run("-p", "hello")
        assert not note.exists()
        said = shell.run("trust")
        assert "starts a program, not sandboxed" in said.out
        shell.run("-p", "hello")
    assert "tools/list" in note.read_text()
    assert any(tool["function"]["name"] == "theirs__go" for tool in mine.bodies[1]["tools"])


def test_doctor_names_them_and_starts_none(shell: Shell) -> None:
    note = shell.base / "note"
    more = '[mcp_servers.gone]\ncommand = "no-such-program"\n[mcp_servers.both]\ncommand = "a"\nurl = "http://b"\n'
    more += '[mcp_servers.far]\nurl = "https://x.org/mcp"\napi_key_env = "FAR_KEY"\n'
    with serving() as mine:
        shell.use(mine.url, server("hostile.py", "fine", str(note)) + more)
        said = " ".join(shell.run("doctor").out.split())
    assert "ok mcp server sums: " in said
    assert "fault mcp server gone: no-such-program: 'no-such-program' cannot be started" in said
    assert "fault mcp server both: http://b: it has both command and url" in said
    assert "fault mcp server far: https://x.org: FAR_KEY is not set" in said
    assert not note.exists()


def test_a_kill_leaves_no_server(shell: Shell) -> None:
    """SIGKILL, which nobody can catch: the supervisor ends what the product started."""
    pid = shell.base / "pid"
    script = f"echo $$ > {pid}; exec {sys.executable} {HERE / 'hostile.py'} stays"
    with serving(Stall()) as mine:
        shell.use(mine.url, f"[mcp_servers.s]\ncommand = 'sh'\nargs = ['-c', {json.dumps(script)}]\n")
        product = subprocess.Popen(
            [sys.executable, "-m", "tui_agent", "-p", "hello"],
            cwd=shell.work,
            env=shell.environment({}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert mine.asked.wait(PATIENCE)
        server = int(pid.read_text())
        assert Path(f"/proc/{server}").exists()
        product.kill()
        product.wait()
        deadline = time.monotonic() + PATIENCE
        while Path(f"/proc/{server}").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
