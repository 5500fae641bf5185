"""The list of sessions and rewinding in the whole app, by their keys."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from tests.sessions.story import EDIT, made, turn
from tests.ui.test_app import idle, send, text_of
from tests.ui.test_sessions import answers, at_work, gone_to, kept, noticed, opened, said
from tests.ui.test_undo_screen import model as editing
from tests.ui.test_undo_screen import tree
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.log import FileLog, load
from tui_agent.core.meter import meter
from tui_agent.sessions import Place
from tui_agent.summaries import Summary, listed
from tui_agent.ui.app import AgentApp
from tui_agent.ui.rewind import RewindScreen
from tui_agent.ui.session_list import SessionList
from tui_agent.ui.session_rows import arranged, row, when
from tui_agent.ui.undo import UndoScreen
from tui_agent.ui.viewer import Viewer

SIZES = [(120, 40), (80, 24), (40, 20)]


async def list_open(app: AgentApp, pilot: Pilot[int]) -> SessionList:
    await pilot.press("ctrl+x", "s")
    await until(lambda: isinstance(app.screen, SessionList) and bool(app.screen._known or app.screen._rows.count == 0))
    await pilot.pause(0.1)
    assert isinstance(app.screen, SessionList)
    return app.screen


def shown(screen: SessionList) -> list[str]:
    return [entry.one.title for entry in screen._rows._entries]


def three(tmp_path: Path) -> list[Path]:
    """Three sessions here, the first one changed last, and one elsewhere."""
    folders = [
        at_work(tmp_path, *turn("fix unicode", "the secret word is surrogate"), ev.Named("escapes")),
        at_work(tmp_path, *EDIT),
        at_work(tmp_path, *turn("write docs")),
    ]
    folders.append(made(kept(tmp_path), *turn("elsewhere"), cwd="/other"))
    for age, folder in enumerate(folders):
        os.utime(folder / "log.jsonl", (time.time() - age * 100_000,) * 2)
    return folders


# ------------------------------------------------------------------ the list


@pytest.mark.parametrize("size", SIZES)
async def test_find_by_text_and_resume(tmp_path: Path, size: tuple[int, int]) -> None:
    folders = three(tmp_path)
    async with opened(tmp_path, answers("x"), size=size) as (app, pilot):
        screen = await list_open(app, pilot)
        assert shown(screen) == ["escapes", "rename x", "write docs"]
        assert "escapes" in text_of(app)
        await pilot.press("slash", *"surro code")
        await until(lambda: shown(screen) == ["escapes"])  # one word stands in the answer only, one in the message
        await pilot.press("enter")
        await gone_to(app, folders[0].name)
        assert said(app) == ["fix unicode", "the secret word is surrogate"]


async def test_search_by_name_prompt_and_file_all_projects_and_back(tmp_path: Path) -> None:
    three(tmp_path)
    async with opened(tmp_path, answers("x")) as (app, pilot):
        screen = await list_open(app, pilot)
        for query, found in (("ESCAPES", ["escapes"]), ("docs WRITE", ["write docs"]), ("a.py", ["rename x"])):
            await pilot.press("slash", *query)
            await until(lambda found=found: shown(screen) == found)  # type: ignore[misc]
            await pilot.press("escape")
            assert len(shown(screen)) == 3
        await pilot.press("slash", *"nothing at all")
        await until(lambda: shown(screen) == [])
        await pilot.pause(0.1)
        assert "Nothing fits" in text_of(app)
        await pilot.press("enter", "escape", "a")
        await until(lambda: "elsewhere" in shown(screen))
        await pilot.press("t", "t")
        assert shown(screen) == sorted(shown(screen), key=str.casefold)
        await pilot.press("escape")
        assert app.screen is app.main


@pytest.mark.parametrize("size", SIZES)
async def test_in_the_list_of_all_projects_each_says_which_one_it_belongs_to(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    made(kept(tmp_path), *turn("elsewhere"), cwd="/srv/parser")
    async with opened(tmp_path, answers("x"), size=size) as (app, pilot):
        await list_open(app, pilot)
        await pilot.press("a")
        await until(lambda: "parser" in text_of(app))
        if size[1] >= 24:
            assert "in /srv/parser" in text_of(app)


async def test_the_names_of_the_columns_stand_above_them_beside_a_scrollbar_too(tmp_path: Path) -> None:
    for number in range(20):
        made(kept(tmp_path), *turn(f"number {number}"), cwd="/srv/parser")
    async with opened(tmp_path, answers("x"), size=(101, 20)) as (app, pilot):
        await list_open(app, pilot)
        await pilot.press("a")
        await until(lambda: "number" in text_of(app))
        await pilot.pause()
        lines = text_of(app).splitlines()
        heading, line = (next(x for x in lines if word in x) for word in ("turns", "number"))
        assert heading.index("turns") + len("turns") == line.index(" 1 ") + len(" 1"), (heading, line)


async def test_a_session_of_another_folder_is_forked_into_this_one_or_named_with_its_command(tmp_path: Path) -> None:
    folders = three(tmp_path)
    async with opened(tmp_path, answers("x")) as (app, pilot):
        for key in ("enter", "f"):
            screen = await list_open(app, pilot)
            await pilot.press("a", "end")
            assert screen._rows.current is not None
            assert screen._rows.current.cwd == "/other"
            await pilot.press(key)
            if key == "enter":
                await until(lambda: f"--resume {folders[3].name}" in noticed(app))
            await until(lambda: app.screen is app.main and not any(w.name == "sessions" for w in app.workers))
        assert said(app) == ["elsewhere", "done"]
        assert app.session.id not in {folder.name for folder in folders}


async def test_rename_and_delete(tmp_path: Path) -> None:
    folders = three(tmp_path)
    async with opened(tmp_path, answers("x")) as (app, pilot):
        screen = await list_open(app, pilot)
        await pilot.press("r")
        await pilot.press("ctrl+u", *"new name", "enter")
        await until(lambda: "new name" in shown(screen))
        assert [e.name for e in load(folders[0] / "log.jsonl").events if isinstance(e, ev.Named)][-1] == "new name"
        await pilot.press("r", *"xx", "escape")
        assert "new namexx" not in shown(screen)
        await pilot.press("home", "down", "delete")
        await pilot.pause(0.1)
        assert "Del again deletes" in text_of(app)
        gone = screen._rows.current
        assert gone is not None
        await pilot.press("delete")
        await until(lambda: len(shown(screen)) == 2)
        assert gone.id not in {one.id for one in listed(kept(tmp_path))}


async def test_the_session_on_the_screen_and_one_that_is_held_are_marked_and_not_deleted(tmp_path: Path) -> None:
    folders = three(tmp_path)
    held = Place(folders[1])
    async with opened(tmp_path, answers("x"), folders[0]) as (app, pilot):
        screen = await list_open(app, pilot)
        await pilot.pause(0.1)
        assert "open here" in text_of(app)
        assert "open elsewhere" in text_of(app)
        for _ in range(screen._rows.count):
            await pilot.press("delete", "delete", "down")
        assert len(listed(kept(tmp_path))) == 3  # "write docs" was free
        assert {folders[0].name, folders[1].name} <= {one.id for one in listed(kept(tmp_path))}
    held.close()


async def test_view_and_export(tmp_path: Path) -> None:
    folders = three(tmp_path)
    async with opened(tmp_path, answers("x")) as (app, pilot):
        await list_open(app, pilot)
        await pilot.press("v")
        await until(lambda: isinstance(app.screen, Viewer))
        await pilot.pause(0.2)
        assert "surrogate" in text_of(app)
        await pilot.press("escape", "e")
        await pilot.pause(0.1)
        assert "Written" in text_of(app)
        assert "surrogate" in (tmp_path / "work" / f"session-{folders[0].name}.md").read_text()


@pytest.mark.parametrize("size", SIZES)
async def test_none_yet_and_damaged_ones(tmp_path: Path, size: tuple[int, int]) -> None:
    async with opened(tmp_path, answers("x"), size=size) as (app, pilot):
        await list_open(app, pilot)
        assert "No session yet" in text_of(app)
        await pilot.press("enter", "f", "r", "v", "e", "delete", "up", "down", "pageup", "end", "t", "a")
        assert isinstance(app.screen, SessionList)
        await pilot.press("escape")
        folder = at_work(tmp_path, *turn("one"))
        with (folder / "log.jsonl").open("ab") as log:
            log.write(b'{"seq":')
        await list_open(app, pilot)
        assert "damaged" in text_of(app)
        await pilot.press("enter")
        await gone_to(app, folder.name)
        await pilot.pause(0.2)
        assert "1 incomplete record" in text_of(app)


async def test_what_is_found_while_the_list_is_taken_down_is_drawn_nowhere(tmp_path: Path) -> None:
    at_work(tmp_path, *turn("one"))
    async with opened(tmp_path, answers()) as (app, pilot):
        await list_open(app, pilot)
        screen = app.screen
    assert isinstance(screen, SessionList)
    screen._draw()  # as its search does, which ends after its widgets


def test_forks_stand_below_what_they_left_and_a_ring_hangs_nothing() -> None:
    def one(name: str, parent: str | None = None) -> Summary:
        return Summary(name, "/w", 1.0, first=name, parent=parent)

    found = [one("b", "a"), one("x"), one("a"), one("c", "b"), one("gone", "deleted"), one("r1", "r2"), one("r2", "r1")]
    order = [(entry.one.id, entry.depth) for entry in arranged(found)]
    assert order[:5] == [("x", 0), ("a", 0), ("b", 1), ("c", 2), ("gone", 0)]
    assert sorted(name for name, _ in order) == sorted(one.id for one in found)


@pytest.mark.parametrize("width", [36, 40, 60, 78, 80, 100, 118, 200])
def test_no_row_is_wider_than_the_screen(width: int) -> None:
    wide = Summary(
        "i",
        f"/{'w' * 90}",
        1.0,
        ("old", "宽" * 90),
        "x" * 300,
        "",
        12_345,
        ("a" * 90,),
        12_345.678,
        "m" * 60,
        waiting=3,
        parent="p",
        turn=7,
    )
    for entry in arranged([wide], Path("/another")):
        for chosen in (True, False):
            for line in row(entry, width, 2.0, "open elsewhere", chosen=chosen):
                assert line.cell_len <= width


def test_times_are_said_as_people_say_them() -> None:
    now = time.mktime((2026, 11, 30, 12, 0, 0, 0, 0, -1))
    assert when(now - 60, now) == "11:59 today"
    assert when(now - 86_400, now) == "yesterday"
    assert when(time.mktime((2026, 11, 12, 12, 0, 0, 0, 0, -1)), now) == "12 Nov"
    assert when(time.mktime((2024, 11, 12, 12, 0, 0, 0, 0, -1)), now) == "12 Nov 2024"
    assert when(0.0, now) == "?"


# ------------------------------------------------------------------ rewind


async def rewind_open(app: AgentApp, pilot: Pilot[int]) -> None:
    await send(app, pilot, "/rewind")
    await until(lambda: isinstance(app.screen, RewindScreen) and bool(app.screen.query_one(OptionList).option_count))
    await pilot.pause(0.1)


async def two_turns(app: AgentApp, pilot: Pilot[int]) -> None:
    for text in ("make it", "change it"):
        await send(app, pilot, text)
        await until(lambda text=text: text in app.talk.said)  # type: ignore[misc]
        await idle(app)


async def rewound(app: AgentApp) -> None:
    await until(lambda: app.screen is app.main and not any(w.name == "sessions" for w in app.workers))


def old_file(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir(exist_ok=True)
    (root / "old.txt").write_text("old\n")
    return root


@pytest.mark.parametrize("size", SIZES)
async def test_both_conversation_and_files_go_back_and_the_message_returns(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    root = old_file(tmp_path)
    async with opened(tmp_path, editing(), size=size, yes=True) as (app, pilot):
        await two_turns(app, pilot)
        costs = app.talk.totals
        await rewind_open(app, pilot)
        assert "change it" in text_of(app)
        await pilot.press("b")
        await until(lambda: isinstance(app.screen, UndoScreen))
        await pilot.pause(0.1)
        assert "will be there again" in text_of(app)
        await pilot.press("u")
        await rewound(app)
        assert tree(root) == {"a.txt": "a1\n", "new/n.txt": "n\n", "old.txt": "old\n"}
        assert app.main.composer.text == "change it"
        assert said(app)[-1] == "first done"  # and not a word of what went back
        assert app.talk.totals == costs == fold.totals(app.session.events)
        assert app.talk.meter == meter(app.session.events)


async def test_the_conversation_only_and_the_model_is_told_of_the_files(tmp_path: Path) -> None:
    root = old_file(tmp_path)
    async with opened(tmp_path, editing(), yes=True) as (app, pilot):
        await two_turns(app, pilot)
        after = tree(root)
        await rewind_open(app, pilot)
        await pilot.press("down", "c")
        await rewound(app)
        assert tree(root) == after
        assert said(app) == [
            "Changed since you last looked: a.txt, new/n.txt, old.txt. Read a file again before you change it."
        ]
        assert app.main.composer.text == "make it"
        await rewind_open_says_nothing(app, pilot)


async def rewind_open_says_nothing(app: AgentApp, pilot: Pilot[int]) -> None:
    await send(app, pilot, "/rewind")
    await until(lambda: "nothing was said" in noticed(app))


async def test_a_copy_that_cannot_be_written_is_told_and_the_screen_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path, editing(), yes=True) as (app, pilot):
        await two_turns(app, pilot)
        here, kept = app.session.id, app.session.log

        def full(log: FileLog, *, sync: bool) -> None:
            if log is not kept:
                raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(FileLog, "_write", full)
        await rewind_open(app, pilot)
        await pilot.press("k")
        await rewound(app)
        assert "No space left" in noticed(app)
        assert (app.session.id, app.main.composer.text) == (here, "")


async def test_the_files_only(tmp_path: Path) -> None:
    root = old_file(tmp_path)
    async with opened(tmp_path, editing(), yes=True) as (app, pilot):
        await two_turns(app, pilot)
        before = said(app)
        await rewind_open(app, pilot)
        await pilot.press("down", "f")
        await until(lambda: isinstance(app.screen, UndoScreen))
        await pilot.pause(0.1)
        await pilot.press("u")
        await rewound(app)
        assert tree(root) == {"old.txt": "old\n"}
        assert said(app)[: len(before)] == before
        assert app.main.composer.text == ""


async def test_drift_is_listed_and_not_overwritten_and_thinking_better_changes_nothing(tmp_path: Path) -> None:
    root = old_file(tmp_path)
    async with opened(tmp_path, editing(), yes=True) as (app, pilot):
        await two_turns(app, pilot)
        (root / "a.txt").write_text("mine\n")
        events = list(app.session.events)
        await rewind_open(app, pilot)
        await pilot.press("b")
        await until(lambda: isinstance(app.screen, UndoScreen))
        await pilot.pause(0.1)
        assert "changed since; y to overwrite" in text_of(app)
        await pilot.press("escape")
        await rewound(app)
        assert app.session.events == events
        await rewind_open(app, pilot)
        await pilot.press("b")
        await until(lambda: isinstance(app.screen, UndoScreen))
        await pilot.pause(0.1)
        await pilot.press("u")
        await rewound(app)
        assert tree(root)["a.txt"] == "mine\n"
        assert tree(root)["old.txt"] == "old\n"
        assert [e.paths for e in app.session.events if isinstance(e, ev.Rewound)] == [("a.txt",)]


async def test_where_no_file_can_go_back_unasked_the_conversation_does_and_files_alone_say_so(tmp_path: Path) -> None:
    root = old_file(tmp_path)
    async with opened(tmp_path, editing(), yes=True) as (app, pilot):
        await two_turns(app, pilot)
        for name in ("a.txt", "old.txt"):
            (root / name).write_text("mine\n")
        mine = tree(root)
        await rewind_open(app, pilot)
        await pilot.press("f")
        await until(lambda: isinstance(app.screen, UndoScreen) and "0 of" in text_of(app))
        await pilot.press("u")
        await until(lambda: "No file is chosen: y takes the one under the cursor." in noticed(app))
        assert isinstance(app.screen, UndoScreen)
        await pilot.press("escape")
        await rewound(app)
        await rewind_open(app, pilot)
        await pilot.press("b")
        await until(lambda: isinstance(app.screen, UndoScreen) and "0 of" in text_of(app))
        await pilot.press("u")
        await rewound(app)
        assert tree(root) == mine
        assert app.main.composer.text == "change it"
        assert not [e for e in app.session.events if isinstance(e, ev.Undone)]
        assert [e.paths for e in app.session.events if isinstance(e, ev.Rewound)] == [("a.txt", "old.txt")]


async def test_a_copy_keeps_the_branch_and_enter_goes_nowhere(tmp_path: Path) -> None:
    folder = at_work(tmp_path, *turn("one"), *turn("two"))
    async with opened(tmp_path, answers("x"), folder) as (app, pilot):
        await rewind_open(app, pilot)
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert isinstance(app.screen, RewindScreen)
        await pilot.press("k")
        await until(lambda: app.session.id != folder.name and app.main.composer.text == "two")
        assert said(app) == ["one", "done"]
        assert [e.text for e in load(folder / "log.jsonl").events if isinstance(e, ev.UserSaid)] == ["one", "two"]


# ------------------------------------------------------------------ save, load, export


async def test_save_and_load(tmp_path: Path) -> None:
    folder = at_work(tmp_path, *EDIT)
    async with opened(tmp_path, answers("x"), folder) as (app, pilot):
        before = app.session.history
        await send(app, pilot, "/save talk.json")
        await until(lambda: "Written" in noticed(app))
        for command, why in (
            ("/load none.json", "No such file"),
            ("/load", "/load FILE"),
            ("/save", "/save FILE"),
            ("/load ~nobody-knows-me/x.json", "~nobody-knows-me/x.json cannot be read"),
            ("/save ~nobody-knows-me/x.json", "~nobody-knows-me/x.json cannot be written"),
            (f"/export {'x' * 300}.md", "too long"),
        ):
            await send(app, pilot, command)
            await until(lambda why=why: why in noticed(app))  # type: ignore[misc]
            assert app.session.history == before
        (tmp_path / "work" / "bad.json").write_text("{")
        await send(app, pilot, "/load bad.json")
        await until(lambda: "is no JSON" in noticed(app))
        assert app.session.id == folder.name
        await send(app, pilot, "/load talk.json")
        await until(lambda: app.session.id != folder.name)
        assert said(app) == ["rename x", "I rename it.", "Renamed."]
        assert len(app.session.history) == len(before)
        assert fold.totals(app.session.events) == fold.Totals(), "nobody was asked for what came out of a file"
        await pilot.pause(0.2)
        assert "Renamed." in text_of(app)


async def test_export_asks_before_it_writes_over(tmp_path: Path) -> None:
    folder = at_work(tmp_path, *turn("one", "answer"))
    async with opened(tmp_path, answers("x"), folder) as (app, pilot):
        file = tmp_path / "work" / "talk.md"
        file.write_text("mine")
        await send(app, pilot, "/export talk.md")
        await until(lambda: "Send yes" in noticed(app))
        assert file.read_text() == "mine"
        await send(app, pilot, "yes")
        await until(lambda: "Written over" in noticed(app))
        assert "answer" in file.read_text()
        await send(app, pilot, "/export json")
        await until(lambda: f"session-{folder.name}.json" in noticed(app))


async def test_a_newcomer_finds_and_resumes_an_earlier_session_by_what_the_screen_says(tmp_path: Path) -> None:
    folders = three(tmp_path)
    async with opened(tmp_path, answers("x")) as (app, pilot):
        await until(lambda: "F2 commands" in text_of(app))
        await pilot.press("f2", *"resume")
        await until(lambda: "Sessions: resume, search" in text_of(app))
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, SessionList) and "/ search" in text_of(app))
        await pilot.press("slash", *"secret word")
        screen = app.screen
        assert isinstance(screen, SessionList)
        await until(lambda: shown(screen) == ["escapes"])
        await pilot.press("escape")
        await until(lambda: "Enter resume" in text_of(app))
        await pilot.press("enter")
        await gone_to(app, folders[0].name)
        assert said(app) == ["fix unicode", "the secret word is surrogate"]
