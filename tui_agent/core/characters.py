"""What a single character is to a terminal: drawn as it is, or one of the kinds that need care.

`core.display` writes the careful ones out; the policy refuses or asks about some of them.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["bidi", "combining", "control", "invalid", "invisible", "non-ascii-space"]
"""combining: a mark on the character before it, harmless in small numbers; the others are never drawn as they are."""

_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# Drawn as they are under every Unicode version that Python 3.11 and later know; only for speed.
SURE = (
    "!-~\u00a1-\u00ac\u00ae-\u02ff\u0391-\u03a1\u03a3-\u03ff\u0400-\u0482\u048a-\u052f\u05d0-\u05ea"
    "\u0620-\u063f\u0641-\u064a\u2010-\u2027\u2190-\u23ff\u2500-\u27ff\u3001-\u3029\u3041-\u3096\u30a1-\u30ff"
    "\u4e00-\u9ffc\uac00-\ud7a3\uff01-\uff9f\U0001f300-\U0001f64f\U0001f680-\U0001f6d7"
)
# Printable by category, yet nothing is drawn: fillers, variation selectors, inherent vowels, a null notehead.
HIDDEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
JOINER, COLOURED = "\u200d", "\ufe0f"
JOINERS = frozenset("\u200c\u200d")
_JOINED = re.compile("[\u0600-\u06ff\u0700-\u077f\u07c0-\u07ff\u0840-\u08ff\u0900-\u109f\u1780-\u18af\ua840-\ua87f]")
"""Scripts in which a joiner decides what a letter looks like."""
_PICTURES = frozenset(
    "#*0123456789\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194\u25fb\u25fc\u25fd\u25fe\u2934\u2935\u3030\u303d"
)
"""What is drawn as a picture only with the selector, beside the symbols."""
_KINDS: dict[str, Kind] = {
    "Cc": "control",
    "Cf": "invisible",
    "Cn": "invalid",
    "Co": "invalid",
    "Cs": "invalid",
    "Mc": "combining",
    "Me": "combining",
    "Mn": "combining",
    "Zl": "invisible",
    "Zp": "invisible",
    "Zs": "non-ascii-space",
}
_NAMES = {"\0": "NUL", "\a": "BEL", "\b": "BS", "\t": "TAB", "\n": "LF", "\r": "CR", "\x1b": "ESC", "\x7f": "DEL"}


@lru_cache(maxsize=4096)
def kind(char: str) -> Kind | None:
    """Sort a character; None = ordinary: letters of any script, digits, signs, emoji, the ASCII blank.

    Tab and newline are controls here; where they are welcome is for the caller to know.
    """
    if char in _BIDI:
        return "bidi"
    if HIDDEN.match(char):
        return "invisible"
    return _KINDS.get(unicodedata.category(char))


def changes(char: str, before: str) -> bool:
    """Whether an invisible character changes how the one before it is drawn: a joiner, or the selector of coloured emoji."""
    symbol = unicodedata.category(before or " ") == "So"
    if char == COLOURED:
        return symbol or before in _PICTURES
    picture = symbol or before == COLOURED or is_skin(before)
    return (char == JOINER and picture) or (char in JOINERS and bool(_JOINED.match(before)))


def is_skin(char: str) -> bool:
    """Whether it is a colour of the skin for the picture before it."""
    return "\U0001f3fb" <= char <= "\U0001f3ff"


def escape(char: str) -> str:
    """Write a character out: `<ESC>`, `<U+202E>`."""
    return f"<{_NAMES.get(char) or f'U+{ord(char):04X}'}>"


def cells(text: str) -> int:
    """Count the cells of sanitised text; where terminals disagree, the larger number."""
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else unicodedata.category(char) not in {"Mn", "Me"}
        for char in text
    )
