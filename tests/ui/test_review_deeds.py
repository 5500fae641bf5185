"""Taking back and applying in the review pane: at the second press, and never anything else."""

from __future__ import annotations

import pytest

from tests.ui.pane import BASE, NEW, NEXT, PREVIOUS, PREVIOUS_FILE, pane
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import ApprovalRequest, Outcome, PolicyRequest, ToolCall, WriteBytes
from tui_agent.review import Entry
from tui_agent.ui.review import Review


async def test_a_hunk_is_taken_back_at_the_second_press():
    async with pane() as d:
        await d.key(NEXT, "u")
        assert d.reverted == []
        assert "u again takes back hunk 2" in d.text
        await d.key("u")
        assert d.reverted == [("src/a.py", frozenset({2}))]
        assert d.asked == ["session", "session"]


@pytest.mark.parametrize("other", ["down", "x", "escape", "U"])
async def test_any_other_key_takes_the_question_back(other):
    async with pane() as d:
        await d.key(NEXT, "u", other, "u")
        assert d.reverted == []
        assert isinstance(d.app.screen, Review)


async def test_marked_hunks_are_taken_back_together():
    async with pane() as d:
        await d.key(PREVIOUS, "space", NEXT, NEXT, "space")
        assert "2 marked" in d.text
        await d.key("u", "u")
        assert d.reverted == [("src/a.py", frozenset({1, 3}))]


async def test_the_whole_file():
    async with pane() as d:
        await d.key("U", "U")
        assert d.reverted == [("src/a.py", None)]


async def test_what_was_refused_cannot_be_taken_back():
    async with pane() as d:
        await d.key(PREVIOUS_FILE, "u", "u", NEXT, "space", "U", "U")
        assert d.reverted == []


async def test_nothing_is_taken_back_while_a_turn_runs():
    async with pane() as d:
        d.working = True
        await d.key("u", "u")
        assert d.reverted == []


async def test_b_goes_round_the_bases_and_only_what_the_session_did_is_taken_back():
    async with pane() as d:
        await d.key("b")
        assert d.asked[-1] == "turn"
        assert "since your last message" in d.text
        await d.key("u", "u")
        assert d.reverted == [("src/a.py", frozenset({1}))]
        await d.key("b")
        assert d.asked[-1] == "head"
        assert "against HEAD" in d.text
        assert "take back" not in d.text
        await d.key("u", "u")
        assert len(d.reverted) == 1
        await d.key("b")
        assert d.asked[-1] == "session"
        await d.key(NEXT, "u", "u")
        assert d.reverted[1:] == [("src/a.py", frozenset({2}))]


async def test_all_hunks_are_marked_and_unmarked():
    async with pane() as d:
        await d.key("a")
        assert "3 marked" in d.text
        await d.key("u", "u")
        assert d.reverted == [("src/a.py", frozenset({1, 2, 3}))]
        await d.key("a")  # the marks stay as long as the file is as it was
        assert "marked" not in d.text


ASKED = ApprovalRequest(
    "7", ToolCall("c", "edit_file", {}), WriteBytes("d.txt", BASE, NEW), PolicyRequest("edit_file", "write"), ""
)


PARKED = Entry("d.txt", BASE, NEW, proposed=True, words="left out", request=ASKED)


async def test_a_parked_change_is_applied_at_the_second_press():
    async with pane((PARKED,)) as d:
        assert "A apply" in d.text
        await d.key("A")
        assert "A again applies this change" in d.text
        assert d.applied == []
        await d.key("A")
        assert d.applied == [("d.txt", None)]
        assert d.asked == ["session", "session"]


async def test_some_of_its_hunks_are_applied():
    async with pane((PARKED,)) as d:
        await d.key(NEXT, "space")
        assert "1 left out" in d.text
        await d.key("A", "A")
        assert d.applied == [("d.txt", frozenset({1, 3}))]


@pytest.mark.parametrize("other", ["down", "u", "x", "escape"])
async def test_any_other_key_takes_that_question_back_too(other):
    async with pane((PARKED,)) as d:
        await d.key("A", other, "A")
        assert d.applied == []


async def test_what_does_not_fit_any_more_or_is_applied_already_is_not_applied():
    async with pane() as d:
        await d.key("A", "A", PREVIOUS_FILE, "A", "A")
        assert d.applied == []


async def test_nothing_taken_is_nothing_to_apply():
    async with pane((PARKED,)) as d:
        await d.key("a", "A", "A")
        assert d.applied == []


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome("error", "no space left"), "Nothing was changed: no space left"),
        (Outcome("refused", "Read it again.", note="changed meanwhile"), "Nothing was changed: changed meanwhile"),
        (Outcome("error", "not confirmed", Receipt("r", "c", "undo", {}, "src/a.py")), "not confirmed"),
    ],
)
async def test_a_failure_is_said_in_words_for_people(outcome, said):
    async with pane() as d:
        d.outcome = outcome
        await d.key("u", "u")
        assert d.text.splitlines()[-1].strip() == said


async def test_a_change_of_permission_bits_alone_is_said_and_not_taken_back():
    async with pane((Entry("run.sh", b"x\n", b"x\n", words="mode 644 → 755"),)) as d:
        assert "mode 644 → 755" in d.text
        assert "no difference" in d.text
        await d.key("u", "u")
        assert d.reverted == []
