"""Tables: columns fitted to the width, cells wrapped inside them, or a list of `name: value` where they do not fit.

The columns are fixed by the first `SAMPLE` source lines, so that a table that streams does not jump and
one more row costs one row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import zip_longest

from rich.cells import cell_len

from tui_agent.ui.inline import inline
from tui_agent.ui.lines import BLANK, Line, Piece, sourced, width_of, wrap

SAMPLE = 24
"""Source lines, header included, that decide the widths of the columns."""

_DELIMITER = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*")
_BETWEEN = re.compile(r"(?<!\\)\|")
_LEAST = 8
"""Columns are not squeezed below this many cells; then the table becomes a list."""


def table_lines(sample: tuple[str, ...], rows: Sequence[str], width: int, gutter: str) -> list[Line]:
    """Rows of the screen for some source lines of a table that starts with `sample`."""
    if len(sample) < 2 or _DELIMITER.fullmatch(sample[1]) is None:
        return [line for row in rows for line in wrap(inline(row), width, gutter)]
    lines: list[Line] = []
    columns = _columns(sample, width - len(gutter))
    header = _cells(sample[0])
    right = [cell.endswith(":") and not cell.startswith(":") for cell in _cells(sample[1])]
    for index, row in enumerate(rows):
        if rows is sample and index == 1:
            lines += sourced([_rule(columns, gutter)], row) if columns else []
        elif columns:
            style = "heading" if rows is sample and index == 0 else ""
            lines += sourced(_row(_cells(row), columns, right, gutter, style), row)
        elif not (rows is sample and index == 0):
            lines += [BLANK] if lines or rows is not sample else []
            lines += _pairs(header, _cells(row), width, gutter)
    return lines


def _cells(row: str) -> list[str]:
    body = row.strip().removeprefix("|")
    body = body[:-1] if body.endswith("|") and not body.endswith("\\|") else body
    return [cell.strip().replace("\\|", "|") for cell in _BETWEEN.split(body)]


@lru_cache(maxsize=64)
def _columns(sample: tuple[str, ...], width: int) -> tuple[int, ...]:
    """Widths of the columns in cells; empty when they do not fit."""
    count = len(_cells(sample[0]))
    rows = [_cells(row)[:count] for index, row in enumerate(sample) if index != 1]
    natural = [
        max(3, *(width_of(inline(cell)) for cell in column))
        for column in zip_longest(*rows, [""] * count, fillvalue="")
    ]
    room = width - 3 * (count - 1)
    if sum(natural) <= room:
        # rows that come after the sample may be wider: a long table takes some of what is free
        spare = (room - sum(natural)) // count if len(sample) >= SAMPLE else 0
        return tuple(size + min(spare, max(_LEAST, size)) for size in natural)
    if width < 58 or sum(min(size, _LEAST) for size in natural) > room:
        return ()
    # The narrow columns keep their width, the wide ones share what is left.
    widths, left, open_ = natural, room, count
    for index in sorted(range(count), key=natural.__getitem__):
        widths[index] = min(natural[index], left // open_)
        left, open_ = left - widths[index], open_ - 1
    return tuple(widths)


def _rule(columns: Sequence[int], gutter: str) -> Line:
    return Line(((gutter, ""), ("─┼─".join("─" * size for size in columns), "dim")), len(gutter))


def _row(cells: list[str], columns: Sequence[int], right: list[bool], gutter: str, style: str) -> list[Line]:
    """One row of the table: as many rows of the screen as its highest cell."""
    wrapped = [
        wrap(inline(cell, style), size) for cell, size in zip(cells + [""] * len(columns), columns, strict=False)
    ]
    lines: list[Line] = []
    for parts in zip_longest(*wrapped, fillvalue=BLANK):
        pieces: list[Piece] = [(gutter, "")] if gutter else []
        for number, (part, size) in enumerate(zip(parts, columns, strict=True)):
            pieces += [(" │ ", "dim")] if number else []
            space = (" " * (size - cell_len(part.text)), "")
            pieces += [space, *part.pieces] if right[number : number + 1] == [True] else [*part.pieces, space]
        lines.append(Line(tuple(pieces), len(gutter), "\n" if lines else None))
    return lines


def _pairs(header: list[str], cells: list[str], width: int, gutter: str) -> list[Line]:
    lines: list[Line] = []
    for name, cell in zip_longest(header, cells[: len(header)], fillvalue=""):
        pieces = [*inline(name, "heading"), (": ", "dim"), *inline(cell)]
        lines += wrap(pieces, width, gutter, gutter + "  ")
    return lines
