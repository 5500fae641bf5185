"""Two sides of a hunk next to each other: which removed line stands beside which added one. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, zip_longest

from tui_agent.core.diff import Hunk
from tui_agent.ui.wrap_lines import plain_widths


@dataclass(frozen=True, slots=True)
class _Run:
    """Pairs from `at` on: `lefts` rows of the hunk from `left` beside `rights` rows from `right`."""

    at: int
    left: range
    right: range
    changed: bool

    @property
    def count(self) -> int:
        return max(len(self.left), len(self.right))


@dataclass(frozen=True, slots=True)
class Pairs:
    """The rows of a hunk in pairs: a context row beside itself, the removed rows of a change beside its added rows."""

    hunk: Hunk
    _runs: tuple[_Run, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_runs", tuple(self._make()))

    def _make(self) -> Iterator[_Run]:
        at = row = 0
        old = self.hunk.old.start
        for change in self.hunk.changes:
            if same := change.old.start - old:
                yield _Run(at, range(row, row + same), range(row, row + same), changed=False)
                at, row = at + same, row + same
            middle, stop = row + len(change.old), row + len(change.old) + len(change.new)
            yield _Run(at, range(row, middle), range(middle, stop), changed=True)
            at += max(len(change.old), len(change.new))
            row, old = stop, change.old.stop
        if row < len(self.hunk):
            yield _Run(at, range(row, len(self.hunk)), range(row, len(self.hunk)), changed=False)

    def __len__(self) -> int:
        return self._runs[-1].at + self._runs[-1].count if self._runs else 0

    def __getitem__(self, index: int) -> tuple[int | None, int | None]:
        """The rows (indexes in the hunk) on the left and on the right; None where a side is empty."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        run = self._runs[bisect_right(self._runs, index, key=lambda r: r.at) - 1]
        step = index - run.at
        return (
            run.left[step] if step < len(run.left) else None,
            run.right[step] if step < len(run.right) else None,
        )

    def _parts(self, start: int, stop: int) -> Iterator[tuple[_Run, range, range]]:
        """The runs that pairs `start` to `stop` touch, with the rows of each side."""
        first = max(0, bisect_right(self._runs, start, key=lambda r: r.at) - 1)
        for run in islice(self._runs, first, None):
            low, high = max(start, run.at) - run.at, min(stop, run.at + run.count) - run.at
            if low >= high:
                return
            yield run, run.left[low:high], run.right[low:high]

    def changed(self, start: int, stop: int) -> int:
        """How many added and removed lines pairs `start` to `stop` show."""
        return sum(len(left) + len(right) for run, left, right in self._parts(start, stop) if run.changed)

    def widths(self, start: int, stop: int) -> list[int] | None:
        """Cells of the wider side of each pair, None where a line needs the sanitiser."""
        parts = list(self._parts(start, stop))
        lefts = self._cells([left for _, left, _ in parts])
        rights = self._cells([right for _, _, right in parts])
        if lefts is None or rights is None:
            return None
        return [
            max(pair)
            for left, right in zip(lefts, rights, strict=True)
            for pair in zip_longest(left, right, fillvalue=0)
        ]

    def _cells(self, sides: list[range]) -> list[list[int]] | None:
        """Cells of the rows in each range; all are read at once, for a hunk may have thousands of runs."""
        rows = [side for side in sides if side]
        low, high = (rows[0].start, rows[-1].stop) if rows else (0, 0)
        lines = self.hunk.lines(low, high)
        widths = None if any(not line.endswith(b"\n") for line in lines[-1:]) else plain_widths(lines)
        return None if widths is None else [widths[s.start - low : s.stop - low] if s else [] for s in sides]
