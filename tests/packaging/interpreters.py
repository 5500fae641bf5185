"""Which Pythons of this machine the wheel is tried with: the newest patch of each version from 3.11 on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.waiting import PATIENCE

VERSIONS = tuple(f"3.{minor}" for minor in range(11, 16))


@cache
def found() -> dict[str, str]:
    """Version to interpreter. The one that runs the tests stands for its own version."""
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    pythons = {version: _first_that_runs(version) for version in VERSIONS if version != own}
    return {own: sys.executable} | {version: python for version, python in pythons.items() if python}


def _first_that_runs(version: str) -> str | None:
    managed = [
        Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions",
        Path(os.environ.get("UV_PYTHON_INSTALL_DIR") or Path.home() / ".local/share/uv/python"),
    ]
    candidates = [shutil.which(f"python{version}")]
    for folder in managed:
        candidates += sorted(map(str, folder.glob(f"*{version}.*/bin/python{version}")), reverse=True)
    return next((python for python in candidates if python and _runs(python, version)), None)


def _runs(python: str, version: str) -> bool:
    """A name on PATH may be a mere signpost of a version manager."""
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False)
    return done.returncode == 0 and done.stdout.strip() == version
