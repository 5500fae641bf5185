"""The review as data: what changed against what, hunks taken back through receipts, refused texts, notes."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.test_undo import Desk
from tui_agent import review
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.diff import diff
from tui_agent.core.types import ToolCall
from tui_agent.review import Entry, Note, Notes, outdated, proposed, without


class Bench(Desk):
    """A session as the review needs it."""

    @property
    def events(self):
        return self.log.events

    def changed(self, base="session"):
        return asyncio.run(review.changed(self, base))

    def revert(self, entry, hunks):
        return asyncio.run(review.revert(self, entry, hunks))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


OLD = "".join(f"{n}\n" for n in range(40))
NEW = OLD.replace("\n5\n", "\nfive\n").replace("\n20\n", "\ntwenty\n").replace("\n35\n", "\n")


def test_each_file_against_the_start_of_the_session_or_of_the_turn(bench):
    (bench.root / "a.txt").write_text("1\n")
    bench.say("one")
    bench.write("a.txt", "2\n")
    bench.write("new.txt", "x\n")
    bench.say("two")
    bench.write("a.txt", "3\n")
    found = bench.changed()
    assert found == (
        Entry("a.txt", b"1\n", b"3\n", added=1, removed=1),
        Entry("new.txt", None, b"x\n", added=1),
    )
    assert [entry.mark for entry in found] == ["M", "A"]
    assert bench.changed("turn") == (Entry("a.txt", b"2\n", b"3\n", added=1, removed=1),)


def test_a_file_that_is_as_before_is_not_listed(bench):
    (bench.root / "a.txt").write_text("1\n")
    bench.say("one")
    bench.write("a.txt", "2\n")
    bench.write("a.txt", "1\n")
    assert bench.changed() == ()


def test_what_somebody_else_changed_since_is_shown_as_it_is_and_said(bench):
    bench.say("one")
    bench.write("a.txt", "1\n")
    (bench.root / "a.txt").write_text("1\nmine\n")
    (entry,) = bench.changed()
    assert entry.now == b"1\nmine\n"
    assert "somebody else" in entry.words


@pytest.mark.parametrize("hunks", [{1}, {2}, {3}, {1, 3}, {1, 2, 3}])
def test_hunks_are_taken_back_exactly_and_leave_a_receipt(bench, hunks):
    (bench.root / "a.txt").write_text(OLD)
    bench.say("one")
    bench.write("a.txt", NEW)
    (entry,) = bench.changed()
    assert bench.revert(entry, hunks).status == "applied"
    left = diff(OLD.encode(), (bench.root / "a.txt").read_bytes()).hunks
    assert len(left) == 3 - len(hunks)
    done = [e for e in bench.events if isinstance(e, ev.ToolDone)][-1]
    assert (done.call.name, done.receipt.path, done.receipt.by) == ("undo", "a.txt", "key")
    told = [m.text for m in fold.history(bench.events)]
    assert any("The user took back hunk" in text and "Read the file again" in text for text in told)
    bench.undo(1)
    assert (bench.root / "a.txt").read_text() == OLD


def test_a_whole_file_is_taken_back(bench):
    bench.say("one")
    bench.write("a.txt", "x\n")
    (entry,) = bench.changed()
    assert bench.revert(entry, None).status == "applied"
    assert not (bench.root / "a.txt").exists()
    assert bench.changed() == ()


def test_nothing_is_written_over_a_change_that_was_not_shown(bench):
    (bench.root / "a.txt").write_text(OLD)
    bench.say("one")
    bench.write("a.txt", NEW)
    (entry,) = bench.changed()
    (bench.root / "a.txt").write_text("mine\n")
    before = len(bench.events)
    assert bench.revert(entry, {1}).status != "applied"
    assert (bench.root / "a.txt").read_text() == "mine\n"
    assert len(bench.events) == before


LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=30).map(lambda lines: "\n".join(lines).encode())


@given(LINES, LINES, st.data())
def test_without_all_is_the_base_and_without_none_is_now(base, now, data):
    entry = Entry("a", base, now)
    numbers = [hunk.number for hunk in diff(base, now).hunks]
    assert without(entry, numbers) == (base if numbers else now)
    assert without(entry, ()) == now
    some = data.draw(st.sets(st.sampled_from(numbers))) if numbers else set()
    assert len(diff(base, without(entry, some), 0).hunks) <= len(diff(base, now, 0).hunks)


@settings(max_examples=15, deadline=None)
@given(st.sets(st.integers(1, 3), min_size=1))
def test_taking_back_in_two_steps_is_taking_back_at_once(hunks):
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        (bench.root / "a.txt").write_text(OLD)
        bench.say("one")
        bench.write("a.txt", NEW)
        expected = without(bench.changed()[0], hunks)
        for hunk in sorted(hunks, reverse=True):  # the numbers of the hunks before it stay
            bench.revert(bench.changed()[0], {hunk})
        assert (bench.root / "a.txt").read_bytes() == expected


# ------------------------------------------------------------------ what was refused


@pytest.mark.parametrize(
    ("name", "arguments", "texts"),
    [
        ("edit_file", {"old": "a", "new": "b"}, (b"a\n", b"b\n")),
        ("edit_file", {"old": "a\n", "new": ""}, (b"a\n", b"\n")),
        ("write_file", {"content": "x"}, (None, b"x\n")),
        ("propose_edit", {"old": "a\n", "new": "b\n"}, (b"a\n", b"b\n")),
        ("multi_edit", {"edits": [{"old": "a", "new": "b"}, {"old": "c", "new": "d"}, 7]}, (b"a\nc\n", b"b\nd\n")),
        ("edit_file", {"old": 1, "new": "b"}, None),
        ("delete_file", {}, None),
        ("run_command", {"argv": ["ls"]}, None),
    ],
)
def test_a_proposal_is_read_from_its_call(name, arguments, texts):
    assert proposed(ToolCall("c", name, {"path": "a", **arguments})) == texts


def test_refused_and_parked_edits_stay_readable(bench):
    bench.say("one")
    call = ToolCall("c", "edit_file", {"path": "a.txt", "old": "1", "new": "2"})
    bench.log.append(ev.ToolDone(call, "refused", "user rejected the change", "ugly", denied="person"))
    bench.log.append(ev.ToolDone(call, "refused", "user skipped", denied="skip"))
    bench.log.append(ev.ToolDone(call, "refused", "denied", denied="policy"))
    found = bench.changed()
    assert [(entry.words, entry.mark, entry.base, entry.now) for entry in found] == [
        ("refused: ugly", "x", b"1\n", b"2\n"),
        ("left out", "x", b"1\n", b"2\n"),
    ]
    bench.say("two")
    assert bench.changed("turn") == ()


# ------------------------------------------------------------------ notes


def test_all_notes_are_one_message_with_places_and_quotes():
    notes = Notes()
    notes.put(Note("b.py", 2, "y = 2", "why two?"))
    notes.put(Note("a.py", 1, "old line", "keep it", gone=True))
    notes.put(Note("b.py", 2, "y = 2", "why not three?"))
    files = (Entry("a.py", b"old line\n", b""), Entry("b.py", None, b"x = 1\ny = 2\n"))
    assert notes.message(files) == (
        "Notes on your changes:\n\n"
        "a.py:1 (a line that you removed)\n> old line\nkeep it\n\n"
        "b.py:2\n> y = 2\nwhy not three?"
    )


def test_a_note_without_text_is_gone_and_without_notes_there_is_no_message():
    notes = Notes()
    notes.put(Note("a.py", 1, "x", "y"))
    notes.put(Note("a.py", 1, "x", ""))
    assert notes.message(()) == ""


@pytest.mark.parametrize(("now", "expected"), [(b"x\n", False), (b"x\r\n", False), (b"y\n", True), (None, True)])
def test_a_note_on_a_line_that_is_gone_is_outdated(now, expected):
    assert outdated(Note("a", 1, "x", "t"), Entry("a", None, now)) is expected
    assert outdated(Note("a", 9, "x", "t"), Entry("a", None, now))
    assert outdated(Note("a", 1, "x", "t"), None)
    notes = Notes([Note("a", 1, "x", "t")])
    assert ("(outdated" in notes.message((Entry("a", None, now),))) is expected
