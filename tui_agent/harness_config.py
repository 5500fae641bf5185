"""The configuration of a Racket coding harness, read into the tables of ours.

Its two JSON files, one of the person and one of a folder, are merged, and their `providers` become profiles. Their
`endpoint` holds the whole path of chat completions; ours is the address in front of that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_agent.config import MOST, merge
from tui_agent.core.disk import ordinary
from tui_agent.core.types import ConfigError
from tui_agent.schema import PRICES, known, validate

USUAL = "~/.coding_harness.json"
"""The person's own file. The one of a folder is read only when it is named: whoever made the folder wrote it."""

_LOCAL = frozenset({"mlx", "ollama", "omlx", "sushi"})
"""Types that mean a server on this machine which speaks chat completions."""
_PATH = "/chat/completions"
_TAKEN = ("endpoint", "model", "api_key_env", "generation", "pricing")


@dataclass(frozen=True, slots=True)
class Imported:
    """What was read: tables of our configuration, and what of theirs has no place in it, as keys."""

    tables: Mapping[str, Any]
    left: tuple[str, ...]


def read(files: Sequence[Path]) -> Imported:
    """The files, a later one over an earlier one, in our words.

    Raises:
        ConfigError: one cannot be read, is no JSON object, or holds a value that our schema does not take.
    """
    data: dict[str, Any] = {}
    for file in files:
        data = merge(data, _object(file))
    left = [key for key in data if key not in {"default_provider", "providers"}]
    profiles: dict[str, Any] = {}
    providers = data.get("providers", {})
    for name, table in providers.items() if isinstance(providers, Mapping) else ():
        if not isinstance(table, Mapping):
            left.append(f"providers.{name}")
            continue
        profiles[name], strangers = _profile(table)
        left += [f"providers.{name}.{key}" for key in strangers]
    tables: dict[str, Any] = {"profiles": profiles}
    if data.get("default_provider") in profiles:
        tables["default_provider"] = data["default_provider"]
    if faults := [f for f in validate(tables, "", files[-1]) if f.severity == "error"]:
        raise ConfigError(f"{files[-1]}: {faults[0].key}: {faults[0].message}")
    return Imported(tables, tuple(left))


def _object(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(ordinary(file, MOST).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is no JSON: {error}") from error
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{file} is no JSON object")
    return data


def _profile(table: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """One profile, and the keys that were left out. Without a type it gets no address and no key of a vendor."""
    kind = str(table.get("type") or "").lower()
    taken = {key: table[key] for key in _TAKEN if table.get(key) not in (None, "")}
    if isinstance(address := taken.get("endpoint"), str):
        taken["endpoint"] = address.rstrip("/").removesuffix(_PATH)
    if kind in _LOCAL:
        taken = {"type": "mlx", **taken}
    nothing = []
    for name, inner in taken.items():
        if isinstance(inner, Mapping):  # TOML has no null
            nothing += [f"{name}.{key}" for key, value in inner.items() if value is None]
            taken[name] = {key: value for key, value in inner.items() if value is not None}
    if isinstance(prices := taken.get("pricing"), Mapping):
        taken["pricing"] = known(prices, PRICES)
        nothing += [f"pricing.{key}" for key in prices if key not in PRICES]
    return taken, [*(key for key in table if key not in {"type", *_TAKEN}), *nothing]
