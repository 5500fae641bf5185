"""What counts only at the second press: the first one says what the next will do."""

from __future__ import annotations

from time import monotonic

AGAIN_SECONDS = 2.0
"""How long "again to quit" and "again to stop" stand."""


class Twice:
    """Which words stand, and until when, by the monotonic clock."""

    def __init__(self) -> None:
        self._words, self._until = "", 0.0

    @property
    def words(self) -> str:
        """What the next press does, "" when nothing stands."""
        return self._words if monotonic() < self._until else ""

    def press(self, words: str) -> bool:
        """True for the second press for these words in time; else they stand from now on."""
        second = self.words == words
        self._words, self._until = ("", 0.0) if second else (words, monotonic() + AGAIN_SECONDS)
        return second

    def forget(self) -> None:
        """Something else happened: the next press is a first one."""
        self._words, self._until = "", 0.0
