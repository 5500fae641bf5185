"""Answers that are not in the form of a text protocol: what attempts an action, and what is only words. Pure.

A model that has said all it has to say often says it plainly. That is no malformed action, and no reason to lose it.
"""

from __future__ import annotations

import re

from tui_agent.core.reply import strict_json
from tui_agent.core.types import Spoken
from tui_agent.protocols.habits import normalise, without_fence, without_thoughts

_BEGINS = re.compile(r"\s*(?:[{`]|ACTION:|(?:READ|SEARCH|WRITE|PATCH|RUN|DONE)\b)")
_CALLS = frozenset({"tool", "name", "function", "arguments", "parameters"})
"""Members of an object that asks for a call, whatever else it says."""
_ATTEMPTS = re.compile(
    r"""^[\s>*-]*(?:json\b)?\s*\{\s*["'}]                                    # a line that begins an object
      | ^\s*[>*-]*\s*(?:ACTION:\s*)?`?(?:READ|SEARCH|WRITE|PATCH|RUN|DONE)\b  # a line that begins with a verb
      | \{\s*["']?(?:tool|final|name|function|action|arguments|parameters|path|argv)["']?\s*:
      | <(?:tool_call|function_call|tools)\b | \[TOOL_CALLS\]""",
    re.MULTILINE | re.VERBOSE,
)

WISHES: dict[Spoken, str] = {
    "json": 'If this was your answer, say it as {"final": TEXT}, or say it again. If not, send one action.',
    "verbs": "If this was your answer, say it behind the word DONE, or say it again. If not, send one action.",
}
"""What the model is told the first time, by protocol."""


def answer_in(text: str) -> str | None:
    """The answer that a reply gives without the form of its protocol; None when it attempts an action, or says nothing.

    An object with `final` and more fields answers, too, unless one of those asks for a call.
    """
    said = without_thoughts(normalise(text), _BEGINS)
    if said is None:
        return None
    said = said.strip()
    try:
        value = strict_json(without_fence(said))
    except ValueError:
        return said if said and not _ATTEMPTS.search(said) else None
    if isinstance(value, dict):
        final = value.get("final")
        return final.strip() or None if isinstance(final, str) and _CALLS.isdisjoint(value) else None
    return None if _ATTEMPTS.search(said) else said
