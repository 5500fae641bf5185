"""What the command lines of all subcommands have in common."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from tui_agent.core.disk import is_folder, there
from tui_agent.core.display import plain
from tui_agent.core.types import AgentError, ConfigError
from tui_agent.paths import Paths
from tui_agent.schema import did_you_mean

USAGE_ERROR = 5
"""The exit code for a wrong command line and a wrong configuration."""
NOT_WRITTEN = 74
"""The exit code when what is printed cannot be written: the disk behind stdout or stderr is full."""


SAME = {"--max-turns": "--max-steps", "--max-iterations": "--max-steps", "--max-budget-usd": "--max-cost"}
"""What other agents call a flag of ours, where the letters would lead elsewhere or nowhere."""


class Parser(argparse.ArgumentParser):
    """A parser whose faults are one sentence and exit code 5; no flag may be shortened."""

    def __init__(self, *, prog: str, description: str, usage: str | None = None, epilog: str | None = None) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def given(self, words: Sequence[str], options: argparse.Namespace) -> argparse.Namespace:
        """Read a command line into `options`; a flag that does not exist is told with the one that was meant."""
        read, rest = self.parse_known_args(words, options)
        if rest:
            flag = next((one.partition("=")[0] for one in rest if one.startswith("-")), "")
            known = tuple(_flags(self, flag))
            meant = SAME.get(flag, "")
            hint = f"; did you mean {meant}?" if meant in known else did_you_mean(flag, known, 0.75)
            if not flag and any(action.nargs == "*" for action in self._actions):
                hint = "; flags stand before all words or behind them, and not between"
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return read

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is."""
        end = "" if message.endswith("?") else "."
        self.exit(USAGE_ERROR, f"tui-agent: {plain(message)}{end} Try: {self.prog} --help\n")


def _flags(parser: argparse.ArgumentParser, like: str) -> Iterator[str]:
    """Its flags and those of the commands in it, long or short as `like` is: one letter is near to any other."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to be asked
        yield from (name for name in action.option_strings if name.startswith("--") and like.startswith("--"))
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for inner in action.choices.values():
                yield from _flags(inner, like)


def folder(path: Path) -> Path:
    """The real path of an existing folder.

    Raises:
        ConfigError: it is none.
    """
    try:
        root = path.resolve()
    except OSError as error:  # the current folder was deleted
        raise ConfigError(f"the folder {path} cannot be used: {error.strerror}") from error
    if not is_folder(root):
        raise ConfigError(f"{root} is not a folder")
    return root


def word(text: str) -> str:
    """A word of the command line; one that is empty comes of a variable that is not set, and means nothing."""
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty")
    return text


def path_of(text: str) -> Path:
    """A path of the command line; an empty one would be the folder that the person stands in."""
    return Path(word(text))


def sessions_in(paths: Paths) -> Path:
    """The folder of sessions, told from one that may not be looked into; one that is not there holds none.

    Raises:
        AgentError: it cannot be listed.
    """
    try:
        os.scandir(paths.sessions).close()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise AgentError(f"the sessions in {paths.sessions} cannot be read: {error.strerror}") from error
    return paths.sessions


CONFIG = "TUI_AGENT_CONFIG"
"""The variable of the environment that names the configuration file."""


def config_file(given: Path | None, paths: Paths, env: Mapping[str, str]) -> Path:
    """The person's configuration file: the flag, else the variable, else the usual one.

    Raises:
        ConfigError: the one that was named does not exist.
    """
    named = given or (Path(env[CONFIG]) if env.get(CONFIG) else None)
    if named is not None and not there(named):
        raise ConfigError(f"the configuration file {named} does not exist")
    return named or paths.config_file


def no_screen(env: Mapping[str, str]) -> str:
    """Why the screen cannot be opened here, as the beginning of a sentence; "" when it can."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return "the screen needs a terminal"
    kind = env.get("TERM", "")
    return f"the screen needs a terminal that can place text, and TERM is {kind!r}" if kind in {"", "dumb"} else ""
