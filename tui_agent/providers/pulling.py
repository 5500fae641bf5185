"""A model that Ollama loads down because the person said so, with how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from typing import Any

from tui_agent.core.address import origin
from tui_agent.core.profile import Profile
from tui_agent.core.reply import bounded_json
from tui_agent.core.types import AgentError, Json, JsonObject
from tui_agent.providers import errors
from tui_agent.providers.asking import answered, prepared
from tui_agent.providers.network import Network
from tui_agent.providers.sse import LineDecoder
from tui_agent.providers.wire import tokens


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
    where, patience = origin(profile.endpoint), profile.timeouts.idle
    call = await prepared(profile, "/api/pull", env, network)
    lines = LineDecoder()
    try:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(patience):
                pieces = await stack.enter_async_context(answered(call, {"model": model, "stream": True}))
            piece: bytes | None = b""
            said: Any = {}
            while piece is not None:
                async with asyncio.timeout(patience):
                    piece = await anext(pieces, None)
                for line in lines.feed(piece) if piece is not None else lines.close():
                    said = _step(network.secrets.hide(line.decode("utf-8", "replace")))
                    if said.get("error"):
                        raise AgentError(f"{model}: {_words(said['error'])}")
                    yield _progress(model, said)
                if lines.overflow:
                    raise AgentError(f"{where} sent a line without an end")
            if said.get("status") != "success":
                raise AgentError(f"{where} stopped before {model} was there: again goes on from here")
    except TimeoutError:
        raise AgentError(f"{where} was silent for {patience:g} s while it loaded {model}") from None


def _step(line: str) -> JsonObject:
    try:
        said = bounded_json(line)
    except ValueError:
        said = None
    return said if isinstance(said, dict) else {"error": "the answer is no list of steps"}


def _progress(model: str, said: JsonObject) -> str:
    done, whole = tokens(said.get("completed")), tokens(said.get("total"))
    part = f" {min(100, 100 * (done or 0) // whole)}% of {whole / 1e9:.1f} GB" if whole else ""
    return f"{model}: {_words(said.get('status') or 'working')}{part}"


def _words(said: Json) -> str:
    """What a server says, as one line for the person."""
    text = said.get("message", said) if isinstance(said, dict) else said
    return errors.redact(" ".join(str(text).split())[:200], ())
