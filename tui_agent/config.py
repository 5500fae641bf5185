"""TOML layers to frozen settings: defaults < user < trusted project < environment < flags.

A fault never reads as "empty": the settings of a faulty user file are the careful ones (nothing is
written or run), and every fault is named with file, line, column and key. This module only reads; what the
product writes for the person goes through `save_profile`.
"""

from __future__ import annotations

import os
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from tui_agent.core.address import is_own, same_server
from tui_agent.core.disk import ordinary, private_folder
from tui_agent.core.endings import Limits
from tui_agent.core.policy import DEFAULT, Policy
from tui_agent.core.profile import Effort, Pricing, Profile, ProtocolName, Timeouts, Wire
from tui_agent.core.servers import ServerConfig, server
from tui_agent.core.types import ConfigError, Permission, PermissionClass
from tui_agent.paths import own_file
from tui_agent.places import place_of, place_of_byte, place_of_error
from tui_agent.schema import Fault, did_you_mean, known, validate

_ROWS = ("read", "search", "write", "run", "git", "shell", "network", "mcp")
_STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}
_EMPTY: Mapping[str, Any] = MappingProxyType({})


MOST = 16_000_000
"""Bytes of a configuration file: more than anybody writes."""


@dataclass(frozen=True, slots=True)
class Ui:
    """Looks and habits of the screen."""

    theme: str | None = None
    glyphs: Literal["auto", "unicode", "ascii"] = "auto"
    side_pane: bool = True
    esc_stops: Literal["double", "single", "never"] = "double"
    mouse: bool = True
    tool_detail: Literal["compact", "normal", "full"] = "normal"
    """What stands below an action before it is unfolded: nothing, the end of what failed, or all."""
    title: bool = True
    """Whether the title of the window says where this is and how it stands."""
    hints: bool = True
    """Whether a first start says what may be asked, and each thing that is new once."""


@dataclass(frozen=True, slots=True)
class Web:
    """How the web is used: the engine that search begins with, what decides the intent, and where it may reach."""

    search: Literal["off", "brave", "exa", "ddg"] = "off"
    intents: Literal["auto", "words", "model", "off"] = "auto"
    private: tuple[str, ...] = ()
    endpoints: Mapping[str, str] = field(default_factory=dict)
    proxy: str | None = None
    ca_file: str | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that the configuration says, merged and typed. `checks` maps a real path to a command."""

    default_provider: str | None = None
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    compact: bool = True
    """When the context is full, a summary is written by itself."""
    policy: Policy = DEFAULT
    on_reject: Literal["continue", "stop"] = "continue"
    on_deny: Literal["continue", "stop"] = "continue"
    environment: tuple[str, ...] = ()
    sandbox: Literal["auto", "bwrap", "landlock", "none"] = "auto"
    check_after: Literal["batch", "edit"] = "batch"
    """The check runs once behind what was approved together, or behind each edit of it."""
    checks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ui: Ui = field(default_factory=Ui)
    keys: Mapping[str, str] = field(default_factory=dict)
    web: Web = field(default_factory=Web)
    servers: Mapping[str, ServerConfig] = field(default_factory=dict)
    """The MCP servers of the person's own file."""

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
        named = {p.api_key_env for p in self.profiles.values()} | {s.key_env for s in self.servers.values()}
        return tuple(sorted(name for name in named if name))


