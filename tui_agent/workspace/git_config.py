"""Files of git as text: its settings, and the names by which it is led elsewhere. Nothing here looks at a disk."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
    \s*+ (?:
      [#;][^\n]*+
    | \[\s*+ (?P<section>[^\]"\s]*+) (?: \s++"(?P<quoted>(?:[^"\\\n]|\\.)*+)" )? \s*+\]
    | (?P<key>[A-Za-z][\w-]*+) [^\S\n]*+
      (?: = (?P<value>(?:[^"\\\n\#;]|\\(?:[\s\S]|\Z)|"(?:[^"\\\n]|\\[\s\S])*+")*+) (?:[#;][^\n]*+)? )? (?=\n|\Z)
    | (?P<open>[A-Za-z][\w-]*+[^\S\n]*+=)  # a value whose quotes do not end
    | [^\n]*+  # git refuses a file with such a line
    )""",
    re.VERBOSE,
)
"""Nothing is tried twice: a file may be made to make that long."""
_PIECE = re.compile(r"""\\(?P<escaped>[\s\S]|\Z)|(?P<quote>")|(?P<blanks>[ \t\r]+)|(?P<plain>[^\\" \t\r]+)""")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b", "\n": ""}
GITDIR = "gitdir: "
"""Begins a file `.git`."""
MAX_BYTES = 1 << 20


def settings(text: str) -> Iterator[tuple[str, str | None, str, str]]:
    """(section, name or None, key or "" for the header itself, value) of a configuration file, read leniently.

    A name may be empty: `[filter ""]` is a filter like any other.
    """
    section, name = "", None
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    for token in _TOKEN.finditer(text):
        if token["section"] is not None:
            head = token["section"].lower()
            if token["quoted"] is not None:
                head += "." + re.sub(r"\\(.)", r"\1", token["quoted"])
            section, dot, rest = head.partition(".")
            name = rest if dot else None
            yield section, name, "", ""
        elif token["open"] is not None:
            return  # git refuses the file; whoever went on would look for an end of it in each line again
        elif token["key"] and section:
            yield section, name, token["key"].lower(), _value(token["value"] or "")


def _value(written: str) -> str:
    """A value as git reads it: blanks at its ends count only in quotes, and nothing behind a NUL does."""
    value, blanks, quoted = "", "", False
    for piece in _PIECE.finditer(written):
        if piece["quote"]:
            quoted = not quoted
        elif piece["blanks"] and not quoted:
            blanks = piece["blanks"] if value else ""
        else:
            escaped = piece["escaped"]
            value += blanks + (piece[0] if escaped is None else _ESCAPES.get(escaped, escaped))
            blanks = ""
    return value.partition("\0")[0]


def full(section: str, name: str | None, key: str) -> str:
    """How git writes a setting."""
    return f"{section}.{key}" if name is None else f"{section}.{name}.{key}"


def pointed(text: str) -> str:
    """The name in a file that leads git elsewhere, as git takes it: blanks belong to it, nothing behind a NUL does."""
    return text.rstrip("\r\n").partition("\0")[0]
