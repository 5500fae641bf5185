"""Before each request: what it says of itself is recorded, it is made to fit, and what that does to the cache is told.

Everything that is decided here is an event in the log; what is sent is a function of those (`core.sent`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TypeAlias

from tui_agent.core import events as ev
from tui_agent.core.agent import Agent, Dialect, spent
from tui_agent.core.endings import BROKEN_OFF, UNANSWERED
from tui_agent.core.facts import facts
from tui_agent.core.log import is_durable
from tui_agent.core.record import Record
from tui_agent.core.reply import ReplyBuilder, masked
from tui_agent.core.room import (
    HIGH,
    LOW,
    WARN,
    Room,
    answer_left,
    decided,
    instructed,
    kept,
    limit,
    marks,
    prune,
)
from tui_agent.core.sent import Sent, Step, messages, size
from tui_agent.core.stage import stream_reply
from tui_agent.core.standing import AnyEvent
from tui_agent.core.types import ProviderError, Reply, Request, ToolSpec, Usage, UserMessage

Events: TypeAlias = AsyncGenerator[ev.Event, None]

PROMPT = (
    "Your memory of this conversation is nearly full. Write the summary that takes its place; everything else will be "
    "gone. Keep: the goals and instructions of the user, what was decided and why, every file that was read, made or "
    "changed with its path, the code, names, commands and errors that are still needed, and what is left to do. "
    "Dense bullet points, no introduction. Call no tool; answer with the summary only."
)
FOCUS = "Above all keep what concerns: "
EMPTY_SUMMARY = "the model wrote no summary"
CUT = "the summary was cut by the length limit of a reply"
LITTLE = "not compacted: there is nothing yet that a summary could take the place of"
LONGER = "the summary is longer than what it was to replace"
LEAST_REPLACED = 4_000
"""Characters, or half of what is too much, below which a summary is not worth its request: what is old is left out."""
TRIES = 4
"""How often one run makes a request shorter because the server refused it."""
LEAST_LOST = 1024
"""Tokens below which no vendor keeps a prompt, so that nothing is lost."""
NEARLY = "the context is nearly full"
ON_THE_SCREEN = " /compact [FOCUS] puts a summary in its place, /context shows it"
"""What only the screen has to offer then."""
ANEW = "the prompt cache begins anew"


class Fitting:
    """Keeps the requests of one run within `agent.room`; an agent without one sends everything."""

    def __init__(self, agent: Agent, record: Record) -> None:
        self.agent = agent
        self.record = record
        self._overflows = 0

    async def make_room(self, dialect: Dialect, tools: tuple[ToolSpec, ...]) -> Events:
        """What is to be done before the next request is built."""
        agent, record = self.agent, self.record
        if agent.room is None:
            return
        events, room = record.log.events, agent.room()
        names = tuple(tool.name for tool in dialect.offered(tools))
        frame = instructed(dialect.encode(Request(agent.system, (), tools)), names)
        if tools == agent.tools.specs and frame != _newest(events):
            yield record.note(frame)
        most = limit(events, record.sent, room, agent.limits)
        used = record.sent.size
        if used > HIGH * most:
            low, high = (int(part * most) - record.sent.frame for part in (LOW, HIGH))
            async with aclosing(self._shrink(dialect, room, low, high)) as shrinking:
                async for event in shrinking:
                    yield event
        elif used > WARN * most and not _warned(events):
            text = f"{NEARLY}: {used / most:.0%} of what fits.{ON_THE_SCREEN}"
            yield record.note(ev.Notice(text))
        for notice in lost(events, record.sent, agent):
            yield record.note(notice)

    async def _shrink(self, dialect: Dialect, room: Room, target: int, most: int) -> Events:
        """Shorten, then put a summary in the place of what is old, then leave out.

        Down to `target` characters; for its sake nothing is taken that the model has asked for and not read: that only
        where there are more than `most`.
        """
        record = self.record
        before = record.sent.steps
        shorter = prune(before, target, whole_turns=False)
        for mark in marks(before, shorter):
            yield record.note(decided(record.log.events, mark))
        if size(record.sent.steps) <= target:
            return
        old = size(replaceable(record.sent.steps))
        if room.compacts and old > min(LEAST_REPLACED, (size(record.sent.steps) - target) // 2):
            async with aclosing(compact(self.agent, record, dialect, by="room")) as compacting:
                async for event in compacting:
                    yield event
        before = record.sent.steps
        for mark in marks(before, prune(before, target, most=most)):
            yield record.note(decided(record.log.events, mark))

    def overflowed(self, request: Request, error: ProviderError | None) -> ev.Overflowed | None:
        """The event of a request that was refused as too long, when there is something to leave out of the next one."""
        if self.agent.room is None or error is None or error.kind != "context_length" or self._overflows >= TRIES:
            return None
        self._overflows += 1
        steps = self.record.sent.steps
        now = size(steps)
        if size(prune(steps, now // 2)) >= now:
            return None
        return ev.Overflowed(self.record.sent.size)


# ------------------------------------------------------------------ a summary in the place of messages


async def compact(
    agent: Agent,
    record: Record,
    dialect: Dialect,
    *,
    focus: str = "",
    by: ev.By = "person",
) -> Events:
    """Let the model write a summary and put it in the place of what is old; the last event is a `Compacted`.

    The request begins as the last one did, so that the server's cache counts; what does not fit into it is shortened
    or left out there only. If it fails nothing of the conversation is changed. With nothing to replace the model is
    not asked, and a notice says so.
    """
    events, steps = record.log.events, record.sent.steps
    if not replaceable(steps):
        yield record.note(ev.Notice(LITTLE))
        return
    yield ev.Phase("waiting", "writing a summary")
    order = f"{PROMPT}\n{FOCUS}{focus}" if focus else PROMPT
    if agent.room is not None:
        most = int(HIGH * limit(events, record.sent, agent.room(), agent.limits))
        steps = prune(steps, most - record.sent.frame - len(order))
    tools = agent.tools.specs if dialect.live else ()
    request = dialect.encode(Request(agent.system, (*messages(steps), UserMessage(order)), tools))
    if agent.room is not None:
        characters = record.sent.frame + size(steps) + len(order)
        request = replace(request, answer=answer_left(characters, record.sent.density, agent.room()))
    builder = ReplyBuilder()
    async with aclosing(stream_reply(agent.model, request, builder, agent.clock, live=False)) as stream:
        async for event in stream:
            if isinstance(event, ev.ArgumentsDelta):
                yield replace(event, name="the summary")
            elif not is_durable(event):
                yield event
    reply = masked(dialect.decode(builder.reply(), ()), agent.hidden)
    for usage in reply.lost:
        if (lost := spent(usage, agent.price)) is not None:
            yield record.note(lost)
    free = reply.usage is None and reply.error is not None and reply.error.free
    yield record.note(_compaction(record, reply, focus, by, agent.price(Usage(0, 0) if free else reply.usage)))


def _compaction(record: Record, reply: Reply, focus: str, by: ev.By, cost: float | None) -> ev.Compacted:
    """The event of a summary that was written, or of why it was not."""
    events, text = record.log.events, reply.text.strip()
    total = round(record.sent.size / record.sent.density)
    fault = _fault(reply.error, reply.finish, text)
    if not fault:
        stays = kept(record.sent.steps)
        made = ev.Compacted(text, stays, focus, by, total, 0, reply.usage, cost, facts=facts(events))
        done = decided(events, made)
        if done.left < total:
            return done
        fault = LONGER
    return ev.Compacted("", (), focus, by, total, total, reply.usage, cost, fault)


def replaceable(steps: Sequence[Step]) -> list[Step]:
    """What a summary would take the place of; nothing when that is no more than an earlier summary."""
    stays = frozenset(kept(steps))
    found = [step for step in steps if step.head.at not in stays and not step.dropped]
    return found if any(step.head.kind != "summary" for step in found) else []


def _fault(error: ProviderError | None, finish: str | None, text: str) -> str:
    if error is not None:
        return error.message
    if refused := UNANSWERED.get(finish or ""):
        return refused
    if finish in BROKEN_OFF:
        return CUT
    if not text:
        return EMPTY_SUMMARY
    return ""


# ------------------------------------------------------------------ the cache


def lost(events: Sequence[AnyEvent], sent: Sent, agent: Agent) -> Iterator[ev.Notice]:
    """Says that the server's cache of the last request does not serve the next one, why, and what that costs."""
    reply = next((n for n in range(len(events) - 1, -1, -1) if isinstance(events[n], ev.AssistantSaid)), None)
    if reply is None:
        return
    why = ""
    for event in events[reply + 1 :]:
        if isinstance(event, ev.Notice) and event.text.startswith(ANEW):
            why = ""
        why = _reason(event, events[:reply]) or why
    if not why:
        return
    then, now = Sent(events[: reply + 1]).history, sent.steps
    same = 0
    if why not in {ANOTHER, RULES}:
        sent_now = messages(now)
        same = next(
            (n for n, (a, b) in enumerate(zip(then, sent_now, strict=False)) if a != b), min(len(then), len(sent_now))
        )
        if same == len(then):
            return
    again, passed = 0 if same else sent.frame, 0
    for step in now:
        if passed >= same and (step.head.at <= reply or step.head.kind == "summary"):
            again += step.size
        passed += len(step.sent)
    count = round(again / sent.density)
    if count >= LEAST_LOST:
        yield ev.Notice(f"{ANEW}: {why}; about {count:,} tokens are read again{_price(agent, count)}")


