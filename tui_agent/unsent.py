"""What the person typed and did not send: a small file beside the log of a session, which says how long the log was.

It is written whole or not at all, and what the log shows as sent since then is left out of what is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_agent.core import events as ev
from tui_agent.core.codec import from_json
from tui_agent.core.disk import ordinary, replaced


@dataclass(frozen=True, slots=True)
class Unsent:
    """The draft, and the messages that wait for a turn to end.

    `edits`: pairs of an earlier message that was recalled, and what it was changed to. `folds`: where in the draft the
    pastes begin and end that are folded there.
    """

    draft: str = ""
    queue: tuple[str, ...] = ()
    edits: tuple[tuple[str, ...], ...] = ()
    folds: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if any(len(edit) != 2 for edit in self.edits):
            raise ValueError("edits: expected pairs")
        if any(len(fold) != 2 for fold in self.folds):
            raise ValueError("folds: expected pairs")

    def __bool__(self) -> bool:
        return bool(self.draft or self.queue or self.edits)

    def without(self, said: Sequence[str]) -> Unsent:
        """What is left of it when these messages were sent, in this order."""
        draft, queue = self.draft, list(self.queue)
        for text in said:
            if text in queue:
                queue.remove(text)
            elif text == draft:
                draft = ""
        edits = tuple(edit for edit in self.edits if edit[1] not in said)
        return Unsent(draft, tuple(queue), edits, self.folds if draft else ())

    def masked(self, hide: Callable[[str], str]) -> Unsent:
        """The same with each text as `hide` makes it."""
        draft, edits = hide(self.draft), tuple(tuple(map(hide, edit)) for edit in self.edits)
        return Unsent(draft, tuple(map(hide, self.queue)), edits, self.folds if draft == self.draft else ())


def read(file: Path, events: Sequence[ev.Durable | ev.Unknown]) -> Unsent:
    """What is still unsent after these events; nothing when there is no file.

    Raises:
        ValueError: the file is damaged, or cannot be read.
    """
    try:
        record = json.loads(ordinary(file).decode())
    except FileNotFoundError:
        return Unsent()
    except (OSError, RecursionError) as error:
        raise ValueError(f"{file} cannot be read") from error
    kept = from_json(Unsent, record)
    at = record.get("events")
    if type(at) is not int or at < 0:  # True is a number, too, and -1 would be counted from the end
        raise ValueError("events: expected how many there were")
    return kept.without([event.text for event in events[at:] if isinstance(event, ev.UserSaid | ev.Steered)])


def typed(file: Path) -> str:
    """All that is kept there as one text, "" when nothing can be read."""
    try:
        kept = read(file, ())
    except ValueError:
        return ""
    return "\n".join((*kept.queue, kept.draft))


def write(file: Path, unsent: Unsent, events: int) -> None:
    """Keep this, as of so many events; without anything to keep the file goes.

    Raises:
        OSError: the disk refuses; what was there is as it was.
    """
    if not unsent:
        file.unlink(missing_ok=True)
        return
    record = {"v": 1, "draft": unsent.draft, "queue": unsent.queue, "events": events}
    more = {"edits": unsent.edits, "folds": unsent.folds}
    replaced(file, json.dumps(record | {name: value for name, value in more.items() if value}))
