"""The one test that needs the package index: the wheel with all of its dependencies, as a person installs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.installer import InstallError, install, make_environment
from tests.packaging.conftest import Built, Installed

ONE_DEPENDENCY = "pyperclip>=1.9"


@pytest.mark.network
@pytest.mark.timeout(600)
def test_the_wheel_installs_with_its_dependencies(built: Built, tmp_path: Path) -> None:
    python = make_environment(tmp_path / "venv")
    try:
        install(python, "--no-deps", ONE_DEPENDENCY)
    except InstallError as error:
        if os.environ.get("TUI_AGENT_REQUIRE_NETWORK"):
            raise
        pytest.skip(f"NO PACKAGE INDEX: {ONE_DEPENDENCY} could not be installed: {error}")
    install(python, str(built.wheel))
    (tmp_path / "home").mkdir()
    installed = Installed(python, tmp_path / "home")
    done = installed.run(installed.script, "demo")
    assert done.returncode == 0, done.stderr
