from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core import events as ev
from tui_agent.core.claims import unbacked_claims
from tui_agent.core.evidence import Changed, doubts, files_in, says_what_is_checked, task_evidence
from tui_agent.core.receipt import FileChange, Receipt
from tui_agent.core.types import ToolCall


def changed(**files: tuple[str | None, str | None]) -> dict[str, Changed]:
    def data(text: str | None) -> bytes | None:
        return None if text is None else text.encode()

    return {name.replace("__", "/").replace("_py", ".py"): Changed(data(a), data(b)) for name, (a, b) in files.items()}


UTIL = changed(src__util_py=("def old_name(): ...", "def new_name(): ..."))


@pytest.mark.parametrize(
    "task",
    [
        "Make the tests pass.",
        "two tests fail, find out why",
        "Fix the bug, e.g. with a guard. See https://example.com/a.html for details.",
        "make tests/test_util.py pass",
        "Please fix test_slugs.py.",
        "Add a test against the API and a method on top",
        "write a class based view for Node.js",
        "rename the variable to something better",
        "Add a function instead.",
        "Make it work like other.py does, see also lib/third.py",
        'It says: File "/home/x/app.py", line 3, in main: KeyError. Repair that.',
        "It raises ValueError, and should not",
        "Why does app.py call `other_name` twice? Repair that",
        "",
    ],
)
def test_a_task_that_names_nothing_to_change_needs_no_evidence(task: str) -> None:
    assert task_evidence(task, UTIL) == ""


@pytest.mark.parametrize(
    ("task", "shown"),
    [
        ("Repair util.py", True),
        ("Repair src/util.py.", True),
        ("Repair `./src/util.py`, please", True),
        ("Repair util.py.Then run the tests", True),
        ("Repair other.py.Then run the tests", False),
        ("Repair other.py", False),
        ("Repair other.py or util.py", True),
        ("rename old_name to new_name", True),
        ("Rename the function `old_name` to `new_name`.", True),
        ("Rename old_name to better_name", False),
        ("rename old_name() to new_name() everywhere", True),
        ("Why is `old_name` so slow? Make it faster", True),
        ("Make `other_name` faster", False),
        ("Can you repair app.py?", False),
        ("What I want: repair app.py. Can you?", False),
        ("Add a function new_name to util.py", True),
        ("Add a function `total` to util.py", False),
        ("add a function that doubles a number to util.py", True),
        ("Create a class Basket in util.py", False),
        ("Create a class called Basket", False),
        ("Add a function sum_up", False),
        ("Add a function old_name", False),
        ("Implement the function new_name in util.py", True),
        ("use new_name instead of os.path", True),
        ("use def.nothing instead of os.path", False),
        ("rename old_name to new_name, and keep the alias old_name", True),
        ("Write a function `total`", False),
        ("Rename it to new_name", True),
        ("Rename the variable to better_name", False),
    ],
)
def test_what_the_task_names_must_have_changed(task: str, shown: bool) -> None:
    assert (task_evidence(task, UTIL) == "") is shown, task_evidence(task, UTIL)


@pytest.mark.parametrize(
    ("task", "later", "shown"),
    [
        ("Repair other.py", "look at util.py, too", True),
        ("Repair other.py", "no, it is util.py", True),
        ("Repair other.py", "be quick", False),
        ("Repair other.py", "no, it is third.py", False),
        ("Repair util.py", "and rename old_name to better_name", False),
        ("Repair util.py", "and rename old_name to new_name", True),
        ("Repair util.py", "add a function `total`, too", False),
        ("Add a function `total`", "call it new_name instead", True),
        ("Add a function `total`", "please do not do that", True),
        ("Add a function `total`", "and don't forget the docs", False),
        ("Add a function `total`", "do not stop", False),
    ],
)
def test_what_is_said_later_adds_to_the_task_or_takes_its_place(task: str, later: str, shown: bool) -> None:
    assert (task_evidence(task, UTIL, later) == "") is shown, task_evidence(task, UTIL, later)


def test_a_rename_leaves_no_old_name_behind() -> None:
    half = changed(a_py=("old_name", "new_name old_name"))
    assert "still in a.py" in task_evidence("rename old_name to new_name", half)


def test_a_renamed_file_is_gone_and_there() -> None:
    moved = changed(a_py=("x", None), b_py=(None, "x"))
    assert task_evidence("rename a.py to b.py", moved) == ""
    assert "not renamed" in task_evidence("rename a.py to b.py", changed(b_py=(None, "x")))


def test_a_name_with_a_dot_may_be_of_a_file_or_of_code() -> None:
    moved = changed(a_py=("import os.path", "import pathlib"))
    assert task_evidence("use pathlib instead of os.path", moved) == ""
    assert "os.walk" in task_evidence("use something instead of os.walk", moved)
    assert "os.py" in task_evidence("Repair os.py", changed(a_py=("os.py", "x")))


def test_what_is_to_be_implemented_may_have_been_a_stub() -> None:
    stub = changed(dates_py=("def parse_date(): raise NotImplementedError", "def parse_date(): return 1"))
    for verb in ("Implement", "write", "Define"):
        assert task_evidence(f"{verb} the function `parse_date`", stub) == ""
    assert "parse_date" in task_evidence("Add a function `parse_date`", stub)
    assert "parse_date" in task_evidence("Implement the function `parse_date`", changed(a_py=("x", "y")))


