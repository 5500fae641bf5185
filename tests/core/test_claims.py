"""Which claims of an answer are marked because no receipt shows them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core import events as ev
from tui_agent.core.claims import unbacked_claims
from tui_agent.core.receipt import FileChange, Receipt
from tui_agent.core.types import ToolCall


def wrote(path: str) -> ev.ToolDone:
    call = ToolCall("1", "write_file", {"path": path})
    return ev.ToolDone(call, "applied", "", receipt=Receipt("r", "1", "write_file", {}, path, None, "h"))


def ran(*argv: str, code: int | None = 0, touched: tuple[FileChange, ...] = ()) -> ev.ToolDone:
    receipt = Receipt("r", "1", "run_command", {"argv": list(argv)}, exit_code=code, changed=touched)
    return ev.ToolDone(ToolCall("1", "run_command", {"argv": list(argv)}), "applied", "", receipt=receipt)


def shell(script: str) -> ev.ToolDone:
    receipt = Receipt("r", "1", "run_shell", {"script": script}, exit_code=0)
    return ev.ToolDone(ToolCall("1", "run_shell", {"script": script}), "applied", "", receipt=receipt)


def checked(code: int) -> ev.CheckDone:
    return ev.CheckDone(("make", "check"), code, "", 0.1)


PASSES = [
    "All tests pass.",
    "The tests now pass.",
    "I ran it and the check passed.",
    "Tests are passing",
    "All 12 tests passed",
    "Tests: 12 passed, 0 failed",
    "12 passed in 0.31s",
    "3 of 3 passed",
    "pytest passes",
    "`pytest` passes",
    "I ran pytest and it succeeded.",
    "I executed `make check`; it was run as cargo test, all passed",
    "Everything passes now.",
    "Changed it, and everything is green.",
    "The check: passed",
    "The test suite runs without errors.",
    "I ran the tests, they all pass.",
    "I ran `pytest` and it passes.",
]


@pytest.mark.parametrize("text", PASSES)
@pytest.mark.parametrize(
    ("events", "backed"),
    [
        ([], False),
        ([wrote("a.py")], False),
        ([checked(0)], True),
        ([checked(1)], False),
        ([ran("pytest", "-q")], True),
        ([ran("pytest", code=1)], False),
        ([checked(0), ran("pytest", code=None)], False),
        ([ran("ls")], False),
        ([ran("ls", "tests")], False),
        ([ran("cat", "tests/test_a.py")], False),
        ([ran("git", "checkout", "tests")], False),
        ([ran("pip", "install", "pytest")], False),
        ([ran("python", "-m", "pip", "install", "pytest")], False),
        ([ran("uv", "add", "pytest")], False),
        ([ran("pytest", "-k", "add")], True),
        ([ran("pytest", "--version")], False),
        ([shell("cat tests/test_a.py && echo test")], False),
        ([shell("cd src && pytest -q | tail")], True),
        ([ran("npx", "jest")], True),
        ([ran("make")], False),
        ([checked(0), ev.Undone(1, (), ("a.py",))], False),
        ([checked(0), wrote("a.py")], False),
        ([wrote("a.py"), ran("make", "check")], True),
    ],
)
def test_passing_needs_a_check_after_the_last_edit(text: str, events: list[Any], backed: bool) -> None:
    assert bool(unbacked_claims(text, events)) is not backed


@pytest.mark.parametrize(
    ("events", "backed"),
    [
        ([ran("make")], True),
        ([ran("npm", "run", "build")], True),
        ([ran("make", code=2)], False),
        ([ran("make"), wrote("a.c")], False),
        ([ran("pytest")], True),
        ([], False),
    ],
)
def test_a_build_that_ran_shows_that_it_builds(events: list[Any], backed: bool) -> None:
    assert bool(unbacked_claims("The build succeeded.", events)) is not backed


@pytest.mark.parametrize(
    "text",
    [
        "The tests should pass now.",
        "I could not run the tests, so I do not know whether the tests pass.",
        "Run it; if the tests pass, commit.",
        "Please make sure the tests pass.",
        "I have not changed a.py.",
        "You could have updated a.py.",
        "To fix it, a.py has to be changed.",
        "The test in a.py passes a wrong argument.",
        "The test passes a wrong argument.",
        "Everything passes through parse().",
        "If a.py was changed, tell me.",
        "a.py was created by the build.",
        "a.py was not updated.",
        "I fixed nothing in a.py.",
        "I have not fixed the bug in a.py.",
        "I fixed the failing test in tests/test_a.py.",
        "I replaced the call to a.py.",
        "The function that was added to a.py is slow.",
        "I could not make pytest pass; if everything passes, commit.",
        "```\nchanged a.py\n```",
        "Nothing.",
        "",
        "`utils.py` was added in the last commit.",
        "Created app.py? No, it was there.",
        "A function that wrote data.csv is export().",
        "It looks like app.py was modified recently.",
        "Your log says: 5 passed in 0.3s",
        "10 passed, 2 failed in the text that you pasted.",
        "The git log says 'Added parser.py'",
        "The test suite passes arguments on to its runner.",
        "The file app.py was created in 2019.",
        "`deploy.sh` checks that all tests passed before it deploys.",
        "3 of 5 tests passed.",
        "The commit abc changed app.py.",
        "commit 1f2e3d: updated app.py and util.py",
        "CHANGELOG.md says: Fixed parser.py",
        "I have not tested it.",
        "If mypy passes, commit it.",
    ],
)
def test_no_claim_is_seen_where_none_is_made(text: str) -> None:
    assert unbacked_claims(text, []) == []


@pytest.mark.parametrize(
    "text",
    [
        "I updated `src/a.py`.",
        "Changed the file src/a.py.",
        "Fixed a.py",
        "created **src/a.py** with it",
        "I've fixed the bug in a.py.",
        "I have added the function `total` to `src/a.py`.",
        "- Added a guard to src/a.py",
        "Renamed `old` to `new` in a.py.",
        "I updated a.py to use the names in b.py.",
        "a.py was updated.",
        "The bug in a.py has been fixed.",
        "`src/a.py` is now updated",
        "The files a.py and src/a.py were successfully changed.",
    ],
)
def test_a_change_needs_its_receipt(text: str) -> None:
    assert len(unbacked_claims(text, [wrote("other.py")])) == 1
    assert unbacked_claims(text, [wrote("src/a.py")]) == []
    assert unbacked_claims(text, [ran("sed", touched=(FileChange("src/a.py", "x", "y"),))]) == []


def test_every_file_of_a_list_is_looked_up() -> None:
    (claim,) = unbacked_claims("I updated a.py, b.py and `c.py`.", [wrote("b.py")])
    assert claim.endswith("nothing changed a.py, c.py")
    (claim,) = unbacked_claims("a.py, b.py and c.py were updated.", [wrote("a.py"), wrote("c.py")])
    assert claim.endswith("nothing changed b.py")
    (claim,) = unbacked_claims("b.py was updated.", [wrote("a.py")])
    assert claim.endswith("nothing changed that file")


@pytest.mark.parametrize(
    "text", ["You asked, and I wrote data.csv", "The log says 5 passed", "See that I have changed a.py."]
)
def test_what_the_answer_itself_says_was_done_is_a_claim(text: str) -> None:
    assert len(unbacked_claims(text, [])) == 1


@pytest.mark.parametrize(
    ("text", "events", "backed"),
    [
        ("I have tested it and it works.", [], False),
        ("I verified the fix.", [wrote("a.py")], False),
        ("I have tested it and it works.", [ran("python", "a.py")], True),
        ("I tested the change.", [checked(0)], True),
        ("mypy passes.", [wrote("a.py")], False),
        ("`ruff` reports no errors", [ran("ruff", "check", code=1)], False),
        ("`ruff` reports no errors", [ran("ruff", "check")], True),
        ("mypy is clean", [checked(0)], True),
        ("I ran pytest: all green", [], False),
        ("I ran pytest: all green", [ran("pytest")], True),
    ],
)
def test_what_was_tried_or_looked_through_needs_its_receipt(text: str, events: list[Any], backed: bool) -> None:
    assert bool(unbacked_claims(text, events)) is not backed


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("I deleted a.py.", True),
        ("Deleted `a.py`", True),
        ("The file a.py has been removed.", True),
        ("I removed a.py's unused import.", False),
        ("I removed a.py from the list.", False),
        ("I have not deleted a.py.", False),
        ("I changed a.py.", False),
    ],
)
def test_what_was_only_changed_is_not_deleted(text: str, seen: bool) -> None:
    assert bool(unbacked_claims(text, [wrote("a.py")])) is seen
    gone = ran("rm", "a.py", touched=(FileChange("a.py", "h", None),))
    assert unbacked_claims(text, [wrote("a.py"), gone]) == []
    assert bool(unbacked_claims(text, [gone, wrote("a.py")])) is seen, "it is there again"


@given(st.text())
def test_any_answer_has_its_claims(text: str) -> None:
    assert all(isinstance(claim, str) for claim in unbacked_claims(text, []))


GIT = [
    "I committed and pushed the changes.",
    "Edited it, committed and pushed.",
    "Committed and pushed.",
    "The changes have been committed and pushed.",
]


@pytest.mark.parametrize("text", GIT)
@pytest.mark.parametrize(
    ("events", "unbacked"),
    [
        ([], ["committed", "pushed"]),
        ([ran("git", "commit", "-m", "x")], ["pushed"]),
        ([ran("git", "commit", "-m", "x"), ran("git", "push")], []),
        ([ran("git", "commit", "-m", "x"), ran("git", "push", code=1)], ["pushed"]),
        ([shell("git add . && git commit -m x && git push")], []),
        ([ran("git", "log", "--grep", "committed")], ["committed", "pushed"]),
    ],
)
def test_what_git_is_said_to_have_done_needs_its_receipt(text: str, events: list[Any], unbacked: list[str]) -> None:
    claims = unbacked_claims(text, events)
    assert [claim.split('"')[1] for claim in claims] == unbacked


@pytest.mark.parametrize(
    "text",
    [
        "The values are pushed onto the stack.",
        "I have not committed anything.",
        "I committed to nothing yet.",
        "You can commit and push it now.",
        "It was pushed by Bob in 2019.",
    ],
)
def test_words_that_only_sound_like_git_are_no_claim(text: str) -> None:
    assert unbacked_claims(text, []) == []


@pytest.mark.parametrize("text", ["Renamed a.py to b.py.", "I renamed `a.py` to `b.py`", "a.py was renamed to b.py"])
def test_a_renamed_file_needs_its_receipt(text: str) -> None:
    assert len(unbacked_claims(text, [])) == 1
    moved = (FileChange("a.py", "h", None), FileChange("b.py", None, "h"))
    assert unbacked_claims(text, [ran("mv", "a.py", "b.py", touched=moved)]) == []


@pytest.mark.parametrize(
    ("text", "events", "marked"),
    [
        ("It worked.", [], False),
        ("It worked.", [ran("make", "deploy")], False),
        ("It worked.", [ran("make", "deploy", code=None)], True),
        ("The command succeeded.", [ran("make", "deploy", code=2)], True),
        ("The command has not succeeded.", [ran("make", "deploy", code=2)], False),
        ("I ran `make deploy` and it worked.", [], True),
        ("I ran `make deploy` and it worked.", [ran("make", "deploy")], False),
        ("I ran `make deploy` and it worked.", [ran("make", "deploy", code=None)], True),
        ("I ran `make  deploy` and it worked.", [shell("cd x; make deploy"), ran("ls", code=1)], False),
    ],
)
def test_that_a_command_worked_needs_its_receipt(text: str, events: list[Any], marked: bool) -> None:
    assert bool(unbacked_claims(text, events)) is marked
