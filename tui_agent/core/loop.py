"""One bounded run of the agent as an async iterator of events.

A turn is a pipeline over data: build the request, ask the model, guard, prepare, decide, ask the
person, carry out, record. What differs between live, test and replay is injected with `Agent`.
Durable events are in the log before they are yielded, so an interrupt loses nothing: whoever
drives `run` cancels its task, and finds the closing events in the log.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, TypeVar

from tui_agent.core import events as ev
from tui_agent.core.check import Check, gate
from tui_agent.core.context import limit_reached
from tui_agent.core.fold import answered, message_of
from tui_agent.core.guards import (
    WINDOW,
    CheckState,
    Denied,
    Key,
    batch_signature,
    refusal,
    repeat_verdict,
    signature,
    verdict_on_done,
)
from tui_agent.core.log import Log, MemoryLog, digest_of, is_durable
from tui_agent.core.reply import ReplyBuilder
from tui_agent.core.stage import Stage, stream_reply, tool_failed
from tui_agent.core.types import (
    ApprovalRequest,
    Ask,
    AssistantMessage,
    Decision,
    Emit,
    History,
    Limits,
    Message,
    Model,
    Outcome,
    Reply,
    Request,
    RunArgv,
    StopReason,
    ToolCall,
    Tools,
    ToolSpec,
    Usage,
    Verdict,
    WriteBytes,
)

Events: TypeAlias = AsyncGenerator[ev.Event, None]
D = TypeVar("D", bound=ev.Durable)

EMPTY = "(empty response from model)"
NO_SUMMARY = "(no summary from model)"
SUMMARY_FAILED = "(step limit reached, and the summary failed)"
NEARLY_OUT = "2 steps are left. Finish what you are doing; the last reply has no tools and must be your summary."
LAST_STEP = "The step limit is reached. Say in a few sentences what was done and what is left. No tools now."
CUT = "Your reply was cut by the length limit, so nothing of it was run. Say it in smaller pieces."
REPEATED = "REPEATED ACTION: the same as before with nothing changed in between, so it was not run again."


async def _nobody(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
    return tuple(Decision(r.id, "no", "nobody to ask", "nobody") for r in batch)


def _free(_usage: Usage | None) -> float | None:
    return None


def question(request: ApprovalRequest) -> ev.Asked:
    """The event of putting a request to the person."""
    return ev.Asked(request.id, request.call.id, request.call.name, request.summary, digest_of(request.effect))


def answer_to(decision: Decision) -> ev.Answered:
    """The event of an answer."""
    chosen = None if decision.chosen is None else tuple(sorted(decision.chosen))
    instead = None if decision.instead is None else decision.instead.id
    return ev.Answered(decision.request_id, decision.answer, decision.reason, decision.by, chosen, instead)


@dataclass(frozen=True, slots=True)
class Agent:
    """Everything that a run is injected with. `price` gives the USD of one call, None when unknown."""

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


async def run(task: str, agent: Agent, history: History = ()) -> Events:
    """Carry out one task; ends with exactly one `RunEnded`.

    Args:
        task: what the person said; not blank.
        agent: the injected world.
        history: the conversation so far, as `fold.history` gives it.

    Raises:
        ValueError: the task is blank.
        asyncio.CancelledError: the run was interrupted; the log holds its closing events.
    """
    if not task.strip():
        raise ValueError("the task must not be empty")
    state = _Run(agent, list(history))
    try:
        async with aclosing(state.turns(task)) as events:
            async for event in events:
                yield event
    finally:
        state.close()


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


class _Run:
    """The state of one run. Methods that yield are stages; everything durable goes through `note`."""

    def __init__(self, agent: Agent, messages: list[Message]) -> None:
        self.agent = agent
        self.messages = messages
        self.step = 0
        self.revision = 0
        self.invalid = 0
        self.window: tuple[Key, ...] = ()
        self.refused: Counter[str] = Counter()
        self.usage, self.cost = Usage(), 0.0
        self.builder = ReplyBuilder()
        self.reply = Reply()
        self.open: dict[str, ToolCall] = {}
        self.edited = self.unseen = False
        self.check: CheckState = "none"
        self.unverified = 0
        self.ended = False

    def note(self, event: D) -> D:
        """Record a durable event and what it adds to the history."""
        self.agent.log.append(event)
        message = message_of(event)
        if message is not None:
            self.messages.append(message)
        if isinstance(event, ev.ToolDone):
            self.open.pop(event.call.id, None)
        return event

    def keep(self, event: ev.Event) -> ev.Event:
        """Record an event of a stage when it is durable, and pass it on."""
        return self.note(event) if is_durable(event) else event

    def end(self, reason: StopReason, detail: str = "") -> ev.RunEnded:
        """Record the end of the run."""
        self.ended = True
        return self.note(ev.RunEnded(reason, detail, self.step, self.check))

    def close(self) -> None:
        """Whatever happened, leave a log whose history the next request can use."""
        if self.ended:
            return
        if text := self.builder.reply().text:
            author = self.agent.model.author
            self.note(ev.AssistantSaid(AssistantMessage(text, author=author), complete=False))
        for call in tuple(self.open.values()):
            self.note(ev.ToolDone(call, "error", "interrupted by the person; not carried out", "stopped"))
        self.end(StopReason.STOPPED, "stopped by you")

    # -------------------------------------------------------------- turns

    async def turns(self, task: str) -> Events:
        """Ask, act, repeat, until something ends the run."""
        limits = self.agent.limits
        yield self.note(ev.UserSaid(task))
        while not self.ended:
            self.step += 1
            left = limits.max_steps - self.step
            if left == 2:
                yield self.note(ev.Notice(NEARLY_OUT, "model"))
            if left == 0 and self.step > 1:
                yield self.note(ev.Notice(LAST_STEP, "model"))
            if over := limit_reached(limits, self.agent.system, self.messages, self.usage, self.cost):
                yield self.end(*over)
                return
            async with aclosing(self.ask_model(() if left <= 0 else self.agent.tools.specs)) as events:
                async for event in events:
                    yield event
            async with aclosing(self.act(self.reply, last=left <= 0)) as events:
                async for event in events:
                    yield event
        yield ev.Phase("idle")

    async def ask_model(self, tools: tuple[ToolSpec, ...]) -> Events:
        """Stream one reply and record it; `self.reply` is the result."""
        agent = self.agent
        self.builder = ReplyBuilder({c.id for m in self.messages if isinstance(m, AssistantMessage) for c in m.calls})
        request = Request(agent.system, answered(self.messages), tools)
        yield ev.Phase("waiting")
        async with aclosing(stream_reply(agent.model, request, self.builder, agent.clock)) as events:
            async for event in events:
                yield self.keep(event)
        self.reply = reply = self.builder.reply()
        self.builder = ReplyBuilder()
        cost = agent.price(reply.usage)
        self.usage, self.cost = self.usage.plus(reply.usage or Usage()), self.cost + (cost or 0.0)
        text = reply.text or reply.refusal
        calls = () if reply.error or reply.finish == "length" else reply.calls
        message = AssistantMessage(text, reply.reasoning, calls, agent.model.author, reply.extras)
        if text or calls or not reply.error:
            self.open = {call.id: call for call in calls}
            yield self.note(ev.AssistantSaid(message, reply.error is None, reply.finish, reply.usage, cost))

    async def act(self, reply: Reply, *, last: bool) -> Events:
        """Do what the reply asks for."""
        if reply.error is not None:
            yield self.note(ev.ProviderFailed(reply.error))
            if last:
                yield self.end(StopReason.STEP_LIMIT, SUMMARY_FAILED)
            else:
                yield self.end(StopReason.FAILED, reply.error.message)
        elif last:
            steps = self.agent.limits.max_steps
            self.open.clear()
            yield self.end(StopReason.STEP_LIMIT, f"{steps} steps used" if reply.text.strip() else NO_SUMMARY)
        elif reply.finish == "length":
            yield self.note(ev.Notice(CUT, "model"))
            if self.count_invalid():
                yield self.end(StopReason.INVALID, "the model's replies were cut by the length limit again and again")
        elif reply.calls:
            async with aclosing(self.batch(reply)) as events:
                async for event in events:
                    yield event
        else:
            yield self.finish(reply)

    def finish(self, reply: Reply) -> ev.Durable:
        """End the run with what was shown, or tell the model what is missing."""
        command = " ".join(self.agent.check.argv) if self.agent.check else None
        rounds_left = self.agent.limits.max_invalid - self.unverified
        reason, text = verdict_on_done(command, self.check, edited=self.edited, rounds_left=rounds_left)
        if reason is None:
            self.unverified += 1
            return self.note(ev.Notice(text, "model"))
        empty = not (reply.text or reply.refusal).strip()
        return self.end(reason, EMPTY if empty else text)

    def count_invalid(self) -> bool:
        """Count one reply that could not be used; True when that was one too many."""
        self.invalid += 1
        return self.invalid >= self.agent.limits.max_invalid

    # -------------------------------------------------------------- one reply's calls

    async def batch(self, reply: Reply) -> Events:
        """Guard, prepare, decide, ask once, carry out in call order, then check."""
        key = (batch_signature(reply.calls), self.revision)
        verdict = repeat_verdict(self.window, key)
        self.window = (*self.window, key)[-WINDOW:]
        if verdict != "go" and not all(self.refused[signature(call)] for call in reply.calls):
            for call in reply.calls:
                yield self.done(call, Outcome("refused", REPEATED, note="repeated"))
            if verdict == "stop":
                why = f"the model asked {self.window.count(key)} times for the same action with nothing changed in between"
                yield self.end(StopReason.REPEATED, f"{why}; it may be too weak for this task")
            return
        plan = await self.prepare(reply)
        asked = [p.request for p in plan if isinstance(p, Ready) and p.verdict.permission == "ask"]
        decisions: dict[str, Decision] = {}
        if asked:
            yield ev.Phase("asking")
            for request in asked:
                yield self.note(question(request))
            for answer in await self.agent.ask(tuple(asked)):
                decisions[answer.request_id] = answer
                if answer.instead is not None:
                    yield self.note(question(answer.instead))
                yield self.note(answer_to(answer))
        async with aclosing(self.carry_out_all(plan, decisions)) as events:
            async for event in events:
                yield event

    async def prepare(self, reply: Reply) -> list[Planned]:
        """Prepare each call on top of the earlier ones of the batch, and ask the policy."""
        plan: list[Planned] = []
        earlier: tuple[ApprovalRequest, ...] = ()
        reason = reply.text.strip().rpartition("\n")[2]
        for call in reply.calls:
            prepared = await self.prepare_one(call, earlier)
            if isinstance(prepared, Outcome):
                plan.append(Settled(call, prepared))
                continue
            request = replace(prepared, reason=reason)
            earlier = (*earlier, request)
            verdict = self.agent.tools.decide(request)
            if self.refused[signature(call)]:
                verdict = Verdict("deny", "refused before", verdict.permission_class)
            plan.append(Ready(request, verdict))
        if any(isinstance(p, Ready) or not p.outcome.invalid for p in plan):
            self.invalid = 0
        return plan

    async def prepare_one(self, call: ToolCall, earlier: tuple[ApprovalRequest, ...]) -> ApprovalRequest | Outcome:
        """Prepare one call. The tool border: whatever a tool raises is an error to the model, never a crash."""
        if call.error is not None:
            return Outcome("error", f"error: {call.error}", note="malformed", invalid=True)
        try:
            return await self.agent.tools.prepare(call, earlier)
        except Exception as error:  # noqa: BLE001 - the tool border
            return tool_failed(call, error)

    async def carry_out_all(self, plan: list[Planned], decisions: dict[str, Decision]) -> Events:
        """Carry out a decided batch in call order, then run the check when a file was changed."""
        undone: dict[str, int] = {}
        changed = False
        stop: tuple[StopReason, str] | None = None
        for number, planned in enumerate(plan, 1):
            if isinstance(planned, Settled):
                yield self.done(planned.call, planned.outcome)
                if planned.outcome.invalid and self.count_invalid():
                    stop = stop or (StopReason.INVALID, "too many calls that could not be used")
                continue
            request = planned.request
            decision = decisions.get(request.id) or Decision(request.id, "yes", by=planned.verdict.rule)
            outcome, denied = refusal(request, planned.verdict, decision)
            if base := next((undone[d] for d in request.depends_on if d in undone), None):
                outcome, denied = Outcome("refused", f"not applied: base changed because #{base} was refused"), ""
            if outcome is not None:
                undone[request.id] = number
                yield self.done(request.call, outcome, request.summary, denied=denied)
                stop = stop or self.stop_after(request, denied, decision)
                continue
            async with aclosing(self.carry_out(request, decision)) as events:
                async for event in events:
                    if isinstance(event, ev.ToolDone):
                        if event.status != "applied":
                            undone[request.id] = number
                        changed = self.count_effect(request, event, decision) or changed
                    yield event
        if changed and self.agent.check is not None:
            async with aclosing(self.run_check(self.agent.check)) as events:
                async for event in events:
                    yield event
        if stop is not None:
            yield self.end(*stop)

    def stop_after(self, request: ApprovalRequest, denied: Denied, decision: Decision) -> tuple[StopReason, str] | None:
        """Whether a denial ends the run: by the answer itself, by the settings, or at the third time."""
        if decision.answer == "stop":
            return StopReason.STOPPED, "stopped by you at a question"
        if denied not in {"person", "policy", "nobody"}:
            return None
        mark = signature(request.call)
        self.refused[mark] += 1
        setting = self.agent.on_reject if denied == "person" else self.agent.on_deny
        if setting == "stop" or self.refused[mark] >= 3:
            return StopReason.DENIED, f"denied: {request.summary}"
        return None

    def count_effect(self, request: ApprovalRequest, event: ev.ToolDone, decision: Decision) -> bool:
        """Book what an effect did; True when it changed a file of the person."""
        receipt = event.receipt
        if receipt is None:
            return False
        check = self.agent.check
        if (
            isinstance(request.effect, RunArgv)
            and check is not None
            and request.effect.argv == check.argv
            and self.edited
        ):
            self.check = "passed" if receipt.exit_code == 0 else "failed"
        if receipt.path is None or receipt.before == receipt.after:
            return False
        self.revision += 1
        self.edited = True
        self.unseen = self.unseen or decision.by != "key"
        self.check = "none" if check is None else "not run"
        return True

    async def carry_out(self, request: ApprovalRequest, decision: Decision) -> Events:
        """Commit one approved request, with its live output on the way."""
        summary = (decision.instead or request).summary
        yield ev.Phase("running", summary)
        yield ev.ToolStarted(request.call, summary)
        started = self.agent.clock()
        stage = Stage(lambda emit: self.commit(request, decision, emit))
        try:
            async for piece in stage.output():
                yield ev.CommandOutput(request.call.id, piece)
        finally:
            # a write is never torn in the middle: only commands are cancelled
            outcome = await stage.settle(cancel=not isinstance(request.effect, WriteBytes))
            seconds = self.agent.clock() - started
            done = None if outcome is None else self.done(request.call, outcome, summary, seconds)
        if done is not None:
            yield done

    async def commit(self, request: ApprovalRequest, decision: Decision, emit: Emit) -> Outcome:
        """Commit. The tool border: whatever a tool raises is an error to the model, never a crash."""
        try:
            return await self.agent.tools.commit(request, decision, emit)
        except Exception as error:  # noqa: BLE001 - the tool border
            return tool_failed(request.call, error)

    def done(
        self,
        call: ToolCall,
        outcome: Outcome,
        summary: str = "",
        seconds: float = 0.0,
        denied: Denied = "",
    ) -> ev.ToolDone:
        """Record the end of one call."""
        return self.note(
            ev.ToolDone(call, outcome.status, outcome.text, outcome.note, summary, outcome.receipt, seconds, denied)
        )

    async def run_check(self, check: Check) -> Events:
        """Run the person's check after a batch that changed files."""
        self.check = "not run"
        asks = check.asks == "always" or (check.asks == "unseen" and self.unseen)
        async with aclosing(gate(check, self.agent.ask if asks else None, self.revision)) as events:
            async for event in events:
                if isinstance(event, ev.CheckDone):
                    self.check = "passed" if event.passed else "failed"
                yield self.keep(event)
