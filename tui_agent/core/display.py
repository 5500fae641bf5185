"""Stand-in for the sanitiser until its own branch is merged: same names, fewer rules."""

from __future__ import annotations

import re
import shlex
import unicodedata
from dataclasses import dataclass
from typing import Literal

_NAMES = {"\x1b": "ESC", "\0": "NUL", "\a": "BEL", "\b": "BS", "\t": "TAB", "\n": "LF", "\r": "CR", "\x7f": "DEL"}
_MULTI_LINE = {"text", "diff", "command"}


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of shown text; `escape` marks what stands for something else."""

    text: str
    style: Literal["plain", "escape"] = "plain"


@dataclass(frozen=True, slots=True)
class Shown:
    """What an outside string looks like on the screen."""

    spans: tuple[Span, ...]
    warns: frozenset[str] = frozenset()
    full_view: bool = False
    resolved: str | None = None

    @property
    def plain(self) -> str:
        """The text without styles."""
        return "".join(span.text for span in self.spans)


def sanitise(text: str | tuple[str, ...] | list[str], context: str) -> Shown:
    """Make an outside string safe to show."""
    source = text if isinstance(text, str) else shlex.join(text)
    spans: list[Span] = []
    warns: set[str] = set()
    for piece in re.split(r"( {33,}|.)", source, flags=re.DOTALL):
        if not piece:
            continue
        shown, style = piece, "plain"
        if len(piece) > 1:
            shown, style = f"<{len(piece)} spaces>", "escape"
            warns.add("padding")
        elif piece == "\t" and context == "diff_line":
            shown = "    "
        elif piece == "\n" and context in _MULTI_LINE:
            pass
        elif piece != " " and unicodedata.category(piece) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}:
            shown, style = f"<{_NAMES.get(piece, f'U+{ord(piece):04X}')}>", "escape"
            warns.add("control" if piece in _NAMES else "invisible")
        if spans and spans[-1].style == style == "plain":
            spans[-1] = Span(spans[-1].text + shown)
        else:
            spans.append(Span(shown, style))  # type: ignore[arg-type]
    return Shown(tuple(spans), frozenset(warns), bool(warns))


def plain(text: str, context: str) -> str:
    """The safe text alone."""
    return sanitise(text, context).plain
