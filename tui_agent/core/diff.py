"""Bytes to hunks to rows, and chosen hunks back to bytes.

A diff is computed on lines of bytes that keep their endings, so that applying hunks is
exact: no decoding, no newline translation. `compare` works in small units and hands out
each hunk as soon as it is known; `diff` runs it to the end. The search is linear first
(common head and tail, then lines that occur once on both sides); difflib only sees what
is left between such anchors, in gaps of at most `GAP_LINES` lines and within a budget,
because it is quadratic on bad input.
"""

from __future__ import annotations

import io
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Generator, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Literal, TypeAlias

GAP_LINES = 2_000
"""The longest gap, in lines of either side, that difflib may look at."""
_UNIT_LINES = 4_000
"""Lines handled between two yields: about 2 ms."""
_UNIT_BYTES = 1 << 18
_CALL_COST = 100_000
"""Line comparisons that one difflib call may need: about 6 ms."""
_GAP_COST = 1_000_000
"""Line comparisons spent on one gap; what is left then is shown as replaced."""
_DEPTH = 8
"""How often the search for unique lines is repeated inside its own gaps."""
_BOM = b"\xef\xbb\xbf"

Kind: TypeAlias = Literal["context", "remove", "add"]
_Match: TypeAlias = tuple[int, int, int]
"""Lines that are equal: start in the base, start in the new text, count."""
_Matches: TypeAlias = Generator[_Match | None, None, None]
"""Matches in order; None means: a unit of work is done, nothing new yet."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a diff. Line numbers count from 1; `line` keeps its ending."""

    kind: Kind
    old: int | None
    new: int | None
    line: bytes

    @property
    def ending(self) -> str:
        r"""How the line ends: "\n", "\r\n", or "" for a last line without newline."""
        return "\r\n" if self.line.endswith(b"\r\n") else "\n" if self.line.endswith(b"\n") else ""

    @property
    def bom(self) -> bool:
        """Whether this is the first line of a file that starts with a byte order mark."""
        return 1 in {self.old, self.new} and self.line.startswith(_BOM)

    @property
    def text(self) -> str:
        """The line without ending and byte order mark; bytes that are no UTF-8 become lone surrogates."""
        stop = len(self.line) - len(self.ending)
        return self.line[3 if self.bom else 0 : stop].decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Change:
    """Lines `old` of the base are replaced by lines `new`; indexes from 0, one of the two may be empty."""

    old: range
    new: range


