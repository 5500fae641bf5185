"""A screen that asks in steps: each is a head, a list, a field to type in, a word below them, and the keys."""

from __future__ import annotations

from collections.abc import Callable

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ScreenResultType
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_agent.ui.chrome import Rule, Where
from tui_agent.ui.field import Field
from tui_agent.ui.modal import Modal


class KeyRow(Widget):
    """The last row at today's width."""

    ALLOW_SELECT = False

    def __init__(self, hints: Callable[[int], str]) -> None:
        super().__init__(id="keys")
        self._hints = hints

    def render(self) -> Text:
        """The keys of the step."""
        return Text(f" {self._hints(self.size.width)}", "dim", no_wrap=True, end="")


class Steps(Modal[ScreenResultType]):
    """Shows one step at a time; `where` stands in its first row."""

    def __init__(
        self, where: str, hints: Callable[[int], str], feed: Callable[[events.Key], None] | None = None
    ) -> None:
        """`hints` are the keys of the step, in the words that fit into so many cells.

        `feed` takes the keys of a message that is begun here, where there is one to write.
        """
        super().__init__()
        self._where, self._hints = where, hints
        self._feed, self._fed = feed, False

    def compose(self) -> ComposeResult:
        """Where this is, head, list, one field, a word below, the keys."""
        with Vertical(id="where"):
            yield Where(self._where)
            yield Rule()
        with Vertical(id="first-run"):
            yield Static(id="head", markup=False)
            yield OptionList(id="choices", markup=False)
            yield Field(id="field")
            yield Static(id="note", markup=False)
        yield KeyRow(self._hints)

    def spare(self, event: events.Key) -> bool:
        """Whether a key means nothing in this step and may begin a message."""
        return False

    def on_key(self, event: events.Key) -> None:
        """Take what begins a message, and all that follows."""
        if self._feed is not None and (self._fed or self.spare(event)):
            event.stop()
            self.begin(event)

    def begin(self, event: events.Key) -> None:
        """Begin a message with a key; all that follow belong to it."""
        if self._feed is not None and (self._fed or event.is_printable):
            self._fed = True
            self._feed(event)
            self.call_later(self._gone)

    def _gone(self) -> None:
        self.dismiss(None)  # whose result Textual would wait for, if it were given back

    def fill(self, head: str, options: list[Option], *, field: tuple[str, str] | None, note: str) -> None:
        """Put one step on the screen."""
        self.query_one("#head", Static).update(Text(head, "bold"))
        self.say(note)
        self.query_one(KeyRow).refresh()
        choices, entry = self.query_one(OptionList), self.query_one(Input)
        choices.clear_options().add_options(options)
        choices.styles.max_height = len(options)  # of the rows that what stands around it leaves
        choices.display = bool(options)
        entry.display = field is not None
        if field is not None:
            entry.value, entry.placeholder = field
            entry.action_end()
        if options:
            choices.highlighted = next(n for n, option in enumerate(options) if not option.disabled)
            choices.focus()
        elif field is not None:
            entry.focus()
        else:
            self.set_focus(None)

    def say(self, note: str, style: str = "dim") -> None:
        """The word below the list."""
        self.query_one("#note", Static).update(Text(note, style))
