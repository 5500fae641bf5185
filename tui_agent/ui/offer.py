"""The line above the message at a first start where a server on this machine answers: who would answer, and two keys."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text
from textual import events
from textual.widgets import Static

from tui_agent.core.display import label
from tui_agent.ui.composer import Composer
from tui_agent.ui.found import Found
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.ui.numbers import size

OTHER = "first.model"
"""The action that leads to the other models, and on to everything else that there is."""
LETTER = USUAL[OTHER].keys[0]
HOW = "or type a task: the first message uses it"


def words(found: Found, model: str) -> str:
    """What is offered: who answers, with how much context, with tools or without."""
    info = next((one for one in (found.best, *found.models) if one is not None and one.id == model), None)
    window = found.ready_table(model).get("generation", {}).get("num_ctx") or (info.window if info else None)
    tools = {True: "tools yes", False: "no tools: chat and review only", None: ""}[info.tools if info else None]
    parts = [label(model, 60), f"{size(window)} context" if window else "", tools, "local and free"]
    return f"{found.preset} · {', '.join(filter(None, parts))}."


class Offer(Static, can_focus=True):
    """The line. Enter is for `use`, a letter leads to what `other` there is; whatever else is typed is for the composer.

    All keys that come together are one word, in whichever order the screens come and go: what `other` gives takes the keys
    that were on their way behind its letter.
    """

    ALLOW_SELECT = False

    def __init__(
        self, composer: Composer, use: Callable[[], None], other: Callable[[str], Callable[[events.Key], None]]
    ) -> None:
        super().__init__(markup=False)
        self._composer, self._use, self._other = composer, use, other
        self._keys = USUAL
        self._behind: Callable[[events.Key], None] | None = None

    def say(self, found: Found, model: str, keys: Keymap) -> None:
        """Offer this model."""
        self._keys = keys
        hints = "   ".join(filter(None, ("Enter use", keys.say(f"{{{OTHER}}} other"), HOW)))
        self.update(Text.assemble((words(found, model), "bold"), "\n", (hints, "dim")))

    def anew(self) -> None:
        """The person came back from the others."""
        self._behind = None

    def on_key(self, event: events.Key) -> None:
        """Route one key."""
        writing = bool(self._composer.text)
        if self._behind is not None:
            event.stop()
            self._behind(event)
        elif event.key == "enter" and not writing:
            event.stop()
            self._use()
        elif not writing and self._keys.meant("first", event.key) == LETTER:
            event.stop()
            self._behind = self._other(event.character or "")
        elif (event.is_printable or writing) and self._composer.feed_key(event):
            event.stop()
            self._composer.focus()

    def on_paste(self, event: events.Paste) -> None:
        """A paste is a message."""
        event.stop()
        self._composer.focus()
        self._composer.feed_paste(event.text)
