"""Completions, asked of the shells themselves where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.waiting import PATIENCE
from tui_agent.completions import SHELLS, Command
from tui_agent.subcommands import SUBCOMMANDS
from tui_agent.subcommands.completions import tree

ROOT = tree()


def nodes(node: Command) -> Iterator[Command]:
    yield node
    for inner in node.inner:
        yield from nodes(inner)


def words_of(shell: str, script: Path, line: str, folder: Path) -> list[str]:
    """What the shell offers at the end of a line."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"NO {shell}: its completions were not tried")
    if shell == "bash":
        words = line.split(" ")
        array = " ".join(f"'{word}'" for word in words)
        code = f"COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _tui_agent; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        argv = [program, "--norc", "-c", f"source {script}; {code}"]
    else:
        argv = [program, "--no-config", "-c", f"source {script}; complete -C '{line}'"]
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        timeout=PATIENCE,
        check=True,
    )
    return sorted({word.partition("\t")[0].rstrip("/") for word in done.stdout.splitlines()} - {""})


@pytest.fixture
def scripts(tmp_path: Path) -> dict[str, Path]:
    written = {}
    for name, make in SHELLS.items():
        written[name] = tmp_path / f"completions.{name}"
        written[name].write_text(make(ROOT))
    return written


CASES = [
    ("tui-agent ", sorted(c.name for c in SUBCOMMANDS)),
    ("tui-agent conf", ["config"]),
    ("tui-agent --mode ", ["plan", "read", "review"]),
    ("tui-agent --max-s", ["--max-steps"]),
    ("tui-agent config ", ["check", "edit", "import", "path", "show"]),
    ("tui-agent config import --r", ["--replace"]),
    ("tui-agent config show --cwd f", ["folder"]),
    ("tui-agent completions z", ["zsh"]),
    ("tui-agent trust f", ["folder"]),
    ("tui-agent --model ", []),
    ("tui-agent --theme colour", ["colour-blind"]),
    ("tui-agent --theme d", ["dark", "dracula"]),
    ("tui-agent keys pane.", ["pane.diff", "pane.files", "pane.message", "pane.next", "pane.transcript", "pane.tree"]),
    ("tui-agent keys pane.files scroll.e", ["scroll.end"]),
    ("tui-agent -p x conf", []),
    ("tui-agent demo conf", []),
]


@pytest.mark.parametrize("shell", ["bash", "fish"])
@pytest.mark.parametrize(("line", "offered"), CASES, ids=[line for line, _ in CASES])
def test_what_a_shell_offers(
    shell: str, line: str, offered: list[str], scripts: dict[str, Path], tmp_path: Path
) -> None:
    work = tmp_path / "work"
    (work / "folder").mkdir(parents=True)
    assert words_of(shell, scripts[shell], line, work) == offered


def test_names_of_files_may_hold_blanks(scripts: dict[str, Path], tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a b.toml").touch()
    assert words_of("bash", scripts["bash"], "tui-agent --config a", work) == ["a b.toml"]
    assert words_of("bash", scripts["bash"], "tui-agent config import a", work) == ["a b.toml"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("--mode = r", ["read", "review"]),
        ("--mode =", ["plan", "read", "review"]),
        ("config --config = a", ["a.toml"]),
        ("--config = a.toml --max-s", ["--max-steps"]),
    ],
)
def test_bash_makes_three_words_of_a_flag_with_its_value(
    words: str, offered: list[str], scripts: dict[str, Path], tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.toml").touch()
    assert words_of("bash", scripts["bash"], f"tui-agent {words}", work) == offered


@pytest.mark.parametrize("shell", SHELLS)
def test_every_flag_of_every_command_is_there(shell: str, scripts: dict[str, Path]) -> None:
    text = scripts[shell].read_text()
    for node in nodes(ROOT):
        assert node.name in text
        for flag in node.flags:
            for name in flag.names:
                spelled = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                assert (spelled if shell == "fish" else name) in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_can_read_it(shell: str, scripts: dict[str, Path]) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"NO {shell}: its completions were not tried")
    done = subprocess.run([program, "-n", str(scripts[shell])], capture_output=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_command_prints_them(shell: Shell, scripts: dict[str, Path]) -> None:
    for name, script in scripts.items():
        assert shell.run("completions", name).out == script.read_text()
    assert shell.run("completions", "csh").code == 5
    assert shell.run("completions").code == 5


def test_the_help_names_every_command_and_groups_the_flags(shell: Shell) -> None:
    out = shell.run("--help", env={"COLUMNS": "100"}).out
    for c in SUBCOMMANDS:
        assert f"  {c.name:<15} {c.summary}\n" in out
        own = shell.run(c.name, "--help")
        assert own.code == 0
        assert own.out.startswith(f"usage: tui-agent {c.name} ")
    for group in (
        "the task",
        "what one task may do:",
        "who answers:",
        "output of one task:",
        "examples:",
        "exit codes",
    ):
        assert f"\n{group}" in out
