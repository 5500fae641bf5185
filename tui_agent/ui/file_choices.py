"""The files of a folder as completions: an index that is read in a thread, and what ignore files hide on request."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path

from tui_agent.core.display import plain
from tui_agent.tools.names import cache
from tui_agent.tools.walk import files
from tui_agent.ui.completion import Choice, Place
from tui_agent.ui.editing import clean
from tui_agent.ui.fuzzy import match
from tui_agent.ui.path_index import LIMIT, PathIndex

FRESH_SECONDS = 5.0
"""How old what is known of the folder may be before it is read again, behind what is shown."""
MAX_PATHS = 400_000
_LOOK_AGAIN = 0.15
"""Seconds until a search shows what the first reading of the folder has found since."""


class FileChoices:
    """What may follow an `@` in a message about `root`; `near` gives the paths used so far, with a word for each."""

    def __init__(self, root: Path, near: Callable[[], dict[str, str]]) -> None:
        self._root, self._near = root, near
        self._index = PathIndex()
        self._reading: asyncio.Task[None] | None = None
        self._read_at: float | None = None
        self._closed = False

    def close(self) -> None:
        """Let a reading that goes on end soon."""
        self._closed = True

    async def find(self, at: Place) -> AsyncGenerator[list[Choice]]:
        """Yield what fits best so far, until the whole folder was looked at."""
        if at.every:
            yield [Choice(path, "") for path in await asyncio.to_thread(_listed, self._root, at.word)]
            return
        near = self._near()
        first = self._refresh()
        while True:
            reading = self._reading if first else None
            async with aclosing(self._index.search(at.word, near)) as results:
                async for paths in results:
                    if paths or reading is None or reading.done():
                        yield [self._choice(path, at.word, near) for path in paths]
            if reading is None or reading.done():
                return
            await asyncio.wait({reading}, timeout=_LOOK_AGAIN)

    def _choice(self, path: str, word: str, near: dict[str, str]) -> Choice:
        shown = match(word.lower(), path) if word and plain(path, "path") == path else None
        return Choice(path, near.get(path, ""), shown[1] if shown else ())

    def _refresh(self) -> bool:
        """Read the folder again when that is due; True while the first reading goes on."""
        due = self._read_at is None or time.monotonic() - self._read_at > FRESH_SECONDS
        if due and (self._reading is None or self._reading.done()):
            self._reading = asyncio.create_task(self._read(first=self._read_at is None), name="paths")
        return self._read_at is None

    async def _read(self, *, first: bool) -> None:
        index = self._index if first else PathIndex()
        await asyncio.to_thread(index.read, self._paths())
        self._index, self._read_at = index, time.monotonic()

    def _paths(self) -> Iterator[str]:
        with contextlib.suppress(OSError):  # the folder is gone: there is nothing to offer
            for number, (path, _) in enumerate(files(os.fspath(self._root))):
                if self._closed or number >= MAX_PATHS:
                    return
                if not cache(tuple(path.split("/"))):
                    yield path


def _listed(root: Path, word: str) -> list[str]:
    """What lies in the folder that `word` names, ignored or not, and begins as its last part does."""
    folder, _, name = word.rpartition("/")
    if ".." in folder.split("/"):
        return []
    try:
        with os.scandir(root / folder) as scan:
            found = [entry.name + "/" * entry.is_dir() for entry in scan if entry.name.lower().startswith(name.lower())]
    except OSError:
        return []
    inside = f"{folder}/" if folder else ""
    return [inside + entry for entry in sorted(found) if clean(entry) == entry and entry != ".git/"][:LIMIT]
