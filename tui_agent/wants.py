"""What a folder wants to add to the product: the entries that trust is asked for, one by one.

They are read as data to be shown and hashed. Whether one of them counts is for `trust` to say.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_agent.config import project_part
from tui_agent.core.disk import beginning, is_link, ordinary
from tui_agent.core.servers import of_project
from tui_agent.paths import PROJECT_DIR
from tui_agent.schema import ARGV, known, validate
from tui_agent.words import INSTRUCTIONS, Words, of_folder

MAX_ENTRY = 1_000_000
"""Bytes of a project file that are looked at; a larger one is never trusted."""

CONFIG, CHECK, MCP = "config", "check", "mcp"
FILES: Mapping[str, str] = {CONFIG: f"{PROJECT_DIR}/config.toml", MCP: ".mcp.json"}
HERE = "."
"""How a project's own file names its folder in `[checks]`."""


@dataclass(frozen=True, slots=True)
class Want:
    """One entry: `data` is what is hashed and accepted, `lines` say what it would do. Nothing here is sanitised.

    `words`: it is that file, words for a model, and starts nothing.
    """

    name: str
    path: str
    data: bytes
    lines: tuple[str, ...] = ()
    words: Words | None = None

    @property
    def digest(self) -> str:
        """sha256 hex of the data."""
        return hashlib.sha256(self.data).hexdigest()


def wants(root: Path, user: Mapping[str, Any] | None = None) -> tuple[Want, ...]:
    """The entries of a folder, in a fixed order; `user` is the person's own configuration as a dict.

    Links and special files count as absent.
    """
    found = {
        name: data
        for name, path in FILES.items()
        if not (PROJECT_DIR in path and is_link(root / PROJECT_DIR)) and (data := read(root / path)) is not None
    }
    out = []
    if (config := found.get(CONFIG)) is not None:
        table = _toml(config)
        out.append(Want(CONFIG, FILES[CONFIG], config, tuple(_config_lines(table, user or {}))))
        if argv := project_check(table or {}):
            text = shlex.join(argv)
            out.append(Want(CHECK, FILES[CONFIG], text.encode(), (f"runs after edits: {text}",)))
    if (servers := found.get(MCP)) is not None:
        out.append(Want(MCP, FILES[MCP], servers, tuple(_mcp_lines(servers))))
    out += (Want(w.path, w.path, w.data, (_said(w),), w) for w in of_folder(root))
    return tuple(out)


def unusable(root: Path, found: Sequence[Want]) -> tuple[str, ...]:
    """What stands where an entry of a folder would, and is none: each with why, for the person.

    `found` are its entries. Other instructions count as well: then none of those that are none is missed.
    """
    told = any(want.words and want.words.kind == "instructions" and not want.words.below for want in found)
    names = [*FILES.values(), *(() if told else INSTRUCTIONS)]
    taken = {want.path for want in found}
    return tuple(f"{name} {why}" for name in names if name not in taken and (why := _no_entry(root, name)))


def _no_entry(root: Path, name: str) -> str:
    """Why a name is no entry, "" where there is nothing."""
    if not os.path.lexists(root / name):
        return ""
    if PROJECT_DIR in name and is_link(root / PROJECT_DIR):
        return "lies behind a link"
    if is_link(root / name):
        return "is a link"
    try:
        size = len(ordinary(root / name, MAX_ENTRY + 1))
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return f"is larger than {MAX_ENTRY:,} bytes" if size > MAX_ENTRY else ""


def _said(words: Words) -> str:
    """What it does when it counts."""
    if words.kind == "skill":
        return f"skill {words.name}, which the model may read: {words.description}"
    if words.kind == "command":
        return f"command /{words.name}, which you may send: {words.description}"
    count = len(words.data.splitlines())
    when = f"sent once something in {words.below} is touched" if words.below else "sent with every request"
    return f"{count} line{'s' * (count != 1)} of instructions, {when}"


def read(file: Path) -> bytes | None:
    """The bytes of an ordinary file that is no link and not too large, else None."""
    data = beginning(file, MAX_ENTRY + 1, links=False)
    return data if data is not None and len(data) <= MAX_ENTRY else None


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
        servers = of_project(data, Path(FILES[MCP]))
    except ValueError:
        yield "cannot be used: it is no JSON of MCP servers"
        return
    for name, server in servers.items():
        what = f"{server.what}; {'is asked' if server.url else 'starts a program, not sandboxed'}"
        yield f"server {name}: {f'cannot be used: {server.fault}' if server.fault else what}"
