"""What is made when it is first used: patterns, and the table of HTML's entities.

To make all of it takes a twentieth of the time of a short task, and most tasks use little of it.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Late:
    def __init__(self, pattern: str, flags: re.RegexFlag) -> None:
        self._pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        return getattr(re.compile(self._pattern, self._flags), name)  # `re` keeps what was compiled


def late(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Like `re.compile`, later: a wrong pattern is found at its first use. Give it to no function of `re`."""
    return cast("re.Pattern[str]", _Late(pattern, flags))


def unescaped(text: str) -> str:
    """The text with HTML's entities as the characters that they stand for."""
    import html  # noqa: PLC0415 - its table is large

    return html.unescape(text)
