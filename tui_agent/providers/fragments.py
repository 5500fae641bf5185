"""Which tool call a streamed fragment belongs to.

Servers of the chat completions format disagree about index and id, and repeat or omit both; the
rules here are those that read all of them right: a new id is a new call, an index continues, and a
fragment with neither continues the last call unless it plainly starts another.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence


class CallKeys:
    """Gives each call of one reply a key of its own. `offered` are the names a call can have."""

    def __init__(self, offered: Collection[str]) -> None:
        self.count = 0
        self._offered = offered
        self._by_index: dict[int, int] = {}
        self._by_id: dict[tuple[int | None, str], int] = {}
        self._with_id: set[int | None] = set()
        self._last: int | None = None
        self._names: dict[int, str] = {}
        self._arguments: dict[int, list[str]] = {}

    def key(self, index: int | None, call_id: str, name: str, arguments: str, *, fresh: bool) -> int:
        """The key of the call that a fragment belongs to; empty texts mean that the fragment says nothing.

        `fresh`: an earlier entry of the same list was already a call of its own.
        """
        known = self._find(index, call_id, name, arguments, fresh=fresh)
        key = self.count if known is None else known
        if known is None:
            self.count += 1
            self._arguments[key] = []
        if index is not None:
            self._by_index[index] = key
        if call_id:
            self._by_id[index, call_id] = key
            self._with_id.add(index)
        if name:
            self._names[key] = self._joined(self.name(key), name)
        if arguments:
            self._arguments[key].append(arguments)
        self._last = key
        return key

    def name(self, key: int) -> str:
        """The call's name so far."""
        return self._names.get(key, "")

    def _find(self, index: int | None, call_id: str, name: str, arguments: str, *, fresh: bool) -> int | None:
        if call_id:
            found = self._by_id.get((index, call_id))
            if found is not None or index in self._with_id:
                return found
        found = self._last if index is None else self._by_index.get(index)
        if found is None or (index is None and (call_id or (name and fresh))):
            return None
        if call_id or not name:
            return found
        return None if self._starts_over(found, name, arguments) else found

    def _starts_over(self, key: int, name: str, arguments: str) -> bool:
        """Whether a fragment without an id is a new call: another name, or more after complete arguments."""
        before = self.name(key)
        if before and before != name:
            return self._joined(before, name) == name
        return bool(arguments.strip()) and _complete(self._arguments[key])

    def _joined(self, before: str, name: str) -> str:
        """Names come whole, again and again; only one that is not yet an offered name may go on."""
        longer = before + name
        goes_on = before and before not in self._offered and any(own.startswith(longer) for own in self._offered)
        return longer if goes_on else name


def _complete(pieces: Sequence[str]) -> bool:
    if not pieces or not pieces[-1].rstrip().endswith("}"):
        return False
    try:
        return isinstance(json.loads("".join(pieces)), dict)
    except (ValueError, RecursionError):
        return False
