"""The tests that need the package index: the product with all of its dependencies, by each way that docs/install.md names."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.documents import ROOT, commands
from tests.installer import InstallError, install, make_environment
from tests.packaging.conftest import Built, Installed, run

ONE_DEPENDENCY = "pathspec>=1.0"


def from_index(python: Path, *words: str) -> None:
    """Install something small, or say visibly that there is no index to have it from."""
    try:
        install(python, *words)
    except InstallError as error:
        if os.environ.get("TUI_AGENT_REQUIRE_NETWORK"):
            raise
        pytest.skip(f"NO PACKAGE INDEX: {words[-1]} could not be installed: {error}")


@pytest.mark.network
@pytest.mark.timeout(600)
def test_the_wheel_installs_with_its_dependencies(built: Built, tmp_path: Path) -> None:
    python = make_environment(tmp_path / "venv")
    from_index(python, "--no-deps", ONE_DEPENDENCY)
    install(python, str(built.wheel))
    (tmp_path / "home").mkdir()
    installed = Installed(python, tmp_path / "home")
    done = installed.run(installed.script, "demo")
    assert done.returncode == 0, done.stderr


@pytest.mark.network
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("line", "away"),
    [("uv tool install .", "uv tool uninstall tui-agent"), ("pipx install .", "pipx uninstall tui-agent")],
)
def test_an_installer_of_programs_installs_it_as_the_document_says_and_takes_it_away(
    line: str, away: str, built: Built, tmp_path: Path
) -> None:
    assert line in commands((ROOT / "docs/install.md").read_text(encoding="utf-8"))
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path / "clone", filter="data")
    (clone,) = (tmp_path / "clone").iterdir()
    name = line.partition(" ")[0]
    tool = shutil.which(name)
    if tool is None:
        python = make_environment(tmp_path / "tool")
        from_index(python, name)
        tool = str(python.parent / name)
    programs, home = tmp_path / "bin", tmp_path / "home"
    home.mkdir()
    folders = {"UV_TOOL_DIR": "uv", "UV_CACHE_DIR": "cache", "PIPX_HOME": "pipx"}
    env = {variable: str(tmp_path / folder) for variable, folder in folders.items()}
    env |= {"UV_TOOL_BIN_DIR": str(programs), "PIPX_BIN_DIR": str(programs)}
    # where the index is, is this machine's own affair
    env |= {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "UV_INDEX", "SSL_CERT"))}
    env |= {"HOME": os.environ["HOME"]}

    done = run([tool, *line.split()[1:]], clone, timeout=500, **env)
    assert done.returncode == 0, done.stderr
    played = run([programs / "tui-agent", "demo"], home)
    assert played.returncode == 0, played.stderr
    assert "verified" in played.stderr
    assert run([programs / "tui-agent", "config", "path"], home).stdout.startswith(str(home))
    assert run([tool, *away.split()[1:]], clone, **env).returncode == 0
    assert list(programs.iterdir()) == []
