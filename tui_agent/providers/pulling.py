"""A model that Ollama loads down because the person said so, with how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from tui_agent.core.address import origin
from tui_agent.core.profile import Profile
from tui_agent.core.reply import bounded_json
from tui_agent.core.types import AgentError
from tui_agent.providers import connection, errors, wire_of
from tui_agent.providers.network import Network
from tui_agent.providers.sse import LineDecoder
from tui_agent.providers.wire import WireFault, tokens


async def pull(
    profile: Profile, model: str, *, env: Mapping[str, str], network: Network | None = None
) -> AsyncGenerator[str, None]:
    """Let the server load a model down; yields how far it is, in words. Closing it ends the loading, which may be taken up again.

    Raises:
        AgentError: it does not; one sentence says why.
    """
    network = network or Network()
    if network.offline:
        raise AgentError(f"--offline was given: {model} is not loaded down")
    where, httpx = origin(profile.endpoint), connection.load_httpx()
    lines = LineDecoder()
    try:
        call = await connection.prepare(replace(wire_of(profile), path="/api/pull"), profile, env, network)
        asked = {"headers": {**call.headers}, "json": {"model": model, "stream": True}}
        async with (
            connection.client(call) as client,
            client.stream("POST", call.url, **asked) as response,
            aclosing(connection.unpacked(response)) as pieces,
        ):
            while True:
                async with asyncio.timeout(profile.timeouts.idle):
                    piece = await anext(pieces, None)
                for line in lines.feed(piece) if piece is not None else lines.close():
                    yield _progress(model, line, response.status_code)
                if lines.overflow:
                    raise AgentError(f"{where} sent a line without an end")
                if piece is None:
                    break
            if response.status_code != 200:
                raise AgentError(errors.from_response(response.status_code, {}, b"").message)
    except WireFault as fault:
        raise AgentError(fault.error.message) from None
    except TimeoutError:
        raise AgentError(f"{where} was silent for {profile.timeouts.idle:g} s while it loaded {model}") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise AgentError(connection.transport_error(error, call.url, profile.start, call.proxy).message) from None


def _progress(model: str, line: bytes, status: int) -> str:
    try:
        said: Any = bounded_json(line.decode("utf-8", "replace"))
    except ValueError:
        said = {"error": "the answer is no list of steps"}
    if status != 200 or not isinstance(said, dict) or said.get("error"):
        raise AgentError(
            errors.from_response(status, {}, line).message if status != 200 else f"{model}: {_words(said)}"
        )
    done, whole = tokens(said.get("completed")), tokens(said.get("total"))
    part = f" {100 * (done or 0) // whole}% of {whole / 1e9:.1f} GB" if whole else ""
    return f"{model}: {_words(said.get('status'))}{part}"


def _words(said: Any) -> str:
    text = said.get("error") if isinstance(said, dict) else said
    return errors.redact(" ".join(str(text).split())[:200], ())
