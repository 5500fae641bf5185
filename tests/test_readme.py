"""README and the documents, followed to the letter: their commands run in a fresh copy, for a person with an empty home."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.server import Text, serving
from tests.documents import DOCUMENTS, ROOT, blocks, commands
from tests.packaging.terminal import CTRL_C, terminal

README = (ROOT / "README.md").read_text(encoding="utf-8")
NOT_RUN: Mapping[str, str] = {
    "tui-agent": "opens the screen: test_the_first_task_on_the_screen does what README says of it",
    "uv tool install .": "needs the package index: tests/packaging/test_from_index.py",
    "pipx install .": "needs the package index: tests/packaging/test_from_index.py",
    "make check": "is what runs this",
    "make test": "is what runs this",
    "make fuzz": "needs the tests, and much time: test_targets_of_make_exist",
    "make clean": "takes the environment away that this runs in",
    "tui-agent reset-terminal": "needs a terminal: tests/pty/test_leaving.py",
}
MAY_FAIL = {"tui-agent doctor": {0, 1}}
"""What says something about this machine with its exit code."""


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A clone whose environment is made, a project, and a home with nothing in it but what README makes there."""

    clone: Path
    project: Path
    home: Path

    @property
    def env(self) -> dict[str, str]:
        """The variables of that person."""
        path = f"{self.home}/.local/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "EDITOR": "true"}

    def type(self, line: str, at: Path) -> subprocess.CompletedProcess[str]:
        """Run a line in a shell without a terminal."""
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=at,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    def configure(self, url: str) -> None:
        """Write the file that README shows, with the address of a server that answers."""
        (least,) = blocks(README, "toml")
        file = self.home / ".config/tui_agent/config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        assert "http://127.0.0.1:8080/v1" in least
        file.write_text(least.replace("http://127.0.0.1:8080/v1", url), encoding="utf-8")


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Newcomer:
    base = tmp_path_factory.mktemp("newcomer")
    person = Newcomer(base / "tui-agent", base / "home/code/parser", base / "home")
    shutil.copytree(
        ROOT, person.clone, ignore=shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "tests", "screenshots")
    )
    # the environment of the tests, by another name: what `make demo` would make with the package index
    environment = person.clone / ".venv"
    environment.mkdir()
    for part in ("bin", "lib", "pyvenv.cfg"):
        (environment / part).symlink_to(Path(sys.prefix) / part)
    for made in (".ready", ".dev"):
        (environment / made).touch()
    person.project.mkdir(parents=True)
    (person.project / "f.py").write_text("def f():\n    return 1\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(person.project)], check=True, timeout=60)
    return person


@pytest.fixture(scope="module")
def installed(newcomer: Newcomer) -> Iterator[Newcomer]:
    """The same person after `make install` and with the configuration of README."""
    done = newcomer.type("make install PREFIX=~/.local", newcomer.clone)
    assert done.returncode == 0, done.stderr
    with serving(Text("It is done.")) as server:
        newcomer.configure(server.url)
        yield newcomer


TYPED = [(d, line) for d in DOCUMENTS for line in commands(d.read_text(encoding="utf-8"))]


def test_what_is_not_run_stands_in_a_document() -> None:
    assert set(NOT_RUN) | set(MAY_FAIL) <= {line for _, line in TYPED}


@pytest.mark.parametrize(
    ("document", "line"),
    [(d, line) for d, line in TYPED if line not in NOT_RUN],
    ids=[f"{d.stem}: {line}" for d, line in TYPED if line not in NOT_RUN],
)
def test_a_command_works_as_written(document: Path, line: str, installed: Newcomer) -> None:
    in_clone = line.startswith("make ")
    done = installed.type(line, installed.clone if in_clone else installed.project)
    assert done.returncode in MAY_FAIL.get(line, {0}), f"{document.name}: {line}\n{done.stdout}\n{done.stderr}"
    if line.startswith("make uninstall"):
        assert not (installed.home / ".local/bin/tui-agent").exists()
        installed.type("make install PREFIX=~/.local", installed.clone)
    if "-p " in line and "--json" not in line:
        assert done.stdout == "It is done.\n"


@pytest.mark.pty
def test_the_demo_as_readme_tells_it(newcomer: Newcomer) -> None:
    assert re.search(
        r"press Enter to send the\s+task, answer the two questions with `y`, and leave with Ctrl\+C twice", README
    )
    with terminal(["make", "demo"], newcomer.clone, newcomer.env) as screen:
        screen.wait_for("Enter send")
        screen.press(b"\r")
        for question in ("+1 -1", "+4 -1"):
            screen.wait_for(question)
            screen.wait_for("y n s work now")
            screen.press(b"y")
        screen.wait_for("verified")
        screen.press(CTRL_C)
        screen.wait_for("again to quit")
        screen.press(CTRL_C)
        assert screen.wait_for_end() == 0, screen.text


@pytest.mark.pty
def test_the_first_task_on_the_screen(installed: Newcomer) -> None:
    assert re.search(r"asks whether you trust the folder \(`t` or `r`\)", README)
    program = str(installed.home / ".local/bin/tui-agent")
    with terminal([program], installed.project, installed.env) as screen:
        screen.wait_for("q quit")
        screen.press(b"r")
        screen.wait_for("qwen3-coder-30b")
        screen.press(b"say hello\r")
        screen.wait_for("It is done.")
        screen.press(CTRL_C)
        screen.wait_for("again to quit")
        screen.press(CTRL_C)
        assert screen.wait_for_end() == 0, screen.text
