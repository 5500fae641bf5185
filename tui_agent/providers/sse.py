"""Bytes of a streaming response -> lines and server-sent events, without any I/O.

Only CR, LF and CRLF end a line: U+2028 and U+0085 are data, which is why the text-based line
readers of the HTTP libraries are not used. Results never depend on how the bytes were cut, and
memory is bounded: a decoder that meets more than `MAX_EVENT` bytes without an end sets `overflow`
and decodes nothing more.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_EVENT = 8 * 1024 * 1024
"""Bytes of one line or one event."""

BOM = b"\xef\xbb\xbf"

_BESIDE = 4096
"""Bytes that are kept of lines which are no field of an event."""
_RESUMED = re.compile(rb"id: ?([!-~]{1,1000})|retry: ?([0-9]{1,9})")
_FIELD = re.compile(rb"[\w.-]*(?::|$)")


class LineDecoder:
    """Cuts a byte stream into lines, without their ends. A leading byte order mark is dropped."""

    def __init__(self) -> None:
        self.overflow = False
        self._pieces: list[bytes] = []
        self._size = 0
        self._at_start = True
        self._skip_lf = False

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes and return the lines they complete."""
        if self._at_start:
            data = self._without_bom(data)
        if self._skip_lf and data:
            self._skip_lf = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._skip_lf = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if b"\n" not in data:
            self._hold(data)
            return []
        if self._pieces:
            self._pieces.append(data)
            data = b"".join(self._pieces)
            self._pieces.clear()
        lines = data.split(b"\n")
        self._size = 0
        self._hold(lines.pop())
        return [] if self.overflow else lines

    def close(self) -> list[bytes]:
        """The last line, if it had no end."""
        rest = b"".join(self._pieces)
        self._pieces.clear()
        return [rest] if rest and not self.overflow else []

    def _hold(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > MAX_EVENT:
            self.overflow = True
            self._pieces.clear()
        elif data:
            self._pieces.append(data)

    def _without_bom(self, data: bytes) -> bytes:
        head = b"".join(self._pieces) + data
        self._pieces.clear()
        self._size = 0
        if len(head) < len(BOM) and BOM.startswith(head):
            self._hold(head)
            return b""
        self._at_start = False
        return head.removeprefix(BOM)


class SseEvent(NamedTuple):
    """One server-sent event: its type ("" when not given) and its data lines joined by newlines."""

    event: str
    data: str


class SseDecoder:
    """Server-sent events from bytes. Comments and unknown fields are skipped."""

    def __init__(self, last_id: str = "", retry: int | None = None) -> None:
        """`last_id`, `retry`: what the part of the stream before said of them."""
        self._lines = LineDecoder()
        self._too_long = False
        self.last_id = last_id
        """Behind which event a stream that was cut goes on, where the server names its events (in visible ASCII)."""
        self.retry = retry
        """Milliseconds after which the server wants to be asked for the rest."""
        self.beside = b""
        """Lines that no event stream holds, as far as they are kept."""
        self._event, self._id = "", last_id
        self._data: list[bytes] = []
        self._size = 0

    @property
    def overflow(self) -> bool:
        """Whether a line or an event was too long; nothing after it is decoded."""
        return self._too_long or self._lines.overflow

    def feed(self, data: bytes) -> list[SseEvent]:
        """Take the next bytes and return the events they complete."""
        events: list[SseEvent] = []
        for line in self._lines.feed(data):
            self._line(line, events)
        return events

    def close(self) -> list[SseEvent]:
        """End of the stream: an event without its blank line still counts, its last line needs no end.

        The specification would drop it; servers lose their final usage that way. Whoever reads the
        data must expect that it was cut.
        """
        events: list[SseEvent] = []
        for line in [*self._lines.close(), b""]:
            self._line(line, events)
        return events

    def _line(self, line: bytes, events: list[SseEvent]) -> None:
        if self._too_long:
            return
        if line.startswith(b"data:") or line == b"data":
            value = line[6:] if line.startswith(b" ", 5) else line[5:]
            self._size += len(value) + 1
            self._too_long = self._size > MAX_EVENT
            self._data.append(value)
        elif not line:
            if self._data:
                data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                events.append(SseEvent(self._event, str(data, "utf-8", "replace")))
                self._data.clear()
                self._size = 0
            self._event, self.last_id = "", self._id
        elif line.startswith(b"event:"):
            self._event = str(line[6:], "utf-8", "replace").removeprefix(" ")
        elif name := _RESUMED.fullmatch(line):
            if name[1]:
                self._id = name[1].decode()
            else:
                self.retry = int(name[2])
        elif len(self.beside) < _BESIDE and not _FIELD.match(line):
            self.beside += line[:_BESIDE] + b"\n"
