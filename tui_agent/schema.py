"""The schema of the configuration as data, and the one validator that reads it.

A table maps each key to a type; `Each` is a table with free names. `validate` finds every fault of a
parsed file at once and names each by file, line and key.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, Union
from urllib.parse import urlsplit

Table: TypeAlias = Mapping[str, "Kind"]


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar or list: `test` decides, `what` says in words what it must be."""

    what: str
    test: Callable[[Any], bool]


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
    return Value("one of " + ", ".join(names), lambda v: v in names)


STRING = Value("a string", lambda v: isinstance(v, str))
STRINGS = Value("a list of strings", _words)
ARGV = Value("a list of words, the first a program", lambda v: _words(v) and bool(v))


def _address(v: Any) -> bool:
    try:
        return isinstance(v, str) and (urlsplit(v).port or 0) >= 0
    except ValueError:
        return False


ADDRESS = Value("an address that can be read", _address)
VARIABLE = Value(
    "the name of an environment variable", lambda v: isinstance(v, str) and re.fullmatch(r"\w*", v) is not None
)
JSON = Value("a value that JSON can hold", _json)
FLAG = Value("true or false", lambda v: isinstance(v, bool))
COUNT = Value("a positive whole number", lambda v: isinstance(v, int) and not isinstance(v, bool) and v > 0)
NATURAL = Value("a whole number, 0 or more", lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 0)
POSITIVE = Value("a positive number", lambda v: _number(v) and v > 0)
RATE = Value("a number, 0 or more", lambda v: _number(v) and v >= 0)
ANYTHING = Value("any value", lambda _: True)
ROW = one_of("allow", "ask", "deny")

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
    "pricing": {"input": RATE, "cached_input": RATE, "output": RATE},
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
        "max_identical": COUNT,
        "repeat_window": COUNT,
        "command_timeout": POSITIVE,
    },
    "permissions": {
        **dict.fromkeys(("read", "search", "write", "run", "git", "shell", "network", "mcp"), ROW),
        "allow": STRINGS,
        "deny": STRINGS,
        "on_reject": one_of("continue", "stop"),
        "on_deny": one_of("continue", "stop"),
        "environment": STRINGS,
        "sandbox": one_of("auto", "bwrap", "landlock", "none"),
    },
    "checks": Each(ARGV),
    "ui": {"theme": STRING, "side_pane": FLAG, "esc_stops": one_of("double", "single", "never")},
    "keys": Each(STRING),
    "network": {"proxy": STRING, "ca_file": STRING},
    "mcp_servers": Each(
        {"command": STRING, "args": STRINGS, "env": Each(STRING), "url": STRING, "headers": Each(STRING)}
    ),
}

PROJECT_KEYS: Final = ("default_provider", "profiles.*.model", "profiles.*.generation", "ui", "permissions")
"""What the file of a trusted project may set; permissions only to be stricter."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in a configuration file. An error makes the file unusable, a warning does not."""

    file: Path
    line: int | None
    key: str
    message: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"


def validate(data: Mapping[str, Any], text: str, file: Path) -> list[Fault]:
    """Every fault of a parsed file, in the order of its keys."""
    return [Fault(file, line_of(text, key), ".".join(key), msg, sev) for key, msg, sev in _walk(data, SCHEMA, ())]


_Found: TypeAlias = tuple[tuple[str, ...], str, Literal["error", "warning"]]


def _walk(data: Mapping[str, Any], table: Table, at: tuple[str, ...]) -> Iterator[_Found]:
    for name, value in data.items():
        key = (*at, name)
        if name not in table:
            near = difflib.get_close_matches(name, table, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield key, f"unknown key{hint}", "warning"
        else:
            yield from _check(value, table[name], key)


def _check(value: Any, kind: Kind, key: tuple[str, ...]) -> Iterator[_Found]:
    if isinstance(kind, Value):
        if not kind.test(value):
            yield key, f"must be {kind.what}, not {value!r}", "error"
    elif not isinstance(value, Mapping):
        yield key, f"must be a table, not {value!r}", "error"
    elif isinstance(kind, Each):
        for name, inner in value.items():
            yield from _check(inner, kind.kind, (*key, name))
    else:
        yield from _walk(value, kind, key)


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


_NAME = r"(?:\"[^\"]*\"|'[^']*'|[\w-]+)"


def line_of(text: str, key: tuple[str, ...]) -> int | None:
    """The line of a key in TOML text, counted from 1: the assignment in its table, else the table's header."""
    best: int | None = None
    best_depth = 0
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\[?([^\]]+)\]", line):
            table = tuple(_parts(header[1]))
            path = table
        elif assigned := re.match(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=", line):
            path = (*table, *_parts(assigned[1]))
        else:
            continue
        depth = len(path)
        if depth > best_depth and key[:depth] == path:
            best, best_depth = number, depth
    return best


def _parts(dotted: str) -> list[str]:
    return [a or b or c for a, b, c in re.findall(r"\"([^\"]*)\"|'([^']*)'|([\w-]+)", dotted)]
