"""`tui-agent purge`: remove everything that this program keeps, and nothing else."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from tui_agent.core.disk import is_folder, is_link
from tui_agent.core.display import plain
from tui_agent.core.types import AgentError, ConfigError
from tui_agent.paths import Paths, size, user_paths
from tui_agent.subcommands.parsing import Parser
from tui_agent.subcommands.paths import total
from tui_agent.summaries import held

KINDS = ("config", "data", "state")


def parser() -> Parser:
    """What to remove, and whether to ask."""
    p = Parser(
        prog="tui-agent purge",
        description="Remove what this program keeps: your configuration, trust, sessions with their copies, logs. "
        "Projects are left alone; a .tui_agent folder in one is its own.",
    )
    p.add_argument("--dry-run", action="store_true", help="list what would be removed, and remove nothing")
    p.add_argument("--keep-config", action="store_true", help="leave your configuration and prompts")
    p.add_argument("--yes", action="store_true", help="do not ask")
    return p


def run(options: argparse.Namespace) -> int:
    """List it, ask, remove it.

    Raises:
        ConfigError: nobody can be asked.
        AgentError: a session is open, or something could not be removed.
    """
    paths = user_paths()
    kinds = KINDS[1:] if options.keep_config else KINDS
    folders = [path for kind in kinds if is_folder(path := getattr(paths, kind)) and not is_link(path)]
    for path in folders:
        print(plain(f"{'would remove' if options.dry_run else 'remove'} {path}   {size(total(path))}"))
    if not folders:
        print("there is nothing to remove")
    if options.dry_run or not folders:
        return 0
    if open_now := held(paths.sessions):
        raise AgentError(f"nothing was removed, close these sessions first: {', '.join(open_now)}")
    if not options.yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise ConfigError("nobody can be asked here: add --yes to remove it all, or --dry-run to look")
        print('type "remove" to go on > ', end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip() != "remove":
            print("nothing was removed", file=sys.stderr)
            return 3
    for path in folders:
        remove(path, paths)
    return 0


def remove(path: Path, paths: Paths) -> None:
    """Remove one of the three folders, and the one around it when that was made for it and is empty.

    Raises:
        AgentError: it could not be removed.
    """
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise AgentError(f"{error.filename or path} could not be removed: {error.strerror}") from error
    around = path.parent
    if around in {other.parent for other in paths.all if other != path} and not any(around.iterdir()):
        around.rmdir()  # the one folder of TUI_AGENT_HOME
