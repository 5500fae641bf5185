"""Replay: a saved session's replies through today's loop, with the recorded observations as results.

The model, the person, the tools and the check are stand-ins that answer from the log; guards, limits, protocols and
endings are today's. What comes out is compared with what was recorded, event by event, up to the first
divergence. With a real workspace in place of the recorded tools (`--execute`) the effects happen again, in a copy.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.agent import Agent
from tui_agent.core.check import Check
from tui_agent.core.endings import BROKEN_OFF, UNANSWERED, Limits
from tui_agent.core.evidence import Changed, missing
from tui_agent.core.guards import NOT_SHOWN, PASSED_BUT, denial, floor_of
from tui_agent.core.log import MemoryLog, is_durable
from tui_agent.core.lookup import Lookup, ReadOutput
from tui_agent.core.loop import CUT, TAKEN, run
from tui_agent.core.programs import TOOLS as CLASSES
from tui_agent.core.reply import over_the_limit, parse_arguments
from tui_agent.core.standing import apart
from tui_agent.core.types import (
    ApprovalRequest,
    Author,
    CallDelta,
    Decision,
    Delta,
    Effect,
    Emit,
    ListFiles,
    Model,
    Outcome,
    PolicyRequest,
    ProviderError,
    ReadFile,
    ReasoningDelta,
    ReplyEnd,
    Request,
    RunArgv,
    RunScript,
    SearchText,
    SetPlan,
    TextDelta,
    ToolCall,
    Tools,
    ToolSpec,
    Verdict,
    WriteBytes,
)
from tui_agent.protocols.dialect import Speech, Text
from tui_agent.protocols.native import StepDown
from tui_agent.recording import Run, runs
from tui_agent.shapes import END, Divergence, Recorded, Shape, shape_of
from tui_agent.tools.lookups import LOOKUPS

Bytes: TypeAlias = Callable[[str | None], bytes | None]
"""The bytes of a hash, None where they are not held."""


# ------------------------------------------------------------------ stand-ins


def recorded_model(recording: Run) -> Model:
    """Plays the replies of a run, in the protocol that was spoken at each."""
    replies = iter(tuple(_replies(recording)))

    async def stream(request: Request) -> AsyncIterator[Delta]:
        deltas = next(replies, None)
        if deltas is None:
            error = ProviderError("bad_request", "the recording holds no further reply")
            deltas = (ReplyEnd("error", error=error),)
        for delta in deltas:
            yield delta

    return Model(Author("scripted", "replay", "recorded"), stream)


def _replies(recording: Run) -> Iterator[tuple[Delta, ...]]:
    protocol = fold.protocol(recording.before)
    said: ev.AssistantSaid | None = None
    answered = False
    offered = tuple(tool for tool in recording.tools if tool.name in recording.named(text=True))
    for event, then in pairwise((*recording.events, None)):
        if event is None or shape_of(event) is None:
            continue
        match event:
            case ev.AssistantSaid(complete=True):
                yield tuple(_deltas(event, protocol, offered, then.text if isinstance(then, ev.Notice) else ""))
                said, answered = None, True
                continue
            case ev.AssistantSaid():
                said = event
                continue
            case ev.ProviderFailed(error):
                yield (TextDelta(said.message.text if said else ""), ReplyEnd("error", error=error))
            case ev.ProtocolChosen(name):
                if not answered:
                    refused = ProviderError("bad_request", "this server does not support tools")
                    yield (ReplyEnd("error", error=refused),)
                protocol = name
        answered = False


def _deltas(event: ev.AssistantSaid, protocol: str, offered: tuple[ToolSpec, ...], told: str) -> Iterator[Delta]:
    """A reply as it came; `told` is the word about it, which says what the log does not hold of it."""
    message = event.message
    if message.reasoning:
        yield ReasoningDelta(message.reasoning)
    if protocol != "native":
        codec = Speech("", "", StepDown(protocol)).codec  # type: ignore[arg-type]  # a word that the log held
        assert isinstance(codec, Text)
        as_it_came = told == TAKEN or (event.finish in {*UNANSWERED, *BROKEN_OFF} and not message.calls)
        yield TextDelta(message.text if as_it_came else codec.written(message, offered))
    else:
        typed = [call for call in message.calls if call.arguments is not None and _typed(call)]
        yield TextDelta(typed[0].raw if typed else message.text)
        for key, call in enumerate(() if typed else message.calls):
            raw = call.raw or json.dumps(dict(call.arguments or {}))
            yield CallDelta(key, call.id, call.name, raw)
        for key in range(over_the_limit(message.calls)):
            yield CallDelta(len(message.calls) + key, "", "left_off", "{}")
        if message.text.strip() and told == CUT.format(BROKEN_OFF["length"]):
            yield CallDelta(0, "", "cut_off", "{")
    yield ReplyEnd(event.finish, event.usage, extras=message.extras)


def _typed(call: ToolCall) -> bool:
    """Whether a call was read from the text of a native reply: its raw text is more than its arguments."""
    return bool(call.raw) and parse_arguments(call.raw)[0] != call.arguments


@dataclass
class RecordedPerson:
    """Gives the answers that the log holds, by the call they are about; `executes`: with the hunks that were chosen.

    What the person made of a proposal is not in the log, but its result may be `held`.
    """

    recording: Run
    held: Bytes = lambda _: None
    executes: bool = False
    _answers: dict[str, ev.Answered] = field(init=False)

    def __post_init__(self) -> None:
        by_request = {a.request_id: a for a in self.recording.of(ev.Answered)}
        asked = self.recording.of(ev.Asked)
        self._answers = {a.call_id: by_request[a.request_id] for a in asked if a.request_id in by_request}
        self._asked = {a.request_id: a for a in asked}
        self._receipts = {done.call.id: done.receipt for done in self.recording.of(ev.ToolDone)}

    async def __call__(self, batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        """The recorded answers; to what was not asked then, no."""
        decisions = []
        for request in batch:
            known = self._answers.get(request.call.id)
            if known is None:
                decisions.append(Decision(request.id, "no", "not asked in the recording", "nobody"))
                continue
            instead = self._instead(request, self._asked.get(known.instead or ""))
            chosen = frozenset(known.chosen) if self.executes and known.chosen is not None and not instead else None
            decisions.append(Decision(request.id, known.answer, known.reason, known.by, chosen, instead))
        return tuple(decisions)

    def _instead(self, request: ApprovalRequest, asked: ev.Asked | None) -> ApprovalRequest | None:
        """What took the place of a request, as far as its receipt tells."""
        if asked is None:
            return None
        receipt, effect = self._receipts.get(request.call.id), request.effect
        if receipt is not None and isinstance(effect, WriteBytes) and (new := self.held(receipt.after)) is not None:
            effect = replace(effect, new=new)
        return replace(request, id=asked.request_id, effect=effect, summary=asked.summary)


def denied_then(done: ev.ToolDone | None, request: ApprovalRequest) -> Verdict | None:
    """The verdict of a recorded call that was refused unasked; None when it was not."""
    if done is None or done.denied not in {"policy", "nobody"}:
        return None
    return denial(done.note, done.text, request.policy.permission)


def outcome_then(done: ev.ToolDone) -> Outcome:
    """How a recorded call ended."""
    return Outcome(done.status, done.text, done.receipt, done.note, done.invalid, summary=done.summary)


@dataclass
class RecordedTools:
    """Tools whose results are those of the log; nothing is read, written or run."""

    recording: Run
    held: Bytes = lambda _: None

    def __post_init__(self) -> None:
        self.specs = self.recording.tools
        self._done = {done.call.id: done for done in self.recording.of(ev.ToolDone)}
        self._asked = {asked.call_id: asked.summary for asked in reversed(self.recording.of(ev.Asked))}

    async def prepare(self, call: ToolCall, earlier: tuple[ApprovalRequest, ...]) -> ApprovalRequest | Outcome:
        """The call with an effect of the kind that it had, or the recorded reason why it had none."""
        done = self._done.get(call.id)
        if done is None:
            return Outcome("error", "error: the recording holds no result of this call", invalid=True)
        if not done.summary or done.invalid:
            return outcome_then(done)
        path, floor = floor_of(done.note, done.text) if done.denied == "person" else ("", "")
        floors = (floor,) if floor else ()
        policy = PolicyRequest(call.name, CLASSES.get(call.name, "none"), path=path or None, floors=floors)
        summary = self._asked.get(call.id, done.summary)
        return ApprovalRequest(f"replay-{call.id}", call, self._effect(done), policy, summary)

    def _effect(self, done: ev.ToolDone) -> Effect:
        arguments = done.call.arguments or {}
        path = str(arguments.get("path", "."))
        match done.call.name:
            case "read_file":
                return ReadFile(path)
            case "list_files":
                return ListFiles(path)
            case "search":
                return SearchText(str(arguments.get("text", "")), path)
            case "run_command":
                return RunArgv(tuple(map(str, arguments.get("argv", ()))), 1.0)
            case "run_shell":
                return RunScript(str(arguments.get("script", "")), 1.0)
            case "update_plan":
                return SetPlan(())
            case "read_output":
                return ReadOutput(str(arguments.get("name", "")), 0, 1)
            case name if name in LOOKUPS:
                return Lookup("skill", done.summary)
        receipt = done.receipt
        before, after = (receipt.before, receipt.after) if receipt else (None, None)
        return WriteBytes(path, self.held(before), self.held(after))

    def decide(self, request: ApprovalRequest) -> Verdict:
        """As the policy decided then."""
        done = self._done[request.call.id]
        if request.call.id in self._asked:
            return Verdict("ask", "recorded", request.policy.permission)
        return denied_then(done, request) or Verdict("allow", "recorded", request.policy.permission)

    async def commit(self, request: ApprovalRequest, decision: Decision, emit: Emit) -> Outcome:
        """The recorded result."""
        done = self._done[request.call.id]
        return outcome_then(done)


def recorded_check(recording: Run, execute: Callable[[tuple[str, ...], Emit], Any] | None = None) -> Check | None:
    """The check of a run with its recorded results, or carried out again by `execute`; None when it had none."""
    results: list[ev.CheckDone] = recording.of(ev.CheckDone)
    ends: list[ev.RunEnded] = recording.of(ev.RunEnded)
    told = [
        e for e in recording.events if isinstance(e, ev.CheckDone) or (isinstance(e, ev.Asked) and e.tool == "check")
    ]
    asked = [e for e in told if isinstance(e, ev.Asked)]
    if not (told or any(end.check != "none" for end in ends)):
        return None
    argv = results[0].argv if results else tuple(shlex.split(asked[0].summary)[1:]) if asked else ("check",)
    first = bool(asked) and told[0] is asked[0]
    left = list(results)

    async def go(emit: Emit) -> ev.CheckDone:
        if execute is not None:
            done: ev.CheckDone = await execute(argv, emit)
            return done
        return left.pop(0) if left else ev.CheckDone(argv, None, "the recording holds no further check", 0.0)

    asks: Literal["always", "unseen", "never"] = "always" if first else "unseen" if asked else "never"
    once = len(asked) == 1 or any({type(a), type(b)} == {ev.CheckDone} for a, b in pairwise(told))
    # a proposal is asked about once
    return Check(argv, go, asks=asks, proposed=first and once, each_edit=recording.checks_each)


@dataclass(frozen=True, slots=True)
class Played(Speech):
    """The dialect of a run, with the names of the tools that were offered natively and in the text protocols."""

    native: tuple[str, ...] = ()
    text: tuple[str, ...] = ()

    def offered(self, tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
        """Those of the tools that could be called then in this protocol."""
        return tuple(tool for tool in tools if tool.name in (self.native if self.name == "native" else self.text))


# ------------------------------------------------------------------ playing and comparing


async def _nothing(recording: Run) -> None:
    """Without effects there is nothing to be done."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What a replay is played on: today's limits, how to get the tools and the check of a run, and bytes.

    `held` are those of the session, `content` those of a file now.
    """

    limits: Limits = field(default_factory=Limits)
    tools: Callable[[Run], Tools] = RecordedTools
    check: Callable[[Run], Check | None] = recorded_check
    held: Bytes = lambda _: None
    content: Callable[[str], bytes | None] = lambda _: None
    executes: bool = False
    beside: Callable[[Run], Awaitable[None]] = _nothing
    """Makes what was done before a run, and belongs to none, happen again."""


async def play(
    events: Sequence[Recorded], stage: Stage, show: Callable[[Shape], None] = lambda _: None
) -> tuple[int, Divergence | None]:
    """Play every run of a session; gives how many events were as recorded, and the first that was not."""
    number = 0
    for recording in runs(events):
        await stage.beside(recording)
        expected = list(_expected(recording, executes=stage.executes))
        log, stopping = MemoryLog(list(recording.before)), recording.stopping
        agent = Agent(
            recorded_model(recording),
            stage.tools(recording),
            RecordedPerson(recording, stage.held, stage.executes),
            recording.limits(stage.limits),
            log,
            check=stage.check(recording),
            on_reject="stop" if stopping == "person" else "continue",
            on_deny="stop" if stopping not in {"", "person"} else "continue",
            apart=apart(recording.before),
            content=stage.content,
            evidence=partial(_missing, recording, log),
            between=partial(_said_by_now, recording, log),
            dialect=Played(
                "",
                "",
                StepDown(fold.protocol(recording.before)),
                auto=_steps_down(recording),
                native=recording.named(text=False),
                text=recording.named(text=True),
            ),
        )
        at = 0
        async with aclosing(run(recording.task, agent)) as played:
            async for event in played:
                actual = shape_of(event, executes=stage.executes) if is_durable(event) else None
                if actual is None:
                    continue
                if at == len(expected):
                    if not recording.whole:
                        break
                    return number, Divergence(number, END, actual)
                if actual != expected[at]:
                    return number, Divergence(number, expected[at], actual)
                at, number = at + 1, number + 1
                show(actual)
                if at == len(expected) and not recording.whole:
                    break
        if at < len(expected):
            return number, Divergence(number, expected[at], {"event": "the end of the run"})
    return number, None


def _expected(recording: Run, *, executes: bool) -> Iterator[Shape]:
    """What a replay of a run must show. A request that was too long leaves no reply to play, so its step does not count."""
    for event in recording.events:
        shape = shape_of(event, executes=executes)
        if isinstance(event, ev.RunEnded):
            shape = shape_of(replace(event, steps=event.steps - recording.too_long))
        if shape is not None:
            yield shape


def _said_by_now(recording: Run, log: MemoryLog) -> list[ev.Steered]:
    """What the person said to a run, once as many replies came as then."""
    played = log.events[len(recording.before) :]
    replies = sum(isinstance(event, ev.AssistantSaid) for event in played)
    given = sum(isinstance(event, ev.Steered) for event in played)
    said: list[ev.Steered] = []
    for event in recording.events:
        replies -= isinstance(event, ev.AssistantSaid)
        if isinstance(event, ev.Steered) and replies >= 0:
            said.append(event)
    return said[given:]


def _missing(recording: Run, log: MemoryLog, asked: Sequence[str], changed: Mapping[str, Changed] | None) -> str:
    """What the changes do not show of a task; where their bytes are not there, as it was judged then."""
    if changed is not None:
        return missing(asked, changed)
    replies = sum(isinstance(event, ev.AssistantSaid) for event in log.events[len(recording.before) :])
    for event in recording.events:
        replies -= isinstance(event, ev.AssistantSaid)
        said = event.text if isinstance(event, ev.Notice) else event.detail if isinstance(event, ev.RunEnded) else ""
        for template in (NOT_SHOWN, PASSED_BUT) if not replies else ():
            before, behind = template.split("{}")
            if said.startswith(before) and said.endswith(behind):
                return said.removeprefix(before).removesuffix(behind)
    return ""


def _steps_down(recording: Run) -> bool:
    """Whether its protocol could change: it did, or began natively where the profile does not fix it."""
    chosen = [e for e in recording.before if isinstance(e, ev.ModelChosen)]
    if chosen and chosen[-1].fixed:
        return False
    changed = any(isinstance(e, ev.ProtocolChosen) for e in (*recording.before, *recording.events))
    return changed or fold.protocol(recording.before) == "native"
