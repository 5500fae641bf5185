"""How much a model should think, from one word of the person to what its server calls it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from tui_agent.core.profile import Profile

Efforts: TypeAlias = Mapping[str, Mapping[str, Any]]
"""off, low, medium, high -> the parameters that say it."""

ROOM: Final = 8192
"""Tokens for the answer itself, beside those for thinking."""
_LEAST: Final = 1024
"""The smallest budget for thinking that the Anthropic format allows."""
_CLASH: Final = frozenset({"temperature", "top_k", "top_p"})
"""Settings that the Anthropic format does not take together with thinking."""

_WORDS: Final = ("low", "medium", "high")
REASONING_EFFORT: Final[Efforts] = MappingProxyType(
    {"off": {"reasoning_effort": "none"}, **{word: {"reasoning_effort": word} for word in _WORDS}}
)
THINK: Final[Efforts] = MappingProxyType({"off": {"think": False}, **{word: {"think": word} for word in _WORDS}})
THINKING: Final[Efforts] = MappingProxyType(
    {
        "off": {"thinking": {"type": "disabled"}},
        **{
            word: {"thinking": {"type": "enabled", "budget_tokens": tokens}}
            for word, tokens in (("low", 2048), ("medium", 8192), ("high", 24_576))
        },
    }
)
REASONING: Final[Efforts] = MappingProxyType(
    {"off": {"reasoning": {"enabled": False}}, **{word: {"reasoning": {"effort": word}} for word in _WORDS}}
)
SWITCH: Final[Efforts] = MappingProxyType(
    {
        "off": {"thinking": {"type": "disabled"}},
        **{word: {"thinking": {"type": "enabled"}} for word in _WORDS},
    }
)
TEMPLATE: Final[Efforts] = MappingProxyType(
    {
        "off": {"chat_template_kwargs": {"enable_thinking": False}},
        **{word: {"chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": word}} for word in _WORDS},
    }
)


def with_effort(profile: Profile, efforts: Efforts) -> dict[str, Any]:
    """The profile's generation settings, with its effort as this server takes it; unchanged without one."""
    generation = dict(profile.generation)
    if profile.effort is None:
        return generation
    wanted = dict(efforts.get(profile.effort, {}))
    thinking = wanted.get("thinking")
    budget = thinking.get("budget_tokens") if thinking else None
    if budget is not None:
        limit = generation.setdefault("max_tokens", budget + ROOM)
        if isinstance(limit, int) and limit <= budget:
            budget = limit // 2
        if budget < _LEAST:
            return generation
        wanted["thinking"] = {"type": "enabled", "budget_tokens": budget}
        generation = {name: value for name, value in generation.items() if name not in _CLASH}
    return {**generation, **wanted}
