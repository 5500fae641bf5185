"""Bytes to hunks to rows, and chosen hunks back to bytes.

A diff is computed on lines of bytes that keep their endings, so that applying hunks is
exact: no decoding, no newline translation. `compare` works in small units and hands out
each hunk as soon as it is known; `diff` runs it to the end. What is equal is found by `matching`.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tui_agent.core.matching import Match, Matches, matches
from tui_agent.core.types import WriteBytes

_UNIT_BYTES = 1 << 18
"""Bytes cut into lines between two yields."""
_BOM = b"\xef\xbb\xbf"

Kind: TypeAlias = Literal["context", "remove", "add"]


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


def between(above: Hunk | None, below: Hunk | None) -> Hunk:
    """The unchanged lines between two hunks of one difference as a hunk without changes; None is an end of the file.

    Not both may be None.
    """
    old, new = (above.old.stop, above.new.stop) if above else (0, 0)
    if below is not None:
        return Hunk(0, (), range(old, below.old.start), range(new, below.new.start), below._old_lines, below._new_lines)  # noqa: SLF001
    assert above is not None
    olds, news = above._old_lines, above._new_lines  # noqa: SLF001
    return Hunk(0, (), range(old, len(olds)), range(new, len(news)), olds, news)


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


def only_crlf(base: bytes | None, new: bytes | None) -> bool:
    """Whether every line of both versions ends with CRLF, so that no line of it says so."""
    texts = [text for text in (base, new) if text]
    return any(b"\r\n" in text for text in texts) and not mixed_endings(base, new) and not is_binary(base, new)


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
    yield from _hunks(matches(old_lines, new_lines), old_lines, new_lines, context)


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


def written(effect: WriteBytes, chosen: Collection[int] | None) -> bytes | None:
    """The bytes that a change leaves when only its `chosen` hunks are applied, all of them with None."""
    return effect.new if chosen is None else apply_hunks(effect.base, diff(effect.base, effect.new), chosen)


Texts: TypeAlias = tuple[bytes | None, bytes | None]
"""Two versions of a file, before and after a change."""


def same_hunks(one: Texts, other: Texts) -> dict[int, int]:
    """The numbers of hunks of one change that stand in the other, too, with their numbers there.

    The same is what takes out and puts in the same lines, wherever it stands. Of hunks that are alike the first is the
    first, when there are as many in both; else nobody can tell which is which, and none is the same.
    """
    mine, theirs = _alike(one), _alike(other)
    pairs = [(numbers, theirs.get(lines, [])) for lines, numbers in mine.items()]
    return {a: b for found, there in pairs if len(found) == len(there) for a, b in zip(found, there, strict=True)}


def _alike(texts: Texts) -> dict[tuple[tuple[Kind, bytes], ...], list[int]]:
    found: dict[tuple[tuple[Kind, bytes], ...], list[int]] = {}
    for hunk in diff(*texts).hunks:
        lines = tuple((row.kind, row.line) for row in hunk.rows() if row.kind != "context")
        found.setdefault(lines, []).append(hunk.number)
    return found


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


def _hunks(found: Matches, old: list[bytes], new: list[bytes], context: int) -> Iterator[Hunk | None]:
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

    for match in _chain(found, (len(old), len(new), 0)):
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


def _chain(found: Matches, end: Match) -> Iterator[Match | None]:
    yield from found
    yield end
