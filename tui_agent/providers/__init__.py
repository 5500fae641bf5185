"""The only place that knows HTTP: neutral history to request body, bytes to deltas.

`connect` turns a profile into the `Model` that the loop talks to. The adapters are imported when
one of them is chosen, httpx when the first request is made.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_agent.core.address import shown
from tui_agent.core.profile import ModelInfo, Profile, Tried
from tui_agent.core.types import Author, ConfigError, Delta, Model, Request
from tui_agent.providers.network import Network

if TYPE_CHECKING:
    from tui_agent.providers.wire import Wire

_ADAPTERS = {"openai-chat": "openai_chat", "anthropic": "anthropic", "ollama-native": "ollama"}


def wire_of(profile: Profile) -> Wire:
    """The adapter of a profile that is reached over HTTP."""
    wire: Wire = _late(_ADAPTERS[profile.wire]).WIRE
    return wire


def _late(module: str) -> Any:
    """A module of this package, imported when it is needed: the start does not wait for it."""
    return importlib.import_module(f"tui_agent.providers.{module}")


async def list_models(
    profile: Profile, *, env: Mapping[str, str], network: Network | None = None, seconds: float = 10.0
) -> list[ModelInfo]:
    """The models behind a profile; see `models.list_models`."""
    listed: list[ModelInfo] = await _late("models").list_models(profile, env=env, network=network, seconds=seconds)
    return listed


async def described(
    profile: Profile,
    models: Sequence[ModelInfo],
    *,
    env: Mapping[str, str],
    network: Network | None = None,
    seconds: float = 10.0,
) -> list[ModelInfo]:
    """The models with what each can do; see `models.described`."""
    listed: list[ModelInfo] = await _late("models").described(
        profile, models, env=env, network=network, seconds=seconds
    )
    return listed


async def inspect(profile: Profile, *, env: Mapping[str, str], network: Network | None = None) -> ModelInfo:
    """What the server says of the profile's model; see `models.inspect`."""
    info: ModelInfo = await _late("models").inspect(profile, env=env, network=network)
    return info


async def unload(profile: Profile, *, env: Mapping[str, str], network: Network | None = None) -> None:
    """Let the server forget the profile's model; see `models.unload`."""
    await _late("models").unload(profile, env=env, network=network)


async def verify(profile: Profile, *, env: Mapping[str, str], network: Network | None = None) -> Tried:
    """How a tiny request went; see `models.verify`."""
    tried: Tried = await _late("models").verify(profile, env=env, network=network)
    return tried


def pull(
    profile: Profile, model: str, *, env: Mapping[str, str], network: Network | None = None
) -> AsyncGenerator[str, None]:
    """Let the server load a model down; how far it is, in words; see `pulling.pull`."""
    progress: AsyncGenerator[str, None] = _late("pulling").pull(profile, model, env=env, network=network)
    return progress


async def load() -> None:
    """Import what a request needs, without holding up the screen."""
    await asyncio.to_thread(lambda: _late("http").load_httpx())


def missing_key(profile: Profile, env: Mapping[str, str]) -> str:
    """Why a request of this profile would have no usable key, as far as that is known without its command; else nothing."""
    try:
        if not profile.api_key_cmd:
            _late("keys").read_key_variable(profile, env)
    except ConfigError as error:
        return str(error)
    return ""


def connect(
    profile: Profile, *, env: Mapping[str, str], network: Network | None = None, key_later: bool = False
) -> Model:
    """The model of a profile. Opens no connection; the key is read again for every request.

    `key_later`: a key that is missing now is the failure of the request, not of the choice.

    Raises:
        ConfigError: endpoint, model or key is missing or unusable, or `network` does not permit the address; names
            what to set and where.
    """
    if profile.wire == "scripted":
        scripted = _late("scripted")
        script = scripted.load_script(Path(profile.endpoint or ""))
        model: Model = scripted.scripted(script, name=profile.name)
        return model
    if not profile.model:
        raise ConfigError(f"profile {profile.name!r} has no model: set model to one that the server offers")
    http = _late("http")
    connection = _late("connection")
    keys = _late("keys")
    wire = wire_of(profile)
    network = network or Network()
    network.permit(connection.endpoint_url(profile, wire.path))
    for name, value in profile.headers.items():
        keys.check_header(name, value)
    if not key_later and (fault := missing_key(profile, env)):
        raise ConfigError(fault)
    link = http.Link(env=env, network=network)

    def stream(request: Request) -> AsyncIterator[Delta]:
        deltas: AsyncIterator[Delta] = http.stream(wire, profile, request, link)
        return deltas

    return Model(Author(wire.name, shown(profile.endpoint or ""), profile.model), stream)
