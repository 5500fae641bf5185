"""The keys of the person: the table of actions with what `[keys]` of the configuration makes of it.

    "ui.palette" = "f2, ctrl+p"       the keys of an action; "none" takes them away
    "leader" = "ctrl+b"               the key that goes before a letter
    "leader.model.switch" = "m"       the letter behind it

What cannot be is left at its default, and named. The letters that answer a question move together or not at all: a slip
there would say yes. Pure: nothing here knows the screen.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from tui_agent.config import Loaded
from tui_agent.places import place_of
from tui_agent.schema import Fault, did_you_mean
from tui_agent.ui.actions import ACTIONS, BY_ID, Action, Scope, key_name, keys_of

LEADER = "ui.leader"
NONE = "none"
"""No key; as the name of one, a key that no terminal sends."""
NAMED = frozenset(
    [
        "enter",
        "escape",
        "tab",
        "space",
        "backspace",
        "delete",
        "insert",
        "home",
        "end",
        "pageup",
        "pagedown",
        "up",
        "down",
        "left",
        "right",
    ]
) | {f"f{n}" for n in range(1, 25)}
SAME = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+h": "backspace", "ctrl+[": "escape"}
"""Keys that every terminal sends as another one."""

LISTS: tuple[Scope, ...] = ("sessions", "undo", "rewind", "context", "first")
"""Lists over the whole screen: what scrolls them, chooses and leaves is the same in all and cannot be moved."""
MEETS: Mapping[Scope, tuple[Scope, ...]] = {
    "app": ("app", "composer", "transcript", "files", "card"),
    "composer": ("composer", "app"),
    "transcript": ("transcript", "card", "app"),
    "files": ("files", "app"),
    "card": ("card", "transcript", "app"),
    "dialog": ("dialog",),
    "review": ("review",),
    "trust": ("trust",),
    "viewer": ("viewer",),
    "list": ("list",),
    **{scope: (scope,) for scope in LISTS},
}
"""The scopes whose keys count where those of a scope do; a question, the review and the lists lie over everything else."""
LETTERS = frozenset({"transcript", "files", "card", "dialog", "review", "trust", "viewer", *LISTS})
"""Scopes in which nothing is typed, so that a letter can be a key."""
ANSWERS = frozenset({"dialog.yes", "dialog.no", "dialog.skip"})
_SCROLLING = frozenset({"pageup", "pagedown", "home", "end"})
_LEAVING = _SCROLLING | {"escape", "ctrl+c", "ctrl+q", "q"}
TAKEN: Mapping[Scope, frozenset[str]] = {
    "dialog": _SCROLLING | {"up", "down", "enter", "tab", "escape", "ctrl+c"},
    "review": _SCROLLING,
    "trust": _SCROLLING | {"up", "down", "j", "k", "enter", "escape", "ctrl+c", "ctrl+q"},
    "viewer": _SCROLLING | {"up", "down", "space"},
    "sessions": _LEAVING,
    **dict.fromkeys(LISTS[1:], _LEAVING | {"up", "down", "enter"}),
    "first": _LEAVING | {"up", "down", "enter", "tab", *"123456789"},
}
"""What no action of a scope can have: it scrolls, or means nothing in a question, so that it can do no harm."""
FIXED = frozenset({"dialog.stop"} | {action.id for action in ACTIONS if action.scope == "list"})
"""Whose keys cannot be moved: the way out of a question, and of every list."""
_WAY = re.compile(r"\{(leader )?([a-z]+\.\w+)\}")

Told: TypeAlias = tuple[str, str]
"""A key of the configuration, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Keymap:
    """The table of actions as it is in force; `kept` are keys that do not arrive in this terminal."""

    actions: Sequence[Action] = ACTIONS
    kept: frozenset[str] = frozenset()
    _meant: Mapping[tuple[str, str], str] = field(init=False, repr=False, compare=False)
    _by_id: Mapping[str, Action] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        meant: dict[tuple[str, str], str] = {}
        for before in ACTIONS:
            meant |= {(before.scope, textual_name(key)): "" for key in before.keys}
        for action in self.actions:
            first = next(iter(BY_ID[action.id].keys), "")
            meant |= {(action.scope, textual_name(key)): textual_name(first) for key in action.keys}
        object.__setattr__(self, "_meant", meant)
        object.__setattr__(self, "_by_id", {action.id: action for action in self.actions})

    def __getitem__(self, action_id: str) -> Action:
        return self._by_id[action_id]

    @property
    def leader(self) -> str:
        """The name of the key before a letter, "" when it was taken away."""
        return key_name(self[LEADER].keys[0]) if self[LEADER].keys else ""

    def keys(self, action: Action) -> str:
        """The keys of an action that arrive here, as people write them."""
        leader = action.leader if self.leader else None
        return keys_of(replace(action, keys=self._arriving(action), leader=leader), self.leader)

    def _arriving(self, action: Action) -> tuple[str, ...]:
        """Of a key that the person chose they know best whether it does."""
        own = action.keys != BY_ID[action.id].keys
        return tuple(key for key in action.keys if own or key not in self.kept)

    @property
    def overrides(self) -> dict[str, str]:
        """What differs from the table, in the form that Textual takes."""
        return {
            action.id: ",".join(map(textual_name, action.keys)) or NONE
            for action in self.actions
            if action.keys != BY_ID[action.id].keys
        }

    def way(self, action_id: str, *, leader: bool = False) -> str:
        """The shortest way to an action: its first key that arrives, else that behind the leader (at once with `leader`), else its command."""
        action = self[action_id]
        behind = f"{self.leader} {key_name(action.leader)}" if self.leader and action.leader else ""
        first = next(map(key_name, self._arriving(action)), "")
        return (behind or first if leader else first or behind) or action.slash or ""

    def say(self, text: str) -> str:
        """A text of ours such as "{ui.palette} lists them" with the keys of today in it; "" when one has no key at all."""
        ways = {found[0]: self.way(found[2], leader=bool(found[1])) for found in _WAY.finditer(text)}
        return _WAY.sub(lambda found: ways[found[0]], text) if all(ways.values()) else ""

    def hints(self, scope: Scope, but: Collection[str] = ()) -> list[str]:
        """The keys of a place with their words, as a footer has them, without those of the actions `but`."""
        named = [f"{{{a.id}}} {a.hint}" for a in self.actions if a.scope == scope and a.hint and a.id not in but]
        return [*filter(None, map(self.say, named))]

    def meant(self, scope: Scope, key: str) -> str:
        """What a key that arrived means to who knows the table only as it is made: the first key of the action, "" for none."""
        key = "shift+enter" if key == "shift+\r" else key  # as xterm's modifyOtherKeys has it in Textual
        return self._meant.get((scope, key), key)

    def counts(self, scope: Scope, key: str) -> bool:
        """Whether a key that arrived does something in a place."""
        return any(key == textual_name(own) for a in self.actions if a.scope == scope for own in a.keys)

    def shown(self, scope: Scope, key: str) -> str:
        """What the person calls the key that the table has for something in a scope; others as they are."""
        action = next((a for a in ACTIONS if a.scope == scope and key in (a.keys[0], key_name(a.keys[0]))), None)
        return key if action is None else key_name(self[action.id].keys[0]) if self[action.id].keys else ""


