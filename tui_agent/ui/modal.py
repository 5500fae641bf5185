"""A screen that lies over others and is answered once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.cells import cell_len
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, ScreenResultType

from tui_agent.ui.actions import ACTIONS, Scope
from tui_agent.ui.keymap import textual_name


def bindings(scope: Scope, act: Callable[[str], str]) -> list[BindingType]:
    """The keys that the table of actions has for a place; `act` says what the screen does for the id of an action."""
    return [
        Binding(",".join(map(textual_name, a.keys)), act(a.id), a.title, show=False, id=a.id)
        for a in ACTIONS
        if a.scope == scope
    ]


def packed(items: Iterable[str], width: int) -> str:
    """Short texts in as few lines as they need; none is torn."""
    lines = [""]
    for item in items:
        longer = f"{lines[-1]}   {item}" if lines[-1] else item
        if cell_len(longer) > width and lines[-1]:
            lines.append(item)
        else:
            lines[-1] = longer
    return "\n".join(lines)


class Modal(ModalScreen[ScreenResultType]):
    """A `ModalScreen` whose second answer does nothing.

    Textual takes the top screen away at each `dismiss`: two keys in one read, Enter twice say, would take the screen
    below with it.
    """

    @property
    def stands(self) -> bool:
        """Whether its widgets are there: not before they are, nor while it is taken down, when a worker of it may still go on."""
        return bool(self.children) and self.display  # Textual has no other word for what is being taken down

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Answer and leave, if that did not happen yet."""
        return super().dismiss(result) if self.is_active else AwaitComplete()
