"""The review as data: what changed against what, hunks taken back through receipts, refused texts, notes."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.test_undo import Desk
from tui_agent import review
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.diff import diff
from tui_agent.core.types import NO_BASE, NOT_BEGUN, Decision, ToolCall
from tui_agent.review import Entry, Note, Notes, outdated, proposed, without


class Bench(Desk):
    """A session as the review needs it."""

    @property
    def events(self):
        return self.log.events

    def changed(self, base="session"):
        async def go():
            return tuple([entry async for entry in review.changed(self, base)])

        return asyncio.run(go())

    def workspace_reads(self, path):
        asyncio.run(self.workspace.call("read_file", {"path": path}))

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
    assert "outside of this session" in entry.words


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


def test_a_file_whose_old_bytes_nobody_holds_is_no_new_one(bench):
    (bench.root / "a.txt").write_text("1\n")
    bench.say("one")
    bench.call("run_shell", script="echo 2 >> a.txt; echo x > new.txt")
    assert {entry.path: (entry.mark, entry.known) for entry in bench.changed()} == {
        "a.txt": ("M", False),
        "new.txt": ("A", True),
    }


def test_a_whole_file_is_taken_back(bench):
    bench.say("one")
    bench.write("a.txt", "x\n")
    (entry,) = bench.changed()
    assert bench.revert(entry, None).status == "applied"
    assert not (bench.root / "a.txt").exists()
    assert bench.changed() == ()


def test_a_folder_that_was_made_for_it_goes_with_it(bench):
    bench.say("one")
    bench.write("new/deep/a.txt", "x\n")
    (entry,) = bench.changed()
    assert bench.revert(entry, None).status == "applied"
    assert list(bench.root.iterdir()) == []


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


@examples(15)
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


NOT_NOW = "it cannot be applied now: a.txt does not exist, so there is nothing to edit; use write_file to create it"


def test_refused_and_parked_edits_stay_readable(bench):
    bench.say("one")
    call = ToolCall("c", "edit_file", {"path": "a.txt", "old": "1", "new": "2"})
    bench.log.append(ev.ToolDone(call, "refused", "user rejected the change", "ugly", denied="person"))
    bench.log.append(ev.ToolDone(replace(call, id="d"), "refused", "user skipped", denied="skip"))
    bench.log.append(ev.ToolDone(replace(call, id="e"), "refused", "denied", denied="policy"))
    found = bench.changed()
    assert [(entry.words, entry.mark, entry.base, entry.now) for entry in found] == [
        (f"refused: ugly; {NOT_NOW}", "x", b"1\n", b"2\n"),
        (f"left out; {NOT_NOW}", "x", b"1\n", b"2\n"),
    ]
    bench.say("two")
    assert bench.changed("turn") == ()


@pytest.mark.parametrize("note", [NO_BASE, NOT_BEGUN])
def test_an_edit_whose_base_was_not_applied_or_that_was_stopped_stays_readable_and_can_be_applied(bench, note):
    (bench.root / "a.txt").write_text("1\n")
    bench.say("one")
    bench.workspace_reads("a.txt")
    call = ToolCall("c", "edit_file", {"path": "a.txt", "old": "1", "new": "2"})
    event = ev.ToolDone(call, "refused", "not applied", note)
    bench.log.append(event)
    assert review.other_after(event)
    (entry,) = bench.changed()
    assert (entry.words, entry.mark, entry.now) == (f"not applied: {note}", "x", b"2\n")
    assert asyncio.run(review.apply(bench, entry, None)).status == "applied"
    assert not [each for each in bench.changed() if each.proposed]


def refuse(bench, name, denied="skip", **arguments):
    call = ToolCall(f"{name}-{len(bench.events)}", name, arguments)
    bench.log.append(ev.ToolDone(call, "refused", "user skipped", denied=denied))


def shown(bench):
    return [entry for entry in bench.changed() if entry.proposed]


@pytest.mark.parametrize("denied", ["skip", "person"])
@pytest.mark.parametrize("hunks", [None, {1}, {2}, {1, 2}])
def test_a_parked_edit_is_applied_later_on_the_file_as_it_is_then(bench, denied, hunks):
    (bench.root / "a.txt").write_text(OLD)
    bench.say("one")
    edits = [{"old": "\n5\n", "new": "\nfive\n"}, {"old": "\n20\n", "new": "\ntwenty\n"}]
    refuse(bench, "multi_edit", denied, path="a.txt", edits=edits)
    (bench.root / "a.txt").write_text("mine\n" + OLD)  # the person works on
    (entry,) = shown(bench)
    assert entry.base == ("mine\n" + OLD).encode()
    assert asyncio.run(review.apply(bench, entry, hunks)).status == "applied"
    text = "mine\n" + OLD
    text = text.replace("\n5\n", "\nfive\n") if hunks != {2} else text
    text = text.replace("\n20\n", "\ntwenty\n") if hunks != {1} else text
    assert (bench.root / "a.txt").read_text() == text
    assert [entry.base for entry in shown(bench)] == ([] if hunks in (None, {1, 2}) else [text.encode()])
    assert not fold.undone(bench.events)
    told = [m.text for m in fold.history(bench.events)]
    assert any("The user applied" in said and "Read the file again" in said for said in told)
    done = [e for e in bench.events if isinstance(e, ev.ToolDone)][-1]
    assert (done.receipt.by, done.receipt.call_id) == ("key", done.call.id)
    bench.undo(1)
    assert (bench.root / "a.txt").read_text() == "mine\n" + OLD


def test_a_parked_edit_whose_place_is_not_there_exactly_once_is_only_shown(bench):
    (bench.root / "a.txt").write_text("x\nx\n")
    bench.say("one")
    refuse(bench, "edit_file", path="a.txt", old="x", new="y")
    refuse(bench, "edit_file", path="../a.txt", old="x", new="y")
    first, second = shown(bench)
    assert first.request is None
    assert second.request is None
    assert "cannot be applied now" in first.words
    assert asyncio.run(review.apply(bench, first, None)).status == "refused"
    assert (bench.root / "a.txt").read_text() == "x\nx\n"


def test_a_parked_whole_file_needs_the_bytes_that_the_model_read(bench):
    (bench.root / "a.txt").write_text("1\n")
    bench.say("one")
    asyncio.run(bench.workspace.call("read_file", {"path": "a.txt"}))
    refuse(bench, "write_file", path="a.txt", content="2\n")
    (entry,) = shown(bench)
    (bench.root / "a.txt").write_text("mine\n")
    assert shown(bench)[0].request is None
    assert asyncio.run(review.apply(bench, entry, None)).status != "applied"
    assert (bench.root / "a.txt").read_text() == "mine\n"


def partly(bench, chosen, new=NEW):
    """The model proposes a new text, and the person takes some hunks of it."""

    async def go():
        await bench.workspace.call("read_file", {"path": "a.txt"})
        call = ToolCall("part", "write_file", {"path": "a.txt", "content": new})
        request = await bench.workspace.prepare(call)
        outcome = await bench.workspace.commit(
            request, Decision(request.id, "yes", chosen=frozenset(chosen)), lambda _: None
        )
        bench.log.append(ev.ToolDone(call, outcome.status, outcome.text, receipt=outcome.receipt))

    (bench.root / "a.txt").write_text(OLD)
    bench.say("one")
    asyncio.run(go())


@pytest.mark.parametrize("mine", ["", "mine\n"])
def test_hunks_that_were_left_out_stay_until_each_is_applied(bench, mine):
    partly(bench, {2})
    (bench.root / "a.txt").write_text(mine + (bench.root / "a.txt").read_text())  # the person works on
    (entry,) = shown(bench)
    assert (entry.mark, entry.words, len(diff(entry.base, entry.now).hunks)) == ("x", "left out of what was applied", 2)
    assert asyncio.run(review.apply(bench, entry, frozenset({2}))).status == "applied"
    (entry,) = shown(bench)
    assert len(diff(entry.base, entry.now).hunks) == 1
    assert asyncio.run(review.apply(bench, entry, None)).status == "applied"
    assert (bench.root / "a.txt").read_text() == mine + NEW
    assert shown(bench) == []


def test_the_third_hunk_of_a_refused_edit_stays_when_two_are_applied(bench):
    (bench.root / "a.txt").write_text(OLD)
    bench.say("one")
    asyncio.run(bench.workspace.call("read_file", {"path": "a.txt"}))
    refuse(bench, "write_file", "person", path="a.txt", content=NEW)
    (entry,) = shown(bench)
    assert asyncio.run(review.apply(bench, entry, frozenset({1, 3}))).status == "applied"
    (entry,) = shown(bench)
    assert (entry.added, entry.removed) == (1, 1)
    assert asyncio.run(review.apply(bench, entry, None)).status == "applied"
    assert (bench.root / "a.txt").read_text() == NEW
    assert shown(bench) == []


def test_left_out_hunks_that_stand_there_by_now_are_not_offered(bench):
    partly(bench, {1, 3})
    (bench.root / "a.txt").write_text(NEW)
    assert shown(bench) == []


def test_a_change_that_was_taken_whole_leaves_nothing(bench):
    partly(bench, {1, 2, 3})
    assert shown(bench) == []


def test_a_parked_new_file_is_made(bench):
    bench.say("one")
    refuse(bench, "write_file", path="new/a.txt", content="2\n")
    (entry,) = shown(bench)
    assert asyncio.run(review.apply(bench, entry, None)).status == "applied"
    assert (bench.root / "new/a.txt").read_text() == "2\n"


# ------------------------------------------------------------------ against git


def git(root, *words):
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false")
    subprocess.run(["git", "-C", root, *who, *words], check=True, capture_output=True)


@pytest.fixture
def committed(bench):
    for name, text in {"a.txt": "1\n", "-x": "1\n", "d/ü*.txt": "1\n", "c.txt": "1\n"}.items():
        (bench.root / name).parent.mkdir(exist_ok=True)
        (bench.root / name).write_text(text)
    git(bench.root, "init", "-q")
    git(bench.root, "add", "-A")
    git(bench.root, "commit", "-qm", "x")
    bench.workspace.permissions = replace(bench.workspace.permissions, trusted=True)
    return bench


def test_against_head(committed):
    (committed.root / "a.txt").write_text("2\n")  # the person's own change before the session
    committed.say("one")
    committed.write("a.txt", "3\n")
    committed.write("-x", "3\n")
    committed.write("d/ü*.txt", "3\n")
    committed.write("new.txt", "x\n")
    committed.write("c.txt", None)
    found = {entry.path: (entry.base, entry.now, entry.mark) for entry in committed.changed("head")}
    assert found == {
        "a.txt": (b"1\n", b"3\n", "M"),
        "-x": (b"1\n", b"3\n", "M"),
        "d/ü*.txt": (b"1\n", b"3\n", "M"),
        "new.txt": (None, b"x\n", "A"),
        "c.txt": (b"1\n", None, "D"),
    }
    assert next(iter(committed.changed())).base == b"2\n"


def test_a_file_that_is_as_in_head_is_not_listed(committed):
    (committed.root / "a.txt").write_text("2\n")
    committed.say("one")
    committed.write("a.txt", "1\n")
    assert committed.changed("head") == ()
    assert [entry.path for entry in committed.changed()] == ["a.txt"]


def test_without_trust_or_without_a_commit_head_is_not_looked_at(committed, tmp_path):
    committed.workspace.permissions = replace(committed.workspace.permissions, trusted=False)
    committed.say("one")
    committed.write("a.txt", "3\n")
    (entry,) = committed.changed("head")
    assert not entry.known
    assert entry.mark == "?"
    assert entry.words == "git is not asked in a folder that is not trusted"
    (tmp_path / "other").mkdir()
    other = Bench(tmp_path / "other")
    other.workspace.permissions = replace(other.workspace.permissions, trusted=True)
    other.say("one")
    other.write("a.txt", "3\n")
    (entry,) = other.changed("head")
    assert not entry.known
    assert entry.words == "there is no commit here"


@pytest.mark.parametrize("first", ["edit", "mv"])
def test_a_file_that_is_edited_and_renamed_says_so(bench, first):
    (bench.root / "old.py").write_text("print(1)\n")
    bench.say("one")
    bench.call("read_file", path="old.py")
    if first == "edit":
        bench.write("old.py", "print(2)\n")
        bench.call("run_command", argv=["mv", "old.py", "mid.py"])
        bench.call("run_command", argv=["mv", "mid.py", "new.py"])
    else:
        bench.call("run_command", argv=["mv", "old.py", "new.py"])
        bench.call("read_file", path="new.py")
        bench.write("new.py", "print(2)\n")
    words = {entry.path: (entry.mark, entry.words) for entry in bench.changed()}
    assert words == {"old.py": ("D", "renamed to new.py"), "new.py": ("A", "renamed from old.py")}


def test_many_files_come_one_by_one(bench):
    bench.say("one")
    for n in range(9):
        bench.write(f"{n}.txt", "x\n")

    async def first():
        async with aclosing(review.changed(bench)) as entries:
            return await anext(entries)

    assert asyncio.run(first()).path == "0.txt"
    assert [entry.path for entry in bench.changed()] == [f"{n}.txt" for n in range(9)]


# ------------------------------------------------------------------ notes


def test_all_notes_are_one_message_with_places_and_quotes():
    notes = Notes()
    notes.put(Note("b.py", 2, "y = 2", "why two?"))
    notes.put(Note("a.py", 1, "old line", "keep it", gone=True))
    notes.put(Note("b.py", 2, "y = 2", "why not three?"))
    files = (Entry("a.py", b"old line\n", b""), Entry("b.py", None, b"x = 1\ny = 2\n"))
    assert notes.message(files) == (
        "Notes on your changes:\n\n"
        "a.py:1 (in the text before your change)\n> old line\nkeep it\n\n"
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


def test_a_very_long_line_is_quoted_in_part():
    notes = Notes([Note("a", 1, "x" * 5_000_000, "t")])
    message = notes.message((Entry("a", None, b"x" * 5_000_000),))
    assert message.endswith("… (5,000,000 characters)\nt")
    assert len(message) < 1_000
    assert "outdated" not in message


def test_a_turn_is_taken_back_to_where_it_began(bench):
    (bench.root / "a.txt").write_text(OLD)
    bench.say("one")
    bench.write("a.txt", NEW)
    bench.say("two")
    bench.write("a.txt", NEW.replace("\n9\n", "\nnine\n"))
    (entry,) = bench.changed("turn")
    assert bench.revert(entry, frozenset({1})).status == "applied"
    assert (bench.root / "a.txt").read_text() == NEW
    assert bench.changed("turn") == ()


# ------------------------------------------------------------------ permission bits and names


def test_a_command_that_renames_or_changes_permission_bits_is_shown_as_what_it_did(bench):
    (bench.root / "old.py").write_text("print(1)\n")
    for name in ("script.sh", "known.sh"):
        (bench.root / name).write_text(f"#!/bin/sh\necho {name}\n")
        (bench.root / name).chmod(0o644)
    bench.say("one")
    bench.call("read_file", path="known.sh")
    bench.call("read_file", path="old.py")
    bench.call("run_command", argv=["sh", "-c", "mv old.py new.py; chmod +x script.sh known.sh; cp new.py again.py"])
    words = {entry.path: (entry.mark, entry.words) for entry in bench.changed()}
    assert words["script.sh"] == words["known.sh"] == ("M", "mode 644 → 755")
    assert all(entry.known for entry in bench.changed())
    assert words["old.py"] == ("D", "renamed to new.py")
    assert words["new.py"] == ("A", "")
    (bench.root / "script.sh").chmod(0o644)
    assert "script.sh" not in {entry.path for entry in bench.changed()}
