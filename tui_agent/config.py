"""TOML layers to frozen settings: defaults < user < trusted project < flags.

A fault never reads as "empty": the settings of a faulty user file are the careful ones (nothing is
written or run), and every fault is named with file, line and key. This module only reads; what the
product writes for the person goes through `save_profile`.
"""

from __future__ import annotations

import difflib
import os
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from tui_agent.core.endings import Limits
from tui_agent.core.policy import DEFAULT, Policy
from tui_agent.core.profile import Effort, Pricing, Profile, ProtocolName, Timeouts, Wire
from tui_agent.core.types import ConfigError, Permission, PermissionClass
from tui_agent.paths import own_file
from tui_agent.schema import Fault, known, line_of, validate

_ROWS = ("read", "search", "write", "run", "git", "shell", "network", "mcp")
_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Ui:
    """Looks and habits of the screen."""

    theme: str | None = None
    side_pane: bool = True
    esc_stops: Literal["double", "single", "never"] = "double"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the configuration says, merged and typed. `checks` maps a real path to a command."""

    default_provider: str | None = None
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    policy: Policy = DEFAULT
    on_reject: Literal["continue", "stop"] = "continue"
    on_deny: Literal["continue", "stop"] = "continue"
    environment: tuple[str, ...] = ()
    sandbox: Literal["auto", "bwrap", "landlock", "none"] = "auto"
    checks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ui: Ui = field(default_factory=Ui)
    keys: Mapping[str, str] = field(default_factory=dict)

    def active(self) -> Profile | None:
        """The profile to start with: the default if it exists, else the first by name, else none."""
        if self.default_provider is not None and self.default_provider in self.profiles:
            return self.profiles[self.default_provider]
        return self.profiles[min(self.profiles)] if self.profiles else None

    def check_for(self, workspace: Path) -> tuple[str, ...] | None:
        """The check command that the person configured for this real path."""
        return self.checks.get(os.path.realpath(workspace))

    def key_names(self) -> tuple[str, ...]:
        """Names of environment variables that hold keys: no child process ever sees them."""
        return tuple(sorted({p.api_key_env for p in self.profiles.values() if p.api_key_env}))


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings and what was wrong on the way to them."""

    settings: Settings
    faults: tuple[Fault, ...] = ()

    @property
    def broken(self) -> bool:
        """True when a file could not be used: only the careful mode is safe."""
        return any(f.severity == "error" for f in self.faults)


def read_layer(file: Path, content: bytes | None = None) -> tuple[dict[str, Any], list[Fault]]:
    """One file as a dict and its faults; a file that does not exist is an empty layer without fault.

    `content` is what the file held when somebody looked; without it, it is read now.
    """
    try:
        text = (file.read_bytes() if content is None else content).decode("utf-8-sig")
    except FileNotFoundError:
        return {}, []
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        return {}, [Fault(file, None, "", f"cannot be read: {why}")]
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        message = str(error) or "nested too deeply"
        line = next(
            (int(w.rstrip(",)")) for a, w in zip(message.split(), message.split()[1:], strict=False) if a == "line"),
            None,
        )
        return {}, [Fault(file, line, "", f"is not valid TOML: {message}")]
    return known(data), validate(data, text, file)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Tables merge key by key; anything else is replaced by `over`."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def project_part(
    data: Mapping[str, Any], user: Mapping[str, Any], file: Path, text: str
) -> tuple[dict[str, Any], list[Fault]]:
    """What a trusted project's file may change; every other key is named in a warning and left out.

    `text` is the file's, for the lines in the warnings. The check of its own folder is no part of this: it is accepted
    by its text, see `trust`.
    """
    out: dict[str, Any] = {}
    faults: list[Fault] = []

    def refuse(*key: str, why: str = "a project may not set this; put it into your own config") -> None:
        faults.append(Fault(file, line_of(text, key), ".".join(key), why, "warning"))

    for name, value in data.items():
        if name in {"default_provider", "ui"}:
            out[name] = value
        elif name == "profiles" and isinstance(value, Mapping):
            for profile, entries in value.items():
                if profile not in user.get("profiles", {}):
                    refuse("profiles", profile, why="a project may only choose among your own profiles")
                    continue
                allowed = {k: v for k, v in entries.items() if k in {"model", "generation"}}
                for key in entries.keys() - allowed.keys():
                    refuse("profiles", profile, key)
                out.setdefault("profiles", {})[profile] = allowed
        elif name == "permissions" and isinstance(value, Mapping):
            stricter = _stricter(value, user.get("permissions", {}))
            for key in value.keys() - stricter.keys():
                refuse("permissions", key, why="a project may only make permissions stricter")
            out["permissions"] = stricter
        elif name != "checks" or set(value) != {"."}:
            refuse(name)
    if out.get("default_provider") not in {None, *user.get("profiles", {})}:
        refuse("default_provider", why="a project may only choose among your own profiles")
        del out["default_provider"]
    return out, faults


