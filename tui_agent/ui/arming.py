"""When a dialog listens: late arming, and what becomes of each key.

Pure: the clock is passed in, in seconds. A dialog is deaf until it has been on screen for
`quiet` seconds and no key came for as long; keys until then belong to the composer. An
answer is held for a moment: a letter with other keys right behind it is text that was
pasted or typed ahead, not an answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

Route: TypeAlias = Literal["act", "hold", "settle", "burst", "draft", "drop"]
"""What to do with a key: act on it now; hold it as an answer; the held answer counts at once and this key
is text; the held key and this one are text; this key is text; nothing."""


@dataclass(slots=True)
class Arming:
    """The state of one dialog. `quiet` and `hold` in seconds."""

    quiet: float = 0.5
    hold: float = 0.04
    _since: float = math.inf
    _held: str | None = None
    _held_at: float = 0.0

    def hide(self) -> None:
        """Something new is about to be shown: deaf until it was painted."""
        self._since, self._held = math.inf, None

    def painted(self, now: float) -> None:
        """The dialog is on screen."""
        self._since = now

    def disturb(self, now: float) -> None:
        """A key that was no command: deaf again, unless nothing is painted yet."""
        self._held = None
        if self._since < math.inf:
            self._since = max(self._since, now)

    def armed(self, now: float) -> bool:
        """Whether keys are commands now."""
        return now - self._since >= self.quiet

    def wakes(self, now: float) -> float | None:
        """Seconds until the state changes by itself, None when it will not."""
        if self._held is not None:
            return max(0.0, self._held_at + self.hold - now)
        if self._since == math.inf or self.armed(now):
            return None
        return self._since + self.quiet - now

    def press(
        self,
        key: str,
        now: float,
        *,
        late: float = 0.0,
        answer: bool = False,
        command: bool = False,
        text: bool = False,
    ) -> Route:
        """Route one key: `answer` for a letter that decides, `command` for other bound keys, `text` if it writes or erases.

        It was pressed `late` seconds ago: a busy app hears of a key when the silence before it would seem long enough.
        """
        pressed = now - late
        if self._held is not None:
            same = key == self._held
            self.disturb(pressed)
            return "settle" if same else "burst"
        if not self.armed(pressed):
            self.disturb(pressed)
            return "draft"
        if answer:
            self._held, self._held_at = key, now
            return "hold"
        if command:
            return "act"
        if text:
            self.disturb(pressed)
            return "draft"
        return "drop"

    def due(self, now: float) -> str | None:
        """The held answer, once nothing followed it in time; it is given out once."""
        if self._held is None or now - self._held_at < self.hold:
            return None
        key, self._held = self._held, None
        return key
