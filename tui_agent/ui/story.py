"""The blocks of a session: a fold of its events.

Blocks of durable events are only ever appended. What is still going on (the streaming reply, running
tools, an open question) stands behind them and is replaced by its durable successor, so the blocks
after the last event are a function of the durable events alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.display import Sanitiser
from tui_agent.core.types import (
    ReasoningDelta,
    RetryTick,
    TextDelta,
    ToolCall,
)
from tui_agent.ui import failures
from tui_agent.ui.blocks import (
    ASKING,
    OUTPUT_MAX,
    VERBS,
    Action,
    Block,
    Card,
    Note,
    Thought,
    after_reply,
    check_done,
    decision,
    ended,
    noticed,
    prose,
    rewound,
    said,
    tool_done,
    undone,
    verb_object,
)
from tui_agent.ui.lines import marked
from tui_agent.ui.markdown import Chunker
from tui_agent.ui.numbers import amount

REPLY_MAX = 2_000_000
"""Characters of one reply that are shown. Nobody reads more, and every one of them costs time and memory."""


def _hidden(size: int) -> Note:
    """The word for what is left out of a reply of `size` characters."""
    more = size - REPLY_MAX
    return Note(f"{more:,} more characters are not shown; the session keeps them, and copying this answer copies all")


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
        self.answers: list[str] = []
        """Markdown source of the complete answers, as it came."""
        self.sources: list[tuple[int, str]] = []
        """Where the blocks of a message of the person or of a reply start, and its text as it came."""
        self._raw: list[str] = []
        self._streamed = 0
        self._sanitiser = Sanitiser("prose")
        self._thought: list[str] = []
        self._thought_size = 0
        self._pending: dict[str, Action] = {}
        self._asked: dict[str, str] = {}
        self._writing: Block | None = None
        self._models = self._said_count = 0
        self._profile = ""
        self._turn = fold.Totals()
        self._mode = ""
        self._plans = False
        """The turn began in mode `plan`."""
        self._recovered = False
        """The open reply is known from a checkpoint only: its process died."""

    @property
    def _reply_start(self) -> int:
        """Where the text of the newest reply starts, behind its reasoning."""
        return self.settled + any(isinstance(block, Thought) for block in self.blocks[self.settled : self.settled + 1])

    def message_at(self, index: int) -> tuple[int, str]:
        """Where the message or reply starts that block `index` belongs to, and its text as it came so far."""
        if self._raw and index >= (start := self._reply_start):
            return start, "".join(self._raw)
        at = bisect_right(self.sources, index, key=lambda source: source[0]) - 1
        return self.sources[at] if at >= 0 else (index, "")

    def pending(self) -> list[Block]:
        """What is going on, oldest first."""
        return [*self._pending.values(), *([self._writing] if self._writing else [])]

    def feed(self, event: ev.Event | ev.Unknown) -> None:
        """Take the next event."""
        match event:
            case TextDelta(text):
                self._stream(text)
            case ReasoningDelta(text):
                self._think(text)
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
            case RetryTick():
                self._writing = Card(*failures.countdown(event, self._profile), failures.WAITING.ways)
            case ev.Phase("waiting"):
                self._writing = None
            case ev.Phase("checking", command):
                self._pending["check"] = Action("check", command, word="running", live=True)
            case ev.Phase():
                pass
            case _:
                self._durable(event)

    def _durable(self, event: ev.Event | ev.Unknown) -> None:
        self._writing = None
        self._turn = fold.add(self._turn, event)
        match event:
            case ev.UserSaid(text, images):
                self._turn = fold.Totals()
                self._said_count += 1
                self._plans = self._mode == "plan"
                if self._recovered:
                    self._leave_reply()
                self._pending = {id_: action for id_, action in self._pending.items() if action.word != ASKING}
                self.sources.append((self.settled, text))
                self._append(said(text, self._said_count))
                self._append(Note(f"{image.name}  {image.size / 1000:,.0f} kB", "picture") for image in images)
            case ev.Steered(text):
                self.sources.append((self.settled, text))
                self._append(said(text, self._said_count))
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
            case ev.ModeChosen(name, what):
                self._mode = name
                self._append([Note(f"mode {name}: {what}")])
            case ev.Named(name):
                self._append([Note(name, "named")])
            case ev.Rewound(turn, paths):
                self._append([rewound(turn, paths)])
            case ev.ProtocolChosen(protocol, reason):
                self._append([Note(f"{protocol} from here on: {reason}", "protocol")])
            case ev.Notice(text, audience, title):
                ways = failures.TRAPPED.ways if title == failures.SMALLER else ()
                self._append([Card(title, text, keys=ways) if title else noticed(text, audience)])
            case ev.ProviderFailed(error):
                self._leave_reply()
                self._append([Card(*failures.words(error, self._profile), failures.FAILED.ways)])
            case ev.RunEnded():
                self._leave_reply()
                self._pending.clear()
                self._append([ended(event, self._turn, plan=self._plans)])
            case _:
                self._append(decision(event))

    # -------------------------------------------------------------- the reply

    def _stream(self, text: str) -> None:
        if self.text is None:
            self.text = Chunker()
            self._thought_ends()
        self._writing = None
        left = max(0, REPLY_MAX - self._streamed)
        self._streamed += len(text)
        if len(text) > left:
            self._writing = _hidden(self._streamed)
        if left:
            self._raw.append(text[:left])
            self._flow(marked(self._sanitiser.feed(text[:left])))

    def _flow(self, text: str) -> None:
        assert self.text is not None
        known = len(self.text.chunks)
        self.text.feed(text)
        self.blocks += self.text.chunks[known:]

    def _think(self, text: str) -> None:
        self._thought.append(text)
        self._thought_size += len(text)
        self._writing = Thought(self._thought_size, live=True)

    def _thought_ends(self) -> None:
        if self._thought:
            self.blocks.append(Thought(self._thought_size, "".join(self._thought)))
            self._thought, self._thought_size = [], 0

    def _said(self, event: ev.AssistantSaid) -> None:
        self._turn = fold.add(self._turn, event)
        text = event.message.text
        reasoning = [Thought(len(thought), thought)] if (thought := event.message.reasoning) else []
        counted = [block for block in self.blocks[self.settled : self.settled + 1] if isinstance(block, Thought)]
        shown = text[:REPLY_MAX]
        if self.text is not None and counted == reasoning and "".join(self._raw) == shown:
            self._finish_stream()
        else:
            self._drop_reply()
            self.blocks += [*reasoning, *prose(shown)]
        if len(text) > REPLY_MAX:
            self.blocks.append(_hidden(len(text)))
        self._end_reply(text)
        self.answers += [text] if text.strip() else []
        self._append(after_reply(event))

    def _finish_stream(self) -> None:
        assert self.text is not None
        self._flow(marked(self._sanitiser.finish()))
        known = len(self.text.chunks)
        self.blocks += self.text.finish()[known:]

    def _drop_reply(self) -> None:
        del self.blocks[self.settled :]
        self.changed = min(self.changed, self.settled)

    def _end_reply(self, source: str = "") -> None:
        if source:
            self.sources.append((self._reply_start, source))
        self.text, self._raw, self._writing, self._streamed = None, [], None, 0
        self._thought, self._thought_size = [], 0
        self._sanitiser, self._recovered = Sanitiser("prose"), False
        self.settled = len(self.blocks)

    def _leave_reply(self) -> None:
        """A reply that never got its durable record is not part of the story; a checkpoint of it is."""
        if self.text is not None:
            self._finish_stream()
            self._end_reply("".join(self._raw))
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
