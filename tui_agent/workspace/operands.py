"""What the words of a command that an option table accepts lead to on the disk.

The table judges the text of a path only. Here links are followed, and what would be shown is looked at by its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tui_agent.core.programs import OPTIONS
from tui_agent.tools.arguments import ToolError
from tui_agent.workspace import git_view
from tui_agent.workspace.paths import Anchor

_SHOWS = ("git", "diff")
"""The one of them that prints what is in the files that it is given."""


def floors_of_words(anchor: Anchor, argv: Sequence[str]) -> tuple[str, ...]:
    """The reasons why a command asks, whatever the table says, because of what its words name. Blocks on the disk."""
    pattern = next((words for words in OPTIONS if tuple(argv[: len(words)]) == words), None)
    if pattern is None:
        return ()
    found: dict[str, None] = {}
    if pattern[0] == "git" and (why := git_view.unfit(Path(anchor.root))):
        found[f"git would go by the repository's own settings: {why}"] = None
    operands = list(_operands(argv[len(pattern) :]))
    mixed = len({":" in word for word in operands}) > 1
    if pattern == _SHOWS and operands and (mixed or not _in_repository(anchor.root)):
        found["git compares a file of the disk, tracked or not"] = None
    for word in operands:
        path = word.rpartition(":")[2] if pattern == _SHOWS else word.partition("::")[0]
        try:
            floors = anchor.resolve(path or ".").floors
        except ToolError:
            found[f"{word} leads outside the workspace"] = None
            continue
        if pattern == _SHOWS:
            found |= dict.fromkeys(floors)
    return tuple(found)


def _in_repository(root: str) -> bool:
    return any(os.path.lexists(folder / ".git") for folder in (Path(root), *Path(root).parents))


def _operands(words: Sequence[str]) -> Iterator[str]:
    """The words that may name a file: those without a dash, and all behind `--`."""
    behind = False
    for word in words:
        if word == "--" and not behind:
            behind = True
        elif behind or not word.startswith("-"):
            yield word
