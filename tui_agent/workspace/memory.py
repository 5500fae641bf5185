"""What this session knows about files: which bytes were read or written, and copies of them.

It answers two questions. May this file be changed (its current bytes were read here)? And what did a
file hold before a command changed it?
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tui_agent.core import events as ev
from tui_agent.core import fold, unfinished
from tui_agent.core.file_state import Sight
from tui_agent.core.standing import AnyEvent
from tui_agent.tools.arguments import ToolError
from tui_agent.tools.files import View
from tui_agent.workspace.files import Identity, sha256
from tui_agent.workspace.receipts import Blobs


@dataclass(frozen=True, slots=True)
class Known:
    """The bytes of one file as they were last read or written: their hash and where they stood.

    `upto` is the last line read without a gap from line 1; `whole`: every line was seen uncut. `secret` files are
    never copied. `identity` None: that was before this process began.
    """

    sha256: str
    identity: Identity | None
    upto: int
    whole: bool
    secret: bool = False


@dataclass(slots=True)
class Memory:
    """The files a session has seen, by path relative to the workspace.

    `told` are the hashes that the log holds of files that were not written here, from when a command began. `left` are the
    files as others left them, with their hashes: the model read none of those, so they are known for receipts only.
    """

    blobs: Blobs
    known: dict[str, Known] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    left: dict[str, tuple[Identity, str]] = field(default_factory=dict)

    def holds(self, path: str, identity: Identity) -> str | None:
        """The hash of the bytes of a file that stands like this, None when they are not known."""
        known = self.known.get(path)
        if known and known.identity == identity:
            return known.sha256
        stood, name = self.left.get(path, (None, ""))
        return name if stood == identity else None

    def recall(self, events: Iterable[AnyEvent]) -> None:
        """Know what the session knew when these were its events; no file is looked at."""
        events = tuple(events)
        self.known = {path: Known(s.sha256, None, s.upto, s.whole, s.secret) for path, s in seen(events).items()}
        self.told = {path: name for path, name in unfinished.known(events).items() if name is not None}

    def sight(self, path: str) -> Sight | None:
        """What the model knows of a file, for the log; None when that is nothing."""
        known = self.known.get(path)
        return Sight(path, known.sha256, known.upto, known.whole, known.secret) if known else None

    def read(self, path: str, view: View, identity: Identity, *, secret: bool) -> None:
        """A window of the file was shown to the model."""
        old = self.known.get(path)
        reached = old.upto if old and old.sha256 == view.sha256 else 0
        if view.first <= reached + 1 and not view.cut_lines:
            reached = max(reached, view.last)
        whole = reached >= view.total or bool(old and old.sha256 == view.sha256 and old.whole)
        self.known[path] = Known(view.sha256, identity, reached, whole, secret)

    def wrote(self, path: str, data: bytes | None, identity: Identity | None, *, whole: bool, secret: bool) -> None:
        """The file now holds these bytes by our own hand; None forgets a deleted file."""
        if data is None or identity is None:
            self.known.pop(path, None)
            return
        old = self.known.get(path)
        seen = whole or bool(old and old.whole)
        self.told[path] = sha256(data)  # by the receipt
        self.known[path] = Known(sha256(data), identity, old.upto if old else 0, seen, secret)

    def check(self, path: str, named: str, base: bytes, *, whole: bool) -> None:
        """Refuse a change of a file whose current bytes were not read here; `whole`: not read to its end."""
        known = self.known.get(path)
        if known is None:
            raise ToolError(f"{named} was not read in this session; read it first, then change it.", "refused")
        if known.sha256 != sha256(base):
            raise ToolError(
                f"{named} has changed since it was read, so it was not touched. Read it again and redo the change.",
                "refused",
            )
        if whole and not known.whole:
            raise ToolError(
                f"{named} was read only up to line {known.upto}, and this would replace all of it. "
                "Read the rest first, or use edit_file.",
                "refused",
            )


def seen(events: Iterable[AnyEvent]) -> dict[str, Sight]:
    """What the model has seen of each file, by path, as the log tells it.

    What an undo wrote back is known as far as it was before. How a change ended whose process died was found out later:
    nobody has read that.
    """
    found: dict[str, Sight] = {}
    for event in events:
        if isinstance(event, ev.ToolDone) and event.sight is not None:
            found[event.sight.path] = event.sight
            continue
        for receipt in fold.receipts((event,)):
            path, name = receipt.path or "", receipt.after
            if path not in found or receipt.before == receipt.after:
                continue
            if name is None or receipt.interrupted:
                del found[path]
            else:
                found[path] = replace(found[path], sha256=name)
    return found
