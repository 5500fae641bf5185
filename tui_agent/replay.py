"""Replay: a saved session's replies through today's loop, with the recorded observations as results.

The model, the person, the tools and the check are stand-ins that answer from the log; guards, limits, protocols and
endings are today's. What comes out is compared with what was recorded, event by event, up to the first
divergence. With a real workspace in place of the recorded tools (`--execute`) the effects happen again, in a copy.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.agent import Agent
from tui_agent.core.check import Check
from tui_agent.core.endings import Limits, StopReason
from tui_agent.core.log import MemoryLog, is_durable
from tui_agent.core.loop import NEARLY_OUT, run
from tui_agent.core.programs import TOOLS as CLASSES
from tui_agent.core.reply import parse_arguments
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
from tui_agent.tools.registry import TOOLS

Recorded: TypeAlias = ev.Durable | ev.Unknown
Shape: TypeAlias = Mapping[str, Any]
Bytes: TypeAlias = Callable[[str | None], bytes | None]
"""The bytes of a hash, None where they are not held."""

SPECS = tuple(tool.spec for tool in TOOLS.values())
COMMANDS = frozenset({"run_command", "run_shell"})
END = {"event": "the end of the recording"}


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event that is not as it was recorded; `number` counts the events compared before it."""

    number: int
    expected: Shape
    actual: Shape


@dataclass(frozen=True, slots=True)
class Run:
    """One task of a session: the events before it, and its own up to its end or to where it was interrupted."""

    before: tuple[Recorded, ...]
    events: tuple[Recorded, ...]
    whole: bool
    """False when the person interrupted it, or the process died: then it is compared up to there."""

    @property
    def task(self) -> str:
        """What the person said."""
        first = self.events[0]
        assert isinstance(first, ev.UserSaid)
        return first.text

    def of(self, kind: type[Any]) -> list[Any]:
        """Its events of one kind, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    def limits(self, today: Limits) -> Limits:
        """Today's limits with the number of steps that the recording shows it had, where it shows one."""
        replies = 0
        for event in self.events:
            if isinstance(event, ev.Notice) and event.text == NEARLY_OUT:
                return replace(today, max_steps=replies + 3)
            replies += isinstance(event, ev.AssistantSaid)
        ends = self.of(ev.RunEnded)
        if ends and ends[-1].reason is StopReason.STEP_LIMIT:
            return replace(today, max_steps=ends[-1].steps)
        return today


def runs(events: Sequence[Recorded]) -> Iterator[Run]:
    """The tasks of a session, in order. What happened between them is history only."""
    starts = [at for at, event in enumerate(events) if isinstance(event, ev.UserSaid)]
    for start, end in zip(starts, [*starts[1:], len(events)], strict=True):
        own = list(events[start:end])
        ended = next((at for at, event in enumerate(own) if isinstance(event, ev.RunEnded)), None)
        own = own if ended is None else own[: ended + 1]
        cut = next((at for at in range(len(own)) if _interrupted(own, at)), None)
        whole = cut is None and ended is not None
        yield Run(tuple(events[:start]), tuple(own) if whole else _answered_part(own[:cut]), whole)


def _answered_part(own: Sequence[Recorded]) -> tuple[Recorded, ...]:
    """An interrupted run up to its last reply, and beyond it only when all calls of that reply were carried out."""
    last = max((at for at, event in enumerate(own) if isinstance(event, ev.AssistantSaid)), default=-1)
    if last >= 0:
        reply = own[last]
        done = {event.call.id for event in own[last:] if isinstance(event, ev.ToolDone)}
        assert isinstance(reply, ev.AssistantSaid)
        if not done.issuperset(call.id for call in reply.message.calls):
            return tuple(own[: last + 1])
    return tuple(own)


def _interrupted(own: Sequence[Recorded], at: int) -> bool:
    match own[at]:
        case ev.AssistantSaid(complete=False):
            return not (at + 1 < len(own) and isinstance(own[at + 1], ev.ProviderFailed))
        case ev.ToolDone(note="stopped"):
            return True
        case ev.RunEnded(reason=StopReason.STOPPED, detail="stopped by you"):
            return True
    return False


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
    for event in recording.events:
        if shape_of(event) is None:
            continue
        match event:
            case ev.AssistantSaid(complete=True):
                yield tuple(_deltas(event, protocol))
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