def test_a_name_is_a_whole_word() -> None:
    assert "total" in task_evidence("add a function `total`", changed(a_py=("", "def totals(): ...")))


def test_files_are_told_from_versions_and_abbreviations() -> None:
    assert files_in("In v1.2 of src/a.py, i.e. b/c-d.test.ts, 3.14 and 1.2.3; not www.example.com") == [
        "src/a.py",
        "b/c-d.test.ts",
    ]


TEST_ONLY = changed(tests__test_util_py=("", "# old_name new_name total"))


@pytest.mark.parametrize(
    ("task", "shown"),
    [
        ("fix the bug in `old_name` of util.py", False),
        ("fix the bug in old_name() of util.py", False),
        ("add a function `total` to util.py", False),
        ("rename old_name to new_name in util.py", False),
        ("fix `old_name`, see tests/test_util.py", True),
        ("add a test `total` to tests/test_util.py", True),
        ("Add tests for util.py", True),
        ("util.py has no tests, write some", True),
        ("write a few unit tests for other_name() in util.py and make them pass", True),
        ("Fix util.py and add tests", False),
        ("make the tests of util.py pass", False),
    ],
)
def test_a_test_file_is_no_evidence_where_another_file_is_named(task: str, shown: bool) -> None:
    assert (task_evidence(task, TEST_ONLY) == "") is shown, task_evidence(task, TEST_ONLY)
    assert task_evidence(task, {**TEST_ONLY, **UTIL}) != "" or shown or "total" not in task


def test_where_nothing_changed_nothing_is_shown_whatever_was_asked() -> None:
    assert "as it was before" in task_evidence("", {})


@pytest.mark.parametrize(
    ("argv", "path", "says"),
    [
        (("make", "check"), "Makefile", True),
        (("/usr/bin/make",), "sub/GNUmakefile", True),
        (("npm", "test"), "package.json", True),
        (("uv", "run", "pytest"), "conftest.py", True),
        (("python", "-m", "pytest"), "pyproject.toml", True),
        (("./check.sh",), "check.sh", True),
        (("python", "tools/check.py"), "tools/check.py", True),
        (("make", "check"), "a.py", False),
        (("pytest",), "tests/test_a.py", False),
        (("make",), "package.json", False),
    ],
)
def test_which_files_say_what_a_check_does(argv: tuple[str, ...], path: str, says: bool) -> None:
    assert says_what_is_checked(argv, ["other.py", path]) == ([path] if says else [])


@given(st.text(), st.dictionaries(st.text(max_size=8), st.binary(max_size=20), max_size=3))
def test_any_task_has_an_answer(task: str, files: dict[str, bytes]) -> None:
    words = task_evidence(task, {path: Changed(None, data) for path, data in files.items()})
    assert isinstance(words, str)


# ------------------------------------------------------------------ what a person should look at

CHECK = ("make", "check")


@pytest.mark.parametrize(
    ("task", "before", "after", "doubt"),
    [
        ("Repair the bug in parse.py", "x = 1\n", None, "parse.py, which the task names, was deleted"),
        ("Get rid of parse.py", "x = 1\n", None, ""),
        ("Move parse.py to lib", "x = 1\n", None, ""),
        ("Repair parse.py", "x = 1\n", "x  = 1\n\n", "of parse.py, which the task names, only blanks were changed"),
        ("Repair parse.py", "x = 1\n", "x = 2\n", ""),
        ("Repair parse.py", None, "x = 2\n", ""),
        ("Repair it", "x = 1\n", None, ""),
    ],
)
def test_a_named_file_that_is_gone_or_as_good_as_untouched_is_told(
    task: str, before: str | None, after: str | None, doubt: str
) -> None:
    files = changed(parse_py=(before, after))
    assert task_evidence(task, files) == "", "it is changed, as far as receipts go"
    assert doubts(task, CHECK, files, files, ()) == ([doubt] if doubt else [])


@pytest.mark.parametrize(
    ("task", "after", "doubt"),
    [
        ("Make the tests pass", "assert f() == 2\n", "lines were changed or removed"),
        ("Make the tests pass", None, "was deleted"),
        ("Get rid of the old tests", None, ""),
        ("Add a function f", "assert f() == 1\n  assert f() != 2\n", ""),
        ("Repair tests/test_a.py", "assert f() == 2\n", ""),
    ],
)
def test_a_test_that_passes_because_it_was_made_to_is_told(task: str, after: str | None, doubt: str) -> None:
    files = changed(a_py=("x", "y"), tests__test_a_py=("assert f() == 1\n", after), tests__test_b_py=(None, "x"))
    told = f"tests/test_a.py, a test that the task does not name, {doubt}"
    assert [f.removeprefix("of ") for f in doubts(task, CHECK, files, files, ())] == ([told] if doubt else [])


def test_what_the_check_itself_changed_is_told() -> None:
    files = changed(a_py=("x", "y"))
    assert doubts("", CHECK, files, files, ["a.py", "b.py"]) == ["the check itself changed a.py, b.py"]


# ------------------------------------------------------------------ claims


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
    assert claim.endswith("nothing changed that file")


@pytest.mark.parametrize(
    "text", ["You asked, and I wrote data.csv", "The log says 5 passed", "See that I have changed a.py."]
)
def test_what_the_answer_itself_says_was_done_is_a_claim(text: str) -> None:
    assert len(unbacked_claims(text, [])) == 1


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
