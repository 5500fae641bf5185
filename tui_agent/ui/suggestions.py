"""The list of completions: it lies over the rows above the line that is being typed, never over the line itself."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.widget import Widget

from tui_agent.core.display import label
from tui_agent.ui.completion import Choice

MOST_ROWS = 8


def suggestion_line(choice: Choice, width: int, *, chosen: bool, names: int, keys: str) -> Text:
    """One row: the sign, what is put in, in `names` cells what it is; at the chosen one the `keys` that take it."""
    keys = keys if chosen and width >= 50 else ""
    room = max(1, width - 4)
    value = label(choice.value, room, "path")
    text = Text("› " if chosen else "  ", no_wrap=True, end="")
    text.append(value)
    if value == choice.value:
        for at in choice.offsets:
            text.stylize(Style(underline=True), 2 + at, 3 + at)
    text.append(" " * max(0, names - cell_len(value)))
    left = width - text.cell_len - 3 - (len(keys) + 2 if keys else 0)
    if choice.hint and left >= 8:
        text.append(f"  {label(choice.hint, left)}", "dim")
    if keys:
        text.append(" " * max(2, width - text.cell_len - len(keys) - 1) + keys, "dim")
    text.append(" " * max(0, width - text.cell_len))
    if chosen:
        text.stylize("bold")
    text.truncate(width)
    return text


class Suggestions(Widget):
    """Shows choices with a cursor among them; it lies over its neighbours and takes no room of its own.

    While it is open it does not shrink, so that nothing jumps while the list is filtered.
    """

    def __init__(self) -> None:
        super().__init__()
        self.display = False
        self._choices: Sequence[Choice] = ()
        self._index: int | None = None
        self._keys = ""
        self._rows = 0

    def show(self, choices: Sequence[Choice], index: int | None, keys: str, room: int) -> None:
        """Show `choices` in at most `room` rows, the cursor on `index`; none closes the list."""
        self._choices, self._index, self._keys = choices, index, keys
        self._rows = min(max(self._rows, len(choices)), MOST_ROWS, max(1, room)) if choices else 0
        self.styles.height = self._rows
        self.styles.offset = (0, -self._rows)
        self.display = bool(choices)
        self.refresh(layout=True)

    def render(self) -> Text:
        """The rows around the cursor."""
        top = max(0, min((self._index or 0) - self._rows // 2, len(self._choices) - self._rows))
        seen = self._choices[top : top + self._rows]
        width = self.size.width
        names = min(max((cell_len(choice.value) for choice in seen), default=0), width // 2)
        lines = [
            suggestion_line(choice, width, chosen=top + at == self._index, names=names, keys=self._keys)
            for at, choice in enumerate(seen)
        ]
        return Text("\n").join(lines)
