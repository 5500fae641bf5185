"""The line where the person writes: a `TextArea` that sends on Enter, folds big pastes and never loses a draft.

One function, `Composer.feed_key`, decides what a key does, whether the composer has the focus or a
dialog lies over it and hands it the keys that were typed too early.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.actions import SkipAction
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location, Selection

LONG_TEXT = 2_000
"""Characters; a longer paste, or a paste that makes a longer line, folds: a line of 200,000 costs 1 s per key."""

LONG_LINES = 40
"""A paste of more lines than this folds."""

NEWLINE_KEYS = frozenset({"ctrl+j", "shift+enter", "shift+\r", "alt+enter"})
"""`shift+\\r` is what Textual makes of Shift+Enter in xterm's modifyOtherKeys encoding."""

KEYS = {
    "up": "cursor_up",
    "down": "cursor_down",
    "left": "cursor_left",
    "right": "cursor_right",
    "ctrl+f": "cursor_right",
    "ctrl+left": "cursor_word_left",
    "alt+b": "cursor_word_left",
    "ctrl+right": "cursor_word_right",
    "alt+f": "cursor_word_right",
    "home": "cursor_line_start",
    "ctrl+a": "cursor_line_start",
    "end": "cursor_line_end",
    "ctrl+e": "cursor_line_end",
    "backspace": "delete_left",
    "shift+backspace": "delete_left",
    "delete": "delete_right",
    "ctrl+d": "delete_right",
    "ctrl+u": "kill_to_line_start",
    "ctrl+k": "kill_to_line_end",
    "ctrl+w": "kill_word_left",
    "ctrl+backspace": "kill_word_left",
    "alt+backspace": "kill_word_left",
    "alt+d": "kill_word_right",
    "alt+delete": "kill_word_right",
    "ctrl+y": "yank",
    "alt+y": "yank_older",
    "ctrl+underscore": "undo",
    "ctrl+slash": "undo",
    "ctrl+shift+minus": "undo",
    "super+z": "undo",
    "ctrl+shift+z": "redo",
    "super+a": "select_all",
    "super+x": "cut",
    "ctrl+c": "copy",
    "super+c": "copy",
    "ctrl+v": "paste",
    "super+v": "paste",
}
"""Key to `TextArea` action. What is not here belongs to the app: Ctrl+X leads, Ctrl+Z suspends, PgUp scrolls."""

SELECTING_KEYS = {
    "shift+up": "cursor_up",
    "shift+down": "cursor_down",
    "shift+left": "cursor_left",
    "shift+right": "cursor_right",
    "ctrl+shift+left": "cursor_word_left",
    "ctrl+shift+right": "cursor_word_right",
    "shift+home": "cursor_line_start",
    "shift+end": "cursor_line_end",
}

BURST_KEYS = 8
BURST_GAP = 0.02
"""This many keys, each this many seconds after the last, are a paste of a terminal without bracketed paste.

A held key repeats every 30 ms at most; much less than that, and a busy machine tears a paste apart.
"""

BURST_WAIT = 0.03
"""Seconds that Enter at the end of a burst waits for a next key, which makes it a line break."""

_LINE_BREAK = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_UNSHOWN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # controls but tab and newline
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # text direction
    "\u00ad\u200b\u2060-\u2064\ufeff"  # no width, and no part of any script: a name may hide behind them
    "\ud800-\udfff\U000e0000-\U000e007f]"  # half characters, invisible tags
)
_CHIP = re.compile(r"\[paste \d+: [\d,]+ (?:lines|characters)\]")
_JOINER = "\u200d"


def clean(text: str) -> str:
    """Keep of a pasted or loaded text what can be shown: what the person sees is what is sent.

    Line breaks of every kind become newlines; controls but tab and newline, direction marks, blanks
    without width, invisible tags and lone surrogates are dropped.
    """
    return _UNSHOWN.sub("", _LINE_BREAK.sub("\n", text))


def grapheme_start(line: str, column: int) -> int:
    """Return where the visible character that ends at `column` (at least 1) begins."""
    start = column - 1
    while start > 0 and not (line[start].isascii() and line[start - 1].isascii()):
        start -= 1
    while (end := grapheme_end(line, start)) < column:
        start = end
    return start


def grapheme_end(line: str, column: int) -> int:
    """Return where the visible character that begins at `column` (less than the length) ends."""
    end = column + 1
    if _is_flag_half(line[column]) and line[end : end + 1] and _is_flag_half(line[end]):
        end += 1
    while end < len(line) and (_extends(line[end]) or line[end - 1] == _JOINER):
        end += 1
    return end


