"""Bytes of a file to text for a model, and a model's text back into the bytes of that file.

A model never sees carriage returns or a byte order mark, so both are tolerated silently and the
file keeps its own. Everything else is exact. Text in "normalised" form has LF for CRLF and no mark;
`TextFile` maps its offsets back to the raw text, so that bytes outside an edit are never touched.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from tui_agent.tools.arguments import ToolError

BOM = b"\xef\xbb\xbf"

_KINDS = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "an ELF program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)


def not_text(path: str, head: bytes, size: int, offset: int | None = None) -> ToolError:
    """The refusal for a file that is no UTF-8 text: its kind and size, none of its bytes.

    `offset` is where decoding failed; None means a NUL byte was found.
    """
    kind = next((words for magic, words in _KINDS if head.startswith(magic)), None)
    what = f"a binary file ({kind}, {size:,} bytes)" if kind else f"a binary file ({size:,} bytes)"
    if offset is not None and kind is None:
        what = f"not valid UTF-8 text ({size:,} bytes, first bad byte at offset {offset:,})"
    text = f"{path} is {what}; file tools handle UTF-8 text only. Nothing was changed."
    return ToolError(text, "refused", "no UTF-8 text")


MARK = BOM.decode()


def normalise(text: str) -> str:
    """What a model means by a whole text: LF for CRLF, and no byte order mark in front."""
    return unix(text).removeprefix(MARK)


def unix(text: str) -> str:
    """LF for CRLF."""
    return text.replace("\r\n", "\n")


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file: `raw` as it is on disk without its mark, `text` as a model sees it."""

    raw: str
    text: str
    bom: bool
    crlf: tuple[int, ...]
    """Offsets in `text` of the line ends that are CRLF in `raw`."""

    @classmethod
    def decode(cls, data: bytes, path: str) -> TextFile:
        """Strict UTF-8 without NUL, or `ToolError`."""
        if b"\0" in data:
            raise not_text(path, data[:16], len(data))
        try:
            raw = data.removeprefix(BOM).decode()
        except UnicodeDecodeError as error:
            raise not_text(path, data[:16], len(data), error.start) from None
        if "\r\n" not in raw:
            return cls(raw, raw, data.startswith(BOM), ())
        offsets: list[int] = []
        at = raw.find("\r\n")
        while at >= 0:
            offsets.append(at - len(offsets))
            at = raw.find("\r\n", at + 2)
        return cls(raw, raw.replace("\r\n", "\n"), data.startswith(BOM), tuple(offsets))

    def splice(self, spans: list[tuple[int, int, str]]) -> bytes:
        """The file's bytes with each span (start, end, new text) replaced; spans are sorted and disjoint.

        Offsets count in `text`. What a span and its new text have in common at both ends stays
        untouched, so line ends of lines that do not change survive in mixed files too.
        """
        parts, done = [], 0
        for start, end, new in spans:
            head, tail = _common(self.text[start:end], new)
            begin, stop = self._raw(start + head), self._raw(end - tail)
            middle = new[head : len(new) - tail]
            if "\n" in middle and self._line_end(begin, stop) == "\r\n":
                middle = middle.replace("\n", "\r\n")
            parts += [self.raw[done:begin], middle]
            done = stop
        parts.append(self.raw[done:])
        return (BOM if self.bom else b"") + "".join(parts).encode()

    def line_at(self, offset: int) -> int:
        """Number (from 1) of the line at an offset of `text`."""
        return self.text.count("\n", 0, offset) + 1

    def _raw(self, offset: int) -> int:
        return offset + bisect_left(self.crlf, offset)

    def _line_end(self, begin: int, stop: int) -> str:
        """How lines end at a raw span: in it, else right after it, else before it, else LF."""
        at = self.raw.find("\n", begin)
        if at < 0:
            at = self.raw.rfind("\n", 0, begin)
        return "\r\n" if at > 0 and self.raw[at - 1] == "\r" else "\n"


def _common(old: str, new: str) -> tuple[int, int]:
    """Lengths of the common head and the common tail, which do not overlap."""
    limit = min(len(old), len(new))
    head = _agree(old, new, limit)
    tail = _agree(old[head:][::-1], new[head:][::-1], limit - head)
    return head, tail


def _agree(a: str, b: str, limit: int) -> int:
    """How many leading characters agree, by bisection on slices (linear in C, not in Python)."""
    if a[:limit] == b[:limit]:
        return limit
    low, high = 0, limit
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low
