"""The paths of a folder, to be found by typing some of their letters; made for 100,000 of them.

The paths come in blocks from a thread that walks the folder, so the first are there at once. A search looks at one
block after another and gives the event loop its turn in between; in a block two regular expressions do the work.
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator
from heapq import nlargest
from itertools import accumulate, islice

from tui_agent.ui.editing import clean
from tui_agent.ui.fuzzy import match

BLOCK = 2_000
"""Paths of one block: a search holds the event loop for a block at a time, some 2 ms."""
LIMIT = 50
"""How many paths a search gives."""
ENOUGH = 20
"""How many paths of one block are looked at closely."""
_END = "\0"
_NEAR = 0.5
"""How much better a path is for having been used in this session."""


class _Block:
    """Some paths, and their texts in lower case one behind the other."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.top = [path for path in paths if "/" not in path.rstrip("/")]
        lower = [path.lower() if len(path.lower()) == len(path) else path for path in paths]
        self._whole = _Text(lower)
        self._names = _Text([path.rstrip("/").rpartition("/")[2] for path in lower])

    def find(self, query: str) -> Iterator[str]:
        """Paths that hold the letters of `query`, those first that hold them in their last part."""
        seen = set()
        texts = (self._whole,) if "/" in query else (self._names, self._whole)
        for text in texts:
            for at in islice(text.find(query), ENOUGH):
                if at not in seen:
                    seen.add(at)
                    yield self.paths[at]


class _Text:
    def __init__(self, items: list[str]) -> None:
        self._text = _END + _END.join(items) + _END
        self._starts = list(accumulate((len(item) + 1 for item in items), initial=1))

    def find(self, query: str) -> Iterator[int]:
        """The numbers of the items that begin with `query`, that hold it, that hold its letters in their order; each once."""
        # each from the beginning of an item, with one way to match: the time is linear
        scattered = "".join(f"[^{letter}{_END}]*{letter}" for letter in map(re.escape, query))
        given: set[int] = set()
        for pattern in (_END + re.escape(query), re.escape(query), _END + scattered):
            for found in re.finditer(pattern, self._text):
                at = bisect_right(self._starts, found.end() - 1) - 1
                if at not in given:
                    given.add(at)
                    yield at


class PathIndex:
    """Paths with `/` between their parts, a folder's ending in one. Names that cannot be typed are left out."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []

    def read(self, files: Iterable[str]) -> None:
        """Take the paths of files as they come, with the folders around them. Runs in a thread."""
        paths = _with_folders(files)
        while block := list(islice(paths, BLOCK)):
            self._blocks.append(_Block(block))

    async def search(self, query: str, near: Collection[str] = ()) -> AsyncGenerator[list[str]]:
        """Yield the paths that fit `query` best: first of what was looked at so far, at the end of all.

        `near` are paths that were used in this session, the newest last; without a query they come first.
        """
        query = query.lower()
        rank = {path: _NEAR + number / 1000 for number, path in enumerate(near)}
        best: list[tuple[float, str]] = [(bonus, path) for path, bonus in rank.items() if not query]
        for number, block in enumerate(list(self._blocks)):
            found = block.find(query) if query else (path for path in block.top if path not in rank)
            scored = (
                (score + rank.get(path, 0.0), path) for path in found if (score := fitness(query, path)) is not None
            )
            best = nlargest(LIMIT, [*best, *scored], key=lambda pair: pair[0])
            if number == 0:
                yield [path for _, path in best]
            await asyncio.sleep(0)
        yield [path for _, path in best]


def fitness(query: str, path: str) -> float | None:
    """How well a path fits `query`, in lower case, None when it does not: in its last part better than elsewhere, near the root better than deep down."""
    if not query:
        return 0.0
    depth = path.rstrip("/").count("/") / 100
    name = path.rstrip("/").rpartition("/")[2]
    scores = [score[0] + bonus for text, bonus in ((name, 1.0), (path, 0.0)) if (score := match(query, text))]
    return max(scores) - depth - len(path) / 10_000 if scores else None


def _with_folders(files: Iterable[str]) -> Iterator[str]:
    """Each folder before the first file in it."""
    known = {""}
    for path in files:
        if clean(path) != path or "\n" in path or "\t" in path:
            continue
        for at, letter in enumerate(path):
            if letter == "/" and path[: at + 1] not in known:
                known.add(path[: at + 1])
                yield path[: at + 1]
        yield path
