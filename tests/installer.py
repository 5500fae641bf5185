"""Virtual environments for tests, filled by the pip that is here, or by uv when it made this environment without one."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path


class InstallError(Exception):
    """Something could not be installed; the text is what the tool said last."""


def make_environment(folder: Path, python: str = sys.executable) -> Path:
    """Make an empty virtual environment for an interpreter; returns its own python."""
    _run([python, "-m", "venv", "--without-pip", str(folder)])
    return folder / "bin" / "python"


def install(python: Path, *words: str) -> None:
    """`pip install WORDS` into the environment of `python`.

    Raises:
        InstallError: it failed, for want of a network or because of what was to be installed.
    """
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "install", "-q"]
        _run([*pip, *words])
    else:
        _run([_uv(), "pip", "install", "-q", "--python", str(python), *words])


def _uv() -> str:
    found = shutil.which("uv")
    if found is None:
        raise InstallError("neither pip nor uv is here")
    return found


def _run(argv: list[str]) -> None:
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("hint:")]
        raise InstallError(" / ".join(lines[-3:]) or f"{argv[0]}: exit {done.returncode}")
