"""What the terminal really sends: the bytes of each key, what the screen calls it, and what it would do."""

from __future__ import annotations

import os
import select
import termios
import tty
from collections.abc import Iterator

from textual import events
from textual._xterm_parser import XTermParser

from tui_agent.ui.keymap import Keymap, written
from tui_agent.ui.terminal import patch_keys

_ASK, _GIVE_BACK = b"\x1b[>1u", b"\x1b[<u"
"""Kitty's keys, as the screen asks for them."""
_ASKS = b"Press a key. Left is what the terminal sent, then its name for [keys], then what it does. Ctrl+C ends.\r\n"
_ALONE = 0.1
"""Seconds after which an Esc was the key itself."""


def pieces(data: bytes) -> Iterator[tuple[bytes, str]]:
    """What came at once, cut after each key that the screen makes of it, with the name of the key for `[keys]`."""
    parser, begun = XTermParser(), ""
    for piece in (*data.decode("utf-8", "surrogateescape"), ""):
        begun += piece
        readable = piece.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        for event in parser.feed(readable):
            if isinstance(event, events.Key | events.Paste):
                name = written(event.key) if isinstance(event, events.Key) else "a paste"
                rest = piece if piece == "\x1b" and begun != piece else ""  # it begins what comes next
                yield begun.removesuffix(rest).encode("utf-8", "surrogateescape"), name
                begun = rest
    if begun:
        yield begun.encode("utf-8", "surrogateescape"), "nothing that the screen knows"


def names(data: bytes) -> list[str]:
    """The keys that the screen makes of what came in one piece."""
    return [name for _, name in pieces(data)]


def lines(data: bytes, keys: Keymap) -> Iterator[str]:
    """What is told of one piece: a line for each key."""
    for sent, key in pieces(data):
        action = next((a for a in keys.actions if a.scope in {"app", "composer"} and key in a.keys), None)
        yield f"{sent!r:<24} {key:<20} {f'{action.id}: {action.title}' if action else ''}".rstrip()


def probe(keys: Keymap) -> None:
    """Show each key that is pressed until Ctrl+C; the terminal is then as it was."""
    patch_keys()
    before = termios.tcgetattr(0)
    try:
        tty.setraw(0)  # before it asks: what comes earlier is thrown away
        os.write(1, _ASKS + _ASK)
        while True:
            data = os.read(0, 1024)
            if data == b"\x1b" and select.select([0], [], [], _ALONE)[0]:
                data += os.read(0, 1024)
            for line in lines(data, keys):
                os.write(1, f"{line}\r\n".encode())
            if not data or "ctrl+c" in names(data):
                return
    finally:
        os.write(1, _GIVE_BACK)
        termios.tcsetattr(0, termios.TCSADRAIN, before)
