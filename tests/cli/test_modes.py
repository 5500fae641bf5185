"""One shot in the modes that only look, as a dry run, and in each protocol."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.cli.conftest import Shell
from tests.cli.server import Failure, Text, call, serving
from tests.sessions.story import made, turn
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.log import load
from tui_agent.workspace.confined import choose

EDIT = call("write_file", path="new.txt", content="hello\n")
DONE = Text("Done.")


@pytest.mark.parametrize("flags", [[], ["--yes"]])
def test_a_dry_run_shows_the_change_and_makes_none(shell: Shell, flags: list[str]) -> None:
    with serving(EDIT, DONE) as server:
        shell.use(server.url)
        done = shell.run("-p", "do it", "--dry-run", *flags)
        assert server.told() == ["dry-run: diff shown, file not written (use without --dry-run to apply)"]
    assert done.code == 0
    assert "+hello" in done.err
    assert "failed" not in done.err
    assert not (shell.work / "new.txt").exists()


def test_a_dry_run_runs_nothing(shell: Shell) -> None:
    with serving(call("run_command", argv=["touch", "made"]), DONE) as server:
        shell.use(server.url)
        done = shell.run("-p", "do it", "--dry-run", "--json")
        assert server.told() == ["dry-run: not run (use without --dry-run to run it)"]
    assert "touch made" in done.err
    assert done.json["failed"] == done.json["refused"] == []
    assert not (shell.work / "made").exists()


def test_a_dry_run_shows_all_of_it_and_where_it_would_run(shell: Shell) -> None:
    long = call("write_file", path="long.txt", content="".join(f"line {n}\n" for n in range(1000)))
    with serving(long, call("run_command", argv=["touch", "made"]), DONE) as server:
        shell.use(server.url)
        real = shell.run("-p", "do it", "--dry-run").err
    assert "+line 999\n" in real
    assert "not shown" not in real
    box = asyncio.run(choose("auto")).kind
    assert f"(no shell, {'not sandboxed' if box == 'none' else f'sandbox {box}'}, stopped after 120 s)" in real


def test_what_the_policy_denies_is_denied_in_a_dry_run(shell: Shell) -> None:
    with serving(EDIT, DONE) as server:
        shell.use(server.url, '[permissions]\nwrite = "deny"')
        assert shell.run("-p", "do it", "--dry-run").code == 3
        assert "denied by the policy" in server.told()[0]


@pytest.mark.parametrize("mode", ["read", "review", "plan"])
def test_modes_that_only_look_offer_no_tool_that_writes(shell: Shell, mode: str) -> None:
    with serving(EDIT, DONE) as server:
        shell.use(server.url)
        done = shell.run("-p", "do it", "--mode", mode, "--yes")
        names = {tool["function"]["name"] for tool in server.bodies[0]["tools"]}
    assert names == {"read_file", "read_output", "list_files", "search", "update_plan"}
    assert not (shell.work / "new.txt").exists()
    assert f"mode {mode}" in done.err


def test_edits_unasked_on_the_screen_are_no_leave_for_a_task(shell: Shell) -> None:
    with serving(EDIT, DONE) as server:
        shell.use(server.url)
        made(shell.data / "sessions", *turn("one"), ev.ModeChosen("edits"), cwd=str(shell.work))
        done = shell.run("-p", "do it", "--continue")
        assert (done.code, (shell.work / "new.txt").exists()) == (3, False)
        assert "  mode ask" in done.err
    assert fold.mode(load(shell.sessions()[-1]).events) == "edits"  # on the screen it goes on as it was
    with serving(EDIT, DONE) as server:
        shell.use(server.url, '[permissions]\nwrite = "allow"')
        made(shell.data / "sessions", *turn("two"), ev.ModeChosen("edits"), cwd=str(shell.work))
        done = shell.run("-p", "do it", "--resume", "two")
        assert (done.code, (shell.work / "new.txt").exists()) == (0, True)
        assert "  mode edits" in done.err


def test_a_profile_chooses_the_json_protocol(shell: Shell) -> None:
    shell.write("a.txt", "hi\n")
    with serving(Text('{"tool": "read_file", "path": "a.txt"}'), Text('{"final": "It says hi."}')) as server:
        shell.use(server.url, profile='protocol = "json"')
        done = shell.run("-p", "read it")
    assert (done.code, done.out) == (0, "It says hi.\n")
    assert "tools" not in server.bodies[0]
    assert server.bodies[0]["response_format"]["type"] == "json_schema"
    assert server.bodies[1]["messages"][-1]["content"].startswith("Tool result:\n[file: lines 1-1 of 1]")


def test_auto_steps_down_in_the_middle_of_a_task_and_says_so(shell: Shell) -> None:
    refused = Failure(400, b'{"error": {"message": "this model does not support tools"}}')
    with serving(refused, Text('{"final": "Still here."}')) as server:
        shell.use(server.url)
        done = shell.run("-p", "hello", "--json")
    assert (done.code, done.json["answer"]) == (0, "Still here.")
    assert ["tools" in body for body in server.bodies] == [True, False]
    assert "protocol json from here on: the server takes no native tool calls" in done.err


def test_a_claim_without_a_receipt_is_marked(shell: Shell) -> None:
    with serving(Text("I updated app.py and all tests pass.")) as server:
        shell.use(server.url)
        done = shell.run("-p", "do it", "--json")
    assert done.err.count("not shown: the answer says") == 2
    assert json.loads(done.out)["files"] == {}


def test_trust_keeps_a_check_with_its_folder(shell: Shell) -> None:
    done = shell.run("trust", "--check", "grep -q 'hello' new.txt")
    assert done.code == 0
    assert "check after edits: grep -q hello new.txt" in done.out
    with serving(EDIT, DONE) as server:
        shell.use(server.url, "permissions.sandbox = 'none'")
        done = shell.run("-p", "do it", "--yes", "--allow", "check", "--json")
    assert (done.code, done.json["status"], done.json["unsandboxed"]) == (0, "verified", True)


@pytest.mark.parametrize("text", ["", "  ", "grep 'open"])
def test_a_check_that_is_no_command_is_refused(shell: Shell, text: str) -> None:
    assert shell.run("trust", "--check", text).code == 5
    assert not (shell.data / "trust.toml").exists()
