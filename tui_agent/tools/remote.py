"""The tools of MCP servers, beside those of the product: they join the table while their server offers them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from tui_agent.core.servers import Answer, CallServer
from tui_agent.core.types import JsonObject, ToolSpec
from tui_agent.tools.arguments import InvalidCallError
from tui_agent.tools.registry import Tool

MOST_ARGUMENTS = 4 * 1024 * 1024
"""Bytes of the arguments of a call."""


class Remote(Protocol):
    """What stands behind these tools."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Those that are offered now, by the name `server/tool`."""

    def where(self, effect: CallServer) -> str:
        """Whom it would be asked of, in words."""

    async def call(self, effect: CallServer) -> Answer:
        """Ask for it; a cancellation tells the server so and is passed on."""


def remote_tool(server: str, name: str, description: str, schema: JsonObject, pin: str) -> Tool:
    """A tool of a server as one of the table."""
    return Tool(
        ToolSpec(f"{server}/{name}", description, schema, {}),
        "mcp",
        lambda arguments, _: CallServer(server, name, arguments, pin),
        check=check,
    )


def check(spec: ToolSpec, arguments: object) -> dict[str, Any]:
    """The arguments as a dict: what must be there is, and they can be sent. All else of a foreign schema its server checks.

    Raises `InvalidCallError`.
    """
    if not isinstance(arguments, Mapping):
        raise InvalidCallError(f"the arguments of {spec.name} must be an object")
    properties: Mapping[str, Any] = spec.parameters["properties"]
    there = f"its fields are {', '.join(properties) or 'none'}"
    if missing := [field for field in spec.parameters["required"] if field not in arguments]:
        raise InvalidCallError(f"missing fields for {spec.name}: {', '.join(missing)} ({there})")
    extra = [field for field in arguments if field not in properties]
    if extra and spec.parameters.get("additionalProperties") is False:
        raise InvalidCallError(f"unexpected fields for {spec.name}: {', '.join(extra)} ({there})")
    try:
        size = len(json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidCallError(f"the arguments of {spec.name} cannot be sent as JSON: {error}") from None
    if size > MOST_ARGUMENTS:
        raise InvalidCallError(f"the arguments of {spec.name} are too long: at most {MOST_ARGUMENTS:,} bytes")
    return dict(arguments)
