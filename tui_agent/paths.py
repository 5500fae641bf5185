"""Where the product keeps its files, and where its own data lies in a wheel and in a checkout."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_agent.core.disk import private_folder
from tui_agent.core.types import ConfigError

PACKAGE = Path(__file__).resolve().parent

PROJECT_DIR = ".tui_agent"
"""The folder of project files, in the root of a workspace."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The folders of one user: `config` for what they write, `data` for sessions and trust, `state` for debug logs."""

    config: Path
    data: Path
    state: Path
    home: Path | None = None
    """The home folder, where programs share skills; None: nothing is looked for there."""

    @property
    def all(self) -> tuple[Path, Path, Path]:
        """The three folders."""
        return self.config, self.data, self.state

    @property
    def config_file(self) -> Path:
        """The user's own configuration."""
        return self.config / "config.toml"

    @property
    def sessions(self) -> Path:
        """One folder per session."""
        return self.data / "sessions"


def user_paths(env: Mapping[str, str] | None = None) -> Paths:
    """The folders of the current user, from XDG variables or their defaults; `TUI_AGENT_HOME` moves all three.

    Raises:
        ConfigError: a folder follows from the home folder, and the user has none; or `TUI_AGENT_HOME` is relative:
            then each folder that the product is started in would have its own, with sessions in the middle of the work.
    """
    env = os.environ if env is None else env
    if home := env.get("TUI_AGENT_HOME"):
        base = Path(home)
        if not base.is_absolute():
            raise ConfigError(f"TUI_AGENT_HOME must be an absolute path, not {home!r}")
        return Paths(base / "config", base / "data", base / "state", _home(env))

    def xdg(name: str, default: str) -> Path:
        value = env.get(name, "")
        # the XDG specification says that a relative path is to be ignored
        if os.path.isabs(value):  # noqa: PTH117
            return Path(value) / "tui_agent"
        if (home := _known_home(env)) is None:
            raise ConfigError(f"there is no home folder: set HOME, or {name} to an absolute path")
        return home / default / "tui_agent"

    return Paths(
        xdg("XDG_CONFIG_HOME", ".config"),
        xdg("XDG_DATA_HOME", ".local/share"),
        xdg("XDG_STATE_HOME", ".local/state"),
        _home(env),
    )


def _home(env: Mapping[str, str]) -> Path | None:
    return Path(home) if os.path.isabs(home := env.get("HOME", "")) else None  # noqa: PTH117


def _known_home(env: Mapping[str, str]) -> Path | None:
    """HOME, else what the system says of the user; an empty or a relative HOME would be another one in each folder."""
    try:
        return _home(env) or Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None


def home_of(env: Mapping[str, str]) -> Path:
    """The home folder of the user; `/` for one who has none."""
    return _known_home(env) or Path("/")


def tilde(path: Path, env: Mapping[str, str]) -> str:
    """A path as people write it, with their home folder as `~`."""
    home = env.get("HOME", "")
    text = str(path)
    return f"~{text[len(home) :]}" if home and home != "/" and text.startswith(f"{home}/") else text


def size(count: int) -> str:
    """Bytes for the eye."""
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"


def append_private(file: Path, line: str) -> None:
    """Add a line to a file that nobody else may read; a disk that refuses costs the line and nothing else."""
    kind = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe there is not waited for
    try:
        private_folder(file.parent)
        with os.fdopen(os.open(file, kind, 0o600), "a", encoding="utf-8") as out:
            out.write(line + "\n")
    except OSError:
        return  # it is for looking at, and must never stop the work


def own_file(name: str) -> Path:
    """A data file of the product ("styles/app.tcss"): in the package of a wheel, beside it in a checkout."""
    inside = PACKAGE / name
    return inside if inside.exists() else PACKAGE.parent / name
