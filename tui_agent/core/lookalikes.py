"""Letters that pose as Latin ones: `src/аpp.py` with a Cyrillic a.

`posing` finds the words; `core.display` writes the letters out. Whole words in another script are
nobody's trick and stay as they are, as do scripts that are never mistaken for Latin.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

_WORD = re.compile("(?:[^\\W_]|[\u0300-\u036f])+")
_ALPHABETS = frozenset({"ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "GREEK"})
# Letters of those alphabets that have a Latin shape; as numbers, so that these lines fool nobody.
_SHAPES = frozenset(
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"  # Greek capitals
    "\u03b9\u03ba\u03bd\u03bf\u03c1\u03c5\u03f2\u03f3"  # Greek small letters
    "\u0405\u0406\u0408\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425"  # Cyrillic capitals
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb\u04cf\u0501\u051b\u051d"  # Cyrillic small
    "\u0566\u0570\u0575\u0578\u057d\u0581\u0585"  # Armenian
)


def posing(text: str, *, name: bool) -> Iterator[tuple[str, frozenset[str]]]:
    """Cut a text into (piece, letters in it that pose as Latin ones); the pieces joined are the text.

    In any text a word is suspect when it mixes Latin letters with others that all have a Latin
    shape. In a name any mix of these alphabets is, and so is a word without Latin letters when no
    letter of the whole name gives its alphabet away.
    """
    disguised = name and "foreign" not in map(_sort, text)
    done = 0
    for match in _WORD.finditer(text):
        sorts = {char: _sort(char) for char in match[0]}
        letters = frozenset(char for char, sort in sorts.items() if sort in {"foreign", "shape"})
        mixed = "latin" in sorts.values() and (name or "foreign" not in sorts.values())
        if letters and (mixed or disguised):
            yield text[done : match.start()], frozenset()
            yield match[0], letters
            done = match.end()
    yield text[done:], frozenset()


@lru_cache(maxsize=4096)
def _sort(char: str) -> Literal["latin", "shape", "foreign", "other"]:
    """Sort a letter: Latin; of Latin shape; of an alphabet that has such letters; anything else."""
    if char.isascii():
        return "latin" if char.isalpha() else "other"
    script = unicodedata.name(char, "").partition(" ")[0]
    folded = unicodedata.normalize("NFKC", char)  # ligatures and mathematical alphabets become ASCII
    cased = unicodedata.category(char) in {"Lu", "Ll"} and script != "FULLWIDTH"
    if char in _SHAPES or (cased and folded.isascii() and folded.isalpha()):
        return "shape"
    if script in _ALPHABETS:
        return "foreign"
    return "latin" if script == "LATIN" else "other"
