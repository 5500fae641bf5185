"""Hunks and notes of the person: the file is the base plus exactly the chosen hunks, and the model knows what happened."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core.diff import diff
from tui_agent.core.types import ApprovalRequest, Decision, ToolCall, WriteBytes
from tui_agent.workspace import Workspace

PLACES = (1, 12, 23, 34, 45, 56)
BASE = b"".join(b"line %d\n" % n for n in range(60))
CHANGES = {
    1: (b"line 1\n", b"one\n"),
    12: (b"line 12\n", b""),
    23: (b"line 23\n", b"line 23\nnew\nnewer\n"),
    34: (b"line 34\r\n", b"line 34\n"),
    45: (b"line 45\n", b"\tline 45\n"),
    56: (b"line 56\nline 57\n", b"\xc3\xa9\n"),
}
CRLF = BASE.replace(b"line 34\n", b"line 34\r\n")


def with_changes(numbers) -> bytes:
    text = CRLF
    for number in numbers:
        text = text.replace(*CHANGES[PLACES[number - 1]])
    return text


async def applied(root: Path, chosen: frozenset[int]):
    (root / "a.txt").write_bytes(CRLF)
    workspace = Workspace(root)
    await workspace.call("read_file", {"path": "a.txt"})
    call = ToolCall("c", "write_file", {"path": "a.txt", "content": "unused"})
    prepared = await workspace.prepare(call)
    assert isinstance(prepared, ApprovalRequest)
    request = replace(prepared, effect=WriteBytes("a.txt", CRLF, with_changes(range(1, 7))))
    assert len(diff(CRLF, request.effect.new).hunks) == 6
    outcome = await workspace.commit(
        request, Decision(request.id, "yes", "keep it small", chosen=chosen), lambda _: None
    )
    return (root / "a.txt").read_bytes(), outcome


@given(st.sets(st.integers(1, 6)))
def test_the_file_is_the_base_plus_the_chosen_hunks(chosen: set[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found, outcome = asyncio.run(applied(Path(folder), frozenset(chosen)))
    assert found == with_changes(chosen)
    assert outcome.status == ("applied" if chosen else "refused")
    left_out = set(range(1, 7)) - chosen
    if chosen:
        assert all((f"hunk {n} at line" in outcome.text) == (n in left_out) for n in range(1, 7))
    assert outcome.text.endswith("note from the user: keep it small")
    assert "keep it small" in outcome.note


def test_a_note_goes_with_the_result_of_a_command_too(desk) -> None:
    (outcome,) = desk.batch(
        ("run_command", {"argv": ["true"]}), decide=lambda r: Decision(r.id, "yes", "only this once")
    )
    assert outcome.text.endswith("\nnote from the user: only this once")


def edited(request: ApprovalRequest, new: bytes, **more) -> Decision:
    effect = replace(request.effect, new=new)
    return Decision(request.id, "yes", instead=replace(request, id=f"{request.id}.edited1", effect=effect), **more)


def test_what_the_person_made_of_it_is_written_and_the_model_sees_it(desk) -> None:
    desk.put("a.txt", "1\n2\n3\n")
    desk.call("read_file", path="a.txt")
    outcomes = desk.batch(
        ("edit_file", {"path": "a.txt", "old": "2", "new": "two"}),
        ("edit_file", {"path": "a.txt", "old": "two", "new": "2"}),
        decide=lambda r: edited(r, b"1\nTWO\n3\n") if r.effect.base == b"1\n2\n3\n" else Decision(r.id, "yes"),
    )
    assert desk.tree()["a.txt"] == b"1\nTWO\n3\n"
    assert "the user edited your text before it was applied. The change is now:\n--- a/a.txt" in outcomes[0].text
    assert "+TWO" in outcomes[0].text
    assert outcomes[0].receipt is not None
    assert outcomes[1].status == "refused"  # it was built on the model's text


@pytest.mark.parametrize(
    ("new", "chosen", "word"),
    [(b"x\n" * 30_000, None, "too long to be told"), (b"one\n2\nthree\n", frozenset({1}), "in part")],
)
def test_an_edited_text_that_cannot_be_told_is_to_be_read(desk, new, chosen, word) -> None:
    desk.put("a.txt", "1\n2\n3\n")
    desk.call("read_file", path="a.txt")
    call = ("edit_file", {"path": "a.txt", "old": "2", "new": "two"})
    (outcome,) = desk.batch(call, decide=lambda r: edited(r, new, chosen=chosen))
    assert outcome.status == "applied"
    assert word in outcome.text
    assert "read the file again" in outcome.text
