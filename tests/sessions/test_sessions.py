from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.sessions.story import EDIT, made, turn
from tui_agent import sessions, summaries
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.lock import HeldError, Lock
from tui_agent.core.log import load
from tui_agent.core.types import AgentError, UserMessage
from tui_agent.sessions import Place, fork, new_id
from tui_agent.summaries import listed, prunable, summarise
from tui_agent.unsent import Unsent


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions"


# ------------------------------------------------------------------ a log, cut anywhere


def test_whatever_byte_the_file_is_cut_at_all_before_it_is_there_and_the_totals_are_its_sum(kept: Path) -> None:
    folder = made(kept, *EDIT, ev.Rewound(1, ("src/a.py",)), *turn("again"))
    log = folder / "log.jsonl"
    data = log.read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
    whole = load(log).events
    for cut in range(len(data) + 1):
        log.write_bytes(data[:cut])
        one = summarise(folder)
        events = whole[: sum(end <= cut for end in ends)]
        torn = cut not in (0, *ends)
        assert one.damage == ("1 incomplete record at the end was dropped" if torn else "")
        costs = [e.cost for e in events if isinstance(e, ev.AssistantSaid)]
        assert one.cost == sum(filter(None, costs))
        assert one.turns == sum(isinstance(e, ev.UserSaid) for e in events)
        fold.history(events)  # valid at every place
        place = Place(folder)
        assert tuple(place.log.events) == events
        assert place.remarks == (["1 incomplete record at the end was dropped."] if torn else [])
        place.close()


def test_damage_is_one_line_however_much_of_it_there_is(kept: Path) -> None:
    folder = made(kept, *(event for n in range(9) for event in turn(f"task {n}")))
    log = folder / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(b"\0" * 30 + b"\n" if n % 3 == 2 else line for n, line in enumerate(lines)))
    place = Place(folder)
    assert len(place.remarks) == 1
    assert place.remarks[0].endswith("and 6 more.")
    place.close()


def test_numbers_of_records_go_on_behind_damage(kept: Path) -> None:
    folder = made(kept, *turn("one"))
    log = folder / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([lines[0], b"broken\n", *lines[2:]]))
    place = Place(folder)
    place.log.append(ev.UserSaid("on"))
    place.close()
    assert json.loads(log.read_bytes().splitlines()[-1])["seq"] == len(lines)


def test_a_session_that_can_only_be_read_says_what_becomes_of_new_words(kept: Path) -> None:
    folder = made(kept, *turn("one"))
    log = folder / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"v":1', b'"v":9', 1))
    place = Place(folder)
    assert place.remarks[0].endswith("opened read-only.")
    assert place.remarks[1].startswith("What is said here is not kept: go on in a copy")
    place.close()


def test_records_of_a_newer_version_stay_in_the_file_and_in_a_fork(kept: Path) -> None:
    folder = made(kept, *turn("one"))
    strange = b'{"seq":9,"t":1.0,"type":"hologram","x":[1]}\n'
    with (folder / "log.jsonl").open("ab") as log:
        log.write(strange)
    place = Place(folder)
    place.log.append(ev.UserSaid("two"))
    copy = fork(place, kept, Path("/w"))
    place.close()
    copy.close()
    assert strange in (folder / "log.jsonl").read_bytes()
    assert ev.Unknown("hologram", {"x": [1]}) in load(copy.folder / "log.jsonl").events


# ------------------------------------------------------------------ open, hold, refuse


def test_nothing_is_written_before_there_is_something_to_keep(kept: Path) -> None:
    place = Place(kept / new_id(1.0))
    place.log.append(ev.SessionStarted(place.id, "/w", 1.0, "1"))
    place.log.append(ev.ModelChosen("local", "m"))
    place.keep(Unsent())
    assert not kept.exists()
    place.log.append(ev.UserSaid("hi"))
    assert [type(e) for e in load(place.folder / "log.jsonl").events] == [
        ev.SessionStarted,
        ev.ModelChosen,
        ev.UserSaid,
    ]
    assert kept.stat().st_mode & 0o777 == 0o700
    with pytest.raises(HeldError):
        Place(place.folder)
    place.close()
    Place(place.folder).close()


def test_a_draft_is_something_to_keep(kept: Path) -> None:
    place = Place(kept / new_id(1.0))
    place.log.append(ev.SessionStarted(place.id, "/w", 1.0, "1"))
    place.keep(Unsent("half a sen", ("next", "then")))
    (one,) = listed(kept)
    assert (one.cwd, one.turns) == ("/w", 0)
    place.close()
    again = Place(place.folder)
    assert again.unsent() == Unsent("half a sen", ("next", "then"))
    again.keep(Unsent())
    assert not (place.folder / "state.json").exists()
    again.close()


