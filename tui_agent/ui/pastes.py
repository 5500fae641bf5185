"""A bracketed paste is one event, whatever stands in it.

Textual's own parser takes an ESC inside of a paste for a key: coloured output that is pasted comes scrambled, and
what follows the ESC acts, Enter included. Here its parser gets the inside of a paste whole and cleaned.

And bytes that are no UTF-8, of a terminal with another encoding or of a broken paste, end the thread that reads keys, and
with it the program. Here each is a character that says so.
"""

from __future__ import annotations

from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Callable, Iterable

from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.drivers import linux_driver, linux_inline_driver
from textual.message import Message

from tui_agent.ui.editing import clean

_END, _START = BRACKETED_PASTE_END, BRACKETED_PASTE_START


class PasteParser(XTermParser):
    """Textual's parser with a paste as one piece; `feed` takes what was read, cut anywhere."""

    def __init__(self, debug: bool = False) -> None:
        self._paste: list[str] | None = None
        """The pieces of the paste that is being read; None outside of one."""
        self._last = ""
        """The newest characters, for a mark that is cut in two."""
        super().__init__(debug)

    def feed(self, data: str) -> Iterable[Message]:
        """Parse what was read; "" is the end of input, and a paste that never ended is dropped."""
        if not data:
            yield from super().feed(data)
        while data:
            whole, known = self._last + data, len(self._last)
            mark = _START if self._paste is None else _END
            at = whole.find(mark)
            cut = len(data) if at < 0 else at + len(mark) - known
            piece, data = data[:cut], data[cut:]
            self._last = "" if at >= 0 else whole[1 - len(mark) :]
            if self._paste is None:
                self._paste = [] if at >= 0 else None
                yield from super().feed(piece)
                continue
            self._paste.append(piece)
            if at >= 0:
                text = "".join(self._paste).removesuffix(mark)
                self._paste = None
                yield from super().feed(clean(text) + mark)

    def tick(self) -> Iterable[Message]:
        """Settle an ESC that stayed alone: it was a key, so what follows begins no paste."""
        for message in super().tick():
            self._last = ""
            yield message


def _tolerant(encoding: str) -> Callable[[], IncrementalDecoder]:
    """A decoder that replaces what it cannot read."""
    return lambda: getincrementaldecoder(encoding)("replace")


def patch_pastes() -> None:
    """Let the drivers of Textual read by `PasteParser`, and whatever comes; they offer no other way."""
    for driver in (linux_driver, linux_inline_driver):
        driver.XTermParser = PasteParser  # type: ignore[attr-defined]  # imported there, not exported
        driver.getincrementaldecoder = _tolerant  # type: ignore[attr-defined]
