"""What a run is injected with: the model, its protocol, the tools, the person, limits and the log.

Live, test, demo and replay differ in nothing but the values of one `Agent`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from tui_agent.core.check import Check
from tui_agent.core.endings import Limits
from tui_agent.core.log import Log, MemoryLog
from tui_agent.core.types import (
    ApprovalRequest,
    Ask,
    Decision,
    Model,
    Reply,
    Request,
    Spoken,
    Tools,
    ToolSpec,
    Usage,
)


class Dialect(Protocol):
    """How one protocol says a request and reads a reply. A pure value; `after` gives the next one.

    History stays neutral: whatever protocol a call was made in, it is said in today's.
    """

    @property
    def name(self) -> Spoken:
        """The protocol."""

    @property
    def live(self) -> bool:
        """Whether the text of a reply is for the person's eyes while it arrives."""

    def encode(self, request: Request) -> Request:
        """The neutral request as this protocol sends it."""

    def decode(self, reply: Reply, offered: tuple[ToolSpec, ...]) -> Reply:
        """The reply with its calls; those that were read from text have the id "".

        A reply that is no action is a call without a name whose `error` says why.
        """

    def after(self, reply: Reply, offered: tuple[ToolSpec, ...]) -> tuple[Dialect, str]:
        """The dialect of the next request, and why it is another one ("" when it is not), given a raw reply."""


@dataclass(frozen=True, slots=True)
class Plain:
    """The server's own tool calls and nothing else: requests and replies as they are."""

    name: Spoken = "native"
    live: bool = True

    def encode(self, request: Request) -> Request:
        """The request as it is."""
        return request

    def decode(self, reply: Reply, offered: tuple[ToolSpec, ...]) -> Reply:
        """The reply as it is; one that failed or was cut by the length limit has no calls."""
        return replace(reply, calls=()) if reply.error or reply.finish == "length" else reply

    def after(self, reply: Reply, offered: tuple[ToolSpec, ...]) -> tuple[Dialect, str]:
        """Always this one."""
        return self, ""


async def _nobody(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
    return tuple(Decision(r.id, "no", "nobody to ask", "nobody") for r in batch)


def _free(_usage: Usage | None) -> float | None:
    return None


@dataclass(frozen=True, slots=True)
class Agent:
    """Everything that a run is injected with. `price` gives the USD of one call, None when unknown.

    `warn_repeats`: the second identical batch is answered instead of carried out, before the limit ends the run.
    """

    model: Model
    tools: Tools
    ask: Ask = _nobody
    limits: Limits = field(default_factory=Limits)
    log: Log = field(default_factory=MemoryLog)
    system: str = ""
    check: Check | None = None
    price: Callable[[Usage | None], float | None] = _free
    on_reject: Literal["continue", "stop"] = "continue"
    on_deny: Literal["continue", "stop"] = "continue"
    clock: Callable[[], float] = time.monotonic
    dialect: Dialect = field(default_factory=Plain)
    warn_repeats: bool = True
