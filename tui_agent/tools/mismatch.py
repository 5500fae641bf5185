"""Why an exact text was not found, said so that the next try can succeed.

A model that only hears "not found" repeats itself. So the answer names the difference (tabs, trailing
blanks, a look-alike character, line numbers, escapes) and shows the exact current lines to copy.
All work is bounded: long files are compared by windows around lines that look alike.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tui_agent.core.late import unescaped
from tui_agent.tools.drift import strip_numbers
from tui_agent.tools.text import TextFile

_MAX_LINES = 20_000
_MAX_CHARS = 2_000_000
_MAX_SHOWN = 12
_MAX_WIDTH = 300
_LOOKALIKE = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′", "'"),
        **dict.fromkeys("“”„‟″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys(
            "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
        ),
        **dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\ufe0e\ufe0f", None),
        "…": "...",
    }
)


def not_found(file: TextFile, path: str, old: str) -> str:
    """What a model is told when `old` (normalised) does not occur in the file."""
    reason, window = _reason(file.text, old)
    text = f"the text in old was not found in {path} (it occurs 0 times; it must occur exactly once)"
    text += f": {reason}." if reason else "."
    if window is None and (window := _nearest(file.text, old)):
        text += window.letters(file.text, old)
    return text + (window.show(file.text) if window else "") + " Nothing was changed."


def ambiguous(file: TextFile, path: str, old: str) -> str:
    """What a model is told when `old` occurs more than once."""
    found: list[int] = []
    at = file.text.find(old)
    while at >= 0 and len(found) < 1000:
        found.append(at)
        at = file.text.find(old, at + 1)
    lines = list(dict.fromkeys(file.line_at(offset) for offset in found[:8]))
    count = f"{len(found)}" if at < 0 else f"more than {len(found)}"
    named = ", ".join(map(str, lines)) + (", ..." if len(found) > 8 else "")
    return (
        f"the text in old occurs {count} times in {path} (line{'s' if len(lines) > 1 else ''} {named}); it must occur "
        "exactly once. Add neighbouring lines until it is unique, or set replace_all to change every one. "
        "Nothing was changed."
    )


@dataclass(frozen=True, slots=True)
class _Window:
    """Lines `first` to `last` (from 0, exclusive) of the file."""

    first: int
    last: int

    def letters(self, text: str, old: str) -> str:
        """Names letters of other alphabets that only look like those of `old` (Cyrillic a for Latin a), or ""."""
        have = "\n".join(text.split("\n")[self.first : self.last])
        pairs = {(a, b) for a, b in zip(have, old.rstrip("\n"), strict=False) if a != b}
        if len(have) != len(old.rstrip("\n")) or not all((ord(a) > 127) != (ord(b) > 127) for a, b in pairs):
            return ""
        return f" {_characters(have, old, 0)}."

    def show(self, text: str) -> str:
        """The lines themselves, at most 12, long ones cut."""
        lines = text.split("\n")[self.first : min(self.last, self.first + _MAX_SHOWN)]
        if not lines:
            return ""
        end = self.first + len(lines)
        where = f"line {end}" if len(lines) == 1 else f"lines {self.first + 1}-{end}"
        body = "\n".join(line if len(line) <= _MAX_WIDTH else line[:_MAX_WIDTH] + "[cut]" for line in lines)
        return f" The file has at {where} (copy from here):\n{body}\n"


def _reason(text: str, old: str) -> tuple[str, _Window | None]:
    """The first explanation that makes `old` fit the file, with the place where it then fits."""
    for change, words in _REWRITES:
        other = change(old)
        if other and other != old and (at := text.find(other)) >= 0:
            first = text.count("\n", 0, at)
            return words, _Window(first, first + other.rstrip("\n").count("\n") + 1)
    if old.endswith("\n") and text.endswith(old[:-1]):
        last = text.count("\n") + 1
        return (
            "the file does not end with a newline; leave out the final newline of old, or write the whole file",
            _Window(last - old.count("\n"), last),
        )
    if len(text) > _MAX_CHARS or text.count("\n") > _MAX_LINES:
        return "", None
    for key, explain in _FOLDS:
        if window := _fits(text, old, key):
            return explain("\n".join(text.split("\n")[window.first : window.last]), old, window.first), window
    return "", None


def _unescape(old: str) -> str:
    return old.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')


def _unfence(old: str) -> str:
    return re.sub(r"\A\s*`{3,}[\w.+-]*\n|\n?`{3,}\s*\Z", "", old)


def _undiff(old: str) -> str:
    """The old side of text written as a diff, "" when it is none."""
    lines = old.rstrip("\n").split("\n")
    if not all(line[:1] in {" ", "+", "-"} for line in lines) or not any(line[:1] == "-" for line in lines):
        return ""
    return "\n".join(line[1:] for line in lines if line[:1] != "+")


def _plain_numbers(old: str) -> str:
    return strip_numbers(old) or ""


_REWRITES: tuple[tuple[Callable[[str], str], str], ...] = (
    (
        _unescape,
        "old contains a backslash and an n (or another escape) where the file has a newline; send text escaped once",
    ),
    (unescaped, "old is HTML-escaped (entities such as &lt;); send the plain characters"),
    (_plain_numbers, "old contains line-number prefixes from the read output; send the text without the numbers"),
    (_undiff, "old is written as a diff; send plain text without the + and - in front of the lines"),
    (_unfence, "old is wrapped in a markdown fence (```); send only the text of the file"),
)


def _fits(text: str, old: str, key: Callable[[str], str]) -> _Window | None:
    """Where the lines of `old` equal lines of the file when both go through `key`; blank results are skipped."""
    wanted = [k for line in old.split("\n") if (k := key(line))]
    if not wanted:
        return None
    lines = [(i, k) for i, line in enumerate(text.split("\n")) if (k := key(line))]
    keys = [k for _, k in lines]
    for at in range(len(keys) - len(wanted) + 1):
        same = (
            keys[at] == wanted[0] and keys[at : at + len(wanted)] == wanted
            if len(wanted) > 1
            else wanted[0] in keys[at]
        )
        if same:
            return _Window(lines[at][0], lines[at + len(wanted) - 1][0] + 1)
    return None


def _whitespace(have: str, old: str, first: int) -> str:
    pairs = list(_paired(have, old))
    for _, mine, theirs in pairs:
        indent_mine, indent_theirs = _indent(mine), _indent(theirs)
        if indent_mine != indent_theirs:
            if "\t" in indent_mine and "\t" not in indent_theirs:
                return "the file is indented with tabs where old has spaces"
            if "\t" in indent_theirs and "\t" not in indent_mine:
                return "the file is indented with spaces where old has tabs"
            return f"the indentation differs: the file has {len(indent_mine)} where old has {len(indent_theirs)}"
    for number, mine, theirs in pairs:
        extra = len(mine) - len(mine.rstrip())
        if extra != len(theirs) - len(theirs.rstrip()):
            return (
                f"trailing whitespace differs: line {first + number + 1} of the file ends with {extra} blank characters"
            )
    return "the number of blank lines or the whitespace inside a line differs"


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _paired(have: str, old: str) -> Iterator[tuple[int, str, str]]:
    mine = [(i, line) for i, line in enumerate(have.split("\n")) if line.strip()]
    theirs = [line for line in old.split("\n") if line.strip()]
    for (number, a), b in zip(mine, theirs, strict=False):
        yield number, a, b


def _characters(have: str, old: str, first: int) -> str:
    differing = sorted({c for c in have if ord(c) > 127} ^ {c for c in old if ord(c) > 127})
    named = ", ".join(f"U+{ord(c):04X} {unicodedata.name(c, 'unnamed').lower()}" for c in differing[:4])
    return f"a similar character differs (quote, dash, blank, accent or invisible Unicode): {named or 'see the lines'}"


def _case(have: str, old: str, first: int) -> str:
    return "upper and lower case differ"


def _spaces(line: str) -> str:
    return re.sub(r"[ \t]+", " ", line).strip(" \t")


def _alike(line: str) -> str:
    return _spaces(unicodedata.normalize("NFKC", line.translate(_LOOKALIKE)))


def _folded(line: str) -> str:
    return _alike(line).casefold()


_FOLDS: tuple[tuple[Callable[[str], str], Callable[[str, str, int], str]], ...] = (
    (_spaces, _whitespace),
    (_alike, _characters),
    (_folded, _case),
)


def _nearest(text: str, old: str) -> _Window | None:
    """The lines most like `old`: found by its longest line, among at most 20,000 lines, each cut to 200 characters."""
    wanted = [line.strip()[:200] for line in old.split("\n")]
    anchor = max(range(len(wanted)), key=lambda i: len(wanted[i]), default=0)
    if not wanted[anchor]:
        return None
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[anchor])
    best, where = 0.5, -1
    for number, line in enumerate(text.split("\n")[:_MAX_LINES]):
        matcher.set_seq1(line.strip()[:200])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and (r := matcher.ratio()) > best:
            best, where = r, number
    if where < 0:
        return None
    first = max(0, where - anchor)
    return _Window(first, first + len(wanted))
