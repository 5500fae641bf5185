"""Where the terminal's own cursor stands: there an input method shows its candidates."""

from __future__ import annotations

from textual.app import App
from textual.geometry import Offset


class CaretApp(App[int]):
    """An app whose cursor is at the caret of what has the keyboard.

    Textual 8.2.8 moves it only when a caret moves, so it would stay where a list had its field after the list has closed.
    """

    _elsewhere = Offset(0, 0)

    @property
    def cursor_position(self) -> Offset:
        """The caret of what has the keyboard, else where something last put the cursor."""
        caret = getattr(self.focused, "cursor_screen_offset", None)
        return caret if isinstance(caret, Offset) else self._elsewhere

    @cursor_position.setter
    def cursor_position(self, place: Offset) -> None:
        self._elsewhere = place
