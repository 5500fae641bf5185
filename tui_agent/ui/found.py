"""What is on this machine for a person who has nothing configured: key variables by name, and servers on loopback.

Only names of variables are read and only loopback is asked; nothing is written. What is found is offered, never used
unasked: a key in the environment may be somebody else's budget.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tui_agent.config import presets, profile
from tui_agent.core.address import is_loopback
from tui_agent.core.profile import ModelInfo, Tried
from tui_agent.core.types import AgentError
from tui_agent.providers import described, list_models, load, pull, verify
from tui_agent.providers.network import Network, Refused, Stranger, Unanswered
from tui_agent.window import GOOD_WINDOW

LOOK_SECONDS: Final = 0.3
"""How long a server on this machine may take to say that it is there."""
AGAIN_SECONDS: Final = 2.0
"""The same when the person asked to look again."""
FITS: Final = 0.7
"""The part of the memory that a model may take."""


@dataclass(frozen=True, slots=True)
class Found:
    """One thing to offer. `table` is the profile it would be; `fault` says why it cannot be used yet."""

    preset: str
    table: Mapping[str, Any]
    models: tuple[ModelInfo, ...] = ()
    best: ModelInfo | None = None
    variable: str = ""
    fault: str = ""

    def ready_table(self, model: str) -> dict[str, Any]:
        """The profile for one of its models; Ollama is told the window, or it takes a small one and cuts silently."""
        table = {**self.table, "model": model}
        info = next((m for m in self.models if m.id == model), None)
        if self.preset == "ollama":
            table["generation"] = {"num_ctx": min((info.most if info else None) or GOOD_WINDOW, GOOD_WINDOW)}
        return table


def usable(found: Sequence[Found]) -> Found | None:
    """The first server on this machine that can be worked with as it is."""
    return next((one for one in found if one.best is not None and not one.variable and not one.fault), None)


Look = Callable[[Mapping[str, str], Network, float], Awaitable[Sequence[Found]]]
"""Looks around: environment, network, seconds for each server."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Asks servers on behalf of a person who just chose one."""

    environment: Mapping[str, str]
    network: Network

    async def models(self, table: Mapping[str, Any]) -> list[ModelInfo]:
        """See `providers.list_models`."""
        return await list_models(profile("new", table), env=self.environment, network=self.network)

    async def verify(self, table: Mapping[str, Any]) -> Tried:
        """See `providers.verify`."""
        return await verify(profile("new", table), env=self.environment, network=self.network)

    def pull(self, table: Mapping[str, Any], model: str) -> AsyncGenerator[str, None]:
        """See `providers.pull`."""
        return pull(profile("new", table), model, env=self.environment, network=self.network)

    def outside(self) -> list[str]:
        """The hosts beyond this machine that were asked."""
        return [where for where in self.network.contacted if not is_loopback(where)]


async def look_around(environment: Mapping[str, str], network: Network, seconds: float = LOOK_SECONDS) -> list[Found]:
    """Everything to offer: servers that answer on this machine first, then the key variables that are set."""
    await load()
    endpoints: dict[str, str] = {}
    for name, preset in presets().items():
        if preset.get("local") and "endpoint" in preset:
            endpoints.setdefault(_endpoint(preset, environment), name)
    probes = [_probe(name, endpoint, environment, network, seconds) for endpoint, name in endpoints.items()]
    servers = [found for found in await asyncio.gather(*probes) if found is not None]
    return [*servers, *keys(environment)]


def keys(environment: Mapping[str, str]) -> list[Found]:
    """The vendors whose key variable is set."""
    variables = {name: str(preset.get("api_key_env", "")) for name, preset in presets().items()}
    return [
        Found(name, {"type": name, "api_key_env": variable}, variable=variable)
        for name, variable in variables.items()
        if variable and environment.get(variable)
    ]


def _endpoint(preset: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """Where the server would be: at its usual address, or on the port of this machine that its variable names."""
    usual = str(preset["endpoint"])
    named = environment.get(str(preset.get("host_env", "")), "").removeprefix("http://").rstrip("/")
    host, _, port = named.rpartition(":")
    if not port.isdigit() or not (host in {"", "0.0.0.0"} or is_loopback(f"http://{host}")):  # noqa: S104 - read, not bound
        return usual
    return f"http://127.0.0.1:{port}"


async def _probe(
    name: str, endpoint: str, environment: Mapping[str, str], network: Network, seconds: float
) -> Found | None:
    """What answers at an address, None when nothing does."""
    if not is_loopback(endpoint):
        return None
    usual = endpoint == presets()[name]["endpoint"]
    table = {"type": name} if usual else {"type": name, "endpoint": endpoint}
    asked = profile(name, table)
    found = Found(name, table)
    started = asyncio.get_running_loop().time()
    try:
        models = await list_models(asked, env=environment, network=network, seconds=seconds)
    except Unanswered:
        return None
    except AgentError as error:
        return None if asked.wire == "openai-chat" and _something_else(error) else replace(found, fault=str(error))
    left = seconds - (asyncio.get_running_loop().time() - started)
    models = await described(asked, models, env=environment, network=network, seconds=max(left, 0.05))
    return replace(found, models=tuple(models), best=best_of(models, memory()))


def _something_else(error: AgentError) -> bool:
    """Whether it is any program that listens on a port which many use: it knows nothing of models, or leads elsewhere."""
    return isinstance(error, Stranger) or (
        isinstance(error, Refused) and error.status not in {401, 403, 429} and error.status < 500
    )


def best_of(models: Sequence[ModelInfo], room: int) -> ModelInfo | None:
    """The model to offer first: takes tools, fits into `room` bytes of memory, and is the largest of those."""
    ranked = sorted(models, key=lambda m: (m.tools is not False, (m.size or 0) <= room * FITS, m.size or 0))
    return ranked[-1] if ranked else None


def to_pull(preset: str, room: int) -> list[tuple[str, float]]:
    """The two largest models that a server can load down and that fit into `room` bytes of memory, with their GB; or the least."""
    known = [(str(model), float(gigabytes)) for model, gigabytes in presets()[preset].get("pull", ())]
    return [one for one in known if one[1] * 1e9 <= room * FITS][-2:][::-1] or known[:1]


def memory() -> int:
    """Bytes of main memory; 8 GiB where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 8 << 30