def _deltas(event: ev.AssistantSaid, protocol: str) -> Iterator[Delta]:
    message = event.message
    if message.reasoning:
        yield ReasoningDelta(message.reasoning)
    if protocol != "native":
        codec = Speech("", "", StepDown(protocol)).codec  # type: ignore[arg-type]  # a word that the log held
        assert isinstance(codec, Text)
        cut = event.finish == "length"
        yield TextDelta(message.text if cut else codec.written(message, SPECS))
    else:
        typed = [call for call in message.calls if call.arguments is not None and _typed(call)]
        yield TextDelta(typed[0].raw if typed else message.text)
        for key, call in enumerate(() if typed else message.calls):
            raw = call.raw or json.dumps(dict(call.arguments or {}))
            yield CallDelta(key, call.id, call.name, raw)
    yield ReplyEnd(event.finish, event.usage, extras=message.extras)


def _typed(call: ToolCall) -> bool:
    """Whether a call was read from the text of a native reply: its raw text is more than its arguments."""
    return bool(call.raw) and parse_arguments(call.raw)[0] != call.arguments


@dataclass
class RecordedPerson:
    """Gives the answers that the log holds, by the call they are about."""

    recording: Run
    _answers: dict[str, ev.Answered] = field(init=False)

    def __post_init__(self) -> None:
        by_request = {a.request_id: a for a in self.recording.of(ev.Answered)}
        asked = self.recording.of(ev.Asked)
        self._answers = {a.call_id: by_request[a.request_id] for a in asked if a.request_id in by_request}

    async def __call__(self, batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        """The recorded answers; to what was not asked then, no."""
        decisions = []
        for request in batch:
            known = self._answers.get(request.call.id)
            decisions.append(
                Decision(request.id, known.answer, known.reason, known.by)
                if known is not None
                else Decision(request.id, "no", "not asked in the recording", "nobody")
            )
        return tuple(decisions)


@dataclass
class RecordedTools:
    """Tools whose results are those of the log; nothing is read, written or run."""

    recording: Run
    held: Bytes = lambda _: None
    specs: tuple[ToolSpec, ...] = SPECS

    def __post_init__(self) -> None:
        self._done = {done.call.id: done for done in self.recording.of(ev.ToolDone)}
        self._asked = {asked.call_id for asked in self.recording.of(ev.Asked)}

    async def prepare(self, call: ToolCall, earlier: tuple[ApprovalRequest, ...]) -> ApprovalRequest | Outcome:
        """The call with an effect of the kind that it had, or the recorded reason why it had none."""
        done = self._done.get(call.id)
        if done is None:
            return Outcome("error", "error: the recording holds no result of this call", invalid=True)
        if not done.summary or done.invalid:
            return Outcome(done.status, done.text, done.receipt, done.note, done.invalid)
        policy = PolicyRequest(call.name, CLASSES.get(call.name, "none"))
        return ApprovalRequest(f"replay-{call.id}", call, self._effect(done), policy, done.summary)

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
        receipt = done.receipt
        before, after = (receipt.before, receipt.after) if receipt else (None, None)
        return WriteBytes(path, self.held(before), self.held(after))

    def decide(self, request: ApprovalRequest) -> Verdict:
        """As the policy decided then."""
        done = self._done[request.call.id]
        if request.call.id in self._asked:
            return Verdict("ask", "recorded", request.policy.permission)
        if done.denied in {"policy", "nobody"}:
            return Verdict("deny", done.note, request.policy.permission)
        return Verdict("allow", "recorded", request.policy.permission)

    async def commit(self, request: ApprovalRequest, decision: Decision, emit: Emit) -> Outcome:
        """The recorded result."""
        done = self._done[request.call.id]
        return Outcome(done.status, done.text, done.receipt, done.note)


def recorded_check(recording: Run, execute: Callable[[tuple[str, ...], Emit], Any] | None = None) -> Check | None:
    """The check of a run with its recorded results, or carried out again by `execute`; None when it had none."""
    results: list[ev.CheckDone] = recording.of(ev.CheckDone)
    ends: list[ev.RunEnded] = recording.of(ev.RunEnded)
    asked = [a for a in recording.of(ev.Asked) if a.tool == "check"]
    if not (results or asked or any(end.check != "none" for end in ends)):
        return None
    argv = results[0].argv if results else ("check",)
    left = list(results)

    async def go(emit: Emit) -> ev.CheckDone:
        if execute is not None:
            done: ev.CheckDone = await execute(argv, emit)
            return done
        return left.pop(0) if left else ev.CheckDone(argv, None, "the recording holds no further check", 0.0)

    return Check(argv, go, asks="always" if asked else "never", proposed=bool(asked) and not results)


# ------------------------------------------------------------------ playing and comparing


@dataclass(frozen=True, slots=True)
class Stage:
    """What a replay is played on: today's limits, and how to get the tools and the check of a run."""

    limits: Limits = field(default_factory=Limits)
    tools: Callable[[Run], Tools] = RecordedTools
    check: Callable[[Run], Check | None] = recorded_check
    executes: bool = False


async def play(
    events: Sequence[Recorded], stage: Stage, show: Callable[[Shape], None] = lambda _: None
) -> tuple[int, Divergence | None]:
    """Play every run of a session; gives how many events were as recorded, and the first that was not."""
    number = 0
    for recording in runs(events):
        expected = [shape for event in recording.events if (shape := shape_of(event, executes=stage.executes))]
        log = MemoryLog(list(recording.before))
        agent = Agent(
            recorded_model(recording),
            stage.tools(recording),
            RecordedPerson(recording),
            recording.limits(stage.limits),
            log,
            check=stage.check(recording),
            dialect=Speech("", "", StepDown(fold.protocol(recording.before)), auto=_steps_down(events)),
        )
        at = 0
        async with aclosing(run(recording.task, agent, fold.history(recording.before))) as played:
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


def _steps_down(events: Sequence[Recorded]) -> bool:
    """Whether the session could change its protocol: it began natively, or did change it."""
    return fold.protocol(events) == "native" or any(isinstance(event, ev.ProtocolChosen) for event in events)


def shape_of(event: Recorded, *, executes: bool = False) -> Shape | None:
    """What of an event must be the same in a replay; None for what is not compared.

    Times, ids and hashes of questions differ from run to run. When commands are carried out again only how they
    ended counts, not what they printed.
    """
    match event:
        case ev.UserSaid(text):
            return {"event": "user", "text": text}
        case ev.AssistantSaid(message, complete, finish):
            return {
                "event": "assistant",
                "text": message.text,
                "calls": [_call(call) for call in message.calls],
                "complete": complete,
                "finish": finish,
            }
        case ev.Asked(_, _, tool, summary):
            return {"event": "asked", "tool": tool, "summary": summary}
        case ev.Answered(_, answer, reason):
            return {"event": "answered", "answer": answer, "reason": reason}
        case ev.ToolDone():
            return _tool(event, executes=executes)
        case ev.CheckDone(argv, code):
            return {"event": "check", "argv": list(argv), "exit_code": code}
        case ev.Notice(text, "model"):
            return {"event": "notice", "text": text}
        case ev.ProtocolChosen(protocol):
            return {"event": "protocol", "protocol": protocol}
        case ev.ProviderFailed(error):
            return {"event": "failed", "kind": error.kind}
        case ev.RunEnded(reason, _, steps, check):
            return {"event": "end", "reason": reason.value, "steps": steps, "check": check}
    return None


def _call(call: ToolCall) -> Shape:
    return {"name": call.name, "arguments": dict(call.arguments) if call.arguments is not None else call.raw}


def _tool(event: ev.ToolDone, *, executes: bool) -> Shape:
    receipt = event.receipt
    effect = None if receipt is None else [receipt.path, receipt.before, receipt.after, receipt.exit_code]
    shape = {"event": "tool", **_call(event.call), "status": event.status, "effect": effect, "denied": event.denied}
    return shape if executes and event.call.name in COMMANDS else {**shape, "text": event.text}


def describe(shape: Shape) -> str:
    """A compared event in one line."""
    rest = {key: value for key, value in shape.items() if key != "event"}
    return f"{shape['event']}  {json.dumps(rest, ensure_ascii=False)}" if rest else str(shape["event"])
