"""`tui-agent keys`: every action with its keys and its command, and what the terminal sends for a key."""

from __future__ import annotations

import argparse
import os
import sys

from tui_agent.config import load
from tui_agent.core.display import plain
from tui_agent.core.types import ConfigError
from tui_agent.paths import user_paths
from tui_agent.schema import did_you_mean
from tui_agent.subcommands.config import tell
from tui_agent.subcommands.parsing import Parser, config_file, path_of


def parser() -> Parser:
    """Its flags."""
    p = Parser(prog="tui-agent keys", description="Every action with its keys, as your configuration has them.")
    p.add_argument("actions", nargs="*", metavar="ACTION", help="only these")
    p.add_argument("--probe", action="store_true", help="press keys and see what arrives; Ctrl+C ends")
    p.add_argument("--config", metavar="FILE", type=path_of, help="use this configuration file")
    return p


def run(options: argparse.Namespace) -> int:
    """Print the table, or watch the terminal."""
    from tui_agent.ui.actions import key_name  # noqa: PLC0415 - only here
    from tui_agent.ui.arrivals import kept  # noqa: PLC0415 - only here
    from tui_agent.ui.keymap import checked  # noqa: PLC0415 - only here

    file = config_file(options.config, user_paths(), os.environ)
    loaded, keys = checked(load(file), file)
    tell(loaded.faults)
    if options.probe:
        from tui_agent.ui.probe import probe  # noqa: PLC0415 - Textual is heavy

        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise ConfigError("keys --probe needs a terminal")
        probe(keys)
        return 0
    known = [a.id for a in keys.actions]
    for name in options.actions:
        if name not in known:
            raise ConfigError(f"there is no action {name}{did_you_mean(name, known) or '; tui-agent keys lists them'}")
    shown = [a for a in keys.actions if (a.id in options.actions if options.actions else keys.keys(a) or a.slash)]
    keepers = kept(os.environ)
    width, wide = max(len(a.id) for a in shown), max(len(keys.keys(a)) for a in shown)
    for action in shown:
        lost = ", ".join(f"{keepers[key]} keeps {key_name(key)}" for key in action.keys if key in keepers)
        title = f"{action.title}   ({lost})" if lost else action.title
        print(plain(f"{action.id:<{width}}  {keys.keys(action):<{wide}}  {action.slash or '':<12}  {title}"))
    return 0