ANOTHER, RULES = "another model answers", "the system text or the tools are others"


def _reason(event: AnyEvent, before: Sequence[AnyEvent]) -> str:
    match event:
        case ev.ModelChosen():
            return ANOTHER if any(isinstance(e, ev.ModelChosen) for e in before) else ""
        case ev.Instructed():
            return RULES if any(isinstance(e, ev.Instructed) for e in before) else ""
        case ev.Compacted(fault=""):
            return "a summary took the place of messages"
        case ev.Expanded():
            return "a compaction was taken back"
        case ev.Marked(by="room"):
            return "old messages were shortened or left out"
        case ev.Marked():
            return "you changed what is sent"
    return ""


def _price(agent: Agent, count: int) -> str:
    full, cached = agent.price(Usage(count, 0)), agent.price(Usage(count, 0, count))
    return f", ${full - cached:.4f} more" if full is not None and cached is not None and full > cached else ""


def _newest(events: Sequence[AnyEvent]) -> ev.Instructed | None:
    return next((e for e in reversed(events) if isinstance(e, ev.Instructed)), None)


def _warned(events: Sequence[AnyEvent]) -> bool:
    """Whether the person was told since what is sent, or to whom, changed last."""
    for event in reversed(events):
        if isinstance(event, ev.Notice) and event.text.startswith(NEARLY):
            return True
        if isinstance(event, ev.Marked | ev.Compacted | ev.Expanded | ev.ModelChosen):
            return False
    return False
