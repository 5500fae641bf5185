"""What was sent from one folder, kept in a file of the data folder; and where Up and Down stand in it.

One line a message, JSON, oldest first. A line that cannot be read is passed over.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tui_agent.core.disk import is_file
from tui_agent.paths import append_private
from tui_agent.ui.chips import Draft

MAX_ENTRIES = 1_000
"""How many messages are kept; the file is cut to that when it holds twice as many."""
MAX_BYTES = 8_000_000
"""How much of the file is read, and the size from which on it is cut."""


def history_file(data: Path, root: Path) -> Path:
    """Where the history of a folder is kept."""
    return data / "history" / f"{hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:24]}.jsonl"


class History:
    """The messages of a folder, oldest first, and a cursor among them; behind the newest waits what is not sent yet.

    A message that was changed and not sent is kept as it was left, until it is sent.
    """

    def __init__(self, file: Path | None = None, hide: Callable[[str], str] = str) -> None:
        """Read `file`; what is written there is what `hide` makes of it."""
        self._file, self._hide = file, hide
        self.entries = _read(file) if file else []
        self._at = len(self.entries)
        self._waiting = Draft()
        self._changed: dict[str, Draft] = {}

    def unsent(self, now: Draft) -> tuple[Draft, tuple[tuple[str, str], ...]]:
        """What would be missed, with `now` in the composer: the draft, and each entry that was changed with its change."""
        draft, edits = now, {entry: changed.full for entry, changed in self._changed.items()}
        if self._at < len(self.entries):
            edits.pop(entry := self.entries[self._at].full, None)
            if self._waiting.text:
                draft, edits[entry] = self._waiting, now.full
        return draft, tuple((entry, changed) for entry, changed in edits.items() if changed not in {"", entry})

    def restore(self, edits: Iterable[tuple[str, ...]]) -> None:
        """Take changes up again as `unsent` told them; the cursor stands behind the newest entry."""
        known = {entry.full for entry in self.entries}
        for entry, changed in edits:
            if entry not in known:  # the file of the history has lost it since
                self.entries.append(Draft(entry))
            self._changed[entry] = Draft(changed)
        self._at = len(self.entries)

    def step(self, step: int, now: Draft) -> Draft | None:
        """Go to the entry before (-1) or after (+1), keeping `now`, what stands in the composer; None at either end."""
        return self.go(self._at + step, now)

    def go(self, to: int, now: Draft) -> Draft | None:
        """Go to the entry with the index `to`, keeping `now`; None when there is none."""
        if not 0 <= to <= len(self.entries):
            return None
        self._keep(now)
        self._at = to
        if to == len(self.entries):
            return self._waiting
        entry = self.entries[to]
        return self._changed.get(entry.full, entry)

    def add(self, sent: Draft) -> Draft:
        """Keep a message that was sent; returns what waited behind the newest entry and was not sent."""
        waiting = self.leave()
        self.entries = [entry for entry in self.entries if entry.full != sent.full][1 - MAX_ENTRIES :]
        self.entries.append(sent)
        self._at = len(self.entries)
        if self._file is not None:
            pastes = {chip: self._hide(paste) for chip, paste in sent.pastes.items()}
            append_private(self._file, json.dumps({"text": self._hide(sent.text), "pastes": pastes}))
        return waiting

    def leave(self) -> Draft:
        """Go behind the newest entry because what stood in the composer was used; returns what waited there."""
        if self._at < len(self.entries):
            self._changed.pop(self.entries[self._at].full, None)
            waiting = self._waiting
        else:
            waiting = Draft()
        self._at, self._waiting = len(self.entries), Draft()
        return waiting

    def _keep(self, now: Draft) -> None:
        if self._at == len(self.entries):
            self._waiting = now
        elif now.full != (entry := self.entries[self._at]).full:
            self._changed[entry.full] = now
        else:
            self._changed.pop(entry.full, None)


def _read(file: Path) -> list[Draft]:
    """The entries of a file, each once, where it was used last; a file that has grown too long is cut."""
    if not is_file(file):  # a pipe would never end
        return []
    try:
        size = file.stat().st_size
        with file.open("rb") as source:
            source.seek(max(0, size - MAX_BYTES))
            lines = source.read(MAX_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    entries = list({draft.full: draft for draft in reversed(list(_drafts(lines)))}.values())[:MAX_ENTRIES][::-1]
    if size > MAX_BYTES or len(lines) > 2 * MAX_ENTRIES:
        _rewrite(file, entries)
    return entries


def _drafts(lines: list[str]) -> Iterator[Draft]:
    for line in lines:
        try:
            found = json.loads(line)
            text, pastes = found["text"], found["pastes"]
        except (ValueError, TypeError, KeyError):
            continue
        if isinstance(text, str) and isinstance(pastes, dict) and all(isinstance(p, str) for p in pastes.values()):
            yield Draft(text, pastes)


def _rewrite(file: Path, entries: list[Draft]) -> None:
    """Write the newest entries that take half of the room; the old file stays whole until the new one is."""
    lines: list[str] = []
    room = MAX_BYTES // 2
    for entry in reversed(entries):
        line = json.dumps({"text": entry.text, "pastes": dict(entry.pastes)}) + "\n"
        if (room := room - len(line)) < 0:
            break
        lines.append(line)
    part = file.with_suffix(f".{os.getpid()}")
    try:
        with open(part, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
            out.writelines(reversed(lines))
        part.replace(file)
    except OSError:
        part.unlink(missing_ok=True)
