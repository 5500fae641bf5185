"""What a question comes to: any order of answers, decisions in the order of the requests, no edit without its base."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core.types import NO_BASE, ApprovalRequest, Decision, PolicyRequest, RunArgv, ToolCall, WriteBytes
from tui_agent.ui.batch import Batch


def request(name, *depends_on, effect=None):
    effect = effect or WriteBytes("a", b"1\n", b"2\n")
    return ApprovalRequest(
        name, ToolCall(name, "edit_file", {}), effect, PolicyRequest("edit_file", "write"), "", "", depends_on
    )


def batch(*requests):
    return Batch(requests)


def test_answers_in_any_order_come_out_in_the_order_of_the_requests():
    asked = batch(request("1"), request("2"), request("3"))
    asked.move(-1)
    assert asked.request.id == "3"
    asked.decide("no", "because")
    assert asked.request.id == "1"
    asked.move(1)
    asked.decide("yes")
    asked.decide("skip")
    assert asked.done
    assert asked.decisions == (Decision("1", "skip"), Decision("2", "yes"), Decision("3", "no", "because"))


def test_there_is_no_other_request_to_go_to():
    assert not batch(request("1")).move(1)


@pytest.mark.parametrize("how", ["no", "skip", "part", "edited"])
def test_what_was_built_on_an_edit_that_is_not_applied_as_it_was_is_skipped_even_after_its_yes(how):
    asked = batch(request("1"), request("2", "1"), request("3", "2"), request("4"))
    asked.move(1)
    asked.decide("yes")
    asked.move(-1)
    assert asked.request.id in {"1", "4"}
    while asked.request.id != "1":
        asked.move(1)
    if how == "edited":
        asked.instead(WriteBytes("a", b"1\n", b"3\n"))
    asked.decide(how if how in {"no", "skip"} else "yes", chosen={1} if how == "part" else None)
    assert asked.decisions[1:] == tuple(Decision(name, "skip", NO_BASE, by="rule") for name in "23")
    assert asked.request.id == "4"


def test_a_no_of_the_person_stays_theirs():
    asked = batch(request("1"), request("2", "1"))
    asked.move(1)
    asked.decide("no", "ugly")
    asked.decide("no")
    assert asked.decisions[1] == Decision("2", "no", "ugly")


def test_an_edited_text_is_a_new_request_each_time():
    asked = batch(request("1"))
    asked.instead(WriteBytes("a", b"1\n", b"3\n"))
    first = asked.request
    asked.instead(WriteBytes("a", b"1\n", b"4\n"))
    second = asked.request
    assert len({"1", first.id, second.id}) == 3
    assert second.effect == WriteBytes("a", b"1\n", b"4\n")
    assert second.call == asked.requests[0].call
    assert "+1 -1" in second.summary
    asked.decide("yes")
    assert asked.decisions == (Decision("1", "yes", instead=second),)


def test_a_no_to_an_edited_text_is_a_no():
    asked = batch(request("1"))
    asked.instead(WriteBytes("a", b"1\n", b"3\n"))
    asked.decide("no")
    assert asked.decisions == (Decision("1", "no"),)


def test_a_command_cannot_be_edited():
    with pytest.raises(TypeError):
        batch(request("1", effect=RunArgv(("ls",), 1.0))).instead(WriteBytes("a", b"", b"x"))


def test_stop_leaves_what_was_answered():
    asked = batch(request("1"), request("2"), request("3"))
    asked.move(1)
    asked.decide("yes")
    asked.stop("key")
    assert [d.answer for d in asked.decisions] == ["stop", "yes", "stop"]


@given(st.lists(st.tuples(st.integers(-3, 3), st.sampled_from(["yes", "no", "skip"]), st.booleans()), max_size=12))
def test_no_yes_ever_stands_on_a_base_that_is_not_there(steps):
    asked = batch(request("1"), request("2", "1"), request("3"), request("4", "2"), request("5", "4", "3"))
    for moves, answer, part in steps:
        for _ in range(abs(moves)):
            asked.move(1 if moves > 0 else -1)
        if not asked.done:
            asked.decide(answer, chosen={1} if part else None)
    asked.stop("key")
    given_ = {d.request_id: d for d in asked.decisions}
    assert [d.request_id for d in asked.decisions] == list("12345")
    for one in asked.requests:
        if given_[one.id].answer == "yes":
            assert all(
                given_[base].answer in {"yes", "stop"} and given_[base].chosen is None for base in one.depends_on
            )


def test_what_a_rule_allows_is_answered_by_it_and_falls_with_its_base():
    asked = batch(request("1"), request("2"), request("3", "1"), request("4"))
    asked.move(1)
    asked.decide("yes", allowed={"3": "a rule", "4": "a rule"})
    assert asked.request.id == "1"
    asked.decide("no")
    assert asked.decisions == (
        Decision("1", "no"),
        Decision("2", "yes"),
        Decision("3", "skip", NO_BASE, by="rule"),
        Decision("4", "yes", by="a rule"),
    )
