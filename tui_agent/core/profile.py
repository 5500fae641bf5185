"""A profile: one named entry of the configuration that says how to reach a model.

Frozen and complete: every layer of the configuration has been merged before one is made.
Nothing is defaulted that would end up in a request (`generation` is sent as it is).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from tui_agent.core.types import ConfigError, Usage

Wire: TypeAlias = Literal["openai-chat", "anthropic", "ollama-native", "scripted"]
Effort: TypeAlias = Literal["off", "low", "medium", "high"]
ProtocolName: TypeAlias = Literal["auto", "native", "json", "verbs"]


ANSWER_LENGTHS = ("max_tokens", "max_completion_tokens", "num_predict")
"""The names under which `generation` says how long an answer may be."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. There is no total deadline; `progress` is the time without any content delta."""

    connect: float = 10.0
    first_event: float = 600.0
    idle: float = 300.0
    progress: float = 300.0

    def __post_init__(self) -> None:
        for name in ("connect", "first_event", "idle", "progress"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"timeouts.{name} must be positive, not {getattr(self, name)!r}")


@dataclass(frozen=True, slots=True)
class Pricing:
    """USD per million tokens. A missing rate counts as 0; without both `input` and `output` there is no pricing: unknown cost."""

    input: float = 0.0
    cached_input: float = 0.0
    output: float = 0.0

    def cost(self, usage: Usage) -> float | None:
        """USD of one call, or None when the server did not say how many tokens it took."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = usage.cached_tokens or 0
        fresh = max(0, usage.input_tokens - cached)
        return (fresh * self.input + cached * self.cached_input + usage.output_tokens * self.output) / 1_000_000


@dataclass(frozen=True, slots=True)
class Profile:
    """How to reach one model.

    `type` is what the config names, `wire` the format it stands for. `endpoint` is the base URL
    without the last path of the wire ("http://127.0.0.1:8080/v1"). `options` are settings of the
    adapter ("text_tool_calls"), never sent. `effort` is how much the model should think, None as the
    server likes. `window` (tokens) and `images` are what the person says of the model, None unknown.
    `local`: its answers cost nothing. `start` is the command that starts the server, for the person.
    """

    name: str
    type: str = "openai"
    wire: Wire = "openai-chat"
    endpoint: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    api_key_cmd: tuple[str, ...] = ()
    protocol: ProtocolName = "auto"
    headers: Mapping[str, str] = field(default_factory=dict)
    generation: Mapping[str, Any] = field(default_factory=dict)
    pricing: Pricing | None = None
    local: bool = False
    effort: Effort | None = None
    window: int | None = None
    images: bool | None = None
    start: str = ""
    timeouts: Timeouts = field(default_factory=Timeouts)
    options: Mapping[str, Any] = field(default_factory=dict)

    def answering(self, model: str | None, pricing: Pricing | None = None) -> Profile:
        """The profile with this model of its server.

        What the profile says of the model that it names (prices, window, images) says nothing of another: that is
        unknown then. `pricing` are the prices that the server tells; those of the profile count before them. A profile
        without a model says what it says of all.
        """
        if model == self.model or self.model is None:
            return replace(self, model=model, pricing=self.pricing or pricing)
        free = self.local and self.pricing is None  # one with prices leads on to somebody who is paid
        return replace(self, model=model, pricing=pricing, window=None, images=None, local=free)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a server says of one of its models; None is unknown and never a guess.

    `window` in tokens: what the model works with now. `most` is what it could be loaded with. `size` in bytes on disk.
    """

    id: str
    window: int | None = None
    tools: bool | None = None
    images: bool | None = None
    pricing: Pricing | None = None
    most: int | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """How a tiny request went: the seconds until it was answered, and whether the server took it with a tool."""

    seconds: float
    tools: bool
