"""What events are in the transcript: blocks that know no width, no colour and no terminal."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TypeAlias

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.display import Sanitiser, plain, sanitise
from tui_agent.core.endings import UNANSWERED, StopReason
from tui_agent.core.types import (
    OWN_COMMAND,
    ToolCall,
)
from tui_agent.told import told
from tui_agent.ui.lines import marked
from tui_agent.ui.markdown import Chunker, Prose
from tui_agent.ui.numbers import amount, seconds

# ------------------------------------------------------------------ blocks


@dataclass(frozen=True, slots=True)
class Said:
    """A part of what the person said: sanitised and marked. `first` carries the sign in the gutter.

    `turn` is the number of the message whose turn it belongs to: its own, or that of the turn that was running.
    """

    text: str
    first: bool = True
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Thought:
    """The model's reasoning: how many characters, and as it came once it is complete. `live`: still counting."""

    size: int
    text: str = ""
    live: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """One line per action: verb, object, short result (`facts`) and a `word` that carries the state.

    `style` is that of the word: ok, fail or dim. `reason` stands below, then the first or, with `tail`,
    the last lines of `output`; all of them when details are unfolded. `sentences`: that is no output of a program, so it
    is broken between words. `live`: not ended yet. `how` is a fact, too: what can be done with it, by which actions.
    `call` is that of an edit: its difference is shown below the output when details are unfolded.
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
    sentences: bool = False
    live: bool = False
    how: str = ""
    call: ToolCall | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Note:
    """A word of the product, in one style. `label` is set before it."""

    text: str
    label: str = ""
    style: str = "dim"


@dataclass(frozen=True, slots=True)
class Card:
    """Something failed: what, why, what to do next, and by which keys (their actions)."""

    title: str
    cause: str
    next: str = ""
    keys: tuple[str, ...] = ()


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

EDITS = frozenset({"edit_file", "multi_edit", "propose_edit", "write_file"})
"""Tools whose calls name what they change."""

TAKE_BACK = "/revert takes its edits back"
CARRY_OUT = "/approve carries it out"

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
    "pause": "broken off by the server",
    **UNANSWERED,
}

ASKING = "asks you"

RESULTS = 18
"""Lines of the results of a web search that are shown at once, and of a command that the person typed to see them."""

SAID_MAX = 1_500
"""Characters of one `Said`; a long paste becomes several."""

OUTPUT_MAX = 2_000
"""Characters of live command output that are kept."""


# ------------------------------------------------------------------ one event to its blocks


def said(text: str, turn: int) -> list[Block]:
    """The blocks of a message of the person, of the turn with this number."""
    blocks: list[Block] = []
    part: list[str] = []
    size = 0
    for line in marked(sanitise(text.rstrip(), "prose").spans).split("\n"):
        part.append(line)
        size += len(line) + 1
        if size >= SAID_MAX:
            blocks.append(Said("\n".join(part), not blocks, turn))
            part, size = [], 0
    return [*blocks, Said("\n".join(part), not blocks, turn)] if part else blocks


def prose(text: str) -> list[Prose]:
    """The chunks of a whole answer."""
    sanitiser, chunker = Sanitiser("prose"), Chunker()
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
    edit = event.call if event.call.name in EDITS else None
    if event.denied:
        word = DENIALS[event.denied]
        said = f"{word}: {event.note}" if event.note else ""
        word = "" if said else word
        return Action(verb, what, word=word, reason=said, output=event.text, sentences=True, call=edit)
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
        output=event.text.removesuffix(f"({event.note})"),  # it stands on the line already
        excerpt=RESULTS if event.call.name in {OWN_COMMAND, "web_search"} else 6 if failed else 0,
        tail=command,
        sentences=failed and not command,
        call=edit,
    )


def check_done(event: ev.CheckDone) -> Action:
    """The line of a check."""
    code = event.exit_code
    facts = tuple(
        filter(None, [seconds(event.duration), "unsandboxed" if event.sandbox == "none" else "", *event.warnings])
    )
    if event.passed:
        return Action("check", shlex.join(event.argv), facts, "ok", "ok", output=event.output)
    word = "could not be run" if not event.ran else "FAIL, did not end" if code is None else f"FAIL exit {code}"
    return Action("check", shlex.join(event.argv), facts, word, "fail", output=event.output, excerpt=8, tail=True)


def undone(event: ev.Undone) -> Note:
    """The line of an undo or a redo."""
    count = f"{len(event.paths)} file{'s' * (len(event.paths) != 1)}"
    names, kept = (", ".join(plain(path, "path") for path in paths) for paths in (event.paths, event.left))
    left = f"  left as they are: {kept}" if kept else ""
    return Note(
        f"{count}: {names}{left}",
        "done again" if event.redo else "taken back" if event.batch else "undone",
        "strong",
    )


def rewound(turn: int, paths: tuple[str, ...]) -> Note:
    """The line of a rewind of the conversation."""
    left = f"  files stay as they are: {', '.join(paths)}" if paths else ""
    return Note(f"to before message {turn}; what stands between is not sent any more{left}", "back", "strong")


def noticed(text: str, audience: str) -> Block:
    """A word of the product; a long one to the model (instructions of a folder, a skill) unfolds."""
    if audience == "person":
        return Note(text)
    if text.count("\n") < RESULTS:
        return Note(text, "told the model")
    return Action("told", "the model", (f"{text.count(chr(10)) + 1} lines",), output=text, excerpt=RESULTS)


def decision(event: ev.Event | ev.Unknown) -> list[Block]:
    """The line of a decision about what is sent; a summary unfolds."""
    words = told(event)
    if words is None:
        return []
    if isinstance(event, ev.Compacted) and not event.fault:
        how = "{view.details} shows the summary, /compact undo takes it back"
        word = "by itself" if event.by == "room" else ""
        return [Action("compact", words[1], (), word, output=event.text, how=how)]
    if isinstance(event, ev.Routed):
        return [Note(words[1], words[0], event.intent)]
    return [Note(words[1], words[0], "strong" if isinstance(event, ev.Compacted) else "dim")]


def ended(event: ev.RunEnded, turn: fold.Totals | None = None, *, plan: bool = False) -> Note:
    """The line of a run's end: never more than was verified. `turn` is what it took, `plan` whether it was to plan."""
    label, style = ENDINGS.get(event.reason, (f"stopped: {event.reason.value.replace('_', ' ')}", "strong"))
    if event.reason is StopReason.UNVERIFIED and not event.detail:
        label += " (no check)"
    detail = "" if event.reason is StopReason.FAILED else event.detail  # the card before it says it
    steps = f"{event.steps} step{'s' if event.steps != 1 else ''}" if event.steps else ""
    if plan and event.reason is StopReason.COMPLETED:
        way_on = CARRY_OUT
    else:
        way_on = TAKE_BACK if event.check == "failed" else ""
    return Note("  ".join(part for part in (detail, way_on, steps, took(turn or fold.Totals())) if part), label, style)


def took(turn: fold.Totals) -> str:
    """Tokens sent and received in a turn, and its price when it is known and not nothing."""
    sent, received = turn.usage.input_tokens, turn.usage.output_tokens
    if sent is None and received is None:
        return ""
    counts = ["?" if count is None else amount(count) for count in (sent, received)]
    partly = f", {turn.uncounted} not counted" if turn.uncounted else ""
    return f"{counts[0]} in, {counts[1]} out{partly}" + (f"  ${turn.cost:.4f}" if turn.cost else "")
