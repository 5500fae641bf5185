"""The only place that knows HTTP: neutral history to request body, bytes to deltas.

`connect` turns a profile into the `Model` that the loop talks to. The adapters are imported when
one of them is chosen, httpx when the first request is made.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.core.profile import ModelInfo, Profile
from tui_agent.core.types import Author, ConfigError, Delta, Model, Request
from tui_agent.providers.network import Network

if TYPE_CHECKING:
    from tui_agent.providers.wire import Wire

_ADAPTERS = {"openai-chat": "openai_chat", "anthropic": "anthropic", "ollama-native": "ollama"}


def wire_of(profile: Profile) -> Wire:
    """The adapter of a profile that is reached over HTTP."""
    wire: Wire = importlib.import_module(f"tui_agent.providers.{_ADAPTERS[profile.wire]}").WIRE
    return wire


async def list_models(
    profile: Profile, *, env: Mapping[str, str], network: Network | None = None, seconds: float = 10.0
) -> list[ModelInfo]:
    """The models behind a profile; see `models.list_models`."""
    models = importlib.import_module("tui_agent.providers.models")
    listed: list[ModelInfo] = await models.list_models(profile, env=env, network=network, seconds=seconds)
    return listed


async def inspect(profile: Profile, *, env: Mapping[str, str], network: Network | None = None) -> ModelInfo:
    """What the server says of the profile's model; see `models.inspect`."""
    models = importlib.import_module("tui_agent.providers.models")
    info: ModelInfo = await models.inspect(profile, env=env, network=network)
    return info


async def verify(profile: Profile, *, env: Mapping[str, str], network: Network | None = None) -> float:
    """Seconds until a tiny request was answered; see `models.verify`."""
    models = importlib.import_module("tui_agent.providers.models")
    seconds: float = await models.verify(profile, env=env, network=network)
    return seconds


async def load() -> None:
    """Import what a request needs, without holding up the screen."""
    http = importlib.import_module("tui_agent.providers.http")
    await asyncio.to_thread(http.load_httpx)


def connect(profile: Profile, *, env: Mapping[str, str], network: Network | None = None) -> Model:
    """The model of a profile. Opens no connection; the key is read again for every request.

    Raises:
        ConfigError: endpoint, model or key is missing or unusable, or `network` does not permit the address; names
            what to set and where.
    """
    if profile.wire == "scripted":
        scripted = importlib.import_module("tui_agent.providers.scripted")
        script = scripted.load_script(Path(profile.endpoint or ""))
        model: Model = scripted.scripted(script, name=profile.name)
        return model
    if not profile.model:
        raise ConfigError(f"profile {profile.name!r} has no model: set model to one that the server offers")
    http = importlib.import_module("tui_agent.providers.http")
    keys = importlib.import_module("tui_agent.providers.keys")
    wire = wire_of(profile)
    network = network or Network()
    network.permit(http.endpoint_url(profile, wire.path))
    for name, value in profile.headers.items():
        keys.check_header(name, value)
    if not profile.api_key_cmd:
        keys.read_key_variable(profile, env)
    link = http.Link(env=env, network=network)

    def stream(request: Request) -> AsyncIterator[Delta]:
        deltas: AsyncIterator[Delta] = http.stream(wire, profile, request, link)
        return deltas

    return Model(Author(wire.name, profile.endpoint or "", profile.model), stream)
