"""The line above the message at a first start where a server on this machine answers: who would answer, and two keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import Static

from tui_agent.core.display import label
from tui_agent.ui.found import Found
from tui_agent.ui.keymap import USUAL, Keymap, textual_name
from tui_agent.ui.numbers import size

OTHER = "first.model"
"""The action that leads to the other models, and on to everything else that there is."""
HOW = "or type a task: the first message uses it"


def words(found: Found, model: str) -> str:
    """What is offered: who answers, with how much context, with tools or without."""
    info = next((one for one in (found.best, *found.models) if one is not None and one.id == model), None)
    window = found.ready_table(model).get("generation", {}).get("num_ctx") or (info.window if info else None)
    tools = {True: "tools yes", False: "no tools: chat and review only", None: ""}[info.tools if info else None]
    parts = [label(model, 60), f"{size(window)} context" if window else "", tools, "local and free"]
    return f"{found.preset} · {', '.join(filter(None, parts))}."


class Offer(Static, can_focus=True):
    """The line. `use` takes what is offered, `other` leads to what else there is and is told its letter; a paste is for `paste`."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "use", show=False),
        Binding(",".join(map(textual_name, USUAL[OTHER].keys)), "other", show=False, id=OTHER),
    ]

    def __init__(self, use: Callable[[], None], other: Callable[[str], None], paste: Callable[[str], None]) -> None:
        super().__init__(markup=False)
        self._use, self._other, self._paste = use, other, paste
        self._letter = ""

    def say(self, found: Found, model: str, keys: Keymap) -> None:
        """Offer this model."""
        hints = "   ".join(filter(None, ("Enter use", keys.say(f"{{{OTHER}}} other"), HOW)))
        self.update(Text.assemble((words(found, model), "bold"), "\n", (hints, "dim")))

    def on_key(self, event: events.Key) -> None:
        """Remember what the letter is that leads elsewhere: it may begin a word."""
        self._letter = (event.character or "") if event.is_printable else ""

    def on_paste(self, event: events.Paste) -> None:
        """A paste is the message."""
        event.stop()
        self._paste(event.text)

    def action_use(self) -> None:
        """Enter."""
        self._use()

    def action_other(self) -> None:
        """Something else."""
        self._other(self._letter)
