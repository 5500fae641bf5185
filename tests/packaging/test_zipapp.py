"""The one-file program: it needs a Python and nothing else, and leaves nothing but one folder that purge removes."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, play_the_screen, run
from tests.packaging.interpreters import found
from tui_agent import __version__

BARE = getattr(sys, "_base_executable", sys.executable)
"""The Python that the environment of the tests was made from: it has none of the dependencies."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("dist") / "tui-agent"
    subprocess.run([sys.executable, ROOT / "packaging/zipapp.py", target], check=True, timeout=100)
    return target


def start(python: str, app: Path, home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return run([python, "-I", str(app), *words], home, **more)


def test_it_is_one_executable_file_and_the_same_twice(app: Path, tmp_path: Path) -> None:
    assert app.stat().st_mode & 0o111
    assert app.read_bytes().startswith(b"#!/usr/bin/env python3\n")
    again = tmp_path / "again"
    subprocess.run([sys.executable, ROOT / "packaging/zipapp.py", again], check=True, timeout=100)
    assert again.read_bytes() == app.read_bytes()
    with zipfile.ZipFile(app) as archive:
        names = set(archive.namelist())
    assert {
        "LICENSE",
        "tui_agent/styles/app.tcss",
        "tui_agent/presets.toml",
        "textual/app.py",
        "httpx/__init__.py",
    } <= names
    assert not any(name.endswith((".so", ".pyc")) or name.startswith(("tests/", "pytest")) for name in names)


@pytest.mark.parametrize(
    "version", [version for version in found() if version != f"{sys.version_info[0]}.{sys.version_info[1]}"] + ["own"]
)
def test_it_runs_where_nothing_is_installed(version: str, app: Path, tmp_path: Path) -> None:
    python = found().get(version, BARE)
    done = start(python, app, tmp_path, "demo")
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stderr
    assert start(python, app, tmp_path, "--version").stdout == f"tui-agent {__version__}\n"


def test_it_unpacks_once_for_nobody_else_and_removes_older_builds(app: Path, tmp_path: Path) -> None:
    apps = tmp_path / ".local/state/tui_agent/app"
    old = apps / "older"
    old.mkdir(parents=True, mode=0o700)
    apps.chmod(0o700)
    assert start(BARE, app, tmp_path, "--version").returncode == 0
    (folder,) = apps.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    before = (folder / "tui_agent/cli.py").stat().st_mtime_ns
    assert start(BARE, app, tmp_path, "--version").returncode == 0
    assert (folder / "tui_agent/cli.py").stat().st_mtime_ns == before
    assert start(BARE, app, tmp_path, "purge", "--yes").returncode == 0
    assert not apps.parent.exists()


def test_a_folder_that_others_can_write_to_is_not_run_from(app: Path, tmp_path: Path) -> None:
    apps = tmp_path / ".local/state/tui_agent/app"
    apps.mkdir(parents=True)
    apps.chmod(0o777)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = start(BARE, app, tmp_path, "--version", TMPDIR=str(temporary))
    assert done.stdout == f"tui-agent {__version__}\n"
    assert list(apps.iterdir()) == []
    assert list(temporary.iterdir()) == []


def test_a_relative_home_is_refused_and_nothing_is_unpacked_into_it(app: Path, tmp_path: Path) -> None:
    done = start(BARE, app, tmp_path, "paths", TUI_AGENT_HOME="own")
    assert done.returncode == 5
    assert "TUI_AGENT_HOME must be an absolute path" in done.stderr
    assert not (tmp_path / "own").exists()


def test_where_nobody_has_a_home_nothing_is_left_in_the_current_folder(app: Path, tmp_path: Path) -> None:
    code = "import pwd, runpy, sys\ndef no(uid): raise KeyError(uid)\npwd.getpwuid = no\nrunpy.run_path(sys.argv.pop(1), run_name='__main__')"
    for home in ("", "own"):
        done = run([BARE, "-c", code, str(app), "--version"], tmp_path, HOME=home)
        assert done.stdout == f"tui-agent {__version__}\n", done.stderr
        assert list(tmp_path.iterdir()) == []


ON_A_FULL_DISK = """
import errno, runpy, sys, zipfile
full, real = sys.argv.pop(1), zipfile.ZipFile.extractall
def extractall(self, path):
    real(self, path, self.namelist()[:9])
    if full in str(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    real(self, path)
zipfile.ZipFile.extractall = extractall
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


def test_where_the_disk_is_full_it_runs_from_elsewhere_or_says_so(app: Path, tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    def on_a_full_disk(full: Path) -> subprocess.CompletedProcess[str]:
        command = [BARE, "-c", ON_A_FULL_DISK, str(full), str(app), "--version"]
        return run(command, tmp_path, TMPDIR=str(temporary))

    done = on_a_full_disk(tmp_path / ".local")
    assert (done.stdout, done.stderr) == (f"tui-agent {__version__}\n", "")
    done = on_a_full_disk(tmp_path)
    assert (done.returncode, done.stdout) == (74, "")
    assert done.stderr.startswith(
        "tui-agent: it cannot unpack itself: No space left on device. Make room, or set TMPDIR"
    )
    assert done.stderr.count("\n") == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_what_a_kill_left_of_it_goes_later(app: Path, tmp_path: Path) -> None:
    apps = tmp_path / ".local/state/tui_agent/app"
    left, at_work = apps / ".new-left", apps / ".new-at-work"
    for folder in (apps, left, at_work):
        folder.mkdir(parents=True, mode=0o700)
    os.utime(left, (0, 0))
    assert start(BARE, app, tmp_path, "--version").returncode == 0
    assert (left.exists(), at_work.exists()) == (False, True)


@pytest.mark.pty
def test_the_screen_opens_with_its_styles(app: Path, tmp_path: Path) -> None:
    play_the_screen([BARE, "-I", str(app), "demo"], tmp_path)


def test_make_install_and_uninstall(tmp_path: Path) -> None:
    prefix = tmp_path / "it's pre fix"
    make = ["make", "-C", str(ROOT), f"PREFIX={prefix}", f"VENV={sys.prefix}", "-o", f"{sys.prefix}/.ready"]
    subprocess.run([*make, "install"], check=True, capture_output=True, timeout=100)
    files = sorted(str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file())
    assert files == [
        "bin/tui-agent",
        "share/bash-completion/completions/tui-agent",
        "share/fish/vendor_completions.d/tui-agent.fish",
        "share/zsh/site-functions/_tui-agent",
    ]
    assert start(BARE, prefix / "bin/tui-agent", tmp_path, "--version").stdout == f"tui-agent {__version__}\n"
    subprocess.run([*make, "uninstall"], check=True, capture_output=True, timeout=100)
    assert [path for path in prefix.rglob("*") if path.is_file()] == []
