from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.sessions.story import CALL, EDIT, made, reply, turn
from tui_agent import sessions
from tui_agent.core import events as ev
from tui_agent.core import fold, standing
from tui_agent.core.endings import StopReason
from tui_agent.core.lock import HeldError, Lock
from tui_agent.core.log import FileLog, load
from tui_agent.core.meter import meter
from tui_agent.core.sent import Sent, sent
from tui_agent.core.types import AgentError, AssistantMessage, ConfigError, UserMessage
from tui_agent.sessions import Place, contains, find, fork, in_folder, listed, new_id, prunable, summarise
from tui_agent.unsent import Unsent, write


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
    monkeypatch.setattr(sessions, "LARGEST", 100)
    with pytest.raises(AgentError, match="is larger than"):
        Place(folder)
    assert "larger than" in listed(kept)[0].damage


# ------------------------------------------------------------------ the list


def test_the_list_tells_of_each_what_its_log_says(kept: Path) -> None:
    folder = made(kept, *EDIT, *turn("second thing", "the\nanswer"), ev.Named("old name"), ev.Named("new name"))
    (one,) = listed(kept)
    assert one == summarise(folder)
    assert (one.title, one.names, one.first) == ("new name", ("old name", "new name"), "rename x")
    assert (one.turns, one.files, one.cost, one.model) == (2, ("src/a.py",), 1.5, "m")
    assert (one.last, one.answer, one.tokens) == ("second thing", "the answer", 110)
    for query in ("OLD NAME", "second", "src/A.py", "name a.PY old", ""):
        assert one.missing(query) == ""
    assert one.missing("the ANSWER old") == "the answer"
    assert (one.missing("/w"), one.missing("/w", folder=True)) == ("/w", "")
    assert contains(folder, "Answer\n The")
    assert not contains(folder, "answer thee")
    assert not contains(folder, "type")  # a word of the format is no text of the session


def test_a_session_in_which_nothing_was_said_is_known_by_what_was_typed(kept: Path) -> None:
    folder = made(kept, ev.BudgetSet(4_000))
    assert [one.title for one in listed(kept)] == [""]
    for draft in ("fix the\nparser", "fix the lexer"):  # it changes while the log stays as it is
        write(folder / "state.json", Unsent(draft), 2)
        (one,) = listed(kept)
        assert one.title == " ".join(draft.split())
        assert one.missing(draft) == ""
        assert sessions.find([one], draft.split()[-1], Path("/w")) == one
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
    monkeypatch.setattr(sessions, "summarise", lambda _: pytest.fail("read again"))
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


# ------------------------------------------------------------------ going back in the conversation


def texts(events: list[ev.Durable]) -> list[str]:
    return [m.text for m in fold.history(events) if isinstance(m, UserMessage | AssistantMessage)]


def test_a_rewind_takes_what_followed_out_of_the_conversation_and_out_of_no_sum() -> None:
    events: list[ev.Durable] = [*turn("one", "1"), *turn("two", "2"), *turn("three", "3")]
    events += [ev.Rewound(2), *turn("four", "4")]
    assert texts(events) == ["one", "1", "four", "4"]
    assert fold.totals(events).cost == 2.0
    assert fold.totals(events).replies == 4
    events += [ev.Rewound(1, ("a.py",))]
    assert texts(events) == ["Changed since you last looked: a.py. Read a file again before you change it."]
    assert meter(events).counted is None


def test_calls_that_were_open_before_a_rewind_are_gone_with_it() -> None:
    events: list[ev.Durable] = [*turn("one"), ev.UserSaid("two"), reply("", CALL), ev.Rewound(2), *turn("three")]
    assert texts(events) == ["one", "done", "three", "done"]


@given(st.lists(st.integers(0, 12), max_size=12))
def test_after_any_rewinds_the_conversation_is_what_was_said_and_not_taken_back(steps: list[int]) -> None:
    events: list[ev.Durable] = []
    stands: list[int] = []
    said = 0
    for step in steps:
        if step == 0 or step > said or step not in stands:
            said += 1
            stands.append(said)
            events += turn(f"m{said}", f"a{said}")
        else:
            stands = stands[: stands.index(step)]
            events.append(ev.Rewound(step))
    assert texts(events) == [text for number in stands for text in (f"m{number}", f"a{number}")]
    assert sent(events) == fold.history(events)
    assert standing.turns(events) == stands
    assert fold.totals(events).replies == said


def test_what_is_sent_follows_a_rewind_also_when_it_is_kept_up_to_date_event_by_event() -> None:
    events: list[ev.Durable] = [
        *EDIT,
        *turn("two"),
        ev.Rewound(2, ("src/a.py",)),
        *turn("three"),
        ev.Rewound(1),
        *turn("x"),
    ]
    kept_up = Sent()
    for at in range(1, len(events) + 1):
        kept_up.catch_up(events[:at])
        assert kept_up.history == sent(events[:at]) == fold.history(events[:at])


# ------------------------------------------------------------------ a run that was cut off


def test_a_run_that_was_cut_off_is_found_and_one_that_ended_is_not() -> None:
    assert fold.cut_off(EDIT) is None
    assert fold.cut_off(EDIT[:3]) == EDIT[0]
    assert fold.cut_off([*EDIT[:3], ev.RunEnded(StopReason.STOPPED)]) is None
    assert fold.cut_off([]) is None
    assert fold.waiting(EDIT) == []
