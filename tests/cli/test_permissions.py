"""What one task may do without a terminal: nothing, unless a flag or the person's own configuration says so."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import CANARY, Shell
from tests.cli.server import Calls, Text, call, serving
from tests.waiting import PATIENCE
from tui_agent.config import Settings
from tui_agent.core.types import ApprovalRequest, Decision
from tui_agent.demo import PROFILE
from tui_agent.paths import Paths
from tui_agent.providers.scripted import scripted
from tui_agent.session import Session, Terms
from tui_agent.workspace.confined import choose


def has(kind: str, capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether this machine has a kind of sandbox; one that it lacks is reported, with the reason."""
    found = asyncio.run(choose(kind))
    if found.kind != kind:
        with capsys.disabled():
            print(f"\n[sandbox {kind} was not tried on this machine: {found.reason}]")
    return found.kind == kind


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


EDIT = call("write_file", path="a.txt", content="a\n")


@pytest.mark.parametrize("stdin", ["closed", "/dev/null", "y"])
def test_without_a_terminal_ask_means_deny(shell: Shell, stdin: str) -> None:
    command = [sys.executable, "-m", "tui_agent", "-p", "write a.txt"]
    if stdin == "closed":
        command = ["sh", "-c", '"$@" <&-', "sh", *command]
    with serving(EDIT, Text("I could not.")) as server:
        shell.use(server.url)
        done = subprocess.run(
            command,
            cwd=shell.work,
            env=shell.environment({}),
            **({"input": b"y\n" * 20} if stdin == "y" else {"stdin": subprocess.DEVNULL}),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            start_new_session=True,
        )
    assert done.returncode == 3, done.stderr
    assert done.stdout == b"I could not.\n"
    assert b"needed approval (create  a.txt  +1 -0)" in done.stderr
    assert server.told() == ["denied by the policy (nobody to ask: table: write = ask). Do not try it again."]
    assert names(shell.work) == []


def test_yes_is_for_edits_inside_the_folder_and_for_nothing_else(shell: Shell) -> None:
    hooks = shell.work / ".git/hooks"
    hooks.mkdir(parents=True)
    outside = shell.base / "outside.txt"
    everything = Calls(
        (
            ("write_file", {"path": "inside.txt", "content": "in\n"}),
            ("write_file", {"path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n"}),
            ("run_shell", {"script": "touch shell.txt"}),
            ("run_command", {"argv": ["touch", "command.txt"]}),
            ("run_command", {"argv": ["curl", "http://127.0.0.1:9/"]}),
            ("write_file", {"path": str(outside), "content": "out\n"}),
            ("write_file", {"path": "../outside.txt", "content": "out\n"}),
        )
    )
    with serving(everything, Text("One of seven.")) as server:
        shell.use(server.url)
        done = shell.run("--yes", "-p", "do all")
    assert done.code == 3, done.err
    assert (shell.work / "inside.txt").read_text() == "in\n"
    assert names(shell.work) == [".git", "inside.txt"]
    assert names(hooks) == []
    assert not outside.exists()
    assert "shell  touch shell.txt" in done.err
    assert [text.split(":")[0].split(" ")[0] for text in server.told()].count("applied") == 1


def test_an_edit_that_nobody_is_asked_about_is_shown(shell: Shell) -> None:
    shell.write("a.txt", "one\ntwo\n")
    edit = call("edit_file", path="a.txt", old="two\n", new="three\n")
    with serving(call("read_file", path="a.txt"), edit, Text("Done.")) as server:
        shell.use(server.url)
        done = shell.run("--yes", "-p", "edit")
    assert done.code == 0, done.err
    assert "edit  a.txt  +1 -1   applied without a question (flag: --yes)" in done.err
    assert "    -two\n    +three\n" in done.err


def test_code_that_nobody_saw_is_not_run(shell: Shell) -> None:
    # pytest is allowed in a trusted folder, but not once --yes let an edit through: not even in the same reply
    code = "from pathlib import Path\nPath('owned').touch()\n"
    both = Calls((("write_file", {"path": "conftest.py", "content": code}), ("run_command", {"argv": ["pytest"]})))
    with serving(both, call("run_command", argv=["pytest", "-q"]), Text("No.")) as server:
        shell.use(server.url, "[permissions]\nsandbox = 'none'")
        shell.run("trust")
        done = shell.run("--yes", "-p", "test it")
    assert done.code == 3, done.err
    assert (shell.work / "conftest.py").exists()
    assert not (shell.work / "owned").exists()
    assert "code nobody saw" in server.told()[1]


