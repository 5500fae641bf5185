"""The line where the person writes: a `TextArea` that sends on Enter, folds big pastes and never loses a draft.

One function, `Composer.feed_key`, decides what a key does, whether the composer has the focus or a
dialog lies over it and hands it the keys that were typed too early.
"""

from __future__ import annotations

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

from tui_agent.core.characters import JOINERS
from tui_agent.ui.chips import Draft
from tui_agent.ui.completion import mention
from tui_agent.ui.draft_area import DraftArea
from tui_agent.ui.editing import Burst
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.workspace.images import dropped

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
ERASES = frozenset(key for key, action in KEYS.items() if action.startswith(("delete_", "kill_")))
"""The keys that take something out of the text."""

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

BURST_WAIT = 0.03
"""Seconds that Enter at the end of a burst waits for a next key, which makes it a line break."""


def _types(character: str) -> bool:
    """Whether a character is a part of texts: a joiner is nothing that is drawn, but changes what is."""
    return character.isprintable() or character in JOINERS


class Composer(DraftArea, inherit_bindings=False):
    """The composer: `text` and `draft`, `load`, `put_away`, `feed_key`, `feed_paste`.

    It grows with its content (`styles/composer.tcss` bounds it), has no border and no blinking
    cursor: an idle screen writes nothing.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"composer--prompt"}

    @dataclass
    class Submitted(Message):
        """The person sent `draft`.

        The composer is empty already, so keys typed since then are a new draft; whoever cannot
        take it puts it back.
        """

        draft: Draft
        soon: bool = False
        """The run that goes on is to hear it."""

        @property
        def text(self) -> str:
            """The text in full."""
            return self.draft.full

    class PasteRequested(Message):
        """The key for pasting was pressed, and not by the terminal: what was copied here, or a picture."""

    @dataclass
    class HistoryRequested(Message):
        """The person went up from the first row (`step` -1) or down from the last (+1), to another entry.

        What stands in the composer may be unsaved: whoever answers by setting `draft` keeps it.
        """

        step: int

    def __init__(
        self,
        *,
        placeholder: str = "",
        prompt: str = "› ",
        keys: Keymap = USUAL,
        id: str | None = None,  # noqa: A002 - Textual's name for it
    ) -> None:
        self._prompt = prompt
        self.keys = keys
        self._burst = Burst()
        self._held_enter: Timer | None = None
        self.intercept: Callable[[events.Key], bool] | None = None
        """Sees each key first while the composer has the focus (a list of completions); True means taken."""
        super().__init__(placeholder=placeholder, highlight_cursor_line=False, id=id)
        self.set_reactive(TextArea.cursor_blink, False)
        self.set_reactive(TextArea.match_cursor_bracket, False)
        # A scrollbar that comes or goes during undo makes Textual 8.2.8 look up a line that is gone.
        self.styles.overflow_y = "scroll"

    # ------------------------------------------------------------------ keys and pastes

    @property
    def pasting(self) -> bool:
        """Whether keys come so fast that nobody types them."""
        return self._burst.is_paste

    def meant(self, event: events.Key) -> str:
        """The key that stands for what is meant by the one that was pressed: "enter" sends, "ctrl+j" begins a line."""
        return self.keys.meant("composer", event.key)

    def feed_key(self, event: events.Key) -> bool:
        """Do what `event` means to the composer, with or without the focus; False when it means nothing."""
        key = self.meant(event)
        if self._settle_burst(event):
            return True
        if key == "enter":
            self._enter()
        elif key == "ctrl+j":
            self.type("\n")
        elif key in SELECTING_KEYS:
            getattr(self, f"action_{SELECTING_KEYS[key]}")(select=True)
        elif key in KEYS:
            if key == "ctrl+d" and not self.document.text:
                return False
            try:
                self.act(KEYS[key])
            except SkipAction:
                return False
        elif (char := event.character) and "ctrl+" not in key and "alt+" not in key and _types(char):
            self.type(char)
        else:
            return False
        return True

    def feed_paste(self, text: str) -> None:
        """Insert a pasted text as one edit; a big one as a chip. It never sends."""
        self.insert_paste(text)
        self.followed(False)

    def on_key(self, event: events.Key) -> None:
        """Take the keys that mean something here and leave the others to the app."""
        before = self.document.text
        taken = self.intercept is not None and self.intercept(event)
        if not taken and (taken := self.feed_key(event)):
            self.followed(self.document.text != before)
        # Tab moves on only from an empty composer: a Tab typed into a text must not lose its place.
        if not taken and before and "tab" in {event.key, self.meant(event)}:
            if self.meant(event) == "tab":
                self.unfold()
            taken = True
        if taken:
            event.stop()
            event.prevent_default()

    def on_blur(self) -> None:
        """What was offered while the person typed is over."""
        self.followed(False)

    def on_paste(self, event: events.Paste) -> None:
        """Take a bracketed paste; a picture that was dropped is named, so that it is sent in the middle of a line, too."""
        event.stop()
        event.prevent_default()
        picture = dropped(event.text)
        self.feed_paste(event.text if picture is None else f"{mention(picture)} ")

    def _enter(self) -> None:
        row, column = self.cursor_location
        if self._burst.is_paste:
            self._held_enter = self.set_timer(BURST_WAIT, self._release_enter)
        elif self.selection.is_empty and self.document[row][:column].endswith("\\"):
            self.replace("\n", (row, column - 1), (row, column), maintain_selection_offset=False)
        else:
            self.submit()

    def submit(self, *, soon: bool = False) -> bool:
        """Send the draft; False when there is none."""
        draft = self.draft
        if there := bool(draft.text.strip()):
            self.load("")
            self.post_message(self.Submitted(draft, soon))
        return there

    def _settle_burst(self, event: events.Key) -> bool:
        """Settle an Enter that waits for this key; True when the key itself is used up: the LF after a CR."""
        held = self._held_enter is not None
        rapid = self._burst.feed(event.time, after_enter=held)
        if held:
            self._release_enter()
        return held and rapid and event.key == "ctrl+j"

    def _release_enter(self) -> None:
        """Send, or break the line when the Enter stood inside or at the end of several pasted lines."""
        if self._held_enter is not None:
            self._held_enter.stop()
            self._held_enter = None
        if self._burst.has_lines:
            self.type("\n")
        else:
            self.submit()

    # ------------------------------------------------------------------ beyond the text

    def action_paste(self) -> None:
        """Ask for what was copied; the terminal itself pastes texts of others."""
        self.post_message(self.PasteRequested())

    def action_cursor_up(self, select: bool = False) -> None:
        """Move up, or ask for the entry before this one."""
        if not select and self.navigator.is_first_wrapped_line(self.cursor_location):
            self.post_message(self.HistoryRequested(-1))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Move down, or ask for the entry after this one."""
        if not select and self.navigator.is_last_wrapped_line(self.cursor_location):
            self.post_message(self.HistoryRequested(1))
        else:
            super().action_cursor_down(select)

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
