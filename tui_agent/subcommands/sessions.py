"""`tui-agent sessions`: list what is kept, and remove what is old."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from dataclasses import asdict
from pathlib import Path

from tui_agent.core import fold
from tui_agent.core.display import label, plain
from tui_agent.core.log import load
from tui_agent.core.secrets import Secrets
from tui_agent.core.types import AgentError, ConfigError
from tui_agent.export import markdown, messages, when
from tui_agent.paths import Paths, size, user_paths
from tui_agent.sessions import LOG, delete
from tui_agent.subcommands.parsing import Parser, folder, sessions_in
from tui_agent.summaries import Summary, contains, find, in_folder, listed, prunable

EXAMPLES = """examples:
  tui-agent sessions                          those of this folder, the newest first; so does: sessions list
  tui-agent sessions --all unicode            those of every folder with these words
  tui-agent sessions export NAME > it.md      one of them as a document; with --json as messages
  tui-agent sessions prune --older 90d        remove what was not touched for 90 days"""

_UNITS = {"h": 3600, "d": 86_400, "w": 7 * 86_400}


def parser() -> Parser:
    """What is listed or removed."""
    p = Parser(prog="tui-agent sessions", description="List the sessions, or remove old ones.", epilog=EXAMPLES)
    p.add_argument(
        "words",
        nargs="*",
        metavar="WORD",
        help="words in a name, a file, or what was said or done; or a command: see below",
    )
    p.add_argument("--all", action="store_true", help="those of every folder")
    p.add_argument("--json", action="store_true", help="print them as JSON")
    p.add_argument("--older", metavar="AGE", help="prune what was not touched for this long: 90d, 12w, 36h")
    p.add_argument("--dry-run", action="store_true", help="only say what prune would remove")
    return p


def run(options: argparse.Namespace) -> int:
    """List, or carry out the command that stands first."""
    paths = user_paths()
    sessions_in(paths)
    first, rest = options.words[:1], options.words[1:]
    if first == ["export"]:
        if not rest:
            raise ConfigError("export takes the name or id of a session, -1 for the last one here")
        return exported(" ".join(rest), paths, as_json=options.json)
    if first == ["prune"]:
        return prune(options.older, paths, dry_run=options.dry_run)
    if options.older or options.dry_run:
        raise ConfigError("--older and --dry-run are for: tui-agent sessions prune")
    words = " ".join(rest if first == ["list"] else options.words)
    found = listed(paths.sessions)
    shown = found if options.all else in_folder(found, folder(Path()))
    shown = [
        one
        for one in shown
        if not (left := one.missing(words, folder=options.all)) or contains(paths.sessions / one.id, left)
    ]
    if options.json:
        print(json.dumps([asdict(one) | {"title": one.title} for one in shown], indent=1))
        return 0
    for one in shown:
        print(row(one, folder=options.all))
    where = "in all" if options.all else f"here, {len(found)} in all (--all lists them)"
    print(f"{len(shown)} session{'s' * (len(shown) != 1)} {where}")
    return 0


def row(one: Summary, *, folder: bool = False) -> str:
    """A session in one line."""
    what = label(one.title, 44) if one.title else "(nothing said)"
    words = [
        one.id,
        when(one.changed),
        f"{one.turns:>3} turn{'s' if one.turns != 1 else ' '}",
        "  n/a " if one.cost is None else f"${one.cost:5.2f}",
        size(one.size).rjust(9),
        what,
        label(one.cwd, 40) if folder else "",
        f"fork of {label(one.parent, 30)}" if one.parent else "",
        f"damaged: {label(one.damage, 60)}" if one.damage else "",
    ]
    return "  ".join(filter(None, words))


def exported(name: str, paths: Paths, *, as_json: bool) -> int:
    """Print a session as a document, damaged ones as far as they can be read."""
    one = find(listed(paths.sessions), name, folder(Path()))
    try:
        loaded = load(paths.sessions / one.id / LOG)
    except OSError as error:
        raise AgentError(f"{one.id} cannot be read: {error.strerror}") from error
    if loaded.damage:
        print(plain(f"tui-agent: {loaded.damage}"), file=sys.stderr)
    document = (
        messages(fold.history(loaded.events), Secrets(), masked=True) if as_json else markdown(loaded.events, Secrets())
    )
    print(document, end="")
    return 0


def prune(older: str | None, paths: Paths, *, dry_run: bool) -> int:
    """Remove old sessions with everything that was kept of them."""
    age = re.fullmatch(r"(\d{1,6})([hdw])", older or "")
    if age is None:
        raise ConfigError(
            f"prune needs --older with a number and h, d or w, such as 90d{f', not {older!r}' if older else ''}"
        )
    before = time.time() - int(age[1]) * _UNITS[age[2]]
    old = prunable(listed(paths.sessions), paths.sessions, before)
    failed, done = False, list[Summary]()
    for one in old:
        try:
            if not dry_run and not delete(paths.sessions / one.id, before):
                continue  # another prune was faster
        except AgentError as error:
            failed = True
            print(plain(f"not removed  {one.id}  {error}"))
        else:
            done.append(one)
            print(f"{'would remove' if dry_run else 'removed'}  {row(one, folder=True)}")
    verb = "would be removed" if dry_run else "removed"
    print(f"{len(done)} session{'s' * (len(done) != 1)} {verb}, {size(sum(one.size for one in done))}")
    return 1 if failed else 0
