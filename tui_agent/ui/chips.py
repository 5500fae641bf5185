"""Long pastes that stand in the draft as short chips, and the draft as a value that can be kept and saved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tui_agent.ui.editing import clean

LONG_TEXT = 2_000
"""Characters; a longer paste, or a paste that makes a longer line, folds: a line of 200,000 costs 1 s per key."""

LONG_LINES = 20
"""A paste of more lines than this folds."""

MOST_LINES = 1_000
"""A text of more lines than this folds wherever it comes from: each key would cost 20 ms."""

_CHIP = re.compile(r"\[paste \d+: [\d,]+ (?:lines|characters)(?:, [\d,]+ kB)?\]")


@dataclass(frozen=True, slots=True)
class Draft:
    """A text of the person as it stood in the composer: `text` with its chips, `pastes` what each of them stands for."""

    text: str = ""
    pastes: Mapping[str, str] = field(default_factory=dict)

    @property
    def full(self) -> str:
        """The text as it is sent."""
        return _CHIP.sub(lambda chip: self.pastes.get(chip[0], chip[0]), self.text) if self.pastes else self.text

    @property
    def folds(self) -> tuple[tuple[int, int], ...]:
        """Where in the text as it is sent each paste begins and ends."""
        found, longer = [], 0
        for chip in _CHIP.finditer(self.text) if self.pastes else ():
            if (paste := self.pastes.get(chip[0])) is not None:
                start = chip.start() + longer
                found.append((start, start + len(paste)))
                longer += len(paste) - len(chip[0])
        return tuple(found)


class Pastes:
    """Long texts that stand in the draft as short chips such as `[paste 1: 312 lines, 18 kB]`.

    A chip is plain text of the draft, so undo and yank need not know of it. Any outside text that
    reads like a chip becomes a chip itself; `unfold` therefore restores every paste byte for byte.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def __bool__(self) -> bool:
        return bool(self._texts)

    def fold(self, text: str, line: str = "") -> str:
        """Return a pasted `text`, or a chip for it when it is long or would make `line` long."""
        long = len(text) > LONG_TEXT or text.count("\n") >= LONG_LINES
        return self._chip_for(text) if long or _hard_to_edit(text, line) else text

    def refold(self, text: str, line: str = "") -> str:
        """Put the known chips back into a text that `unfold` gave away, and fold what cannot be edited."""
        for chip, paste in self._texts.items():
            before, found, after = text.partition(paste)
            if found:
                return self.refold(before, line) + chip + self.refold(after, line)
        return self._chip_for(text) if _hard_to_edit(text, line) else text

    def fold_at(self, text: str, folds: Iterable[tuple[int, ...]]) -> str:
        """Fold the parts of a text that were folded in another program's life, as `Draft.folds` told them."""
        parts, at = [], 0
        for start, end in folds:
            if at <= start < end <= len(text):
                parts += [self.refold(clean(text[at:start])), self._chip_for(clean(text[start:end]))]
                at = end
        return "".join((*parts, self.refold(clean(text[at:]))))

    def adopt(self, draft: Draft) -> str:
        """Return the text of a draft whose chips may come from another program's life, each with a number of its own."""

        def known(found: re.Match[str]) -> str:
            chip = found[0]
            if chip not in draft.pastes:
                return self._chip_for(chip)
            paste = clean(draft.pastes[chip])
            return chip if self._texts.setdefault(chip, paste) == paste else self._chip_for(paste)

        return _CHIP.sub(known, draft.text)

    def draft(self, text: str) -> Draft:
        """The draft with this text, with the chips that stand in it."""
        chips = _CHIP.findall(text) if self._texts else ()
        return Draft(text, {chip: self._texts[chip] for chip in chips if chip in self._texts})

    def unfold(self, text: str) -> str:
        """Return `text` with each chip replaced by what it stands for."""
        return self.draft(text).full

    def chip_around(self, line: str, column: int) -> tuple[int, int] | None:
        """Return the columns of the chip that `column` would cut in two, if there is one."""
        return next((span for span in self._spans(line) if span[0] < column < span[1]), None)

    def chip_beside(self, line: str, column: int) -> tuple[int, int] | None:
        """Return the columns of the chip that ends, or else begins, at `column`, if there is one."""
        spans = [span for span in self._spans(line) if column in span]
        return min(spans, key=lambda span: span[1] != column, default=None)

    def editable(self, chip: str) -> str | None:
        """What a chip stands for, if that can stand in the draft itself."""
        text = self._texts[chip]
        return None if _hard_to_edit(text) else text

    def _spans(self, line: str) -> list[tuple[int, int]]:
        return [chip.span() for chip in _CHIP.finditer(line) if chip[0] in self._texts] if self._texts else []

    def _chip_for(self, text: str) -> str:
        lines = text.count("\n") + (not text.endswith("\n"))
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        if len(text) >= LONG_TEXT and lines > 1:
            size += f", {len(text.encode()) // 1000:,} kB"
        number = len(self._texts) + 1
        while (chip := f"[paste {number}: {size}]") in self._texts:
            number += 1
        self._texts[chip] = text
        return chip


def _hard_to_edit(text: str, line: str = "") -> bool:
    """Whether a text cannot stand in the draft, at the end of `line`: it is too long, or reads like a chip."""
    first, *others = text.split("\n")
    ends = len(line) + max(len(first), len(others[-1]) if others else 0)  # the text may cut `line` in two
    longest = max(ends, *map(len, others)) if others else ends
    return bool(text) and (longest > LONG_TEXT or len(others) >= MOST_LINES or bool(_CHIP.search(text)))
