"""Texts that must never be shown or kept: keys, passwords. One value for a process, shared by whatever could leak one.

A text is hidden by its value, wherever it stands, as it is and as JSON writes it. It may be learned late (a key that a
command prints), so whoever hides asks `Secrets` each time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tui_agent.core.late import late
from tui_agent.core.types import Json

HIDDEN = "[key hidden]"
SHORT = 8
"""Characters below which a text is no key: hiding it would tear words apart."""
_SHAPES = late(
    r"\b(?:(?:sk|pk|rk|gsk|hf|ghp|gho|github_pat|fw|tgp|nvapi|csk)[-_]|xai-|AIza)[A-Za-z0-9][A-Za-z0-9_\-]{14,}"
    r"|\bBearer\s+[A-Za-z0-9._~+/=-]{8,}"
)
_DRAWN = late(r"[A-Za-z0-9]{16,}")
"""A part of a key that was drawn by lot: names are shorter, or have separators."""


def like_keys(text: str) -> str:
    """The text with `HIDDEN` in the place of whatever may be a key that a vendor sells; a long name may be taken for one."""
    return _SHAPES.sub(HIDDEN, text)


def typed_keys(text: str) -> str:
    """The same for what a person wrote, who misses what was no key: a name as `hf_hub_download_kwargs` stays."""
    return _SHAPES.sub(lambda found: HIDDEN if any(map(_drawn, _DRAWN.findall(found[0]))) else found[0], text)


def _drawn(run: str) -> bool:
    kinds = (any(map(kind, run)) for kind in (str.isdigit, str.isupper, str.islower))
    return sum(kinds) > 1


def in_texts(value: Any, hide: Callable[[str], str]) -> Any:
    """A value of JSON with the texts in it, names of members too, as `hide` makes them."""
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, Mapping):
        return {hide(name): in_texts(member, hide) for name, member in value.items()}
    return [in_texts(member, hide) for member in value] if isinstance(value, list) else value


class Secrets:
    """The texts to hide; grows only."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._spellings: tuple[str, ...] = ()
        self._longest = 0
        self._whole: re.Pattern[str] | None = None
        self._first = re.compile("(?!)")
        self.add(*texts)

    @property
    def known(self) -> bool:
        """Whether there is anything to hide yet."""
        return self._whole is not None

    def add(self, *texts: str | None) -> None:
        """Hide these texts, too; those that are too short to be a key are left alone."""
        spellings = set(self._spellings)
        for text in texts:
            if text and len(text) >= SHORT:
                once = json.dumps(text)[1:-1]
                spellings |= {text, once, json.dumps(once)[1:-1]}  # twice: arguments are JSON within JSON
        if len(spellings) == len(self._spellings):
            return
        # the longest first, for one may hold another
        self._spellings = tuple(sorted(spellings, key=lambda text: (-len(text), text)))
        self._longest = len(self._spellings[0])
        self._whole = re.compile("|".join(map(re.escape, self._spellings)))
        self._first = re.compile("[" + "".join(re.escape(text[0]) for text in self._spellings) + "]")

    def hide(self, text: str) -> str:
        """The text with `HIDDEN` in the place of each secret."""
        return text if self._whole is None else self._whole.sub(HIDDEN, text)

    def hide_in(self, value: Json) -> Json:
        """The value with the texts in it, names of members too, as `hide` makes them."""
        hidden: Json = in_texts(value, self.hide)
        return hidden

    def holds(self, piece: str) -> bool:
        """Whether a text is a piece of a secret that is long enough to be told from a word."""
        return len(piece) >= SHORT and any(piece in secret for secret in self._spellings)

    def split(self, text: str) -> tuple[str, str]:
        """(what can be shown of the beginning of a longer text, the rest, with which a secret may begin)."""
        if self._whole is None or self._first.search(text) is None:
            return text, ""
        shown: list[str] = []
        at, open_at = 0, self._opens(text, 0)
        while (found := self._whole.search(text, at)) is not None and found.start() < open_at:
            shown += text[at : found.start()], HIDDEN
            at = found.end()
            if at > open_at:
                open_at = self._opens(text, at)
        return "".join([*shown, text[at:open_at]]), text[open_at:]

    def _opens(self, text: str, start: int) -> int:
        """Where at the end of a text a secret begins that is longer than what is there; its length when nowhere."""
        for found in self._first.finditer(text, max(start, len(text) - self._longest + 1)):
            rest = text[found.start() :]
            for secret in self._spellings:
                if len(secret) > len(rest) and secret.startswith(rest):
                    return found.start()
        return len(text)


class Masked:
    """One text that arrives in pieces. What comes out, joined, is what `Secrets.hide` makes of the whole.

    Only the beginning of a secret is held back, so a piece costs the same however long the text is.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown after this piece."""
        shown, self._held = self._secrets.split(self._held + piece)
        return shown

    def finish(self) -> str:
        """What was held back and is no secret, at the end of the text."""
        held, self._held = self._held, ""
        return self._secrets.hide(held)
