"""A view of wrapped lines with a cursor on one of them."""

from __future__ import annotations

from tui_agent.ui.wrap_lines import Line
from tui_agent.ui.wrap_view import WrapView


class CursorView(WrapView):
    """A `WrapView` whose cursor stands before a line, once a key has put it there."""

    @property
    def cursor_block(self) -> int | None:
        """The number of the block with the cursor; None when there is no cursor or it is out of sight."""
        rows = self._cursor_rows()
        top = self.scroll_offset.y
        seen = rows is not None and top <= rows.start < top + max(1, self.size.height)
        return self._cursor[0] if self._cursor is not None and seen else None

    @property
    def cursor_line(self) -> Line | None:
        """The line with the cursor, when it is in sight."""
        if self._cursor is None or self.cursor_block is None:
            return None
        number, index = self._cursor
        return self._blocks[number].line(index)

    def _cursor_rows(self) -> range | None:
        """The rows of the line with the cursor, from the top of the view."""
        return self._rows_of(self._cursor)

    def _rows_of(self, place: tuple[int, int] | None) -> range | None:
        if place is None or place[0] >= len(self._tops):
            return None
        number, index = place
        rows, top = self._blocks[number].rows(index), self._tops[number]
        return range(top + rows.start, top + rows.stop)

    def move_cursor(self, place: tuple[int, int] | None, *, under: tuple[int, int] | None = None) -> None:
        """Put the cursor before a line, named by block and line, and bring it into sight; None removes it.

        With `under` that line comes to the top of the view, or as near to it as leaves the cursor in sight.
        """
        for old in (self._cursor, place):
            self._drawn.pop(old, None) if old else None
        self._cursor = place
        if (rows := self._cursor_rows()) is not None:
            top, height = self.scroll_offset.y, self.size.height
            if (head := self._rows_of(under)) is not None:
                self.scroll_to(y=max(head.start, min(rows.start, rows.stop - max(1, height))), animate=False)
            elif rows.start < top:
                self.scroll_to(y=rows.start, animate=False)
            elif rows.stop > top + height:
                self.scroll_to(y=rows.stop - height, animate=False)
        self.refresh()
        self._tell_soon()

    def find_cursor(self) -> None:
        """Put the cursor, when it is out of sight, before the first changed line in sight, else the first with a number."""
        if self.cursor_block is not None:
            return
        top = self.scroll_offset.y
        rows = filter(None, map(self._locate, range(top, top + max(1, self.size.height))))
        places = [(number, index) for number, index, nth in rows if not nth]
        lines = {place: self._blocks[place[0]].line(place[1]) for place in places}
        changed = (place for place, line in lines.items() if line.counted)
        numbered = (place for place, line in lines.items() if line.old or line.new)
        if (found := next(changed, None) or next(numbered, None)) is not None:
            self.move_cursor(found)

    def step_cursor(self, step: int) -> None:
        """Move the cursor to the line before (-1) or after (1); it starts at the first line in sight."""
        top = self._locate(self.scroll_offset.y)
        if top is None:
            return
        number, index = self._cursor if self._cursor is not None and self.cursor_block is not None else top[:2]
        index += step if self.cursor_block is not None else 0
        if index < 0 < number:
            number -= 1
            index = self._blocks[number].count - 1
        elif index >= self._blocks[number].count and number + 1 < len(self._tops):
            number, index = number + 1, 0
        if 0 <= index < self._blocks[number].count:
            self.move_cursor((number, index))
