"""What gives a terminal back: one string that switches off everything that may have been switched on, and its settings."""

from __future__ import annotations

import os
import termios

RESTORE: bytes = b"".join(
    (
        b"\x1b[?2026l",  # end a synchronised update that was cut off
        b"\x1b[<u",  # pop the kitty keyboard mode, which belongs to the alternate screen, so before leaving it
        b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l",  # mouse
        b"\x1b[?2004l",  # bracketed paste
        b"\x1b[?1004l",  # focus reports
        b"\x1b[?2048l",  # resize reports
        b"\x1b[?7h",  # line wrap
        b"\x1b[?1049l",  # the alternate screen
        b"\x1b[?25h",  # the cursor
        b"\x1b[23;2t",  # the title that was there before
        b"\x1b[0m",
    )
)
"""Switches off everything that Textual or this product may have switched on."""


def settings(fd: int) -> None:
    """Make a terminal that was left raw read lines and show what is typed again, as `stty sane` does.

    Raises:
        OSError, termios.error: it is no terminal, or it is gone.
    """
    read, write, control, local, *rest = termios.tcgetattr(fd)
    read = (read | termios.ICRNL | termios.BRKINT | termios.IXON) & ~(termios.INLCR | termios.IGNCR)
    write |= termios.OPOST | termios.ONLCR
    local |= termios.ICANON | termios.ECHO | termios.ECHOE | termios.ECHOK | termios.ISIG | termios.IEXTEN
    termios.tcsetattr(fd, termios.TCSANOW, [read, write, control, local, *rest])


def give_back(terminal: str) -> None:
    """Restore the modes and the settings of a terminal by its device.

    Raises:
        OSError, termios.error: there is none, or it is gone.
    """
    fd = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
    try:
        settings(fd)
        os.write(fd, RESTORE)
    finally:
        os.close(fd)
