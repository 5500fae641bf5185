"""The values that cross every border of the product.

Everything here is frozen and knows nobody: no file, no terminal, no network. What a model said is a `Message`, what it
wants is a `ToolCall`, what the person sees and answers is an `ApprovalRequest` and a `Decision`. What an effect really
did is in `core.receipt`, events (what the log keeps) live in `core.events`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol, TypeAlias

from tui_agent.core.file_state import FileState, Sight
from tui_agent.core.lookup import Lookup, ReadOutput
from tui_agent.core.receipt import Receipt
from tui_agent.core.servers import CallServer

Json: TypeAlias = Any
"""A value that `json.loads` can return. Kept as `Any`: recursive aliases hide more errors than they find."""
JsonObject: TypeAlias = Mapping[str, Any]


class AgentError(Exception):
    """Root of the few errors of this product; its text is one sentence for the person."""


class Forgotten(AgentError):  # noqa: N818 - what happened
    """An MCP server does not know this conversation any more, so that it did nothing of what it was asked."""


class ConfigError(AgentError):
    """The configuration or the command line cannot be used."""


# ------------------------------------------------------------------ what was said


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One action that a model asked for, independent of the protocol it was written in.

    `arguments` is None when they could not be parsed: `error` says why, the call is never run. `raw` is their exact text.
    """

    id: str
    name: str
    arguments: JsonObject | None
    error: str | None = None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Author:
    """Who produced an assistant message: decides whether `extras` may be sent back."""

    wire: str
    endpoint: str
    model: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that goes with a message. `data` is base64, filled in when it is sent; the log has the hash."""

    name: str
    media_type: str
    sha: str
    size: int
    data: str = ""


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the person (or a guard speaking for the product) said, with its pictures."""

    text: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model said; `calls` in the order they were made."""

    text: str
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    author: Author | None = None
    extras: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The answer to one call, exactly as the model is told."""

    call_id: str
    name: str
    text: str


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage
History: TypeAlias = tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call. None means unknown and is never shown as 0.

    `input_tokens` is the whole prompt, cache reads and writes included; `output_tokens` includes reasoning.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    def plus(self, other: Usage) -> Usage:
        """Add field by field; unknown plus a number is the number, unknown plus unknown stays unknown."""

        def add(a: int | None, b: int | None) -> int | None:
            return b if a is None else a if b is None else a + b

        return Usage(*(add(getattr(self, f.name), getattr(other, f.name)) for f in fields(Usage)))


Spoken: TypeAlias = Literal["native", "json", "verbs"]
"""The protocol in which a model is asked to act: its server's own calls, one JSON object, or six verbs."""

Finish: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "refusal", "pause", "error", "unknown"]
ErrorKind: TypeAlias = Literal["auth", "rate_limit", "context_length", "server", "network", "protocol", "bad_request"]


@dataclass(frozen=True, slots=True)
class ProviderError:
    """A failed model call as a value.

    `message` is one sentence with the cause and, where there is one, the next step.
    `retryable`: the same request may succeed later. `retry_after` is in seconds. `begun`: a part of the reply had come.
    `sent` False: the request never got as far as the server.
    """

    kind: ErrorKind
    message: str
    retryable: bool = False
    retry_after: float | None = None
    status: int | None = None
    begun: bool = False
    sent: bool = True

    @property
    def free(self) -> bool:
        """Whether the request took no tokens: it was refused, or never got there."""
        return not self.sent or (self.status is not None and not self.begun)


# ------------------------------------------------------------------ what a provider yields


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the visible answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class RefusalDelta:
    """A piece of a refusal that the server labels as such."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of one tool call; pieces with the same `key` belong together, in order of first appearance.

    `id` and `name` count when not empty; `arguments` fragments are joined. `extras` are provider
    members of the call that must go back with it.
    """

    key: int
    id: str = ""
    name: str = ""
    arguments: str = ""
    extras: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReplyEnd:
    """The last delta of every stream: how it ended, what it cost, what must go back.

    With `error` set the calls of the reply are void (fail closed) and the text so far is kept.
    """

    finish: Finish | None = None
    usage: Usage | None = None
    error: ProviderError | None = None
    extras: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RetryTick:
    """Seconds left until the provider tries again (before the first delta only).

    0: it tries now. `attempt` is the try that failed, of `tries` in all; `whole` is how long the wait was when it began,
    0 when there is none: the same is sent at once without the setting that the server refused and that `error` names.
    """

    attempt: int
    seconds: float
    error: ProviderError
    tries: int = 0
    whole: float = 0.0