@dataclass(frozen=True, slots=True)
class Layer:
    """What one source says: a file, or a variable of the environment, by the name `source`."""

    source: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, what was wrong on the way to them, and the layers that they were made of, the strongest last."""

    settings: Settings
    faults: tuple[Fault, ...] = ()
    layers: tuple[Layer, ...] = ()

    @property
    def broken(self) -> bool:
        """True when a file could not be used: only the careful mode is safe."""
        return any(f.severity == "error" for f in self.faults)


def with_profile(loaded: Loaded, profile: Profile) -> Loaded:
    """The same configuration with one profile more, which stands in no file."""
    settings = replace(loaded.settings, profiles={**loaded.settings.profiles, profile.name: profile})
    return replace(loaded, settings=settings)


def read_layer(file: Path, content: bytes | None = None) -> tuple[dict[str, Any], list[Fault]]:
    """One file as a dict and its faults; a file that does not exist is an empty layer without fault.

    `content` is what the file held when somebody looked; without it, it is read now.
    """
    try:
        data = ordinary(file, MOST + 1) if content is None else content
        if len(data) > MOST:
            return {}, [Fault(file, None, "", f"cannot be read: it holds more than {MOST:,} bytes")]
        text = data.decode("utf-8-sig")
    except FileNotFoundError:
        return {}, []
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError):
            return {}, [Fault(file, None, "", f"cannot be read: {error.strerror}")]
        return {}, [Fault(file, place_of_byte(error.object, error.start), "", "cannot be read: it is not UTF-8 text")]
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        what, place = place_of_error(str(error) or "nested too deeply", text)
        return {}, [Fault(file, place, "", f"is not valid TOML: {what}")]
    return known(table), validate(table, text, file)


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
        faults.append(Fault(file, place_of(text, key), ".".join(key), why, "warning"))

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


PROVIDER, MODEL = "TUI_AGENT_PROVIDER", "TUI_AGENT_MODEL"
"""The variables of the environment that choose who answers."""


def load(
    user_file: Path,
    project_file: Path | None = None,
    content: bytes | None = None,
    env: Mapping[str, str] | None = None,
) -> Loaded:
    """Read and merge the layers.

    `project_file` is given only when the folder is trusted; `content` holds the bytes of it that were compared with
    what was accepted, so that nothing can change in between. `env` is the environment of the process, unless given.
    """
    data, faults = read_layer(user_file)
    layers = [Layer(str(user_file), data)]
    if any(f.severity == "error" for f in faults):
        return Loaded(Settings(policy=careful(DEFAULT)), tuple(faults))
    if project_file is not None:
        project, more = read_layer(project_file, content)
        if not any(f.severity == "error" for f in more):
            text = (project_file.read_bytes() if content is None else content).decode()
            allowed, refused = project_part(project, data, project_file, text)
            layers.append(Layer(str(project_file), allowed))
            data = merge(data, allowed)
            more += refused
        faults += more
    for layer in environment(data, os.environ if env is None else env):
        layers.append(layer)
        data = merge(data, layer.data)
    try:
        made = settings(data, user_file)
    except ConfigError as error:
        faults.append(_placed(user_file, str(error)))
        return Loaded(Settings(policy=careful(DEFAULT)), tuple(faults))
    if (chosen := data.get("default_provider")) is not None and chosen not in made.profiles:
        faults.append(_stranger(chosen, made, layers))
    return Loaded(made, tuple(faults), tuple(layers))


def environment(data: Mapping[str, Any], env: Mapping[str, str]) -> list[Layer]:
    """What the environment says on top of `data`: the profile, and the model of the profile that is then in use."""
    layers = []
    provider, profiles = data.get("default_provider"), data.get("profiles", _EMPTY)
    if name := env.get(PROVIDER):
        layers.append(Layer(PROVIDER, {"default_provider": name}))
        provider = name
    active = min(profiles, default=None) if provider is None else provider
    if (model := env.get(MODEL)) and active in profiles:
        layers.append(Layer(MODEL, {"profiles": {active: {"model": model}}}))
    return layers


def _stranger(name: str, made: Settings, layers: list[Layer]) -> Fault:
    """A chosen profile that does not exist: an error, or what a person says would go to whom they did not choose."""
    source = next(layer.source for layer in reversed(layers) if "default_provider" in layer.data)
    what = f"there is no profile {name!r}; there are {', '.join(sorted(made.profiles)) or 'none'}"
    if source == PROVIDER:
        return Fault(Path("environment"), None, PROVIDER, what)
    return _at(Path(source), "default_provider", f"{what}{did_you_mean(name, made.profiles)}")


def _placed(file: Path, sentence: str) -> Fault:
    """A sentence that may begin with its key, as a fault of a file."""
    key, colon, what = sentence.partition(": ")
    return _at(file, key, what) if colon and " " not in key else Fault(file, None, "", sentence)


def _at(file: Path, key: str, what: str) -> Fault:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        text = ""
    return Fault(file, place_of(text, tuple(key.split("."))), key, what)


def careful(policy: Policy) -> Policy:
    """The same policy with nothing written or run: mode `read`."""
    denied = dict.fromkeys(("write", "run", "git", "shell", "network", "mcp"), "deny")
    return Policy(
        table={**policy.table, **cast("dict[PermissionClass, Permission]", denied)}, allow=(), deny=policy.deny
    )


def settings(data: Mapping[str, Any], file: Path = Path()) -> Settings:
    """Typed settings of merged, validated data; `file` is the person's own.

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
        compact=data.get("context", {}).get("compact", True),
        policy=Policy(
            table={**DEFAULT.table, **rows},
            allow=(*DEFAULT.allow, *permissions.get("allow", ())),
            deny=tuple(permissions.get("deny", ())),
        ),
        on_reject=permissions.get("on_reject", "continue"),
        on_deny=permissions.get("on_deny", "continue"),
        environment=tuple(permissions.get("environment", ())),
        sandbox=permissions.get("sandbox", "auto"),
        check_after=permissions.get("check_after", "batch"),
        # not Path.expanduser: that raises for a user who does not exist
        checks={os.path.realpath(os.path.expanduser(p)): tuple(v) for p, v in data.get("checks", {}).items()},  # noqa: PTH111
        ui=Ui(**data.get("ui", {})),
        keys=data.get("keys", {}),
        web=Web(
            **{
                **data.get("web", {}),
                "private": tuple(data.get("web", {}).get("private", ())),
                **data.get("network", {}),
            }
        ),
        servers={name: server(name, table, file) for name, table in data.get("mcp_servers", {}).items()},
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


