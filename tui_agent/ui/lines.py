"""Rows of styled text: the values between a renderer, which knows no terminal, and a widget, which knows no Markdown.

A `Line` is one row of the screen. It remembers which part of it is furniture and what stood between it
and the row above, so that a selection gives back the text and not its layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, get_character_cell_size

from tui_agent.core.display import Context, Span, sanitise

Piece: TypeAlias = tuple[str, str]
"""Text and the name of its style; "" is normal text. The widget maps names to component classes."""

STYLES = (
    *("dim", "strong", "em", "strong-em", "strike", "heading", "code", "literal"),
    *("said", "verb", "ok", "fail", "cursor", "escape", "match"),
    *("coding", "general", "hybrid"),
)
"""Names of styles beside "". Each is a component class `transcript--NAME`."""

OPEN, CLOSE = "\ue000", "\ue001"
"""Stand around an escape in sanitised text. They cannot come from outside: the sanitiser lets no private-use character through."""


class Line(NamedTuple):
    """One row: its pieces, the number of characters at its left that are furniture, its `joint` and its `source`.

    The joint is what the text holds between the row above and this one: None where a line of the text begins, blanks
    where it was wrapped between words, "" where a word was cut. The source is what the line was made from, marked,
    where that is not what is shown; it stands at the line's first row.
    """

    pieces: tuple[Piece, ...] = ()
    gutter: int = 0
    joint: str | None = None
    source: str = ""

    @property
    def text(self) -> str:
        """The row as it stands on the screen."""
        return "".join(text for text, _ in self.pieces)


BLANK = Line()


def sourced(lines: list[Line], source: str) -> list[Line]:
    """The rows of one line of the text, made from `source`."""
    return [lines[0]._replace(source=source), *lines[1:]] if lines else lines


def marked(spans: Iterable[Span]) -> str:
    """Sanitised spans as one string, runs of escapes between `OPEN` and `CLOSE`, so that it can be parsed on.

    Marks never reach over the end of a line: `<400 lines>` that stand for a gap end with a line break.
    """
    text = "".join(
        s.text if s.style == "plain" else OPEN + s.text.replace("\n", f"{CLOSE}\n{OPEN}") + CLOSE for s in spans
    )
    return text.replace(CLOSE + OPEN, "").replace(OPEN + CLOSE, "")


def unmarked(text: str, style: str) -> list[Piece]:
    """The pieces of a marked string: escapes keep their own style."""
    if OPEN not in text:
        return [(text, style)] if text else []
    pieces: list[Piece] = []
    for part in text.split(OPEN):
        escape, closed, rest = part.partition(CLOSE)
        if not closed:
            escape, rest = "", part
        pieces += [(escape, "escape")] if escape else []
        pieces += [(rest, style)] if rest else []
    return pieces


def shown(text: str, style: str = "", context: Context = "text") -> list[Piece]:
    """Sanitise one outside line; further lines are counted, not shown."""
    first, *more = text.split("\n")
    pieces = unmarked(marked(sanitise(first, context).spans), style)
    return [*pieces, (f" … +{len(more)} lines", "dim")] if more else pieces


def width_of(pieces: Iterable[Piece]) -> int:
    """Cells that the pieces take."""
    return sum(cell_len(text) for text, _ in pieces)


def wrap(
    pieces: Sequence[Piece], width: int, first: str = "", rest: str | None = None, *, words: bool = True
) -> list[Line]:
    """Break pieces into rows of at most `width` cells.

    `first` and `rest` are the furniture at the left of the first and of the other rows. With `words`
    off (code) rows are cut at the last cell.
    """
    rest = first if rest is None else rest
    room = max(1, width - max(len(first), len(rest)))
    text = "".join([piece[0] for piece in pieces])
    if len(text) <= room and (text.isascii() or cell_len(text) <= room):
        return [Line((*_gutter(first), *pieces), len(first))]
    lines: list[Line] = []
    previous = 0
    for start, end, cut in _sliced(pieces, _cuts(text, room, words)):
        gutter = rest if lines else first
        joint = text[previous:start] if lines else None
        lines.append(Line((*_gutter(gutter), *cut), len(gutter), joint))
        previous = end
    return lines


def _gutter(text: str) -> tuple[Piece, ...]:
    return ((text, "dim" if text.strip() else ""),) if text else ()


def _cuts(text: str, room: int, words: bool) -> Iterator[tuple[int, int]]:
    start, length = 0, len(text)
    while start < length:
        end = _reach(text, start, room)
        if end >= length:
            yield start, length
            return
        stop = _break(text, start, end) if words else end
        following = stop
        while words and following < length and text[following] == " ":
            following += 1
        while words and stop > start + 1 and text[stop - 1] == " ":
            stop -= 1
        yield start, stop
        start = following


def _reach(text: str, start: int, room: int) -> int:
    """The furthest index to which `room` cells reach; always past `start`."""
    window = text[start : start + room]
    if window.isascii():
        return start + room
    cells, index = 0, start
    while index < len(text):
        cells += get_character_cell_size(text[index])
        if cells > room:
            break
        index += 1
    return max(index, start + 1)


def _break(text: str, start: int, end: int) -> int:
    """The best place to break `text[start:end]`: before a blank, beside a wide character, else at its end."""
    if text[end] == " ":
        return end
    blank = text.rfind(" ", start, end)
    if not text[start:end].isascii():
        for index in range(end, max(start, blank), -1):
            if get_character_cell_size(text[index - 1]) == 2 or get_character_cell_size(text[index]) == 2:
                return index
    return blank if blank > start and not text[start:blank].isspace() else end


def _sliced(pieces: Sequence[Piece], cuts: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, list[Piece]]]:
    """The pieces between each two character positions, in one walk."""
    index = position = 0
    for start, end in cuts:
        while position + len(pieces[index][0]) <= start:
            position += len(pieces[index][0])
            index += 1
        cut: list[Piece] = []
        number, begin = index, position
        while number < len(pieces) and begin < end:
            text, style = pieces[number]
            if part := text[max(start - begin, 0) : end - begin]:
                cut.append((part, style))
            begin += len(text)
            number += 1
        yield start, end, cut
