"""The environment of a command: an allow-list, and never a key."""

from __future__ import annotations

import os

import pytest

from tests.waiting import PATIENCE
from tui_agent.workspace.runner import RUN_MARK, child_environment, run

CANARIES = {
    "OPENAI_API_KEY": "canary-1", "X_TOKEN": "canary-2", "MY_PROVIDER": "canary-3", "AWS_SECRET_ACCESS_KEY": "canary-4",
    "LD_PRELOAD": "canary-5", "PYTHONPATH": "canary-6", "BASH_ENV": "canary-7", "GIT_EXTERNAL_DIFF": "canary-8",
    "TUI_AGENT_FAULT": "canary-9", "HTTP_PROXY": "canary-0", "lc_x": "canary-a", "PATHX": "canary-b",
}  # fmt: skip
ORDINARY = {
    "HOME": "/h", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "xterm", "TMPDIR": "/t",
    "USER": "u", "SHELL": "/bin/sh", "VIRTUAL_ENV": "/v", "NO_COLOR": "",
}  # fmt: skip
MARKERS = {"AGENT": "tui-agent", "AI_AGENT": "tui-agent"}


async def test_a_command_sees_no_key(tmp_path, monkeypatch):
    for name, value in {**ORDINARY, **CANARIES}.items():
        if name not in {"LD_PRELOAD", "TMPDIR", "HOME"}:
            monkeypatch.setenv(name, value)
    output = (await run(["env"], cwd=tmp_path, timeout=PATIENCE)).output
    assert "canary" not in output
    assert "LC_ALL=C.UTF-8\n" in output
    assert "AI_AGENT=tui-agent\n" in output
    assert f"{RUN_MARK}=" in output


def test_only_listed_variables_pass():
    assert child_environment({**ORDINARY, **CANARIES}) == ORDINARY | MARKERS


def test_the_person_may_let_more_pass_but_no_key():
    allow = ["X_TOKEN", "OPENAI_API_KEY", "MY_PROVIDER", "AWS_*", "COPY", "HOLDS"]
    source = {**ORDINARY, **CANARIES, "COPY": "canary-3", "HOLDS": "https://u:canary-3@host", "AWSX": "no"}
    passed = child_environment(source, allow=allow, secrets=["MY_PROVIDER", "NOT_SET"])
    assert passed == ORDINARY | MARKERS | {"X_TOKEN": "canary-2", "AWS_SECRET_ACCESS_KEY": "canary-4"}


@pytest.mark.parametrize("secret", ["", "x", "/h", "none"])
def test_a_short_dummy_key_does_not_empty_the_environment(secret):
    passed = child_environment({**ORDINARY, "K": secret}, allow=["K"], secrets=["K"])
    assert ORDINARY.keys() - passed.keys() <= {"HOME"}  # equal to the dummy is still too much
    assert "K" not in passed


@pytest.mark.parametrize("path", ["", ":", ".", "bin:./x:..", "~/bin", None])
def test_path_without_an_absolute_entry_falls_back(path):
    passed = child_environment({} if path is None else {"PATH": path})
    assert passed["PATH"] == "/usr/local/bin:/usr/bin:/bin"


def test_path_entries_of_an_untrusted_folder_are_dropped(tmp_path):
    work, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (work / "bin", outside / "bin", tmp_path / "work-evil"):
        folder.mkdir(parents=True)
    (outside / "into").symlink_to(work / "bin")
    (work / "out").symlink_to(outside / "bin")
    (tmp_path / "alias").symlink_to(work)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    bad = [
        work,
        work / "bin",
        outside / "into",
        work / "out",
        tmp_path / "alias" / "bin",
        f"{outside}/../work/bin",
        f"{work}/",
    ]
    good = [str(outside / "bin"), str(tmp_path / "work-evil"), str(tmp_path / "loop"), "/usr/bin"]
    source = {"PATH": ":".join(map(str, [*bad, *good])), "VIRTUAL_ENV": str(work / ".venv"), "SHELL": str(work / "sh")}
    for root in (work, tmp_path / "alias"):
        passed = child_environment(source, workspace=root)
        assert passed == {"PATH": ":".join(good)} | MARKERS
    assert child_environment(source)["PATH"] == source["PATH"]


async def test_a_program_is_looked_up_on_the_path_of_the_child(tmp_path):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "only-here"
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o755)
    env = child_environment({"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})
    assert (await run(["only-here"], cwd=tmp_path, timeout=PATIENCE, env=env)).output == "found\n"
    env = child_environment({"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}, workspace=tmp_path)
    assert "PATH" in (await run(["only-here"], cwd=tmp_path, timeout=PATIENCE, env=env)).error


@pytest.mark.parametrize("name", ["ls", "git"])
async def test_what_may_run_unasked_is_never_a_file_of_the_folder(name, tmp_path):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / name
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    env = child_environment({"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    assert (await run([name, "--version"], cwd=tmp_path, timeout=PATIENCE, env=env)).exit_code == 0
    assert not (tmp_path / "ran").exists()
