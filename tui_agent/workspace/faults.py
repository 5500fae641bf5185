"""Named points at which a test makes a write fail, or ends the process, to prove that nothing is lost.

`TUI_AGENT_FAULT=name:N` ends the process (as by kill -9, exit code 137) at the N-th passage of the point
`name`; `name:N:ENOSPC` raises that `OSError` once instead, `name:N+:EIO` from the N-th passage on.
The points are `commit`, `mkdir`, `temp`, `write`, `fsync`, `rename`, `unlink`, `fsync_dir`, `seen` and `blob`.
"""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Callable

from tui_agent.core.types import ConfigError

Reach = Callable[[str], None]
"""Called with the name of a point right before the operation it stands for."""

VARIABLE = "TUI_AGENT_FAULT"


def nothing(name: str) -> None:
    """The hook of a product that is not under test."""


def from_text(text: str | None) -> Reach:
    """The hook that a value of `TUI_AGENT_FAULT` asks for; raises `ConfigError` when it cannot be read."""
    if not text:
        return nothing
    found = re.fullmatch(r"(\w+):([1-9]\d*)(\+?)(?::(E\w+))?", text)
    number = getattr(errno, found[4], None) if found and found[4] else None
    if found is None or (found[4] and number is None):
        raise ConfigError(f"{VARIABLE} must look like write:2 or rename:1:ENOSPC, not {text!r}")
    point, first, lasting = found[1], int(found[2]), bool(found[3])
    passed: Counter[str] = Counter()

    def reach(name: str) -> None:
        passed[name] += 1
        if name != point or passed[name] < first or (passed[name] > first and not lasting):
            return
        if number is None:
            os._exit(137)
        raise OSError(number, os.strerror(number))

    return reach
