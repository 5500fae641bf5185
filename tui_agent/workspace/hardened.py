"""git as a model may run it: what a repository's own configuration would start stays silent.

An unpacked archive brings a `.git/config` of its own, and with it programs that `git status` or `git diff` would run.
Settings go into git's environment, so that the words of the command stay those that were approved; only the two
options of `diff`, `show` and `log` for which there is no setting are added.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path

from tui_agent.core.shell import Word
from tui_agent.core.wrappers import base_name, without_git_options

_SETTINGS = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("safe.bareRepository", "explicit"),
)
_FILTERS = re.compile(r'^\s*\[\s*filter\s+"((?:[^"\\\n]|\\.)+)"\s*\]', re.MULTILINE | re.IGNORECASE)
_SILENT = ("--no-ext-diff", "--no-textconv")
_SHOWING = frozenset({"diff", "show", "log"})
_VARIABLES = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat"}
_MAX_CONFIG = 1_000_000


def is_git(argv: tuple[str, ...]) -> bool:
    """Whether a command is git itself."""
    return base_name(argv[0]) == "git"


def words(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a command: of git, with the options that keep its output git's own."""
    if not is_git(argv):
        return argv
    rest = [word.text for word in without_git_options(tuple(map(Word, argv)))]
    if len(rest) < 2 or rest[1] not in _SHOWING:
        return argv
    at = len(argv) - len(rest) + 2
    return (*argv[:at], *_SILENT, *argv[at:])


def variables(root: Path) -> dict[str, str]:
    """The environment that git needs to run nothing that the repository's configuration names."""
    settings = list(_SETTINGS)
    for name in filters(root):
        settings += [(f"filter.{name}.{what}", "") for what in ("clean", "smudge", "process")]
        settings.append((f"filter.{name}.required", "false"))
    found = dict(_VARIABLES)
    for number, (key, value) in enumerate(settings):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found | {"GIT_CONFIG_COUNT": str(len(settings))}


def filters(root: Path) -> tuple[str, ...]:
    """The names of the filters that the configuration of the repository around a folder defines."""
    names: dict[str, None] = {}
    for config in _configs(root):
        with contextlib.suppress(OSError):  # git cannot read it either
            text = config.read_bytes()[:_MAX_CONFIG].decode("utf-8", "surrogateescape")
            names |= dict.fromkeys(re.sub(r"\\(.)", r"\1", name) for name in _FILTERS.findall(text))
    return tuple(names)


def _configs(root: Path) -> list[Path]:
    """The files that may hold the repository's configuration; a worktree names the folder of its repository."""
    git = next((path for folder in (root, *root.parents) if (path := folder / ".git").exists()), None)
    if git is None:
        return []
    if git.is_file():
        git = git.parent / _text(git).removeprefix("gitdir:").strip()
        common = Path(_text(git / "commondir") or ".")
        return [git / "config.worktree", git / common / "config"]
    return [git / "config", git / "config.worktree"]


def _text(file: Path) -> str:
    with contextlib.suppress(OSError):
        return file.read_text(encoding="utf-8", errors="surrogateescape").strip()
    return ""


def environment(argv: tuple[str, ...], env: Mapping[str, str], root: Path) -> dict[str, str]:
    """The variables of a command: for git, with those that harden it."""
    return {**env, **(variables(root) if is_git(argv) else {})}
