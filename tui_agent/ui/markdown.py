"""Markdown that streams: source lines in, rows out, and what was shown never changes again.

A line of the source is a line of the screen; what it looks like depends only on the lines before it
(`Mode`: in a fence, in a table). So the live form of an answer is its final form, and one function serves
both. The text is cut into chunks of bounded size that start with their `Mode`: each can be drawn
alone, only when it is looked at, and the cost of one more delta does not depend on what came before. A code block is
a chunk of its own, or several: it can be copied alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from tui_agent.ui.highlight import ROOT, Stack, highlight
from tui_agent.ui.inline import inline
from tui_agent.ui.lines import BLANK, CLOSE, OPEN, Line, sourced, unmarked, wrap
from tui_agent.ui.tables import SAMPLE, table_lines

CHUNK = 1_500
"""Characters after which a chunk ends at the next blank line."""

CHUNK_MAX = 3_000
"""Characters after which a chunk ends at the next line."""

LINE_MAX = 2_000
"""A longer source line is drawn in parts, so that a line without end costs no more than others."""

CONTINUED = "\ue002"
"""Stands before a source line that continues the one above. Private use, like the escape marks: never from outside."""

_FENCE = re.compile(r"(\s*)(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r"(\s*(?:[-*+]|\d{1,9}[.)])\s+)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s+|$)")
_QUOTE = re.compile(r"(?: {0,3}> ?)+")


@dataclass(frozen=True, slots=True)
class Fence:
    """An open code fence: its marker, how far it was indented, its language."""

    marker: str
    indent: int
    language: str


@dataclass(frozen=True, slots=True)
class Mode:
    """What the lines before decide about the next one.

    `table` holds the first source lines of an open table, at most `tables.SAMPLE`: they fix its columns.
    """

    fence: Fence | None = None
    table: tuple[str, ...] = ()
    blank: bool = False


PLAIN = Mode()


@dataclass(frozen=True, slots=True)
class Prose:
    """A finished part of an answer: whole source lines, sanitised and marked, and the mode they start in."""

    source: str
    mode: Mode = PLAIN


def advance(mode: Mode, line: str) -> Mode:
    """The mode after a source line."""
    if mode.fence is not None:
        marker, stripped = mode.fence.marker, line.strip()
        closed = len(stripped) >= len(marker) and not stripped.strip(marker[0])
        return PLAIN if closed else mode
    if (opening := _FENCE.match(line)) and "`" not in opening[3]:
        language = opening[3].strip().partition(" ")[0].lower()
        return Mode(fence=Fence(opening[2], len(opening[1]), language))
    if not line.strip():
        return Mode(blank=True)
    if line.lstrip().startswith("|"):
        return mode if len(mode.table) >= SAMPLE else Mode(table=(*mode.table, line))
    return PLAIN


class Chunker:
    """Cuts sanitised text, as it arrives, into `Prose` chunks. Pure state: the same text gives the same chunks."""

    def __init__(self) -> None:
        self.chunks: list[Prose] = []
        """Finished chunks."""
        self.start = PLAIN
        """Mode at the start of the open chunk."""
        self.lines: list[str] = []
        """Whole lines of the open chunk."""
        self.partial = ""
        """The line that is still being written."""
        self._mode = PLAIN
        self._size = 0

    def feed(self, text: str) -> None:
        """Take more text."""
        *whole, last = text.split("\n")
        for line in whole:
            self._write(line)
            self._end_line()
        self._write(last)

    def finish(self) -> list[Prose]:
        """Close the last chunk; all chunks of the text."""
        if self.partial:
            self._end_line()
        self._close()
        return self.chunks

    def _write(self, text: str) -> None:
        if text.startswith(OPEN) and self.partial.endswith(CLOSE):
            text, self.partial = text[1:], self.partial[:-1]  # one run of escapes, however it arrived
        self.partial += text
        if len(self.partial) <= LINE_MAX:
            return
        rest = self.partial
        while len(rest) > LINE_MAX:
            blank = rest.rfind(" ", LINE_MAX // 2, LINE_MAX)
            cut = blank if blank > 0 else LINE_MAX
            escape = rest.rfind(OPEN, 0, cut) > rest.rfind(CLOSE, 0, cut)
            self.partial, rest = rest[:cut] + CLOSE * escape, CONTINUED + OPEN * escape + rest[cut:]
            self._end_line()
        self.partial = rest

    def _end_line(self) -> None:
        line, self.partial = self.partial, ""
        if not (line.strip() or self.lines or self.chunks):
            return  # an answer does not start with blank lines
        before, after = self._mode, advance(self._mode, line)
        if after.fence is not None and before.fence is None:
            self._mode = PLAIN if before.table else before  # a held table is drawn with the chunk that it ends
            self._close()
        self._mode = after
        self.lines.append(line)
        self._size += len(line) + 1
        table = self._mode.table
        if (
            (before.fence is not None and after.fence is None)
            or (self._size >= CHUNK and not line.strip())
            or (self._size >= CHUNK_MAX and (not table or len(table) >= SAMPLE))
        ):
            self._close()

    def _close(self) -> None:
        if any(self.lines):
            self.chunks.append(Prose("\n".join(self.lines), self.start))
        self.start, self.lines, self._size = self._mode, [], 0


def is_code(prose: Prose) -> bool:
    """Whether a chunk is a code block, or a part of one: chunks begin and end where fences do."""
    return prose.mode.fence is not None or advance(prose.mode, prose.source.partition("\n")[0]).fence is not None


def parts(text: str) -> list[str]:
    """The source of an answer, cut where fences begin and end as its chunks are; parts without a word are left out."""
    found: list[str] = []
    lines: list[str] = []
    mode = PLAIN
    for line in text.split("\n"):
        after = advance(mode, line)
        if mode.fence is None and after.fence is not None:
            found.append("\n".join(lines))
            lines = []
        lines.append(line)
        if mode.fence is not None and after.fence is None:
            found.append("\n".join(lines))
            lines = []
        mode = after
    return [part.strip("\n") for part in (*found, "\n".join(lines)) if part.strip()]


def bare(part: str) -> str:
    """The code of a part that is a code block, without its fences and its common indentation; other parts as they are."""
    first, _, body = part.partition("\n")
    fence = advance(PLAIN, first).fence
    if fence is None:
        return part
    lines = body.split("\n")
    if lines and advance(Mode(fence=fence), lines[-1]).fence is None:
        lines.pop()
    return "\n".join(line[min(fence.indent, len(line) - len(line.lstrip(" "))) :] for line in lines)


_MARKS = str.maketrans("", "", OPEN + CLOSE + CONTINUED)


def unmarked_source(source: str) -> str:
    """A source line, or parts of one, without the marks that the screen needs."""
    return source.translate(_MARKS)


class State(NamedTuple):
    """Where drawing stands between two source lines."""

    mode: Mode
    stack: Stack = ROOT


def draw(prose: Prose, width: int) -> list[Line]:
    """All rows of a chunk."""
    state, lines = State(prose.mode), list[Line]()
    for source in prose.source.split("\n"):
        state, more = step(state, source, width)
        lines += more
    return lines + rest(state, width)


def step(state: State, source: str, width: int) -> tuple[State, list[Line]]:
    """Draw one source line: the state after it and its rows. A table is held back until its columns are known."""
    mode, after = state.mode, advance(state.mode, source)
    gutter = "  " if width >= 50 else ""
    if mode.fence is not None:
        if after.fence is None:
            return State(after), []
        stack, lines = _code(mode.fence, state.stack, source, width, gutter)
        return State(after, stack), lines
    if after.table:
        held = len(after.table) < SAMPLE
        before = [BLANK] if mode.blank else []
        if held:
            return State(after), before
        news = after.table if mode.table is not after.table else (source,)
        return State(after), before + table_lines(after.table, news, width, gutter)
    lines = rest(state, width)
    if after.blank:
        return State(after), lines
    lines += [BLANK] if mode.blank else []
    return State(after), lines if after.fence else lines + sourced(_text(source, width, gutter), source)


def rest(state: State, width: int) -> list[Line]:
    """Rows of what `step` held back."""
    table = state.mode.table
    if not table or len(table) >= SAMPLE:
        return []
    return table_lines(table, table, width, "  " if width >= 50 else "")


def _code(fence: Fence, stack: Stack, source: str, width: int, gutter: str) -> tuple[Stack, list[Line]]:
    """A line of code, cut at the right edge and marked where it goes on."""
    continued, source = source.startswith(CONTINUED), source.removeprefix(CONTINUED)
    indent = min(fence.indent, len(source) - len(source.lstrip(" ")))
    stack, pieces = highlight(fence.language, stack, source[indent:])
    lines = wrap(pieces, width, gutter + "  ", gutter + "↳ ", words=False)
    return stack, [lines[0]._replace(joint=""), *lines[1:]] if continued else lines


def _text(source: str, width: int, gutter: str) -> list[Line]:
    """The rows of a line outside fences and tables."""
    if source.startswith(CONTINUED):
        body = source.removeprefix(CONTINUED)
        first, *more = wrap(inline(body.lstrip(" ")), width, gutter)
        return [first._replace(joint=body[: len(body) - len(body.lstrip(" "))]), *more]
    stripped = source.strip()
    if heading := _HEADING.match(source):
        return wrap(inline(source[heading.end() :].rstrip().rstrip("#").rstrip(), "heading"), width, gutter)
    if len(stripped) >= 3 and stripped[0] in "-*_" and not stripped.strip(stripped[0] + " "):
        return [Line(((gutter, ""), ("─" * min(width - len(gutter), 40), "dim")), len(gutter))]
    if quote := _QUOTE.match(source):
        bar = gutter + "│ " * quote[0].count(">")
        return wrap(inline(source[quote.end() :]), width, bar[: width // 2])
    if item := _ITEM.match(source):
        marker = item[1].expandtabs(4)
        hang = " " * min(len(marker), width // 3)
        return wrap([*unmarked(marker, ""), *inline(source[item.end() :].rstrip())], width, gutter, gutter + hang)
    body = source.lstrip(" ")
    lead = " " * min(len(source) - len(body), width // 3)
    return wrap([(lead, ""), *inline(body.rstrip())] if lead else inline(body.rstrip()), width, gutter, gutter + lead)


class Tail:
    """Draws the open chunk of a `Chunker` again and again; whole lines are drawn once."""

    def __init__(self) -> None:
        self._key: tuple[int, int] | None = None
        self._state = State(PLAIN)
        self._taken = 0
        self._lines: list[Line] = []

    def draw(self, text: Chunker, width: int) -> list[Line]:
        """Rows of the open chunk as it is now."""
        key = (len(text.chunks), width)
        if key != self._key or self._taken > len(text.lines):
            self._key, self._state, self._taken, self._lines = key, State(text.start), 0, []
        for source in text.lines[self._taken :]:
            self._state, more = step(self._state, source, width)
            self._lines += more
        self._taken = len(text.lines)
        state, lines = self._state, list[Line]()
        if text.partial and (text.lines or text.chunks or text.partial.strip()):
            state, lines = step(state, text.partial, width)
        return [*self._lines, *lines, *rest(state, width)]
