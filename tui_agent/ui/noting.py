"""Notes in a diff: which line one is about, and the field where it is written.

A note is about the line with the cursor, in the new text or, where it is gone, in the old one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from textual.message import Message
from textual.widgets import Input

from tui_agent.review import Note, Notes
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.field import Field


class NoteField(Field):
    """A field for a note on one line of a diff, out of sight while there is none; it keeps the notes written there."""

    alone = True

    class Left(Message):
        """The field was left, with a note or without."""

    def __init__(self, id: str, keep: Callable[[str], None]) -> None:  # noqa: A002 - the name of it in Textual
        """`keep` takes all that was written so far, at every key."""
        super().__init__(id=id, disabled=True)
        self._keep, self._message = keep, ""
        self.notes = Notes()
        self._begun: dict[tuple[str, int, bool], str] = {}
        self.about: Note | None = None
        """The line that a note is being written about."""
        self.display = False

    def open(self, about: Note) -> None:
        """Let the person write about a line, or change what they wrote."""
        self.about, self.display = about, True
        self.write(self._begun.pop(about.place, self.notes.text(about)), f"note on line {about.line}")

    def leave(self) -> None:
        """Out of the field; what stands there is no note, but is there again when the field is opened again."""
        if (about := self.about) is not None and self.value.strip() != self.notes.text(about):
            self._begun[about.place] = self.value.strip()
        self.about = None
        self.disabled, self.display = True, False
        self.screen.set_focus(None)
        self.post_message(self.Left())

    def said(self, message: str) -> None:
        """All notes as one message, from now on."""
        self._message = message
        self.on_input_changed()

    def on_input_changed(self) -> None:
        """What was written so far outlives a kill."""
        writing = "" if self.about is None else self.value.strip()
        self._keep("\n\n".join(filter(None, (self.with_begun(self._message), writing))))

    def with_begun(self, message: str) -> str:
        """A message, and behind it what was begun and became no note."""
        return "\n\n".join(filter(None, (message, *self._begun.values())))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the note; an empty one is none."""
        event.stop()
        if self.about is not None:
            self.notes.put(replace(self.about, text=event.value.strip()))
        self.leave()


def place(view: DiffView) -> tuple[int, bool] | None:
    """The number of the line with the cursor, and whether it stands in the old text only; None without a line."""
    line = view.cursor_line
    if line is None:
        return None
    new = line.beside.new if line.beside is not None else line.new
    if new is not None:
        return new, False
    return None if line.old is None else (line.old, True)


def line_to_open(view: DiffView) -> int:
    """The line of the new text to look at: the one with the cursor, or where it stood; 1 without a cursor."""
    found = place(view)
    if found is None or not found[1]:
        return found[0] if found else 1
    changes = (change for hunk in view.hunks for change in hunk.changes)
    return next((change.new.start + 1 for change in changes if found[0] - 1 in change.old), 1)


def note_at(view: DiffView, path: str) -> Note | None:
    """An empty note on the line with the cursor, None when there is no line."""
    found = place(view)
    if found is None:
        return None
    number, gone = found
    data = view.base if gone else view.new
    quote = (data or b"").decode("utf-8", "replace").split("\n")[number - 1].rstrip("\r")
    return Note(path, number, quote, "", gone)
