"""Ask a server which models it offers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tui_agent.core.profile import Profile
from tui_agent.core.types import AgentError, Request
from tui_agent.providers import errors, http, wire_of
from tui_agent.providers.wire import WireFault

_PATHS = {"openai-chat": "/models", "anthropic": "/v1/models", "ollama-native": "/api/tags"}
_SECONDS = 10.0
_MAX_BYTES = 4 * 1024 * 1024


async def list_models(profile: Profile, *, env: Mapping[str, str]) -> list[str]:
    """The ids of the models behind a profile, in the server's order.

    Raises:
        AgentError: the server gave no list; one sentence says why.
    """
    if profile.wire not in _PATHS:
        return [profile.model] if profile.model else []
    try:
        http.endpoint_url(profile, "")
        wire = replace(wire_of(profile), path=_PATHS[profile.wire])
        call = await http.prepare(wire, profile, Request("", ()), http.Link(env=env))
        async with asyncio.timeout(_SECONDS), http.open_client(call) as client:
            response = await client.get(call.url, headers={**call.headers, "accept": "application/json"})
    except WireFault as fault:
        raise AgentError(fault.error.message) from None
    except TimeoutError:
        raise AgentError(
            f"{http.origin(profile.endpoint or '')} sent no list of models within {_SECONDS:g} s"
        ) from None
    except http.load_httpx().HTTPError as error:
        raise AgentError(http.transport_error(error, call.url).message) from None
    if response.status_code != 200:
        body = response.content[: errors.MAX_BODY]
        raise AgentError(errors.from_response(response.status_code, response.headers, body, call.secrets).message)
    if len(response.content) > _MAX_BYTES:
        raise AgentError(f"{http.origin(call.url)} sent a list of models of more than 4 MiB")
    try:
        return _names(response.json())
    except (ValueError, RecursionError):
        raise AgentError(f"{http.origin(call.url)} did not send a list of models: is it the right address?") from None


def _names(data: Any) -> list[str]:
    """Ids from `{"data": [{"id"}]}`, `{"models": [{"name"}]}` or a bare list."""
    items = (data.get("data") or data.get("models") or []) if isinstance(data, dict) else data
    if not isinstance(items, list):
        raise ValueError("unexpected shape")
    names = [item.get("id") or item.get("name") if isinstance(item, dict) else item for item in items]
    return [name for name in names if isinstance(name, str) and name]
