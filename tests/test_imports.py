"""The rooms keep their distance: fresh interpreters, and what they have loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("textual", "rich", "httpx", "pygments", "markdown_it", "tomlkit", "pathspec")


def loaded(code: str) -> set[str]:
    """The top-level modules after running `code` in a fresh interpreter."""
    script = f"import sys\n{code}\nprint(*{{m.partition('.')[0] for m in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import tui_agent.core.loop, tui_agent.core.policy, tui_agent.core.display, tui_agent.core.diff", ()),
        ("import tui_agent.cli", ()),
        ("import tui_agent.subcommands.start", ()),
        ("import tui_agent.oneshot, tui_agent.session", ()),
        ("import tui_agent.workspace, tui_agent.tools.registry", ()),
        ("import tui_agent.providers, tui_agent.providers.openai_chat", ()),
        ("import tui_agent.demo", ()),
    ],
)
def test_nothing_heavy_is_loaded(code: str, allowed: tuple[str, ...]) -> None:
    assert loaded(code) & set(HEAVY) <= set(allowed)


def test_a_one_shot_run_never_loads_the_screen() -> None:
    code = "import io\nsys.stdin = io.StringIO()\nfrom tui_agent.cli import main\nsys.stdout = io.StringIO()\ncode = main(['demo'])\nsys.stdout = sys.__stdout__\nassert code == 0, code"
    assert loaded(code) & {"textual", "rich", "httpx"} == set()


def test_the_screen_loads_httpx_and_highlighting_late() -> None:
    assert loaded("import tui_agent.ui.app") & {"httpx", "pygments", "tomlkit"} == set()
