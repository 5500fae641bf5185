"""What a key of the review would do to the file that is shown: take hunks back, or apply a proposal after all. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tui_agent.review import Base, Entry
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.keymap import Keymap


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
    if entry is None or view is None or entry.proposed or base != "session":
        return "Only a change since the start of the session can be taken back here."
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
