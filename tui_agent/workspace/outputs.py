"""Outputs that are too long to be told: kept whole with the session, under a name made of their bytes, and read in parts.

What a model is told has the head, the tail and that name. A part is asked for by name and bytes, never by a path.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tui_agent.core.lookup import ReadOutput
from tui_agent.core.types import Outcome
from tui_agent.tools.files import MAX_RESULT
from tui_agent.workspace.files import sha256
from tui_agent.workspace.receipts import Blobs

OUTPUTS = "outputs"
"""The folder of them, inside of that of the copies of files."""
MAX_OUTPUTS = 64 * 1024 * 1024
"""Bytes that they may take in one session."""
_NAME = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Outputs:
    """The long outputs of one session. `hide` takes out what must not be on the disk; what is told later went through it."""

    blobs: Blobs
    hide: Callable[[str], str] = str

    def keep(self, text: str) -> str:
        """The name by which parts of a text can be read from here on, "" when it could not be kept."""
        data = self.hide(text).encode("utf-8", "replace")
        name = sha256(data)[:16]
        return "" if self.blobs.put(data, name) else name

    def read(self, effect: ReadOutput) -> Outcome:
        """A part of an output, cut at whole characters. Blocks on the disk."""
        data = self.blobs.get(effect.name) if _NAME.fullmatch(effect.name) else None
        if data is None:
            text = f"error: there is no output {effect.name} in this session; its name stands where the output was cut"
            return Outcome("error", text, note="no such output")
        if effect.start >= len(data):
            text = f"error: output {effect.name} has {len(data):,} bytes, so none from {effect.start:,} on"
            return Outcome("error", text, note="past its end")
        start = _whole(data, effect.start)
        end = _whole(data, min(len(data), start + min(effect.limit, MAX_RESULT)))
        end = end if end > start else _whole(data, start + 4)
        left = len(data) - end
        rest = f"[{left:,} bytes more. Use start={end} to continue.]" if left else "[the end of it]"
        text = f"[output {effect.name}: bytes {start}-{end} of {len(data)}]\n{data[start:end].decode('utf-8', 'replace')}\n{rest}"
        return Outcome("applied", text, note=f"{end - start:,} bytes")


def _whole(data: bytes, at: int) -> int:
    """The place, or the nearest before it, at which a character begins."""
    while 0 < at < len(data) and data[at] & 0xC0 == 0x80:
        at -= 1
    return min(at, len(data))
