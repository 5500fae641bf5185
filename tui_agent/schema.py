"""The schema of the configuration as data, and the one validator that reads it.

A table maps each key to a type; `Each` is a table with free names. `validate` finds every fault of a
parsed file at once and names each by file, line, column and key.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, Union

from tui_agent.core.address import HIDDEN, SECRET_NAME, is_server, shown
from tui_agent.core.endings import FEWEST_IDENTICAL
from tui_agent.core.secrets import like_keys
from tui_agent.places import HOLDS_SECRETS, Place, place_of

Table: TypeAlias = Mapping[str, "Kind"]


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar or list: `test` decides, `what` says in words what it must be; `choices` are the words it may be."""

    what: str
    test: Callable[[Any], bool]
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Each:
    """A table with names of the person's choosing, each holding `kind`."""

    kind: Kind


Kind: TypeAlias = Union[Value, Each, Table]  # noqa: UP007 - a forward reference inside `|` does not evaluate


def _number(v: Any) -> bool:
    return isinstance(v, (int, float)) and not isinstance(v, bool)


def _json(v: Any) -> bool:
    if isinstance(v, Mapping):
        return all(map(_json, v.values()))
    return all(map(_json, v)) if isinstance(v, list) else isinstance(v, (str, int, float, bool))


def _words(v: Any) -> bool:
    return isinstance(v, list) and all(isinstance(w, str) and "\0" not in w for w in v)


def one_of(*names: str) -> Value:
    """One of a few words."""
    return Value("one of " + ", ".join(names), lambda v: v in names, names)


STRING = Value("a string", lambda v: isinstance(v, str))
STRINGS = Value("a list of strings", _words)
ARGV = Value("a list of words, the first a program", lambda v: _words(v) and bool(v))


def _address(v: Any) -> bool:
    # empty is none; a scripted profile names a file
    return isinstance(v, str) and (not v or v.startswith("/") or is_server(v))


ADDRESS = Value("an address such as http://127.0.0.1:8080/v1, without blanks", _address)
VARIABLE = Value(
    "the name of an environment variable", lambda v: isinstance(v, str) and re.fullmatch(r"\w*", v) is not None
)
JSON = Value("a value that JSON can hold", _json)
FLAG = Value("true or false", lambda v: isinstance(v, bool))
COUNT = Value("a positive whole number", lambda v: isinstance(v, int) and not isinstance(v, bool) and v > 0)
NATURAL = Value("a whole number, 0 or more", lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0)
POSITIVE = Value("a positive number", lambda v: _number(v) and 0 < v < math.inf)
RATE = Value("a number, 0 or more", lambda v: _number(v) and 0 <= v < math.inf)
REPEATS = Value("a whole number, 2 or more", lambda v: COUNT.test(v) and v >= FEWEST_IDENTICAL)
ANYTHING = Value("any value", lambda _: True)
ROW = one_of("allow", "ask", "deny")

PRICES: Final[Table] = {"input": RATE, "cached_input": RATE, "output": RATE}

PROFILE: Final[Table] = {
    "type": STRING,
    "endpoint": ADDRESS,
    "model": STRING,
    "api_key_env": VARIABLE,
    "api_key_cmd": ARGV,
    "protocol": one_of("auto", "native", "json", "verbs"),
    "headers": Each(STRING),
    "effort": one_of("off", "low", "medium", "high"),
    "window": COUNT,
    "images": FLAG,
    "local": FLAG,
    "generation": Each(JSON),
    "pricing": PRICES,
    "timeouts": {"connect": POSITIVE, "first_event": POSITIVE, "idle": POSITIVE, "progress": POSITIVE},
    "options": {
        "text_tool_calls": FLAG,
        "retries": NATURAL,
        "cache": FLAG,
        "proxy": STRING,
        "ca_file": STRING,
        "trust_env": FLAG,
    },
}

SCHEMA: Final[Table] = {
    "default_provider": STRING,
    "profiles": Each(PROFILE),
    "limits": {
        "max_steps": COUNT,
        "max_invalid": COUNT,
        "max_context": COUNT,
        "max_tokens": COUNT,
        "max_cost": POSITIVE,
        "max_identical": REPEATS,
        "repeat_window": COUNT,
        "command_timeout": POSITIVE,
    },
    "context": {"compact": FLAG},
    "permissions": {
        **dict.fromkeys(("read", "search", "write", "run", "git", "shell", "network", "mcp"), ROW),
        "allow": STRINGS,
        "deny": STRINGS,
        "on_reject": one_of("continue", "stop"),
        "on_deny": one_of("continue", "stop"),
        "environment": STRINGS,
        "sandbox": one_of("auto", "bwrap", "landlock", "none"),
        "check_after": one_of("batch", "edit"),
    },
    "checks": Each(ARGV),
    "ui": {
        "theme": STRING,
        "glyphs": one_of("auto", "unicode", "ascii"),
        "side_pane": FLAG,
        "esc_stops": one_of("double", "single", "never"),
        "mouse": FLAG,
        "tool_detail": one_of("compact", "normal", "full"),
        "title": FLAG,
        "hints": FLAG,
    },
    "keys": Each(STRING),
    "web": {
        "search": one_of("off", "brave", "exa", "ddg"),
        "intents": one_of("auto", "words", "model", "off"),
        "private": STRINGS,
        "endpoints": {"brave": ADDRESS, "exa": ADDRESS, "ddg": ADDRESS},
    },
    "network": {"proxy": STRING, "ca_file": STRING},
    "mcp_servers": Each(
        {
            "command": STRING,
            "args": STRINGS,
            "env": Each(STRING),
            "env_vars": STRINGS,
            "cwd": STRING,
            "url": ADDRESS,
            "headers": Each(STRING),
            "api_key_env": VARIABLE,
            "enabled": FLAG,
            "start_timeout": POSITIVE,
            "timeout": POSITIVE,
        }
    ),
}

