"""`tui-agent completions`: what a shell needs to complete this program's words, on stdout."""

from __future__ import annotations

import argparse

from tui_agent.completions import SHELLS, Command, command
from tui_agent.subcommands import START, SUBCOMMANDS
from tui_agent.subcommands.parsing import Parser

WHERE = """where it goes:
  tui-agent completions bash > ~/.local/share/bash-completion/completions/tui-agent
  tui-agent completions zsh > ~/.zfunc/_tui-agent        # a folder of $fpath, before compinit
  tui-agent completions fish > ~/.config/fish/completions/tui-agent.fish"""


def parser() -> Parser:
    """A shell."""
    p = Parser(prog="tui-agent completions", description="Print the completions for a shell.", epilog=WHERE)
    p.add_argument("shell", choices=list(SHELLS), metavar="SHELL", help=", ".join(SHELLS))
    return p


def run(options: argparse.Namespace) -> int:
    """Print them."""
    print(SHELLS[options.shell](tree()), end="")
    return 0


def tree() -> Command:
    """Every command and flag of the program, with the words that they take."""
    from tui_agent.ui.actions import ACTIONS  # noqa: PLC0415 - only here
    from tui_agent.ui.themes import names  # noqa: PLC0415 - Textual is heavy

    words = {"ACTION": tuple(action.id for action in ACTIONS), "THEME": names()}
    inner = [command(c.name, c.summary, c.load().parser(), words=words | {"WORD": c.words}) for c in SUBCOMMANDS]
    return command("", "", START.load().parser(), inner, words)
