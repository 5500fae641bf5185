"""A model that plays recorded replies: for the demo, the tests and replay. No network, no key.

A script is a JSON object: `replies` is the list of replies, `after` what is said when they are used up,
`otherwise` a `pattern` and the `reply` that is given instead when a tool result since the last reply
matches it (the person refused, say, so that the recording no longer fits). A reply is
`{"text": "...", "calls": [{"name": ..., "arguments": {...}}], "reasoning": "...", "usage": {...},
"finish": "stop"}`, every member optional. Which reply is next follows from the request: the assistant messages in its history.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

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
    ToolMessage,
    Usage,
)

_PIECE = re.compile(r"\S+\s*|\s+")


Recorded: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Script:
    """Recorded replies in order; see the module for `after`, `pattern` and `otherwise`."""

    replies: tuple[Recorded, ...]
    after: Recorded | None = None
    pattern: str | None = None
    otherwise: Recorded | None = None

    def reply_to(self, request: Request) -> tuple[int, Recorded | None]:
        """The number of the reply that is due and the reply; None when the script has run out."""
        number = sum(isinstance(m, AssistantMessage) for m in request.messages)
        answered = 0
        for message in request.messages:
            answered += isinstance(message, AssistantMessage)
            if self.pattern and isinstance(message, ToolMessage) and re.match(self.pattern, message.text):
                # from here on the recording does not fit any more: one word about that, then nothing but the end
                return number, self.otherwise if number == answered else self.after
        return number, self.replies[number] if number < len(self.replies) else self.after


def load_script(path: Path) -> Script:
    """Read a script file.

    Raises:
        ConfigError: it cannot be read or is not a script.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        otherwise = data.get("otherwise", {})
        return Script(tuple(data["replies"]), data.get("after"), otherwise.get("pattern"), otherwise.get("reply"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"the script {path} cannot be used: {error}") from error


def scripted(
    replies: Script | Sequence[Recorded],
    *,
    name: str = "script",
    delay: float = 0.0,
    seen: list[Request] | None = None,
) -> Model:
    """A model that answers from `replies`; `delay` is seconds per piece, `seen` collects the requests for tests."""
    script = replies if isinstance(replies, Script) else Script(tuple(replies))

    async def stream(request: Request) -> AsyncIterator[Delta]:
        if seen is not None:
            seen.append(request)
        number, reply = script.reply_to(request)
        if reply is None:
            message = f"the script has {len(script.replies)} replies and was asked for one more"
            yield ReplyEnd("error", error=ProviderError("bad_request", message))
            return
        for delta in _deltas(reply, number):
            if delay:
                await asyncio.sleep(delay)
            yield delta

    return Model(Author("scripted", name, name), stream)


def _deltas(reply: Recorded, number: int) -> Iterator[Delta]:
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
    yield ReplyEnd(reply.get("finish", "tool_calls" if calls else "stop"), usage)


def from_function(answer: Callable[[Request], str], name: str = "function") -> Model:
    """A model whose whole reply is a function of the request; for tests of what the model was told."""

    async def stream(request: Request) -> AsyncIterator[Delta]:
        yield TextDelta(answer(request))
        yield ReplyEnd("stop")

    return Model(Author("scripted", name, name), stream)