PROJECT_KEYS: Final = ("default_provider", "profiles.*.model", "profiles.*.generation", "ui", "permissions")
"""What the file of a trusted project may set; permissions only to be stricter."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in a configuration file. An error makes the file unusable, a warning does not."""

    file: Path
    place: Place | None
    key: str
    message: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        where = f"{self.file}:{self.place.line}:{self.place.column}" if self.place else str(self.file)
        return f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"


def did_you_mean(word: str, known: Iterable[str], near_enough: float = 0.6) -> str:
    """The nearest known word as the end of a sentence, "" when none is near enough; see `nearest`."""
    near = nearest(word, known, near_enough)
    return f"; did you mean {near}?" if near else ""


def nearest(word: str, known: Iterable[str], near_enough: float) -> str:
    """The nearest known word, "" when none is near; `near_enough` from 0, anything, to 1, itself."""
    return next(iter(difflib.get_close_matches(word.lower(), list(known), 1, near_enough)), "")


def validate(data: Mapping[str, Any], text: str, file: Path) -> list[Fault]:
    """Every fault of a parsed file, in the order of its keys."""
    return [Fault(file, place_of(text, key), ".".join(key), msg, sev) for key, msg, sev in _walk(data, SCHEMA, ())]


_Found: TypeAlias = tuple[tuple[str, ...], str, Literal["error", "warning"]]


def _walk(data: Mapping[str, Any], table: Table, at: tuple[str, ...]) -> Iterator[_Found]:
    for name, value in data.items():
        key = (*at, name)
        if name not in table:
            yield key, f"unknown key{_elsewhere(name, table, at) or did_you_mean(name, table)}", "warning"
        else:
            yield from _check(value, table[name], key)


def _elsewhere(name: str, table: Table, at: tuple[str, ...]) -> str:
    """The table one level below that has this key, as the end of a sentence; "" when none has."""
    inside = (inner for inner, kind in table.items() if isinstance(kind, Mapping) and name in kind)
    return next((f"; it belongs into [{'.'.join((*at, inner))}]" for inner in inside), "")


def _check(value: Any, kind: Kind, key: tuple[str, ...]) -> Iterator[_Found]:
    if isinstance(kind, Value):
        if not kind.test(value):
            hint = did_you_mean(value, kind.choices) if isinstance(value, str) else ""
            safe = shown(value) if kind is ADDRESS and isinstance(value, str) else value
            yield key, f"must be {kind.what}, not {_said(safe, key)}{hint}", "error"
    elif not isinstance(value, Mapping):
        yield key, f"must be a table, not {_said(value, key)}", "error"
    elif isinstance(kind, Each):
        for name, inner in value.items():
            yield from _check(inner, kind.kind, (*key, name))
    else:
        yield from _walk(value, kind, key)


def _said(value: Any, key: tuple[str, ...]) -> str:
    """A wrong value, without what may be secret: people write a key where its name belongs."""
    return HIDDEN if SECRET_NAME.search(key[-1]) or not HOLDS_SECRETS.isdisjoint(key) else like_keys(in_toml(value))


def in_toml(value: Any) -> str:
    """A value of a file as the person wrote it there, near enough: `true`, not what Python calls it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(in_toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key} = {in_toml(inner)}' for key, inner in value.items())}}}"
    return repr(value) if isinstance(value, str | int | float) else str(value)


def all_keys(table: Table = SCHEMA, at: str = "") -> Iterator[str]:
    """Every key of the schema as a dotted path; names of the person's choosing are `*`."""
    for name, kind in table.items():
        yield from _keys(kind, f"{at}{name}")


def _keys(kind: Kind, at: str) -> Iterator[str]:
    if isinstance(kind, Value):
        yield at
    elif isinstance(kind, Each):
        yield from _keys(kind.kind, f"{at}.*")
    else:
        yield from all_keys(kind, f"{at}.")


def known(data: Mapping[str, Any], table: Table = SCHEMA) -> dict[str, Any]:
    """The same data without the keys that the schema does not have."""
    return {name: _known(value, table[name]) for name, value in data.items() if name in table}


def _known(value: Any, kind: Kind) -> Any:
    if isinstance(kind, Value) or not isinstance(value, Mapping):
        return value
    if isinstance(kind, Each):
        return {name: _known(inner, kind.kind) for name, inner in value.items()}
    return known(value, kind)
