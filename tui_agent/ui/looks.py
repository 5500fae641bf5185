"""How the person wants diffs to look: shared by every view of a diff; one column or two is remembered for good."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tui_agent.core.disk import ordinary, replaced

Sides: TypeAlias = Literal["auto", "unified", "beside"]

_ORDER: tuple[Sides, ...] = ("auto", "unified", "beside")


@dataclass(slots=True)
class Looks:
    """`sides`: one column or two, by the width when "auto". `wraps`: long lines go on in the next row.

    `blanks`: blanks at the end of a line and tabs are drawn as marks. `keep` is told the sides that were chosen.
    """

    sides: Sides = "auto"
    wraps: bool = True
    blanks: bool = False
    keep: Callable[[Sides], None] = lambda _: None

    def press(self, key: str) -> str:
        """The keys that change it: `v` sides, `w` wrapping, `.` blanks; gives in words how it is now, of sides nothing."""
        match key:
            case "v":
                self.sides = _ORDER[(_ORDER.index(self.sides) + 1) % len(_ORDER)]
                self.keep(self.sides)
                return ""
            case "w":
                self.wraps = not self.wraps
                return "Long lines go on in the next row." if self.wraps else "Long lines are cut."
            case "full_stop":
                self.blanks = not self.blanks
                return "Blanks and tabs are marks." if self.blanks else "Blanks and tabs are blank."
            case _:
                raise ValueError(key)


def remembered(file: Path) -> Looks:
    """Looks with the sides that were chosen last time; where `file` cannot be had, they count for this time only."""

    def keep(sides: Sides) -> None:
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replaced(file, sides)

    try:
        text = ordinary(file).decode().strip()
    except (OSError, UnicodeDecodeError):
        text = ""
    return Looks(next((sides for sides in _ORDER if sides == text), "auto"), keep=keep)
