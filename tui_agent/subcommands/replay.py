"""`tui-agent replay`: a saved session through today's loop."""

from __future__ import annotations

import argparse
import os
import sys

from tui_agent import playback
from tui_agent.config import load
from tui_agent.core.display import plain
from tui_agent.paths import user_paths
from tui_agent.subcommands.parsing import USAGE_ERROR, Parser, config_file, word
from tui_agent.trust import TrustStore


def parser() -> Parser:
    """A session, and how far to go."""
    p = Parser(
        prog="tui-agent replay",
        description="Play a saved session's replies through today's loop, up to the first event that is not as recorded.",
    )
    p.add_argument(
        "session",
        type=word,
        metavar="SESSION",
        help="its name or id, -1 for the last one here, its folder or its log.jsonl",
    )
    p.add_argument("--execute", action="store_true", help="carry out its effects again, in a copy of today's folder")
    return p


def run(options: argparse.Namespace) -> int:
    """Play it, unless the configuration is broken."""
    paths = user_paths()
    log = playback.log_of(paths, options.session)
    loaded = load(config_file(None, paths, os.environ))
    for fault in loaded.faults:
        print(f"tui-agent: {plain(str(fault))}", file=sys.stderr)
    if loaded.broken:
        return USAGE_ERROR
    return playback.replay(log, loaded.settings, TrustStore(paths.data / "trust.toml"), execute=options.execute)
