"""A folder that tries everything (faults 68 to 70), in one run without a screen: nothing of it counts, nothing starts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import CANARY, Result, Shell
from tests.cli.server import Server, Text, call, serving
from tests.fixtures.hostile import FORBIDDEN, canaries, hostile_repo

ATTEMPTS = (
    call("run_command", argv=["git", "status"]),
    call("run_command", argv=["git", "diff"]),
    call("run_command", argv=["pytest"]),
    call("run_command", argv=["make", "check"]),
    call("run_shell", script="touch PWN-shell"),
    call("search", text="one"),
    call("read_file", path="a.txt"),
    call("write_file", path="made.txt", content="x\n"),
)


@pytest.fixture
def attacker() -> Iterator[Server]:
    with serving(Text("you are mine")) as server:
        yield server


def prepared(shell: Shell, attacker: Server, url: str) -> None:
    hostile_repo(shell.work, shell.base, attacker.url)
    shell.use(url, profile='api_key_env = "LOCAL_KEY"')


def go(shell: Shell, *words: str) -> Result:
    path = os.pathsep.join([str(shell.work / ".venv/bin"), str(shell.work), os.environ["PATH"]])
    return shell.run(*words, env={"LOCAL_KEY": CANARY, "PATH": path, "VIRTUAL_ENV": str(shell.work / ".venv")})


def holding_the_key(shell: Shell) -> list[str]:
    return [name for name, data in shell.files().items() if CANARY.encode() in data]


@pytest.mark.parametrize("flags", [(), ("--yes",), ("--yes", "--allow", "check")], ids=" ".join)
def test_before_trust_nothing_happens(shell: Shell, attacker: Server, flags: tuple[str, ...]) -> None:
    with serving(*ATTEMPTS, Text("Done.")) as mine:
        prepared(shell, attacker, mine.url)
        result = go(shell, *flags, "-p", "look")
    assert canaries(shell.base) == []
    assert attacker.bodies == []
    assert len(mine.bodies) == len(ATTEMPTS) + 1
    assert "AGENTS-CANARY" not in str(mine.bodies)
    for key in FORBIDDEN:
        assert key in result.err
    assert "PWN-check" in result.err
    assert "tui-agent trust" in result.err
    assert result.code == 3
    assert CANARY not in result.out + result.err
    assert holding_the_key(shell) == []
    assert (shell.work / "made.txt").exists() is ("--yes" in flags)


def test_after_trust_neither_provider_nor_permissions_come_from_it(shell: Shell, attacker: Server) -> None:
    pattern = call("run_command", argv=["touch", f"{shell.base}/PWN-pattern"])
    with serving(
        pattern, call("run_command", argv=["git", "status"]), call("run_shell", script="touch PWN-shell"), Text("Done.")
    ) as mine:
        prepared(shell, attacker, mine.url)
        trusted = go(shell, "trust")
        assert trusted.code == 0
        for key in FORBIDDEN:
            assert key in trusted.out
        assert "PWN-check" in trusted.out
        assert canaries(shell.base) == []
        result = go(shell, "-p", "look")
    assert canaries(shell.base) == ["PWN-mcp"]  # the entry .mcp.json was accepted, with its full command
    assert "the MCP server evil is not there: it ended with exit code 0" in result.err
    assert attacker.bodies == []
    assert [body["model"] for body in mine.bodies] == ["m"] * 4
    assert result.code == 3
    told = mine.told()
    assert "denied" in told[0]
    assert "a.txt" in told[1]  # git status is allowed now, and starts nothing of the repository
    assert "denied" in told[2]
    for key in FORBIDDEN:
        assert key in result.err
    assert holding_the_key(shell) == []


def test_a_pull_that_changes_the_check_turns_it_off(shell: Shell, attacker: Server) -> None:
    with serving(
        call("write_file", path="made.txt", content="x\n"),
        Text("Done."),
        call("write_file", path="more.txt", content="x\n"),
        Text("Done."),
    ) as mine:
        prepared(shell, attacker, mine.url)
        config = shell.work / ".tui_agent/config.toml"
        config.write_text('[checks]\n"." = ["true"]\n')
        go(shell, "trust")
        before = go(shell, "--yes", "--allow", "check", "-p", "write")
        config.write_text(f'[checks]\n"." = ["touch", "{shell.base}/PWN-check"]\n')
        after = go(shell, "--yes", "--allow", "check", "-p", "write")
    assert "check  true   ok" in before.err
    assert "the project's check changed since you trusted it" in after.err
    assert "PWN-check" in after.err
    assert canaries(shell.base) == ["PWN-mcp"]  # that entry was accepted, and is as it was


def test_a_check_of_ones_own_without_the_screen(shell: Shell) -> None:
    with serving(call("write_file", path="made.txt", content="x\n"), Text("Done.")) as mine:
        shell.use(mine.url)
        said = shell.run("trust", "--check", "grep -c x made.txt")
        result = shell.run("--yes", "--allow", "check", "-p", "write")
    assert said.out == f"trusted: {shell.work}\n  check after edits: grep -c x made.txt\n"
    assert "check  grep -c x made.txt   ok" in result.err
    assert result.code == 0


@pytest.mark.parametrize("check", ["", "a; b", "x | y", "$(touch PWN)"])
def test_a_check_is_no_shell_text(shell: Shell, check: str) -> None:
    result = shell.run("trust", "--check", check)
    assert result.code == 5
    assert not (shell.data / "trust.toml").exists()


@pytest.mark.parametrize("damage", ["corrupt", "link", "folder"])
def test_a_trust_file_that_cannot_be_used_means_restricted(shell: Shell, attacker: Server, damage: str) -> None:
    file = shell.data / "trust.toml"
    with serving(*ATTEMPTS, Text("Done.")) as mine:
        prepared(shell, attacker, mine.url)
        go(shell, "trust")
        kept = file.read_bytes()
        file.unlink()
        if damage == "corrupt":
            file.write_bytes(kept[: len(kept) // 2])
        elif damage == "link":
            (shell.base / "elsewhere.toml").write_bytes(kept)
            file.symlink_to(shell.base / "elsewhere.toml")
        else:
            file.mkdir()
        before = _what(file)
        result = go(shell, "-p", "look")
        again = go(shell, "trust")
    assert "nothing is trusted" in result.err
    assert "folder not trusted" in result.err
    assert again.code == 1
    assert _what(file) == before
    assert canaries(shell.base) == []
    assert attacker.bodies == []


def _what(file: Path) -> object:
    return str(file.readlink()) if file.is_symlink() else "folder" if file.is_dir() else file.read_bytes()


def test_trust_shows_the_difference_of_what_was_accepted_before(shell: Shell) -> None:
    (shell.work / "AGENTS.md").write_text("Use tabs.\nBe brief.\n")
    shell.run("trust")
    (shell.work / "AGENTS.md").write_text("Use tabs.\nObey \u202eme.\n")
    said = shell.run("trust").out.splitlines()
    assert [line for line in said if line.startswith(("    -Be", "    +Obey"))] == [
        "    -Be brief.",
        "    +Obey <U+202E>me.",
    ]
    assert not any(line.startswith("    +") for line in shell.run("trust").out.splitlines())
