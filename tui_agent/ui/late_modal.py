"""A dialog that listens late: the keyboard half of every question on the screen.

The dialog itself decides nothing by accident: it is deaf while the person may still be
typing (`arming`), what is not meant for it goes to the composer, a paste is always text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from inspect import isawaitable
from time import monotonic
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.timer import Timer

from tui_agent.ui.arming import Arming
from tui_agent.ui.composer import ERASES
from tui_agent.ui.field import Field
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.ui.modal import Modal

Result = TypeVar("Result")


@dataclass(slots=True)
class Outside:
    """What a dialog needs from outside: the composer's two inputs, the status line, the time.

    `feed_key` and `feed_paste` give input to the composer, bindings included; `footer` is told
    what works now; `clock` is monotonic, in seconds.
    """

    feed_key: Callable[[events.Key], Awaitable[None] | None] = lambda _: None
    feed_paste: Callable[[events.Paste], Awaitable[None] | None] = lambda _: None
    footer: Callable[[tuple[str, ...]], None] = lambda _: None
    clock: Callable[[], float] = monotonic
    arming: Arming = field(default_factory=Arming)
    keys: Keymap = USUAL
    """The keys of the person."""
    keep: Callable[[str], None] = lambda _: None
    """Takes what was written in a question that ended without it: it belongs to the person's text."""
    beside: Callable[[str], None] = lambda _: None
    """Takes all that was written so far and is on no disk yet, at every key."""
    free_rows: Callable[[bool], int] = lambda _tight: 3
    """Rows at the bottom that stay free; on a very low screen (True) as few as the draft needs."""


class LateModal(Modal[Result], Generic[Result]):
    """A modal screen with late arming; subclasses name their keys and override the hooks."""

    AUTO_FOCUS = ""
    ANSWER_KEYS: ClassVar[frozenset[str]] = frozenset()
    """Keys that decide something."""
    OTHER_KEYS: ClassVar[frozenset[str]] = frozenset()
    """Other keys of the dialog."""

    def __init__(self, outside: Outside) -> None:
        super().__init__()
        self.outside = outside
        self.arming = outside.arming
        self.over = False
        """Whether the dialog has ended; keys that were on their way are text."""
        self._held: events.Key | None = None
        self._waker: Timer | None = None

    # -------------------------------------------------------------- hooks

    def meant(self, key: str) -> str:
        """The key that stands here for what is meant by the one that was pressed; "" for nothing."""
        return key

    def answers(self, key: str) -> bool:
        """Whether a key decides something now; if not, it is text."""
        return key in self.ANSWER_KEYS

    @property
    def field(self) -> Field | None:
        """The text field of the dialog that has the keyboard."""
        return None

    def takes(self, key: str) -> bool:
        """Whether a key that is no answer is for the dialog now."""
        return key in self.OTHER_KEYS

    async def answer(self, key: str) -> None:
        """One of `ANSWER_KEYS` was meant."""

    def command(self, key: str) -> None:
        """One of `OTHER_KEYS` was pressed."""

    def refuse(self, key: str) -> None:
        """A key that does nothing here was pressed."""

    def interrupt(self) -> None:
        """Ctrl+C, at any time."""

    def leave_field(self) -> None:
        """Escape in a text field."""

    def show_state(self) -> None:
        """Something changed: draw it."""

    # -------------------------------------------------------------- time

    @property
    def now(self) -> float:
        """The time of the injected clock."""
        return self.outside.clock()

    @property
    def armed(self) -> bool:
        """Whether keys are commands now."""
        return self.arming.armed(self.now)

    def listen_when_painted(self) -> None:
        """New content is being shown: deaf until it was painted and a while longer."""
        self.arming.hide()
        self._held = None
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        self.arming.painted(self.now)
        self._changed()

    def _changed(self) -> None:
        """Show the state, and wake up when it changes by itself."""
        if self.over:
            return
        self.show_state()
        if self._waker is not None:
            self._waker.stop()
        wait = self.arming.wakes(self.now)
        self._waker = None if wait is None else self.set_timer(wait + 0.001, self.tick)

    async def tick(self) -> None:
        """Something may be due: a held answer counts, or the dialog listens from now on."""
        await self._give()
        self._changed()

    async def _give(self) -> bool:
        """Let a held answer count whose moment is over; whether there was one."""
        if self.arming.due(self.now) is None or self._held is None:
            return False
        held, self._held = self._held, None
        await self.answer(self.meant(held.key))
        return True

    # -------------------------------------------------------------- keys

    async def on_key(self, event: events.Key) -> None:
        """Route one key."""
        if self.over:
            event.stop()
            await self._draft(event)
        elif event.key == "ctrl+c":
            event.stop()
            event.prevent_default()
            self.interrupt()
        elif self.field is not None:
            if event.key == "escape":
                event.stop()
                self.leave_field()
                self.arming.disturb(self.now)
                self._changed()
            else:  # on its way before the field had the focus: the field lets none out that it knows
                await self.field.take(event)
        elif await self._give():  # a busy app hears of this key before it wakes up for the held one
            await self.on_key(event)
        else:
            event.stop()
            event.prevent_default()
            await self._press(event)
            self._changed()

    async def _press(self, event: events.Key) -> None:
        held, key = self._held, self.meant(event.key)
        route = self.arming.press(
            event.key,
            self.now,
            late=max(0.0, monotonic() - event.time),
            answer=self.answers(key),
            command=self.takes(key),
            text=event.is_printable or event.key in ERASES,  # what went to the text can be taken back there
        )
        self._held = event if route == "hold" else None
        if route == "settle" and held is not None:
            await self.answer(self.meant(held.key))
        if route == "burst" and held is not None:
            await self._draft(held)
        if route in {"settle", "burst", "draft"}:
            await self._draft(event)
        if route == "act":
            self.command(key)
        if route == "drop":
            self.refuse(event.key)

    async def on_paste(self, event: events.Paste) -> None:
        """A paste is text, whatever it holds; so is a letter right before it."""
        event.stop()
        self.arming.disturb(self.now)
        held, self._held = self._held, None
        if held is not None:
            await self._draft(held)
        if isawaitable(fed := self.outside.feed_paste(event)):
            await fed
        self._changed()

    async def _draft(self, event: events.Key) -> None:
        if isawaitable(fed := self.outside.feed_key(event)):
            await fed
