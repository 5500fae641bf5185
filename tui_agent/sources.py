"""Every value of the configuration with where it comes from, safe to show: what is secret in it is not there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tui_agent.config import Layer, Loaded, Settings, Ui, brought, merge, preset_name
from tui_agent.core.address import HIDDEN, shown, shown_words
from tui_agent.core.endings import Limits
from tui_agent.core.policy import DEFAULT
from tui_agent.core.secrets import Secrets
from tui_agent.paths import tilde
from tui_agent.providers.keys import own_secrets
from tui_agent.providers.web import ENGINES


@dataclass(frozen=True, slots=True)
class Row:
    """One value: its dotted key, the value as TOML would have it, and the layer that it comes from."""

    key: str
    value: str
    source: str


def rows(loaded: Loaded, env: Mapping[str, str]) -> tuple[Row, ...]:
    """Every value in force, the person's own keys first in the order of the schema's defaults; sorted within a table."""
    secrets = Secrets()
    for profile in loaded.settings.profiles.values():
        secrets.add(*own_secrets(profile, env))
    found: dict[tuple[str, ...], tuple[Any, str]] = {}
    for layer in (Layer("built in", defaults()), *_presets(loaded), *loaded.layers):
        source = tilde(Path(layer.source), env) if "/" in layer.source else layer.source
        for key, value in _flat(layer.data):
            old = found.get(key)
            if key == ("permissions", "allow") and old is not None:
                found[key] = ([*old[0], *value], f"{old[1]} and {source}")
            else:
                found[key] = value, source
    return tuple(
        Row(".".join(map(_name, key)), secrets.hide(_shown(key, value)), source)
        for key, (value, source) in sorted(found.items())
    )


def defaults() -> dict[str, Any]:
    """What holds when nobody says anything."""
    settings = Settings()
    return {
        "limits": {name: value for name, value in asdict(Limits()).items() if value is not None},
        "permissions": {
            **DEFAULT.table,
            "allow": list(DEFAULT.allow),
            "on_reject": settings.on_reject,
            "on_deny": settings.on_deny,
            "sandbox": settings.sandbox,
            "check_after": settings.check_after,
        },
        "context": {"compact": settings.compact},
        "ui": {name: value for name, value in asdict(Ui()).items() if value is not None},
        "web": {
            "search": settings.web.search,
            "intents": settings.web.intents,
            "endpoints": {name: engine.endpoint for name, engine in ENGINES.items()},
        },
    }


def _presets(loaded: Loaded) -> Iterator[Layer]:
    """What the vendors that profiles name bring along."""
    merged: Mapping[str, Any] = {}
    for layer in loaded.layers:
        merged = merge(merged, layer.data)
    for name, table in merged.get("profiles", {}).items():
        known = {key: value for key, value in brought(table).items() if key in {"endpoint", "api_key_env"}}
        yield Layer(f"preset {preset_name(str(table.get('type')))}", {"profiles": {name: known}})


def _flat(table: Mapping[str, Any], at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, (*at, name))
        else:
            yield (*at, name), value


def _name(part: str) -> str:
    return part if re.fullmatch(r"[\w-]+", part, re.ASCII) else json.dumps(part)


def _shown(key: tuple[str, ...], value: Any) -> str:
    if len(key) > 2 and key[2] in {"headers", "env"}:  # of a profile or a server
        return HIDDEN
    if isinstance(value, str) and (key[-1] in {"endpoint", "url", "proxy"} or key[:2] == ("web", "endpoints")):
        value = shown(value)
    if isinstance(value, list) and key[0] == "mcp_servers" and key[-1] == "args":
        value = shown_words([str(word) for word in value])
    return json.dumps(value, ensure_ascii=False)
