"""Ask a server what it offers: its models, and what one of them can do.

What servers say differs in every field; `read_list` and the readers below it are pure and take anything.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from tui_agent.core.address import origin, root_of
from tui_agent.core.profile import ModelInfo, Pricing, Profile, Tried
from tui_agent.core.reply import bounded_json, refuses_tools
from tui_agent.core.types import AgentError, ProviderError, ReplyEnd, Request, ToolSpec, UserMessage
from tui_agent.providers import http, wire_of
from tui_agent.providers.asking import answered, prepared
from tui_agent.providers.network import Network, Stranger, Unanswered
from tui_agent.providers.wire import tokens

_PATHS = {"openai-chat": "/models", "anthropic": "/v1/models?limit=1000", "ollama-native": "/api/tags"}
"""Where a list is; Anthropic tells twenty where it is not asked for more."""
_SECONDS = 10.0
_ASKED = 12
"""How many models of one server are asked about one by one."""
_MAX_BYTES = 4 * 1024 * 1024
_TOOL = ToolSpec("now", "The time of day.", {"type": "object", "properties": {}}, {})
"""What a server is offered to see whether it takes tools. Nothing is done when it is called."""
_WINDOWS = (
    "loaded_context_length",
    "max_model_len",
    "context_length",
    "context_window",
    "max_context_length",
    "max_input_tokens",
)
"""Names that servers give to the size of the window, those that say what is in use first."""


async def list_models(
    profile: Profile, *, env: Mapping[str, str], network: Network | None = None, seconds: float = _SECONDS
) -> list[ModelInfo]:
    """The models behind a profile, in the server's order.

    Raises:
        AgentError: the server gave no list; one sentence says why.
    """
    if profile.wire not in _PATHS:
        return [ModelInfo(profile.model)] if profile.model else []
    data = await fetch(profile, _PATHS[profile.wire], env=env, network=network, seconds=seconds)
    try:
        return read_list(data)
    except ValueError:
        where = origin(profile.endpoint or "")
        raise Stranger(f"{where} did not send a list of models: is it the right address?") from None


async def described(
    profile: Profile,
    models: Sequence[ModelInfo],
    *,
    env: Mapping[str, str],
    network: Network | None = None,
    seconds: float = _SECONDS,
) -> list[ModelInfo]:
    """The models with what each can do where the server must be asked one by one, as far as it answers in time."""
    if profile.wire != "ollama-native":
        return list(models)

    async def one(model: ModelInfo) -> ModelInfo:
        body = {"model": model.id}
        try:
            shown = await fetch(profile, "/api/show", env=env, network=network, body=body, seconds=seconds)
        except AgentError:
            return model
        return replace(read_show(model.id, shown), size=model.size)

    return [*await asyncio.gather(*map(one, models[:_ASKED])), *models[_ASKED:]]


async def inspect(profile: Profile, *, env: Mapping[str, str], network: Network | None = None) -> ModelInfo:
    """What the server says of the profile's model now: unknown where it says nothing.

    Ollama is asked for what it has loaded, a llama.cpp server for the size it was started with.

    Raises:
        AgentError: see `list_models`.
    """
    name = profile.model or ""
    if profile.wire == "ollama-native":
        shown = await fetch(profile, "/api/show", env=env, network=network, body={"model": name})
        loaded = await fetch(profile, "/api/ps", env=env, network=network)
        return replace(read_show(name, shown), window=read_loaded(name, loaded))
    models = await list_models(profile, env=env, network=network)
    info = next((model for model in models if model.id == name), None) or ModelInfo(name)
    if info.window is None and profile.local and profile.wire == "openai-chat":
        try:
            info = read_props(info, await fetch(profile, "/props", env=env, network=network, root=True))
        except AgentError:  # not a llama.cpp server, and the list is all there is
            return info
    return info


async def unload(profile: Profile, *, env: Mapping[str, str], network: Network | None = None) -> None:
    """Let Ollama forget the profile's model, so that it is loaded anew as it is asked for next.

    Raises:
        AgentError: see `list_models`.
    """
    await fetch(profile, "/api/generate", env=env, network=network, body={"model": profile.model, "keep_alive": 0})


async def verify(profile: Profile, *, env: Mapping[str, str], network: Network | None = None) -> Tried:
    """Ask for one token, with a tool to call; without one where that is refused.

    Raises:
        AgentError: the server refused; one sentence with its words and where the key comes from.
    """
    window = {
        name: value for name, value in profile.generation.items() if name == "num_ctx"
    }  # else it is loaded anew for work
    small = replace(
        profile, generation={**window, "max_tokens": 16}, effort=None, options={**profile.options, "retries": 0}
    )
    link = http.Link(env=env, network=network or Network())
    for tools in ((_TOOL,), ()):
        started = time.monotonic()
        error = await _refusal(small, Request("", (UserMessage("Say ok."),), tools), link)
        if error is None:
            return Tried(time.monotonic() - started, bool(tools))
        if not tools or not refuses_tools(error):
            raise AgentError(error.message)
    raise AssertionError("the last try decides")


async def _refusal(profile: Profile, request: Request, link: http.Link) -> ProviderError | None:
    async with aclosing(http.stream(wire_of(profile), profile, request, link)) as deltas:
        async for delta in deltas:
            if isinstance(delta, ReplyEnd):
                return delta.error
    return None


async def fetch(
    profile: Profile,
    path: str,
    *,
    env: Mapping[str, str],
    network: Network | None = None,
    body: Mapping[str, Any] | None = None,
    root: bool = False,
    seconds: float = _SECONDS,
) -> Any:
    """One small JSON document of the server; a POST with a body. With `root` the path is that of the server itself.

    Raises:
        AgentError: there is none; one sentence says why, without any key.
    """
    if root:
        profile = replace(profile, endpoint=root_of(profile.endpoint))
    where = origin(profile.endpoint or "")
    network = network or Network()
    data = bytearray()
    call = await prepared(profile, path, env, network)
    try:
        async with asyncio.timeout(seconds), answered(call, body) as pieces:
            async for piece in pieces:
                data += piece
                if len(data) > _MAX_BYTES:
                    raise AgentError(f"{where} sent more than {_MAX_BYTES >> 20} MiB: is it the right address?")
    except TimeoutError:
        raise Unanswered(f"{where} did not answer within {seconds:g} s") from None
    try:
        return bounded_json(network.secrets.hide(data.decode("utf-8-sig", "replace")))
    except ValueError:
        raise Stranger(f"{where} did not send JSON: is it the right address?") from None


# ------------------------------------------------------------------ reading what they say


def read_list(data: Any) -> list[ModelInfo]:
    """Models from `{"data": [{"id"}]}`, `{"models": [{"name"}]}` or a bare list.

    Raises:
        ValueError: it is none of these.
    """
    items = (data.get("data") or data.get("models") or []) if isinstance(data, dict) else data
    if not isinstance(items, list):
        raise ValueError("unexpected shape")
    return [info for item in items if (info := _entry(item)) is not None]


def _entry(item: Any) -> ModelInfo | None:
    if not isinstance(item, dict):
        return ModelInfo(item) if isinstance(item, str) and item else None
    name = item.get("id") or item.get("name")
    if not isinstance(name, str) or not name:
        return None
    tools, images = _abilities(item)
    windows = [tokens(item.get(key)) for key in _WINDOWS]
    return ModelInfo(
        name,
        next(filter(None, windows), None),
        tools,
        images,
        _pricing(item.get("pricing")),
        size=tokens(item.get("size")),
    )


def _abilities(item: Mapping[str, Any]) -> tuple[bool | None, bool | None]:
    """(takes tools, takes images), as far as it is said."""
    said = item.get("capabilities")
    parameters = item.get("supported_parameters")
    architecture = item.get("architecture")
    inputs = architecture.get("input_modalities") if isinstance(architecture, dict) else None
    tools = images = None
    if isinstance(said, list):
        tools, images = bool({"tools", "tool_use"} & set(map(str, said))), "vision" in said
    elif isinstance(said, dict):
        tools, images = _flag(said.get("function_calling")), _flag(said.get("vision"))
    if isinstance(parameters, list):
        tools = "tools" in parameters
    if isinstance(inputs, list):
        images = "image" in inputs
    return tools, images


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _pricing(data: Any) -> Pricing | None:
    """Rates per million tokens; some servers give them per token, as text."""
    if not isinstance(data, dict):
        return None
    if "prompt" in data:
        rates = [_rate(data.get(name), 1e6) for name in ("prompt", "input_cache_read", "completion")]
    else:
        rates = [_rate(data.get(name), 1.0) for name in ("input", "cached_input", "output")]
    fresh, cached, out = rates
    if fresh is None or out is None:
        return None
    return Pricing(fresh, fresh if cached is None else cached, out)


def _rate(value: Any, scale: float) -> float | None:
    try:
        rate = float(value) * scale
    except (TypeError, ValueError):
        return None
    return round(rate, 6) if 0 <= rate < 1e6 else None


def read_show(name: str, data: Any) -> ModelInfo:
    """What Ollama's `/api/show` says of a model."""
    info = data.get("model_info") if isinstance(data, dict) else None
    lengths = (
        [tokens(v) for k, v in info.items() if str(k).endswith(".context_length")] if isinstance(info, dict) else []
    )
    tools, images = _abilities(data) if isinstance(data, dict) else (None, None)
    return ModelInfo(name, None, tools, images, most=next(filter(None, lengths), None))


def read_loaded(name: str, data: Any) -> int | None:
    """The window that Ollama's `/api/ps` says a model is loaded with."""
    models = data.get("models") if isinstance(data, dict) else None
    for item in models if isinstance(models, list) else ():
        if isinstance(item, dict) and {item.get("name"), item.get("model")} & {name, f"{name}:latest"}:
            return tokens(item.get("context_length"))
    return None


def read_props(info: ModelInfo, data: Any) -> ModelInfo:
    """What a llama.cpp server's `/props` adds: the window of one slot, and whether images are read."""
    settings = data.get("default_generation_settings") if isinstance(data, dict) else None
    window = tokens(settings.get("n_ctx")) if isinstance(settings, dict) else None
    modalities = data.get("modalities") if isinstance(data, dict) else None
    images = _flag(modalities.get("vision")) if isinstance(modalities, dict) else None
    return replace(info, window=window or info.window, images=info.images if images is None else images)
