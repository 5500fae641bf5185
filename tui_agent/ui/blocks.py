"""Events to transcript blocks: a fold that knows no width, no colour and no terminal.

Blocks of durable events are only ever appended. What is still going on (the streaming reply, running
tools, an open question) stands behind them and is replaced by its durable successor, so the blocks
after the last event are a function of the durable events alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.display import Sanitiser, sanitise
from tui_agent.core.endings import StopReason
from tui_agent.core.types import (
    ProviderError,
    ReasoningDelta,
    RetryTick,
    TextDelta,
    ToolCall,
)
from tui_agent.ui.lines import marked
from tui_agent.ui.markdown import Chunker, Prose

# ------------------------------------------------------------------ blocks


@dataclass(frozen=True, slots=True)
class Said:
    """A part of what the person said: sanitised and marked. `first` carries the sign in the gutter."""

    text: str
    first: bool = True


@dataclass(frozen=True, slots=True)
class Thought:
    """The model's reasoning, as a number of characters. `live`: still counting."""

    size: int
    live: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """One line per action: verb, object, short result (`facts`) and a `word` that carries the state.

    `style` is that of the word: ok, fail or dim. `reason` stands below, then the first or, with `tail`,
    the last lines of `output`; all of them when details are unfolded. `live`: not ended yet.
    """

    verb: str
    object: str
    facts: tuple[str, ...] = ()
    word: str = ""
    style: str = "dim"
    reason: str = ""
    output: str = ""
    excerpt: int = 0
    tail: bool = False
    live: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A word of the product, in one style. `label` is set before it."""

    text: str
    label: str = ""
    style: str = "dim"


@dataclass(frozen=True, slots=True)
class Card:
    """Something failed: what, why and what to do next."""

    title: str
    cause: str
    next: str = ""


Block: TypeAlias = Said | Thought | Prose | Action | Note | Card

# ------------------------------------------------------------------ words

VERBS = {
    "read_file": "read",
    "list_files": "list",
    "search": "search",
    "edit_file": "edit",
    "multi_edit": "edit",
    "propose_edit": "edit",
    "write_file": "write",
    "delete_file": "delete",
    "run_command": "run",
    "run_shell": "shell",
    "web_search": "web",
    "web_fetch": "fetch",
    "update_plan": "plan",
}

TITLES = {
    "auth": "The key was not accepted",
    "rate_limit": "Rate limit",
    "context_length": "Too long for the model's window",
    "server": "The server failed",
    "network": "No connection",
    "protocol": "The answer could not be read",
    "bad_request": "The request was not accepted",
}

NEXT = {
    "auth": "Set the key and start again, or /provider for another; a key of api_key_cmd is read anew by /retry",
    "context_length": "Choose a model with a larger window with /model or /provider, or start anew in a new session",
    "rate_limit": "Wait and /retry, or choose another with /provider",
    "bad_request": "Choose another model or server with /provider",
}

ENDINGS = {
    StopReason.COMPLETED: ("completed", "dim"),
    StopReason.VERIFIED: ("verified", "ok"),
    StopReason.UNVERIFIED: ("unverified", "strong"),
    StopReason.STOPPED: ("stopped", "strong"),
    StopReason.FAILED: ("failed", "fail"),
    StopReason.DENIED: ("stopped: denied", "strong"),
}

DENIALS = {"person": "refused by you", "skip": "skipped", "policy": "denied", "nobody": "refused, nobody to ask"}

CUT = {
    "length": "cut at the token limit",
    "content_filter": "cut by the server's content filter",
    "refusal": "the model refused",
}

ASKING = "asks you"

SAID_MAX = 1_500
"""Characters of one `Said`; a long paste becomes several."""

OUTPUT_MAX = 2_000
"""Characters of live command output that are kept."""


def amount(count: int) -> str:
    """A number of characters for the eye: 830, 2.1k, 14k."""
    return str(count) if count < 1000 else f"{count / 1000:.1f}k" if count < 10_000 else f"{count // 1000}k"


def seconds(duration: float) -> str:
    """A duration for the eye; nothing when it is none."""
    if duration < 0.0005:
        return ""
    if duration < 1:
        return f"{duration * 1000:.0f} ms"
    return f"{duration:.1f}s" if duration < 60 else f"{duration // 60:.0f}m {duration % 60:02.0f}s"


# ------------------------------------------------------------------ one event to its blocks


def said(text: str) -> list[Block]:
    """The blocks of a message of the person."""
    blocks: list[Block] = []
    part: list[str] = []
    size = 0
    for line in marked(sanitise(text.rstrip(), "text").spans).split("\n"):
        part.append(line)
        size += len(line) + 1
        if size >= SAID_MAX:
            blocks.append(Said("\n".join(part), not blocks))
            part, size = [], 0
    return [*blocks, Said("\n".join(part), not blocks)] if part else blocks


def prose(text: str) -> list[Prose]:
    """The chunks of a whole answer."""
    sanitiser, chunker = Sanitiser(context="text"), Chunker()
    chunker.feed(marked(sanitiser.feed(text)))
    chunker.feed(marked(sanitiser.finish()))
    return chunker.finish()


def after_reply(event: ev.AssistantSaid) -> list[Block]:
    """What stands below an answer that did not end well."""
    if not event.complete:
        return [Note("cut short, not complete")]
    text = CUT.get(event.finish or "")
    return [Note(text, style="strong")] if text else []


def verb_object(call: ToolCall, summary: str) -> tuple[str, str]:
    """The verb and the object of a call, from its summary, else from its arguments."""
    verb = VERBS.get(call.name, call.name)
    head, _, tail = summary.strip().partition(" ")
    if tail:
        return head, tail.strip()
    arguments = call.arguments or {}
    for name in ("path", "argv", "script", "text", "query", "url"):
        if value := arguments.get(name):
            return verb, " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return verb, head if head != verb else ""


def tool_done(event: ev.ToolDone) -> Action:
    """The line of an action that ended, was refused or left out."""
    verb, what = verb_object(event.call, event.summary)
    if event.denied:
        word = DENIALS[event.denied]
        said = f"{word}: {event.note}" if event.note else ""
        return Action(verb, what, word="" if said else word, reason=said, output=event.text)
    receipt = event.receipt
    failed = event.status != "applied" or (receipt is not None and receipt.exit_code not in {None, 0})
    facts = [event.note]
    if receipt is not None and receipt.by == "key":
        facts.append("applied by you" if receipt.path else "allowed by you")
    facts.append(seconds(event.duration))
    command = receipt is not None and receipt.exit_code is not None
    word = "" if not failed else "FAIL" if command else "refused" if event.status == "refused" else "error"
    return Action(
        verb,
        what,
        tuple(filter(None, facts)),
        word,
        "fail" if failed else "dim",
        output=event.text,
        excerpt=6 if failed else 0,
        tail=command,
    )


def check_done(event: ev.CheckDone) -> Action:
    """The line of a check."""
    code = event.exit_code
    facts = tuple(filter(None, [seconds(event.duration)]))
    if event.passed:
        return Action("check", shlex.join(event.argv), facts, "ok", "ok", output=event.output)
    word = "FAIL, did not end" if code is None else f"FAIL exit {code}"
    return Action("check", shlex.join(event.argv), facts, word, "fail", output=event.output, excerpt=8, tail=True)


def undone(event: ev.Undone) -> Note:
    """The line of an undo or a redo."""
    count = f"{len(event.paths)} file{'s' * (len(event.paths) != 1)}"
    left = f"  left as they are: {', '.join(event.left)}" if event.left else ""
    return Note(f"{count}: {', '.join(event.paths)}{left}", "done again" if event.redo else "undone", "strong")


def failed(error: ProviderError, profile: str = "") -> Card:
    """The card of a failed model call: what failed, at which profile, and the next step."""
    status = f" ({error.status})" if error.status else ""
    where = f" at {profile}" if profile else ""
    after = NEXT.get(error.kind, "/retry, or choose another with /provider")
    title = "No usable key" if error.kind == "auth" and not error.status else TITLES[error.kind]
    return Card(title + where + status, error.message, after)


def ended(event: ev.RunEnded, turn: fold.Totals | None = None) -> Note:
    """The line of a run's end: never more than was verified. `turn` is what it took."""
    label, style = ENDINGS.get(event.reason, (f"stopped: {event.reason.value.replace('_', ' ')}", "strong"))
    if event.reason is StopReason.UNVERIFIED and not event.detail:
        label += " (no check)"
    detail = "" if event.reason is StopReason.FAILED else event.detail  # the card before it says it
    steps = f"{event.steps} step{'s' if event.steps != 1 else ''}" if event.steps else ""
    return Note("  ".join(part for part in (detail, steps, took(turn or fold.Totals())) if part), label, style)


