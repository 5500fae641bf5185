"""A field of one line, for reasons and addresses."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.reactive import reactive
from textual.widgets import Input

from tui_agent.ui.editing import clean


def one_line(text: str) -> str:
    """A pasted text as one line that can be shown."""
    return " ".join(clean(text).splitlines())


class Field(Input):
    """An `Input` that takes what can be shown, as the composer does.

    Textual's own hands every character on to the terminal, controls and direction marks included; and its
    cursor blinks, which writes while nothing happens.
    """

    cursor_blink = reactive(False, init=False)
    alone: ClassVar[bool] = False
    """Whether no list is around it, whose keys come between those of the field."""

    def write(self, text: str, placeholder: str) -> None:
        """Let the person write on behind `text`, from the next key on."""
        self.select_on_focus = False
        self.value, self.placeholder, self.disabled = text, placeholder, False
        self.cursor_position = len(text)
        self.screen.set_focus(self)  # not `focus`, which waits: the next key may be in the queue already

    def feed_key(self, event: events.Key) -> None:
        """Take a key that reached somebody else while the person writes here: a letter, or Backspace."""
        if event.is_printable and event.character:
            self.insert_text_at_cursor(event.character)
        elif event.key == "backspace":
            self.action_delete_left()

    async def take(self, event: events.Key) -> None:
        """Do what a key means here, and let nobody else do it again; a key without a meaning goes on."""
        if event.is_printable:
            self.feed_key(event)
            event.stop()
            return
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if await self.app.run_action(binding.action, self):
                event.stop()
                return

    async def take_early(self, event: events.Key) -> None:
        """Take a key that came before the keyboard was given to this field: it reached the screen around, as no letter does now."""
        if event.is_printable or not self.has_focus:
            await self.take(event)

    def feed_paste(self, text: str) -> None:
        """Take a paste that reached somebody else, on one line."""
        self.insert_text_at_cursor(one_line(text))

    async def on_key(self, event: events.Key) -> None:
        """In a field alone every key counts where it was pressed, in its order.

        Textual would look for the binding when it has gone through all screens: behind the letters that came with it,
        after whoever took it on the way, and in vain where the terminal lost the focus meanwhile. In the field of a list
        that is right: Enter must not come before the arrow that was pressed before it.
        """
        if self.alone and not event.is_printable:
            await self.take(event)

    def on_paste(self, event: events.Paste) -> None:
        """Clean the text, and make one line of it: `Input` would take the first one only."""
        event.text = one_line(event.text)

    def replace(self, text: str, start: int, end: int) -> None:
        """Put what can be shown of a text in the place of another: every key and every paste comes through here."""
        super().replace(clean(text, self.value[:start]), start, end)

    def restricted(self) -> None:
        """What has no room is not taken, without Textual's bell: that is for a person who looks elsewhere."""
