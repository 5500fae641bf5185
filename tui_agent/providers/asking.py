"""One request to a server beside the conversation: what it offers, what it loads down. A failure is one sentence."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

from tui_agent.core.profile import Profile
from tui_agent.core.types import AgentError
from tui_agent.providers import connection, wire_of
from tui_agent.providers.connection import Call
from tui_agent.providers.network import Network, Refused, Unanswered
from tui_agent.providers.wire import WireFault


async def prepared(profile: Profile, path: str, env: Mapping[str, str], network: Network) -> Call:
    """The call to another path of a profile's server. Its key may take a command, and so its time, before anybody is asked.

    Raises:
        AgentError: there is no usable address or key.
    """
    try:
        return await connection.prepare(replace(wire_of(profile), path=path), profile, env, network)
    except WireFault as fault:
        raise AgentError(fault.error.message) from None


@asynccontextmanager
async def answered(call: Call, body: Mapping[str, Any] | None = None) -> AsyncIterator[AsyncGenerator[bytes]]:
    """The body of a good answer in pieces, to a POST with a body. It has no limit of time: who asks knows how long that takes.

    Raises:
        AgentError: `Refused` in the server's own words but without any key, `Unanswered` where nobody answered.
    """
    sent = {"headers": {**call.headers, "accept": "application/json"}, "json": body}
    try:
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
    except connection.failures() as error:
        raise Unanswered((await connection.explained(error, call)).message) from None
