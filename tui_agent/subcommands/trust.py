"""`tui-agent trust`: answer the trust question from the shell."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from tui_agent.config import read_layer
from tui_agent.core.diff import diff, unified
from tui_agent.core.display import plain
from tui_agent.core.shell import needs_shell, split
from tui_agent.core.types import ConfigError
from tui_agent.paths import home_of, user_paths
from tui_agent.subcommands.parsing import Parser, config_file, folder, path_of
from tui_agent.trust import TrustStore, may_be_trusted
from tui_agent.wants import unusable, wants


def parser() -> Parser:
    """A folder, and what is said of it."""
    p = Parser(prog="tui-agent trust", description="Trust a folder: its own config and its check count from then on.")
    p.add_argument("folder", nargs="?", type=path_of, default=Path(), metavar="DIR")
    p.add_argument("--check", metavar="COMMAND", help="run this after edits: a program and its words, no shell")
    p.add_argument("--forget", action="store_true", help="take the trust back")
    return p


def run(options: argparse.Namespace) -> int:
    """Remember the answer and show what counts from now on; of what was accepted before, the difference."""
    check = check_of(options.check)
    if check and options.forget:
        raise ConfigError("--check and --forget exclude each other")
    root, store = folder(options.folder), TrustStore(user_paths().data / "trust.toml")
    if not options.forget and not may_be_trusted(root, home_of(os.environ)):
        raise ConfigError(f"{root} is your home folder or holds it; trust the project's own folder instead")
    shown = () if options.forget else wants(root, read_layer(config_file(None, user_paths(), os.environ))[0])
    before = {want.name: store.accepted(root, want.name) for want in shown}
    answer = store.answer(root, trusted=not options.forget, shown=shown, check=check)
    print(plain(f"{'trusted' if answer.trusted else 'not trusted'}: {answer.root}"))
    if options.forget:
        print("  a window that is open keeps what it was given until it is closed")
    for want in shown:
        print(plain(f"  counts from now on: {want.name}   {want.path}   sha256 {want.digest[:12]}"))
        old = before[want.name]
        changes = () if old is None else unified(diff(old, want.data), want.path).splitlines()
        for line in changes or want.lines:
            print(plain(f"    {line}"))
    for line in () if options.forget else unusable(root, shown):
        print(plain(f"  not used: {line}"))
    if answer.check:
        print(f"  check after edits: {plain(list(answer.check), 'argv')}")
    return 0


def check_of(text: str | None) -> tuple[str, ...] | None:
    """The words of a check command.

    Raises:
        ConfigError: it is empty, or needs a shell.
    """
    if text is None:
        return None
    if needs_shell(text) or not text.strip():
        raise ConfigError("--check takes a program and its words, and no shell; put what needs one into a script")
    return tuple(split(text))
