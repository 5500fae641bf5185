"""What a person may ask first, after their first start: words that fit the folder, by the names in it alone."""

from __future__ import annotations

import os
from collections.abc import Collection
from itertools import islice
from pathlib import Path
from typing import Final

LOOKED_AT: Final = 2000
"""Names of the folder that are looked at."""
_TESTED: Final = frozenset(
    {
        *("tests", "test", "spec", "pyproject.toml", "setup.py", "tox.ini", "package.json", "Cargo.toml", "go.mod"),
        *("pom.xml", "build.gradle", "Gemfile", "composer.json", "mix.exs", "CMakeLists.txt", "Makefile"),
    }
)
"""Names that go with tests that can be run."""


def names_in(root: Path) -> list[str]:
    """Names in a folder, as far as it can be read."""
    try:
        with os.scandir(root) as entries:
            return [entry.name for entry in islice(entries, LOOKED_AT)]
    except OSError:
        return []


def examples(names: Collection[str]) -> list[str]:
    """Three things to ask for."""
    if not any(name[0] != "." for name in names):
        return ["write a program that counts words, with a test", "what can you do?", "how do I undo what you change?"]
    tested = any(name in _TESTED for name in names)
    return [
        "explain this repo" if ".git" in names else "explain what is in this folder",
        "run the tests and fix the first failure" if tested else "find a mistake in these files",
        "review my uncommitted changes" if ".git" in names else "what would you mend here first?",
    ]


def said(names: Collection[str]) -> str:
    """The examples as lines."""
    return "\n".join(["For example:", *(f"  {example}" for example in examples(names))])
