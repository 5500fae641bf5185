"""A model that plays recorded replies: for the demo, the tests and replay. No network, no key.

A script is a JSON list of replies, each `{"text": "...", "calls": [{"name": ..., "arguments": {...}}],
"reasoning": "...", "usage": {"input_tokens": n, "output_tokens": n}}`, every member optional. Which
reply is next follows from the request itself: the number of assistant messages in its history.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tui_agent.core.types import (
    AssistantMessage,
    Author,
    CallDelta,
    ConfigError,
    Delta,
    Model,
    ProviderError,
    ReasoningDelta,
    ReplyEnd,
    Request,
    TextDelta,
    Usage,
)

_PIECE = re.compile(r"\S+\s*|\s+")


def load_script(path: Path) -> list[Mapping[str, Any]]:
    """Read a script file.

    Raises:
        ConfigError: it cannot be read or is not a list of reply objects.
    """
    try:
        replies = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"the script {path} cannot be used: {error}") from error
    if not isinstance(replies, list) or not all(isinstance(r, dict) for r in replies):
        raise ConfigError(f"the script {path} must be a JSON list of reply objects")
    return replies


def scripted(
    replies: Sequence[Mapping[str, Any]], *, name: str = "script", delay: float = 0.0, seen: list[Request] | None = None
) -> Model:
    """A model that answers from `replies`; `delay` is seconds per piece, `seen` collects the requests for tests."""

    async def stream(request: Request) -> AsyncIterator[Delta]:
        if seen is not None:
            seen.append(request)
        number = sum(isinstance(m, AssistantMessage) for m in request.messages)
        if number >= len(replies):
            message = f"the script has {len(replies)} replies and was asked for one more"
            yield ReplyEnd("error", error=ProviderError("bad_request", message))
            return
        for delta in _deltas(replies[number], number):
            if delay:
                await asyncio.sleep(delay)
            yield delta

    return Model(Author("scripted", name, name), stream)


def _deltas(reply: Mapping[str, Any], number: int) -> Iterator[Delta]:
    for piece in _PIECE.findall(reply.get("reasoning", "")):
        yield ReasoningDelta(piece)
    for piece in _PIECE.findall(reply.get("text", "")):
        yield TextDelta(piece)
    calls = reply.get("calls", [])
    for index, call in enumerate(calls):
        arguments = call.get("arguments", {})
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        yield CallDelta(index, call.get("id", f"call-{number}-{index}"), call["name"], text)
    usage = Usage(**reply["usage"]) if "usage" in reply else None
    yield ReplyEnd("tool_calls" if calls else "stop", usage)


def from_function(answer: Callable[[Request], str], name: str = "function") -> Model:
    """A model whose whole reply is a function of the request; for tests of what the model was told."""

    async def stream(request: Request) -> AsyncIterator[Delta]:
        yield TextDelta(answer(request))
        yield ReplyEnd("stop")

    return Model(Author("scripted", name, name), stream)
