"""Which folders the person trusts, and with which files.

Trust is a real path and a hash per entry that may change what the product does (today the project's
own `config.toml`). A changed entry is off until it is accepted again; the others stay on. Before the
answer nothing of the folder is read as configuration and no program runs there.
"""

from __future__ import annotations

import hashlib
import os
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_agent.config import write_private
from tui_agent.core.types import AgentError
from tui_agent.paths import PROJECT_DIR

MAX_ENTRY = 1_000_000
"""Bytes of a project file that are looked at; a larger one is never trusted."""

ENTRIES: Mapping[str, str] = {"config": f"{PROJECT_DIR}/config.toml"}
"""The project files that can change what the product does: entry name -> path in the folder."""


@dataclass(frozen=True, slots=True)
class Trust:
    """How the person stands to one folder. `changed` names entries whose bytes differ from what was accepted."""

    root: Path
    trusted: bool = False
    entries: Mapping[str, Path] = field(default_factory=dict)
    changed: tuple[str, ...] = ()
    asked: bool = False
    """True when the person has answered for this folder before, either way."""


def found(root: Path) -> dict[str, str]:
    """The hashes of the entries that exist in a folder. Links and special files count as absent."""
    out: dict[str, str] = {}
    for name, relative in ENTRIES.items():
        data = _bytes(root / relative)
        if data is not None:
            out[name] = hashlib.sha256(data).hexdigest()
    return out


def _bytes(file: Path) -> bytes | None:
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as f:
        if not os.path.isfile(f.fileno()):  # noqa: PTH113 - on the open descriptor, so that nothing can be swapped
            return None
        data = f.read(MAX_ENTRY + 1)
    return data if len(data) <= MAX_ENTRY else None


def may_be_trusted(root: Path, home: Path) -> bool:
    """The home folder, its parents and `/` are too large a thing to trust."""
    real = Path(os.path.realpath(root))
    return real not in {Path(os.path.realpath(home)), *Path(os.path.realpath(home)).parents}


@dataclass(frozen=True, slots=True)
class TrustStore:
    """The file that keeps the answers. One that is damaged or unreadable reads as "nothing is trusted"."""

    file: Path

    def _load(self) -> tuple[dict[str, Any], str | None]:
        if self.file.is_symlink():
            return {}, f"{self.file} is a link; nothing is trusted"
        try:
            answers = tomllib.loads(self.file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}, None
        except (OSError, ValueError) as error:
            return {}, f"{self.file} cannot be used ({error}); nothing is trusted"
        if not isinstance(answers.get("folders", {}), dict):
            return {}, f"{self.file} cannot be used (folders is no table); nothing is trusted"
        return answers, None

    def problem(self) -> str | None:
        """Why the file cannot be used, if it cannot."""
        return self._load()[1]

    def look(self, root: Path) -> Trust:
        """How the person stands to this folder now."""
        real = Path(os.path.realpath(root))
        answers, _ = self._load()
        answer = answers.get("folders", {}).get(str(real))
        if not isinstance(answer, dict):
            return Trust(real)
        accepted = answer.get("entries", {})
        today = found(real)
        same = {name: real / ENTRIES[name] for name, digest in today.items() if accepted.get(name) == digest}
        changed = tuple(sorted(name for name, digest in today.items() if accepted.get(name) != digest))
        trusted = bool(answer.get("trusted"))
        return Trust(real, trusted, same if trusted else {}, changed if trusted else (), asked=True)

    def answer(self, root: Path, *, trusted: bool) -> Trust:
        """Remember an answer, accepting the entries as they are now.

        Raises:
            AgentError: the answer could not be saved; the file is as it was.
        """
        import tomli_w  # noqa: PLC0415 - only an answer writes

        real = Path(os.path.realpath(root))
        answers, problem = self._load()
        if problem:
            raise AgentError(problem)
        folders = dict(answers.get("folders", {}))
        folders[str(real)] = {"trusted": trusted, "at": int(time.time()), "entries": found(real) if trusted else {}}
        try:
            write_private(self.file, tomli_w.dumps({**answers, "folders": folders}))
        except OSError as error:
            raise AgentError(f"the answer could not be saved in {self.file}: {error.strerror}") from error
        return self.look(root)
