"""Stand-in for the sanitiser of the display branch, which replaces this file at merge."""

from __future__ import annotations

import re

_UNSHOWN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def plain(text: str, context: str = "text") -> str:
    """Show a string where styles cannot be drawn."""
    return _UNSHOWN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)
