"""What happens in a session, as frozen values: the loop yields them, the log keeps the durable ones.

Transcript, cost, resume, undo, export, exit code and replay are functions of the list of durable
events. Transient events are for the eye only; each has a durable successor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tui_agent.core.endings import StopReason
from tui_agent.core.types import (
    Answer,
    AssistantMessage,
    Finish,
    Image,
    JsonObject,
    OutcomeStatus,
    ProviderError,
    ReasoningDelta,
    Receipt,
    RetryTick,
    Spoken,
    TextDelta,
    ToolCall,
    Usage,
)

# ------------------------------------------------------------------ durable


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """First record of a log. `created` is wall clock, seconds since the epoch, for display only."""

    id: str
    cwd: str
    created: float
    version: str


@dataclass(frozen=True, slots=True)
class UserSaid:
    """A message of the person; starts a run."""

    text: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelChosen:
    """The profile and model that answer from here on, and the protocol that they begin with."""

    profile: str
    model: str
    local: bool = False
    protocol: Spoken = "native"


@dataclass(frozen=True, slots=True)
class ProtocolChosen:
    """The model is asked to act in this protocol from here on; `reason` says why, in words for the person."""

    protocol: Spoken
    reason: str


@dataclass(frozen=True, slots=True)
class AssistantSaid:
    """A reply of the model, complete or cut short (`complete` False: stopped or failed midway). `cost` in USD."""

    message: AssistantMessage
    complete: bool = True
    finish: Finish | None = None
    usage: Usage | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Text since the last checkpoint of a reply that is still streaming, kept against a crash.

    The next AssistantSaid holds the whole reply and replaces all checkpoints before it.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question was put to the person. `digest` is the sha256 of exactly what would be executed."""

    request_id: str
    call_id: str
    tool: str
    summary: str
    digest: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a question; `by` is key, flag or nobody. `chosen`: the hunks of a yes, None for all.

    `instead` is the id of the question that took its place when the person edited the proposal.
    """

    request_id: str
    answer: Answer
    reason: str = ""
    by: str = "key"
    chosen: tuple[int, ...] | None = None
    instead: str | None = None


@dataclass(frozen=True, slots=True)
class ToolDone:
    """The end of one call: `text` is what the model is told, `note` the short result for the screen.

    `receipt` is there when the call changed or ran something. `duration` in seconds.
    `invalid`: the call itself was malformed, nothing was tried.
    """

    call: ToolCall
    status: OutcomeStatus
    text: str
    note: str = ""
    summary: str = ""
    receipt: Receipt | None = None
    duration: float = 0.0
    denied: Literal["", "person", "skip", "policy", "nobody"] = ""
    invalid: bool = False


@dataclass(frozen=True, slots=True)
class CheckDone:
    """The person's check ran after edits. `exit_code` None: it could not be started or did not end in time."""

    argv: tuple[str, ...]
    exit_code: int | None
    output: str
    duration: float
    sandbox: str = "none"
    """How it was confined: bwrap, landlock or none."""
    receipt: Receipt | None = None

    @property
    def passed(self) -> bool:
        """Only exit code 0 passes."""
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class Undone:
    """The person took changes back, to before the message number `turn` (from 1), or with `redo` made them again.

    `paths` are the files that are now as they were then, `left` those that stayed as they are.
    """

    turn: int
    receipts: tuple[Receipt, ...]
    paths: tuple[str, ...]
    left: tuple[str, ...] = ()
    redo: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """A word of the product: to the person (`audience` "person") or to the model as its next message ("model").

    With a `title` it is shown as a card: something is wrong, and `text` says what to do.
    """

    text: str
    audience: Literal["person", "model"] = "person"
    title: str = ""


@dataclass(frozen=True, slots=True)
class ProviderFailed:
    """A model call failed for good."""

    error: ProviderError


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The end of one run. `detail` is one sentence for the person.

    `check` says how the person's check stands after the last edit: none (no edit, or no check
    configured), passed, failed, or not run.
    """

    reason: StopReason
    detail: str = ""
    steps: int = 0
    check: Literal["none", "passed", "failed", "not run"] = "none"


# ------------------------------------------------------------------ transient


@dataclass(frozen=True, slots=True)
class ArgumentsDelta:
    """A model is writing the arguments of a call: its name and the characters so far (a count)."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call is being carried out."""

    call: ToolCall
    summary: str


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """A piece of live output of a running command or check."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Phase:
    """What the loop is doing now: waiting, streaming, asking, running, checking, idle."""

    name: Literal["waiting", "streaming", "asking", "running", "checking", "idle"]
    detail: str = ""


Durable: TypeAlias = (
    SessionStarted
    | UserSaid
    | ModelChosen
    | ProtocolChosen
    | AssistantSaid
    | Checkpoint
    | Asked
    | Answered
    | ToolDone
    | CheckDone
    | Undone
    | Notice
    | ProviderFailed
    | RunEnded
)
Transient: TypeAlias = TextDelta | ReasoningDelta | ArgumentsDelta | RetryTick | ToolStarted | CommandOutput | Phase
Event: TypeAlias = Durable | Transient


@dataclass(frozen=True, slots=True)
class Unknown:
    """A record of a newer version: kept as it is, shown as one line, never dropped."""

    type: str
    data: JsonObject = field(default_factory=dict)
