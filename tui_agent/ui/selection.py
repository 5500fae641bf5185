"""A selection of rows as the text that was meant."""

from __future__ import annotations

from collections.abc import Sequence

from tui_agent.ui.lines import Line


def copied(lines: Sequence[Line], low: int = 0, high: int | None = None) -> str:
    """The text of rows, from character `low` of the first to before character `high` of the last.

    Furniture at the left is left out; rows that are one line of the text are joined as they were.
    """
    parts: list[str] = []
    for number, line in enumerate(lines):
        text = line.text
        start = max(line.gutter, low if number == 0 else 0)
        end = high if number == len(lines) - 1 else None
        if number:
            parts.append("\n" if line.joint is None else line.joint)
        parts.append(text[start:end].rstrip())
    return "".join(parts)
