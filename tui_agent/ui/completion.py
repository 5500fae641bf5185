"""What can be completed in a message, as values: where the cursor stands, what fits there, what is put in its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tui_agent.ui.actions import BY_SLASH, Action
from tui_agent.ui.fuzzy import match
from tui_agent.ui.keymap import USUAL, Keymap

Kind: TypeAlias = Literal["command", "argument", "file"]

_MENTION = re.compile(r"(?:^|(?<=[\s(]))@(!?)(?:\"([^\"]*)(\"?)|((?:\\.|[^\s\\\"])*))(:\d*-?\d*)?$")
_RANGE = re.compile(r":\d*-?\d*$")
_PLAIN = re.compile(r"[^\s\\\"]+")


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that may stand at the cursor: `value` as it is meant, `hint` what it is; `offsets` made it fit.

    `bare`: it can be sent as it is, although more may stand behind it.
    """

    value: str
    hint: str = ""
    offsets: tuple[int, ...] = ()
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A word before the cursor that can be completed: it begins at column `start` of its line.

    `word` is what was typed of it; `action` the one whose argument it is; `lines` is what stands behind a file's name
    (":10-20"), `every` whether ignored files count.
    """

    kind: Kind
    start: int
    word: str
    action: Action | None = None
    lines: str = ""
    every: bool = False


def place(before: str, above: str = "") -> Place | None:
    """Find what can be completed behind `before`, the line up to the cursor, with `above` before it."""
    if before.startswith("/") and not above:
        word, space, rest = before.partition(" ")
        if not space:
            return Place("command", 0, word) if "/" not in word[1:] else None
        action = BY_SLASH.get(word.lower())
        argument = rest.lstrip()
        if action and action.takes not in {"", "text"}:
            return Place("argument", len(before) - len(argument), argument, action)
    if (found := _MENTION.search(before)) is None:
        return None
    every, quoted, closed, bare, lines = found.groups()
    if quoted is None:
        if lines is None and (tail := _RANGE.search(bare)):
            bare, lines = bare[: tail.start()], tail[0]
        word = re.sub(r"\\(.)", r"\1", bare)
    elif lines and not closed:
        return None
    else:
        word = quoted
    return Place("file", found.start(), word, lines=lines or "", every=bool(every))


def mention(path: str, lines: str = "") -> str:
    """How a message names a file: `@path`, in quotes where it must be, and lines behind it."""
    if _PLAIN.fullmatch(path):
        return f"@{path}{lines}"
    if '"' not in path:
        return f'@"{path}"{lines}'
    return "@" + re.sub(r"([\s\\\"])", r"\\\1", path) + lines


def filled(at: Place, choice: Choice, *, sent: bool = False) -> str:
    """What stands in the place once `choice` was taken; with `sent` it is the whole of the message, if it can be."""
    if at.kind == "file":
        return mention(choice.value, at.lines)
    action = BY_SLASH.get(choice.value)
    wants_more = at.kind == "command" and (action is None or action.takes == "text")
    return f"{choice.value} " if wants_more and not (sent and choice.bare) else choice.value


def commands(word: str, more: Iterable[Choice] = (), keys: Keymap = USUAL) -> list[Choice]:
    """The commands of the table and `more` that fit `word`, with what they do; other names only when asked for.

    `keys` are the person's.
    """
    named = ((slash, action) for slash, action in BY_SLASH.items() if word.strip("/") or slash == action.slash)
    table = [Choice(slash, "   ".join(filter(None, (a.title, keys.keys(keys[a.id]))))) for slash, a in named]
    return ranked([*table, *(one for one in more if one.value not in BY_SLASH)], word)


def ranked(choices: Iterable[Choice], word: str) -> list[Choice]:
    """Those that fit `word`, the best first; an empty word keeps the order."""
    if not word.strip("/"):
        return list(choices)
    scored = [(found, choice) for choice in choices if (found := match(word.lower(), choice.value)) is not None]
    scored.sort(key=lambda pair: -pair[0][0])
    return [replace(choice, offsets=offsets) for (_, offsets), choice in scored]


def common(choices: Sequence[Choice], word: str) -> str:
    """The longest beginning that all choices share, when it goes on from `word`; else nothing."""
    least, most = min(choice.value for choice in choices), max(choice.value for choice in choices)
    same = next((at for at, letter in enumerate(least) if letter != most[at]), len(least))
    return least[:same] if same > len(word) and least[:same].lower().startswith(word.lower()) else ""
