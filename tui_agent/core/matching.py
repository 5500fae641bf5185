"""Which lines of two texts are equal: the search under a diff, in small units of work.

It is linear first (common head and tail, then lines that occur once on both sides); difflib only sees what is left
between such anchors, in gaps of at most `GAP_LINES` lines and within a budget, because it is quadratic on bad input.
In large texts what is close by is compared before the whole is looked at.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Generator
from difflib import SequenceMatcher
from itertools import accumulate
from typing import TypeAlias

GAP_LINES = 2_000
"""The longest gap, in lines of either side, that difflib may look at."""
_UNIT_LINES = 4_000
"""Lines handled between two yields: about 2 ms."""
_CALL_COST = 100_000
"""Line comparisons that one difflib call may need: about 6 ms."""
_GAP_COST = 1_000_000
"""Line comparisons spent on one gap; what is left then is shown as replaced."""
_LARGE = 20_000
"""From this many lines on, what is close by is compared first: then the first hunk is there at once."""
_NEAR, _SURE = 256, 16
"""Lines that are close by, and equal lines in a row that are no coincidence."""
_DEPTH = 8
"""How often the search for unique lines is repeated inside its own gaps."""

Match: TypeAlias = tuple[int, int, int]
"""Lines that are equal: start in the base, start in the new text, count."""
Matches: TypeAlias = Generator[Match | None, None, None]
"""Matches in order; None means: a unit of work is done, nothing new yet."""


def matches(a: list[bytes], b: list[bytes]) -> Matches:
    """Equal runs of two texts in order: head, middle, tail."""
    head = yield from _run(a, range(len(a)), b, range(len(b)))
    ahi, bhi = len(a), len(b)
    while ahi > head and bhi > head and a[ahi - 1] == b[bhi - 1]:
        ahi, bhi = ahi - 1, bhi - 1
        if ahi % _UNIT_LINES == 0:
            yield None
    at = to = head
    if min(ahi, bhi) - head > _LARGE:
        at, to = yield from _nearby(a, range(head, ahi), b, range(head, bhi))
    yield from _between(a, range(at, ahi), b, range(to, bhi), _DEPTH)
    if ahi < len(a):
        yield ahi, bhi, len(a) - ahi


def _run(a: list[bytes], old: range, b: list[bytes], new: range) -> Generator[Match | None, None, int]:
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


def _nearby(a: list[bytes], old: range, b: list[bytes], new: range) -> Generator[Match | None, None, tuple[int, int]]:
    """Equal runs that follow one another closely, as far as they do; returns where the last one ends on both sides.

    A whole file has to be looked at to know which lines occur once in it; here a few lines are enough.
    """
    i, j = old.start, new.start
    while i < old.stop and j < new.stop:
        anchors: list[tuple[int, int]] = []
        near = range(i, min(i + _NEAR, old.stop)), range(j, min(j + _NEAR, new.stop))
        yield from _anchors(a, near[0], b, near[1], anchors)
        sure = ((x, y) for x, y in anchors if x + _SURE <= old.stop and a[x : x + _SURE] == b[y : y + _SURE])
        at, to = next(sure, (old.stop, new.stop))
        if at == old.stop:
            break
        while at > i and to > j and a[at - 1] == b[to - 1]:
            at, to = at - 1, to - 1
        yield from _between(a, range(i, at), b, range(j, to), _DEPTH)
        count = yield from _run(a, range(at, old.stop), b, range(to, new.stop))
        i, j = at + count, to + count
    return i, j


def _between(a: list[bytes], old: range, b: list[bytes], new: range, depth: int) -> Matches:
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
    if not (yield from _share_a_line(a, old, b, new)):
        return
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


def _share_a_line(a: list[bytes], old: range, b: list[bytes], new: range) -> Generator[None, None, bool]:
    """Whether any line stands on both sides: quickly found out, and often not so where all of a text was replaced."""
    seen: set[bytes] = set()
    for start in range(old.start, old.stop, _UNIT_LINES):
        seen.update(a[start : min(start + _UNIT_LINES, old.stop)])
        yield
    for start in range(new.start, new.stop, _UNIT_LINES):
        if not seen.isdisjoint(b[start : min(start + _UNIT_LINES, new.stop)]):
            return True
        yield
    return False


def _small_gap(a: list[bytes], old: range, b: list[bytes], new: range) -> Matches:
    """Equal runs by difflib, one bounded call per unit; when the budget is spent the rest counts as replaced."""
    left, right = a[old.start : old.stop], b[new.start : new.stop]
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    times = Counter(right)
    cost = list(accumulate((1 + times[line] for line in left), initial=0))
    budget = _GAP_COST
    runs: list[Match] = []
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
