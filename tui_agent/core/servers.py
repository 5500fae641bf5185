"""MCP servers as data: how one is named in a file, what is asked of it, what it answers."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

START_SECONDS, CALL_SECONDS = 30.0, 120.0
"""How long a server may take to start, and for one call, unless its table says so."""

NAME = re.compile(r"[A-Za-z0-9_.-]{1,40}")
"""What a server may be called: it stands before the slash in the names of its tools."""


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server, as `source`, a file, names it: a program with its words, or an address. Times are in seconds.

    `passed` names variables of the person's environment that the program gets, too; `key_env` the one that holds the
    key for an address. `fault` says why it cannot be used.
    """

    name: str
    source: Path
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    passed: tuple[str, ...] = ()
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    key_env: str = ""
    enabled: bool = True
    start_timeout: float = START_SECONDS
    timeout: float = CALL_SECONDS
    fault: str = ""

    @property
    def key(self) -> Path:
        """Under which answers about it are kept: the file that names it, and its name."""
        return self.source.with_name(f"{self.source.name}#{self.name}")

    @property
    def what(self) -> str:
        """What would be started or asked, whole, in one line; not yet sanitised."""
        if self.url:
            more = [f"with the header{'s' * (len(self.headers) > 1)} {', '.join(self.headers)}"] if self.headers else []
            return ", ".join([self.url, *more])
        words = [f"{name}={shlex.quote(value)}" for name, value in self.env.items()]
        place = f"  in {self.cwd}" if self.cwd else ""
        return " ".join([*words, shlex.join(self.command)]) + place


def server(name: str, table: Mapping[str, Any], source: Path) -> ServerConfig:
    """A server of a table whose values have the types of the schema; what is missing or too much is its `fault`."""
    words = (table["command"], *table.get("args", ())) if table.get("command") else ()
    url = table.get("url", "")
    fault = ""
    if not NAME.fullmatch(name):
        fault = "its name may have letters, digits, _, . and -, at most 40"
    elif bool(words) == bool(url):
        fault = "it needs either command or url" if not words else "it has both command and url"
    return ServerConfig(
        name,
        source,
        words,
        dict(table.get("env", {})),
        tuple(table.get("env_vars", ())),
        table.get("cwd", ""),
        url,
        dict(table.get("headers", {})),
        table.get("api_key_env", ""),
        table.get("enabled", True),
        float(table.get("start_timeout", START_SECONDS)),
        float(table.get("timeout", CALL_SECONDS)),
        fault,
    )


_TEXTS = ("command", "cwd", "url")


def of_project(data: bytes, source: Path) -> dict[str, ServerConfig]:
    """The servers of a `.mcp.json`.

    It may name no variable of the person's, neither as such nor as `${NAME}`: only their own configuration does.

    Raises:
        ValueError: it is no JSON of MCP servers.
    """
    try:
        found = json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    servers = found.get("mcpServers") if isinstance(found, Mapping) else None
    if not isinstance(servers, Mapping):
        raise ValueError("it has no table mcpServers")
    return {name: _of_project(name, table, source) for name, table in servers.items()}


def _of_project(name: str, table: Any, source: Path) -> ServerConfig:
    def bad(why: str) -> ServerConfig:
        return ServerConfig(name, source, fault=why)

    if not isinstance(table, Mapping):
        return bad("it is no table")
    kept = {key: table[key] for key in (*_TEXTS, "args", "env", "headers") if key in table}
    texts = [kept[key] for key in _TEXTS if key in kept]
    args = kept.get("args", [])
    if not isinstance(args, list):
        return bad("args is no list of words")
    for key in ("env", "headers"):
        if not isinstance(kept.get(key, {}), Mapping):
            return bad(f"{key} is no table")
        texts += kept.get(key, {}).values()
    texts += args
    if not all(isinstance(text, str) and "\0" not in text for text in texts):
        return bad("one of its values is no text")
    if any("${" in text for text in texts):
        return bad("it holds ${…}, which a project's file may not: put it into your own config")
    if table.get("type") == "sse":
        return bad("servers of the old kind, sse, are not supported")
    return server(name, kept, source)


# ------------------------------------------------------------------ a call


@dataclass(frozen=True, slots=True)
class CallServer:
    """Call a tool of a server. `pin` is the hash of the description that the tool was offered with."""

    server: str
    tool: str
    arguments: Mapping[str, Any]
    pin: str

    @property
    def name(self) -> str:
        """The tool as it is named everywhere."""
        return f"{self.server}/{self.tool}"

    @property
    def text(self) -> str:
        """All of the arguments, to be read; not yet sanitised."""
        return json.dumps(self.arguments, ensure_ascii=False, indent=2)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call: text of strangers, or why there is none (`failed`); `note` is a short result for the eye."""

    text: str
    note: str = ""
    failed: bool = False
