"""What happens in a session, as frozen values: the loop yields them, the log keeps the durable ones.

Transcript, cost, resume, undo, export, exit code and replay are functions of the list of durable
events. Transient events are for the eye only; each has a durable successor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tui_agent.core.endings import StopReason
from tui_agent.core.file_state import Sight
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import (
    Answer,
    AssistantMessage,
    Finish,
    Image,
    JsonObject,
    OutcomeStatus,
    ProviderError,
    ReasoningDelta,
    RetryTick,
    Spoken,
    TextDelta,
    ToolCall,
    Usage,
)

# ------------------------------------------------------------------ durable


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """First record of a log. `created` is wall clock, seconds since the epoch, for display only.

    A fork names its `parent` and the message (from 1) before which it left it, 0 for the end.
    """

    id: str
    cwd: str
    created: float
    version: str
    parent: str | None = None
    turn: int = 0


@dataclass(frozen=True, slots=True)
class UserSaid:
    """A message of the person; starts a run."""

    text: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Steered:
    """A message of the person to a run that goes on: the model hears it once, behind the results that it waits for."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelChosen:
    """The profile and model that answer from here on, and the protocol that they begin with, or keep (`fixed`)."""

    profile: str
    model: str
    local: bool = False
    protocol: Spoken = "native"
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class ModeChosen:
    """The mode in force from here on, and what it means, in words for the person."""

    name: str
    what: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """The person gave the session this name."""

    name: str


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
class Begun:
    """Something is about to be written or run: a process that dies meanwhile leaves a trace (`core.unfinished`).

    `receipt` is the one that it leaves if it is carried out as approved. Of a change of a file the texts are left out;
    of a command `changed` names the files whose bytes were held when it began, each once in a session. `at` is wall
    clock, seconds since the epoch. In the log only, for neither the model nor the screen.
    """

    receipt: Receipt
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class NotDone:
    """What had begun with this receipt came to nothing: it changed nothing and leaves none."""

    receipt: str


@dataclass(frozen=True, slots=True)
class ToolDone:
    """The end of one call: `text` is what the model is told, `note` the short result for the screen.

    `receipt` is there when the call changed or ran something. `duration` in seconds.
    `invalid`: the call itself was malformed, nothing was tried. `sight` is there when a file was read or written: who
    goes on with the session knows by it what may be changed.
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
    sight: Sight | None = None


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
    kept: str = ""
    """The name by which the model can read a long output in parts."""
    ran: bool = True
    """False: it could not be started, or was ended from outside, so it says nothing of the edits."""
    warnings: tuple[str, ...] = ()
    """What the person must see of it, whether it passed or not."""

    @property
    def passed(self) -> bool:
        """Only exit code 0 passes."""
        return self.exit_code == 0


@dataclass(frozen=True, slots=True)
class Undone:
    """The person took changes back, to before the message number `turn` (from 1), or with `redo` made them again.

    `paths` are the files that are now as they were then, `left` those that stayed as they are. With `batch` only the
    changes with these receipts were taken back: those after which the check failed.
    """

    turn: int
    receipts: tuple[Receipt, ...]
    paths: tuple[str, ...]
    left: tuple[str, ...] = ()
    redo: bool = False
    batch: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewound:
    """The conversation went back to before the message number `turn` (from 1): what was said since is not sent any more.

    `paths` are the files that stay as that part of the conversation left them.
    """

    turn: int
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """A word of the product: to the person (`audience` "person") or to the model as its next message ("model").

    With a `title` it is shown as a card: something is wrong, and `text` says what to do. `goes_on`: the answer before
    it is not whole, and what the model says next is the rest of it.
    """

    text: str
    audience: Literal["person", "model"] = "person"
    title: str = ""
    goes_on: bool = False


How: TypeAlias = Literal["whole", "pinned", "short", "dropped"]
"""How a message is sent: as it is, as it is and never to be left out, its head only, or not at all."""
By: TypeAlias = Literal["person", "room"]
"""Who decided it: the person, or the product because the request had no room."""


@dataclass(frozen=True, slots=True)
class Routed:
    """What the next message is about: general, coding or hybrid; `by` words, model or default, `enables` in words.

    A general one is apart: what is said up to the end of its run is sent with nothing else, and later not at all.
    `usage` and `cost` are those of asking the model.
    """

    intent: Literal["general", "coding", "hybrid"]
    by: Literal["words", "model", "default"] = "words"
    enables: str = ""
    usage: Usage | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Instructed:
    """The system text of the requests from here on: its sha256 with that of the tools, and how many characters each has.

    `names` are the tools that the model may call.
    """

    digest: str
    size: int
    tools: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Marked:
    """How these messages, named by the numbers of their events, are sent from here on. What is stored stays whole.

    `left`: about how many tokens the next request has after it, 0 where it is as long as before.
    """

    messages: tuple[int, ...]
    how: How
    by: By = "person"
    left: int = 0


@dataclass(frozen=True, slots=True)
class Compacted:
    """A summary goes in the place of all messages before it, but for those of the events `kept`, word for word.

    `before` and `left` are about the tokens of the next request without and with it; `usage` and `cost` what the
    summary took. With a `fault` there is no summary and nothing changed. `facts` is what receipts show, sent behind it.
    """

    summary: str
    kept: tuple[int, ...] = ()
    focus: str = ""
    by: By = "person"
    before: int = 0
    left: int = 0
    usage: Usage | None = None
    cost: float | None = None
    fault: str = ""
    facts: str = ""

    @property
    def text(self) -> str:
        """All that is sent in the place of the messages."""
        return "\n\n".join(filter(None, (self.summary, self.facts)))


@dataclass(frozen=True, slots=True)
class Expanded:
    """The compaction of this event was taken back: the messages are sent again. `left` as for `Marked`."""

    compaction: int
    left: int = 0


@dataclass(frozen=True, slots=True)
class Overflowed:
    """The server refused a request of so many characters: too long for the model."""

    size: int


@dataclass(frozen=True, slots=True)
class BudgetSet:
    """So many tokens may be used from here on, None: as many as it takes."""

    tokens: int | None


@dataclass(frozen=True, slots=True)
class SearchSet:
    """The web may be searched by this engine from here on, "": not at all."""

    engine: str


@dataclass(frozen=True, slots=True)
class Spent:
    """What a model call took that brought no reply: it failed, or was stopped. `cost` in USD, None unknown."""

    usage: Usage | None = None
    cost: float | None = None


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
    | Steered
    | ModelChosen
    | ModeChosen
    | Named
    | ProtocolChosen
    | AssistantSaid
    | Checkpoint
    | Asked
    | Answered
    | Begun
    | NotDone
    | ToolDone
    | CheckDone
    | Undone
    | Rewound
    | Instructed
    | Routed
    | Marked
    | Compacted
    | Expanded
    | Overflowed
    | BudgetSet
    | SearchSet
    | Notice
    | Spent
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