def brought(table: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the preset of a profile's type brings along; nothing when the profile names no vendor.

    Its key variable is for the vendor's own server: another endpoint gets a key only when the profile names it.
    """
    preset = presets().get(preset_name(str(table["type"])), {}) if table.get("type") else {}
    if (endpoint := table.get("endpoint")) and not same_server(endpoint, preset.get("endpoint")):
        return {key: value for key, value in preset.items() if key != "api_key_env"}
    return preset


def profile(name: str, table: Mapping[str, Any], network: Mapping[str, Any] = _EMPTY) -> Profile:
    """One profile with the preset of its type underneath; `network` holds proxy and ca_file for all.

    Raises:
        ConfigError: the type is unknown.
    """
    kind = preset_name(str(table.get("type") or "openai"))
    known = presets()
    if kind not in known:
        raise ConfigError(
            f"profiles.{name}.type: unknown type {kind!r}; known are {', '.join(sorted(known))}{did_you_mean(kind, known)}"
        )
    preset = brought(table) or {"wire": known[kind]["wire"]}
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
        pricing=Pricing(**rates) if {"input", "output"} & (rates := value.get("pricing", {})).keys() else None,
        local=table["local"] if "local" in table else is_own(value.get("endpoint"), server=bool(preset.get("local"))),
        effort=cast("Effort | None", value.get("effort")),
        window=value.get("window"),
        images=value.get("images"),
        start=str(value.get("start", "")),
        timeouts=Timeouts(**value.get("timeouts", {})),
        options={**network, **value.get("options", {})},
    )


def save_profile(file: Path, name: str, table: Mapping[str, Any]) -> None:
    """Add a profile to the user's own file and make it the default, keeping every comment.

    Raises:
        ConfigError: the file cannot be read or written; it is then as it was.
    """
    save_profiles(file, {name: table}, name)


def save_profiles(file: Path, profiles: Mapping[str, Mapping[str, Any]], default: str | None) -> None:
    """Add profiles to the user's own file, in the place of those of the same name, keeping every comment.

    `default` is the one to start with from now on; None leaves that as it is.

    Raises:
        ConfigError: the file cannot be read or written; it is then as it was.
    """

    def change(doc: Any) -> None:
        if default is not None:
            doc["default_provider"] = default
        tables = doc.setdefault("profiles", _table(is_super_table=True))
        for name, table in profiles.items():
            tables[name] = dict(table)

    _edit(file, change)


def save_setting(file: Path, table: str, key: str, value: str) -> None:
    """Set one value of the user's own file, keeping every comment.

    Raises:
        ConfigError: the file cannot be read or written; it is then as it was.
    """

    def change(doc: Any) -> None:
        doc.setdefault(table, _table())[key] = value

    _edit(file, change)


def _table(**kw: bool) -> Any:
    import tomlkit  # noqa: PLC0415 - heavy, and only what changes the file needs it

    return tomlkit.table(**kw)


def _edit(file: Path, change: Callable[[Any], None]) -> None:
    """Let `change` loose on the document of a file and write it back."""
    import tomlkit  # noqa: PLC0415 - heavy, and only what changes the file needs it
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    try:
        doc = tomlkit.parse(file.read_text(encoding="utf-8-sig") if file.exists() else "")
        change(doc)
        write_private(file, tomlkit.dumps(doc))
    except (OSError, TOMLKitError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} could not be written: {error}") from error


def write_private(file: Path, text: str) -> None:
    """Replace a file of the person's own atomically, readable by nobody else.

    Raises:
        OSError: the disk refused; the old file is as it was.
    """
    private_folder(file.parent)
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