@pytest.mark.parametrize("sent", ["the draft", "first in the queue"])
def test_what_was_sent_after_it_was_kept_does_not_come_back(kept: Path, sent: str) -> None:
    place = Place(kept / new_id(1.0))
    place.keep(Unsent("the draft", ("first in the queue", "second")))
    place.log.append(ev.UserSaid(sent))
    place.close()
    again = Place(place.folder)
    assert again.unsent() == (
        Unsent("", ("first in the queue", "second")) if sent == "the draft" else Unsent("the draft", ("second",))
    )
    again.close()


@given(st.text(alphabet=st.characters(codec="utf-8")), st.lists(st.text(alphabet=st.characters(codec="utf-8"))))
@examples(60)
def test_any_draft_and_queue_come_back(tmp_path_factory: pytest.TempPathFactory, draft: str, queue: list[str]) -> None:
    place = Place(tmp_path_factory.mktemp("s") / "one")
    place.keep(Unsent(draft, tuple(queue)))
    place.close()
    again = Place(place.folder)
    assert again.unsent() == Unsent(draft, tuple(queue))
    again.close()


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", '{"draft": 1}', "[" * 100_000),
        '{"draft": "x", "queue": 3, "events": 0}',
        '{"draft": "x", "queue": "abc", "events": 0}',
        '{"draft": "x", "queue": [], "events": 1e999}',
        *(f'{{"draft": "one", "queue": ["x"], "events": {odd}}}' for odd in ("-1", "-5", "true", "NaN", '"0"', "null")),
        '{"draft": "x", "queue": [], "events": 0, "edits": [["one"]]}',
    ],
)
def test_a_damaged_draft_is_said_and_harms_nothing(kept: Path, content: str) -> None:
    folder = made(kept, *turn("one"))
    (folder / "state.json").write_text(content)
    place = Place(folder)
    assert place.unsent() == Unsent()
    assert "damaged" in place.remarks[0]
    place.close()


def test_a_session_whose_program_was_killed_says_so(kept: Path) -> None:
    folder = made(kept, *EDIT[:3])
    (folder / "lock").write_text(json.dumps({"pid": 2**22 + 1, "started": "x"}))
    place = Place(folder)
    assert place.remarks == ["The program ended without closing this session; it goes on where its log ends."]
    assert [asked.summary for asked in fold.waiting(place.log.events)] == ["edit  src/a.py"]
    place.close()


@pytest.mark.parametrize("what", ["link", "everybody"])
def test_a_folder_that_others_can_reach_is_refused_with_the_reason(kept: Path, tmp_path: Path, what: str) -> None:
    folder = made(kept, *turn("one"))
    if what == "link":
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.chmod(0o777)
    with pytest.raises(AgentError, match="is a link" if what == "link" else "can be written by everybody"):
        Place(folder)


def test_a_new_session_in_such_a_place_stays_in_memory(kept: Path) -> None:
    kept.mkdir(parents=True)
    kept.chmod(0o777)
    place = Place(kept / new_id(1.0))
    place.log.append(ev.UserSaid("hi"))
    place.keep(Unsent("draft"))
    assert place.remarks == [f"This session is not saved: {kept} can be written by everybody."]
    assert place.blobs is None
    assert list(kept.iterdir()) == []
    assert place.log.events == [ev.UserSaid("hi")]


