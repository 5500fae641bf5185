"""`tui-agent doctor`: why something does not work here, and what to do about it."""

from __future__ import annotations

import argparse
import asyncio
import os
import stat
import sys
from pathlib import Path

from tui_agent import doctor
from tui_agent.ask_terminal import ask
from tui_agent.core.display import plain
from tui_agent.paths import user_paths
from tui_agent.providers.network import Network
from tui_agent.questions import TERMINAL
from tui_agent.subcommands.parsing import Parser, config_file, folder, path_of
from tui_agent.trust import TrustStore


def parser() -> Parser:
    """Where to look, and whether to ask the server."""
    p = Parser(
        prog="tui-agent doctor",
        description="Look at the terminal, the configuration, the model's server, the sandbox, git and the editor, and "
        "say what to do. What it prints holds no secret and can be copied. Exit code 1 when something does not work.",
    )
    p.add_argument(
        "--cwd", metavar="DIR", type=path_of, default=Path(), help="the folder to work in (default: this one)"
    )
    p.add_argument("--config", metavar="FILE", type=path_of, help="this configuration file")
    p.add_argument("--offline", action="store_true", help="ask no server but one on this machine")
    return p


def run(options: argparse.Namespace) -> int:
    """Look and tell."""
    paths, root = user_paths(), folder(options.cwd)
    user_file = config_file(options.config, paths, os.environ)
    trust = TrustStore(paths.data / "trust.toml").look(root)
    size = terminal_size()
    # whoever reads a pipe, such as less, may read from the terminal as well, and would get what it answers
    asked = size is not None and not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    facts = asyncio.run(
        doctor.look(
            root,
            user_file,
            paths,
            trust.settings(user_file),
            os.environ,
            size=size,
            answers=ask(TERMINAL) if asked else None,
            network=Network(options.offline, secrets=options.secrets),
            trusted=trust.trusted,
        )
    )
    found = doctor.findings(facts)
    print(plain(doctor.report(found, facts)))
    return 1 if any(finding.state == "fault" for finding in found) else 0


def terminal_size() -> tuple[int, int] | None:
    """Columns and rows of the terminal of this process, wherever its output leads; None when there is none."""
    try:
        fd = os.open(TERMINAL, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.get_terminal_size(fd)
    except OSError:
        return None
    finally:
        os.close(fd)
