"""How fast a reply comes."""

from __future__ import annotations

from tui_agent.core.context import CHARACTERS_PER_TOKEN

LEAST_SECONDS = 1.0
"""What is shorter tells no pace: the first pieces of a reply often come together."""


class Flow:
    """The pace of one reply, by its characters: servers count tokens only when it is over. A piece costs the same at any length."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Another reply is waited for."""
        self._characters = self._written = 0
        self._first = self._last = 0.0

    def take(self, characters: int, now: float) -> None:
        """A piece came; `now` is monotonic, in seconds."""
        if not self._characters:
            self._first = now
        self._characters += characters
        self._last = now

    def grown(self, size: int, now: float) -> None:
        """What is written beside the text, arguments of a call, has so many characters by now."""
        self.take(size - self._written if size >= self._written else size, now)
        self._written = size

    @property
    def rate(self) -> int | None:
        """Tokens a second, an estimate; None as long as there is no pace."""
        seconds = self._last - self._first
        return round(self._characters / CHARACTERS_PER_TOKEN / seconds) or None if seconds >= LEAST_SECONDS else None
