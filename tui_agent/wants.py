"""What a folder wants to add to the product: the entries that trust is asked for, one by one.

They are read as data to be shown and hashed. Whether one of them counts is for `trust` to say.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_agent.config import project_part
from tui_agent.paths import PROJECT_DIR
from tui_agent.schema import ARGV, known, validate
from tui_agent.workspace import git

MAX_ENTRY = 1_000_000
"""Bytes of a project file that are looked at; a larger one is never trusted."""

CONFIG, CHECK, MCP, AGENTS = "config", "check", "mcp", "AGENTS.md"
INSTRUCTIONS = frozenset({AGENTS})
"""Entries that are words for a model and start nothing."""
FILES: Mapping[str, str] = {CONFIG: f"{PROJECT_DIR}/config.toml", MCP: ".mcp.json", AGENTS: "AGENTS.md"}
HERE = "."
"""How a project's own file names its folder in `[checks]`."""


@dataclass(frozen=True, slots=True)
class Want:
    """One entry: `data` is what is hashed and accepted, `lines` say what it would do. Nothing here is sanitised."""

    name: str
    path: str
    data: bytes
    lines: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """sha256 hex of the data."""
        return hashlib.sha256(self.data).hexdigest()


def wants(root: Path, user: Mapping[str, Any] | None = None) -> tuple[Want, ...]:
    """The entries of a folder, in a fixed order; `user` is the person's own configuration as a dict.

    Links and special files count as absent.
    """
    found = {name: data for name, path in FILES.items() if (data := read(root / path)) is not None}
    out = []
    if (config := found.get(CONFIG)) is not None:
        table = _toml(config)
        out.append(Want(CONFIG, FILES[CONFIG], config, tuple(_config_lines(table, user or {}))))
        if argv := project_check(table or {}):
            text = shlex.join(argv)
            out.append(Want(CHECK, FILES[CONFIG], text.encode(), (f"runs after edits: {text}",)))
    if (servers := found.get(MCP)) is not None:
        out.append(Want(MCP, FILES[MCP], servers, tuple(_mcp_lines(servers))))
    if (text_ := found.get(AGENTS)) is not None:
        count = len(text_.splitlines())
        out.append(
            Want(AGENTS, FILES[AGENTS], text_, (f"{count} line{'s' * (count != 1)} of instructions; not sent yet",))
        )
    return tuple(out)


def read(file: Path) -> bytes | None:
    """The bytes of an ordinary file that is no link and not too large, else None."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as f:
        if not os.path.isfile(f.fileno()):  # noqa: PTH113 - on the open descriptor, so that nothing can be swapped
            return None
        data = f.read(MAX_ENTRY + 1)
    return data if len(data) <= MAX_ENTRY else None


def _toml(data: bytes) -> dict[str, Any] | None:
    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError):
        return None


def project_check(table: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The check command that a project's own file asks for."""
    checks = table.get("checks")
    argv = checks.get(HERE) if isinstance(checks, Mapping) else None
    return tuple(argv) if ARGV.test(argv) else None  # type: ignore[arg-type] # the test says that it is a list


def _config_lines(table: Mapping[str, Any] | None, user: Mapping[str, Any]) -> Iterator[str]:
    if table is None:
        yield "cannot be used: it is not valid TOML"
        return
    faults = [f for f in validate(table, "", Path(FILES[CONFIG])) if f.severity == "error"]
    if faults:
        yield f"cannot be used: {faults[0].key} {faults[0].message}"
        yield f"names: {', '.join(table)}"
        return
    strangers = [key for key in table if key not in known(table)]
    allowed, refused = project_part(known(table), user, Path(FILES[CONFIG]), text="")
    if keys := list(_keys(allowed)):
        yield f"sets: {', '.join(keys)}"
    if never := sorted([fault.key for fault in refused] + strangers):
        yield f"never from a project: {', '.join(never)}"


def _keys(table: Mapping[str, Any], at: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _keys(value, f"{at}{key}.")
        elif value not in ({}, []):
            yield f"{at}{key}"


def _mcp_lines(data: bytes) -> Iterator[str]:
    try:
        servers = json.loads(data).get("mcpServers", {}).items()
    except (ValueError, RecursionError, AttributeError):
        yield "cannot be used: it is no JSON of MCP servers"
        return
    for name, server in servers:
        entry = server if isinstance(server, Mapping) else {}
        words = [entry.get("command", entry.get("url", "?")), *(a for a in [entry.get("args")] if isinstance(a, list))]
        flat = [str(word) for part in words for word in (part if isinstance(part, list) else [part])]
        yield f"server {name}: {shlex.join(flat)}; not started yet"


# ------------------------------------------------------------------ git

_STARTS = (
    "core.fsmonitor", "core.hookspath", "core.sshcommand", "core.pager", "core.editor", "core.askpass", "core.gitproxy",
    "core.alternaterefscommand", "diff.external", "gpg.program", "credential.helper", "sequence.editor",
)  # fmt: skip
_STARTS_BY_NAME = (
    "filter.clean", "filter.smudge", "filter.process", "diff.textconv", "diff.command", "merge.driver",
    "credential.helper", "alias", "difftool.cmd", "mergetool.cmd",
)  # fmt: skip


def git_programs(root: Path) -> tuple[str, ...]:
    """What git itself would start here by the repository's own configuration: names of settings and of hooks."""
    found: dict[str, None] = {}
    for text in git.texts(str(root)):
        for section, name, key in git.settings(text):
            short = section if section == "alias" else f"{section}.{key}"
            if (
                (name and short in _STARTS_BY_NAME)
                or (not name and f"{section}.{key}" in _STARTS)
                or section == "alias"
            ):
                found[".".join(filter(None, (section, name, key)))] = None
    hooks = root / ".git" / "hooks"
    try:
        names = sorted(entry.name for entry in os.scandir(hooks) if entry.is_file() and os.access(entry, os.X_OK))
    except OSError:
        names = []
    found |= {f"hook {name}": None for name in names if not name.endswith(".sample")}
    return tuple(found)
