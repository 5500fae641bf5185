"""Commands with their consequences: run a program, then say which files it changed.

The runner is injected; without one the product's own is used. Before the program starts, the bytes of every
file that the session has read are copied, so that what the program does to those can be undone.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

from tui_agent.core.types import Emit, FileChange, RunArgv, RunScript
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.commands import CommandResult
from tui_agent.workspace import index
from tui_agent.workspace.files import Disk, sha256
from tui_agent.workspace.memory import Memory
from tui_agent.workspace.receipts import UNKNOWN


class Run(Protocol):
    """The runner: it never raises for anything the program does; `timeout` in seconds."""

    async def __call__(self, argv: tuple[str, ...], *, cwd: Path, timeout: float, emit: Emit | None) -> CommandResult:
        """Run a program to its end or its limit."""


async def default_run(argv: tuple[str, ...], *, cwd: Path, timeout: float, emit: Emit | None) -> CommandResult:
    """The product's own runner, imported when the first command runs."""
    from tui_agent.workspace.runner import run  # noqa: PLC0415 - reading and editing do not pay for it

    return await run(argv, cwd=cwd, timeout=timeout, emit=emit)


async def execute(
    disk: Disk, memory: Memory, run: Run, effect: RunArgv | RunScript, emit: Emit
) -> tuple[CommandResult, tuple[FileChange, ...]]:
    """Run a command in the workspace and compare the files before and after."""
    argv = effect.argv if isinstance(effect, RunArgv) else ("/bin/sh", "-c", effect.script)
    before = await asyncio.to_thread(_prepare, disk, memory)
    result = await run(argv, cwd=Path(disk.anchor.root), timeout=effect.timeout, emit=emit)
    return result, await asyncio.to_thread(_changes, disk, memory, before)


def _prepare(disk: Disk, memory: Memory) -> index.Index:
    """Copy what the session knows and index the rest."""
    before = index.take(disk.anchor.root)
    for path, known in memory.known.items():
        if known.secret or known.sha256 in memory.blobs or before.files.get(path) != known.identity:
            continue
        data = _content(disk, path)
        if data is not None and sha256(data) == known.sha256:
            memory.blobs.put(data)
    return before


def _changes(disk: Disk, memory: Memory, before: index.Index) -> tuple[FileChange, ...]:
    after = index.take(disk.anchor.root)
    changes = []
    for path in index.changed(before, after):
        was: str | None = None
        if path in before.files:
            known = memory.known.get(path)
            was = known.sha256 if known and known.identity == before.files[path] else UNKNOWN
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
