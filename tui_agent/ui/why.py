"""The field of a question: for the words of an answer, or for a note on a line."""

from __future__ import annotations

from tui_agent.core.types import Answer
from tui_agent.review import Note
from tui_agent.ui.field import Field

_ASKS: dict[Answer, str] = {
    "yes": "what should the model know?   Esc: back",
    "no": "why not? Enter: without a reason   Esc: back",
    "skip": "why later? Enter: without a reason   Esc: back",
}


class Why(Field):
    """Knows what it is open for; out of sight while that is nothing."""

    alone = True

    def __init__(self) -> None:
        super().__init__(id="why", disabled=True)
        self.asking: Answer | Note | None = None
        """The answer whose words, or the line about which a note is being written."""

    def open(self, asking: Answer | Note, value: str = "") -> None:
        """Let the person write on behind `value`."""
        self.asking = asking
        self.write(value, f"note on line {asking.line}" if isinstance(asking, Note) else _ASKS[asking])

    def leave(self) -> str:
        """Out of the field; gives what stood there."""
        self.asking, self.disabled = None, True
        self.screen.set_focus(None)
        return self.value.strip()
