"""What the file tools do to bytes, as pure functions: exact edits, whole writes, and the view of a read.

An edit happens exactly as asked or not at all. Every refusal is a `ToolError` that says why and what
to do next; the caller adds nothing. Paths are only names here: nothing in this module opens a file.
"""

from __future__ import annotations

import codecs
import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tui_agent.tools import drift
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.mismatch import ambiguous, not_found
from tui_agent.tools.text import BOM, MARK, TextFile, normalise, not_text, unix

MAX_RESULT = 16_000
"""Characters of one tool result."""
MAX_LINE = 4_000
"""Characters of one line in the view of a file."""
_MAX_REPLACEMENTS = 10_000


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `old`, which must occur exactly once (or at least once with `replace_all`), by `new`."""

    old: str
    new: str
    replace_all: bool = False


# ------------------------------------------------------------------ edits


def edit(path: str, base: bytes | None, edits: Sequence[Edit]) -> bytes:
    """The file with all edits applied; each is matched against the file as it is, so their order does not matter."""
    if not edits:
        raise ToolError("edits is empty: at least one edit is needed")
    if base is None:
        raise _missing(path, edits[0])
    file = TextFile.decode(base, path)
    spans: list[tuple[int, int, str, int]] = []
    for number, one in enumerate(edits, 1):
        try:
            spans += [(start, end, new, number) for start, end, new in _spans(file, path, one)]
        except ToolError as error:
            if len(edits) == 1:
                raise
            raise ToolError(
                f"edit {number} of {len(edits)}: {error} None of the edits was applied.", "refused", error.note
            ) from None
    spans.sort()
    for (_, end, _, first), (start, _, _, second) in itertools.pairwise(spans):
        if start < end:
            raise ToolError(
                f"edits {min(first, second)} and {max(first, second)} overlap in {path}; join them into one edit. "
                "Nothing was changed.",
                "refused",
            )
    new = file.splice([(start, end, text) for start, end, text, _ in spans])
    return _changed(path, base, new)


def _missing(path: str, one: Edit) -> ToolError:
    if not one.old:
        return ToolError(f"old is empty and {path} does not exist; use write_file to create it", "refused")
    return ToolError(f"{path} does not exist, so there is nothing to edit; use write_file to create it")


def _spans(file: TextFile, path: str, one: Edit) -> list[tuple[int, int, str]]:
    old, new = unix(one.old), unix(one.new)
    if old == MARK and file.bom and old not in file.text:
        raise ToolError(f"old is only the byte order mark that {path} begins with, and the file keeps that", "refused")
    # the mark that a file begins with is not in its text: with it a model means the beginning, and nowhere else
    begins = old.startswith(MARK) and old not in file.text and old != MARK and file.text.startswith(old[1:])
    if begins:
        old, new = old[1:], new.removeprefix(MARK)
    elif file.bom and old and file.text.startswith(old):
        new = new.removeprefix(MARK)
    if not old:
        raise ToolError(
            "old is empty; it must be the exact text to replace. Use write_file to replace the whole file.", "refused"
        )
    if old == new:
        raise ToolError(
            "old and new are identical, so nothing would change. Put the text as it is now into old and the text as "
            "it should be into new.",
            "refused",
        )
    _check_text(new, "new")
    for complaint in (
        None if old.lstrip().startswith(("```", "~~~")) else drift.fenced(path, new, "new"),
        None if drift.strip_numbers(old) else drift.numbered(new, file.text, "new"),
        drift.placeholder(new, file.text, "new"),
    ):
        if complaint:
            raise ToolError(f"{complaint}. Nothing was changed.", "refused")
    first = file.text.find(old)
    if first < 0:
        raise ToolError(not_found(file, path, old), "refused", "its old text is not there")
    if begins:
        return [(0, len(old), new)]
    if one.replace_all:
        return [(at, at + len(old), new) for at in _all(file.text, old, first)]
    if file.text.find(old, first + 1) >= 0:
        raise ToolError(ambiguous(file, path, old), "refused", "its old text is there more than once")
    return [(first, first + len(old), new)]


def _all(text: str, old: str, first: int) -> list[int]:
    found = [first]
    while (at := text.find(old, found[-1] + 1)) >= 0:
        if at < found[-1] + len(old):
            raise ToolError(
                "the places where old occurs overlap, so replace_all has no single meaning; use a longer old. "
                "Nothing was changed.",
                "refused",
            )
        found.append(at)
        if len(found) > _MAX_REPLACEMENTS:
            raise ToolError(f"old occurs more than {_MAX_REPLACEMENTS:,} times; use a longer old", "refused")
    return found


# ------------------------------------------------------------------ whole files


def write(path: str, base: bytes | None, content: str) -> bytes:
    """The bytes of a whole-file write; an existing file keeps its line ends and byte order mark."""
    return _whole(path, base, content, "content")


def propose(path: str, base: bytes | None, old: str, new: str) -> bytes:
    """The bytes of a proposal that quotes the whole current file; "" as `old` creates a new one."""
    if base is None:
        if old:
            raise ToolError(
                f"stale base: {path} does not exist (any more), but old is not empty. Read the folder again; "
                'give "" as old to create the file.',
                "refused",
            )
        if not new:
            raise ToolError("refused: cannot create an empty file", "refused")
        return _whole(path, None, new, "new")
    file = TextFile.decode(base, path)
    if normalise(old) != file.text:
        raise ToolError(_stale(path, file.text, normalise(old)), "refused", "its old text is not the file's")
    if normalise(new) == file.text:
        raise ToolError("no changes (proposed content matches current file)", "refused")
    return _whole(path, base, new, "new")


def _stale(path: str, have: str, old: str) -> str:
    text = f"stale base: on-disk contents of {path} do not match the 'old' you provided. Read the file again and retry."
    if not old:
        return text + " The file exists already; an empty old only creates new files."
    mine, theirs = have.split("\n"), old.split("\n")
    at = next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs)))
    if have.rstrip("\n") == old.rstrip("\n"):
        return text + " Only the newlines at the end of the file differ."
    line = mine[at] if at < len(mine) else "(end of file)"
    return text + f" The first difference is line {at + 1}, which is now: {line[:200]!r}"


def _whole(path: str, base: bytes | None, content: str, field: str) -> bytes:
    _check_text(content, field)
    for complaint in (drift.fenced(path, content, field), drift.escaped(content, field)):
        if complaint:
            raise ToolError(f"{complaint}. Nothing was written.", "refused")
    if base is None:
        return content.encode()
    file, text = TextFile.decode(base, path), normalise(content)
    if not text and file.text:
        raise ToolError(
            f"{field} is empty; this would erase {path}. Use delete_file to delete it, or send the complete new text.",
            "refused",
        )
    for complaint in (drift.placeholder(text, file.text, field), drift.numbered(text, file.text, field)):
        if complaint:
            raise ToolError(f"{complaint}. Nothing was written.", "refused")
    return _changed(path, base, file.splice([(0, len(file.text), text)]))


def _check_text(text: str, field: str) -> None:
    if "\0" in text:
        raise ToolError(f"{field} contains a NUL character, which no text file has", "refused")


def _changed(path: str, base: bytes, new: bytes) -> bytes:
    if new == base:
        raise ToolError(
            f"no change: {path} already has exactly this text (its own line ends are kept), so nothing was written",
            "refused",
        )
    return new


# ------------------------------------------------------------------ reads


@dataclass(frozen=True, slots=True)
class View:
    """What one pass over a file found: its hash and size, and the lines of the window that was asked for.

    `first` is the number of the first line in `lines`; `cut_lines` says that some of them were shortened.
    """

    sha256: str
    size: int
    total: int
    first: int
    lines: tuple[str, ...]
    cut_lines: bool
    ends_with_newline: bool

    @property
    def last(self) -> int:
        """Number of the last line shown; `first - 1` when there is none."""
        return self.first + len(self.lines) - 1


def scan(path: str, chunks: Iterable[bytes], length: int, start: int = 1, limit: int | None = None) -> View:
    """Read a file once, in bounded memory; raises `ToolError` when it is no UTF-8 text or ends before `start`.

    `length` is the size the file system names, used in the words of a refusal only.
    """
    digest, decoder = hashlib.sha256(), codecs.getincrementaldecoder("utf-8")()
    size, newlines, head, last = 0, 0, b"", b""
    window, capacity = bytearray(), MAX_RESULT * 4 + len(BOM)
    for chunk in chunks:
        head = head or chunk[:16]
        if b"\0" in chunk:
            raise not_text(path, head, length)
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(chunk)
        except UnicodeDecodeError as error:
            raise not_text(path, head, length, size - pending + error.start) from None
        digest.update(chunk)
        skip = max(0, start - 1 - newlines)
        if len(window) < capacity and (at := _after_newlines(chunk, skip)) >= 0:
            window += chunk[at : at + capacity - len(window)]
        size, last = size + len(chunk), chunk[-1:] or last
        newlines += chunk.count(b"\n")
    if decoder.getstate()[0]:
        raise not_text(path, head, length, size - len(decoder.getstate()[0]))
    total = newlines + (1 if size and last != b"\n" else 0)
    if start > max(total, 1):
        raise ToolError(f"start is {start}, but {path} has only {total} lines")
    lines, cut = _window(bytes(window), limit, complete=len(window) < capacity)
    return View(digest.hexdigest(), size, total, start, lines, cut, last == b"\n")


def _after_newlines(chunk: bytes, count: int) -> int:
    """Offset after `count` newlines of the chunk, or -1 when it has fewer."""
    if chunk.count(b"\n") < count:
        return -1
    at = 0
    for _ in range(count):
        at = chunk.index(b"\n", at) + 1
    return at


def _window(data: bytes, limit: int | None, *, complete: bool) -> tuple[tuple[str, ...], bool]:
    """The lines that fit into one result, and whether one of them had to be cut."""
    text = codecs.getincrementaldecoder("utf-8")().decode(data.removeprefix(BOM), final=False)
    lines = text.split("\n")
    if lines[-1] == "" if complete else len(lines) > 1:
        lines.pop()
    shown: list[str] = []
    room, cut = MAX_RESULT - 400, False
    for line in lines if limit is None else lines[:limit]:
        plain = line.removesuffix("\r")
        if len(plain) > MAX_LINE:
            plain, cut = plain[:MAX_LINE] + " [line cut here: it is longer; use search to look inside]", True
        room -= len(plain) + 8
        if room < 0 and shown:
            break
        shown.append(plain)
    return tuple(shown), cut


def render_file(view: View, *, numbers: bool = True) -> str:
    """The view as a model reads it: a header, the lines, and how to go on when there are more."""
    if not view.size:
        return "[file: empty, 0 bytes]"
    header = f"[file: lines {view.first}-{view.last} of {view.total}] {view.size:,} bytes"
    if not view.ends_with_newline:
        header += ", no newline at the end"
    body = [f"{view.first + i:>6}\t{line}" if numbers else line for i, line in enumerate(view.lines)]
    if (rest := view.total - view.last) > 0:
        body.append(f"[{rest} more lines. Use start={view.last + 1} to continue.]")
    return "\n".join([header, *body])
