"""A folder as a model sees it: one entry per line, folders with a slash, files with their size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tui_agent.tools.files import MAX_RESULT

MAX_ENTRIES = 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder; `size` in bytes, for files."""

    name: str
    kind: Literal["file", "folder", "link", "other"]
    size: int = 0


def render(entries: Sequence[Entry]) -> str:
    """The entries sorted by name, at most 1,000 and 16,000 characters."""
    rows, room = [], MAX_RESULT - 200
    for entry in sorted(entries, key=lambda e: e.name)[:MAX_ENTRIES]:
        row = _row(entry)
        room -= len(row) + 1
        if room < 0:
            break
        rows.append(row)
    if left := len(entries) - len(rows):
        rows.append(f"[{left} more entries not shown. List a folder below, or use search.]")
    return "\n".join(rows) or "[empty folder]"


def _row(entry: Entry) -> str:
    match entry.kind:
        case "folder":
            return f"[D] {entry.name}/"
        case "file":
            return f"[F] {entry.name} ({entry.size:,} bytes)"
        case "link":
            return f"[L] {entry.name} (symbolic link)"
        case "other":
            return f"[?] {entry.name} (not a regular file)"


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: 1 line, 7 lines."""
    return f"{number} {one if number == 1 else many or one + 's'}"
