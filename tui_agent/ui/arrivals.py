"""Which keys a terminal keeps for itself, or sends as another one, as data: no hint names such a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Keeper:
    """Something around this program that takes keys by default: recognised by a variable that is set, or has this value."""

    name: str
    variable: str
    keys: frozenset[str]
    value: str = ""

    def is_around(self, environment: Mapping[str, str]) -> bool:
        """Whether this program runs in it."""
        found = environment.get(self.variable, "")
        return found == self.value if self.value else bool(found)


def _keys(words: str) -> frozenset[str]:
    return frozenset(words.split())


KEEPERS = (
    Keeper(
        "VS Code",
        "TERM_PROGRAM",
        _keys(
            "ctrl+e ctrl+f ctrl+g ctrl+j ctrl+k ctrl+p ctrl+q f1 f5 f6 f10 f11 "
            "shift+pageup shift+pagedown ctrl+pageup ctrl+pagedown shift+enter"
        ),
        "vscode",
    ),
    Keeper("Zellij", "ZELLIJ", _keys("ctrl+g ctrl+h ctrl+n ctrl+o ctrl+p ctrl+q ctrl+s ctrl+t")),
    Keeper("tmux", "TMUX", _keys("ctrl+b shift+enter")),
    Keeper("screen", "STY", _keys("ctrl+a shift+enter")),
    Keeper("Windows Terminal", "WT_SESSION", _keys("ctrl+v alt+up alt+down alt+left alt+right")),
    Keeper("GNOME Terminal", "GNOME_TERMINAL_SCREEN", _keys("f1 f10 f11")),
)


def kept(environment: Mapping[str, str]) -> dict[str, str]:
    """Keys that do not arrive here by default, each with who keeps it."""
    return {key: keeper.name for keeper in KEEPERS if keeper.is_around(environment) for key in sorted(keeper.keys)}
