"""One request to a server beside the conversation: what it offers, what it loads down. A failure is one sentence."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from tui_agent.core.profile import Profile
from tui_agent.core.types import AgentError
from tui_agent.providers import connection, wire_of
from tui_agent.providers.network import Network, Unanswered
from tui_agent.providers.wire import WireFault


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the server behind a profile, and with which key; a POST with a body."""

    profile: Profile
    path: str
    env: Mapping[str, str]
    network: Network
    body: Mapping[str, Any] | None = None


@asynccontextmanager
async def answered(question: Question) -> AsyncIterator[AsyncGenerator[bytes]]:
    """The body of a good answer in pieces. It has no limit of time: whoever asks knows how long that may take.

    Raises:
        AgentError: the server refused, in its own words but without any key; `Unanswered` where nobody answered.
    """
    profile, body = question.profile, question.body
    httpx = connection.load_httpx()
    try:
        wire = replace(wire_of(profile), path=question.path)
        call = await connection.prepare(wire, profile, question.env, question.network)
        sent = {"headers": {**call.headers, "accept": "application/json"}, "json": body}
        async with (
            connection.client(call) as client,
            client.stream("POST" if body else "GET", call.url, **sent) as response,
            aclosing(connection.unpacked(response)) as pieces,
        ):
            if response.status_code != 200:
                error, _ = await connection.refusal(response, call)
                raise Refused(error.message, response.status_code)
            yield pieces
    except WireFault as fault:
        raise AgentError(fault.error.message) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Unanswered(connection.transport_error(error, call.url, profile.start, call.proxy).message) from None


class Refused(AgentError):  # noqa: N818 - what happened, not whose fault it is
    """The server answered with a status that is not 200."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
