"""What is sent, and how much of it: the budget of one model call as pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from tui_agent.core.endings import Limits, StopReason
from tui_agent.core.types import AssistantMessage, Message, Usage, UserMessage

IMAGE_SIZE = 6000
"""Characters that one picture counts as: vendors take about 1,500 tokens for it."""
CHARACTERS_PER_TOKEN = 4
"""For estimates, which are always marked as such."""


def size_of(message: Message) -> int:
    """Characters of a message as they count against `limits.max_context`."""
    if isinstance(message, AssistantMessage):
        return len(message.text) + sum(len(call.raw) for call in message.calls)
    images = len(message.images) if isinstance(message, UserMessage) else 0
    return len(message.text) + images * IMAGE_SIZE


def head_and_tail(text: str, head: int, tail: int, hint: str = "") -> str:
    """A text cut in its middle to so many characters at either end, with a line that counts what is left out."""
    left = len(text) - head - tail
    if left <= 0:
        return text
    return f"{text[:head]}\n[... {left:,} characters left out{hint and f'; {hint}'} ...]\n{text[-tail:]}"


def limit_reached(
    limits: Limits, system: str, messages: Sequence[Message], usage: Usage, cost: float
) -> tuple[StopReason, str] | None:
    """The limit that forbids the next model call, with a sentence that names its number; None when none does."""
    size = len(system) + sum(map(size_of, messages))
    if size > limits.max_context:
        return (
            StopReason.CONTEXT_LIMIT,
            f"the conversation has {size:,} characters, the limit is {limits.max_context:,}",
        )
    tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    if limits.max_tokens is not None and tokens >= limits.max_tokens:
        return StopReason.TOKEN_LIMIT, f"{tokens:,} tokens used, the limit is {limits.max_tokens:,}"
    if limits.max_cost is not None and cost >= limits.max_cost:
        return StopReason.COST_LIMIT, f"${cost:.4f} spent, the limit is ${limits.max_cost:.4f}"
    return None
