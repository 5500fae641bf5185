"""One bounded run of the agent as an async iterator of events.

A turn is a pipeline over data: build the request, ask the model, guard, prepare, decide, ask the
person, carry out, record. What differs between live, test and replay is injected with `Agent`.
Durable events are in the log before they are yielded, so an interrupt loses nothing: whoever
drives `run` cancels its task, and finds the closing events in the log.
"""

from __future__ import annotations

import shlex
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import TypeAlias

from tui_agent.core import events as ev
from tui_agent.core.agent import Agent
from tui_agent.core.batch import Work
from tui_agent.core.context import limit_reached
from tui_agent.core.endings import StopReason
from tui_agent.core.evidence import task_evidence, unbacked_claims
from tui_agent.core.fold import answered
from tui_agent.core.guards import verdict_on_done
from tui_agent.core.record import Record
from tui_agent.core.reply import ReplyBuilder, identified
from tui_agent.core.stage import stream_reply
from tui_agent.core.types import (
    AssistantMessage,
    History,
    Image,
    Reply,
    Request,
    ToolSpec,
    Usage,
)

__all__ = ["Agent", "run"]

Events: TypeAlias = AsyncGenerator[ev.Event, None]

EMPTY = "(empty response from model)"
NO_SUMMARY = "(no summary from model)"
SUMMARY_FAILED = "(step limit reached, and the summary failed)"
NEARLY_OUT = "2 steps are left. Finish what you are doing; the last reply has no tools and must be your summary."
ONE_LEFT = "1 step is left after this one, without tools, for your summary. Do only what is most needed now."
LAST_STEP = "The step limit is reached. Say in a few sentences what was done and what is left. No tools now."
CUT = "Your reply was cut by the length limit, so nothing of it was run. Say it in smaller pieces."


async def run(task: str, agent: Agent, history: History = (), images: tuple[Image, ...] = ()) -> Events:
    """Carry out one task; ends with exactly one `RunEnded`.

    Args:
        task: what the person said; not blank.
        agent: the injected world.
        history: the conversation so far, as `fold.history` gives it.
        images: the pictures that go with the task.

    Raises:
        ValueError: the task is blank.
        asyncio.CancelledError: the run was interrupted; the log holds its closing events.
    """
    if not task.strip():
        raise ValueError("the task must not be empty")
    state = _Run(agent, task, Record(agent.log, list(history)))
    try:
        async with aclosing(state.turns(images)) as events:
            async for event in events:
                yield event
    finally:
        state.close()


