"""The check of a folder: said by the person, named by the folder, or found in its files; accepted once and kept.

Looking for one only reads names and texts; nothing is run. Whoever calls has the folder trusted first.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.answers import AnswerFile
from tui_agent.core.disk import beginning, is_file

TIMEOUT = 600.0
"""Seconds that a check may take."""
Source: TypeAlias = Literal["person", "project", "found"]
"""Who named a check: the person themselves, the folder's own configuration, or files that it was found in.

One of the folder's own counts only while its text is the one that was trusted, which `trust` knows."""
_MAX_TEXT = 1_000_000
_TARGET = re.compile(r"^check[ \t]*::?(?![:=])", re.MULTILINE)
_PYTEST = re.compile(r"^\[(?:tool\.pytest\b|tool:pytest\]|pytest\])", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Found:
    """A command that could be the check, and the file that says so."""

    argv: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True)
class Answered:
    """What the person said of a check for a folder."""

    argv: tuple[str, ...]
    accepted: bool
    source: Source = "found"


def detect(root: Path) -> Found | None:
    """The most telling check of a folder, None when its files name none."""
    for name in ("GNUmakefile", "makefile", "Makefile"):
        if _TARGET.search(_text(root / name)):
            return Found(("make", "check"), name)
    if test := _npm_test(root):
        return test
    for name in ("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini"):
        if _PYTEST.search(_text(root / name)):
            return Found((*_python_of(root), "pytest"), name)
    if _text(root / "Cargo.toml"):
        return Found(("cargo", "test"), "Cargo.toml")
    if _text(root / "go.mod"):
        return Found(("go", "test", "./..."), "go.mod")
    return None


def _python_of(root: Path) -> tuple[str, ...]:
    """How a folder with an environment of its own starts the programs of it."""
    locks = {"uv.lock": "uv", "poetry.lock": "poetry", "pdm.lock": "pdm", "Pipfile.lock": "pipenv"}
    if program := next((program for lock, program in locks.items() if is_file(root / lock)), ""):
        return (program, "run")
    return (".venv/bin/python", "-m") if is_file(root / ".venv/bin/pytest") else ()


def _npm_test(root: Path) -> Found | None:
    try:
        script = json.loads(_text(root / "package.json"))["scripts"]["test"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(script, str) or not script.strip() or "no test specified" in script:
        return None
    locks = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun"}
    program = next((program for lock, program in locks.items() if is_file(root / lock)), "npm")
    return Found((program, "run", "test") if program == "bun" else (program, "test"), "package.json")


def _text(file: Path) -> str:
    """The text of a small regular file that is no link, else nothing."""
    return (beginning(file, _MAX_TEXT, links=False) or b"").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class CheckStore:
    """The file that keeps the answers, `checks.toml`. A damaged file or entry reads as "not answered"."""

    file: Path

    @property
    def _answers(self) -> AnswerFile:
        return AnswerFile(self.file, "checks")

    def problem(self) -> str | None:
        """Why the file cannot be used, if it cannot."""
        return self._answers.problem()

    def look(self, root: Path) -> Answered | None:
        """What the person answered for this folder."""
        entry = self._answers.get(root) or {}
        words, source = entry.get("argv"), entry.get("source")
        if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
            return None
        if source not in {"person", "project", "found"} or entry.get("sha256") != _digest(tuple(words)):
            return None  # not the text that was accepted
        return Answered(tuple(words), entry.get("accepted") is True, source)

    def answer(self, root: Path, argv: tuple[str, ...], *, accepted: bool, source: Source = "found") -> None:
        """Keep an answer.

        Raises:
            AgentError: it could not be saved; the file is as it was.
        """
        self._answers.put(
            root,
            {
                "argv": list(argv),
                "sha256": _digest(argv),
                "accepted": accepted,
                "source": source,
                "at": int(time.time()),
            },
        )


def _digest(argv: tuple[str, ...]) -> str:
    return hashlib.sha256(shlex.join(argv).encode("utf-8", "surrogateescape")).hexdigest()
