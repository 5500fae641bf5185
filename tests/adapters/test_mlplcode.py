"""mlplcode's scenarios: the model is a list of replies, picked by the number of ACTION entries in the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adapters.mlplcode import State, authorize, parse_text, run_loop, verify_tests

ALLOW = {"read": "allow", "search": "allow", "write": "allow", "run": "allow", "git": "ask", "shell": "deny"}
DONE, TEST = "DONE finished", "RUN cargo test"


def write(path: str = "new.txt", body: str = "body") -> str:
    return f"WRITE {path}\n{body}\nEND"


def play(tmp_path: Path, *replies: str, budget: int = 9, decide: bool = True, table: Any = None, **kw: Any) -> State:
    (tmp_path / "a.txt").write_text("one\ntwo\ntwo\n")

    def ask(prompt: str) -> str:
        assert prompt.startswith("TASK:\ndo it\n\nWORK SO FAR:\n")
        assert prompt.endswith("\n\nChoose the next action.")
        return replies[prompt.count("\n\nACTION:\n")]

    return run_loop("do it", budget, ask, {**ALLOW, **(table or {})}, lambda _: decide, tmp_path, **kw)


def anything(edited: bool, last_run: str | None) -> str:
    return ""


def test_read_write_done(tmp_path: Path) -> None:
    state = play(tmp_path, "READ a.txt", write("a.txt"), DONE, verify=anything)
    assert (state.reason, state.iteration, state.answer, state.files) == ("done", 3, "finished", "a.txt")
    assert (tmp_path / "a.txt").read_text() == "body\n"
    assert state.history.startswith("\n\nACTION:\nREAD a.txt\n\nOBSERVATION:\n")
    assert "\none\ntwo\ntwo\n\nACTION:\nWRITE a.txt\nbody\nEND\n\nOBSERVATION:\napplied" in state.history


@pytest.mark.parametrize("row", ["deny", "ask"])
def test_a_refused_write_ends_the_run(tmp_path: Path, row: str) -> None:
    state = play(tmp_path, "READ a.txt", write("a.txt"), decide=False, table={"write": row})
    assert (state.reason, state.iteration) == ("denied", 2)
    assert state.answer.startswith("denied: WRITE a.txt")
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\ntwo\n"


def test_ask_and_yes_goes_on(tmp_path: Path) -> None:
    assert play(tmp_path, write(), DONE, table={"write": "ask"}, verify=anything).reason == "done"


def test_the_budget_is_spent_exactly(tmp_path: Path) -> None:
    state = play(tmp_path, "READ a.txt", "SEARCH one", "SEARCH two", "SEARCH three", budget=3)
    assert (state.reason, state.iteration) == ("budget", 3)
    assert state.history.count("ACTION:\n") == state.history.count("OBSERVATION:\n") == 3


def test_prose_is_an_observation_and_done_works_afterwards(tmp_path: Path) -> None:
    state = play(tmp_path, "I will look first.", DONE, verify=anything)
    assert "OBSERVATION:\nPARSE ERROR: unknown verb: " in state.history
    assert state.reason == "done"


def test_an_unreadable_file_is_an_error_observation(tmp_path: Path) -> None:
    assert "OBSERVATION:\nERROR: " in play(tmp_path, "READ none.txt", DONE, verify=anything).history


def test_a_command_that_is_shell_is_denied(tmp_path: Path) -> None:
    state = play(tmp_path, "RUN rm -rf x")
    assert (state.reason, state.answer) == ("denied", "denied: RUN rm -rf x")


def test_an_open_shell_row_still_runs_nothing(tmp_path: Path) -> None:
    ran: list[Any] = []
    state = play(tmp_path, "RUN rm -rf x", DONE, table={"shell": "allow"}, run_tests=ran.append, verify=anything)
    assert ran == []
    assert "ERROR: nothing beneath can run this" in state.history


def test_done_before_any_edit_is_not_verified(tmp_path: Path) -> None:
    state = play(tmp_path, DONE, write(), TEST, DONE)
    assert "NOT VERIFIED: no file has been written yet" in state.history
    assert (state.reason, state.iteration) == ("done", 4)


def test_done_after_an_edit_behind_the_run_is_not_verified(tmp_path: Path) -> None:
    state = play(tmp_path, write(), TEST, write("b.txt"), DONE, TEST, DONE)
    assert state.history.count("NOT VERIFIED: run the tests again") == 1
    assert (state.reason, state.iteration) == ("done", 6)


@pytest.mark.parametrize("output", ["status: ok\nfailed: one", "status: ok\n1 FAILED", "status: 1", "status: failed"])
def test_a_run_that_names_a_failure_is_not_verified(tmp_path: Path, output: str) -> None:
    state = play(tmp_path, write(), TEST, DONE, budget=3, run_tests=lambda _: output)
    assert state.reason == "budget"
    assert "NOT VERIFIED: the last test run failed" in state.history


@pytest.mark.parametrize("output", ["status: ok\npassed: one", "status: 0"])
def test_an_edit_and_then_a_passing_run_is_done(tmp_path: Path, output: str) -> None:
    assert play(tmp_path, write(), TEST, DONE, run_tests=lambda _: output).reason == "done"


@pytest.mark.parametrize("change", [write("a.txt"), "PATCH a.txt\nOLD\none\nNEW\n1\nEND"])
def test_a_file_is_read_before_it_is_written(tmp_path: Path, change: str) -> None:
    state = play(tmp_path, change, DONE, verify=anything)
    assert "read a.txt before writing it" in state.history
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\ntwo\n"


def test_a_new_file_needs_no_reading(tmp_path: Path) -> None:
    play(tmp_path, write(), DONE, verify=anything)
    assert (tmp_path / "new.txt").read_text() == "body\n"


def test_the_same_reply_is_flagged_and_then_ends_the_run(tmp_path: Path) -> None:
    state = play(tmp_path, *["SEARCH one"] * 5)
    assert (state.reason, state.iteration) == ("stuck", 3)
    assert "REPEATED ACTION" in state.history


@pytest.mark.parametrize("reply", ["I would look around.", "WRITE a.txt\nno end", ""])
def test_so_is_one_that_is_no_action(tmp_path: Path, reply: str) -> None:
    state = play(tmp_path, *[reply] * 5)
    assert (state.reason, state.iteration) == ("stuck", 3)
    assert state.history.count("PARSE ERROR: ") == 1
    assert state.history.count("REPEATED ACTION") == 2
    assert state.history.count(f"ACTION:\n{reply}\n") == 3


def test_alternating_replies_are_never_flagged(tmp_path: Path) -> None:
    state = play(tmp_path, *["SEARCH one", "SEARCH two"] * 4, budget=8)
    assert state.reason == "budget"
    assert "REPEATED" not in state.history


@pytest.mark.parametrize(("old", "count"), [("two", 2), ("three", 0)])
def test_a_patch_matches_exactly_once(tmp_path: Path, old: str, count: int) -> None:
    state = play(tmp_path, "READ a.txt", f"PATCH a.txt\nOLD\n{old}\nNEW\nx\nEND", DONE, verify=anything)
    assert f"PATCH ERROR: the OLD block occurs {count} time(s)" in state.history
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\ntwo\n"


@pytest.mark.parametrize(
    ("reply", "row"),
    [
        ("READ a", "read"),
        ("SEARCH a", "search"),
        (write(), "write"),
        ("PATCH a\nOLD\nx\nNEW\ny\nEND", "write"),
        ("RUN mlpl t", "run"),
        ("RUN cargo test", "run"),
        ("RUN git status", "git"),
        ("RUN ls", "shell"),
    ],
)
@pytest.mark.parametrize("answer", ["allow", "ask", "deny"])
def test_the_table_row_by_row(reply: str, row: str, answer: str) -> None:
    table = dict.fromkeys(ALLOW, "other") | {row: answer}
    assert authorize(parse_text(reply)["action"], table) == answer


def test_done_is_always_allowed_and_an_empty_command_is_shell() -> None:
    assert authorize({"tool": "done"}, {}) == "allow"
    assert authorize({"tool": "run", "argv": []}, {"shell": "deny"}) == "deny"


def test_verified_needs_both() -> None:
    assert verify_tests(edited=True, last_run="status: ok") == ""
    assert "no file" in verify_tests(edited=False, last_run="status: ok")
