"""`tui-agent paths`: where everything is kept, and how large it is."""

from __future__ import annotations

import argparse
from pathlib import Path

from tui_agent.core.disk import is_file, is_link, there
from tui_agent.core.display import plain
from tui_agent.paths import size, user_paths
from tui_agent.subcommands.parsing import Parser


def parser() -> Parser:
    """No flags."""
    return Parser(prog="tui-agent paths", description="Where this program keeps its files, and how large they are.")


def run(_: argparse.Namespace) -> int:
    """Print the folders."""
    paths = user_paths()
    for name, what, path in (
        ("config", "your configuration and prompts", paths.config),
        ("data", "trust, rules, accepted checks, and the sessions", paths.data),
        ("sessions", "logs, drafts, copies of changed files", paths.sessions),
        ("state", "debug.log, crash.log, the unpacked program", paths.state),
    ):
        used = size(total(path)) if there(path) else "not there"
        print(plain(f"{name:<9} {used:>9}  {path}   ({what})"))
    return 0


def total(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if is_file(path) and not is_link(path))
