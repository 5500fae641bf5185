"""Commands with their consequences: run a program, then say which files it changed.

Before the program starts, the bytes of every file that the session has read are copied as they are then, whoever wrote
them since, so that what the program does to those can be undone; for files that were clean in git the object's name is
kept instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import SupportsFloat, TypeVar

from tui_agent.core.receipt import FileChange
from tui_agent.core.types import Emit, RunArgv, RunScript
from tui_agent.tools import names
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.commands import CommandResult, words
from tui_agent.workspace import index
from tui_agent.workspace.blocking import to_the_end
from tui_agent.workspace.committed import PREFIX, Tracked, tracked
from tui_agent.workspace.files import Disk, Identity, identity, sha256
from tui_agent.workspace.memory import Memory
from tui_agent.workspace.receipts import UNKNOWN
from tui_agent.workspace.running import Commands, Interrupted

T = TypeVar("T")
COARSE = 20_000_000
"""Nanoseconds by which the times of a file may be behind the clock."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a command changed: files, and folders that it made. `unwatched`: not all of them were looked at."""

    changed: tuple[FileChange, ...]
    folders: tuple[str, ...] = ()
    unwatched: bool = False


async def execute(
    disk: Disk,
    memory: Memory,
    run: Commands,
    effect: RunArgv | RunScript,
    emit: Emit,
    *,
    timeout: SupportsFloat,
    network: bool = False,
    begin: Callable[[tuple[FileChange, ...]], None],
) -> tuple[CommandResult | None, Seen]:
    """Run a command in the workspace and compare the files before and after.

    `timeout` in seconds, see `runner.run`. `begin` is called before it starts, with the files whose bytes are held
    and that were not told before.
    A cancellation ends the command and is not passed on: what it had said, if the runner knows, and changed by then. So call this in
    a task of its own.
    """
    root = Path(disk.anchor.root)

    async def work() -> CommandResult:
        try:
            return await run(words(effect), cwd=root, timeout=timeout, emit=emit, network=network)
        except Interrupted as stop:
            return stop.result

    return await watched(disk, memory, work, begin)


async def watched(
    disk: Disk, memory: Memory, work: Callable[[], Awaitable[T]], begin: Callable[[tuple[FileChange, ...]], None]
) -> tuple[T | None, Seen]:
    """Do any work that may change files of the workspace, and compare them before and after; see `execute`."""
    since = time.time_ns() - COARSE
    before, clean, held = await asyncio.to_thread(_prepare, disk, memory)
    begin(held)
    result: T | None = None
    with contextlib.suppress(asyncio.CancelledError):  # whoever works passes it on when everything is gone
        result = await work()
    return result, await to_the_end(lambda: _changes(disk, memory, before, clean, since))


def _prepare(disk: Disk, memory: Memory) -> tuple[index.Index, Mapping[str, Tracked], tuple[FileChange, ...]]:
    """Copy what the session knows, index the rest, and see what git knows; the files that are held and not told yet."""
    before = index.take(disk.anchor.root, also=memory.known)
    held = []
    for path, known in tuple(memory.known.items()):
        stands = before.files.get(path)
        if known.sight.secret or stands is None:
            continue
        name = memory.holds(path, stands)
        if name is None or name not in memory.blobs:
            data = content(disk, path, stands)
            if data is None or memory.blobs.put(data) is not None:
                continue
            name = sha256(data)
            if name == known.sight.sha256:  # touched, or its permissions
                memory.known[path] = replace(known, identity=stands)
            else:  # the person wrote it since, or a command
                memory.left[path] = stands, name
        if memory.told.get(path) != name:
            memory.told[path] = name
            held.append(FileChange(path, name, name, before.modes.get(path)))
    return before, tracked(disk.anchor.root), tuple(held)


def _changes(disk: Disk, memory: Memory, before: index.Index, clean: Mapping[str, Tracked], since: int) -> Seen:
    """What differs from the index `before`, which was taken after `since` (ns since the epoch)."""
    after = index.take(disk.anchor.root, like=before)
    held = {stood[:3] for path, stood in before.files.items() if memory.holds(path, stood)}
    changes = []
    for path in index.changed(before, after):
        (stood, mode, linked), (stands, new_mode, links) = before.at(path), after.at(path)
        known, touched = memory.known.get(path), _touched(stood, stands, chmod=mode != new_mode)
        if names.cache(tuple(path.split("/"))) or (known and touched and known.identity == stands):
            continue  # the second: while it ran in the background, the session itself wrote or read this
        data = content(disk, path) if stands else None
        now = links or (sha256(data) if data is not None else UNKNOWN if stands else None)
        was: str | None = linked
        if stood:
            entry = clean.get(path)
            if name := memory.holds(path, stood):
                was = name
            elif not touched:
                was = now
            elif entry and entry.is_clean(stood):
                was = now if data is not None and entry.holds(data) else PREFIX + entry.name
            else:
                was = UNKNOWN
        if stands and data is not None:
            memory.left[path] = stands, sha256(data)
        if stood and not touched and not links and data is None:
            now = was  # only its permissions are others, and they keep us from reading it
        # a new name for an old file: it may have been there before, where nobody looked
        unsure = stood is None and stands is not None and stands[:3] not in held and min(stands[1], stands[3]) < since
        change = FileChange(path, was, now, mode, new_mode, unsure)
        if now != was or now == UNKNOWN or change.modes:
            changes.append(change)
    return Seen(tuple(changes), index.made(before, after), not before.complete or not after.complete)


def _touched(stood: Identity | None, stands: Identity | None, *, chmod: bool) -> bool:
    """Whether the bytes of a file may be others: `chmod` explains another ctime, but nothing else."""
    if chmod and stood and stands:
        return stood[:3] != stands[:3]
    return stood != stands


def content(disk: Disk, path: str, stands: Identity | None = None) -> bytes | None:
    """The bytes of a file, None when it is gone, unreadable or too large to be kept, or does not stand like this."""
    try:
        found = disk.content(disk.anchor.resolve(path))
    except (OSError, ToolError):
        return None
    return found[0] if found and stands in {None, identity(found[1])} else None
