"""What the rows of a diff do not show: binary content, white space, line ends, permission bits."""

from __future__ import annotations

import hashlib

from tui_agent.core.display import Shown, Span, Warn

_WHITE = b" \t\n\r\v\f"
_MAGIC = (
    (b"\x7fELF", "ELF"),
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF8", "GIF"),
    (b"%PDF", "PDF"),
    (b"PK\x03\x04", "ZIP"),
    (b"\x1f\x8b", "gzip"),
    (b"SQLite format 3", "SQLite"),
)


def notice(old: str | bytes, new: str | bytes, modes: tuple[int, int] | None = None) -> Shown:
    """Say what is easily overlooked in a change of a file; no spans if there is nothing to say.

    binary: the rows must not be shown, sizes and digests stand for them. whitespace-only,
    line-endings and mode: their mark. `modes` are permission bits before and after.
    """
    before, after = _bytes(old), _bytes(new)
    notes: list[str] = []
    warns: set[Warn] = set()
    if _is_binary(before) or _is_binary(after):
        warns.add("binary")
        notes.append(f"{_digest(before)} → {_digest(after)}")
    elif before != after:
        if before.translate(None, _WHITE) == after.translate(None, _WHITE):
            warns.add("whitespace-only")
            notes.append("only white space differs")
        ends = _line_ends(before), _line_ends(after)
        if all(ends) and ends[0] != ends[1]:
            warns.add("line-endings")
            notes.append(f"line endings: {ends[0]} → {ends[1]}")
    if modes is not None and modes[0] != modes[1]:
        warns.add("mode")
        notes.append(f"mode: {modes[0]:o} → {modes[1]:o}")
    spans = (Span("; ".join(notes), "note"),) if notes else ()
    return Shown(spans, frozenset(warns), full_view=bool(warns))


def _bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content


def _is_binary(content: bytes) -> bool:
    if b"\0" in content:
        return True
    try:
        content.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return True
    return False


def _digest(content: bytes) -> str:
    kind = next((name for magic, name in _MAGIC if content.startswith(magic)), "binary")
    return f"{kind} {len(content):,} bytes sha256:{hashlib.sha256(content).hexdigest()[:12]}"


def _line_ends(content: bytes) -> str:
    """Name the kinds of line ends in a file, empty if it has none."""
    if b"\r" not in content:
        return "LF" if b"\n" in content else ""
    crlf, lf = content.count(b"\r\n"), content.count(b"\n")
    kinds = ("CRLF" if crlf else "", "LF" if lf > crlf else "", "CR" if content.count(b"\r") > crlf else "")
    return "+".join(filter(None, kinds))
