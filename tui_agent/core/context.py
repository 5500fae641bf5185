"""What is sent, and how much of it: the budget of one model call as pure functions."""

from __future__ import annotations

import json

from tui_agent.core.endings import Limits, StopReason
from tui_agent.core.types import AssistantMessage, Message, Request, Usage, UserMessage

IMAGE_SIZE = 6000
"""Characters that one picture counts as: vendors take about 1,500 tokens for it."""
CHARACTERS_PER_TOKEN = 4
"""For estimates, which are always marked as such."""
UNPRICED = "there is a limit on the cost, and no prices of this model: set input and output in its profile's pricing, or local = true there"


def size_of(message: Message) -> int:
    """Characters of a message as they count against `limits.max_context`."""
    if isinstance(message, AssistantMessage):
        calls = (len(call.raw) or len(json.dumps(dict(call.arguments or {}))) for call in message.calls)
        return len(message.text) + sum(calls)
    images = len(message.images) if isinstance(message, UserMessage) else 0
    return len(message.text) + images * IMAGE_SIZE


def head_and_tail(text: str, head: int, tail: int, hint: str = "") -> str:
    """A text cut in its middle to so many characters at either end, with a line that counts what is left out."""
    left = len(text) - head - tail
    if left <= 0:
        return text
    return f"{text[:head]}\n[... {left:,} characters left out{hint and f'; {hint}'} ...]\n{text[-tail:]}"


def rest_of(name: str) -> str:
    """Where what was left out of an output can be read, "" when it was not kept."""
    return f"read_output with the name {name} shows any part" if name else ""


def request_size(request: Request) -> int:
    """Characters of all that a model is told: system text, messages and tools."""
    tools = sum(len(tool.description) + len(json.dumps(dict(tool.parameters))) for tool in request.tools)
    return len(request.system) + sum(map(size_of, request.messages)) + tools


def estimate(request: Request, answer: AssistantMessage) -> Usage:
    """About the tokens of a model call, by its characters, for where the server tells none."""
    sent = request_size(request) + (len(json.dumps(request.schema)) if request.schema else 0)
    back = size_of(answer) + len(answer.reasoning)
    return Usage(tokens(sent), tokens(back))


def tokens(characters: int) -> int:
    """About how many tokens so many characters are."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def limit_reached(
    limits: Limits, request: Request, usage: Usage, cost: float, *, estimated: bool = False, priced: bool = True
) -> tuple[StopReason, str] | None:
    """The limit that forbids the next model call, `request`, with a sentence that names its number; None when none does.

    `estimated`: not all of `usage` was counted by the server. `priced`: it is known what a token costs; where it is not, no
    limit on the cost can be kept, and nothing is sent.
    """
    size = request_size(request)
    if size > limits.max_context:
        what = "the conversation and the tools have" if request.tools else "the conversation has"
        return StopReason.CONTEXT_LIMIT, f"{what} {size:,} characters, the limit is {limits.max_context:,}"
    tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
    if limits.max_tokens is not None and tokens >= limits.max_tokens:
        return StopReason.TOKEN_LIMIT, f"{'~' * estimated}{tokens:,} tokens used, the limit is {limits.max_tokens:,}"
    if limits.max_cost is not None and not priced:
        return StopReason.COST_LIMIT, UNPRICED
    if limits.max_cost is not None and cost >= limits.max_cost:
        return StopReason.COST_LIMIT, f"{'~' * estimated}${cost:.4f} spent, the limit is ${limits.max_cost:.4f}"
    return None