@dataclass(frozen=True, slots=True)
class _Span:
    """Rows of one kind: `at` is the first row's index in the hunk, `old` and `new` index the first line."""

    kind: Kind
    at: int
    count: int
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Hunk:
    """Changes that lie close together, with the context around them.

    `number` counts from 1, as on the screen and in `Decision.chosen`. `old` and `new` are the
    line indexes covered, context included. Rows are made on demand: a hunk of 200,000 lines
    costs no more than a small one.
    """

    number: int
    changes: tuple[Change, ...]
    old: range
    new: range
    _old_lines: list[bytes] = field(repr=False, compare=False)
    _new_lines: list[bytes] = field(repr=False, compare=False)
    _spans: tuple[_Span, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_spans", tuple(self._make_spans()))

    def _make_spans(self) -> Iterator[_Span]:
        at, old, new = 0, self.old.start, self.new.start
        for change in (*self.changes, Change(range(self.old.stop, self.old.stop), range(self.new.stop, self.new.stop))):
            parts: tuple[tuple[Kind, int], ...] = (
                ("context", change.old.start - old),
                ("remove", len(change.old)),
                ("add", len(change.new)),
            )
            for kind, count in parts:
                if count:
                    yield _Span(kind, at, count, old, new)
                    at += count
                    old += count if kind != "add" else 0
                    new += count if kind != "remove" else 0

    def __len__(self) -> int:
        """The number of rows."""
        return self._spans[-1].at + self._spans[-1].count if self._spans else 0

    @property
    def added(self) -> int:
        """Lines added by this hunk."""
        return sum(len(change.new) for change in self.changes)

    @property
    def removed(self) -> int:
        """Lines removed by this hunk."""
        return sum(len(change.old) for change in self.changes)

    @property
    def below(self) -> int:
        """Lines of the base after this hunk."""
        return len(self._old_lines) - self.old.stop

    def row(self, index: int) -> Row:
        """The row at `index`; O(log changes)."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        span = self._spans[bisect_right(self._spans, index, key=lambda s: s.at) - 1]
        step = index - span.at
        old, new = span.old + step, span.new + step
        if span.kind == "add":
            return Row("add", None, new + 1, self._new_lines[new])
        if span.kind == "remove":
            return Row("remove", old + 1, None, self._old_lines[old])
        return Row("context", old + 1, new + 1, self._old_lines[old])

    def counterpart(self, index: int) -> Row | None:
        """The line that a removed row probably became, or that an added row came from: the same place in its change."""
        row = self.row(index)
        number = row.old if row.kind == "remove" else row.new
        if row.kind == "context" or number is None:
            return None
        removed = row.kind == "remove"
        at = bisect_right(self.changes, number - 1, key=lambda c: (c.old if removed else c.new).start) - 1
        mine, other = self.changes[at].old, self.changes[at].new
        if not removed:
            mine, other = other, mine
        step = number - 1 - mine.start
        if step >= len(other):
            return None
        line = other.start + step
        if removed:
            return Row("add", None, line + 1, self._new_lines[line])
        return Row("remove", line + 1, None, self._old_lines[line])

    def rows(self) -> Iterator[Row]:
        """All rows, top to bottom."""
        return map(self.row, range(len(self)))

    def lines(self, start: int, stop: int) -> list[bytes]:
        """The bytes of rows `start` to `stop`: what a view measures without making rows."""
        found: list[bytes] = []
        for span in self._spans:
            low, high = max(start, span.at) - span.at, min(stop, span.at + span.count) - span.at
            if low < high:
                lines, first = (self._new_lines, span.new) if span.kind == "add" else (self._old_lines, span.old)
                found += lines[first + low : first + high]
        return found

    def changed(self, start: int, stop: int) -> int:
        """How many of rows `start` to `stop` are added or removed lines."""
        return sum(
            max(0, min(stop, span.at + span.count) - max(start, span.at))
            for span in self._spans
            if span.kind != "context"
        )


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The whole difference between two versions of a file; None means that there is no file.

    A binary file, a creation and a deletion have exactly one hunk: they are applied whole or not at all.
    """

    base: bytes | None
    new: bytes | None
    hunks: tuple[Hunk, ...]

    @property
    def binary(self) -> bool:
        """Whether either side is binary: then the hunk has no rows."""
        return is_binary(self.base, self.new)

    @property
    def added(self) -> int:
        """Lines added by all hunks."""
        return sum(hunk.added for hunk in self.hunks)

    @property
    def removed(self) -> int:
        """Lines removed by all hunks."""
        return sum(hunk.removed for hunk in self.hunks)


def is_binary(base: bytes | None, new: bytes | None) -> bool:
    """Whether either version holds a NUL byte, which no text has."""
    return b"\0" in (base or b"") or b"\0" in (new or b"")


def mixed_endings(base: bytes | None, new: bytes | None) -> bool:
    """Whether CRLF and LF both occur in the two versions taken together, so that the ending of a line says something."""
    both = (base or b"", new or b"")
    if not any(b"\r" in text for text in both):
        return False
    return sum(text.count(b"\r\n") for text in both) < sum(text.count(b"\n") for text in both)


def diff(base: bytes | None, new: bytes | None, context: int = 3) -> FileDiff:
    """The difference between two versions of a file, with `context` unchanged lines around each change."""
    return FileDiff(base, new, tuple(hunk for hunk in compare(base, new, context) if hunk is not None))


def compare(base: bytes | None, new: bytes | None, context: int = 3) -> Iterator[Hunk | None]:
    """Find the hunks one by one, top to bottom.

    Yields None after each unit of work (a few milliseconds) that found nothing new, so that the
    caller decides how long it works before it lets others run.
    """
    if base == new:
        return
    if is_binary(base, new):
        yield Hunk(1, (), range(0), range(0), [], [])
        return
    old_lines: list[bytes] = []
    new_lines: list[bytes] = []
    yield from _split(base or b"", old_lines)
    yield from _split(new or b"", new_lines)
    if base is None or new is None:
        whole = Change(range(len(old_lines)), range(len(new_lines)))
        changes = (whole,) if old_lines or new_lines else ()
        yield Hunk(1, changes, whole.old, whole.new, old_lines, new_lines)
        return
    yield from _hunks(_matches(old_lines, new_lines), old_lines, new_lines, context)


def apply_hunks(base: bytes | None, diff: FileDiff, chosen: Collection[int] | None = None) -> bytes | None:
    """The base with the chosen hunks applied, exact to the byte.

    `chosen` holds hunk numbers, None means all; None as a result means that there is no file.
    Raises ValueError when `base` is not what the diff was made from or a number is unknown.
    """
    if base != diff.base:
        raise ValueError("the diff was made from other bytes")
    numbers = {hunk.number for hunk in diff.hunks}
    if chosen is None or numbers == set(chosen):
        return diff.new
    if unknown := set(chosen) - numbers:
        raise ValueError(f"no such hunk: {min(unknown)}")
    if not chosen or base is None:
        return base
    result: list[bytes] = []
    done = 0
    for hunk in diff.hunks:
        for change in hunk.changes if hunk.number in chosen else ():
            result += hunk._old_lines[done : change.old.start]  # noqa: SLF001 - hunks and their lines are one thing here
            result += hunk._new_lines[change.new.start : change.new.stop]  # noqa: SLF001
            done = change.old.stop
    result += diff.hunks[0]._old_lines[done:]  # noqa: SLF001
    return b"".join(result)


def unified(diff: FileDiff, path: str) -> str:
    """The diff as text that `patch` reads, labelled a/PATH and b/PATH; "" when nothing changed.

    Bytes that are no UTF-8 become lone surrogates. Nothing is sanitised: that is done where it is printed.
    """
    if not diff.hunks:
        return ""
    if diff.binary:
        return f"Binary files a/{path} and b/{path} differ\n"
    signs = {"context": " ", "remove": "-", "add": "+"}
    parts = [f"--- a/{path}\n", f"+++ b/{path}\n"]
    for hunk in diff.hunks:
        if hunk.changes:
            parts.append(f"@@ -{_place(hunk.old)} +{_place(hunk.new)} @@\n")
        for row in hunk.rows():
            parts.append(signs[row.kind] + row.line.decode("utf-8", "surrogateescape"))
            if not row.ending:
                parts.append("\n\\ No newline at end of file\n")
    return "".join(parts)


def _place(lines: range) -> str:
    """A line range as `patch` writes it: an empty one names the line before it."""
    if len(lines) == 1:
        return str(lines.start + 1)
    return f"{lines.start + 1 if lines else lines.start},{len(lines)}"


def _split(text: bytes, lines: list[bytes]) -> Iterator[None]:
    """Append the lines of `text`, endings kept, in units. Only LF ends a line."""
    stream = io.BytesIO(text)
    while chunk := stream.readlines(_UNIT_BYTES):
        lines += chunk
        yield


def _hunks(matches: _Matches, old: list[bytes], new: list[bytes], context: int) -> Iterator[Hunk | None]:
    """Group what lies between the matches into hunks; changes with little unchanged text between them share one."""
    number, changes = 1, list[Change]()
    i = j = 0

    def close() -> Hunk:
        first, last = changes[0], changes[-1]
        before = min(context, first.old.start, first.new.start)
        after = min(context, len(old) - last.old.stop, len(new) - last.new.stop)
        return Hunk(
            number,
            tuple(changes),
            range(first.old.start - before, last.old.stop + after),
            range(first.new.start - before, last.new.stop + after),
            old,
            new,
        )

    for match in _chain(matches, (len(old), len(new), 0)):
        if match is None:
            yield None
            continue
        at, to, count = match
        if at > i or to > j:
            changes.append(Change(range(i, at), range(j, to)))
        i, j = at + count, to + count
        if changes and i - changes[-1].old.stop > 2 * context:
            yield close()
            number += 1
            changes.clear()
    if changes:
        yield close()


def _chain(matches: _Matches, end: _Match) -> Iterator[_Match | None]:
    yield from matches
    yield end


def _matches(a: list[bytes], b: list[bytes]) -> _Matches:
    """Equal runs of two texts in order: head, middle, tail."""
    head = yield from _run(a, range(len(a)), b, range(len(b)))
    ahi, bhi = len(a), len(b)
    while ahi > head and bhi > head and a[ahi - 1] == b[bhi - 1]:
        ahi, bhi = ahi - 1, bhi - 1
        if ahi % _UNIT_LINES == 0:
            yield None
    yield from _between(a, range(head, ahi), b, range(head, bhi), _DEPTH)
    if ahi < len(a):
        yield ahi, bhi, len(a) - ahi


def _run(a: list[bytes], old: range, b: list[bytes], new: range) -> Generator[_Match | None, None, int]:
    """Yield the equal run that starts both ranges, if there is one, and return its length."""
    limit = min(len(old), len(new))
    count, step = 0, 16
    while step and count < limit:
        step = min(step, limit - count)
        i, j = old.start + count, new.start + count
        if a[i : i + step] == b[j : j + step]:
            count += step
            step *= 2
            if step > _UNIT_LINES:
                step = _UNIT_LINES
                yield None
        else:
            step //= 2
    if count:
        yield old.start, new.start, count
    return count


def _between(a: list[bytes], old: range, b: list[bytes], new: range, depth: int) -> _Matches:
    """Equal runs inside a gap: by lines unique on both sides first, by difflib in what is small enough."""
    if not old or not new:
        return
    anchors: list[tuple[int, int]] = []
    if depth:
        yield from _anchors(a, old, b, new, anchors)
    if not anchors:
        if max(len(old), len(new)) <= GAP_LINES:
            yield from _small_gap(a, old, b, new)
        return
    i, j = old.start, new.start
    for at, to in anchors:
        if at < i:  # an earlier run has grown over this anchor
            continue
        back = 0
        while at - back > i and to - back > j and a[at - back - 1] == b[to - back - 1]:
            back += 1
        yield from _between(a, range(i, at - back), b, range(j, to - back), depth - 1)
        i, j = at - back, to - back
        count = yield from _run(a, range(i, old.stop), b, range(j, new.stop))
        i, j = i + count, j + count
    yield from _between(a, range(i, old.stop), b, range(j, new.stop), depth - 1)


def _anchors(
    a: list[bytes], old: range, b: list[bytes], new: range, found: list[tuple[int, int]]
) -> Generator[None, None, None]:
    """Append to `found` the longest ordered chain of lines that occur exactly once in each range (patience)."""
    places: list[dict[bytes, int]] = []
    for lines, where in ((a, old), (b, new)):
        once: dict[bytes, int] = {}
        for start in range(where.start, where.stop, _UNIT_LINES):
            for k in range(start, min(start + _UNIT_LINES, where.stop)):
                once[lines[k]] = k if lines[k] not in once else -1
            yield
        places.append(once)
    in_old, in_new = places
    olds: list[int] = []  # two flat lists: 200,000 pairs would keep the garbage collector busy
    news: list[int] = []
    for count, (line, i) in enumerate(in_old.items()):
        if i >= 0 and (j := in_new.get(line, -1)) >= 0:
            olds.append(i)
            news.append(j)
        if count % _UNIT_LINES == 0:
            yield
    ends: list[int] = []  # the smallest last position in `new` of a chain of each length
    tips: list[int] = []  # the pair that ends it
    back: list[int] = []  # the pair before each pair in its chain
    for k, j in enumerate(news):
        length = bisect_left(ends, j)
        back.append(tips[length - 1] if length else -1)
        ends[length : length + 1] = [j]
        tips[length : length + 1] = [k]
        if k % _UNIT_LINES == 0:
            yield
    k = tips[-1] if tips else -1
    while k >= 0:
        found.append((olds[k], news[k]))
        k = back[k]
        if len(found) % _UNIT_LINES == 0:
            yield
    found.reverse()


def _small_gap(a: list[bytes], old: range, b: list[bytes], new: range) -> _Matches:
    """Equal runs by difflib, one bounded call per unit; when the budget is spent the rest counts as replaced."""
    left, right = a[old.start : old.stop], b[new.start : new.stop]
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    times = Counter(right)
    cost = list(accumulate((1 + times[line] for line in left), initial=0))
    budget = _GAP_COST
    runs: list[_Match] = []
    todo = [(0, len(left), 0, len(right))]
    while todo:
        alo, ahi, blo, bhi = todo.pop()
        price = cost[ahi] - cost[alo]
        if price > min(_CALL_COST, budget) or alo == ahi or blo == bhi:
            continue
        budget -= price
        i, j, size = matcher.find_longest_match(alo, ahi, blo, bhi)
        if size:
            runs.append((old.start + i, new.start + j, size))
            todo += [(alo, i, blo, j), (i + size, ahi, j + size, bhi)]
        yield None
    yield from sorted(runs)
