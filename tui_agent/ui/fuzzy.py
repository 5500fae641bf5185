"""How well a word fits a text that a person looks for: used by every list that is filtered by typing."""

from __future__ import annotations

import re


def match(word: str, text: str) -> tuple[float, tuple[int, ...]] | None:
    """Say how well `word`, in lower case, fits `text`, and which letters did it; None when it does not.

    The whole text beats a word of it, that a part of a word, that scattered letters, which must lie close.
    Linear in the text: Textual's `FuzzySearch` tries every combination of letters, which takes
    minutes for a long run of one letter.
    """
    lower = text.lower() if len(text.lower()) == len(text) else text
    if lower == word:
        return 5.0, tuple(range(len(word)))
    if places := [found.start() for found in re.finditer(re.escape(word), lower)]:
        at = next((place for place in places if place == 0 or not lower[place - 1].isalnum()), None)
        score = 2.0 if at is None else 3.0 if at else 4.0
        start = places[0] if at is None else at
        return score - start / 1000, tuple(range(start, start + len(word)))
    end = -1
    for letter in word:
        if (end := lower.find(letter, end + 1)) < 0:
            return None
    offsets = []
    end += 1
    for letter in reversed(word):  # back from the end, which finds the letters closest to it
        end = lower.rfind(letter, 0, end)
        offsets.append(end)
    density = len(word) / (offsets[0] - offsets[-1] + 1)
    return (density, tuple(reversed(offsets))) if density >= 0.4 else None
