"""An editor of a draft: it folds big pastes, moves by visible characters, and cuts and yanks as a shell does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location, Selection

from tui_agent.ui.chips import Draft, Pastes
from tui_agent.ui.editing import KillRing, clean, grapheme_end, grapheme_start


class DraftArea(TextArea, inherit_bindings=False):
    """`text` and `draft`, `load`, `insert_paste`, `complete`, `put_away`, and the actions that `TextArea` lacks."""

    @dataclass
    class Folded(Message):
        """A paste of so many characters was folded."""

        characters: int

    def __init__(self, **kw: Any) -> None:
        self._pastes = Pastes()
        self._kills = KillRing()
        self._killing = self._chained = False
        self._yanked: tuple[Location, Location, int] | None = None
        self.followed: Callable[[bool], None] = lambda _typed: None
        """Told whenever text or cursor may have changed: True after a key that was typed here, False after anything else."""
        super().__init__(**kw)

    # ------------------------------------------------------------------ the draft

    @property
    def text(self) -> str:
        """The whole draft, folded pastes in full."""
        return self._pastes.unfold(self.document.text)

    @text.setter
    def text(self, value: str) -> None:
        self.load(value)

    def load(self, text: str, folds: Iterable[tuple[int, ...]] = ()) -> None:
        """Replace the draft by `text`, the cursor at its end; `folds` are the parts of it that are folded pastes."""
        self._show(self._pastes.fold_at(text, folds))

    @property
    def draft(self) -> Draft:
        """The draft as a value, its folded pastes beside it."""
        return self._pastes.draft(self.document.text)

    @draft.setter
    def draft(self, draft: Draft) -> None:
        self._show(clean(self._pastes.adopt(draft)))

    def _show(self, folded: str) -> None:
        self.load_text(folded)
        self.move_cursor(self.document.end)
        self.followed(False)

    def complete(self, start: int, text: str) -> None:
        """Put `text` in the place of what stands between column `start` of the cursor's line and the cursor."""
        row, column = self.cursor_location
        self.replace(text, (row, start), (row, column), maintain_selection_offset=False)

    @property
    def before(self) -> tuple[str, str]:
        """The cursor's line up to the cursor, and what stands before that line."""
        row, column = self.cursor_location
        return self.document[row][:column], "".join(f"{line}\n" for line in self.document.lines[:row])

    @property
    def selected(self) -> str:
        """What is selected, folded pastes in full."""
        return self._pastes.unfold(self.selected_text)

    def unselect(self) -> None:
        """Leave the cursor where it is, and nothing selected."""
        self.selection = Selection.cursor(self.cursor_location)

    def put_away(self) -> str:
        """Move the draft to the kill ring, where Ctrl+Y finds it, and return it."""
        text = self.text
        if text:
            self.keep(text)
            self.load("")
        return text

    def keep(self, text: str) -> None:
        """Put a text on the kill ring, where Ctrl+Y finds it."""
        self._kills.kill(text)

    # ------------------------------------------------------------------ editing

    def type(self, text: str) -> None:
        """Put `text` in the place of the selection."""
        self.replace(text, *self.selection, maintain_selection_offset=False)

    def insert_paste(self, text: str) -> None:
        """Put a pasted text in the place of the selection, as one edit; a big one as a chip."""
        row, _ = self.cursor_location
        if cleaned := clean(text):
            self.type(folded := self._pastes.fold(cleaned, self.document[row]))
            if folded != cleaned:
                self.post_message(self.Folded(len(cleaned)))

    def act(self, action: str) -> None:
        """Carry out an action by its name; kills that follow one another through here are one."""
        self._chained, self._killing = self._killing, False
        getattr(self, f"action_{action}")()

    def edit(self, edit: Edit) -> EditResult:
        """Perform an edit with what can be shown of its text; one that would cut a chip in two takes the whole chip."""
        self._killing = False
        row, column = edit.top
        if (cleaned := clean(edit.text, self.document[row][:column])) != edit.text:
            edit = Edit(cleaned, edit.from_location, edit.to_location, edit.maintain_selection_offset)
        if self._pastes:
            top, bottom = self._snap(edit.top, forward=False), self._snap(edit.bottom, forward=True)
            if (top, bottom) != (edit.top, edit.bottom):
                edit = Edit(edit.text, top, bottom, edit.maintain_selection_offset)
        return super().edit(edit)

    def validate_selection(self, selection: Selection) -> Selection:
        """Keep the cursor out of chips: it steps over them in the direction in which it moves."""
        if not self._pastes:
            return selection
        forward = selection.end > self.selection.end
        return Selection(self._snap(selection.start, forward=forward), self._snap(selection.end, forward=forward))

    def _snap(self, location: Location, *, forward: bool) -> Location:
        row, column = location
        if row >= self.document.line_count:
            return location
        around = self._pastes.chip_around(self.document[row], column)
        return location if around is None else (row, around[forward])

    def get_cursor_left_location(self) -> Location:
        """Return the location one visible character to the left."""
        row, column = self.cursor_location
        return (row, grapheme_start(self.document[row], column)) if column else super().get_cursor_left_location()

    def get_cursor_right_location(self) -> Location:
        """Return the location one visible character to the right."""
        row, column = self.cursor_location
        line = self.document[row]
        return (row, grapheme_end(line, column)) if column < len(line) else super().get_cursor_right_location()

    def unfold(self) -> None:
        """Put a paste in the place of its chip, if the cursor is beside one."""
        row, column = self.cursor_location
        if (span := self._pastes.chip_beside(self.document[row], column)) is None:
            return
        text = self._pastes.editable(self.document[row][slice(*span)])
        if text is None:
            self.notify("This paste has a line too long to edit here. It is sent in full.", markup=False)
        else:
            self.replace(text, (row, span[0]), (row, span[1]), maintain_selection_offset=False)

    def _kill(self, target: Location) -> None:
        """Move the selection, or the text between the cursor and `target`, to the kill ring."""
        forward = target > self.cursor_location
        start, end = sorted(self.selection if not self.selection.is_empty else (self.cursor_location, target))
        result = self.delete(start, end, maintain_selection_offset=False)
        if result.replaced_text:
            self._kills.kill(self._pastes.unfold(result.replaced_text), forward=forward, chained=self._chained)
            self._killing = True

    def action_kill_to_line_start(self) -> None:
        """Cut to the start of the line; at the start, the line break before it."""
        row, column = self.cursor_location
        self._kill((row, 0) if column else self.get_cursor_left_location())

    def action_kill_to_line_end(self) -> None:
        """Cut to the end of the line; at the end, the line break."""
        row, column = self.cursor_location
        length = len(self.document[row])
        self._kill((row, length) if column < length else self.get_cursor_right_location())

    def action_kill_word_left(self) -> None:
        """Cut the word before the cursor."""
        self._kill(self.get_cursor_word_left_location())

    def action_kill_word_right(self) -> None:
        """Cut the word after the cursor."""
        self._kill(self.get_cursor_word_right_location())

    def action_yank(self) -> None:
        """Insert what was cut or put away last."""
        self._yank(0)

    def action_yank_older(self) -> None:
        """Replace what was just yanked by what was cut before it."""
        if self._yanked is not None and self.selection.is_empty and self.cursor_location == self._yanked[1]:
            start, end, age = self._yanked
            self.selection = Selection(start, end)
            self._yank(age + 1)

    def _yank(self, age: int) -> None:
        if self._kills:
            start = min(self.selection)
            self.type(self._pastes.refold(self._kills.yank(age), self.document[start[0]]))
            self._yanked = (start, self.cursor_location, age)
