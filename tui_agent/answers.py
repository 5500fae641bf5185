"""A file of the person's answers: one TOML table, with an entry for each folder by its real path.

What cannot be used reads as "nothing was answered", and is never written over.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_agent.config import write_private
from tui_agent.core.disk import is_link, ordinary
from tui_agent.core.types import AgentError


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """The entries of `table` in `file`."""

    file: Path
    table: str

    def problem(self) -> str | None:
        """Why the file cannot be used, if it cannot."""
        return self._load()[1]

    def get(self, root: Path) -> dict[str, Any] | None:
        """What was kept for this folder."""
        entry = self._load()[0].get(self.table, {}).get(os.path.realpath(root))
        return entry if isinstance(entry, dict) else None

    def put(self, root: Path, entry: Mapping[str, Any]) -> None:
        """Keep an entry.

        Raises:
            AgentError: it could not be saved; the file is as it was.
        """
        import tomli_w  # noqa: PLC0415 - only an answer writes

        kept, problem = self._load()
        if problem:
            raise AgentError(f"the answer could not be saved: {problem}")
        entries = {**kept.get(self.table, {}), os.path.realpath(root): dict(entry)}
        try:
            write_private(self.file, tomli_w.dumps({**kept, self.table: entries}))
        except OSError as error:
            raise AgentError(f"the answer could not be saved in {self.file}: {error.strerror}") from error

    def _load(self) -> tuple[dict[str, Any], str | None]:
        if is_link(self.file):
            return {}, f"{self.file} is a link; nothing is trusted"
        try:
            kept = tomllib.loads(ordinary(self.file).decode())
        except FileNotFoundError:
            return {}, None
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            return {}, f"{self.file} cannot be used ({why}); nothing is trusted"
        if not isinstance(kept.get(self.table, {}), dict):
            return {}, f"{self.file} cannot be used ({self.table} is no table); nothing is trusted"
        return kept, None
