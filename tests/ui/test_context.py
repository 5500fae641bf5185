"""`/context`, `/compact`, `/history` and `/budget` in the whole app, by their keys; and the rows behind the screen."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.core.test_sent import decided as any_talk
from tests.fakes import FakeTools
from tests.ui.test_app import held, idle, running, send, text_of
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import StopReason
from tui_agent.core.fitting import PROMPT
from tui_agent.core.ledger import Spent, ledger
from tui_agent.core.log import MemoryLog
from tui_agent.core.loop import Agent, next_request
from tui_agent.core.sent import LEFT_OUT, SUMMARY, Sent, sent
from tui_agent.core.types import AssistantMessage, Author, Model, Request, TextDelta, ToolCall, Usage
from tui_agent.providers.scripted import from_function, scripted
from tui_agent.ui.app import AgentApp
from tui_agent.ui.context import ContextScreen, head, packed, preview
from tui_agent.ui.context_rows import PARTS, Row, next_mark, overview
from tui_agent.ui.viewer import Viewer

CALL = ToolCall("1", "read_file", {"path": "a.py"}, raw='{"path": "a.py"}')
OLD: tuple[ev.Durable, ...] = (
    ev.UserSaid("read it"),
    ev.AssistantSaid(AssistantMessage("", calls=(CALL,)), usage=Usage(3_000, 20), cost=0.01),
    ev.ToolDone(CALL, "applied", "print()\n" * 900, summary="read  a.py"),
    ev.AssistantSaid(AssistantMessage("I have read it."), usage=Usage(5_000, 10), cost=0.02),
    ev.RunEnded(StopReason.COMPLETED),
    ev.UserSaid("and now?"),
    ev.AssistantSaid(AssistantMessage("Now it is your turn."), usage=Usage(5_050, 10), cost=0.02),
    ev.RunEnded(StopReason.COMPLETED),
)


def answering(request: Request) -> str:
    return "- they read a.py" if PROMPT in request.messages[-1].text else "done"


@asynccontextmanager
async def talking(tmp_path: Path, **kw: Any) -> AsyncIterator[tuple[AgentApp, Pilot[int]]]:
    """The app after a talk."""
    async with running(tmp_path, from_function(answering), **kw) as (app, pilot):
        for event in OLD:
            app.session.log.append(event)
        app.talk.catch_up()
        yield app, pilot


async def opened(app: AgentApp, pilot: Pilot[int]) -> ContextScreen:
    await send(app, pilot, "/context")
    await until(lambda: isinstance(app.screen, ContextScreen) and app.screen.query_one(OptionList).option_count > 0)
    await pilot.pause()
    assert isinstance(app.screen, ContextScreen)
    return app.screen


def marks(app: AgentApp) -> list[tuple[str, tuple[int, ...]]]:
    return [(event.how, event.messages) for event in app.session.events if isinstance(event, ev.Marked)]


def place(app: AgentApp, kind: type) -> int:
    return max(n for n, event in enumerate(app.session.events) if isinstance(event, kind))


async def test_it_shows_what_is_sent_with_tokens_and_cost(tmp_path: Path) -> None:
    async with talking(tmp_path) as (app, pilot):
        await opened(app, pilot)
        shown = text_of(app)
        assert "6 messages" in shown
        assert "system" in shown
        assert "tools" in shown
        assert "(memory, not a new request: task: and now?; files touched last: a.py)" in " ".join(shown.split())
        assert "So far: 13.1k tokens, $0.0500" in shown
        assert "instructions" in shown


async def test_keys_pin_shorten_and_leave_out_and_the_second_time_take_it_back(tmp_path: Path) -> None:
    async with talking(tmp_path) as (app, pilot):
        screen = await opened(app, pilot)
        choices = screen.query_one(OptionList)
        choices.highlighted = 4
        await pilot.pause()
        result = place(app, ev.ToolDone)
        for key, how in (("s", "short"), ("x", "dropped"), ("p", "pinned"), ("p", "whole")):
            await pilot.press(key)
            assert marks(app)[-1] == (how, (result,))
        await pilot.press("x")
        assert LEFT_OUT in [m.text for m in sent(app.session.events)]
        assert "print()" in [m.text[:7] for m in fold.history(app.session.events)]
        choices.highlighted = 0
        await pilot.pause()
        count = len(marks(app))
        await pilot.press("x")
        assert len(marks(app)) == count, "the system text cannot be left out"


async def test_a_call_leaves_with_its_result(tmp_path: Path) -> None:
    async with talking(tmp_path) as (app, pilot):
        screen = await opened(app, pilot)
        screen.query_one(OptionList).highlighted = 3
        await pilot.pause()
        await pilot.press("x")
        assert [m.text for m in sent(app.session.events)][:2] == ["read it", "I have read it."]
        assert app.main.header.tokens is not None
        assert app.main.header.tokens < 4_000


async def test_enter_shows_the_whole_text(tmp_path: Path) -> None:
    async with talking(tmp_path) as (app, pilot):
        await opened(app, pilot)
        await pilot.press("home", "enter")
        await until(lambda: isinstance(app.screen, Viewer))
        await pilot.pause(0.1)
        assert "system, as it is sent" in text_of(app)
        await pilot.press("escape", "escape")
        assert app.screen is app.main


async def test_compact_puts_a_summary_in_the_place_and_undo_takes_it_back(tmp_path: Path) -> None:
    async with talking(tmp_path) as (app, pilot):
        before = sent(app.session.events)
        await send(app, pilot, "/compact the tests")
        await until(lambda: not app.talk.working and any(isinstance(e, ev.Compacted) for e in app.session.events))
        assert [m.text for m in sent(app.session.events)] == [
            SUMMARY + "- they read a.py",
            "and now?",
            "Now it is your turn.",
        ]
        await until(lambda: "/compact undo takes it back" in text_of(app))
        assert app.talk.totals.replies == 4
        await send(app, pilot, "/compact undo")
        await until(lambda: sent(app.session.events) == before)
        await send(app, pilot, "/compact undo")
        await until(lambda: any("no summary to take back any more" in n.message for n in app._notifications))
        assert sum(isinstance(e, ev.Expanded) for e in app.session.events) == 1


async def test_the_screen_compacts_and_takes_back(tmp_path: Path) -> None:
    async with talking(tmp_path) as (app, pilot):
        await opened(app, pilot)
        await pilot.press("u")
        assert isinstance(app.screen, ContextScreen), "there is nothing to take back yet"
        await pilot.press("c")
        await until(lambda: not app.talk.working and Sent(app.session.events).compaction is not None)
        await opened(app, pilot)
        assert "u take the summary back" in text_of(app)
        await pilot.press("u")
        assert Sent(app.session.events).compaction is None


async def test_a_compaction_waits_for_the_end_of_a_run(tmp_path: Path) -> None:
    model, go = held("a long answer " * 30, "one two three four", "- summary")
    async with running(tmp_path, model) as (app, pilot):
        await send(app, pilot, "hello")
        await send(app, pilot, "and more")
        await send(app, pilot, "/compact")
        assert app.talk.queue == ["and more", "/compact"]
        go.set()
        await until(lambda: not app.talk.working and any(isinstance(e, ev.Compacted) for e in app.session.events))
        assert not app.talk.queue


async def test_a_summary_that_is_stopped_changes_nothing(tmp_path: Path) -> None:
    async def hang(_: Request) -> AsyncIterator[TextDelta]:
        yield TextDelta("- half ")
        await until(lambda: False)

    async with running(tmp_path, Model(Author("scripted", "s", "s"), hang)) as (app, pilot):
        for event in OLD:
            app.session.log.append(event)
        app.talk.catch_up()
        before = list(app.session.events)
        await send(app, pilot, "/compact")
        await until(lambda: app.main.working)
        await pilot.press("ctrl+c")
        await idle(app)
        assert app.session.events == before
        assert app.main.composer.text == ""


async def test_history_is_whole(tmp_path: Path) -> None:
    async with talking(tmp_path) as (app, pilot):
        app.session.log.append(ev.Compacted("- short", ()))
        await send(app, pilot, "/history")
        await until(lambda: isinstance(app.screen, Viewer))
        await pilot.pause(0.1)
        assert "read it" in text_of(app)
        assert "→ read_file" in text_of(app)


async def test_a_budget_is_given_shown_and_taken_away(tmp_path: Path) -> None:
    async with talking(tmp_path) as (app, pilot):
        await send(app, pilot, "/budget")
        assert "There is no budget" in text_of(app)
        await send(app, pilot, "/budget 50,000")
        assert "50,000 tokens from here on" in text_of(app)
        app.session.log.append(ev.AssistantSaid(AssistantMessage("x"), usage=Usage(8_000, 500)))
        await send(app, pilot, "/budget")
        assert "8,500 used, 41,500 left" in text_of(app)
        await send(app, pilot, "/budget much")
        assert fold.budget(app.session.events) is not None
        await send(app, pilot, "/budget off")
        assert fold.budget(app.session.events) is None


async def test_a_message_that_a_used_up_budget_does_not_let_out_goes_back_and_the_queue_waits(tmp_path: Path) -> None:
    async with talking(tmp_path) as (app, _):
        app.session.log.append(ev.BudgetSet(100))
        app.session.log.append(ev.AssistantSaid(AssistantMessage("x"), usage=Usage(8_000, 500)))
        before = sent(app.session.events)
        app.talk.queue.append("the one after")
        app.talk.send("the next one")
        await idle(app)
        await until(lambda: app.main.composer.text == "the next one")
        assert app.talk.queue == ["the one after"]
        assert sent(app.session.events) == before


# ------------------------------------------------------------------ rows


def agent_of(events: list[ev.Durable]) -> Agent:
    return Agent(scripted([]), FakeTools(), log=MemoryLog([*events]), system="Be careful.", memory=True)


@given(any_talk())
def test_the_rows_are_the_next_request_and_add_up(events: list[ev.Durable]) -> None:
    agent = agent_of(events)
    book = ledger(events, lambda _: None)
    view = overview(agent, book, None)
    request = next_request(agent, agent.dialect, Sent(events), agent.tools.specs)
    rows = [row for row in view.rows if row.role not in {"system", "tools"} and row.characters]
    assert sum(bool(m.text) for m in request.messages) <= len(rows) + sum(not row.characters for row in view.rows)
    assert sum(row.tokens for row in view.rows) == view.tokens == sum(view.part(part) for part in PARTS)
    assert sum(row.characters for row in view.rows) == view.characters
    shares = sum(row.spent.tokens for row in view.rows) + view.gone.tokens
    assert shares == pytest.approx(view.spent.tokens)
    assert view.spent.tokens == pytest.approx(sum(spent.tokens for spent in book.values()))


def test_replies_whose_tokens_nobody_told_are_named() -> None:
    said = AssistantMessage("two", author=Author("openai-chat", "http://x", "m"))
    view = overview(agent_of([ev.UserSaid("one"), ev.AssistantSaid(said)]), {}, None)
    assert "So far: 0 tokens, $0.0000, 1 reply not counted" in head(view, 80).plain


def test_what_is_left_out_is_a_row_without_tokens() -> None:
    events = [ev.UserSaid("one"), ev.AssistantSaid(AssistantMessage("two")), ev.Marked((1,), "dropped")]
    (row,) = [row for row in overview(agent_of(events), {}, None).rows if row.role == "model"]
    assert (row.how, row.tokens, row.text) == ("dropped", 0, "two")


def test_what_is_gone_keeps_its_cost() -> None:
    events = [*OLD, ev.Compacted("- short", ())]
    view = overview(agent_of(events), ledger(events, lambda _: None), 100)
    assert view.gone.tokens == pytest.approx(view.spent.tokens - view.rows[0].spent.tokens)
    assert view.compaction == len(OLD)


def test_a_second_press_takes_a_mark_back() -> None:
    row = Row("you", "chat", "x", 1, 1, (1,), "short", Spent())
    assert next_mark(row, "short") == "whole"
    assert next_mark(replace(row, how="pinned"), "short") == "short"


@pytest.mark.parametrize("lines", [1, 3])
def test_a_preview_has_few_lines_of_sixty_cells(lines: int) -> None:
    shown = preview("word \n\t" * 200, 60, lines)
    assert len(shown) == lines
    assert all(len(line) <= 60 for line in shown)
    assert shown[-1].endswith("…")
    assert preview("a  b\nc", 60, lines) == ["a b c"]


@given(st.lists(st.text("abc ", min_size=1, max_size=30), max_size=8), st.integers(5, 60))
def test_short_texts_are_packed_untorn(items: list[str], width: int) -> None:
    out = packed(items, width).split("\n")
    assert "".join("".join(out).split()) == "".join("".join(items).split())
    assert all(cell_len(line) <= max(width, *map(len, items), 0) for line in out)
