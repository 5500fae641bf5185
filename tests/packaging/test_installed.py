"""The installed product, started as a person starts it: another folder, an empty home, no checkout in reach."""

from __future__ import annotations

from pathlib import Path

import pytest

import tui_agent
from tests.packaging.conftest import ROOT, Installed, play_the_screen


def where(installed: Installed, name: str) -> Path:
    """Where the installed product finds one of its own files."""
    code = f"from tui_agent.paths import own_file; print(own_file({name!r}))"
    done = installed.run(str(installed.python), "-c", code)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


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
    play_the_screen([installed.script, "demo"], installed.home)


def test_an_editable_install_uses_the_checkout(editable: Installed) -> None:
    for name in ("styles/app.tcss", "config.example.toml"):
        assert where(editable, name) == ROOT / name


@pytest.mark.pty
def test_the_screen_opens_from_an_editable_install(editable: Installed) -> None:
    play_the_screen([editable.script, "demo"], editable.home)
