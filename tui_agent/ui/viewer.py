"""A page that shows one long thing to its end: a file that wants trust, a difference, the receipts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from tui_agent.core.display import label
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.ui.modal import Modal, bindings
from tui_agent.ui.wrap_view import BLOCK_LINES, Block, Line, WrapView


class LinesView(WrapView):
    """Ready lines, already sanitised."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._ready = lines
        super().__init__("none")

    def produce(self) -> Iterator[None]:
        """All lines in blocks."""
        for start in range(0, len(self._ready), BLOCK_LINES):
            count = min(BLOCK_LINES, len(self._ready) - start)
            self.add_block(Block(count, lambda n, at=start: self._ready[at + n]))  # type: ignore[misc]
            yield


class Viewer(Modal[None]):
    """Shows `view` below `title`, which is an outside string; nothing can be answered here. `keys` are the person's."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("viewer", lambda action: action.partition(".")[2])]
    _SCROLLS: ClassVar = {
        "up": WrapView.scroll_up,
        "down": WrapView.scroll_down,
        "pageup": WrapView.scroll_page_up,
        "pagedown": WrapView.scroll_page_down,
        "space": WrapView.scroll_page_down,
        "home": WrapView.scroll_home,
        "end": WrapView.scroll_end,
    }

    def __init__(self, title: str, view: WrapView, keys: Keymap = USUAL) -> None:
        super().__init__()
        self._title, self._view, self._keys = title, view, keys

    def compose(self) -> ComposeResult:
        """Title, view, keys."""
        yield Static(id="viewer-title", markup=False)
        yield self._view
        keys = "   ".join(("↑↓ PgUp PgDn scroll", *self._keys.hints("viewer")))
        yield Static(keys, id="viewer-keys", markup=False)

    def on_resize(self) -> None:
        """Fit the title."""
        self.query_one("#viewer-title", Static).update(label(self._title, max(1, self.size.width - 2)))

    def on_key(self, event: events.Key) -> None:
        """Scroll."""
        if event.key in self._SCROLLS:
            event.stop()
            event.prevent_default()
            self._SCROLLS[event.key](self._view, animate=False)

    def action_close(self) -> None:
        """Back to where it was opened."""
        self.dismiss(None)
