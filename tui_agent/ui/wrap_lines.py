"""Lines of a long view as values: what stands in them, how they wrap, and how they are drawn.

Nothing here knows a widget: a `Shape` says how wide and in which columns lines are laid out, the colours are passed in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_agent.core.diff import Row
from tui_agent.core.display import Shown

BLOCK_LINES = 512
"""Lines that are made and measured together."""
Piece: TypeAlias = tuple[str, str]
"""Text and the name of its style."""
Numbers: TypeAlias = Literal["both", "one", "sign", "none"]
"""What stands before the text: two line numbers, one, only the sign, nothing."""

_PLAIN = bytes(range(0x20, 0x7F)) + b"\n\r\t"


@dataclass(frozen=True, slots=True)
class Line:
    """One logical line, already sanitised. `kind` names its colours, `sign` stands before the text.

    `counted` is how many lines it shows that an approval has to have seen. `other` is the line that this one
    replaces or is replaced by. `beside` is what stands in the right half, when there are two halves. `out`: the
    person left it out of the change. `noted`: they wrote a note about it.
    """

    pieces: tuple[Piece, ...]
    kind: str = "text"
    sign: str = " "
    old: int | None = None
    new: int | None = None
    counted: int = 0
    warns: frozenset[str] = frozenset()
    full_view: bool = False
    other: Row | None = None
    beside: Line | None = None
    out: bool = False
    noted: bool = False


@dataclass(slots=True)
class Block:
    """Lines `0 .. count`, made on demand by `line`.

    `widths` gives the cells of every line where they are known without looking closer (plain
    ASCII, nothing to escape), else None. A `whole` block is one long line in pieces: it counts
    once, when all of it was seen. `beside`: its lines have two halves. `starts` holds the first row
    of each line, None when every line is one row high.
    """

    count: int
    line: Callable[[int], Line]
    widths: Callable[[], list[int] | None] = lambda: None
    whole: bool = False
    beside: bool = False
    height: int = 0
    starts: list[int] | None = None
    done: set[int] = field(default_factory=set)
    rows_seen: dict[int, int] = field(default_factory=dict)

    def rows(self, index: int) -> range:
        """The rows of one line, counted from the top of the block."""
        if self.starts is None:
            return range(index, index + 1)
        return range(self.starts[index], self.starts[index + 1] if index + 1 < self.count else self.height)

    def find(self, row: int) -> tuple[int, int]:
        """The line at a row of the block, and which of its rows that is."""
        if self.starts is None:
            return row, 0
        index = bisect_right(self.starts, row) - 1
        return index, row - self.starts[index]

    def saw(self, index: int, nth: int) -> int:
        """Note that a row was on screen; returns how many more lines count as seen now."""
        if index in self.done:
            return 0
        rows = len(self.rows(index))
        bits = self.rows_seen.get(index, 0) | 1 << nth
        if bits != (1 << rows) - 1:
            self.rows_seen[index] = bits
            return 0
        self.rows_seen.pop(index, None)
        self.done.add(index)
        return 1 if not self.whole or len(self.done) == self.count else 0


def shown_pieces(shown: Shown) -> tuple[Piece, ...]:
    """The spans of a sanitised text as pieces."""
    return tuple((span.text, span.style) for span in shown.spans)


def text_lines(shown: Shown) -> list[tuple[Piece, ...]]:
    """A sanitised text cut at its newlines; the one at the very end starts no line."""
    lines: list[list[Piece]] = [[]]
    for text, style in shown_pieces(shown):
        first, *others = text.split("\n")
        lines[-1].append((first, style))
        lines += [[(other, style)] for other in others]
    result = [tuple(piece for piece in line if piece[0]) for line in lines]
    return result[:-1] if len(result) > 1 and not result[-1] else result


def plain_widths(lines: Sequence[bytes]) -> list[int] | None:
    """Cells of each line without its ending, None if any needs the sanitiser; tabs are 4 blanks."""
    text = b"".join(lines)
    if text.translate(None, _PLAIN) or b" " * 33 in text or b"\t" * 9 in text:
        return None
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        return None
    if b"\r" in text or b"\t" in text:
        return [len(line.rstrip(b"\r\n")) + 3 * line.count(b"\t") for line in lines]
    return [len(line) - line.endswith(b"\n") for line in lines]


def wrap(pieces: Iterable[Piece], width: int) -> list[list[Piece]]:
    """Cut pieces into rows of at most `width` (2 or more) cells; wide and combined characters stay whole."""
    rows: list[list[Piece]] = [[]]
    left = width
    for text, style in pieces:
        rest = text
        while rest:
            size, cells = _fit(rest, left)
            if not size:
                rows.append([])
                left = width
                continue
            rows[-1].append((rest[:size], style))
            rest, left = rest[size:], left - cells
    return rows


def _fit(text: str, cells: int) -> tuple[int, int]:
    """The longest start of `text` that fits into `cells`: (characters, cells used)."""
    if text.isascii():
        size = min(len(text), cells)
        return size, size
    size = used = 0
    for _, stop, wide in split_graphemes(text[: 9 * cells + 9])[0]:  # the sanitiser allows 8 marks on a character
        if used + wide > cells:
            break
        size, used = stop, used + wide
    return size, used


@dataclass(frozen=True, slots=True)
class Look:
    """Where the colours come from: `style` of a kind of line and a part of it, `decorate` enriches a visible line."""

    style: Callable[[str, str], Style]
    decorate: Callable[[Line], Iterable[Piece]]


@dataclass(frozen=True, slots=True)
class Shape:
    """How lines are laid out: cells of the view, what stands before the text, digits of a line number.

    Without `wraps` a long line is cut with a mark.
    """

    columns: int
    numbers: Numbers
    digits: int
    wraps: bool = True

    @property
    def text_width(self) -> int:
        """Text cells of a whole row; one more stays for the mark of a line that goes on."""
        gutter = {"both": 2 * self.digits + 6, "one": self.digits + 4, "sign": 2, "none": 0}[self.numbers]
        return max(2, self.columns - gutter - 1)

    @property
    def side_width(self) -> int:
        """Text cells of each half, when there are two."""
        return max(2, (self.columns - 1) // 2 - self.digits - 5)

    def heights(self, lines: Sequence[Line] | Sequence[int], *, beside: bool) -> list[int]:
        """Rows of each line, given as such or as its cells; `beside`: the lines have two halves."""
        if not self.wraps:
            return [1] * len(lines)
        width = self.side_width if beside else self.text_width
        return [max(1, -(-x // width)) if isinstance(x, int) else self._height(x, width) for x in lines]

    @staticmethod
    def _height(line: Line, width: int) -> int:
        halves = (line, line.beside) if line.beside else (line,)
        return max(len(wrap(half.pieces, width)) for half in halves)

    def draw(self, line: Line, look: Look, *, cursor: bool) -> tuple[list[Strip], bool]:
        """The rows of a line, and whether something of it was cut off."""
        if line.beside is None:
            return self._column(line, look, self.columns, self.text_width, self.numbers, cursor=cursor)
        half = (self.columns - 1) // 2
        other = self.columns - half - 1
        left, cut = self._column(line, look, half, self.side_width, "one", cursor=cursor)
        right, cut_too = self._column(line.beside, look, other, self.side_width, "one", cursor=cursor)
        bar = Strip([Segment("│", look.style("gap", "plain"))])
        height = max(len(left), len(right))
        for strips, side, width in ((left, line, half), (right, line.beside, other)):
            strips.extend([Strip.blank(width, look.style(side.kind, "plain"))] * (height - len(strips)))
        return [Strip.join([a, bar, b]) for a, b in zip(left, right, strict=True)], cut or cut_too

    def _column(
        self, line: Line, look: Look, columns: int, width: int, numbers: Numbers, *, cursor: bool
    ) -> tuple[list[Strip], bool]:
        """A line without its other half, `columns` wide, of which `width` are text."""
        kind, base = line.kind, look.style(line.kind, "plain")
        rows = wrap(look.decorate(line), width)
        gutter = self._gutter(line, numbers, cursor=cursor)
        room = sum(len(text) for text, _ in gutter)
        strips = []
        for nth, row in enumerate(rows if self.wraps else rows[:1]):
            lead = gutter if not nth else [(" " * room, "number")]
            segments = [Segment(text, look.style(kind, part)) for text, part in (*lead, *row)]
            strip = Strip(segments).adjust_cell_length(room + width, base)
            goes_on = nth < len(rows) - 1
            mark = ("↩" if self.wraps else "…", look.style(kind, "mark")) if goes_on else (" ", base)
            strips.append(Strip.join([strip, Strip([Segment(*mark)])]).adjust_cell_length(columns, base))
        return strips, len(strips) < len(rows)

    def _gutter(self, line: Line, numbers: Numbers, *, cursor: bool) -> list[Piece]:
        if numbers == "none":
            return []
        lead = ("›" if cursor else "×" if line.out else "*" if line.noted and numbers == "sign" else " ", "cursor")
        if numbers == "sign":
            return [(line.sign, "sign"), lead]
        both = numbers == "both"
        columns = (line.old, line.new) if both else (line.old if line.new is None else line.new,)
        text = " ".join(f"{number or '':>{self.digits}}" for number in columns)
        space = "  " if both else " "
        mark = "*" if line.noted else "×" if line.out and cursor else ""  # the cursor stands where the cross was
        behind = [(mark, "cursor"), (space[1:], "number")] if mark else [(space, "number")]
        return [lead, (text, "number"), *behind, (line.sign + " ", "sign")]
