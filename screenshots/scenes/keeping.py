"""What is kept: sessions, and what of them is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from textual.pilot import Pilot

from screenshots.scenes.stage import Scene, settle, tell, until
from screenshots.scenes.story import ENDING, STORY, call, done, said
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.ledger import ledger
from tui_agent.core.profile import Pricing
from tui_agent.core.types import (
    AssistantMessage,
    Usage,
)
from tui_agent.sessions import Place
from tui_agent.ui.app import AgentApp
from tui_agent.ui.context import ContextScreen
from tui_agent.ui.context_rows import overview
from tui_agent.ui.rewind import RewindScreen
from tui_agent.ui.session_list import SessionList

AT = datetime(2026, 11, 20, 14, 30)  # noqa: DTZ001 - the person's own clock
"""What time it is in the list of sessions."""


def kept(app: AgentApp, name: str, before: timedelta, *events: ev.Durable, parent: str | None = None) -> Path:
    """Let there be an earlier session of this folder, changed that long ago."""
    began = ev.SessionStarted(name, str(app.session.root), 1.0, "1", parent, 3 if parent else 0)
    place = Place(app.shelf.folder / name)
    for event in (began, ev.ModelChosen("local", "qwen3-coder:30b", local=True), *events):
        place.log.append(event)
    place.log.save()
    place.close()
    at = (AT - before).timestamp()
    os.utime(place.folder / "log.jsonl", (at, at))
    return place.folder


def turn_of(task: str, answer: str, cost: float | None = 0.0) -> tuple[ev.Durable, ...]:
    """A message with its answer."""
    reply = ev.AssistantSaid(AssistantMessage(answer), usage=Usage(18_100, 100), cost=cost)
    return ev.UserSaid(task), reply, ev.RunEnded(StopReason.COMPLETED, "", 1)


async def _list(app: AgentApp, pilot: Pilot[int]) -> SessionList:
    app.shelf.now = AT.timestamp
    await pilot.press("ctrl+x", "s")
    await until(lambda: isinstance(app.screen, SessionList) and app.screen.ready)
    await settle(pilot)
    assert isinstance(app.screen, SessionList)
    return app.screen


async def _sessions(app: AgentApp, pilot: Pilot[int]) -> None:
    """Sessions of every kind: named, renamed, forked, without a name, with a question left open."""
    asked = ev.Asked("q", "c4", "edit_file", "edit  src/lexer.py", "ab")
    answer = "Good: the message for \\x stays. The failing test counts from one while the lexer counts from zero."
    long = ("also keep the old error text for \\x please", answer)
    kept(app, "a", timedelta(minutes=28), *STORY, *turn_of(*long), ev.Named("Fix unicode escapes"))
    fork = (*STORY[:1], *turn_of("then the docs", "Done."), ev.Named("Fix unicode escapes"))
    kept(app, "b", timedelta(minutes=50), *fork, parent="a")
    kept(app, "c", timedelta(days=1), *turn_of("surrogate pairs in JSON keys", "I ask first.", 0.31), *STORY[:1], asked)
    kept(app, "d", timedelta(days=8), *turn_of("why is \\u rejected", "Because it needs four digits."))
    names = (ev.Named("big refactor"), ev.Named("lexer rewrite"))
    kept(app, "e", timedelta(days=17), *turn_of("split the lexer in two", "Split.", 4.12), *names)
    await _list(app, pilot)


async def _sessions_search(app: AgentApp, pilot: Pilot[int]) -> None:
    await _sessions(app, pilot)
    await pilot.press("slash", *"lex")
    await until(lambda: isinstance(app.screen, SessionList) and app.screen.searched)


async def _sessions_none(app: AgentApp, pilot: Pilot[int]) -> None:
    await _list(app, pilot)


async def _sessions_damaged(app: AgentApp, pilot: Pilot[int]) -> None:
    folder = kept(app, "a", timedelta(days=3), *turn_of("split the lexer in two", "Split."))
    with (folder / "log.jsonl").open("ab") as log:
        log.write(b'{"seq":9,"t":1.0,"type":"assi')
    os.utime(folder / "log.jsonl", (AT.timestamp() - 3 * 86_400,) * 2)
    (app.shelf.folder / "b").mkdir()
    os.utime(app.shelf.folder / "b", (AT.timestamp() - 4 * 86_400,) * 2)
    (await _list(app, pilot)).action_all()


async def _rewind(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *STORY, *ENDING, *turn_of("also keep the old error text for \\x please", "It stays."))
    app.main.act("session.rewind")
    await until(lambda: isinstance(app.screen, RewindScreen))


LONG_TALK: tuple[ev.Durable, ...] = (
    ev.Instructed("0" * 64, 2_900, 4_100),
    ev.UserSaid("Read the lexer and the parser and tell me how escapes are decoded today."),
    said("I look at both.", call(31, "read_file", path="src/lexer.py"), call(32, "read_file", path="src/parser.py")),
    done(call(31, "read_file", path="src/lexer.py"), "read  src/lexer.py", "412 lines"),
    done(call(32, "read_file", path="src/parser.py"), "read  src/parser.py", "903 lines"),
    said("`take_hex` reads four digits, and **nothing joins two halves** of a surrogate pair. " * 6),
    ev.RunEnded(StopReason.COMPLETED, "", 2),
    ev.UserSaid("Fix it, and add a test that shows a lone half is refused with its column."),
    said("", call(33, "run_command", argv=["make", "check"])),
    done(call(33, "run_command", argv=["make", "check"]), "run  make check", "exit 1"),
)


def _counted(events: tuple[ev.Durable, ...]) -> Iterator[ev.Durable]:
    """With long results, and with tokens and a price for every reply."""
    sent = 2_100
    for event in events:
        if isinstance(event, ev.ToolDone):
            sent += 2_400
            yield replace(event, text=f"[{event.summary}]\n" + "    if not is_hex(code): self.fail(self.pos)\n" * 220)
        elif isinstance(event, ev.AssistantSaid):
            sent += 90
            yield replace(event, usage=Usage(sent, 120, sent // 2), cost=round(sent * 1.7e-6, 6))
        else:
            yield event


async def _context(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *_counted(LONG_TALK))
    tell(app, ev.Marked((5,), "pinned"), ev.Marked((6,), "dropped"))
    agent = replace(app.session.agent(), system="You are a careful coding agent. " * 90)
    price = Pricing(input=3.0, cached_input=0.3, output=15.0)
    book = ledger(app.session.events, lambda _: price)
    screen = ContextScreen(lambda: book, lambda known: overview(agent, known, 32_768), lambda *_: None)
    app.push_screen(screen)
    await until(lambda: isinstance(app.screen, ContextScreen))
    await settle(pilot)


async def _compacted(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(
        app,
        *_counted(LONG_TALK),
        ev.Notice("the context is nearly full: 83% of what fits. /compact [FOCUS] puts a summary in its place"),
        ev.Marked((3, 4), "short", "room", 9_300),
        ev.Compacted(
            "- goal: join surrogate halves\n- src/lexer.py: take_hex reads 4 digits", (8,), "", "room", 9_300, 3_900
        ),
        ev.Notice(
            "the prompt cache begins anew: a summary took the place of messages; about 1,700 tokens are read again"
        ),
    )
    app.main.refresh_state()
    await settle(pilot)


SCENES = (
    Scene("sessions", _sessions),
    Scene("sessions-search", _sessions_search),
    Scene("sessions-none", _sessions_none),
    Scene("sessions-damaged", _sessions_damaged),
    Scene("rewind", _rewind),
    Scene("context", _context),
    Scene("compacted", _compacted),
)
