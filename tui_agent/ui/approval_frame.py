"""The frame of the approval dialog: texts above and below a view, fitted into what the screen leaves.

The view gets what the texts do not need. Where that is nothing, texts that can be done without give way.
"""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tui_agent.ui.why import Why
from tui_agent.ui.wrap_view import WrapView

TIGHT_ROWS = 14
"""Below this height every row counts."""


@dataclass(frozen=True, slots=True)
class Room:
    """The space of a dialog on a screen. `full`: it takes the whole width and reaches the top."""

    columns: int
    rows: int
    full: bool = False

    @property
    def tight(self) -> bool:
        """Whether every row counts."""
        return self.rows < TIGHT_ROWS

    @property
    def margin(self) -> int:
        """Cells left and right of the dialog."""
        return 4 if self.columns >= 110 and not self.full else 0

    @property
    def top(self) -> int:
        """Rows above the dialog."""
        return 0 if self.columns < 50 or self.full else 3 if self.rows >= 30 else 1

    @property
    def width(self) -> int:
        """Cells for a line of text."""
        return max(1, self.columns - 2 * self.margin - (4 if self.columns >= 80 else 2))

    @property
    def key_rows(self) -> int:
        """Rows for the keys."""
        return 4 if self.rows >= 30 else 3 if self.rows >= 20 else 2


class Frame(Vertical):
    """Reason, summary, warnings, view, information, keys, and a field for a reason."""

    def __init__(self, view: WrapView) -> None:
        """Show `view` first."""
        super().__init__(id="approval")
        self._first = view
        self._written: dict[str, object] = {}
        self.field = Why()

    def compose(self) -> ComposeResult:
        """The parts, top to bottom."""
        with Vertical(id="box"):
            for name in ("reason", "summary", "warnings"):
                yield Static(id=name, markup=False)
            with Vertical(id="body"):
                yield self._first
            yield Static(id="info", markup=False)
            yield Static(id="keys", markup=False)
            yield self.field

    async def show(self, view: WrapView) -> None:
        """Show another view; the ones before stay as they are, out of sight."""
        body = self.query_one("#body")
        for other in body.children:
            other.display = other is view
        if view not in body.children:
            await body.mount(view)

    def fit(self, room: Room, texts: dict[str, list[Content]], view: WrapView, *, free: int) -> bool:
        """Write the texts and give the view what is left above `free` rows; False when that is nothing."""
        asking = self.field.asking is not None
        self.set_class(asking, "-asking")
        left = room.rows - room.top - free - (1 if room.tight else 2) - int(asking) - sum(map(len, texts.values()))
        for name, kept in (("reason", 0), ("info", 1)):
            if left < 1:
                left += len(texts[name][kept:])
                texts[name] = texts[name][:kept]
        self.styles.margin = (room.top, 0, free, 0)
        self.styles.padding = (0, room.margin)  # no piece of the transcript stands beside the box
        for name, lines in texts.items():
            self._write(name, lines)
        height = max(1, min(view.rows, left))
        body = self.query_one("#body")
        if body.styles.height is None or body.styles.height.value != height:
            body.styles.height = height
        return left >= 1

    def entitle(self, title: str, count: str, room: Room) -> None:
        """Write the title on the left of the border and the count on its right."""
        rule = "─" * (room.columns - 2 * room.margin - len(title) - len(count) - 7)
        self.query_one("#box").border_title = f"{title} {rule}{count}"

    def _write(self, name: str, lines: list[Content]) -> None:
        """Put lines into the part `name`, if they are other ones."""
        text = Content("\n").join(lines)
        key = text.plain, tuple(text.spans)
        if self._written.get(name) != key:
            self._written[name] = key
            part = self.query_one(f"#{name}", Static)
            part.display = bool(lines)
            part.update(text)
