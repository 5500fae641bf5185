"""The question whether this folder is trusted, asked once before anything of it is read as configuration or run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Literal, TypeAlias

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Static

from tui_agent.core.display import plain
from tui_agent.ui.arming import Arming

TrustAnswer: TypeAlias = Literal["trust", "restricted", "quit"]

_ANSWERS: Mapping[str, TrustAnswer] = {"t": "trust", "r": "restricted", "q": "quit"}


def trust_text(root: str, entries: Sequence[str], *, allowed: bool) -> Text:
    """What is asked, as text; `entries` are the project files that would count."""
    text = Text()
    text.append("Do you trust this folder?\n", "bold")
    text.append(plain(root, "path") + "\n\n")
    if entries:
        text.append("It wants to add:\n")
        for entry in entries:
            text.append(f"  {plain(entry, 'path')}\n", "bold")
    else:
        text.append("It adds no configuration of its own.\n", "dim")
    text.append("\nTrusted: its config counts, your check for it runs after edits,\n")
    text.append("and test commands you allowed run without a question.\n")
    text.append("Restricted: reading and editing work, every program is asked.\n")
    if not allowed:
        text.append("A home folder cannot be trusted; open the project's own folder.\n", "bold")
    return text


def keys_text(*, allowed: bool, armed: bool) -> Text:
    """The keys, once they count."""
    text = Text()
    if not armed:
        return text.append("wait…", "dim")
    for key, what in (("t", "trust"), ("r", "restricted (default)"), ("q", "quit")):
        if allowed or key != "t":
            text.append(key, "bold").append(f" {what}    ")
    return text


class TrustCard(ModalScreen[TrustAnswer]):
    """Asks once; Enter and Esc mean restricted, never trust.

    It listens as late as the approval dialog does, because the person may be typing already: keys until
    then go to `feed_key`, the composer's. `clock` is monotonic, in seconds.
    """

    def __init__(
        self,
        root: str,
        entries: Sequence[str],
        *,
        allowed: bool,
        feed_key: Callable[[events.Key], object] = lambda _: None,
        feed_paste: Callable[[str], object] = lambda _: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        super().__init__()
        self._text = trust_text(root, entries, allowed=allowed)
        self._allowed, self._clock = allowed, clock
        self._feed_key, self._feed_paste = feed_key, feed_paste
        self._arming = Arming()
        self._letter: events.Key | None = None
        self._wake: Timer | None = None

    @property
    def armed(self) -> bool:
        """Whether keys are answers now."""
        return self._arming.armed(self._clock())

    def compose(self) -> ComposeResult:
        """The card."""
        with VerticalScroll(classes="card"):
            yield Static(self._text, markup=False)
            yield Static(id="trust-keys", markup=False)

    def on_mount(self) -> None:
        """Listen from some time after the first paint on."""
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        self._arming.painted(self._clock())
        self._update()

    def _update(self) -> None:
        self.query_one("#trust-keys", Static).update(keys_text(allowed=self._allowed, armed=self.armed))
        if self._wake is not None:
            self._wake.stop()
        wait = self._arming.wakes(self._clock())
        self._wake = None if wait is None else self.set_timer(wait + 0.001, self._tick)

    def _tick(self) -> None:
        if (key := self._arming.due(self._clock())) is not None:
            self.dismiss(_ANSWERS[key])
        else:
            self._update()

    def on_key(self, event: events.Key) -> None:
        """An answer, or a key that came too early."""
        event.stop()
        event.prevent_default()
        if event.key in {"ctrl+c", "ctrl+q"}:
            self.dismiss("quit")
            return
        letter = event.key in _ANSWERS and (self._allowed or event.key != "t")
        held, self._letter = self._letter, None
        route = self._arming.press(
            event.key, self._clock(), answer=letter, command=event.key in {"enter", "escape"}, text=event.is_printable
        )
        if route == "hold":
            self._letter = event
        elif route == "settle":
            self.dismiss(_ANSWERS[event.key])
            return
        elif route == "act":
            self.dismiss("restricted")
            return
        elif route in {"burst", "draft"}:
            for early in filter(None, (held, event)):
                self._feed_key(early)
        self._update()

    def on_paste(self, event: events.Paste) -> None:
        """A paste is text, whatever it holds."""
        event.stop()
        self._arming.disturb(self._clock())
        if self._letter is not None:
            self._feed_key(self._letter)
            self._letter = None
        self._feed_paste(event.text)
        self._update()