def _extends(character: str) -> bool:
    return not character.isascii() and (
        unicodedata.category(character).startswith("M")
        or character == _JOINER
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


class Pastes:
    """Long texts that stand in the draft as short chips such as `[paste 1: 312 lines]`.

    A chip is plain text of the draft, so undo and yank need not know of it. Any outside text that
    reads like a chip becomes a chip itself; `unfold` therefore restores every paste byte for byte.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._texts)

    def fold(self, text: str, line: str = "") -> str:
        """Return `text`, or a chip for it when it is long or would make `line` long."""
        head, tail = text.find("\n"), text.rfind("\n")
        touched = len(text) if head < 0 else max(head, len(text) - tail)
        if (
            len(text) <= LONG_TEXT
            and text.count("\n") < LONG_LINES
            and (not text or len(line) + touched <= LONG_TEXT)
            and not _CHIP.search(text)
        ):
            return text
        lines = text.count("\n") + (not text.endswith("\n"))
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        chip = f"[paste {len(self._texts) + 1}: {size}]"
        self._texts[chip] = text
        return chip

    def refold(self, text: str, line: str = "") -> str:
        """Put the known chips back into a text that `unfold` gave away, and fold what is still long."""
        for chip, paste in self._texts.items():
            before, found, after = text.partition(paste)
            if found:
                return self.refold(before, line) + chip + self.refold(after, line)
        return self.fold(text, line)

    def unfold(self, text: str) -> str:
        """Return `text` with each chip replaced by what it stands for."""
        return _CHIP.sub(lambda chip: self._texts.get(chip[0], chip[0]), text) if self._texts else text

    def chip_around(self, line: str, column: int) -> tuple[int, int] | None:
        """Return the columns of the chip that `column` would cut in two, if there is one."""
        for chip in _CHIP.finditer(line):
            if chip.start() < column < chip.end() and chip[0] in self._texts:
                return chip.span()
        return None


class Composer(TextArea, inherit_bindings=False):
    """The composer: `text`, `load`, `put_away`, `feed_key`, `feed_paste`.

    It grows with its content (`styles/composer.tcss` bounds it), has no border and no blinking
    cursor: an idle screen writes nothing.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"composer--prompt"}

    @dataclass
    class Submitted(Message):
        """The person sent `text`.

        The composer is empty already, so keys typed since then are a new draft; whoever cannot
        take the text puts it back with `load`.
        """

        text: str

    @dataclass
    class HistoryRequested(Message):
        """The person asked for an older (`step` -1) or newer (+1) entry.

        Sent only when the composer is empty or holds an unchanged recalled entry, so answering
        with `load(entry, recalled=True)` never costs a draft.
        """

        step: int

    def __init__(
        self,
        *,
        placeholder: str = "",
        prompt: str = "› ",
        newline_keys: frozenset[str] = NEWLINE_KEYS,
        id: str | None = None,  # noqa: A002 - Textual's name for it
    ) -> None:
        self._prompt = prompt
        self._newline_keys = newline_keys
        self._pastes = Pastes()
        self._kills: deque[str] = deque(maxlen=32)
        self._yanked: tuple[Location, Location, int] | None = None
        self._recalled: str | None = None
        self._last_key = 0.0
        self._burst = 0
        self._burst_has_lines = False
        self._held_enter: Timer | None = None
        self.intercept: Callable[[events.Key], bool] | None = None
        """Sees each key first while the composer has the focus (a completion popup); True means taken."""
        super().__init__(placeholder=placeholder, highlight_cursor_line=False, id=id)
        self.set_reactive(TextArea.cursor_blink, False)
        self.set_reactive(TextArea.match_cursor_bracket, False)
        # A scrollbar that comes or goes during undo makes Textual 8.2.8 look up a line that is gone.
        self.styles.overflow_y = "scroll"

    # ------------------------------------------------------------------ the draft

    @property
    def text(self) -> str:
        """The whole draft, folded pastes in full."""
        return self._pastes.unfold(self.document.text)

    @text.setter
    def text(self, value: str) -> None:
        self.load(value)

    def load(self, text: str, *, recalled: bool = False) -> None:
        """Replace the draft by `text`, the cursor at its end.

        `recalled`: the text is an entry of the history; while it is unchanged Up and Down go on to
        other entries.
        """
        self.load_text(self._pastes.refold(clean(text)))
        self.move_cursor(self.document.end)
        self._recalled = self.document.text if recalled else None

    def put_away(self) -> str:
        """Move the draft to the kill ring, where Ctrl+Y finds it, and return it."""
        text = self.text
        if text:
            self._kills.append(text)
            self.load("")
        return text

    # ------------------------------------------------------------------ keys and pastes

    def feed_key(self, event: events.Key) -> bool:
        """Do what `event` means to the composer, with or without the focus; False when it means nothing."""
        key = event.key
        if self._settle_burst(event):
            return True
        if key == "enter":
            self._enter()
        elif key in self._newline_keys:
            self._insert("\n")
        elif key in SELECTING_KEYS:
            getattr(self, f"action_{SELECTING_KEYS[key]}")(select=True)
        elif key in KEYS:
            if key == "ctrl+d" and not self.document.text:
                return False
            try:
                getattr(self, f"action_{KEYS[key]}")()
            except SkipAction:
                return False
        elif event.is_printable and event.character and "ctrl+" not in key and "alt+" not in key:
            self._insert(event.character)
        else:
            return False
        return True

    def feed_paste(self, text: str) -> None:
        """Insert a pasted text as one edit; a big one as a chip. It never sends."""
        row, _ = self.cursor_location
        if cleaned := clean(text):
            self._insert(self._pastes.fold(cleaned, self.document[row]))

    def on_key(self, event: events.Key) -> None:
        """Take the keys that mean something here and leave the others to the app."""
        taken = (self.intercept is not None and self.intercept(event)) or self.feed_key(event)
        # Tab moves on only from an empty composer: a Tab typed into a text must not lose its place.
        if taken or (event.key == "tab" and self.document.text):
            event.stop()
            event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Take a bracketed paste."""
        event.stop()
        event.prevent_default()
        self.feed_paste(event.text)

    def _enter(self) -> None:
        row, column = self.cursor_location
        if self._burst >= BURST_KEYS:
            self._held_enter = self.set_timer(BURST_WAIT, self._release_enter)
        elif self.selection.is_empty and self.document[row][:column].endswith("\\"):
            self.replace("\n", (row, column - 1), (row, column), maintain_selection_offset=False)
        else:
            self._submit()

    def _submit(self) -> None:
        text = self.text
        if text.strip():
            self.load("")
            self.post_message(self.Submitted(text))

    def _settle_burst(self, event: events.Key) -> bool:
        """Count keys that come faster than anyone types; settle an Enter that waits for this one.

        Return True when the key itself is used up: the LF after a CR.
        """
        rapid = event.time - self._last_key < BURST_GAP
        self._last_key = event.time
        self._burst = self._burst + 1 if rapid else 0
        self._burst_has_lines &= rapid
        if self._held_enter is None:
            return False
        self._burst_has_lines |= rapid
        self._release_enter()
        return rapid and event.key == "ctrl+j"

    def _release_enter(self) -> None:
        """Send, or break the line when the Enter stood inside or at the end of several pasted lines."""
        if self._held_enter is not None:
            self._held_enter.stop()
            self._held_enter = None
        if self._burst_has_lines:
            self._insert("\n")
        else:
            self._submit()

    # ------------------------------------------------------------------ editing

    def _insert(self, text: str) -> None:
        self.replace(text, *self.selection, maintain_selection_offset=False)

    def edit(self, edit: Edit) -> EditResult:
        """Perform an edit; one that would cut a chip in two takes the whole chip."""
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

    def _kill(self, target: Location) -> None:
        """Move the selection, or the text between the cursor and `target`, to the kill ring."""
        start, end = sorted(self.selection if not self.selection.is_empty else (self.cursor_location, target))
        result = self.delete(start, end, maintain_selection_offset=False)
        if result.replaced_text:
            self._kills.append(self._pastes.unfold(result.replaced_text))

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
        self._yank(1)

    def action_yank_older(self) -> None:
        """Replace what was just yanked by what was cut before it."""
        if self._yanked is not None and self.selection.is_empty and self.cursor_location == self._yanked[1]:
            start, end, age = self._yanked
            self.selection = Selection(start, end)
            self._yank(age % len(self._kills) + 1)

    def _yank(self, age: int) -> None:
        if self._kills:
            start = min(self.selection)
            self._insert(self._pastes.refold(self._kills[-age], self.document[start[0]]))
            self._yanked = (start, self.cursor_location, age)

    def action_paste(self) -> None:
        """Paste from the app's own clipboard."""
        self.feed_paste(self.app.clipboard)

    def action_cursor_up(self, select: bool = False) -> None:
        """Move up, or ask for the entry before this one."""
        if not select and self._browses and self.navigator.is_first_wrapped_line(self.cursor_location):
            self.post_message(self.HistoryRequested(-1))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Move down, or ask for the entry after this one."""
        if not select and self._browses and self.navigator.is_last_wrapped_line(self.cursor_location):
            self.post_message(self.HistoryRequested(1))
        else:
            super().action_cursor_down(select)

    @property
    def _browses(self) -> bool:
        text = self.document.text
        return not text or text == self._recalled

    # ------------------------------------------------------------------ looks

    @property
    def gutter_width(self) -> int:
        """The cells of the prompt, which `TextArea` keeps free on the left."""
        return len(self._prompt)

    def render_line(self, y: int) -> Strip:
        """Render one row, the prompt before the first."""
        prompt = self._prompt if y + self.scroll_offset.y == 0 else " " * len(self._prompt)
        gutter = Segment(prompt, self.get_component_rich_style("composer--prompt"))
        return Strip.join([Strip([gutter], len(prompt)), super().render_line(y)])
