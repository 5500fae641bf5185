"""Names that a task gives: in a class or an object, of a folder or a module, or only a word for a thing."""

from __future__ import annotations

import pytest

from tests.core.test_evidence import changed
from tui_agent.core.evidence import Changed, task_evidence


@pytest.mark.parametrize(
    ("task", "before", "after", "shown"),
    [
        ("rename Foo.bar to Foo.baz", "def bar", "def baz", True),
        ("Rename the method `Foo.bar()` to `baz`.", "def bar", "def baz", True),
        ("rename self.x to self.y", "self.x + 1", "self.y + 1", True),
        ("rename self.x to self.y", "self.x + self.x", "self.y + self.x", False),
        ("rename Foo.bar to Foo.baz", "def bar", "def bar # baz", False),
        ("rename Foo.bar to Foo.baz", "def bar", "def far", False),
        ("rename Foo.bar to Foo.baz and keep the old name", "def bar", "def baz; bar = baz", True),
        ("Rename the title to Welcome", "<title>Hi</title>", "<title>Welcome</title>", True),
        ("Rename the title to Welcome", "<title>Hi</title>", "<title>Hello</title>", False),
        ("Rename the `title` to Welcome", "title = 1", "title = 2 # Welcome", False),
        ("Add a method called Foo.peek to a.py", "class Foo: ...", "class Foo: def peek(): ...", True),
        ("Add a method `Foo.peek`", "class Foo: ...", "class Foo: def look(): ...", False),
        ("Add an option called dry_run", "", "add_argument('--dry-run')", True),
        ("Create a command called build.sh", "", "a new line", False),
    ],
)
def test_what_stands_in_something_is_found_by_its_own_name(task: str, before: str, after: str, shown: bool) -> None:
    assert (task_evidence(task, changed(a_py=(before, after))) == "") is shown


@pytest.mark.parametrize(
    ("task", "old", "new"),
    [
        ("rename the folder src to lib", "src/a.py", "lib/a.py"),
        ("rename src/old to src/new", "src/old/a.py", "src/new/a.py"),
        ("Rename src/ to lib/, please", "src/a.py", "lib/a.py"),
        ("rename the package foo to bar", "foo/__init__.py", "bar/__init__.py"),
        ("rename the module pkg.old to pkg.new", "pkg/old.py", "pkg/new.py"),
        ("rename the module old to new", "old.py", "new.py"),
    ],
)
def test_a_folder_or_a_module_is_renamed_with_what_lies_in_it(task: str, old: str, new: str) -> None:
    assert task_evidence(task, {old: Changed(b"x", None), new: Changed(None, b"x")}) == ""
    assert "was not renamed to" in task_evidence(task, {new: Changed(None, b"x")})


def test_bugs_that_tests_may_find_need_not_be_there() -> None:
    tests = changed(tests__test_calc_py=(None, "def test_add(): ..."))
    assert task_evidence("Write tests for calc.py and fix any bugs you find", tests) == ""
    assert "calc.py" in task_evidence("Write tests for calc.py and fix the bug in it", tests)