class _Run:
    """The state of one run. Methods that yield are stages; everything durable goes through `record`."""

    def __init__(self, agent: Agent, task: str, record: Record) -> None:
        self.agent = agent
        self.task = task
        self.record = record
        self.work = Work(agent, record)
        self.dialect = agent.dialect
        self.usage, self.cost = Usage(), 0.0
        self.builder = ReplyBuilder()
        self.reply = Reply()
        self.again = False
        """The server refused the protocol, not the task: the next step says the same in another one."""
        self.unverified = 0

    def close(self) -> None:
        """Whatever happened, leave a log whose history the next request can use."""
        record = self.record
        if record.ended:
            return
        if text := self.builder.reply().text:
            record.note(ev.AssistantSaid(AssistantMessage(text, author=self.agent.model.author), complete=False))
        for call in tuple(record.open.values()):
            record.note(ev.ToolDone(call, "error", "interrupted by the person; not carried out", "stopped"))
        record.end(StopReason.STOPPED, "stopped by you")

    async def turns(self, images: tuple[Image, ...]) -> Events:
        """Ask, act, repeat, until something ends the run."""
        limits, record = self.agent.limits, self.record
        yield record.note(ev.UserSaid(self.task, images))
        while not record.ended:
            record.step += 1
            left = limits.max_steps - record.step
            warning = {2: NEARLY_OUT, 1: ONE_LEFT, 0: LAST_STEP}.get(left)
            if warning is not None and (record.step > 1 or left == 2):
                yield record.note(ev.Notice(warning, "model"))
            tools = () if left <= 0 else self.agent.tools.specs
            request = self.dialect.encode(Request(self.agent.system, answered(record.messages), tools))
            if over := limit_reached(limits, request.system, request.messages, self.usage, self.cost):
                yield record.end(*over)
                return
            async with aclosing(self.ask_model(request, tools)) as events:
                async for event in events:
                    yield event
            if self.again:
                continue
            async with aclosing(self.act(self.reply, last=left <= 0)) as events:
                async for event in events:
                    yield event
        yield ev.Phase("idle")

    async def ask_model(self, request: Request, tools: tuple[ToolSpec, ...]) -> Events:
        """Stream one reply, read it in today's protocol and record it; `self.reply` is the result."""
        agent, record, dialect = self.agent, self.record, self.dialect
        known = {c.id for m in record.messages if isinstance(m, AssistantMessage) for c in m.calls}
        self.builder = ReplyBuilder(known)
        yield ev.Phase("waiting")
        async with aclosing(stream_reply(agent.model, request, self.builder, agent.clock, live=dialect.live)) as events:
            async for event in events:
                yield record.keep(event)
        raw = self.builder.reply()
        self.builder = ReplyBuilder()
        self.reply = reply = identified(dialect.decode(raw, tools), known)
        cost = agent.price(reply.usage)
        self.usage, self.cost = self.usage.plus(reply.usage or Usage()), self.cost + (cost or 0.0)
        text = reply.text or reply.refusal
        message = AssistantMessage(text, reply.reasoning, reply.calls, agent.model.author, reply.extras)
        if text or reply.calls or not reply.error:
            record.open = {call.id: call for call in reply.calls}
            yield record.note(ev.AssistantSaid(message, reply.error is None, reply.finish, reply.usage, cost))
        self.dialect, why = dialect.after(raw, tools)
        if why:
            self.work.forget_repeats()
            yield record.note(ev.ProtocolChosen(self.dialect.name, why))
        self.again = bool(why) and reply.error is not None

    async def act(self, reply: Reply, *, last: bool) -> Events:
        """Do what the reply asks for."""
        record = self.record
        if reply.error is not None:
            yield record.note(ev.ProviderFailed(reply.error))
            if last:
                yield record.end(StopReason.STEP_LIMIT, SUMMARY_FAILED)
            else:
                yield record.end(StopReason.FAILED, reply.error.message)
        elif last:
            steps = self.agent.limits.max_steps
            record.open.clear()
            for notice in self.claims(reply.text):
                yield record.note(notice)
            yield record.end(StopReason.STEP_LIMIT, f"{steps} steps used" if reply.text.strip() else NO_SUMMARY)
        elif reply.finish == "length":
            yield record.note(ev.Notice(CUT, "model"))
            if self.work.count_invalid():
                yield record.end(StopReason.INVALID, "the model's replies were cut by the length limit again and again")
        elif reply.calls:
            async with aclosing(self.work.carry(reply)) as events:
                async for event in events:
                    yield event
        else:
            for event in self.finish(reply):
                yield event

    def finish(self, reply: Reply) -> Iterator[ev.Durable]:
        """End the run with what was shown, or tell the model what is missing."""
        agent, record, work = self.agent, self.record, self.work
        missing = task_evidence(self.task, work.changed) if work.changed and not work.commanded else ""
        reason, text = verdict_on_done(
            shlex.join(agent.check.argv) if agent.check else None,
            record.check,
            edited=work.edited,
            rounds_left=agent.limits.max_invalid - self.unverified,
            missing=missing,
        )
        if reason is None:
            self.unverified += 1
            yield record.note(ev.Notice(text, "model"))
            return
        yield from map(record.note, self.claims(reply.text))
        empty = not (reply.text or reply.refusal).strip()
        yield record.end(reason, EMPTY if empty else text)

    def claims(self, answer: str) -> list[ev.Notice]:
        """What the final answer says was done and no receipt shows, marked for the person."""
        return [ev.Notice(f"not shown: {claim}") for claim in unbacked_claims(answer, self.record.log.events)]
