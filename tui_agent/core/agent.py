"""What a run is injected with: the model, its protocol, the tools, the person, limits and the log.

Live, test, demo and replay differ in nothing but the values of one `Agent`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from tui_agent.core.check import Check
from tui_agent.core.endings import BY_YOU, Limits
from tui_agent.core.events import Durable, Spent
from tui_agent.core.evidence import Changed, missing
from tui_agent.core.log import Log, MemoryLog
from tui_agent.core.room import Room
from tui_agent.core.secrets import Secrets
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

    def offered(self, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        """Those of the tools that may be called in this protocol."""

    def encode(self, request: Request) -> Request:
        """The neutral request as this protocol sends it."""

    def decode(self, reply: Reply, offered: tuple[ToolSpec, ...]) -> Reply:
        """The reply with its calls; those that were read from text have the id "".

        A reply that is no action is a call without a name whose `error` says why.
        """

    def loose(self, reply: Reply, offered: tuple[ToolSpec, ...]) -> str | None:
        """The answer of a raw reply that is not in the form of the protocol; None when it is, or attempts an action.

        `decode` gives such a reply as one call without a name whose `error` asks for the form.
        """

    def after(self, reply: Reply, offered: tuple[ToolSpec, ...]) -> tuple[Dialect, str]:
        """The dialect of the next request, and why it is another one ("" when it is not), given a raw reply."""


@dataclass(frozen=True, slots=True)
class Plain:
    """The server's own tool calls and nothing else: requests and replies as they are."""

    name: Spoken = "native"
    live: bool = True

    def offered(self, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        """All of them."""
        return tools

    def encode(self, request: Request) -> Request:
        """The request as it is."""
        return request

    def decode(self, reply: Reply, offered: tuple[ToolSpec, ...]) -> Reply:
        """The reply as it is; one that failed or was cut by the length limit has no calls."""
        return replace(reply, calls=()) if reply.error or reply.finish == "length" else reply

    def loose(self, reply: Reply, offered: tuple[ToolSpec, ...]) -> str | None:
        """Every form is one."""
        return None

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
    `forgives`: a reply that could be used begins the count of those that could not anew.
    `content` gives the bytes of a file of the workspace as it is now, None when they cannot be had; it may block.
    `room` says how much the model takes now; without it everything is sent, up to `limits.max_context`. `memory`: the
    end of each request names the task and the files that were touched. `hidden` are texts that no reply may bring in.
    `apart`: of what was said only the question is sent that is answered apart. `between` gives what is to be recorded
    before the next request, once a reply was dealt with: what the person said meanwhile, each text once.
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
    forgives: bool = True
    content: Callable[[str], bytes | None] = lambda _: None
    evidence: Callable[[Sequence[str], Mapping[str, Changed] | None], str] = missing
    """What a task, and what was said to its run later, names and the changes do not show, in words."""
    halted: Callable[[], bool] = lambda: False
    """Whether the person said stop at a question that an effect asked while it was carried out."""
    room: Callable[[], Room] | None = None
    memory: bool = False
    hidden: Secrets = field(default_factory=Secrets)
    apart: bool = False
    between: Callable[[], Sequence[Durable]] = tuple
    stopped: Callable[[], str] = lambda: BY_YOU
    """Who or what interrupts the run, in words, asked when it is interrupted."""


def spent(usage: Usage | None, price: Callable[[Usage | None], float | None]) -> Spent | None:
    """What a model call took that brought no reply, None when that is nothing."""
    cost = price(usage)
    return Spent(usage, cost) if cost != 0 or usage is not None else None