def test_too_large_a_log_is_not_opened_and_says_why(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(kept, *turn("one"))
    for module in (sessions, summaries):
        monkeypatch.setattr(module, "LARGEST", 100)
    with pytest.raises(AgentError, match="is larger than"):
        Place(folder)
    assert "larger than" in listed(kept)[0].damage


# ------------------------------------------------------------------ fork, delete, prune


def test_a_fork_keeps_the_branch_it_left_and_both_go_on(kept: Path) -> None:
    folder = made(kept, *turn("one"), *EDIT, *turn("three"))
    (folder / "blobs").mkdir()
    (folder / "blobs" / "aa").write_bytes(b"old")
    before = (folder / "log.jsonl").read_bytes()
    copy = fork(folder, kept, Path("/w"), 2)
    assert (folder / "log.jsonl").read_bytes() == before
    assert [m.text for m in fold.history(copy.log.events) if isinstance(m, UserMessage)] == ["one"]
    copy.log.append(ev.UserSaid("another two"))
    copy.close()
    one = next(one for one in listed(kept) if one.id == copy.id)
    assert (one.parent, one.turn, one.turns) == (folder.name, 2, 2)
    assert (copy.folder / "blobs" / "aa").read_bytes() == b"old"
    sessions.delete(folder)
    assert (copy.folder / "blobs" / "aa").read_bytes() == b"old"
    assert [one.id for one in listed(kept)] == [copy.id]


def test_a_fork_at_the_end_has_everything(kept: Path) -> None:
    folder = made(kept, *turn("one"), *EDIT)
    copy = fork(folder, kept, Path("/w"))
    assert copy.log.events[1:] == list(load(folder / "log.jsonl").events[1:])
    copy.close()


def test_prune_takes_what_is_old_and_not_open_with_its_copies_and_nothing_else(kept: Path) -> None:
    old, new, held = (made(kept, *turn(name)) for name in ("old", "new", "held"))
    (old / "blobs").mkdir()
    (old / "blobs" / "aa").write_bytes(b"x" * 5_000)
    beside = kept.parent / "trust.toml"
    beside.write_text("keep")
    for folder in (old, held):
        os.utime(folder / "log.jsonl", (1, 1))
    place = Place(held)
    found = prunable(listed(kept), kept, time.time() - 60)
    assert [one.id for one in found] == [old.name]
    assert found[0].size > 5_000
    for one in found:
        sessions.delete(kept / one.id)
    with pytest.raises(HeldError):
        sessions.delete(held)
    place.close()
    assert sorted(p.name for p in kept.iterdir() if not p.name.startswith(".")) == sorted([new.name, held.name])
    assert beside.read_text() == "keep"


def test_one_that_cannot_be_read_is_as_old_as_it_is(kept: Path) -> None:
    made(kept, *turn("readable"))
    unreadable, without = kept / "20990101-000000-aaaaaa", kept / "20990101-000000-bbbbbb"
    (unreadable / "log.jsonl").mkdir(parents=True)
    without.mkdir()
    (without / "state.json").write_text('{"draft": "two hours of work"}')
    assert len(listed(kept)) == 3
    assert prunable(listed(kept), kept, time.time() - 60) == []
    os.utime(without, (1, 1))
    (kept / ".index.json").unlink()
    assert prunable(listed(kept), kept, time.time() - 60) == []  # the draft is new
    os.utime(without / "state.json", (1, 1))
    os.utime(without, (1, 1))
    (kept / ".index.json").unlink()
    assert [one.id for one in prunable(listed(kept), kept, time.time() - 60)] == [without.name]
    nobody_knows = replace(listed(kept)[0], changed=0.0)
    assert prunable([nobody_knows], kept, time.time() - 60) == []


def test_while_it_is_removed_it_is_held_and_nobody_gets_a_session_without_a_folder(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(kept, *turn("one"))
    (kept / ".gone-20200101-000000-abcdef").mkdir()  # of a process that was killed in the middle of it
    seen: list[str] = []
    remove = shutil.rmtree

    def watched(path: Path) -> None:
        if (path / "lock").exists():
            with pytest.raises(HeldError):
                Lock(path / "lock")
            seen.append(path.name)
        remove(path)

    monkeypatch.setattr(shutil, "rmtree", watched)
    sessions.delete(folder)
    assert seen == [f".gone-{folder.name}"]
    assert [path for path in kept.iterdir() if path.is_dir()] == []


def test_a_draft_is_as_much_worth_as_what_was_said(kept: Path) -> None:
    folder = made(kept, *turn("long ago"))
    os.utime(folder / "log.jsonl", (1, 1))
    now = time.time()
    assert [one.id for one in prunable(listed(kept), kept, now - 60)] == [folder.name]
    place = Place(folder)
    place.keep(Unsent("two hours of work"))
    place.close()
    assert prunable(listed(kept), kept, now - 60) == []
    with pytest.raises(AgentError, match="used meanwhile"):  # between the look and the removal
        sessions.delete(folder, now - 60)
    assert (folder / "state.json").exists()


def test_of_two_that_remove_at_once_both_are_content(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(kept, *turn("one"))
    half = kept / ".gone-20200101-000000-abcdef"
    half.mkdir()
    remove = shutil.rmtree

    def beside(path: Path) -> None:
        remove(path)
        raise FileNotFoundError(2, "No such file or directory", str(path))

    monkeypatch.setattr(shutil, "rmtree", beside)
    assert sessions.delete(folder)
    assert [path for path in kept.iterdir() if path.is_dir()] == []
    assert not sessions.delete(folder)  # whoever comes second has nothing to do, and nothing to complain of
    lock = Lock((folder := made(kept, *turn("two"))) / "lock")
    monkeypatch.setattr(sessions, "Lock", lambda _: (folder.rename(kept / ".gone-x"), Lock(kept / ".gone-x" / "lock")))
    assert not sessions.delete(folder)
    lock.release()


def test_who_waited_for_the_lock_of_a_removed_session_is_told(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(kept, *turn("one"))
    flock = fcntl.flock

    def late(fd: int, kind: int) -> None:
        (folder / "lock").unlink(missing_ok=True)  # removed between the opening and the locking
        flock(fd, kind)

    monkeypatch.setattr(fcntl, "flock", late)
    with pytest.raises(AgentError, match="just been deleted"):
        Place(folder)


def test_a_link_is_never_followed_when_something_is_removed(kept: Path, tmp_path: Path) -> None:
    made(kept, *turn("one"))
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "log.jsonl").write_text("{}")
    (kept / "link").symlink_to(precious)
    assert len(listed(kept)) == 1
    with pytest.raises(AgentError, match="is a link"):
        sessions.delete(kept / "link")
    assert (precious / "log.jsonl").exists()
