"""What is copied reaches a clipboard, and the screen says by which way: a program, tmux, the terminal, a file."""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pty.terminal import Home, Terminal, say

ANSWER = "**bold** words\nand a second line"
COPY = "\x18y"


def copied(home: Home, words: str, **env: str) -> Terminal:
    """A program in which the answer was copied and `words` are on the screen."""
    home.script(say(ANSWER))
    with Terminal(home, size=(100, 30), env=env) as t:
        t.ready().task()
        t.wait_for("and a second line", "completed")
        t.send(COPY)
        t.wait_for(words)
        t.send("/quit\r")
        assert t.ended() == 0
        return t


def tool(home: Home, name: str) -> tuple[str, Path]:
    """A search path with a program of this name in front, and the file that it fills."""
    folder = home.base / "bin"
    folder.mkdir(exist_ok=True)
    got = home.base / f"{name}.got"
    (folder / name).write_text(f'#!/bin/sh\necho "$@" > "{got}.args"\nexec cat > "{got}"\n')
    (folder / name).chmod(0o755)
    return f"{folder}:{home.environment()['PATH']}", got


def test_a_program_of_this_machine_gets_the_source(home: Home) -> None:
    path, got = tool(home, "xclip")
    t = copied(home, "2 lines copied by xclip", PATH=path, DISPLAY=":9")
    assert got.read_text() == ANSWER
    assert b"\x1b]52" not in t.raw


def test_over_ssh_it_goes_through_the_terminal(home: Home) -> None:
    path, got = tool(home, "xclip")
    t = copied(home, "2 lines sent through the terminal", PATH=path, DISPLAY=":9", SSH_CONNECTION="1 2 3 4")
    assert b"\x1b]52;c;" + base64.b64encode(ANSWER.encode()) + b"\a" in t.raw
    assert not got.exists()


def test_without_a_way_there_is_a_file(home: Home) -> None:
    file = home.paths.state / "copied.txt"
    t = copied(home, "2 lines written to", STY="1.session")
    assert file.read_text() == ANSWER
    assert b"\x1b]52" not in t.raw


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[list[str]]:
    """A tmux server of its own, with the settings that tmux has by default."""
    program = shutil.which("tmux")
    if program is None:
        pytest.skip("there is no tmux")
    words = [program, "-f", "/dev/null", "-S", str(tmp_path / "tmux")]
    yield words
    subprocess.run([*words, "kill-server"], check=False, capture_output=True)


def test_inside_tmux_the_outer_terminal_is_asked(home: Home, tmux: list[str]) -> None:
    home.script(say(ANSWER))
    start = "import os, sys; os.execvpe(sys.argv[1], sys.argv[1:], os.environ)"
    words = [*tmux, "new-session", "-x", "100", "-y", "30", f"exec {sys.executable} -m tui_agent"]
    with Terminal(home, words, size=(100, 30), code=start, env={"SHELL": "/bin/sh"}) as t:
        t.ready().task()
        t.wait_for("completed")
        t.send(COPY)
        t.wait_for("2 lines copied by tmux")
        expected = base64.b64encode(ANSWER.encode())
        t.until(lambda: b"\x1b]52;c;" + expected in t.raw or b"\x1b]52;;" + expected in t.raw, "tmux never asked")
        buffer = subprocess.run([*tmux, "show-buffer"], check=True, capture_output=True, text=True).stdout
        assert buffer == ANSWER
        t.send("/quit\r")
        t.ended()
