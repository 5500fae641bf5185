"""Sessions in the whole app: what was typed survives, another one is gone to, a new one begun."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.sessions.story import CALL, EDIT, made, reply, turn
from tests.ui.test_app import idle, send, stalling, terms, text_of
from tests.waiting import PATIENCE, until
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.endings import CUT_OFF
from tui_agent.core.lock import holder
from tui_agent.core.log import load
from tui_agent.core.types import AssistantMessage, Author, Model, ReplyEnd, Request, TextDelta, UserMessage
from tui_agent.sessions import Place
from tui_agent.summaries import listed
from tui_agent.ui import shelf
from tui_agent.ui.app import AgentApp, Ready, Start
from tui_agent.unsent import Unsent


def answers(*texts: str) -> Model:
    """Answers in this order, whatever was said before."""
    left = list(texts)

    async def stream(_: Request) -> AsyncIterator[Any]:
        yield TextDelta(left.pop(0))
        yield ReplyEnd("stop")

    return Model(Author("scripted", "s", "s"), stream)


@asynccontextmanager
async def opened(
    tmp_path: Path, model: Model, place: Path | None = None, size: tuple[int, int] = (120, 40), **kw: Any
) -> AsyncIterator[tuple[AgentApp, Pilot[int]]]:
    """The app in `work`, with the session of a folder where one is given."""
    root = tmp_path / "work"
    root.mkdir(exist_ok=True)
    at = terms(root, tmp_path / "user", **kw)
    held = Place(place) if place is not None else None
    app = AgentApp(Start(root, at.paths, at.paths.config_file, place=held, ready=Ready(at, model)))
    async with app.run_test(size=size) as pilot:
        await until(lambda: app.main.conversation is not None and app.session.profile is not None)
        await pilot.pause()
        yield app, pilot


def kept(tmp_path: Path) -> Path:
    return tmp_path / "user" / "data" / "sessions"


def at_work(tmp_path: Path, *events: ev.Durable) -> Path:
    return made(kept(tmp_path), *events, cwd=str(tmp_path / "work"))


def said(app: AgentApp) -> list[str]:
    return [m.text for m in app.session.history if isinstance(m, UserMessage | AssistantMessage)]


def noticed(app: AgentApp) -> str:
    return "\n".join(n.message for n in app._notifications)


async def gone_to(app: AgentApp, name: str) -> None:
    await until(lambda: app.session.id == name and not any(w.name == "sessions" for w in app.workers))


# ------------------------------------------------------------------ what was typed


async def test_what_is_typed_is_on_the_disk_while_it_is_typed(tmp_path: Path) -> None:
    async with opened(tmp_path, answers("one")) as (app, pilot):
        await pilot.press(*"half a sentence")
        await until(lambda: app.session.place.unsent() == Unsent("half a sentence"))
        await pilot.press("ctrl+u")
        await until(lambda: not app.session.place.unsent())
        assert list(app.session.folder.glob("state*")) == []


async def test_an_idle_screen_writes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, answers("one")) as (app, pilot):
        await pilot.pause(0.5)
        assert not kept(tmp_path).exists()
        await pilot.press("a")
        await until(lambda: bool(app.session.place.unsent()))
        before = (app.session.folder / "state.json").stat().st_mtime_ns
        await pilot.pause(0.6)
        assert (app.session.folder / "state.json").stat().st_mtime_ns == before


async def test_messages_that_wait_are_kept_and_come_back_with_the_draft(tmp_path: Path) -> None:
    model, _ = stalling()
    async with opened(tmp_path, model) as (app, pilot):
        await send(app, pilot, "first")
        await until(lambda: app.talk.phase.name == "streaming")
        await send(app, pilot, "second")
        await send(app, pilot, "third")
        await pilot.press(*"and")
        await until(lambda: app.session.place.unsent() == Unsent("and", ("second", "third")))
        folder = app.session.folder
        (copy := tmp_path / "killed").mkdir()  # as a kill at this moment leaves it
        for name in ("log.jsonl", "state.json"):
            (copy / name).write_bytes((folder / name).read_bytes())
    async with opened(tmp_path, answers("one"), copy) as (app, pilot):
        assert app.main.composer.text == "first\nand"  # no word of an answer to the first was in the log
        assert app.talk.queue == ["second", "third"]
        assert said(app) == []
        assert [e.detail for e in app.session.events if isinstance(e, ev.RunEnded)] == [CUT_OFF]
        await pilot.pause(0.2)
        assert "queued 2" in text_of(app)


async def test_a_folded_paste_is_folded_again_beside_what_was_typed_around_it(tmp_path: Path) -> None:
    log = "".join(f"line {number}\n" for number in range(312))
    async with opened(tmp_path, answers("one")) as (app, pilot):
        app.main.composer.load("why this ")
        app.main.composer.feed_paste(log)
        await pilot.press(*" then")
        await until(lambda: app.session.place.unsent().draft == f"why this {log} then")
        unsent = app.session.place.unsent()
    folder = at_work(tmp_path, *turn("one"), ev.UserSaid("no answer to this"))
    place = Place(folder)
    place.keep(unsent)
    place.close()
    async with opened(tmp_path, answers("one"), folder) as (app, _):
        assert app.main.composer.text == f"no answer to this\nwhy this {log} then"
        assert app.main.composer.draft.text == "no answer to this\nwhy this [paste 1: 312 lines, 2 kB] then"


@pytest.mark.parametrize("draft", ["", "more"])
async def test_a_message_that_got_no_word_before_the_kill_is_in_the_composer_again(tmp_path: Path, draft: str) -> None:
    folder = at_work(tmp_path, *turn("one"), ev.UserSaid("my long message"))
    place = Place(folder)
    place.keep(Unsent(draft))
    place.close()
    async with opened(tmp_path, answers("x"), folder) as (app, _):
        assert app.main.composer.text == "\n".join(filter(None, ("my long message", draft)))
        assert said(app) == ["one", "done"]


async def test_a_message_between_composer_and_log_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path, answers("one")) as (app, pilot):
        held: list[Unsent] = []
        keep = app.session.place.keep
        app.session.place.keep = lambda unsent: (held.append(unsent), keep(unsent))[1]  # type: ignore[method-assign]
        await send(app, pilot, "do it")
        await idle(app)
        logged = next(n for n, e in enumerate(app.session.events) if isinstance(e, ev.UserSaid))
        assert logged
        app.talk._sending = "on its way"
        app.main.drafts.save()
        assert held[-1] == Unsent("", ("on its way",))


# ------------------------------------------------------------------ another session


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 20)])
async def test_a_resumed_session_is_as_it_was(tmp_path: Path, size: tuple[int, int]) -> None:
    folder = at_work(tmp_path, *EDIT, ev.ModeChosen("plan", "only looks"), ev.Named("renaming"))
    async with opened(tmp_path, answers("again"), folder, size) as (app, pilot):
        await pilot.pause(0.2)
        assert "Renamed." in text_of(app)
        assert app.session.mode.name == "plan"
        assert app.talk.totals == fold.totals(app.session.events)
        assert app.talk.totals.cost == 1.0
        before = list(app.session.history)
        await send(app, pilot, "go on")
        await idle(app)
        assert list(app.session.history)[: len(before)] == before
        assert app.talk.totals.replies == 3


async def test_going_to_another_one_is_told_where_both_look_alike(tmp_path: Path) -> None:
    folder = at_work(tmp_path, *turn("one"))
    alike = at_work(tmp_path, *turn("one"))
    async with opened(tmp_path, answers("again"), alike) as (app, pilot):
        await pilot.press(*f"/resume {folder.name}", "enter")
        await gone_to(app, folder.name)
        assert "This is “one” again, last changed " in noticed(app)


async def test_that_somebody_else_gets_what_was_said_is_told(tmp_path: Path) -> None:
    folder = at_work(tmp_path, *turn("one"))
    async with opened(tmp_path, answers("again")) as (app, _):
        app.shelf.work(app.shelf.resume(folder.name))
        await gone_to(app, folder.name)
        await until(lambda: "The profile local of this session is gone: demo answers from here on" in text_of(app))


async def test_an_open_question_is_named_and_nothing_of_it_is_done(tmp_path: Path) -> None:
    folder = at_work(tmp_path, *EDIT[:3])
    async with opened(tmp_path, answers("ok"), folder) as (app, pilot):
        await pilot.pause(0.2)
        assert "A question was open" in text_of(app)
        assert "edit  src/a.py" in text_of(app)
        await send(app, pilot, "go on")
        await idle(app)
        assert fold.INTERRUPTED in [getattr(m, "text", "") for m in app.session.history]
        assert not (tmp_path / "work" / "src").exists()


async def test_new_keeps_the_old_one_and_says_how_to_come_back(tmp_path: Path) -> None:
    async with opened(tmp_path, answers("first answer", "second answer")) as (app, pilot):
        await send(app, pilot, "one")
        await idle(app)
        old = app.session.id
        await pilot.press(*"/new", "enter")
        await until(lambda: app.session.id != old)
        await pilot.pause(0.2)
        assert "first answer" not in text_of(app)
        assert "/resume -1" in text_of(app)
        assert app.talk.totals.replies == 0
        await send(app, pilot, "two")
        await idle(app)
        new = app.session.id
        await send(app, pilot, "/resume -1")
        await gone_to(app, old)
        await pilot.pause(0.2)
        assert "first answer" in text_of(app)
        assert said(app) == ["one", "first answer"]
        assert {one.id for one in listed(kept(tmp_path))} == {old, new}


async def test_a_draft_stays_with_its_session(tmp_path: Path) -> None:
    async with opened(tmp_path, answers("a", "b")) as (app, pilot):
        await send(app, pilot, "one")
        await idle(app)
        old = app.session.id
        app.main.composer.load("/new")
        await pilot.press("enter")
        await until(lambda: app.session.id != old)
        app.main.composer.load("not sent")
        app.shelf.work(app.shelf.resume(old))
        await gone_to(app, old)
        assert app.main.composer.text == ""
        app.shelf.work(app.shelf.resume("-1"))
        await until(lambda: app.main.composer.text == "not sent")


async def test_a_recalled_message_that_was_changed_survives_a_kill_and_another_session(tmp_path: Path) -> None:
    edited = "old prompt, with care"
    async with opened(tmp_path, answers("a", "b")) as (app, pilot):
        await send(app, pilot, "old prompt")
        await idle(app)
        await pilot.press(*"short", "up")
        await pilot.press(*", with care")
        expected = Unsent("short", (), (("old prompt", edited),))
        await until(lambda: app.session.place.unsent() == expected)
        folder = app.session.folder
        (copy := tmp_path / "killed").mkdir()  # as a kill at this moment leaves it
        for name in ("log.jsonl", "state.json"):
            (copy / name).write_bytes((folder / name).read_bytes())
        app.shelf.work(app.shelf.new())
        await until(lambda: app.session.id != folder.name)
        await until(lambda: not any(w.name == "sessions" for w in app.workers))
        app.shelf.work(app.shelf.resume(folder.name))
        await gone_to(app, folder.name)
        assert app.session.place.unsent() == expected
    async with opened(tmp_path, answers("a"), copy) as (app, pilot):
        assert app.main.composer.text == "short"
        await pilot.press("up")
        await pilot.pause()
        assert app.main.composer.text == edited
        await pilot.press("enter")
        await idle(app)
        assert said(app)[-2:] == [edited, "a"]
        assert app.main.composer.text == "short"


async def test_a_second_one_while_a_session_is_being_opened_is_refused_and_no_lock_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = at_work(tmp_path, *turn("long"))
    go_on = threading.Event()

    def slow(path: Path) -> Place:
        place = Place(path)
        go_on.wait(PATIENCE)
        return place

    async with opened(tmp_path, answers("a")) as (app, _):
        monkeypatch.setattr(shelf, "Place", slow)
        app.shelf.work(app.shelf.resume("-1"))
        await until(lambda: holder(folder / "lock") is not None)
        app.shelf.work(app.shelf.resume("-1"))
        await until(lambda: "still being opened" in noticed(app))
        go_on.set()
        await gone_to(app, folder.name)
    assert holder(folder / "lock") is None


async def test_a_new_start_tells_of_what_was_not_sent_before(tmp_path: Path) -> None:
    place = Place(at_work(tmp_path, *turn("fix the parser")))
    place.keep(Unsent("and then"))
    place.close()
    async with opened(tmp_path, answers("a")) as (app, pilot):
        await until(lambda: "fix the parser" in text_of(app))
        await send(app, pilot, "/resume -1")
        await until(lambda: app.main.composer.text == "and then")


async def test_a_draft_in_another_window_is_not_told_as_left_behind(tmp_path: Path) -> None:
    place = Place(at_work(tmp_path, *turn("fix the parser")))
    place.keep(Unsent("and then"))
    async with opened(tmp_path, answers("a")) as (app, _):  # the other one is open
        await until(lambda: all(worker.is_finished for worker in app.workers if worker.name == "remind"))
        assert "fix the parser" not in text_of(app)
    place.close()


async def test_another_session_waits_for_the_end_of_the_turn(tmp_path: Path) -> None:
    model, _ = stalling()
    async with opened(tmp_path, model) as (app, pilot):
        await send(app, pilot, "one")
        await until(lambda: app.talk.phase.name == "streaming")
        here = app.session.id
        for command in ("/new", "/fork", "/resume -1"):
            await send(app, pilot, command)
            await until(lambda: not any(w.name == "sessions" for w in app.workers))
        assert app.session.id == here
        assert "A turn is running" in noticed(app)


async def test_what_cannot_be_opened_leaves_everything_as_it_is(tmp_path: Path) -> None:
    held = Place(at_work(tmp_path, *turn("held")))
    made(kept(tmp_path), *turn("elsewhere"), cwd="/other")
    async with opened(tmp_path, answers("a")) as (app, pilot):
        here = app.session.id
        for command, why in (
            ("/resume held", "another window"),
            ("/resume elsewhere", "/other"),
            ("/resume x", "no session"),
        ):
            await send(app, pilot, command)
            await until(lambda why=why: why in noticed(app))  # type: ignore[misc]
        assert app.session.id == here
    held.close()


async def test_rename_is_found_and_shown(tmp_path: Path) -> None:
    async with opened(tmp_path, answers("a")) as (app, pilot):
        await send(app, pilot, "one")
        await idle(app)
        await send(app, pilot, "/rename the parser \x07work")
        await pilot.pause(0.2)
        assert [one.title for one in listed(kept(tmp_path))] == ["the parser work"]
        await send(app, pilot, "/rename")
        await until(lambda: "/rename NAME" in noticed(app))


async def test_fork_before_a_message_keeps_the_branch(tmp_path: Path) -> None:
    folder = at_work(tmp_path, *turn("one"), *turn("two"))
    async with opened(tmp_path, answers("new branch"), folder) as (app, pilot):
        await send(app, pilot, "/fork 9")
        await until(lambda: "1 to 2" in noticed(app))
        await send(app, pilot, "/fork 2")
        await until(lambda: app.session.id != folder.name)
        await until(lambda: "This is a copy now" in noticed(app))
        assert said(app) == ["one", "done"]
        await send(app, pilot, "another two")
        await idle(app)
        assert said(app) == ["one", "done", "another two", "new branch"]
        await send(app, pilot, f"/resume {folder.name}")
        await gone_to(app, folder.name)
        assert said(app) == ["one", "done", "two", "done"]


async def test_the_session_is_given_back_at_the_end(tmp_path: Path) -> None:
    async with opened(tmp_path, answers("a")) as (app, pilot):
        await send(app, pilot, "one")
        await idle(app)
        folder = app.session.folder
    place = Place(folder)
    assert place.remarks == []
    place.close()


async def test_a_kill_at_every_event_leaves_a_session_that_goes_on(tmp_path: Path) -> None:
    """What the next request would hold is valid at every place: each call has its answer right behind it."""
    events = [*turn("one"), *EDIT, ev.UserSaid("more"), reply("", CALL), *turn("last")]
    for cut in range(1, len(events)):
        folder = at_work(tmp_path, *events[:cut])
        place = Place(folder)
        from tui_agent.session import Session

        async def nobody(_: object) -> tuple[()]:
            return ()

        session = Session(terms(tmp_path, tmp_path / "user"), nobody, place)  # type: ignore[arg-type]
        history = session.history
        for at, message in enumerate(history):
            if isinstance(message, AssistantMessage):
                following = history[at + 1 : at + 1 + len(message.calls)]
                assert [getattr(m, "call_id", None) for m in following] == [call.id for call in message.calls]
        place.close()
    await asyncio.sleep(0)


async def test_a_disk_that_refuses_is_said_as_long_as_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(tmp_path, answers("a", "b", "c")) as (app, pilot):
        await send(app, pilot, "one")
        await idle(app)
        real = app.session.log._write

        def full(*, sync: bool) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(app.session.log, "_write", full)
        await send(app, pilot, "two")
        await idle(app)
        await pilot.pause(0.2)
        assert "This session is not being saved" in text_of(app)
        assert "NOT SAVED" in text_of(app)
        monkeypatch.setattr(app.session.log, "_write", real)
        await send(app, pilot, "three")
        await idle(app)
        await pilot.pause(0.2)
        assert "NOT SAVED" not in text_of(app)
        assert "saved again" in text_of(app)
        assert list(load(app.session.log.path).events) == app.session.events


async def test_a_session_in_which_nothing_was_said_leaves_nothing_behind(tmp_path: Path) -> None:
    async with opened(tmp_path, answers("a")) as (app, pilot):
        await pilot.press(*"/new")
        await until(lambda: bool(app.session.place.unsent()))
        old = app.session.folder
        assert old.is_dir()
        await pilot.press("enter")
        await until(lambda: app.session.folder != old and not old.exists())
    assert [one.title for one in listed(kept(tmp_path))] == []
