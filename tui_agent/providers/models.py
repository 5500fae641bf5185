"""Ask a server which models it offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_agent.core.profile import Profile
from tui_agent.core.types import AgentError
from tui_agent.providers import errors, http, wire_of

_PATHS = {"openai-chat": "/models", "anthropic": "/v1/models", "ollama-native": "/api/tags"}
_SECONDS = 10.0
_MAX_BYTES = 4 * 1024 * 1024


async def list_models(profile: Profile, *, env: Mapping[str, str]) -> list[str]:
    """The ids of the models behind a profile, in the server's order.

    Raises:
        AgentError: the server did not give a list; one sentence says why.
        ConfigError: endpoint or key is missing.
    """
    if profile.wire not in _PATHS:
        return [profile.model] if profile.model else []
    wire = wire_of(profile)
    url = http.endpoint_url(profile, _PATHS[profile.wire])
    headers, hidden = await http.request_headers(wire, profile, http.Link(env=env))
    httpx = http.load_httpx()
    try:
        async with http.open_client(profile, url, httpx.Timeout(_SECONDS)) as client:
            response = await client.get(url, headers={**headers, "accept": "application/json"})
    except httpx.HTTPError as error:
        raise AgentError(errors.redacted(http.transport_error(error, url), hidden).message) from None
    if response.status_code != 200:
        refused = errors.from_response(
            response.status_code, response.headers, response.content[: errors.MAX_BODY], hidden
        )
        raise AgentError(refused.message)
    if len(response.content) > _MAX_BYTES:
        raise AgentError(f"{http.origin(url)} sent a list of models of more than 4 MiB")
    try:
        return _names(response.json())
    except (ValueError, RecursionError) as error:
        raise AgentError(f"{http.origin(url)} did not send a list of models: {error}") from None


def _names(data: Any) -> list[str]:
    """Ids from `{"data": [{"id"}]}`, `{"models": [{"name"}]}` or a bare list."""
    items = (data.get("data") or data.get("models") or []) if isinstance(data, dict) else data
    if not isinstance(items, list):
        raise ValueError("unexpected shape")
    names = [item.get("id") or item.get("name") if isinstance(item, dict) else item for item in items]
    return [name for name in names if isinstance(name, str) and name]