def took(turn: fold.Totals) -> str:
    """Tokens sent and received in a turn, and its price when it is known and not nothing."""
    sent, received = turn.usage.input_tokens, turn.usage.output_tokens
    if sent is None and received is None:
        return ""
    counts = ["?" if count is None else amount(count) for count in (sent, received)]
    return f"{counts[0]} in, {counts[1]} out" + (f"  ${turn.cost:.4f}" if turn.cost else "")


# ------------------------------------------------------------------ the fold


class Story:
    """The blocks of a session, kept up to date event by event.

    `blocks[:settled]` come from durable events and never change; behind them are the finished blocks of
    the streaming reply. `text` is its open chunk, `pending` what is going on.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.settled = 0
        self.changed = 0
        """Blocks from this index on are new since the reader last set it to `len(blocks)`."""
        self.text: Chunker | None = None
        self.answer = ""
        """Markdown source of the newest complete answer, as it came."""
        self._raw: list[str] = []
        self._sanitiser = Sanitiser(context="text")
        self._thought = 0
        self._pending: dict[str, Action] = {}
        self._asked: dict[str, str] = {}
        self._writing: Block | None = None
        self._models = 0
        self._profile = ""
        self._turn = fold.Totals()
        self._recovered = False
        """The open reply is known from a checkpoint only: its process died."""

    def pending(self) -> list[Block]:
        """What is going on, oldest first."""
        return [*self._pending.values(), *([self._writing] if self._writing else [])]

    def feed(self, event: ev.Event | ev.Unknown) -> None:
        """Take the next event."""
        match event:
            case TextDelta(text):
                self._stream(text)
            case ReasoningDelta(text):
                self._think(len(text))
            case ev.AssistantSaid():
                self._said(event)
            case ev.Checkpoint(text):
                if self.text is None or self._recovered:
                    self._stream(text)
                    self._recovered = True
            case ev.ToolStarted(call, summary):
                self._pending[call.id] = Action(*verb_object(call, summary), word="running", live=True)
            case ev.CommandOutput(call_id, text):
                self._output(call_id, text)
            case ev.ArgumentsDelta(name, size):
                self._writing = Action(VERBS.get(name, name), "", (f"writing {amount(size)} chars",), live=True)
            case RetryTick(attempt, wait, error):
                card = failed(error, self._profile)
                self._writing = replace(
                    card, next=f"Try {attempt + 1} in {wait:.0f} s; your message is kept; Esc stops"
                )
            case ev.Phase():
                pass
            case _:
                self._durable(event)

    def _durable(self, event: ev.Event | ev.Unknown) -> None:
        self._writing = None
        match event:
            case ev.UserSaid(text, images):
                self._turn = fold.Totals()
                if self._recovered:
                    self._leave_reply()
                self._pending = {id_: action for id_, action in self._pending.items() if action.word != ASKING}
                self._append(said(text))
                self._append(Note(f"{image.name}  {image.size / 1000:,.0f} kB", "picture") for image in images)
            case ev.Asked(request_id, call_id, tool, summary):
                self._asked[request_id] = call_id
                call = ToolCall(call_id, tool, None)
                self._pending[call_id] = Action(*verb_object(call, summary), word=ASKING, live=True)
            case ev.Answered(request_id):
                self._pending.pop(self._asked.pop(request_id, ""), None)
            case ev.ToolDone():
                self._pending.pop(event.call.id, None)
                self._append([tool_done(event)])
            case ev.CheckDone():
                self._pending.pop("check", None)
                self._append([check_done(event)])
            case ev.Undone():
                self._append([undone(event)])
            case ev.ModelChosen(profile, model):
                self._models += 1
                self._profile = profile
                if self._models > 1:
                    self._append([Note(f"{model} ({profile}) answers from here on", "model")])
            case ev.Notice(text, title=title) if title:
                self._append([Card(title, text)])
            case ev.ProtocolChosen(protocol, reason):
                self._append([Note(f"{protocol} from here on: {reason}", "protocol")])
            case ev.Notice(text, audience):
                self._append([Note(text, "" if audience == "person" else "told the model")])
            case ev.ProviderFailed(error):
                self._leave_reply()
                self._append([failed(error, self._profile)])
            case ev.RunEnded():
                self._leave_reply()
                self._pending.clear()
                self._append([ended(event, self._turn)])
            case ev.Unknown(kind):
                self._append([Note(kind, "record of a newer version")])
            case _:
                pass

    # -------------------------------------------------------------- the reply

    def _stream(self, text: str) -> None:
        if self.text is None:
            self.text = Chunker()
            self._thought_ends()
        self._writing = None
        self._raw.append(text)
        self._flow(marked(self._sanitiser.feed(text)))

    def _flow(self, text: str) -> None:
        assert self.text is not None
        known = len(self.text.chunks)
        self.text.feed(text)
        self.blocks += self.text.chunks[known:]

    def _think(self, size: int) -> None:
        self._thought += size
        self._writing = Thought(self._thought, live=True)

    def _thought_ends(self) -> None:
        if self._thought:
            self.blocks.append(Thought(self._thought))
            self._thought = 0

    def _said(self, event: ev.AssistantSaid) -> None:
        self._turn = fold.add(self._turn, event)
        text = event.message.text
        reasoning = [Thought(len(event.message.reasoning))] if event.message.reasoning else []
        counted = [block for block in self.blocks[self.settled : self.settled + 1] if isinstance(block, Thought)]
        if self.text is not None and counted == reasoning and "".join(self._raw) == text:
            self._finish_stream()
        else:
            self._drop_reply()
            self.blocks += [*reasoning, *prose(text)]
        self._end_reply()
        self.answer = text if text.strip() else self.answer
        self._append(after_reply(event))

    def _finish_stream(self) -> None:
        assert self.text is not None
        self._flow(marked(self._sanitiser.finish()))
        known = len(self.text.chunks)
        self.blocks += self.text.finish()[known:]

    def _drop_reply(self) -> None:
        del self.blocks[self.settled :]
        self.changed = min(self.changed, self.settled)

    def _end_reply(self) -> None:
        self.text, self._raw, self._thought, self._writing = None, [], 0, None
        self._sanitiser, self._recovered = Sanitiser(context="text"), False
        self.settled = len(self.blocks)

    def _leave_reply(self) -> None:
        """A reply that never got its durable record is not part of the story; a checkpoint of it is."""
        if self.text is not None:
            self._finish_stream()
            self._end_reply()
            self._append([Note("cut short, not complete")])
        self._drop_reply()
        self._end_reply()

    # -------------------------------------------------------------- helpers

    def _output(self, call_id: str, text: str) -> None:
        action = self._pending.get(call_id) or Action("check", "", word="running", live=True)
        key = call_id if call_id in self._pending else "check"
        output = (action.output + text)[-OUTPUT_MAX:]
        self._pending[key] = replace(action, output=output, excerpt=4, tail=True)

    def _append(self, blocks: Iterable[Block]) -> None:
        """Settle durable blocks, before the streaming reply if there is one."""
        new = list(blocks)
        self.changed = min(self.changed, self.settled)
        self.blocks[self.settled : self.settled] = new
        self.settled += len(new)
