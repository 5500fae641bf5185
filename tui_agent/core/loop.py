"""One bounded run of the agent as an async iterator of events.

A turn is a pipeline over data: build the request, ask the model, guard, prepare, decide, ask the
person, carry out, record. What differs between live, test and replay is injected with `Agent`.
Durable events are in the log before they are yielded, so an interrupt loses nothing: whoever
drives `run` cancels its task, and finds the closing events in the log.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import TypeAlias

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.agent import Agent, Dialect, spent
from tui_agent.core.batch import Work
from tui_agent.core.claims import unbacked_claims
from tui_agent.core.context import estimate, limit_reached, tokens
from tui_agent.core.endings import BROKEN_OFF, UNANSWERED, StopReason
from tui_agent.core.evidence import Changed, doubts
from tui_agent.core.fitting import Fitting
from tui_agent.core.guards import verdict_on_done
from tui_agent.core.record import Record
from tui_agent.core.reply import ReplyBuilder, identified, masked
from tui_agent.core.room import answer_left
from tui_agent.core.sent import Sent
from tui_agent.core.stage import stream_reply
from tui_agent.core.tail import tail
from tui_agent.core.types import (
    AssistantMessage,
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
ONLY_STEP = "There is one step only, without tools: answer with what you know."
WARNINGS = {2: NEARLY_OUT, 1: ONE_LEFT, 0: LAST_STEP}
"""What the model is told when so many steps are left after the next one."""
TAKEN = "answer not in the form of the protocol, taken as it is"
CUT = "Your reply was cut by {}, so nothing of it was run. Say it in smaller pieces."
GO_ON = "Your answer was cut by {}. Go on exactly where it broke off, without repeating any of it."


async def run(task: str, agent: Agent, images: tuple[Image, ...] = ()) -> Events:
    """Carry out one task; ends with exactly one `RunEnded`.

    Args:
        task: what the person said; not blank.
        agent: the injected world; its log holds the conversation so far.
        images: the pictures that go with the task.

    Raises:
        ValueError: the task is blank.
        asyncio.CancelledError: the run was interrupted; the log holds its closing events.
    """
    if not task.strip():
        raise ValueError("the task must not be empty")
    state = _Run(agent, task, Record(agent.log, apart=agent.apart))
    try:
        async with aclosing(state.turns(images)) as events:
            async for event in events:
                yield event
    finally:
        state.close()


def next_request(agent: Agent, dialect: Dialect, sent: Sent, tools: tuple[ToolSpec, ...]) -> Request:
    """The request that goes out next: the stable part first, what changes from step to step at its end."""
    end = tail(agent.log.events, sent.steps) if agent.memory else ()
    request = dialect.encode(Request(agent.system, (*sent.history, *end), tools))
    if agent.room is None:
        return request
    return replace(request, answer=answer_left(sent.size, sent.density, agent.room()))


class _Run:
    """The state of one run. Methods that yield are stages; everything durable goes through `record`."""

    def __init__(self, agent: Agent, task: str, record: Record) -> None:
        self.agent = agent
        self.task = task
        self.wanted = [task]
        """The task, and what the person said to the run since."""
        self.record = record
        self.work = Work(agent, record)
        self.fitting = Fitting(agent, record)
        self.dialect = agent.dialect
        self.usage, self.cost = Usage(), 0.0
        self.estimated = False
        self.builder = ReplyBuilder()
        self.reply = Reply()
        self.asked = False
        """A request is with the model: whoever stops now does not know what it took."""
        self.again = False
        """The server refused the protocol or the length, not the task: the next step says the same in another form."""
        self.unverified = 0
        self.cut_call = False
        """The newest reply held a native call that was cut, beside its words or not."""
        self.begun = ""
        """An answer so far that was cut and goes on."""
        self.loose = 0
        """Answers in a row that were not in the form of the protocol: the first is asked for again, the next counts."""

    def close(self) -> None:
        """Whatever happened, leave a log whose history the next request can use."""
        record = self.record
        if record.ended:
            return
        for lost in self.lost(self.builder.lost):
            record.note(lost)
        if text := self.builder.reply().text:
            said = AssistantMessage(text, author=self.agent.model.author)
            record.note(ev.AssistantSaid(said, cost=self.agent.price(None), complete=False))
        elif self.asked and not self.builder.held and (unknown := self.unanswered(None)) is not None:
            record.note(unknown)
        for call in tuple(record.open.values()):
            record.note(ev.ToolDone(call, "error", "interrupted by the person; not carried out", "stopped"))
        why = f" before the next try: {self.builder.failing.message}" if self.builder.failing is not None else ""
        record.end(StopReason.STOPPED, f"{self.agent.stopped()}{why}")

    async def turns(self, images: tuple[Image, ...]) -> Events:
        """Ask, act, repeat, until something ends the run."""
        limits, record = self.agent.limits, self.record
        yield record.note(ev.UserSaid(self.task, images))
        while not record.ended:
            step = record.step + 1
            left = limits.max_steps - step
            if step > 1 and left > 0:  # the last reply has no tools: what came too late for it begins a turn of its own
                for told in self.between():
                    yield told
            warning = ONLY_STEP if limits.max_steps == 1 else WARNINGS.get(left)
            if warning is not None:
                yield record.note(ev.Notice(warning, "model"))
            tools = () if left <= 0 else self.agent.tools.specs
            async with aclosing(self.fitting.make_room(self.dialect, tools)) as events:
                async for event in events:
                    if isinstance(event, ev.Compacted):
                        about = Usage(event.before, tokens(len(event.summary)))
                        self.spend(event.usage, event.cost, None if event.fault else about)
                    elif isinstance(event, ev.Spent):
                        self.spend(event.usage, event.cost, None)
                    yield event
            request = next_request(self.agent, self.dialect, record.sent, tools)
            priced = self.agent.price(Usage(0, 0)) is not None
            over = limit_reached(limits, request, self.usage, self.cost, estimated=self.estimated, priced=priced)
            if over := over or fold.over_budget(record.log.events):
                yield record.end(*over)
                return
            record.step = step
            async with aclosing(self.ask_model(request, tools)) as events:
                async for event in events:
                    yield event
            if self.again:
                continue
            async with aclosing(self.act(self.reply, last=left <= 0)) as events:
                async for event in events:
                    yield event
        yield ev.Phase("idle")

    def between(self) -> list[ev.Durable]:
        """Record what is to be known before the next request; a word of the person begins every count anew."""
        known = [self.record.note(event) for event in self.agent.between()]  # at once: they name each other by number
        if steered := [event.text for event in known if isinstance(event, ev.Steered)]:
            self.wanted += steered
            self.work.spoken_to()
            self.loose = 0
        return known

    async def ask_model(self, request: Request, tools: tuple[ToolSpec, ...]) -> Events:
        """Stream one reply, read it in today's protocol and record it; `self.reply` is the result."""
        agent, record, dialect = self.agent, self.record, self.dialect
        known = {c.id for e in record.log.events if isinstance(e, ev.AssistantSaid) for c in e.message.calls}
        self.builder = ReplyBuilder(known)
        yield ev.Phase("waiting")
        self.asked = True
        async with aclosing(stream_reply(agent.model, request, self.builder, agent.clock, live=dialect.live)) as events:
            async for event in events:
                yield record.keep(event)
        self.asked = False
        raw = self.builder.reply()
        self.builder = ReplyBuilder()
        for lost in self.lost(raw.lost):
            self.spend(lost.usage, lost.cost, estimate(request, AssistantMessage("")))
            yield record.note(lost)
        answer = dialect.loose(raw, tools)
        self.loose = 0 if answer is None else self.loose + 1
        read = dialect.decode(raw, tools)
        if answer and self.loose > 1:
            read = replace(read, text=answer, calls=())
        if read.calls and raw.finish in UNANSWERED:
            read = replace(raw, calls=())  # its text is kept, but nothing of it is carried out
        self.cut_call = bool(raw.calls) and dialect.name == "native"
        self.reply = reply = identified(masked(read, agent.hidden), known)
        cost = agent.price(reply.usage)
        text = reply.text or reply.refusal
        message = AssistantMessage(text, reply.reasoning, reply.calls, agent.model.author, reply.extras)
        self.spend(reply.usage, cost, estimate(request, message) if reply.error is None else None)
        if text or reply.calls or not reply.error:
            record.open = {call.id: call for call in reply.calls}
            yield record.note(ev.AssistantSaid(message, reply.error is None, reply.finish, reply.usage, cost))
        elif (took := self.unanswered(reply.usage, free=reply.error.free)) is not None:
            yield record.note(took)
        self.dialect, why = dialect.after(raw, tools)
        if why:
            self.work.count_anew()
            yield record.note(ev.ProtocolChosen(self.dialect.name, why))
        self.again = bool(why) and reply.error is not None
        if (too_long := self.fitting.overflowed(request, reply.error)) is not None:
            yield record.note(too_long)
            self.again = True

    def unanswered(self, usage: Usage | None, *, free: bool = False) -> ev.Spent | None:
        """What a call took that brought no reply, None when that is nothing. `free`: it took no tokens.

        Without prices what it cost is not known, whatever it took.
        """
        if free and usage is None and self.agent.price(Usage(0, 0)) == 0:
            return None
        return spent(usage, self.agent.price)

    def lost(self, tries: Iterable[Usage | None]) -> list[ev.Spent]:
        """What the tries took that were lost before a reply came."""
        return [took for usage in tries if (took := self.unanswered(usage)) is not None]

    def spend(self, usage: Usage | None, cost: float | None, about: Usage | None) -> None:
        """Count one model call against the limits of the run; `about` is what counts where the server does not tell."""
        if about and (usage is None or usage.input_tokens is None or usage.output_tokens is None):
            usage, self.estimated = about, True
        if cost is None and usage is not None:
            cost = self.agent.price(usage)
        self.usage, self.cost = self.usage.plus(usage or Usage()), self.cost + (cost or 0.0)

    async def act(self, reply: Reply, *, last: bool) -> Events:
        """Do what the reply asks for."""
        record, only = self.record, self.agent.limits.max_steps == 1
        why, cut = UNANSWERED.get(reply.finish or "", ""), BROKEN_OFF.get(reply.finish or "")
        if reply.error is not None or why:
            if reply.error is not None:
                yield record.note(ev.ProviderFailed(reply.error))
            failed = StopReason.FAILED, why or (reply.error.message if reply.error else "")
            yield record.end(*(failed if only or not last else (StopReason.STEP_LIMIT, SUMMARY_FAILED)))
        elif last:
            steps = self.agent.limits.max_steps
            record.open.clear()
            for notice in self.claims(self.begun + reply.text):
                yield record.note(notice)
            if only and not cut and not reply.calls and reply.text.strip():
                yield record.end(StopReason.COMPLETED)  # the one step was asked for an answer, and this is it
            else:
                used = f"all {steps} step{'s' * (steps != 1)} used"
                yield record.end(StopReason.STEP_LIMIT, used if reply.text.strip() else NO_SUMMARY)
        elif cut:
            if reply.calls:
                for done in self.work.unusable(reply, CUT.format(cut), "cut"):
                    yield done
            elif self.dialect.name == "native" and reply.text.strip() and not self.cut_call:
                self.begun += reply.text
                yield record.note(ev.Notice(GO_ON.format(cut), "model", goes_on=True))
            else:
                yield record.note(ev.Notice(CUT.format(cut), "model"))
            if self.work.count_invalid():
                yield record.end(StopReason.INVALID, f"the model's replies were cut by {cut} again and again")
        elif self.loose == 1:
            for done in self.work.asked_for_form(reply):
                yield done
        elif reply.calls:
            self.begun = ""
            async with aclosing(self.work.carry(reply)) as events:
                async for event in events:
                    yield event
        else:
            if self.loose == 2:
                yield record.note(ev.Notice(TAKEN))
            edits = self.work.edits
            changed = await asyncio.to_thread(edits.evidence) if edits else {}
            for event in self.finish(reply, changed):
                yield event

    def finish(self, reply: Reply, changed: Mapping[str, Changed] | None) -> Iterator[ev.Durable]:
        """End the run with what was shown, or tell the model what is missing; `changed` None: that cannot be told."""
        agent, record, work = self.agent, self.record, self.work
        reason, text = verdict_on_done(
            shlex.join(agent.check.argv) if agent.check else None,
            record.check,
            edited=bool(work.edits),
            rounds_left=agent.limits.max_invalid - self.unverified,
            missing=agent.evidence(self.wanted, changed),
            ran=work.check_ran,
        )
        yield from map(record.note, self.claims(self.begun + reply.text))
        self.begun = ""
        if reason is None:
            self.unverified += 1
            yield record.note(ev.Notice(text, "model"))
            return
        if reason is StopReason.VERIFIED and agent.check:
            touched = work.edits.paths if changed is None else changed
            for doubt in doubts("\n".join(self.wanted), agent.check.argv, touched, changed or {}, work.edits.by_check):
                yield record.note(ev.Notice(f"look at it: {doubt}"))
        empty = EMPTY if not (reply.text or reply.refusal).strip() else ""
        yield record.end(reason, "; ".join(filter(None, (text, empty))))

    def claims(self, answer: str) -> list[ev.Notice]:
        """What the final answer says was done and no receipt shows, marked for the person."""
        return [ev.Notice(f"not shown: {claim}") for claim in unbacked_claims(answer, self.record.log.events)]
