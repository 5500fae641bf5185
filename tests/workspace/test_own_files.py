"""What belongs to the product is never written by a tool, wherever the person keeps it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes import Person
from tui_agent.core.receipt import Receipt
from tui_agent.workspace import Workspace


@pytest.mark.parametrize(
    "path", ["xdg/tui_agent/config.toml", "data/tui_agent/trust.toml", "my.toml", "link/config.toml"]
)
async def test_own_files_are_never_written(tmp_path: Path, path: str) -> None:
    for folder in ("xdg/tui_agent", "data/tui_agent"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "my.toml").write_text("a = 1\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "xdg" / "tui_agent")
    own = (tmp_path / "xdg" / "tui_agent", tmp_path / "data" / "tui_agent", tmp_path / "my.toml")
    person = Person()
    workspace = Workspace(tmp_path, person, own=own)
    await workspace.call("read_file", {"path": path})
    outcome = await workspace.call("write_file", {"path": path, "content": "a = 2\n"})
    assert outcome.status != "applied"
    assert person.asked == []
    applied = await workspace.call("write_file", {"path": "xdg/other.txt", "content": "x\n"})
    assert applied.status == "applied"


def test_what_counts_as_unseen() -> None:
    from tui_agent.core.receipt import FileChange

    edit = Receipt("r", "c", "edit_file", {}, "a.py", "1", "2", by="key")
    assert not edit.unseen
    command = Receipt("r", "c", "run_shell", {}, exit_code=0, by="key", changed=(FileChange("conftest.py", None, "2"),))
    assert command.unseen
    assert command.touched == ("conftest.py",)
    assert not Receipt("r", "c", "run_command", {}, exit_code=0, by="key").unseen
    tests = Receipt(
        "r", "c", "run_command", {}, by="allow pattern: pytest", changed=(FileChange("out.txt", None, "2"),)
    )
    assert not tests.unseen
    assert Receipt("r", "c", "edit_file", {}, "a.py", "1", "2", by="flag: --yes").unseen


async def test_caches_are_no_change_of_the_work(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, Person())
    script = (
        "mkdir -p __pycache__ .pytest_cache; echo x > __pycache__/a.pyc; echo x > .pytest_cache/y; echo x > real.txt"
    )
    outcome = await workspace.call("run_shell", {"script": script})
    assert outcome.receipt is not None
    assert outcome.receipt.touched == ("real.txt",)
