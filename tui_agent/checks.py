"""The person's check for a folder: found in its files, asked for once, and kept in their data folder.

Looking for one only reads names and texts; nothing is run. Whoever calls has the folder trusted first.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_agent.config import write_private
from tui_agent.core.types import AgentError

TIMEOUT = 600.0
"""Seconds that a check may take."""
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


def detect(root: Path) -> Found | None:
    """The most telling check of a folder, None when its files name none."""
    for name in ("GNUmakefile", "makefile", "Makefile"):
        if _TARGET.search(_text(root / name)):
            return Found(("make", "check"), name)
    if test := _npm_test(root):
        return test
    for name in ("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini"):
        if _PYTEST.search(_text(root / name)):
            return Found(("pytest",), name)
    if _text(root / "Cargo.toml"):
        return Found(("cargo", "test"), "Cargo.toml")
    if _text(root / "go.mod"):
        return Found(("go", "test", "./..."), "go.mod")
    return None


def _npm_test(root: Path) -> Found | None:
    try:
        script = json.loads(_text(root / "package.json"))["scripts"]["test"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(script, str) or not script.strip() or "no test specified" in script:
        return None
    locks = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun"}
    program = next((program for lock, program in locks.items() if (root / lock).is_file()), "npm")
    return Found((program, "run", "test") if program == "bun" else (program, "test"), "package.json")


def _text(file: Path) -> str:
    """The text of a small regular file that is no link, else nothing."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(fd, "rb") as opened:
        if not os.path.isfile(opened.fileno()):  # noqa: PTH113 - on the open descriptor, so that nothing can be swapped
            return ""
        return opened.read(_MAX_TEXT).decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class CheckStore:
    """The file that keeps the answers, by real path. A damaged file or entry reads as "not answered"."""

    file: Path

    def look(self, root: Path) -> Answered | None:
        """What the person answered for this folder."""
        entry = self._load().get(os.path.realpath(root))
        if not isinstance(entry, dict) or not isinstance(words := entry.get("argv"), list) or not words:
            return None
        if not all(isinstance(word, str) for word in words) or entry.get("sha256") != _digest(tuple(words)):
            return None  # not the text that was accepted
        return Answered(tuple(words), entry.get("accepted") is True)

    def answer(self, root: Path, argv: tuple[str, ...], *, accepted: bool) -> None:
        """Keep an answer.

        Raises:
            AgentError: it could not be saved; the file is as it was.
        """
        import tomli_w  # noqa: PLC0415 - only an answer writes

        entry = {"argv": list(argv), "sha256": _digest(argv), "accepted": accepted, "at": int(time.time())}
        try:
            write_private(self.file, tomli_w.dumps({**self._load(), os.path.realpath(root): entry}))
        except OSError as error:
            raise AgentError(f"the check could not be saved in {self.file}: {error.strerror}") from error

    def _load(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}


def _digest(argv: tuple[str, ...]) -> str:
    return hashlib.sha256(shlex.join(argv).encode("utf-8", "surrogateescape")).hexdigest()
