"""A message on its way into a run: what it is about decides prompt, tools and history, inside of the mode."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Literal, TypeVar

from tui_agent.core import events as ev
from tui_agent.core import loop
from tui_agent.core.agent import Plain, spent
from tui_agent.core.standing import apart
from tui_agent.core.types import ApprovalRequest, Decision, Image, ToolCall, Usage
from tui_agent.intents import ENABLES, Intent, ask, by_words, read
from tui_agent.modes import Narrowed
from tui_agent.protocols.prompts import template
from tui_agent.session import Session
from tui_agent.tools.lookups import WEB_SEARCH

D = TypeVar("D", bound=ev.Durable)
FAILED = "the question what this is about failed, so it counts as coding"


async def run(session: Session, task: str, images: tuple[Image, ...] = ()) -> AsyncGenerator[ev.Event, None]:
    """Carry out one task by its intent, yielding its events; see `Session.run`.

    A general question is answered apart: without files, and what was said stays out of what is sent later.
    """
    intent: Intent = "coding"
    how = session.beyond.intents
    if how != "off" and session.mode.prompt == "coding" and not images:
        async with aclosing(_intent(session, task, how)) as events:
            async for event in events:
                if isinstance(event, ev.Routed):
                    intent = event.intent
                yield event
    elif apart(session.events):  # the process died before the question came: it is not for this message
        yield _record(session, ev.Routed("coding", "default", ENABLES["coding"]))
    beyond = session.beyond
    beyond.kept_out = how != "off" and intent == "coding"
    if intent == "general" or (intent == "hybrid" and beyond.searching):
        async with aclosing(_looked_up(session, task, apart=intent == "general")) as notes:
            async for note in notes:
                yield note
    if intent != "general" and not session.mode.reads_only and (names := session.terms.servers.starting):
        yield ev.Phase("waiting", f"starting MCP server{'s' * (len(names) != 1)} {', '.join(names)}")
    work = session.run(task, images) if intent != "general" else _apart(session, task)
    async with aclosing(work) as events:
        async for event in events:
            yield event


async def _intent(session: Session, task: str, how: str) -> AsyncGenerator[ev.Event, None]:
    """The intent, when it is to be told: it is not coding, or was another one before.

    In "auto" everything is coding unless search is on: a word by chance must not take the files from a task.
    """
    deciding = how != "auto" or session.beyond.searching
    found = by_words(task) if deciding and how != "model" else None
    by: Literal["words", "model"] = "words"
    usage: Usage | None = None
    cost: float | None = None
    if found is None and deciding and how != "words" and session.quick is not None:
        yield ev.Phase("waiting", "what this is about")
        reply = await ask(session.quick, task)
        by, usage = "model", reply.usage
        cost = session.price(usage)
        silent = reply.error is not None and not reply.error.free and usage is None
        for tried in (*reply.lost, *((None,) if silent else ())):
            if (lost := spent(tried, session.price)) is not None:
                yield _record(session, lost)
        if reply.error is not None:
            yield _note(session, f"{FAILED}: {reply.error.message}")
        else:
            found = read(reply.text, task)
    intent = found or "coding"
    before = next((e.intent for e in reversed(session.events) if isinstance(e, ev.Routed)), "coding")
    if intent != "coding" or before != "coding" or usage is not None:
        yield _record(session, ev.Routed(intent, by if found else "default", ENABLES[intent], usage, cost))


async def _looked_up(session: Session, task: str, *, apart: bool) -> AsyncGenerator[ev.Event, None]:
    """Search for the person's own words, and put what was found before them.

    While search is on the person has said that their words may go there; else they are asked as for any search.
    """
    beyond, workspace = session.beyond, session.workspace
    beyond.apart = apart
    try:
        prepared = await workspace.prepare(ToolCall(workspace.new_id(), WEB_SEARCH, {"query": task}))
        if not isinstance(prepared, ApprovalRequest):
            yield _note(session, f"not searched: {prepared.text}")
            return
        verdict = workspace.decide(prepared)
        decision = Decision(prepared.id, "yes", by="/search" if beyond.searching else verdict.rule)
        if verdict.permission == "ask" and not beyond.searching:
            yield ev.Phase("asking")
            (decision,) = await session.ask((prepared,))
        if verdict.permission == "deny" or decision.answer != "yes":
            yield _note(session, f"not searched: {'refused by you' if verdict.permission != 'deny' else verdict.rule}")
            return
        outcome = await workspace.commit(prepared, decision, lambda _: None)
    finally:
        beyond.apart = False
    if outcome.status == "applied":
        yield _record(session, ev.Notice(outcome.text, "model"))
    else:
        yield _note(session, f"not searched: {outcome.text.removeprefix('error: ')}")


async def _apart(session: Session, task: str) -> AsyncGenerator[ev.Event, None]:
    agent = session.agent()
    alone = replace(
        agent,
        tools=Narrowed(session.workspace, frozenset(), "general"),
        system=template("general").strip(),
        dialect=Plain(),
        check=None,
        room=None,
        memory=False,
        apart=True,
        between=tuple,
    )
    async with aclosing(session.alone(loop.run(task, alone))) as events:
        async for event in events:
            yield event


def _record(session: Session, event: D) -> D:
    session.log.append(event)
    return event


def _note(session: Session, text: str) -> ev.Notice:
    return _record(session, ev.Notice(text))
