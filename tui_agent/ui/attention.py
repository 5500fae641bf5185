"""Bell and window title for a person who is looking elsewhere; nothing while the terminal has the focus.

A terminal that does not report its focus counts as looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tui_agent.core.display import label

LONGEST = 80
"""Cells of a title."""
_KEEP, _BACK = "\x1b[22;2t", "\x1b[23;2t"
"""The terminal keeps its title on a stack, and takes it from there."""


@dataclass(slots=True)
class Attention:
    """`write` sends to the terminal as it is, `focused` tells whether the person looks at it."""

    write: Callable[[str], None]
    focused: Callable[[], bool]
    _called: bool = False

    def call(self, words: str) -> None:
        """Ring once and say why in the title, unless the person is here."""
        if self.focused():
            return
        keep = "" if self._called else _KEEP
        self._called = True
        self.write(f"\a{keep}\x1b]2;{label(words, LONGEST)}\a")

    def looked_at(self, here: bool) -> None:
        """The terminal got or lost the focus."""
        if here:
            self.answered()

    def answered(self) -> None:
        """The person is here: the title is again what it was."""
        if self._called:
            self._called = False
            self.write(_BACK)
