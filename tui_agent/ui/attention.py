"""The title of the window: where this is and how it stands; and the bell for a person who is looking elsewhere.

A terminal that does not report its focus counts as looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tui_agent.core.display import label

LONGEST = 80
"""Cells of a title."""
BELL = "\a"
_KEEP, _BACK = "\x1b[22;2t", "\x1b[23;2t"
"""The terminal keeps its title on a stack, and takes it from there."""


@dataclass(slots=True)
class Attention:
    """`write` sends to the terminal as it is, `focused` tells whether the person looks at it, `titled` whether it gets titles."""

    write: Callable[[str], None]
    focused: Callable[[], bool]
    titled: Callable[[], bool] = lambda: True
    signs: Callable[[str], str] = str
    """How the terminal can draw a text."""
    _stands: str = ""
    _called: str = ""
    _asked: str = ""
    _shown: str = ""
    _away: bool = False

    def stand(self, words: str) -> None:
        """How it stands from now on; a call that was not answered yet goes before it."""
        self._stands = words
        self._show()

    def call(self, words: str) -> None:
        """Ring once and say why in the title, unless the person is here."""
        if not self.focused():
            self.write(BELL)
            self._called = words
            self._show()

    def ask(self, words: str) -> None:
        """Call for an answer; who goes away without giving it reads in the title what it is about."""
        self._asked = words
        self.call(words)

    def looked_at(self, here: bool) -> None:
        """The terminal got or lost the focus: the title says how it stands to who is here."""
        self._called = "" if here else self._asked
        self._show()

    def answered(self) -> None:
        """There is nothing to answer any more."""
        self._called = self._asked = ""
        self._show()

    def leave(self) -> None:
        """Give the terminal its own title back, for now or for good: what is said meanwhile waits for `come_back`."""
        self._away = True
        if self._shown:
            self._shown = ""
            self.write(_BACK)

    def come_back(self) -> None:
        """The terminal is ours again."""
        self._away = False
        self._show()

    def _show(self) -> None:
        words = label(self._called or self._stands, LONGEST)
        if words and words != self._shown and not self._away and self.titled():
            keep = "" if self._shown else _KEEP
            self._shown = words
            self.write(f"{keep}\x1b]2;{self.signs(words)}\a")