def _stricter(project: Mapping[str, Any], user: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in project.items():
        if key in _ROWS:
            today = user.get(key, DEFAULT.table[cast("PermissionClass", key)])
            if _STRICTNESS.get(value, -1) >= _STRICTNESS[today]:
                out[key] = value
        elif key == "deny" and isinstance(value, list):
            out[key] = [*user.get("deny", []), *value]
    return out


def load(user_file: Path, project_file: Path | None = None, content: bytes | None = None) -> Loaded:
    """Read and merge the layers.

    `project_file` is given only when the folder is trusted; `content` holds the bytes of it that were compared with
    what was accepted, so that nothing can change in between.
    """
    data, faults = read_layer(user_file)
    if any(f.severity == "error" for f in faults):
        return Loaded(Settings(policy=careful(DEFAULT)), tuple(faults))
    if project_file is not None:
        project, more = read_layer(project_file, content)
        if not any(f.severity == "error" for f in more):
            text = (project_file.read_bytes() if content is None else content).decode()
            allowed, refused = project_part(project, data, project_file, text)
            data = merge(data, allowed)
            more += refused
        faults += more
    try:
        return Loaded(settings(data), tuple(faults))
    except ConfigError as error:
        faults.append(Fault(user_file, None, "", str(error)))
        return Loaded(Settings(policy=careful(DEFAULT)), tuple(faults))


def careful(policy: Policy) -> Policy:
    """The same policy with nothing written or run: mode `read`."""
    denied = dict.fromkeys(("write", "run", "git", "shell", "network", "mcp"), "deny")
    return Policy(
        table={**policy.table, **cast("dict[PermissionClass, Permission]", denied)}, allow=(), deny=policy.deny
    )


def settings(data: Mapping[str, Any]) -> Settings:
    """Typed settings of merged, validated data.

    Raises:
        ConfigError: a value that only makes sense together with others is wrong; the text names the key.
    """
    permissions = data.get("permissions", _EMPTY)
    rows = cast("dict[PermissionClass, Permission]", {row: permissions[row] for row in _ROWS if row in permissions})
    return Settings(
        default_provider=data.get("default_provider"),
        profiles={
            name: profile(name, table, data.get("network", _EMPTY)) for name, table in data.get("profiles", {}).items()
        },
        limits=Limits(**data.get("limits", {})),
        policy=Policy(
            table={**DEFAULT.table, **rows},
            allow=(*DEFAULT.allow, *permissions.get("allow", ())),
            deny=tuple(permissions.get("deny", ())),
        ),
        on_reject=permissions.get("on_reject", "continue"),
        on_deny=permissions.get("on_deny", "continue"),
        environment=tuple(permissions.get("environment", ())),
        sandbox=permissions.get("sandbox", "auto"),
        # not Path.expanduser: that raises for a user who does not exist
        checks={os.path.realpath(os.path.expanduser(p)): tuple(v) for p, v in data.get("checks", {}).items()},  # noqa: PTH111
        ui=Ui(**data.get("ui", {})),
        keys=data.get("keys", {}),
    )


@cache
def presets() -> Mapping[str, Mapping[str, Any]]:
    """Vendors and servers as data: wire, endpoint, key variable, title."""
    with own_file("presets.toml").open("rb") as f:
        return tomllib.load(f)


def preset_name(kind: str) -> str:
    """The preset that a `type` means: by its name or by one of its other names, in any case."""
    name = kind.lower()
    return next((own for own, preset in presets().items() if name in preset.get("aliases", ())), name)


def profile(name: str, table: Mapping[str, Any], network: Mapping[str, Any] = _EMPTY) -> Profile:
    """One profile with the preset of its type underneath; `network` holds proxy and ca_file for all.

    Raises:
        ConfigError: the type is unknown.
    """
    kind = preset_name(str(table.get("type") or "openai"))
    known = presets()
    if kind not in known:
        near = difflib.get_close_matches(kind, known, 1)
        hint = f"did you mean {near[0]}? Known" if near else "known"
        raise ConfigError(f"profiles.{name}.type: unknown type {kind!r}; {hint} are {', '.join(sorted(known))}")
    # a vendor's endpoint and key variable count only when the profile names that vendor
    preset = known[kind] if table.get("type") else {"wire": known[kind]["wire"]}
    # absent or empty values give "none": whoever needs them says what is missing
    value = {**preset, **{k: v for k, v in table.items() if v not in ("", None)}}
    return Profile(
        name=name,
        type=kind,
        wire=cast("Wire", value["wire"]),
        endpoint=value.get("endpoint"),
        model=value.get("model"),
        api_key_env=value.get("api_key_env"),
        api_key_cmd=tuple(value.get("api_key_cmd", ())),
        protocol=cast("ProtocolName", value.get("protocol", "auto")),
        headers=value.get("headers", {}),
        generation=value.get("generation", {}),
        pricing=Pricing(**value["pricing"]) if "pricing" in value else None,
        local=table["local"] if "local" in table else _is_own(value.get("endpoint"), server=bool(preset.get("local"))),
        effort=cast("Effort | None", value.get("effort")),
        window=value.get("window"),
        images=value.get("images"),
        start=str(value.get("start", "")),
        timeouts=Timeouts(**value.get("timeouts", {})),
        options={**network, **value.get("options", {})},
    )


def _is_own(endpoint: str | None, *, server: bool) -> bool:
    """Whether the machine behind an endpoint is the person's own, so that its answers cost nothing.

    This machine is; with `server` (a program that people run themselves) also one of the private network.
    """
    from ipaddress import ip_address  # noqa: PLC0415 - only where a profile is made
    from urllib.parse import urlsplit  # noqa: PLC0415

    try:
        host = urlsplit(endpoint or "").hostname or ""
    except ValueError:
        return False
    if not endpoint or host == "localhost" or host.endswith(".localhost"):
        return server or bool(endpoint)
    try:
        address = ip_address(host)
    except ValueError:
        return server and (host.endswith((".local", ".lan", ".internal")) or "." not in host)
    return address.is_loopback or (server and address.is_private)


def save_profile(file: Path, name: str, table: Mapping[str, Any]) -> None:
    """Add a profile to the user's own file and make it the default, keeping every comment.

    Raises:
        ConfigError: the file cannot be read or written; it is then as it was.
    """
    import tomlkit  # noqa: PLC0415 - heavy, and only the first run needs it
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        doc = tomlkit.parse(file.read_text(encoding="utf-8") if file.exists() else "")
        doc["default_provider"] = name
        doc.setdefault("profiles", tomlkit.table(is_super_table=True))[name] = dict(table)
        write_private(file, tomlkit.dumps(doc))
    except (OSError, TOMLKitError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} could not be written: {error}") from error


def write_private(file: Path, text: str) -> None:
    """Replace a file of the person's own atomically, readable by nobody else.

    Raises:
        OSError: the disk refused; the old file is as it was.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = Path(os.path.realpath(file))  # a linked config stays a link
    fd, temp = tempfile.mkstemp(dir=target.parent, prefix=".config-")
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        Path(temp).replace(target)
    except BaseException:
        Path(temp).unlink(missing_ok=True)
        raise