def textual_name(key: str) -> str:
    """The name that Textual has for a key that is written as its character."""
    if key and not key[-1].isalnum() and key != "ctrl+@":
        from textual.keys import _character_to_key  # noqa: PLC0415 - only where a sign is moved

        return key[:-1] + _character_to_key(key[-1])
    return key


def written(key: str) -> str:
    """A key of Textual's as `[keys]` takes it, as its character where it has one."""
    from textual.keys import key_to_character  # noqa: PLC0415 - only where keys are looked at

    *modifiers, last = key.split("+") if key != "+" else [key]
    if last not in NAMED:
        signs = {"\r": "enter", **{textual_name(sign): sign for sign in string.punctuation}}
        last = signs.get(last) or key_to_character(last) or last
    return "+".join((*modifiers, last))


USUAL = Keymap()
"""The keys of somebody who moved none."""


def fault_of_key(key: str, *, letter: bool = False, pane: bool = False) -> str:
    """Why this is no key for an action, "" when it is one.

    `letter`: behind the leader, where a letter is. `pane`: nothing is typed where it counts, so it may be one.
    """
    *modifiers, last = re.split(r"\+(?=.)", key)
    if key in SAME:
        return f"{key} arrives as {SAME[key]} in every terminal"
    if not set(modifiers) <= {"ctrl", "alt", "shift", "super"} or not (
        last in NAMED or (len(last) == 1 and last.isprintable() and not last.isspace())
    ):
        near = did_you_mean(last, NAMED) if len(last) > 1 else ""
        return f"{key!r} is no key{near or '; tui-agent keys --probe shows what a key is called'}"
    if modifiers == ["shift"] and len(last) == 1 and last.upper() != last.lower():
        return f"{key} arrives as {last.upper()}"
    if letter:
        return "" if not modifiers else f"{key!r}: one key behind the leader, such as m"
    if not pane and len(last) == 1 and not {"ctrl", "alt", "super"} & set(modifiers):
        return f"{key!r} types itself; take it with ctrl or alt, or a key such as f5"
    return ""


