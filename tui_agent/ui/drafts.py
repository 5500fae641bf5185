"""Keeps what is typed and not sent on the disk, while it is typed: a kill costs a fifth of a second of it at most."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from textual.timer import Timer

from tui_agent.unsent import Unsent

if TYPE_CHECKING:
    from tui_agent.ui.main import MainScreen

PAUSE = 0.2
"""Seconds between two writings, however fast the keys come. An idle screen writes nothing."""


class Drafts:
    """The draft and the queue of one main screen. `touch` may be called at every key and costs nothing then."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._timer: Timer | None = None
        self._beside: dict[str, str] = {}
        self._last = 0.0

    def touch(self) -> None:
        """Something unsent may have changed."""
        if self._timer is not None or self._screen.conversation is None:
            return
        # a text that has just gone is still on its way into the log: only the later writing may forget it
        if time.monotonic() - self._last > PAUSE and self._screen.composer.text:
            self.save()
        else:
            self._timer = self._screen.set_timer(PAUSE, self.save)

    def beside(self, place: str, text: str) -> None:
        """What is being written at a place and will come behind the draft: "" when it is there, or nothing is."""
        if self._beside.get(place, "") != text:
            self._beside[place] = text
            self.touch()

    def save(self) -> None:
        """Write it now."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if (conversation := self._screen.conversation) is not None:
            self._last = time.monotonic()
            draft, edits = self._screen.desk.unsent
            text = "\n\n".join(filter(None, (draft.full, *self._beside.values())))
            conversation.session.place.keep(Unsent(text, tuple(conversation.waiting), edits, draft.folds))
            self._screen.refresh_footer()  # it says what sending this would take
