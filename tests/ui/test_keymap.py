"""Keys of the person: what `[keys]` makes of the table, what it refuses and where that stands, and what is shown."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.binding import Binding

from tests.ui.looking import text_of
from tests.waiting import until
from tui_agent.config import Settings, load
from tui_agent.paths import Paths, own_file
from tui_agent.providers.scripted import scripted
from tui_agent.session import Terms
from tui_agent.ui.actions import ACTIONS, BY_ID, clashes, key_name
from tui_agent.ui.app import AgentApp, Ready, Start
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.arrivals import KEEPERS, Keeper, kept
from tui_agent.ui.keymap import ANSWERS, SAME, USUAL, Keymap, checked, fault_of_key, keymap, textual_name, written
from tui_agent.ui.main import MainScreen
from tui_agent.ui.palette import Palette
from tui_agent.ui.probe import lines, names
from tui_agent.ui.review import Review
from tui_agent.ui.session_list import SessionList
from tui_agent.ui.trust_card import TrustCard
from tui_agent.ui.viewer import Viewer

LISTS = {"Enter", "Esc", "Up", "Down", "Tab", "PgUp", "PgDn", "Ctrl+C"}
"""What lists, fields and questions have of their own, whatever is moved elsewhere."""


def test_without_keys_the_table_is_as_it_is() -> None:
    keys, faults = keymap({})
    assert (tuple(keys.actions), faults, keys.overrides) == (ACTIONS, [], {})


def test_keys_are_moved_and_taken_away() -> None:
    keys, faults = keymap({"ui.palette": "f3, Ctrl+P", "pane.diff": "none", "leader": "ctrl+b", "leader.ui.theme": "z"})
    assert faults == []
    assert keys["ui.palette"].keys == ("f3", "ctrl+p")
    assert keys.overrides == {"ui.palette": "f3,ctrl+p", "pane.diff": "none", "ui.leader": "ctrl+b"}
    assert keys.keys(keys["ui.theme"]) == "Ctrl+B z"
    assert keys.keys(keys["pane.diff"]) == "Ctrl+B d"
    assert keys.say("{ui.palette} commands, {jobs.send} background") == "F3 commands, Ctrl+B b background"
    assert (
        keys.say("{pane.diff}, {leader pane.next}, {composer.send} {no such}")
        == "Ctrl+B d, Ctrl+B Tab, Enter {no such}"
    )
    without, _ = keymap({"leader": "none", "ui.palette": "none", "composer.yank": "none"})
    assert without.say("{ui.leader} more") == ""
    assert without.say("{ui.palette} lists them, {jobs.send} it") == "/commands lists them, /background it"
    assert without.say("{composer.yank} brings it back") == ""
    assert without.keys(without["ui.theme"]) == ""


def test_two_may_change_places() -> None:
    keys, faults = keymap({"pane.diff": "ctrl+o", "view.details": "f4"})
    assert faults == []
    assert keys.overrides == {"pane.diff": "ctrl+o", "view.details": "f4"}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ui.palete", "f3", "there is no action of this name; did you mean ui.palette?"),
        ("leader.nothing", "x", "there is no action of this name"),
        ("ui.palette", "f4", "f4 belongs to pane.diff (Review what was changed)"),
        ("ui.palette", "enter", "enter belongs to composer.send"),
        ("leader.ui.theme", "m", "m behind the leader belongs to model.switch"),
        ("leader.ui.theme", "m,n", "one key behind the leader"),
        ("leader.ui.theme", "ctrl+m", "ctrl+m arrives as enter"),
        ("ui.palette", "cmd+p", "'cmd+p' is no key; tui-agent keys --probe"),
        ("ui.palette", "pgup", "'pgup' is no key; did you mean pageup?"),
        ("ui.palette", "ctrl+i", "ctrl+i arrives as tab in every terminal"),
        ("ui.palette", "k", "'k' types itself"),
        ("ui.palette", "home", "home belongs to transcript.home"),
        ("transcript.copy", "f2", "f2 belongs to ui.palette"),
        ("transcript.copy", "e", "e belongs to transcript.view"),
        ("files.open", "tab", "tab belongs to pane.next"),
        ("card.retry", "y", "y belongs to transcript.copy"),
        ("review.copy", "w", "w belongs to review.wrap"),
        ("review.copy", "ctrl+z", "ctrl+z belongs to app.suspend (Suspend to the shell)"),
        ("app.suspend", "y", "'y' types itself"),
        ("app.suspend", "f1", "f1 belongs to ui.help"),
        ("review.copy", "pageup", "pageup does something else there"),
        ("dialog.layout", "n", "n belongs to dialog.no"),
        ("dialog.layout", "enter", "enter does something else there"),
        ("dialog.stop", "f5", "the keys of this action stay as they are"),
        ("dialog.yes", "f5", "the answers move together"),
        ("files.add", "shift+a", "shift+a arrives as A"),
        ("leader.files.add", "z", "the keys of this action stay as they are"),
    ],
)
def test_what_cannot_be_is_named_and_left(name: str, value: str, said: str) -> None:
    keys, faults = keymap({name: value})
    assert [key for key, _ in faults] == [name]
    assert said in faults[0][1]
    assert tuple(keys.actions) == ACTIONS


@given(
    st.dictionaries(
        st.sampled_from([a.id for a in ACTIONS if a.id != "ui.theme"] + ["leader", "leader.ui.theme", "x"]),
        st.sampled_from(["f2", "f3", "f4", "ctrl+o", "ctrl+x", "none", "enter", "k", "f3,f4", "", "ctrl+ö", "+"]),
    )
)
def test_whatever_is_asked_for_no_key_does_two_things(table: dict[str, str]) -> None:
    keys, faults = keymap(table)
    assert clashes(keys.actions) == []
    assert len({a.keys[0] for a in keys.actions if a.id in ANSWERS}) == 3
    assert all(name in table for name, _ in faults)
    moved = {a.id for a in keys.actions if a != BY_ID[a.id]}
    assert not moved & {name.removeprefix("leader.") for name, _ in faults if name != "leader.ui.theme"}


def test_faults_have_their_line(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[keys]\n"pane.diff" = "f9"\n"ui.palette" = "f5, f9"\n')
    loaded, keys = checked(load(file), file)
    assert not loaded.broken
    told = sorted(str(fault) for fault in loaded.faults)
    assert told == [f"{file}:2:1: keys.pane.diff: f9 belongs to ui.palette (Commands)"]
    assert (keys["pane.diff"].keys, keys["ui.palette"].keys) == (("f4",), ("f5", "f9"))


def test_faults_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[keys]\n"pane.diff" = "f2"\n"no.such" = "f5"\n"dialog.yes" = "j"\n"ui.theme" = "ctrl+zz"\n')
    loaded, _ = checked(load(file), file)
    assert [fault.place.line for fault in loaded.faults if fault.place] == [2, 3, 4, 5]


# ------------------------------------------------------------------ keys that do not arrive


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "Ctrl+J new line, Ctrl+G edit, Ctrl+Q, Ctrl+D"),
        ({"TERM_PROGRAM": "vscode"}, "Alt+Enter new line, Ctrl+X e edit, Ctrl+D"),
        ({"TERM_PROGRAM": "ghostty"}, "Ctrl+J new line, Ctrl+G edit, Ctrl+Q, Ctrl+D"),
        ({"ZELLIJ": "0"}, "Ctrl+J new line, Ctrl+X e edit, Ctrl+D"),
        ({"TMUX": "/tmp/tmux"}, "Ctrl+J new line, Ctrl+G edit, Ctrl+Q, Ctrl+D"),
    ],
)
def test_no_hint_names_a_key_that_the_terminal_keeps(environment: dict[str, str], said: str) -> None:
    keys = Keymap(kept=frozenset(kept(environment)))
    line = keys.say("{composer.newline} new line, {composer.editor} edit")
    assert f"{line}, {keys.keys(keys['app.quit']).removesuffix(', Ctrl+X q')}" == said


def test_a_key_that_the_person_chose_is_named() -> None:
    keys = replace(keymap({"ui.palette": "f5"})[0], kept=frozenset(kept({"TERM_PROGRAM": "vscode"})))
    assert keys.say("{ui.palette} commands") == "F5 commands"


@pytest.mark.parametrize("keeper", KEEPERS, ids=lambda keeper: keeper.name)
def test_whoever_keeps_keys_every_action_can_be_reached(keeper: Keeper) -> None:
    keys = Keymap(kept=keeper.keys)
    for action in ACTIONS:
        if action.scope == "app" and action.listed:
            assert keys.way(action.id), action.id
    assert keys.way("ui.palette")
    assert all(fault_of_key(key) == "" or key in SAME for key in keeper.keys), "they are named as the table names keys"


# ------------------------------------------------------------------ on the screen


async def test_the_keys_of_the_person_count_and_are_shown_everywhere(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    paths = Paths(*(tmp_path / name for name in ("config", "data", "state")))
    table = {
        "ui.palette": "f3",
        "leader": "ctrl+b",
        "leader.ui.theme": "!",
        "composer.newline": "f9",
        "pane.diff": "none",
        "pane.files": "ctrl+_",
    }
    terms = Terms(root, Settings(keys=table), paths, trusted=True, environment={})
    app = AgentApp(Start(root, paths, paths.config_file, ready=Ready(terms, scripted([])), environment={}))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.main.conversation is not None)
        await pilot.pause()
        assert "F3 commands" in text_of(app)
        assert "Ctrl+B more" in text_of(app)

        await pilot.press("f2", "f4")
        await pilot.pause()
        assert type(app.screen) is MainScreen, "the old keys mean nothing"
        await pilot.press("f3")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.press(*"theme")
        await pilot.pause()
        assert "Ctrl+B !" in text_of(app)
        await pilot.press("escape")
        await pilot.press(*"/the")
        await until(lambda: "/theme" in text_of(app))
        assert "Ctrl+B !" in text_of(app), "beside the command, too"
        app.main.composer.load("")
        await until(lambda: type(app.screen) is MainScreen)

        await pilot.press("ctrl+b", "exclamation_mark")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.press("escape")
        await until(lambda: type(app.screen) is MainScreen)

        await pilot.press("a", "f9", "b")
        assert app.main.composer.text == "a\nb"
        closed = app.main.has_class("-side-closed")
        await pilot.press("ctrl+underscore")
        await pilot.pause()
        assert app.main.has_class("-side-closed") is not closed


ANSWERED = {"dialog.yes": "j", "dialog.no": "k", "dialog.skip": "l"}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({**ANSWERED, "dialog.no": "enter"}, {"dialog.no": "enter does something else there"}),
        ({**ANSWERED, "dialog.no": "space"}, {"dialog.no": "space is no answer"}),
        ({**ANSWERED, "dialog.no": "j"}, {}),
        ({**ANSWERED, "dialog.no": "none"}, {"dialog.no": "an answer has one key"}),
        ({**ANSWERED, "dialog.skip": "v"}, {"dialog.skip": "v belongs to dialog.layout"}),
    ],
)
def test_the_answers_move_together_or_not_at_all(table: dict[str, str], said: dict[str, str]) -> None:
    assert keymap(ANSWERED)[0].overrides == ANSWERED
    assert keymap(ANSWERED)[1] == []
    keys, faults = keymap(table)
    assert keys.overrides == {}
    assert {name for name, _ in faults} == set(ANSWERED)
    for name, words in said.items():
        assert any(words in why for each, why in faults if each == name)


@asynccontextmanager
async def with_keys(tmp_path: Path, table: dict[str, str], *replies: Any) -> AsyncIterator[tuple[AgentApp, Any]]:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("a\n")
    paths = Paths(*(tmp_path / name for name in ("config", "data", "state")))
    assert keymap(table)[1] == []
    terms = Terms(root, Settings(keys=table), paths, trusted=True, environment={})
    app = AgentApp(Start(root, paths, paths.config_file, ready=Ready(terms, scripted(replies)), environment={}))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: app.main.conversation is not None)
        yield app, pilot


async def test_the_keys_of_the_message_can_be_moved(tmp_path: Path) -> None:
    table = {"composer.send": "f5", "composer.newline": "enter", "composer.complete": "f6", "composer.yank": "f9"}
    async with with_keys(tmp_path, table, {"text": "done"}) as (app, pilot):
        await pilot.pause()
        assert "F5 send" in text_of(app)
        await pilot.press(*"/mod", "f6")
        await until(lambda: "F6 fills" in text_of(app))
        await pilot.pause()
        assert "F5 runs" in text_of(app)
        app.main.composer.load("")
        await pilot.press("a", "enter", "b", "ctrl+j", "tab")
        assert app.main.composer.text == "a\nb"
        app.main.composer.focus()
        await pilot.press("ctrl+c")
        assert [note.message for note in app._notifications] == ["Put away. F9 brings it back."]
        await pilot.press("f9")
        assert app.main.composer.text == "a\nb"
        await pilot.press("f5")
        await until(lambda: not app.talk.working and "done" in text_of(app))


async def test_the_keys_of_the_panes_can_be_moved_and_their_old_letters_are_text(tmp_path: Path) -> None:
    table = {"transcript.copy": "ctrl+e", "transcript.up": "u", "files.add": "+", "files.down": "J"}
    async with with_keys(tmp_path, table, {"text": "an answer"}) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(lambda: not app.talk.working and "an answer" in text_of(app))
        app.main.transcript.focus()
        await pilot.pause()
        assert "Ctrl+E copy" in text_of(app)
        await pilot.press("u", "ctrl+e")
        assert app.clipboard == "an answer"
        await pilot.press("y")
        assert app.main.composer.text == "y", "a letter that means nothing any more goes on with the message"
        app.main._side.files.focus()
        await until(lambda: "+ add to the message" in text_of(app) and "a.txt" in text_of(app))
        await pilot.press("J", "+")
        assert app.main.composer.text == "y@a.txt "


async def test_the_answers_of_a_question_can_be_moved(tmp_path: Path) -> None:
    write = {"calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "b\n"}}]}
    table = {**ANSWERED, "dialog.layout": "f7"}
    async with with_keys(tmp_path, table, write, {"text": "done"}) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
        await until(lambda: "j apply" in text_of(app))
        assert "j k l work now" in app.main._footer.state.hints
        assert "k no, say why" in text_of(app)
        assert "l skip" in text_of(app)
        await pilot.press("y")
        await until(lambda: app.main.composer.text == "y")
        assert not (app.session.root / "b.txt").exists()
        await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
        await pilot.press("j")
        await until((app.session.root / "b.txt").exists)
        await until(lambda: not app.talk.working)


async def test_the_keys_of_the_review_can_be_moved(tmp_path: Path) -> None:
    write = {"calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "b\n"}}]}
    table = {"review.revert": "f8", "review.back": "f10", "ui.mouse": "f7"}
    async with with_keys(tmp_path, table, write, {"text": "done"}) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
        await pilot.press("y")
        await until(lambda: not app.talk.working)
        await pilot.press("f4")
        await until(lambda: isinstance(app.screen, Review) and "F8 take back" in text_of(app))
        await pilot.pause()
        assert "F10 back" in text_of(app)
        await pilot.press("f8")
        await until(lambda: "F8 again takes back" in text_of(app))
        await pilot.press("f8")
        await until(lambda: not (app.session.root / "b.txt").exists())
        await pilot.press("f10")
        await until(lambda: type(app.screen) is MainScreen)


async def test_the_keys_of_lists_can_be_moved(tmp_path: Path) -> None:
    table = {"sessions.rename": "f9", "sessions.search": "none", "context.pinned": "f6", "undo.carry_out": "w"}
    change = {"text": "", "calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "b\n"}}]}
    async with with_keys(tmp_path, table, change, {"text": "done"}) as (app, pilot):
        await pilot.press(*"go", "enter")
        await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
        await pilot.press("y")
        await until(lambda: not app.talk.working)
        await pilot.press("ctrl+x", "s")
        await until(lambda: isinstance(app.screen, SessionList) and app.screen.ready and "F9 rename" in text_of(app))
        await pilot.pause()
        assert "search  " not in text_of(app).splitlines()[-1]
        await pilot.press("r", "f9")
        await until(lambda: "Enter rename" in text_of(app))
        await pilot.press("escape", "?")
        await until(lambda: "Keys of the list" in text_of(app))
        await pilot.press(*"copy of it", "escape", "escape", "ctrl+x", "c")
        await until(lambda: "F6 pin" in text_of(app))
        await pilot.press("up", "up", "up", "f6")
        await until(lambda: "[pinned]" in text_of(app))
        await pilot.press("escape", "ctrl+x", "u", "enter")
        await until(lambda: "only w writes" in text_of(app) and "w undo now" in text_of(app))
        await pilot.press("u", "w")
        await until(lambda: not (app.session.root / "b.txt").exists())


def test_what_all_lists_share_stays_as_it_is() -> None:
    table = {"undo.carry_out": "enter", "sessions.fork": "q", "first.look": "3", "context.pinned": "x"}
    assert dict(keymap(table)[1]) == {
        "undo.carry_out": "enter does something else there",
        "sessions.fork": "q does something else there",
        "first.look": "3 does something else there",
        "context.pinned": "x belongs to context.dropped (Leave it out)",
    }


def test_what_cannot_be_moved_is_named() -> None:
    table = {"list.leave": "f9", "list.up": "ctrl+k", "trust.take": "enter", "trust.view": "t", "viewer.close": "space"}
    assert dict(keymap(table)[1]) == {
        "list.leave": "the keys of this action stay as they are",
        "list.up": "the keys of this action stay as they are",
        "trust.take": "enter does something else there",
        "trust.view": "t belongs to trust.take (Trust the folder, with what is marked)",
        "viewer.close": "space does something else there",
    }


def test_the_keys_of_a_list_are_those_of_the_table() -> None:
    bound = {binding.id: binding.key for binding in Palette.BINDINGS if isinstance(binding, Binding)}
    assert bound == {action.id: ",".join(action.keys) for action in ACTIONS if action.scope == "list"}
    assert bound


async def test_the_keys_of_the_question_of_trust_and_of_a_view_can_be_moved(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "AGENTS.md").write_text("Use tabs.\n")
    paths = Paths(*(tmp_path / name for name in ("config", "data", "state")))
    paths.config_file.parent.mkdir()
    table = {"trust.take": "y", "trust.restrict": "x", "trust.view": "o", "trust.mark": "m", "viewer.close": "f9"}
    keys = "".join(f'"{name}" = "{key}"\n' for name, key in table.items())
    paths.config_file.write_text(f'[profiles.a]\nendpoint = "http://127.0.0.1:9/v1"\nmodel = "m"\n[keys]\n{keys}')
    app = AgentApp(Start(root, paths, paths.config_file, environment={}))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
        await until(lambda: "y trust" in text_of(app))
        assert "x restricted (default)" in text_of(app)
        await pilot.press("t", "v", "space")
        await pilot.pause()
        assert isinstance(app.screen, TrustCard), "the old keys mean nothing"
        await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
        await pilot.press("m")
        await until(lambda: "[ ] instructions: AGENTS.md" in text_of(app) or "[ ] AGENTS.md" in text_of(app))
        await pilot.press("m", "o")
        await until(lambda: isinstance(app.screen, Viewer) and "Use tabs." in text_of(app))
        await pilot.pause()  # it is painted
        assert "F9 close" in text_of(app)
        await pilot.press("escape", "f9")
        await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
        await pilot.press("y")
        await until(lambda: app.trust.trusted)


async def test_the_card_of_a_failure_names_the_keys_of_today(tmp_path: Path) -> None:
    async with with_keys(tmp_path, {"card.retry": "x", "card.details": "f9"}) as (app, pilot):
        await pilot.press(*"go", "enter")  # the script has no reply
        await until(lambda: not app.talk.working and "Ctrl+X r retry" in text_of(app))
        assert "Ctrl+X F9 details" in text_of(app)
        await pilot.press("ctrl+x", "tab")
        await until(lambda: "x retry" in text_of(app).splitlines()[-1])
        await pilot.press("f9")
        await until(lambda: "may heal" in text_of(app))


def test_no_text_of_the_screen_names_a_key_that_can_be_moved() -> None:
    """A key of the table stands in a text by its action, so that a hint is never stale. Keys of lists are their own."""
    named = {key_name(key) for a in ACTIONS if a.scope in {"app", "composer"} for key in a.keys} - LISTS
    pattern = re.compile(
        "|".join(rf"(?<![\w+]){re.escape(name)}(?![\w+])" for name in sorted(named, key=len, reverse=True))
    )
    found = []
    for path in sorted(Path(own_file("ui")).glob("*.py")):
        if path.stem in {"actions", "keymap", "terminal", "probe", "pastes"}:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            docs = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if docs:
                node.value.value = ""  # type: ignore[attr-defined]  # a docstring is for who reads the code
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and pattern.search(node.value):
                found.append((path.name, node.value))
    assert found == []


# ------------------------------------------------------------------ what a terminal sends


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b"\x1bOQ", "f2"),
        (b"\x1b\r", "alt+enter"),
        (b"\x1b[13;2u", "shift+enter"),
        (b"\x10", "ctrl+p"),
        (b"\x1b[5~", "pageup"),
        (b"?", "?"),
        (b"-", "-"),
        (b"\x1f", "ctrl+_"),
        (b"\x00", "ctrl+@"),
        (b"\x1b[27;2;13~", "shift+enter"),
        (b"\x1b[200~two words\x1b[201~", "a paste"),
        ("ö".encode(), "ö"),
    ],
)
def test_what_bytes_are_called(data: bytes, key: str) -> None:
    from tui_agent.ui.terminal import patch_keys

    patch_keys()
    assert names(data) == [key]


@pytest.mark.parametrize(
    "sign", [*string.punctuation, "a", "ß", "€", "ctrl+_", "ctrl+@", "alt+{", "f5", "space", "ctrl+up"]
)
def test_a_key_is_called_what_can_be_written_in_the_configuration(sign: str) -> None:
    assert written(textual_name(sign)) == sign
    keys, faults = keymap({"files.copy": sign})
    assert not [why for _, why in faults if "belongs to" not in why]
    assert faults or keys["files.copy"].keys == (sign,)


def test_keys_that_came_at_once_are_told_one_by_one() -> None:
    told = [line.split()[:2] for line in lines(b"a\x02\x1bOQ\x1b[A-", USUAL)]
    assert told == [["b'a'", "a"], ["b'\\x02'", "ctrl+b"], ["b'\\x1bOQ'", "f2"], ["b'\\x1b[A'", "up"], ["b'-'", "-"]]


def test_what_is_told_of_a_key() -> None:
    keys, _ = keymap({"ui.palette": "f3"})
    assert "f3" in next(lines(b"\x1bOR", keys))
    assert "ui.palette: Commands" in next(lines(b"\x1bOR", keys))
    assert "ui.palette" not in next(lines(b"\x1bOQ", keys))
