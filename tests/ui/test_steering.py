"""A message to the turn that runs, in the whole app by its keys: heard once, taken back, kept at a stop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key

from tests.ui.test_app import idle, running, send, text_of
from tests.ui.test_desk import ANSWERS, choose, queued, said, told
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.core.types import Author, CallDelta, Model, ReplyEnd, Request, TextDelta, UserMessage
from tui_agent.providers.scripted import scripted


def steps(count: int) -> tuple[Model, list[Request], asyncio.Semaphore]:
    """A model that reads a file `count` times, each time when it is let go on, and then answers."""
    seen: list[Request] = []
    go = asyncio.Semaphore(0)

    async def stream(request: Request) -> AsyncIterator[Any]:
        seen.append(request)
        await go.acquire()
        if len(seen) <= count:
            yield CallDelta(0, f"c{len(seen)}", "read_file", json.dumps({"path": f"{len(seen)}.txt"}))
        else:
            yield TextDelta("done")
        yield ReplyEnd("stop")

    return Model(Author("scripted", "s", "s"), stream), seen, go


def user_texts(request: Request) -> list[str]:
    words = [m.text for m in request.messages if isinstance(m, UserMessage)]
    return [text for text in words if not text.startswith("(memory")]


@pytest.mark.parametrize("by", ["key", "command", "list", "waiting"])
async def test_a_message_is_handed_to_the_running_turn_once(tmp_path: Path, by: str) -> None:
    model, seen, go = steps(2)
    async with running(tmp_path, model) as (app, pilot):
        await queued(app, pilot, *(["use tabs"] if by in {"list", "waiting"} else []), "later")
        if by == "list":
            await choose(app, pilot, "tabs", "hand")
        elif by == "command":
            await send(app, pilot, "/steer use tabs")
        else:
            app.main.composer.load("use tabs" if by == "key" else "")
            await pilot.press("ctrl+s")
        await until(lambda: "queued 2  in this turn  use tabs" in text_of(app))
        assert (app.talk.queue, app.main.composer.text) == (["use tabs", "later"], "")
        go.release()
        await until(lambda: len(seen) == 2)
        assert user_texts(seen[1]) == ["work", "use tabs"]
        await until(lambda: "queued 1  next  later" in text_of(app))
        await until(lambda: text_of(app).count("use tabs") == 1)
        for _ in range(3):
            go.release()
        await until(lambda: len(seen) == 4)
        await idle(app)
        assert said(app) == ["work", "later"]
        assert [e.text for e in app.session.events if isinstance(e, ev.Steered)] == ["use tabs"]
        assert user_texts(seen[2]) == ["work", "use tabs"]


async def test_a_key_does_not_go_before_what_was_typed_before_it(tmp_path: Path) -> None:
    model, _, go = steps(0)
    async with running(tmp_path, model) as (app, pilot):
        await queued(app, pilot)
        for letter in "tabs":  # all of it waits at once, as after a moment in which the program was busy
            app.post_message(Key(letter, letter))
        app.post_message(Key("ctrl+s", None))
        await until(lambda: app.talk.queue != [])
        assert (app.talk.queue, app.main.composer.text) == (["tabs"], "")
        go.release()
        go.release()


async def test_what_comes_too_late_begins_the_next_turn_before_what_waited(tmp_path: Path) -> None:
    model, seen, go = steps(0)
    async with running(tmp_path, model) as (app, pilot):
        await queued(app, pilot, "later")
        await send(app, pilot, "/steer at once")
        await until(lambda: app.talk.queue == ["at once", "later"])
        for _ in range(3):
            go.release()
        await until(lambda: len(seen) == 3)
        await idle(app)
        assert said(app) == ["work", "at once", "later"]


async def test_it_can_be_taken_back_and_a_stop_keeps_it(tmp_path: Path) -> None:
    model, seen, _ = steps(3)
    async with running(tmp_path, model) as (app, pilot):
        await queued(app, pilot)
        await send(app, pilot, "/steer one")
        await send(app, pilot, "/steer two")
        await until(lambda: app.talk.queue == ["one", "two"])
        await pilot.press("up")
        assert (app.main.composer.text, app.talk.queue, app.talk.soon) == ("two", ["one"], 1)
        await pilot.press("ctrl+u", "ctrl+c")
        await idle(app)
        assert (app.talk.queue, app.talk.soon) == (["one"], 0)
        assert len(seen) == 1
        await until(lambda: app.session.place.unsent().queue == ("one",))


async def test_what_no_run_can_hear_waits_for_its_end(tmp_path: Path) -> None:
    model, seen, go = steps(1)
    async with running(tmp_path, model) as (app, pilot):
        await queued(app, pilot)
        for text in ("!true", "look at @a.png"):
            await send(app, pilot, f"/steer {text}")
        await until(lambda: len(app.talk.queue) == 2)
        await pilot.press("ctrl+s")
        assert app.talk.soon == 0
        app.talk.queue.clear()
        await pilot.press("ctrl+s")
        assert told(app)[-1] == "Nothing waits that the running turn could hear."
        go.release()
        go.release()
        await until(lambda: len(seen) == 2)
        await idle(app)
    async with running(tmp_path, scripted(ANSWERS)) as (app, pilot):
        app.main.composer.load("while nothing runs it is sent")
        await pilot.press("ctrl+s")
        await until(lambda: said(app) == ["while nothing runs it is sent"])
        await idle(app)
