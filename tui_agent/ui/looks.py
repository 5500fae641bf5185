"""How the person wants diffs to look: remembered for the session, shared by every view of a diff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Sides: TypeAlias = Literal["auto", "unified", "beside"]

_ORDER: tuple[Sides, ...] = ("auto", "unified", "beside")


@dataclass(slots=True)
class Looks:
    """`sides`: one column or two, by the width when "auto". `wraps`: long lines go on in the next row.

    `blanks`: blanks at the end of a line and tabs are drawn as marks.
    """

    sides: Sides = "auto"
    wraps: bool = True
    blanks: bool = False

    def press(self, key: str) -> str:
        """The keys that change it: `v` sides, `w` wrapping, `.` blanks; gives in words how it is now, of sides nothing."""
        match key:
            case "v":
                self.sides = _ORDER[(_ORDER.index(self.sides) + 1) % len(_ORDER)]
                return ""
            case "w":
                self.wraps = not self.wraps
                return "Long lines go on in the next row." if self.wraps else "Long lines are cut."
            case "full_stop":
                self.blanks = not self.blanks
                return "Blanks and tabs are marks." if self.blanks else "Blanks and tabs are blank."
            case _:
                raise ValueError(key)
