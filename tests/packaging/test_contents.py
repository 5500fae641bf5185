"""What a wheel and an sdist hold: all that the product reads at run time, and nothing of the workshop."""

from __future__ import annotations

import email
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT, Built, build


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def product_files() -> set[str]:
    """Every file of the checkout that belongs into the wheel, by its path in there."""
    package = {
        str(p.relative_to(ROOT))
        for p in (ROOT / "tui_agent").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts and p.suffix != ".pyc"
    }
    styles = {f"tui_agent/styles/{p.name}" for p in (ROOT / "styles").iterdir()}
    return package | styles | {"tui_agent/config.example.toml"}


def test_the_wheel_holds_the_product_and_nothing_else(built: Built) -> None:
    inside = {name for name in names_in(built.wheel) if ".dist-info/" not in name}
    assert inside == product_files()


@pytest.mark.parametrize(
    "name",
    [
        "tui_agent/py.typed",
        "tui_agent/presets.toml",
        "tui_agent/config.example.toml",
        "tui_agent/prompts/coding.txt",
        "tui_agent/styles/app.tcss",
        "tui_agent/demo/replies.json",
        "tui_agent/demo/project/slugs.py",
        "tui_agent/demo/project/test_slugs.py",
        "tui_agent/workspace/supervisor.py",
        "tui_agent/workspace/landlock.py",
        "tui_agent-0.1.0.dist-info/licenses/LICENSE",
    ],
)
def test_the_wheel_holds(built: Built, name: str) -> None:
    assert name in names_in(built.wheel)


def test_the_metadata_says_what_is_needed(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        meta = email.message_from_bytes(archive.read(name))
    assert meta["Requires-Python"] == ">=3.11"
    assert meta["License-Expression"] == "MIT"
    needed = {line.partition(";")[0].strip() for line in meta.get_all("Requires-Dist", []) if "extra ==" not in line}
    assert any(line.startswith("textual") for line in needed)
    assert not any("://" in line or "@" in line for line in needed), "a requirement must not carry an address"


def test_a_wheel_made_from_the_sdist_is_the_same(built: Built, tmp_path: Path) -> None:
    with tarfile.open(built.sdist) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (tree,) = (tmp_path / "source").iterdir()
    again = build(tree, tmp_path / "dist")
    assert again.wheel.read_bytes() == built.wheel.read_bytes()
