"""The system prompt of a coding session: what it names, what it leaves out, and that it stays the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tui_agent.core.types import ToolSpec
from tui_agent.prompt import Prompts
from tui_agent.tools.registry import TOOLS

ROOT = Path("/home/ada/shop")
SPECS = tuple(tool.spec for tool in TOOLS.values())


def system_prompt(specs: tuple[ToolSpec, ...], root: Path, check: tuple[str, ...] | None) -> str:
    return Prompts(specs, root, check).native()


def only(*names: str) -> str:
    return system_prompt(tuple(spec for spec in SPECS if spec.name in names), ROOT, ("make", "check"))


def test_it_holds_the_folder_and_the_rules_of_working() -> None:
    text = system_prompt(SPECS, ROOT, ("make", "check"))
    for words in (
        f"Workspace: {ROOT}",
        "Look before you change",
        "Read a file before you edit it",
        '`old` ("" for a new file)',
        "keep edits small",
        "A refusal is an answer",
        "Never write down the result of a tool yourself",
        "`make check` runs by itself",
        "End with a short summary",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("edit_file", "Read a file before you edit it"),
        ("write_file", "write_file is for"),
        ("propose_edit", "propose_edit takes"),
        ("run_command", "run_command takes"),
        ("run_shell", "run_shell is for"),
        ("update_plan", "update_plan"),
    ],
)
def test_it_describes_the_enabled_tools_only(tool: str, words: str) -> None:
    assert words in only(tool)
    assert words not in only("read_file", "search")


def test_without_a_tool_that_changes_files_or_a_check_no_check_is_promised() -> None:
    assert "runs by itself" not in only("read_file", "run_command")
    assert "runs by itself" not in system_prompt(SPECS, ROOT, None)


def test_it_is_the_same_bytes_every_time_and_names_no_other_path() -> None:
    text = system_prompt(SPECS, ROOT, None)
    assert text == system_prompt(SPECS, ROOT, None)
    assert not re.search(r"\w/\w|\w\.(py|txt|md|json|toml|c|rs)\b", text.replace(str(ROOT), ""))
    assert not re.search(r"\{\w+\}", text)