@dataclass(frozen=True, slots=True)
class Lost:
    """A try that brought nothing and is made once more, and what it took: None where the server did not say."""

    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Preparing:
    """What a request waits for before it is sent to the model, in words; "" when it waits for nothing more."""

    what: str = ""


Delta: TypeAlias = TextDelta | ReasoningDelta | RefusalDelta | CallDelta | RetryTick | Lost | Preparing | ReplyEnd


@dataclass(frozen=True, slots=True)
class Reply:
    """All deltas of one model call, folded. `lost` is what each try took that was lost before it."""

    text: str = ""
    reasoning: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: Finish | None = None
    usage: Usage | None = None
    error: ProviderError | None = None
    refusal: str = ""
    extras: JsonObject = field(default_factory=dict)
    lost: tuple[Usage | None, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told about one tool. `parameters` is a JSON Schema object; `example` one call's arguments."""

    name: str
    description: str
    parameters: JsonObject
    example: JsonObject


@dataclass(frozen=True, slots=True)
class Request:
    """One model call: system text, history and offered tools, all provider-neutral.

    `schema` is the JSON Schema that the text of the reply must follow, for servers that can constrain it. `answer`: how
    many tokens the window leaves for the reply, None unknown.
    """

    system: str
    messages: History
    tools: tuple[ToolSpec, ...] = ()
    schema: JsonObject | None = None
    answer: int | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """A model as the loop sees it: who it is and a function that streams a reply.

    `stream` must end with exactly one `ReplyEnd` and close its connection when its iterator is closed.
    """

    author: Author
    stream: Callable[[Request], AsyncIterator[Delta]]


# ------------------------------------------------------------------ effects, approval, receipts

PermissionClass: TypeAlias = Literal["read", "search", "write", "run", "git", "shell", "network", "mcp", "none"]
Permission: TypeAlias = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Read one file; `start` is a line number from 1, `limit` a number of lines."""

    path: str
    start: int = 1
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ListFiles:
    """List one folder."""

    path: str


@dataclass(frozen=True, slots=True)
class SearchText:
    """Search an extended regular expression below a path."""

    text: str
    path: str


@dataclass(frozen=True, slots=True)
class WriteBytes:
    """Replace the whole file at `path` (relative to the workspace) by `new`; None deletes it.

    `base` holds the bytes that the preview was made from, None when the file does not exist, `at` is what else was
    there, None where nobody looked; the file must still be like that when the answer comes.
    """

    path: str
    base: bytes | None
    new: bytes | None
    at: FileState | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RunArgv:
    """Run a program without a shell. `timeout` in seconds."""

    argv: tuple[str, ...]
    timeout: float


@dataclass(frozen=True, slots=True)
class RunScript:
    """Run a text by `/bin/sh`; permission class shell. `timeout` in seconds."""

    script: str
    timeout: float


@dataclass(frozen=True, slots=True)
class SetPlan:
    """Replace the visible to-do list; items are (status, text), status one of done, now, next."""

    items: tuple[tuple[str, str], ...]


Effect: TypeAlias = (
    ReadFile | ListFiles | SearchText | WriteBytes | RunArgv | RunScript | SetPlan | Lookup | ReadOutput | CallServer
)
Act: TypeAlias = WriteBytes | RunArgv | RunScript | CallServer
"""An effect that does more than look."""


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """What `core.policy.decide` looks at: a command as text or as argv, or a tool by name."""

    tool: str
    permission: PermissionClass
    argv: tuple[str, ...] | None = None
    command: str | None = None
    path: str | None = None
    floors: tuple[str, ...] = ()
    """Reasons found by the mechanism (a secret name, a hard link) why the answer is at least ask."""
    careful: str = ""
    """Why only a rule for exactly this file may allow that it is written (it is executed, or read as instructions)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the policy says, and the rule that said it, in words a person can look up.

    `instead`: beside the denial of a command, the commands that need no approval, sorted. `missed`: beside "ask", which
    allow pattern comes near and why it does not hold, or what mode AUTO does not cover.
    """

    permission: Permission
    rule: str
    permission_class: PermissionClass
    instead: tuple[str, ...] = ()
    missed: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """One prepared action: what is shown, what is hashed and what is executed are this object.

    `id` is unique in the session. `summary` is one line ("edit  src/a.py  +2 -1"), not yet sanitised. `depends_on` names
    the ids of earlier requests of the batch whose result the preview was computed on; when one of them is not applied,
    this one is not executed. `reason` is the model's, `caution` the product's ("agents read this file as instructions"),
    `missed` says why a rule that was accepted does not spare this question.
    """

    id: str
    call: ToolCall
    effect: Effect
    policy: PolicyRequest
    summary: str
    reason: str = ""
    depends_on: tuple[str, ...] = ()
    caution: str = ""
    missed: str = ""
    where: str = ""
    """Where a command will run, in words ("sandbox bwrap", "not sandboxed"); "" for what runs nothing."""


Answer: TypeAlias = Literal["yes", "no", "skip", "stop"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to one request. `stop` is no plus the end of the run. `by` is key, rule, flag or nobody.

    `chosen` holds the numbers of the hunks to apply, None for all of them. `reason` goes to the model, with a
    yes as well. `instead` is the request that the person made of it by editing its text; then the yes is for that one.
    """

    request_id: str
    answer: Answer
    reason: str = ""
    by: str = "key"
    chosen: frozenset[int] | None = None
    instead: ApprovalRequest | None = None


Ask: TypeAlias = Callable[[tuple[ApprovalRequest, ...]], Awaitable[tuple[Decision, ...]]]

OWN_COMMAND = "you"
"""Stands in place of a tool's name where a command is the person's own."""
BACKGROUND = "background"
"""Stands there where a command has ended that was sent to the background; its call was answered then."""


OutcomeStatus: TypeAlias = Literal["applied", "refused", "error"]

DRY_RUN = "dry run"
"""The note of an action that was only shown, as the person wanted it: nothing failed, and nothing was refused."""
REPEATED = "repeated"
"""The note of an action that was not carried out because it had just been."""
NO_BASE = "its base was not applied"
"""The note of an edit that was built on another one, which is not there as it was proposed."""
NOT_BEGUN = "not started"
"""The note of an action that was left when its run was stopped."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one action: `text` is exactly what the model is told.

    `refused`: a rule or a person said no. `error`: the world said no. `note` is a short result for the eye ("7 hits").
    `invalid`: the call itself was malformed, nothing was tried. `sight` is what the model knows of a file by it. `summary`
    is one line like that of the request, where something else was done than was asked.
    """

    status: OutcomeStatus
    text: str
    receipt: Receipt | None = None
    note: str = ""
    invalid: bool = False
    sight: Sight | None = None
    summary: str = ""


Emit: TypeAlias = Callable[[str], None]
"""Called with pieces of live command output."""


class Tools(Protocol):
    """The loop's view of the workspace: prepare, decide, commit."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools offered to the model."""

    async def prepare(self, call: ToolCall, earlier: tuple[ApprovalRequest, ...]) -> ApprovalRequest | Outcome:
        """Validate a call and compute its preview on top of the `earlier` pending requests of the batch."""

    def decide(self, request: ApprovalRequest) -> Verdict:
        """Ask the policy."""

    async def commit(self, request: ApprovalRequest, decision: Decision, emit: Emit) -> Outcome:
        """Carry out an approved request, after comparing its base again. Never raises `OSError`."""
