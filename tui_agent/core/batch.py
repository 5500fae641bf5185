"""The calls of one reply: guard, prepare, decide, ask once, carry out in call order, check.

`Work` is what a run knows about its actions from one reply to the next. Neighbouring reads of a reply run at the
same time; whatever changes something runs alone, and everything is answered in call order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Literal, TypeAlias

from tui_agent.core import events as ev
from tui_agent.core.agent import Agent
from tui_agent.core.check import gate
from tui_agent.core.edits import Edits
from tui_agent.core.endings import StopReason
from tui_agent.core.guards import TOO_OFTEN, Denied, Key, batch_signature, refusal, repeat_verdict, signature
from tui_agent.core.log import digest_of
from tui_agent.core.lookup import Lookup, ReadOutput
from tui_agent.core.record import Record
from tui_agent.core.stage import Stage, tool_failed
from tui_agent.core.types import (
    NO_BASE,
    NOT_BEGUN,
    REPEATED,
    ApprovalRequest,
    Decision,
    Emit,
    ListFiles,
    Outcome,
    ReadFile,
    Reply,
    RunArgv,
    SearchText,
    ToolCall,
    Verdict,
    WriteBytes,
)

Events: TypeAlias = AsyncGenerator[ev.Event, None]
Stop: TypeAlias = tuple[StopReason, str]

AGAIN = "REPEATED ACTION: the same as before with nothing changed in between, so it was not run again."
NOT_AN_ACTION = "reply  not understood"
IN_PLAIN_WORDS = "reply  in plain words"
NO_ACTION: Key = ("", -1)
"""Stands among the keys of actions for a reply that was none: no action is the same as it, nor are two in a row across it."""
STOPPED = "stopped by you at a question"
NOT_STARTED = Outcome("refused", "not carried out: the run was stopped before it", note=NOT_BEGUN)


@dataclass(frozen=True, slots=True)
class Ready:
    """A prepared call with what the policy says of it."""

    request: ApprovalRequest
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Settled:
    """A call that ended while it was prepared."""

    call: ToolCall
    outcome: Outcome


Planned: TypeAlias = Ready | Settled


def question_of(request: ApprovalRequest) -> ev.Asked:
    """The event of putting a request to the person."""
    return ev.Asked(request.id, request.call.id, request.call.name, request.summary, digest_of(request.effect))


def answer_to(decision: Decision) -> ev.Answered:
    """The event of an answer."""
    chosen = None if decision.chosen is None else tuple(sorted(decision.chosen))
    instead = None if decision.instead is None else decision.instead.id
    return ev.Answered(decision.request_id, decision.answer, decision.reason, decision.by, chosen, instead)


class Work:
    """What a run did and may still do. `revision` counts the changes of files, `invalid` unusable replies in a row.

    `edits` are what it changed. `check_ran`: the newest check could be started.
    """

    def __init__(self, agent: Agent, record: Record) -> None:
        self.agent = agent
        self.record = record
        self.revision = 0
        self.invalid = 0
        self.edits = Edits(agent.content)
        self.check_ran = True
        self._window: tuple[Key, ...] = ()
        self._refused: Counter[str] = Counter()
        self._refuser: dict[str, Denied] = {}
        self._parked: set[str] = set()
        self._stopped = False  # at the question for the check
        self._offer = ""  # the answer to a proposed check: it is asked once, not after every batch

    def count_anew(self) -> None:
        """Count repeats and unusable replies anew: the model is spoken to in another way from here on."""
        self._window, self.invalid = (), 0

    def spoken_to(self) -> None:
        """The person said something to the run: what they refused before may be asked for again."""
        self.count_anew()
        self._refused.clear()
        self._refuser.clear()
        self._parked.clear()

    def count_invalid(self) -> bool:
        """Count one reply that could not be used; True when that was one too many."""
        self.invalid += 1
        return self.invalid >= self.agent.limits.max_invalid

    def unusable(self, reply: Reply, text: str, note: str) -> Iterator[ev.ToolDone]:
        """Answer a reply that was no action, though it attempts one."""
        for call in reply.calls:
            yield self.record.done(call, Outcome("error", text, note=note, invalid=True), NOT_AN_ACTION)

    def asked_for_form(self, reply: Reply) -> Iterator[ev.ToolDone]:
        """Ask whether a reply in plain words was the answer; that is no fault."""
        for call in reply.calls:
            yield self.record.done(call, Outcome("applied", call.error or "", note="asked again"), IN_PLAIN_WORDS)

    async def carry(self, reply: Reply) -> Events:
        """Do what the calls of a reply ask for; may end the run."""
        limits = self.agent.limits
        key = NO_ACTION
        verdict: Literal["go", "warn", "stop"] = "go"
        if any(call.error is None for call in reply.calls):
            key = (batch_signature(reply.calls), self.revision)
            verdict = repeat_verdict(
                self._window, key, limits.max_identical, limits.repeat_window, warn=self.agent.warn_repeats
            )
        self._window = (*self._window, key)[-max(limits.max_identical, limits.repeat_window) :]
        if verdict != "go" and not all(self._answered_no(call) for call in reply.calls):
            for call in reply.calls:
                yield self.record.done(call, Outcome("refused", AGAIN, note=REPEATED))
            if verdict == "stop":
                count = self._window.count(key)
                why = f"the model asked {count} times for the same action with nothing changed in between"
                yield self.record.end(StopReason.REPEATED, f"{why}; it may be too weak for this task")
            return
        plan = await self._prepare(reply)
        asked = [p.request for p in plan if isinstance(p, Ready) and p.verdict.permission == "ask"]
        decisions: dict[str, Decision] = {}
        while asked:
            yield ev.Phase("asking")
            for request in asked:
                yield self.record.note(question_of(request))
            for answer in await self.agent.ask(tuple(asked)):
                decisions[answer.request_id] = answer
                if answer.instead is not None:
                    yield self.record.note(question_of(answer.instead))
                yield self.record.note(answer_to(answer))
            asked = [r for r in _behind_unseen(plan, decisions) if self.agent.tools.decide(r).permission == "ask"]
        async with aclosing(self._carry_out(plan, decisions)) as events:
            async for event in events:
                yield event

    def _answered_no(self, call: ToolCall) -> bool:
        """Whether this was refused or left out before: that is no repeat of an action, since there was none."""
        return bool(self._refused[signature(call)]) or signature(call) in self._parked

    # -------------------------------------------------------------- prepare

    async def _prepare(self, reply: Reply) -> list[Planned]:
        """Prepare each call on top of the earlier ones of the batch, and ask the policy."""
        plan: list[Planned] = []
        earlier: tuple[ApprovalRequest, ...] = ()
        reason = reply.text.strip().rpartition("\n")[2]
        for call in reply.calls:
            prepared = await self._prepare_one(call, earlier)
            if isinstance(prepared, Outcome):
                plan.append(Settled(call, prepared))
                continue
            request = replace(prepared, reason=reason)
            earlier = (*earlier, request)
            verdict = self.agent.tools.decide(request)
            if self._refused[signature(call)]:
                who = " because there was nobody to ask" if self._refuser[signature(call)] == "nobody" else ""
                verdict = Verdict("deny", f"refused before{who}", verdict.permission_class)
            plan.append(Ready(replace(request, missed=verdict.missed), verdict))
        if self.agent.forgives and any(isinstance(p, Ready) or not p.outcome.invalid for p in plan):
            self.invalid = 0
        return plan

    async def _prepare_one(self, call: ToolCall, earlier: tuple[ApprovalRequest, ...]) -> ApprovalRequest | Outcome:
        """Prepare one call. The tool border: whatever a tool raises is an error to the model, never a crash."""
        if call.error is not None:
            return Outcome("error", f"error: {call.error}", note="malformed", invalid=True)
        try:
            return await self.agent.tools.prepare(call, earlier)
        except Exception as error:  # noqa: BLE001 - the tool border
            return tool_failed(call, error)

    # -------------------------------------------------------------- carry out

    async def _carry_out(self, plan: list[Planned], decisions: dict[str, Decision]) -> Events:
        """Carry out a decided batch in call order, and run the check behind it, or behind each edit, when a file was changed."""
        undone: dict[str, str] = {}
        before = self.revision
        stop: Stop | None = None
        counted = False  # a reply counts once, however many of its calls are wrong
        steps = [(number, planned, _decision(planned, decisions)) for number, planned in enumerate(plan, 1)]
        stopped = any(decision.answer == "stop" for decision in decisions.values())
        for reads, group in groupby(steps, key=lambda step: not (stopped or stop) and _may_read(step[1], step[2])):
            if reads:
                looked = [(planned.request, decision) for _, planned, decision in group if isinstance(planned, Ready)]
                async with aclosing(self._commit_all(looked)) as events:
                    async for event in events:
                        yield event
                continue
            for number, planned, decision in group:
                if isinstance(planned, Settled):
                    summary = "" if planned.call.name else NOT_AN_ACTION
                    yield self.record.done(planned.call, planned.outcome, summary)
                    if planned.outcome.invalid and not counted:
                        counted = True
                        if self.count_invalid():
                            stop = stop or (StopReason.INVALID, "too many replies with calls that could not be used")
                    continue
                request = planned.request
                outcome, denied = refusal(request, planned.verdict, decision)
                said_no = _by_person(decision) and decision.answer != "stop"  # it stays, and so does its reason
                if not said_no and (stop is not None or (stopped and request.id not in decisions)):
                    outcome, denied = NOT_STARTED, ""  # who stops wants nothing more to begin that they did not approve
                elif outcome is None or not _by_person(decision):
                    base = next((undone[d] for d in request.depends_on if d in undone), "")
                    base = base or _in_part(request, decision, steps)
                    if base:
                        text = f"not applied: base changed because {base}"
                        outcome, denied = Outcome("refused", text, note=NO_BASE), ""
                if outcome is not None:
                    undone[request.id] = f"#{number} was {'not applied' if outcome.note == NO_BASE else 'refused'}"
                    yield self.record.done(request.call, outcome, request.summary, denied=denied)
                    stop = stop or self._stop_after(request, denied, decision)
                    continue
                async with aclosing(self._commit_all([(request, decision)])) as events:
                    async for event in events:
                        if isinstance(event, ev.ToolDone) and event.status != "applied":
                            undone[request.id] = f"#{number} was not applied"
                        yield event
                stop = stop or self._halted()
                if stop is None and self.agent.check is not None and self.agent.check.each_edit:
                    async with aclosing(self._check_since(before)) as events:
                        async for event in events:
                            yield event
                    before, stop = self.revision, self._halted()
        if stop is None:
            async with aclosing(self._check_since(before)) as events:
                async for event in events:
                    yield event
        if (stop := stop or self._halted()) is not None:
            yield self.record.end(*stop)

    def _halted(self) -> Stop | None:
        return (StopReason.STOPPED, STOPPED) if self._stopped or self.agent.halted() else None

    def _stop_after(self, request: ApprovalRequest, denied: Denied, decision: Decision) -> Stop | None:
        """Whether a denial ends the run: by the answer itself, by the settings, or at the third time."""
        if decision.answer == "stop":
            return StopReason.STOPPED, STOPPED
        mark = signature(request.call)
        if denied == "skip":
            self._parked.add(mark)
        if denied not in {"person", "policy", "nobody"}:
            return None
        self._refused[mark] += 1
        self._refuser.setdefault(mark, denied)
        setting = self.agent.on_reject if denied == "person" else self.agent.on_deny
        if setting == "stop" or self._refused[mark] >= TOO_OFTEN:
            return StopReason.DENIED, f"denied: {request.summary}"
        return None

    async def _commit_all(self, approved: Sequence[tuple[ApprovalRequest, Decision]]) -> Events:
        """Commit at the same time, with live output on the way; results in call order."""
        for request, decision in approved:
            summary = (decision.instead or request).summary
            yield ev.Phase("running", summary)
            yield ev.ToolStarted(request.call, summary)
        stages = [Stage(partial(self._commit, request, decision)) for request, decision in approved]
        ended: list[ev.ToolDone] = []
        try:
            for (request, _), stage in zip(approved, stages, strict=True):
                async for piece in stage.output():
                    yield ev.CommandOutput(request.call.id, piece)
        finally:
            for stage, (request, _) in zip(stages, approved, strict=True):
                if not isinstance(request.effect, WriteBytes):  # a write is never torn in the middle
                    stage.cancel()
            for stage, (request, decision) in zip(stages, approved, strict=True):
                if (result := await stage.settle()) is not None:
                    outcome, seconds = result
                    summary = outcome.summary or (decision.instead or request).summary
                    ended.append(self.record.done(request.call, outcome, summary, seconds))
                    self._book(request, decision, ended[-1])
        for done in ended:
            yield done

    async def _commit(self, request: ApprovalRequest, decision: Decision, emit: Emit) -> tuple[Outcome, float]:
        """Commit, and how many seconds it took.

        The tool border: whatever a tool raises is an error to the model, never a crash.
        """
        started = self.agent.clock()
        try:
            outcome = await self.agent.tools.commit(request, decision, emit)
        except Exception as error:  # noqa: BLE001 - the tool border
            outcome = tool_failed(request.call, error)
        return outcome, self.agent.clock() - started

    def _book(self, request: ApprovalRequest, decision: Decision, done: ev.ToolDone) -> None:
        """Note what an effect did, from its receipt and from what the person made of it."""
        receipt, check = done.receipt, self.agent.check
        effect = (decision.instead or request).effect
        if receipt is None:
            return
        if isinstance(effect, RunArgv) and check is not None and effect.argv == check.argv and self.edits:
            self.record.check, self.check_ran = "passed" if receipt.exit_code == 0 else "failed", True
        if self.edits.add(receipt, effect, decision.chosen):
            self.revision += 1
            self.record.check = "none" if check is None else "not run"

    async def _check_since(self, revision: int) -> Events:
        """Run the person's check when files were changed since; a stop at its question stops the run."""
        check = self.agent.check
        if check is None or self.revision == revision or self._offer not in {"", "yes"}:
            return
        always = check.asks == "always" and not self._offer
        asks = always or (check.asks != "never" and self.edits.unseen)
        ask = self.agent.ask if asks else None
        async with aclosing(gate(check, ask, self.revision, self.record.note)) as events:
            async for event in events:
                if isinstance(event, ev.Answered):
                    self._stopped = event.answer == "stop"
                    self._offer = event.answer if check.proposed else ""
                if isinstance(event, ev.CheckDone):
                    self.record.check, self.check_ran = "passed" if event.passed else "failed", event.ran
                    self.edits.add_check(event.receipt)
                    yield event
                else:
                    yield self.record.keep(event)