def test_allow_check_runs_the_check_of_the_persons_config(shell: Shell) -> None:
    with serving(EDIT, Text("Done.")) as server:
        shell.use(server.url, f"permissions.sandbox = 'none'\n[checks]\n'{shell.work}' = ['touch', 'checked']")
        done = shell.run("--yes", "--allow", "check", "--json", "-p", "write")
    assert done.code == 0, done.err
    assert (shell.work / "checked").exists()
    assert done.json["unsandboxed"] is True
    assert "check  touch checked   ok" in done.err
    assert "unsandboxed" in done.err


@pytest.mark.parametrize("kind", ["bwrap", "landlock"])
def test_in_a_sandbox_code_that_nobody_saw_runs_without_a_flag(
    kind: str, shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    if not has(kind, capsys):
        return
    code = "from pathlib import Path\nPath('ran').touch()\n"
    both = Calls((("write_file", {"path": "conftest.py", "content": code}), ("run_command", {"argv": ["pytest"]})))
    with serving(both, Text("Done.")) as server:
        shell.use(server.url, f"permissions.sandbox = '{kind}'\n[checks]\n'{shell.work}' = ['touch', 'checked']")
        shell.run("trust")
        done = shell.run("--yes", "--json", "-p", "test it")
    assert (shell.work / "ran").exists(), done.err
    assert (shell.work / "checked").exists()
    assert done.json["unsandboxed"] is False
    assert f"sandbox {kind}" in done.err


@pytest.mark.parametrize("kind", ["bwrap", "landlock"])
@pytest.mark.parametrize("flag", [False, True])
def test_the_flag_lets_a_check_out_of_the_sandbox_only_when_it_fails_there(
    kind: str, flag: bool, shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    if not has(kind, capsys):
        return
    outside = shell.home / "outside"
    with serving(EDIT, Text("Done."), Text("Done."), Text("Done."), Text("Done.")) as server:
        shell.use(server.url, f"permissions.sandbox = '{kind}'\n[checks]\n'{shell.work}' = ['touch', '{outside}']")
        shell.run("trust")
        done = shell.run("--yes", *(["--allow", "check"] if flag else []), "--json", "-p", "write")
    assert outside.exists() is flag
    assert done.json["unsandboxed"] is flag
    assert done.json["check"] == ("passed" if flag else "failed")
    if not flag:
        assert "it ran in a sandbox, writing only in the workspace, without network" in done.err


def test_the_check_of_a_project_never_counts(shell: Shell) -> None:
    shell.write(".tui_agent/config.toml", f"[checks]\n'{shell.work}' = ['touch', 'owned']\n")
    with serving(EDIT, Text("Done.")) as server:
        shell.use(server.url)
        shell.run("trust")
        done = shell.run("--yes", "--allow", "check", "-p", "write")
    assert not (shell.work / "owned").exists()
    assert "checks" in done.err


def test_a_folder_counts_from_the_moment_it_is_trusted(shell: Shell) -> None:
    shell.write(".tui_agent/config.toml", "[profiles.local]\nmodel = 'theirs'\n")
    with serving(Text("hi")) as server:
        shell.use(server.url)
        before = shell.run("-p", "hi")
        trusted = shell.run("trust")
        after = shell.run("-p", "hi")
        shell.write(".tui_agent/config.toml", "[profiles.local]\nmodel = 'changed'\n")
        changed = shell.run("-p", "hi")
        taken = shell.run("trust", "--forget")
        forgotten = shell.run("-p", "hi")
    assert [body["model"] for body in server.bodies] == ["m", "theirs", "m", "m"]
    assert "folder not trusted" in before.err
    assert "folder not trusted" not in after.err
    assert trusted.out.startswith(
        f"trusted: {shell.work}\n  counts from now on: config   .tui_agent/config.toml   sha256 "
    )
    assert "config changed since you trusted it" in changed.err
    assert "folder not trusted" in forgotten.err
    assert taken.out == (
        f"not trusted: {shell.work}\n  a window that is open keeps what it was given until it is closed\n"
    )
    assert (shell.data / "trust.toml").stat().st_mode & 0o777 == 0o600


def test_home_cannot_be_trusted(shell: Shell) -> None:
    assert shell.run("trust", cwd=shell.home).code == 5
    assert shell.run("trust", str(shell.base)).code == 5


def test_in_an_untrusted_folder_nothing_is_run(shell: Shell) -> None:
    with serving(call("run_command", argv=["pytest"]), Text("No.")) as server:
        shell.use(server.url)
        done = shell.run("-p", "test")
    assert done.code == 3
    assert "the folder is not trusted" in server.told()[0]


def test_a_command_sees_no_key(shell: Shell) -> None:
    with serving(call("run_command", argv=["env"]), Text("no")) as server:
        shell.use(
            server.url,
            "[permissions]\nrun = 'allow'\nenvironment = ['MY_*']",
            'api_key_env = "MY_KEY"\n',
        )
        shell.run("trust")
        done = shell.run(
            "-p", "env", env={"MY_KEY": CANARY, "MY_COPY": f"x{CANARY}", "OPENAI_API_KEY": CANARY, "MY_OTHER": "1"}
        )
    assert done.code == 0, done.err
    assert server.headers[0]["authorization"] == f"Bearer {CANARY}"
    (told,) = server.told()
    assert "MY_OTHER=1" in told
    assert CANARY not in told


async def test_an_unseen_edit_counts_in_every_later_run_of_its_session(shell: Shell) -> None:
    asked: list[str] = []

    async def ask(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        asked.extend(request.call.name for request in batch)
        return tuple(Decision(request.id, "yes") for request in batch)

    def edit(path: str) -> dict[str, object]:
        return {"calls": [{"name": "write_file", "arguments": {"path": path, "content": "x\n"}}]}

    paths = Paths(shell.base / "config", shell.base / "data", shell.base / "state")
    settings = Settings(checks={str(shell.work): ("true",)}, sandbox="none")
    session = Session(Terms(shell.work, settings, paths, trusted=True), ask)
    session.use(scripted([edit("a"), {"text": "1"}, edit("b"), {"text": "2"}, edit("c"), {"text": "3"}]), PROFILE)
    asking = session._policy
    for policy in (asking, replace(asking, cli_yes=True), asking):
        session._policy = policy  # what is allowed is decided anew as each run begins
        async with aclosing(session.run("edit")) as events:
            async for _ in events:
                pass
        asked.append("end")
    assert asked == ["write_file", "end", "check", "end", "write_file", "check", "end"]


def test_a_key_in_a_file_reaches_the_model_but_not_the_log(shell: Shell) -> None:
    shell.write("notes.txt", f"the key is {CANARY}\n")
    with serving(call("read_file", path="notes.txt"), Text(f"I saw {CANARY}")) as server:
        shell.use(server.url, profile='api_key_env = "LOCAL_KEY"')
        result = shell.run("-p", "look", env={"LOCAL_KEY": CANARY})
    assert CANARY in server.told()[0]
    assert result.code == 0
    (log,) = shell.sessions()
    assert CANARY not in log.read_text()
    assert log.read_text().count("[key hidden]") == 2


def test_a_command_may_be_allowed_on_the_command_line(shell: Shell) -> None:
    both = Calls((("run_command", {"argv": ["touch", "a"]}), ("run_command", {"argv": ["touch", "b"]})))
    with serving(both, Text("Half.")) as server:
        shell.use(server.url)
        done = shell.run("--allow", "touch a", "-p", "touch")
        assert done.code == 3
        assert (
            'Use --allow "COMMAND" for a command as it stands here once the folder is trusted (tui-agent trust)'
            in done.err
        )
        assert names(shell.work) == [], "not in a folder that is not trusted"
        server.bodies.clear()
        shell.run("trust")
        done = shell.run("--allow", "touch a", "--allow", "check", "-p", "touch")
    assert done.code == 3
    assert names(shell.work) == ["a"]
    assert (
        'needed approval (run  touch b). Use --allow "COMMAND" for a command as it stands here or a terminal'
        in done.err
    )


@pytest.mark.parametrize(
    "asked",
    [("run_command", {"argv": ["sudo", "tru\u0435"]}), ("write_file", {"path": "a\u200b.txt", "content": "x\n"})],
    ids=["run", "write"],
)
def test_below_a_floor_no_flag_is_named_that_would_not_help(shell: Shell, asked: tuple[str, dict[str, object]]) -> None:
    with serving(Calls((asked,)), Text("No.")) as server:
        shell.use(server.url)
        shell.run("trust")
        done = shell.run("--allow", "sudo true", "-p", "do it")
    assert done.code == 3
    assert "Use a terminal to ask on.\n" in done.err
    assert "(run  sudo 'tru<U+0435>')" in done.err or "(create  " in done.err
    assert "--yes" not in done.err
    assert "--allow" not in done.err
