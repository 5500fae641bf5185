"""What a session starts from: the folder, the person's settings and answers, and what follows from those."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tui_agent.checks import CheckStore
from tui_agent.config import Settings
from tui_agent.core.patterns import pattern_fault
from tui_agent.core.secrets import Secrets
from tui_agent.core.types import ApprovalRequest
from tui_agent.mcp.pins import Pins
from tui_agent.mcp.servers import Ground, Servers
from tui_agent.paths import Paths, home_of
from tui_agent.providers.keys import own_secrets
from tui_agent.providers.network import Network
from tui_agent.providers.web import Reach
from tui_agent.words import Words
from tui_agent.workspace.runner import child_environment


@dataclass(frozen=True, slots=True)
class Terms:
    """What a session starts from. `trusted`: the person's answer for this folder.

    `yes`: edits inside the workspace need no question (`--yes`). `allow_check`: the check may run
    although nobody saw the edits or the folder is not trusted (`--allow check`). `dry_run` is shown what would
    have been changed or run, and then nothing is (`--dry-run`).
    """

    root: Path
    settings: Settings
    paths: Paths
    trusted: bool = False
    interactive: bool = True
    yes: bool = False
    allow_check: bool = False
    user_file: Path | None = None
    """The configuration file in use, when it is not the usual one."""
    network: Network = field(default_factory=Network)
    dry_run: Callable[[ApprovalRequest], None] | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    servers: Servers = field(default_factory=Servers)
    """The MCP servers, which whoever starts the program keeps and ends."""
    words: tuple[Words, ...] = ()
    """Instructions, skills and commands of the folder that the person accepted."""

    @property
    def hidden(self) -> Secrets:
        """What is never written: the keys that are known, and those that will be read."""
        for profile in self.settings.profiles.values():
            self.network.secrets.add(*own_secrets(profile, self.environment))
        return self.network.secrets


def accepted_check(terms: Terms) -> tuple[str, ...] | None:
    """The check that the person configured for the folder, or accepted for it before."""
    if (configured := terms.settings.check_for(terms.root)) is not None:
        return configured
    answer = checks_of(terms).look(terms.root)
    # one that the project named counts through the trust in its entry, not by itself
    return answer.argv if answer is not None and answer.accepted and answer.source != "project" else None


def checks_of(terms: Terms) -> CheckStore:
    """The accepted check commands."""
    return CheckStore(terms.paths.data / "checks.toml")


def reach_of(terms: Terms) -> Reach:
    """How the web is reached."""
    web = terms.settings.web
    return Reach(terms.environment, terms.network, web.endpoints, web.private, web.proxy, web.ca_file)


def with_servers(terms: Terms) -> Terms:
    """The terms, once the servers of their settings are those that are used; starts none."""
    web = terms.settings.web
    ground = Ground(
        Path(os.path.realpath(terms.root)),
        home_of(terms.environment),
        Pins(terms.paths.data / "mcp.toml"),
        terms.trusted,
        environment_of(terms),
        terms.environment,
        terms.network,
        web.proxy,
        web.ca_file,
    )
    terms.servers.use(ground, terms.settings.servers)
    return terms


def unsandboxed_pattern(terms: Terms) -> tuple[str, ...]:
    """The check as a pattern that may run code nobody saw, when `--allow check` was given.

    One that is no pattern (a program by its path) is not for the model to run: it still runs by itself after edits.
    """
    argv = accepted_check(terms) if terms.allow_check else None
    return (words,) if argv and not pattern_fault(words := shlex.join(argv), paths=False) else ()


def environment_of(terms: Terms) -> dict[str, str]:
    """The environment of every program that is started: an allow-list, never a key."""
    return child_environment(
        terms.environment,
        allow=terms.settings.environment,
        secrets=terms.settings.key_names(),
        workspace=None if terms.trusted else terms.root,
    )
