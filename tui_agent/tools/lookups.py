"""The tools that look up what is no file of the folder; each is offered only while there is something behind it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from tui_agent.core.lookup import Lookup, ReadOutput
from tui_agent.core.types import JsonObject, Outcome, ToolSpec
from tui_agent.tools.files import MAX_RESULT
from tui_agent.tools.registry import Tool

READ_SKILL, READ_OUTPUT, WEB_SEARCH, WEB_FETCH = "read_skill", "read_output", "web_search", "web_fetch"


class Elsewhere(Protocol):
    """What stands behind these tools."""

    @property
    def names(self) -> frozenset[str]:
        """The tools that are offered now."""

    def where(self, effect: Lookup) -> str:
        """Whom it would be asked of, in words; "" when nothing leaves the machine."""

    async def carry_out(self, effect: Lookup) -> Outcome:
        """Look it up."""


def _schema(required: str, **texts: str) -> JsonObject:
    properties = {name: {"type": "string", "description": text} for name, text in texts.items()}
    return {"type": "object", "properties": properties, "required": required.split(), "additionalProperties": False}


_TABLE = (
    Tool(
        ToolSpec(
            READ_SKILL,
            "Read a skill of the list; do so before work that it fits.",
            _schema("name", name="name in the list", file="a file that the skill names, to read that instead"),
            {"name": "example-name"},
        ),
        "read",
        lambda a, _: Lookup("skill", a["name"], a.get("file", "")),
    ),
    Tool(
        ToolSpec(
            READ_OUTPUT,
            "Read part of a long output; its name stands where it was cut.",
            {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "name of the output"},
                    "start": {"type": "integer", "minimum": 0, "description": "first byte, 0 by default"},
                    "limit": {"type": "integer", "minimum": 1, "description": f"bytes, at most {MAX_RESULT}"},
                },
                "required": ["name"],
                "additionalProperties": False,
            },
            {"name": "example-output", "start": 4000},
        ),
        "read",
        lambda a, _: ReadOutput(a["name"].strip().lower(), a.get("start", 0), a.get("limit", MAX_RESULT)),
    ),
    Tool(
        ToolSpec(
            WEB_SEARCH,
            "Search the web; gives titles, addresses and a few lines of text of strangers.",
            _schema("query", query="words to search for; they leave this machine, so nothing private"),
            {"query": "example query"},
        ),
        "network",
        lambda a, _: Lookup("search", a["query"]),
    ),
    Tool(
        ToolSpec(
            WEB_FETCH,
            "Fetch a page of the web; it is text of strangers.",
            _schema("url", url="http:// or https:// address"),
            {"url": "https://example.org/"},
        ),
        "network",
        lambda a, _: Lookup("page", a["url"]),
    ),
)

LOOKUPS: Mapping[str, Tool] = MappingProxyType({tool.spec.name: tool for tool in _TABLE})
"""These tools by name."""
