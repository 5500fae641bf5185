"""The installed product, started as a person starts it: another folder, an empty home, no checkout in reach."""

from __future__ import annotations

from pathlib import Path

import pytest

import tui_agent
from tests.packaging.conftest import ROOT, Installed
from tests.packaging.terminal import CTRL_C, terminal
from tui_agent.demo import TASK


def where(installed: Installed, name: str) -> Path:
    """Where the installed product finds one of its own files."""
    code = f"from tui_agent.paths import own_file; print(own_file({name!r}))"
    done = installed.run(str(installed.python), "-c", code)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def play_the_screen(installed: Installed) -> None:
    """Open the demo on the screen, wait for the composer with its task, and leave with Ctrl+C."""
    with terminal([installed.script, "demo"], installed.home, installed.env) as screen:
        screen.wait_for(TASK)
        screen.press(CTRL_C)
        screen.wait_for("Put away")
        screen.press(CTRL_C)
        screen.wait_for("again to quit")
        screen.press(CTRL_C)
        assert screen.wait_for_end() == 0, screen.text


def test_it_finds_its_own_files_and_not_the_checkout(installed: Installed) -> None:
    for name in ("styles/app.tcss", "presets.toml", "config.example.toml"):
        file = where(installed, name)
        assert file.is_file()
        assert file.is_relative_to(installed.python.parent.parent.resolve())


@pytest.mark.parametrize("name", ["script", "module"])
def test_both_names_start_it(installed: Installed, name: str) -> None:
    argv = [installed.script] if name == "script" else [str(installed.python), "-m", "tui_agent"]
    done = installed.run(*argv, "--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"tui-agent {tui_agent.__version__}"), done.stderr


def test_the_demo_plays_as_text_without_a_terminal(installed: Installed) -> None:
    done = installed.run(installed.script, "demo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert "verified" in done.stderr
    assert list(installed.home.iterdir()) == []


@pytest.mark.pty
def test_the_screen_opens_with_its_styles_and_closes(installed: Installed) -> None:
    play_the_screen(installed)


def test_an_editable_install_uses_the_checkout(editable: Installed) -> None:
    for name in ("styles/app.tcss", "config.example.toml"):
        assert where(editable, name) == ROOT / name


@pytest.mark.pty
def test_the_screen_opens_from_an_editable_install(editable: Installed) -> None:
    play_the_screen(editable)
