from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core.evidence import Changed, doubts, says_what_is_checked, task_evidence
from tui_agent.core.names import files_in


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
