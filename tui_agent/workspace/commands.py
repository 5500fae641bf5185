"""Commands with their consequences: run a program, then say which files it changed.

Before the program starts, the bytes of every file that the session has read are copied, so that what the
program does to those can be undone; for files that were clean in git the object's name is kept instead.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path

from tui_agent.core.types import Emit, FileChange, RunArgv, RunScript
from tui_agent.tools import names
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.commands import CommandResult
from tui_agent.workspace import index
from tui_agent.workspace.committed import PREFIX, Tracked, tracked
from tui_agent.workspace.files import Disk, sha256
from tui_agent.workspace.memory import Memory
from tui_agent.workspace.receipts import UNKNOWN
from tui_agent.workspace.running import Commands


async def execute(
    disk: Disk, memory: Memory, run: Commands, effect: RunArgv | RunScript, emit: Emit, *, network: bool = False
) -> tuple[CommandResult | None, tuple[FileChange, ...]]:
    """Run a command in the workspace and compare the files before and after.

    A cancellation ends the command and is not passed on: no result, but what it had changed by then. So call this in
    a task of its own.
    """
    argv = effect.argv if isinstance(effect, RunArgv) else ("/bin/sh", "-c", effect.script)
    before, clean = await asyncio.to_thread(_prepare, disk, memory)
    result: CommandResult | None = None
    with contextlib.suppress(asyncio.CancelledError):  # the runner passes it on when everything is gone
        result = await run(argv, cwd=Path(disk.anchor.root), timeout=effect.timeout, emit=emit, network=network)
    return result, await asyncio.to_thread(_changes, disk, memory, before, clean)


def _prepare(disk: Disk, memory: Memory) -> tuple[index.Index, Mapping[str, Tracked]]:
    """Copy what the session knows, index the rest, and see what git knows."""
    before = index.take(disk.anchor.root)
    for path, known in memory.known.items():
        if known.secret or known.sha256 in memory.blobs or before.files.get(path) != known.identity:
            continue
        data = _content(disk, path)
        if data is not None and sha256(data) == known.sha256:
            memory.blobs.put(data)
    return before, tracked(disk.anchor.root)


def _changes(disk: Disk, memory: Memory, before: index.Index, clean: Mapping[str, Tracked]) -> tuple[FileChange, ...]:
    after = index.take(disk.anchor.root)
    changes = []
    for path in index.changed(before, after):
        if names.cache(tuple(path.split("/"))):
            continue
        was: str | None = None
        if path in before.files:
            known, entry = memory.known.get(path), clean.get(path)
            if known and known.identity == before.files[path]:
                was = known.sha256
            else:
                was = PREFIX + entry.name if entry and entry.is_clean(before.files[path]) else UNKNOWN
        data = _content(disk, path) if path in after.files else None
        now = sha256(data) if data is not None else UNKNOWN if path in after.files else None
        if now != was or now == UNKNOWN:
            changes.append(FileChange(path, was, now))
    return tuple(changes)


def _content(disk: Disk, path: str) -> bytes | None:
    """The bytes of a file, None when it is gone, unreadable or too large to be kept."""
    try:
        found = disk.content(disk.anchor.resolve(path))
    except (OSError, ToolError):
        return None
    return found[0] if found else None