def _behind_unseen(plan: Sequence[Planned], decisions: Mapping[str, Decision]) -> Iterator[ApprovalRequest]:
    """What needed no answer, behind an edit that got one from a rule of just now: nobody saw what it may run."""
    unseen = False
    if any(given.answer == "stop" for given in decisions.values()):
        return
    for request in (p.request for p in plan if isinstance(p, Ready) and p.verdict.permission != "deny"):
        given = decisions.get(request.id)
        if unseen and given is None:
            yield request
        rule = given is not None and given.answer == "yes" and given.by != "key"
        unseen = unseen or (rule and isinstance(request.effect, WriteBytes))


def _decision(planned: Planned, decisions: dict[str, Decision]) -> Decision:
    """The person's answer, else the leave that the policy gave."""
    if isinstance(planned, Settled):
        return Decision("", "yes")
    return decisions.get(planned.request.id) or Decision(planned.request.id, "yes", by=planned.verdict.rule)


def _by_person(decision: Decision) -> bool:
    """Whether the person themselves said no, or not now, to this request."""
    return decision.by == "key" and decision.answer != "yes"


def _in_part(request: ApprovalRequest, decision: Decision, steps: Sequence[tuple[int, Planned, Decision]]) -> str:
    """Why a request that is not asked any more has no base: which one the person took in part, or changed."""
    if decision.answer != "skip" or decision.by != "rule":
        return ""
    for number, planned, given in steps:
        if isinstance(planned, Ready) and planned.request.id in request.depends_on and given.answer == "yes":
            if given.instead is not None:
                return f"#{number} was not applied as you proposed it"
            if given.chosen is not None:
                return f"only a part of #{number} was applied"
    return ""


def _may_read(planned: Planned, decision: Decision) -> bool:
    """Whether a step only looks and nobody minds: such neighbours run at the same time."""
    if isinstance(planned, Settled) or not isinstance(
        planned.request.effect, ReadFile | ListFiles | SearchText | ReadOutput | Lookup
    ):
        return False
    return refusal(planned.request, planned.verdict, decision)[0] is None