def keymap(table: Mapping[str, str]) -> tuple[Keymap, list[Told]]:
    """What `[keys]` makes of the table of actions, and what of it cannot be."""
    faults: list[Told] = []
    wanted: dict[str, Action] = {}
    sources: dict[str, list[str]] = {}
    some = ANSWERS & table.keys()
    if some and some != ANSWERS:
        faults += [(name, f"the answers move together: {', '.join(sorted(ANSWERS))}") for name in sorted(some)]
        table = {name: value for name, value in table.items() if name not in some}
    for name, value in table.items():
        behind = name.startswith("leader.")
        action = BY_ID.get(LEADER if name == "leader" else name.removeprefix("leader.") if behind else name)
        parts = [","] if value.strip() == "," else value.split(",")
        keys = tuple(key for part in parts if (key := part.strip()) and key != NONE)
        keys = tuple(key.lower() if len(key) > 1 else key for key in keys)
        if why := _refused(name, action, keys, behind=behind):
            faults.append((name, why))
            continue
        assert action is not None
        today = wanted.get(action.id, action)
        wanted[action.id] = replace(today, leader=next(iter(keys), None)) if behind else replace(today, keys=keys)
        sources.setdefault(action.id, []).append(name)
    if (moved := ANSWERS & wanted.keys()) and moved != ANSWERS:  # one of them could not be: the others stay, too
        for action_id in sorted(moved):
            faults.append((action_id, "the answers move together, and one of them cannot be"))
            del wanted[action_id]
    while clash := next(_clashes(wanted), None):
        mine, why = clash
        for action_id in ANSWERS if mine in ANSWERS else {mine}:
            faults += [(name, why) for name in sources[action_id]]
            del wanted[action_id]
    return Keymap(tuple(wanted.get(action.id, action) for action in ACTIONS)), faults


def _refused(name: str, action: Action | None, keys: tuple[str, ...], *, behind: bool) -> str:
    if action is None:
        known = [a.id for a in ACTIONS if a.id not in FIXED]
        return f"there is no action of this name{did_you_mean(name.removeprefix('leader.'), known)}; tui-agent keys lists them"
    if action.id in FIXED or (behind and action.scope != "app"):
        return "the keys of this action stay as they are"
    if behind and len(keys) > 1:
        return "one key behind the leader, such as m"
    if action.id in ANSWERS and len(keys) != 1:
        return "an answer has one key"
    if no := TAKEN.get(action.scope, frozenset()) & set(keys):
        return f"{min(no)} does something else there"
    if action.id in ANSWERS and "space" in keys:
        return "space is no answer"
    pane = action.scope in LETTERS
    return next((why for key in keys if (why := fault_of_key(key, letter=behind, pane=pane))), "")


def _clashes(wanted: Mapping[str, Action]) -> Iterator[Told]:
    """Actions that were moved onto a key of another where both count: (action, what is said of it)."""
    table = [wanted.get(action.id, action) for action in ACTIONS]
    for action in wanted.values():
        moved = set(action.keys) - set(BY_ID[action.id].keys)
        for other in table:
            if other.id == action.id:
                continue
            meets = other.scope in MEETS[action.scope] or action.over or other.over
            if meets and (both := moved & set(other.keys)):
                yield action.id, f"{min(both)} belongs to {other.id} ({other.title})"
            if action.leader and action.leader == other.leader and action.leader != BY_ID[action.id].leader:
                yield action.id, f"{action.leader} behind the leader belongs to {other.id} ({other.title})"


def checked(loaded: Loaded, file: Path) -> tuple[Loaded, Keymap]:
    """A configuration with what is wrong with its keys, by line of the person's `file`, and the keys in force."""
    keys, told = keymap(loaded.settings.keys)
    if not told:
        return loaded, keys
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        text = ""
    faults = [Fault(file, place_of(text, ("keys", name)), f"keys.{name}", why, "warning") for name, why in told]
    faults.sort(key=lambda fault: fault.place.line if fault.place else 0)  # as one reads the file
    return replace(loaded, faults=(*loaded.faults, *faults)), keys
