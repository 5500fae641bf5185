"""The built wheel, and environments with it installed, without any network.

The environments see the packages of the environment that runs the tests through a .pth file: the
dependencies are there, the product itself comes from the wheel alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.installer import install, make_environment
from tests.packaging.interpreters import VERSIONS, found
from tests.packaging.terminal import CTRL_C, terminal
from tui_agent.demo import TASK

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Built:
    """One build of the tree."""

    wheel: Path
    sdist: Path


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment with the product in it, and a person who has never used it."""

    python: Path
    home: Path

    @property
    def script(self) -> str:
        """The console script."""
        return str(self.python.parent / "tui-agent")

    @property
    def env(self) -> dict[str, str]:
        """The variables of that person."""
        return person(self.home)

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        """Run something from the home folder, without a terminal."""
        return run(argv, self.home)


def person(home: Path, **more: str) -> dict[str, str]:
    """The variables of somebody with this home: nothing leads to the checkout."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **more}


def run(argv: Sequence[str | Path], home: Path, timeout: float = 100, **more: str) -> subprocess.CompletedProcess[str]:
    """Run something from a home folder, without a terminal; `more` are further variables."""
    return subprocess.run(
        argv,
        cwd=home,
        env=person(home, **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def play_the_screen(argv: Sequence[str], home: Path) -> None:
    """Open the demo on the screen, wait for the composer with its task, and leave with Ctrl+C."""
    with terminal(argv, home, person(home)) as screen:
        screen.wait_for(TASK)
        screen.press(CTRL_C)
        screen.wait_for("Put away")
        screen.press(CTRL_C)
        screen.wait_for("again to quit")
        screen.press(CTRL_C)
        assert screen.wait_for_end() == 0, screen.text


def build(tree: Path, target: Path) -> Built:
    """Build wheel and sdist of a source tree with the build backend that is installed: no isolation, no network."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(target)],
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return Built(wheel, sdist)


def environment(folder: Path, python: str, *words: str) -> Installed:
    """A new environment that borrows the dependencies, with `words` installed into it."""
    made = make_environment(folder / "venv", python)
    (site,) = (folder / "venv").glob("lib/*/site-packages")
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install(made, "--no-deps", "--no-index", *words)
    (folder / "home").mkdir()
    return Installed(made, folder / "home")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Wheel and sdist of this checkout."""
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session", params=found())
def installed(request: pytest.FixtureRequest, built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in an environment of each Python that is here."""
    return environment(tmp_path_factory.mktemp("installed"), found()[request.param], str(built.wheel))


@pytest.fixture(scope="session")
def editable(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The checkout itself, installed as `make` does."""
    return environment(
        tmp_path_factory.mktemp("editable"), sys.executable, "--no-build-isolation", "--editable", str(ROOT)
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which Pythons the wheel was tried with, and which are not on this machine."""
    missing = [version for version in VERSIONS if version not in found()]
    line = f"wheel: tried with Python {', '.join(sorted(found()))}"
    terminalreporter.write_line(f"{line}; not tried, because not here: {', '.join(missing) or 'none'}")
