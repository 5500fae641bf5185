"""What makes a line of a diff readable: colours of code, the words that changed, and blanks as marks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter

from tui_agent.ui.highlight import ROOT, highlight
from tui_agent.ui.wrap_lines import Piece

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)
_MOST_WORDS = 400
"""Words of both lines together that are compared; longer lines get no word marks."""
_MOST_CODE = 500
"""Characters of a line that is coloured as code."""
_ALIKE = 0.5
_CODE = {"": "plain", "dim": "comment", "strong": "keyword", "literal": "literal"}


def code(language: str, pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The pieces of a line as code; one that holds escapes or is very long stays as it is."""
    texts = [text for text, style in pieces if style != "mark"]
    if len(texts) != 1 or len(texts[0]) > _MOST_CODE or any(style not in {"plain", "mark"} for _, style in pieces):
        return pieces
    _, found = highlight(language, ROOT, texts[0])
    coloured = tuple((text, _CODE.get(style, "plain")) for text, style in found)
    same = "".join(text for text, _ in coloured) == texts[0]
    at = next(n for n, (_, style) in enumerate(pieces) if style != "mark")
    return (*pieces[:at], *coloured, *pieces[at + 1 :]) if same else pieces


def changed_words(mine: str, other: str) -> list[bool]:
    """For each character of `mine` whether its word is missing in `other`; all False when the two are not alike."""
    words, others = _WORD.findall(mine), _WORD.findall(other)
    nothing = [False] * len(mine)
    if len(words) + len(others) > _MOST_WORDS:
        return nothing
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return nothing
    new = [True] * len(words)
    for block in matcher.get_matching_blocks():
        new[block.a : block.a + block.size] = [False] * block.size
    return [flag for word, flag in zip(words, new, strict=True) for _ in word]


def marked_words(pieces: Iterable[Piece], marked: list[bool]) -> Iterator[Piece]:
    """Cut pieces of text so that the marked characters also get the style `word`."""
    at = 0
    for text, style in pieces:
        flags = marked[at : at + len(text)]
        at += len(text)
        if style not in _CODE.values() or not any(flags):
            yield text, style
            continue
        for flag, group in groupby(zip(text, flags, strict=True), key=itemgetter(1)):
            yield "".join(character for character, _ in group), f"{style}+word" if flag else style


def blanks_as_marks(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The same cells with blanks and tabs drawn as marks, which look different from the text."""
    for text, style in pieces:
        if style == "tab":
            yield "→   " * (len(text) // 4), "mark"
        elif style == "mark":
            yield text, style
        else:
            for part in re.findall(r" +|[^ ]+", text):
                yield ("·" * len(part), "mark") if part[0] == " " else (part, style)
