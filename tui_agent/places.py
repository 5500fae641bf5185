"""Where a key or a fault stands in TOML text: the parser of the standard library says it of syntax errors only."""

from __future__ import annotations

import re
from typing import NamedTuple

from tui_agent.core.address import SECRET_NAME
from tui_agent.core.secrets import like_keys

HOLDS_SECRETS = frozenset({"headers", "env"})
"""Tables whose values may be secret, whatever their names are."""


class Place(NamedTuple):
    """A line and a column of a text, both from 1; characters, not cells."""

    line: int
    column: int


_NAME = r"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[\w-]+)"
_DOTTED = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]")
_ASSIGNED = re.compile(rf"\s*({_DOTTED})\s*=")
_STRINGS = re.compile(r"#[^\n]*|\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'", re.DOTALL)

_TWICE = "Cannot overwrite a value"
"""What the parser says of a key that was there before, without its name."""


def place_of(text: str, key: tuple[str, ...]) -> Place | None:
    """The place of a key: its assignment in its table, else the header of the table, else the nearest one above it."""
    best: Place | None = None
    depth_of_best = 0
    table: tuple[str, ...] = ()
    for number, line in enumerate(_STRINGS.sub(_blanked, text).splitlines(), 1):
        if header := _HEADER.match(line):
            table = path = _parts(header[1])
        elif header := _ASSIGNED.match(line):
            path = (*table, *_parts(header[1]))
        else:
            continue
        if len(path) > depth_of_best and key[: len(path)] == path:
            best, depth_of_best = Place(number, header.start(1) + 1), len(path)
    return best


def _blanked(found: re.Match[str]) -> str:
    """A string of several lines without its text, so that no line in it reads as a key; anything else as it is."""
    text = found[0]
    return "\n" * text.count("\n") if text.startswith(('"""', "'''")) and "\n" in text else text


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(a or b or c for a, b, c in re.findall(r"\"((?:[^\"\\]|\\.)*)\"|'([^']*)'|([\w-]+)", dotted))


def place_of_error(message: str, text: str) -> tuple[str, Place | None]:
    """What a parser says of text that is no TOML, without the place in it, and the place."""
    what, _, where = message.partition(" (at ")
    lines = text.splitlines() or [""]
    if found := re.search(r"line (\d+), column (\d+)", where):
        place = Place(int(found[1]), int(found[2]))
        again = _ASSIGNED.match(lines[place.line - 1]) if what == _TWICE and place.line <= len(lines) else None
        return (f"{again[1]} stands there twice", Place(place.line, again.start(1) + 1)) if again else (what, place)
    return what, Place(len(lines), len(lines[-1]) + 1) if where else None


def place_of_byte(data: bytes, number: int) -> Place:
    """The place of a byte, from 0, in text that is no UTF-8 from there on."""
    before = data[:number].decode("utf-8-sig", "replace")
    return Place(before.count("\n") + 1, len(before) - before.rfind("\n"))


def marked(text: str, place: Place) -> str:
    """The line of a place with a caret below it, for the person; "" when the text has no such line."""
    lines = text.splitlines()
    if place.line > len(lines):
        return ""
    line = _hushed(lines[: place.line]).replace("\t", " ")
    start = max(0, place.column - 60)
    shown = line[start : start + 100]
    return f"    {shown}\n    {' ' * (place.column - 1 - start)}^"


def _hushed(lines: list[str]) -> str:
    """The last of these lines, with stars in the place of a value that may be secret: a key, a header, a password."""
    line = lines[-1]
    table = next((found[1] for above in reversed(lines) if (found := _HEADER.match(above))), "")
    named = SECRET_NAME.search(line) or any(re.search(rf"\b{name}\b", f"{table} {line}") for name in HOLDS_SECRETS)
    if not (named or like_keys(line) != line or re.search("://[^/]*@", line)):
        return line
    start = line.find("=") + 1
    return line[:start] + re.sub(r"\S", "*", line[start:])
