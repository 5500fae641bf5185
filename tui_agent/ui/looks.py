"""How the person wants diffs to look: remembered for the session, shared by every view of a diff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Sides: TypeAlias = Literal["auto", "unified", "beside"]

_ORDER: tuple[Sides, ...] = ("auto", "unified", "beside")


@dataclass(slots=True)
class Looks:
    """`sides`: one column or two, by the width when "auto". `wraps`: long lines go on in the next row."""

    sides: Sides = "auto"
    wraps: bool = True

    def next_sides(self) -> None:
        """Automatic, unified, side by side, and round again."""
        self.sides = _ORDER[(_ORDER.index(self.sides) + 1) % len(_ORDER)]
