"""What all requests of a process share: whom they may reach and whom they did, what was learned, what is secret.

`--offline` and `/privacy` are functions of it. It lives as long as the process and is never written down.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tui_agent.core.address import is_loopback, origin
from tui_agent.core.secrets import Secrets
from tui_agent.core.types import AgentError, ConfigError
from tui_agent.providers.vendors import Identity, Vendor


class Unanswered(AgentError):  # noqa: N818 - what happened, not whose fault it is
    """Nobody answered: no connection, or none in time."""


class Stranger(AgentError):  # noqa: N818 - what happened, not whose fault it is
    """Somebody answered who is no server of models, as far as can be seen."""


class Refused(AgentError):  # noqa: N818 - what happened, not whose fault it is
    """The server answered with a status that is not 200."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class Network:
    """`offline`: nothing but this machine. `contacted`: how many requests went to each origin, in order of the first.

    `learned`: the rules of profiles whose server refused a setting. `secrets`: every key that was read.
    """

    offline: bool = False
    contacted: dict[str, int] = field(default_factory=dict)
    learned: dict[Identity, Vendor] = field(default_factory=dict)
    secrets: Secrets = field(default_factory=Secrets)
    trace: Callable[[str], None] | None = None
    """Told each request without what was said, and how its reply ended, as one line of JSON without keys."""
    clients: dict[object, Any] | None = None
    """The open HTTP clients, by what they were opened with; None: each request has one of its own."""
    impatient: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by a person who does not want to wait for the next try."""

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Keep connections from one request to the next until this is left. For one event loop."""
        self.clients = {}
        try:
            yield
        finally:
            clients, self.clients = self.clients, None
            for client in clients.values():
                await client.aclose()

    async def pause(self, seconds: float) -> None:
        """Wait so long, or until the person does not want to any more."""
        try:
            async with asyncio.timeout(seconds):
                await self.impatient.wait()
        except TimeoutError:
            return

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
