"""Whom the product may talk to, and whom it did: one value that every request of a session passes.

`--offline` and `/privacy` are functions of it. It lives as long as the process and is never written down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tui_agent.core.types import AgentError, ConfigError
from tui_agent.providers.keys import is_loopback


class Unanswered(AgentError):  # noqa: N818 - what happened, not whose fault it is
    """Nobody answered: no connection, or none in time."""


@dataclass(slots=True)
class Network:
    """`offline`: nothing but this machine. `contacted`: how many requests went to each origin, in order of the first."""

    offline: bool = False
    contacted: dict[str, int] = field(default_factory=dict)
    trace: Callable[[str], None] | None = None
    """Told each request without what was said, and how its reply ended, as one line of JSON without keys."""

    def permit(self, url: str) -> None:
        """Refuse an address that may not be reached, before anything is sent.

        Raises:
            ConfigError: it is not on this machine, and only this machine is allowed.
        """
        if self.offline and not is_loopback(url):
            raise ConfigError(f"{origin(url)} is not on this machine, and --offline was given: nothing was sent")

    def record(self, url: str) -> None:
        """A request is about to leave for this address."""
        where = origin(url)
        self.contacted[where] = self.contacted.get(where, 0) + 1


def origin(url: str) -> str:
    """Scheme, host and port: what may be shown of an address."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an unreadable address"
    return f"{parts.scheme}://{parts.hostname or ''}{port}"
