"""What became of an effect whose process died, as far as the disk can tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from tui_agent.core import events as ev
from tui_agent.core.receipt import FileChange
from tui_agent.core.unfinished import Found
from tui_agent.tools import names
from tui_agent.tools.arguments import ToolError
from tui_agent.workspace import index
from tui_agent.workspace.commands import COARSE, content
from tui_agent.workspace.files import Disk, permissions, sha256
from tui_agent.workspace.receipts import UNKNOWN

MOST = 1_000
"""Files that are named of a command: the session waits while each is read. Those that it had read come first."""


def aftermath(disk: Disk, begun: ev.Begun, known: Mapping[str, str | None]) -> Found:
    """A change of a file happened if the file holds the new bytes, and did not if it holds the old ones.

    Of a command every file counts that has changed since it began; `known` are the hashes that the session last knew.
    """
    receipt = replace(begun.receipt, interrupted=True)
    if receipt.path is None:
        changed = tuple(islice(_changed(disk, begun.at - COARSE / 1e9, known), MOST))
        return Found(replace(receipt, changed=changed, unwatched=True))
    try:
        found = disk.content(disk.anchor.resolve(receipt.path))
        now = sha256(found[0]) if found else None
    except (OSError, ToolError):
        return Found(receipt)
    if now == receipt.after and (now != receipt.before or (found and permissions(found[1]) == receipt.new_mode)):
        return Found(receipt, sure=True)
    if now != receipt.before:
        return Found(receipt)
    disk.remove_empty(receipt.folders)
    return Found()


def _changed(disk: Disk, since: float, known: Mapping[str, str | None]) -> Iterator[FileChange]:
    """The files that changed since a time (seconds since the epoch), and the known ones that went: by whom, nobody saw."""
    root = Path(disk.anchor.root)
    for path, name in known.items():
        if name is not None and not (root / path).exists() and _went(root / path, since):
            yield FileChange(path, name, None, unsure=True)
    found = index.take(str(root), also=known)
    for path in sorted(found.files, key=lambda path: path not in known):
        if found.files[path][3] < since * 1e9 or names.cache(tuple(path.split("/"))):
            continue
        data, was = content(disk, path), known.get(path, UNKNOWN)
        now = UNKNOWN if data is None else sha256(data)
        if now != was:
            yield FileChange(path, was, now, unsure=True)


def _went(path: Path, since: float) -> bool:
    """Whether a name can have gone since that time: its folder has changed, or is gone, too."""
    try:
        return path.parent.stat().st_mtime >= since
    except OSError:
        return True
