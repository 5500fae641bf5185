"""Where the product keeps its files, and where its own data lies in a wheel and in a checkout."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
        ConfigError: a folder follows from the home folder, and the user has none.
    """
    env = os.environ if env is None else env
    if home := env.get("TUI_AGENT_HOME"):
        base = Path(home)
        return Paths(base / "config", base / "data", base / "state")

    def xdg(name: str, default: str) -> Path:
        value = env.get(name, "")
        # the XDG specification says that a relative path is to be ignored
        if os.path.isabs(value):  # noqa: PTH117
            return Path(value) / "tui_agent"
        try:
            return Path(env.get("HOME") or "~").expanduser() / default / "tui_agent"
        except RuntimeError as error:
            raise ConfigError(f"there is no home folder: set HOME, or {name} to an absolute path") from error

    return Paths(
        xdg("XDG_CONFIG_HOME", ".config"), xdg("XDG_DATA_HOME", ".local/share"), xdg("XDG_STATE_HOME", ".local/state")
    )


def tilde(path: Path, env: Mapping[str, str]) -> str:
    """A path as people write it, with their home folder as `~`."""
    home = env.get("HOME", "")
    text = str(path)
    return f"~{text[len(home) :]}" if home and home != "/" and text.startswith(f"{home}/") else text


def append_private(file: Path, line: str) -> None:
    """Add a line to a file that nobody else may read; a disk that refuses costs the line and nothing else."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(file, "a", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
            out.write(line + "\n")
    except OSError:
        return  # it is for looking at, and must never stop the work


def own_file(name: str) -> Path:
    """A data file of the product ("styles/app.tcss"): in the package of a wheel, beside it in a checkout."""
    inside = PACKAGE / name
    return inside if inside.exists() else PACKAGE.parent / name
