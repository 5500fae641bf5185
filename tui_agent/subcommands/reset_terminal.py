"""`tui-agent reset-terminal`: the way back after a program was killed and left the terminal as it was."""

from __future__ import annotations

import argparse
import termios

from tui_agent.core.types import ConfigError
from tui_agent.questions import TERMINAL
from tui_agent.restore import give_back
from tui_agent.subcommands.parsing import Parser


def parser() -> Parser:
    """No flags."""
    text = "Switch off mouse, alternate screen and raw keys, which a killed program left on in this terminal."
    return Parser(prog="tui-agent reset-terminal", description=text)


def run(_: argparse.Namespace) -> int:
    """Do it, on the terminal of this process, wherever stdout leads.

    Raises:
        ConfigError: there is none.
    """
    try:
        give_back(TERMINAL)
    except (OSError, termios.error) as error:
        raise ConfigError("there is no terminal to reset here") from error
    return 0
