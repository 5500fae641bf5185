"""What a key of the review would do to the file that is shown: take hunks back, or apply a proposal after all.

It is done at the second press; the first one says what that would be.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from tui_agent.core.display import plain
from tui_agent.core.types import Outcome
from tui_agent.review import Base, Entry
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.keymap import Keymap

Act: TypeAlias = Callable[[Entry, frozenset[int] | None], Awaitable[Outcome]]
"""Does something to hunks of a file, None: to all of it."""


@dataclass(frozen=True, slots=True)
class Deed:
    """What the second press of `key` does, to which hunks of the file at `at` of the list; None: to all of it."""

    key: str
    at: int
    hunks: frozenset[int] | None

    def words(self, own: Keymap) -> str:
        """That it waits for the second press; `own` are the keys of the person."""
        which = f"hunk {', '.join(map(str, sorted(self.hunks)))}" if self.hunks is not None else ""
        did = f"applies {which or 'this change'}" if self.key == "A" else f"takes back {which or 'the whole file'}"
        return f"{own.shown('review', self.key)} again {did}   any other key: no"


def to_revert(entry: Entry | None, view: DiffView | None, base: Base, at: int, *, whole: bool) -> Deed | str:
    """Take back the marked hunks, else the one at the cursor, else the one at the top; in words, why that cannot be."""
    if entry is None or view is None or entry.proposed or base == "head":
        return "Only a change of this session can be taken back here."
    if entry.base == entry.now:
        return "Its text did not change; /undo gives permissions back."
    every = whole or not view.hunks
    return Deed("U" if whole else "u", at, None if every else view.left_out or frozenset({view.hunk}))


def to_apply(entry: Entry | None, view: DiffView | None, at: int) -> Deed | str:
    """Apply a proposal without the hunks that are left out; in words, why that cannot be."""
    if entry is None or view is None or entry.request is None:
        return "Only a change that was not applied, and still fits, can be applied here."
    if view.chosen == frozenset():
        return "Every hunk is left out."
    return Deed("A", at, view.chosen)


@dataclass(slots=True)
class Deeds:
    """Asks at the first press, acts at the second. `busy`: a turn runs, so nothing can be written."""

    busy: Callable[[], bool]
    asked: Deed | None = None
    _said: str = ""

    def words(self, own: Keymap) -> str:
        """A word about the last key, or what the second press of one would do; "" when there is nothing to say."""
        return self._said if self.asked is None else self.asked.words(own)

    def say(self, words: str) -> None:
        """A word about the last key, until the next one."""
        self._said = plain(words)

    def press(self, key: str) -> bool:
        """Any key takes the last word away, and any but the same one again the question back; whether there was something."""
        other = self.asked is not None and self.asked.key != key
        gone, self._said = other or bool(self._said), ""
        self.asked = None if other else self.asked
        return gone

    async def do(self, deed: Deed | str, entry: Entry | None, act: Act) -> bool:
        """Ask or act; True when it was tried, and the files may be other ones."""
        if isinstance(deed, str) or entry is None:
            self.say(str(deed))
        elif self.busy():
            self.say("A turn is running. Stop it first.")
        elif self.asked != deed:
            self.asked = deed
        else:
            outcome = await act(entry, deed.hunks)
            if outcome.status != "applied":
                why = outcome.note or outcome.text
                self.say(outcome.text if outcome.receipt is not None else f"Nothing was changed: {why}")
            return True
        return False
