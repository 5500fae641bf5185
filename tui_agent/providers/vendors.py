"""What servers of one wire format refuse that others take, as data.

A `Vendor` is chosen by the profile's `type`, else by the endpoint's host, else by the wire. The
adapters look at its fields when they build a request, never at names. `adapt` learns from a
refusal: it gives the rules under which the same request is worth sending once more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from tui_agent.core.address import host_of
from tui_agent.core.profile import Profile
from tui_agent.providers import effort
from tui_agent.providers.effort import Efforts

_NOTHING: Mapping[str, str] = MappingProxyType({})

ROLES = "the order of roles"
"""What a server refuses that wants the roles to alternate; they do from then on."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """The habits of one vendor. The defaults suit a server that follows the format.

    rename: parameters of `generation` that go by another name here.
    drop: parameters that are never sent.
    stream_usage: ask for token counts with `stream_options`.
    native_tools: tools may be offered.
    short_ids: call ids must be exactly nine letters or digits.
    bridge: a short assistant message must stand between a tool result and the person's text.
    reasoning_back: the reasoning of the running tool loop must be sent back.
    signatures: the first call of each step must carry a thought signature.
    foreign_members: messages may carry members beyond the format's own.
    efforts: what each word of the person for the effort of thinking is here.
    hosts: endpoints with these hosts (or hosts below them) belong to this vendor.
    """

    rename: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    drop: frozenset[str] = frozenset()
    stream_usage: bool = True
    native_tools: bool = True
    short_ids: bool = False
    bridge: bool = False
    reasoning_back: bool = False
    signatures: bool = False
    foreign_members: bool = True
    efforts: Efforts = field(default_factory=lambda: effort.REASONING_EFFORT)
    hosts: tuple[str, ...] = ()


_NEW_MAX_TOKENS: Mapping[str, str] = MappingProxyType({"max_tokens": "max_completion_tokens"})
_MISTRAL = Vendor(
    rename=MappingProxyType({"max_completion_tokens": "max_tokens"}),
    stream_usage=False,
    short_ids=True,
    bridge=True,
    foreign_members=False,
    hosts=("api.mistral.ai",),
)
_DEEPSEEK = Vendor(reasoning_back=True, efforts=effort.SWITCH, hosts=("api.deepseek.com",))
_GEMINI = Vendor(signatures=True, hosts=("generativelanguage.googleapis.com",))
_LLAMACPP = Vendor(bridge=True)

VENDORS: Mapping[str, Vendor] = MappingProxyType(
    {
        "openai": Vendor(rename=_NEW_MAX_TOKENS, foreign_members=False, hosts=("api.openai.com",)),
        "openai-reasoning": Vendor(
            rename=_NEW_MAX_TOKENS,
            drop=frozenset({"parallel_tool_calls"}),
            foreign_members=False,
        ),
        "azure-old": Vendor(stream_usage=False, foreign_members=False),
        "mistral": _MISTRAL,
        "groq": Vendor(stream_usage=False, foreign_members=False, hosts=("api.groq.com",)),
        "vllm": Vendor(efforts=effort.TEMPLATE),
        "llamacpp": Vendor(efforts=effort.TEMPLATE),
        "mlx": Vendor(efforts=effort.TEMPLATE),
        "openrouter": Vendor(efforts=effort.REASONING, hosts=("openrouter.ai",)),
        "vllm-noparser": Vendor(native_tools=False),
        "vllm-gemma": Vendor(),
        "llamacpp-strict-template": _LLAMACPP,
        "deepseek-thinking": _DEEPSEEK,
        "deepseek": _DEEPSEEK,
        "gemini-compat": _GEMINI,
        "gemini": _GEMINI,
        "anthropic": Vendor(efforts=effort.THINKING, hosts=("api.anthropic.com",)),
        "ollama": Vendor(rename=MappingProxyType({"max_tokens": "num_predict"}), efforts=effort.THINK),
    }
)
_BY_WIRE: Mapping[str, Vendor] = MappingProxyType(
    {"openai-chat": Vendor(), "anthropic": VENDORS["anthropic"], "ollama-native": VENDORS["ollama"]}
)
_FIXED = frozenset({"model", "messages", "stream", "tools", "system", "options"})
_UNSUPPORTED = re.compile(
    r"unsupported|not supported|does not support|unrecogni[sz]ed|unknown|unexpected|extra|not permitted|not allowed|forbidden"
    r"|no longer accept|invalid parameter|use '",
)


Identity: TypeAlias = tuple[str, str, str, str]


def identity(profile: Profile) -> Identity:
    """What learned rules belong to: the profile's name and type, the server, the model."""
    return profile.name, profile.type, profile.endpoint or "", profile.model or ""


def rules(profile: Profile) -> Vendor:
    """The vendor rules of a profile, before anything was learned."""
    if profile.type == "openai":  # what every compatible server is called: the host tells more
        return _by_host(profile.endpoint) or _BY_WIRE.get(profile.wire, Vendor())
    return VENDORS.get(profile.type) or _by_host(profile.endpoint) or _BY_WIRE.get(profile.wire, Vendor())


def parameters(vendor: Vendor, generation: Mapping[str, Any], *, tools: bool) -> dict[str, Any]:
    """The profile's generation settings as this vendor takes them. Settings about tools need tools."""
    sent = {}
    for name, value in generation.items():
        if name in vendor.drop or (not tools and name in {"tool_choice", "parallel_tool_calls"}):
            continue
        sent[vendor.rename.get(name, name)] = value
    return sent


def adapt(vendor: Vendor, body: Mapping[str, Any], status: int, refusal: str) -> tuple[Vendor, str] | None:
    """(rules without what was refused, its name), or None when a refusal names nothing that can be left out.

    `refusal` is the body of the server's answer. Messages and tools are never dropped.
    """
    said = refusal.lower()
    if status in {400, 422, 500} and not vendor.bridge and re.search(r"must alternate|raise_exception|jinja", said):
        return replace(vendor, bridge=True), ROLES
    if status not in {400, 422}:
        return None
    if "stream_options" in body and re.search(r"stream_options|include_usage|param incorrect", said):
        return replace(vendor, stream_usage=False, drop=vendor.drop | {"stream_options"}), "stream_options"
    for name in ("response_format", "format"):
        if name in body and re.search(r"response_format|json_schema|\bschema\b|grammar", said):
            return replace(vendor, drop=vendor.drop | {name}), name
    for old, new in (("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "max_tokens")):
        if old in body and "max_completion_tokens" in said and _UNSUPPORTED.search(said):
            others = {name: to for name, to in vendor.rename.items() if to != old}
            return replace(vendor, rename=MappingProxyType({**others, old: new})), old
    for name in body:
        spelled = "think(?:ing)?" if name == "think" else re.escape(name.lower())
        named = re.search(rf"(?<![a-z0-9_]){spelled}(?![a-z0-9_])", said)
        if name not in _FIXED and named and _UNSUPPORTED.search(said):
            sources = {old for old, new in vendor.rename.items() if new == name} | {name}
            return replace(vendor, drop=vendor.drop | sources), name
    return None


def _by_host(endpoint: str | None) -> Vendor | None:
    host = host_of(endpoint)
    return next(
        (vendor for vendor in VENDORS.values() for own in vendor.hosts if host == own or host.endswith("." + own)), None
    )
