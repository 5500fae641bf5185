"""A selection of rows as the text that was meant."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tui_agent.ui.lines import Line
from tui_agent.ui.markdown import unmarked_source


def copied(lines: Sequence[Line], low: int = 0, high: int | None = None, *, goes_on: bool = False) -> str:
    """The text of rows, from character `low` of the first to before character `high` of the last.

    Furniture at the left is left out; rows that are one line of the text are joined as they were. A line that is
    there from its beginning to its end is given as it was written (Markdown), a part of one as it is shown.
    `goes_on`: the last line of the text goes on below the rows. Of no rows, below the end of the text, there is none.
    """
    starts = [number for number, line in enumerate(lines) if number == 0 or line.joint is None]
    out = []
    for start, stop in pairwise([*starts, len(lines)]):
        rows = lines[start:stop]
        begun = rows[0].joint is not None or (start == 0 and low > rows[0].gutter)
        last = stop == len(lines)
        cut = last and (goes_on or (high is not None and high < len(rows[-1].text.rstrip())))
        source = "".join(row.source for row in rows)
        if source and not begun and not cut:
            out.append(unmarked_source(source))
        else:
            out.append(_shown(rows, low if start == 0 else 0, high if last else None))
    return "\n".join(out)


def _shown(rows: Sequence[Line], low: int, high: int | None) -> str:
    """The text of the rows of one line as it stands on the screen."""
    parts: list[str] = []
    for number, row in enumerate(rows):
        start = max(row.gutter, low if number == 0 else 0)
        parts.append((row.joint or "") if number else "")
        parts.append(row.text[start : high if number == len(rows) - 1 else None].rstrip())
    return "".join(parts)
