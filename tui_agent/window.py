"""The context trap: a model that runs in a smaller window than it should, where older text is cut without a word."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final

from tui_agent.core.address import parts_of
from tui_agent.core.profile import ModelInfo, Profile
from tui_agent.core.types import AgentError
from tui_agent.providers import inspect
from tui_agent.session import Session, asked_window

GOOD_WINDOW: Final = 32_768
"""Tokens that are asked for where the window must be asked for: enough to work, and it fits into common machines."""
_OLLAMA_PORT = 11434
_SECONDS = 2.0
"""How long a server may take to say what it has loaded."""


@dataclass(frozen=True, slots=True)
class Trap:
    """What is wrong, and what helps: `now` in a running session, `good` for good.

    `window` is the one to ask for; `anew`: that was asked for, and the model must be loaded anew.
    """

    cause: str
    now: str
    good: str
    window: int
    anew: bool = False

    @property
    def words(self) -> str:
        """All of it, for a running session."""
        return f"{self.cause}\n{self.now} For good: {self.good}."


def compatible_trap(profile: Profile) -> Trap | None:
    """Ollama's other interface: the size of the window cannot be set there."""
    parts = parts_of(profile.endpoint)
    if profile.wire != "openai-chat" or parts is None or parts.port != _OLLAMA_PORT:
        return None
    return Trap(
        "This is Ollama's compatible interface: it cannot set the window, and long text is cut silently.",
        f"/window {GOOD_WINDOW} goes on by its own interface in this session.",
        f'type = "ollama" and an endpoint without /v1 in [profiles.{profile.name}]',
        GOOD_WINDOW,
    )


def window_trap(info: ModelInfo, profile: Profile) -> Trap | None:
    """A model that runs in a smaller window than was asked for, or than it could."""
    loaded, asked, where = info.window, asked_window(profile), f"[profiles.{profile.name}.generation]"
    if profile.wire != "ollama-native" or loaded is None:
        return None
    cause = f"{profile.model} is loaded with {loaded:,} tokens; {{}}. Older text would be cut silently."
    if asked is not None and loaded < asked:
        return Trap(
            cause.format(f"the profile asks for {asked:,}"),
            f"Free memory and load it anew: ollama stop {profile.model}, then /retry. Or go on with what there is: "
            f"/window {loaded}.",
            f"num_ctx = {loaded} in {where}",
            asked,
            anew=True,
        )
    good = min(info.most or GOOD_WINDOW, GOOD_WINDOW)
    if asked is None and loaded < good:
        return Trap(
            cause.format(f"it could take {info.most or good:,}"),
            f"/window {good} asks for more in this session.",
            f"num_ctx = {good} in {where}",
            good,
        )
    return None


def with_window(profile: Profile, tokens: int) -> Profile | None:
    """The profile with this window asked for, by Ollama's own interface; None where a window cannot be asked for."""
    generation = {**profile.generation, "num_ctx": tokens}
    if profile.wire == "ollama-native":
        return replace(profile, generation=generation)
    if compatible_trap(profile) is None:
        return None
    endpoint = (profile.endpoint or "").rstrip("/").removesuffix("/v1")
    return replace(profile, type="ollama", wire="ollama-native", endpoint=endpoint, generation=generation)


async def found(session: Session) -> Trap | None:
    """The trap that a session is in, as its server tells it now; None where that is not known."""
    profile = session.profile
    if profile is None or profile.wire != "ollama-native":
        return None if profile is None else compatible_trap(profile)
    try:
        async with asyncio.timeout(_SECONDS):
            info = await inspect(profile, env=session.terms.environment, network=session.terms.network)
    except (AgentError, TimeoutError):
        return None
    return window_trap(info, profile)
