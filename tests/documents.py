"""The documents of this repository, read as their readers do: prose, code in it, and blocks of commands."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "AGENTS.md", *sorted((ROOT / "docs").glob("*.md"))]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def prose(text: str) -> str:
    """A document without its blocks of code."""
    return _FENCE.sub("", text)


def spans(text: str) -> list[str]:
    """What stands in backticks within the prose; a line may break inside."""
    return [re.sub(r"\s+", " ", span) for span in re.findall(r"`([^`]+)`", prose(text))]


def blocks(text: str, language: str) -> list[str]:
    """The blocks of code in one language."""
    return [body for name, body in _FENCE.findall(text) if name == language]


def commands(text: str) -> list[str]:
    """The lines of the blocks that a reader types into a shell, without their comments."""
    lines = [line for block in blocks(text, "sh") for line in block.splitlines()]
    return [typed for line in lines if (typed := re.sub(r"(^|\s)#.*$", "", line).strip())]


def rows(text: str, *head: str) -> list[tuple[str, ...]]:
    """The rows of every table with these heads."""
    found: list[tuple[str, ...]] = []
    inside = False
    for line in prose(text).splitlines():
        cells = tuple(cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|"))
        if not line.startswith("|"):
            inside = False
        elif cells == head:
            inside = True
        elif inside and not set(cells[0]) <= {"-"}:
            found.append(cells)
    return found
