"""The subcommands as one table: dispatch, `--help` and the completions of shells come from it.

A subcommand is a module of this package with `parser()`, its flags, and `run(options)`, which returns the exit code;
`options.secrets` takes the keys that it reads, which no report of a crash may show.
It is imported when it is needed and not before. What has no first word of these is `start`.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

from tui_agent.subcommands.parsing import Parser


class Entry(Protocol):
    """What a module of this package has."""

    parser: Callable[[], Parser]
    run: Callable[[argparse.Namespace], int]


@dataclass(frozen=True, slots=True)
class Subcommand:
    """A first word of the command line, what it does in a few words, and its module in this package.

    `words`: what it understands where its parser takes any WORD.
    """

    name: str
    summary: str
    module: str
    words: tuple[str, ...] = ()

    def load(self) -> Entry:
        """The module itself."""
        return cast("Entry", importlib.import_module(f"{__name__}.{self.module}"))


SUBCOMMANDS: tuple[Subcommand, ...] = (
    Subcommand("demo", "a recorded session: no key, no server, no network", "demo"),
    Subcommand("trust", "trust a folder, so that its config and its check count", "trust"),
    Subcommand("replay", "play a saved session again: no model, no network", "replay"),
    Subcommand("config", "check, find, edit, show and import your configuration", "config"),
    Subcommand("doctor", "why something does not work here, and what to do about it", "doctor"),
    Subcommand("keys", "every action with its keys; --probe shows what your terminal sends", "keys"),
    Subcommand("sessions", "list what is kept, and remove what is old", "sessions", ("list", "export", "prune")),
    Subcommand("paths", "where everything is kept, and how large it is", "paths"),
    Subcommand("purge", "remove everything that is kept; --dry-run lists it", "purge"),
    Subcommand("completions", "print the completions for bash, zsh or fish", "completions"),
    Subcommand("reset-terminal", "the way back after a killed program", "reset_terminal"),
)

START = Subcommand("", "the screen, or one task", "start")
"""What runs when the first word is none of the table's."""

BY_NAME = {command.name: command for command in SUBCOMMANDS}
