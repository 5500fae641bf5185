"""The list of sessions: what it tells of each, its cache, and finding one by a word."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from tests.sessions.story import CALL, EDIT, made, turn
from tui_agent import sessions, summaries
from tui_agent.core import events as ev
from tui_agent.core.lock import HeldError
from tui_agent.core.log import FileLog, load
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import AgentError, ConfigError
from tui_agent.sessions import Place, fork, new_id
from tui_agent.summaries import contains, find, in_folder, listed, summarise
from tui_agent.ui.session_rows import Entry, details, row
from tui_agent.unsent import Unsent, write


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions"


def test_of_very_many_files_some_are_named_and_all_are_counted(kept: Path) -> None:
    done = [
        ev.ToolDone(CALL, "applied", "ok", receipt=Receipt(f"r{n}", "c1", "edit_file", {}, f"f{n}", "aa", "bb"))
        for n in range(88)
    ]
    made(kept, ev.UserSaid("rename all"), *done)
    (one,) = listed(kept)
    assert (one.touched, one.files[0]) == (88, "f0")
    assert len(one.files) < 88
    shown = details(one, 60, one.changed)[-1].plain
    assert shown.startswith("touched: f0  f1")
    assert shown.endswith(f"…  and {88 - len(one.files)} more")
    assert len(shown) <= 60
    assert " 88 " in row(Entry(one), 120, one.changed, "")[0].plain


def test_the_list_tells_of_each_what_its_log_says(kept: Path) -> None:
    folder = made(kept, *EDIT, *turn("second thing", "the\nanswer"), ev.Named("old name"), ev.Named("new name"))
    (one,) = listed(kept)
    assert one == summarise(folder)
    assert (one.title, one.names, one.first) == ("new name", ("old name", "new name"), "rename x")
    assert (one.turns, one.files, one.cost, one.model) == (2, ("src/a.py",), 1.5, "m")
    assert one.touched == 1
    assert (one.last, one.answer, one.tokens) == ("second thing", "the answer", 110)
    for query in ("OLD NAME", "second", "src/A.py", "name a.PY old", ""):
        assert one.missing(query) == ""
    assert one.missing("the ANSWER old") == "the answer"
    assert (one.missing("/w"), one.missing("/w", folder=True)) == ("/w", "")
    assert contains(folder, "Answer\n The")
    assert not contains(folder, "answer thee")
    street = made(kept, *turn("one", "The Straße of 300 Kelvin \u212a is Maßarbeit."))
    assert contains(street, "strasse k MASSARBEIT")
    assert not contains(street, "street")
    died = made(kept, ev.UserSaid("one"), ev.Checkpoint("It is in the haystack"), ev.Checkpoint(", I think"))
    assert contains(died, "haystack think")
    assert not contains(folder, "type")  # a word of the format is no text of the session


def test_a_session_in_which_nothing_was_said_is_known_by_what_was_typed(kept: Path) -> None:
    folder = made(kept, ev.BudgetSet(4_000))
    assert [one.title for one in listed(kept)] == [""]
    for draft in ("fix the\nparser", "fix the lexer"):  # it changes while the log stays as it is
        write(folder / "state.json", Unsent(draft), 2)
        (one,) = listed(kept)
        assert one.title == " ".join(draft.split())
        assert one.missing(draft) == ""
        assert find([one], draft.split()[-1], Path("/w")) == one
    (folder / "state.json").write_text("{")
    assert [one.title for one in listed(kept)] == [""]
    made(kept, *turn("one"))
    assert {one.title for one in listed(kept)} == {"one", ""}


def test_the_index_is_only_a_cache(kept: Path) -> None:
    first, second = made(kept, *turn("one")), made(kept, *turn("two"))
    before = listed(kept)
    index = kept / ".index.json"
    for content in ("", "{", "[]", '{"v": 99, "sessions": []}', '{"v": 1, "sessions": [[1, []]]}', '{"v": 1}'):
        index.write_text(content)
        assert listed(kept) == before
    place = Place(first)
    place.log.append(ev.UserSaid("three"))
    place.close()
    assert {one.id: one.last for one in listed(kept)} == {first.name: "three", second.name: "two"}
    sessions.delete(second)
    assert [one.id for one in listed(kept)] == [first.name]
    assert listed(kept) == [summarise(first)]
    right = index.read_text()
    index.write_text(right.replace('"three"', '"other"').replace('{"v":', '{"v":9'))
    assert listed(kept) == [summarise(first)]
    assert index.read_text() == right


@pytest.mark.parametrize("content", ["[" * 100_000, '{"v": 1, "sessions": [["1:1:1", ["one", 7]]]}'])
def test_an_index_of_anything_is_made_again(kept: Path, content: str) -> None:
    made(kept, *turn("one"))
    right = listed(kept)
    (kept / ".index.json").write_text(content)
    assert listed(kept) == right


def test_a_row_of_wrong_types_is_not_believed(kept: Path) -> None:
    made(kept, *EDIT, *turn("one"))
    right = listed(kept)
    index = kept / ".index.json"
    whole = index.read_text()
    changes = [
        ('"/w"', "[7]"),
        (str(right[0].changed), "1e308"),
        ("[],", "[7],"),
        ('["src/a.py"]', '"src/a.py"'),
        (",1.5,", ",true,"),
    ]
    for old, new in changes:
        wrong = whole.replace(old, new)
        assert wrong != whole
        index.write_text(wrong)
        assert listed(kept) == right


def test_a_number_out_of_range_is_one_damaged_record(kept: Path) -> None:
    folder = made(kept, *turn("one"))
    log = folder / "log.jsonl"
    log.write_text(log.read_text().replace("1700000000.0", "1" * 400))
    assert "created: out of range" in load(log).damage
    assert listed(kept)[0].turns == 1


def test_a_log_that_was_taken_away_is_written_anew(kept: Path) -> None:
    place = Place(kept / new_id(1.0))
    for event in (ev.SessionStarted(place.id, "/w", 1.0, "1"), *turn("one")):
        place.log.append(event)
    shutil.rmtree(place.folder)
    place.log.append(ev.UserSaid("two"))
    found = load(place.folder / "log.jsonl")
    assert (list(found.events), found.problems) == (place.log.events, ())
    place.close()


def test_a_copy_that_cannot_be_written_leaves_nothing(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = made(kept, *turn("one"))

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FileLog, "_write", full)
    with pytest.raises(AgentError, match="No space left"):
        fork(source, kept, Path("/w"))
    assert [path for path in kept.iterdir() if path.is_dir()] == [source]


def test_unchanged_sessions_are_not_read_again(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(kept, *turn("one"))
    before = listed(kept)
    monkeypatch.setattr(summaries, "summarise", lambda _: pytest.fail("read again"))
    assert listed(kept) == before


@pytest.mark.parametrize("content", [b"", b"\0\0\n", b'{"v":1,"type":"session","id":"s"}\n', b"{"])
def test_a_session_of_which_nothing_is_left_is_listed_and_opens(kept: Path, content: bytes) -> None:
    folder = made(kept, *turn("one"))
    (folder / "log.jsonl").write_bytes(content)
    (one,) = listed(kept)
    assert one.title == ""
    assert bool(one.damage) is bool(content)
    Place(folder).close()


def test_a_folder_without_a_log_is_listed_as_damaged(kept: Path) -> None:
    (kept / "20200101-000000-abcdef").mkdir(parents=True)
    assert [one.damage for one in listed(kept)] == ["No such file or directory"]


def test_find_by_name_old_name_id_its_beginning_and_the_last_one(kept: Path) -> None:
    a = made(kept, *turn("fix the parser"), ev.Named("parser"), ev.Named("lexer"), at=1_600_000_000.0)
    b = made(kept, *turn("write docs"), at=1_700_000_000.0)
    c = made(kept, *turn("elsewhere"), cwd="/other", at=1_800_000_000.0)
    for at, folder in enumerate((a, b, c)):
        os.utime(folder / "log.jsonl", (at, at))
    found = listed(kept)
    here = Path("/w")

    def which(word: str) -> str:
        return find(found, word, here).id

    assert which("Lexer") == which("parser") == which(a.name) == which(a.name[:10]) == a.name
    assert which("write docs") == which("docs") == which("-1") == which("") == b.name
    assert which("elsewhere") == c.name
    assert [one.id for one in in_folder(found, here)] == [b.name, a.name]
    with pytest.raises(ConfigError, match="no session 'nothing'"):
        which("nothing")
    with pytest.raises(ConfigError, match="no earlier session"):
        find(found, "-1", Path("/empty"))


def test_an_ambiguous_name_lists_both(kept: Path) -> None:
    a, b = (made(kept, *turn(f"task {n}"), ev.Named("same")) for n in range(2))
    with pytest.raises(ConfigError, match="2 sessions") as refused:
        find(listed(kept), "same", Path("/w"))
    assert a.name in str(refused.value)
    assert b.name in str(refused.value)


def test_rename_is_refused_while_it_is_open_and_the_old_name_is_still_found(kept: Path) -> None:
    folder = made(kept, *turn("one"))
    place = Place(folder)
    with pytest.raises(HeldError):
        sessions.rename(folder, "x")
    place.close()
    sessions.rename(folder, "  a\nname ")
    sessions.rename(folder, "another")
    (one,) = listed(kept)
    assert one.names == ("a name", "another")
    with pytest.raises(AgentError, match="letters"):
        sessions.rename(folder, " \n")
