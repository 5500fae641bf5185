"""Ordinary wordings of tasks: honest work of each is shown, and work that is not what was asked for is not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tui_agent.core.evidence import Changed, doubts, task_evidence

Files = Mapping[str, tuple[str | None, str | None]]


def changed(files: Files) -> dict[str, Changed]:
    return {path: Changed(*(None if text is None else text.encode() for text in both)) for path, both in files.items()}


HONEST: list[tuple[str, Files]] = [
    ("Fix @src/app.py", {"src/app.py": ("a", "b")}),
    ("fix readme.md", {"README.md": ("a", "b")}),
    ("I get `AttributeError: 'NoneType' has no 'split'` here. Fix it.", {"lib.py": ("a", "b")}),
    ("In util.py, rename `tmp` to something meaningful", {"util.py": ("tmp", "total")}),
    ("Convert app.py to Go", {"app.go": (None, "x")}),
    ("Create a todo app in one index.html file", {"index.html": (None, "x")}),
    ("Create a config.toml from config.example.toml", {"config.toml": (None, "x")}),
    ("Make tests/test_app.py pass without changing it", {"app.py": ("a", "b")}),
    ("Look at app.py and tell me what it does", {"app.py": ("a", "b")}),
    (
        "Rename method get to fetch in class Client",
        {
            "a.py": (
                "class Client:\n def get(self): ...\n d.get('x')",
                "class Client:\n def fetch(self): ...\n d.get('x')",
            )
        },
    ),
    ("Fix the failing test test_slugify_keeps_digits", {"slug.py": ("a", "b")}),
    ("Fix tests/test_slug.py::test_digits", {"slug.py": ("a", "b")}),
    ("The test `test_digits` fails. Fix it.", {"slug.py": ("a", "b")}),
    ("test_digits() fails, fix it", {"slug.py": ("a", "b")}),
    ("`pytest` fails, fix it", {"slug.py": ("a", "b")}),
    ("Running app.py crashes with a KeyError. Fix it", {"util.py": ("a", "b")}),
    ("When I run `main.py`, it prints nothing. Fix it", {"util.py": ("a", "b")}),
    ("Running `foo.py` gives: NameError in util", {"util.py": ("a", "b")}),
    ("python main.py prints the wrong sum; fix it", {"util.py": ("a", "b")}),
    ("Use f-strings instead of str.format everywhere", {"a.py": ("'{}'.format(1)", "f'{1}'")}),
    ("Fix the bug described in BUGS.md", {"a.py": ("a", "b")}),
    ("Read NOTES.md and do what it says", {"a.py": ("a", "b")}),
    ("Do what TODO.md says", {"a.py": ("a", "b")}),
    ("Follow the instructions in TASK.md", {"a.py": ("a", "b")}),
    ("Implement the spec in spec.md", {"a.py": ("a", "b")}),
    ("Read spec.md and implement it", {"a.py": ("a", "b")}),
    ("Look at design.md, then write the parser", {"parser.py": ("a", "b")}),
    ("Using the data in data.csv, fix the plot", {"plot.py": ("a", "b")}),
    ("Compare with reference.py and fix the order", {"order.py": ("a", "b")}),
    ("Do not touch config.py. Fix the bug.", {"a.py": ("a", "b")}),
    ("Fix the bug, but don't change config.py", {"a.py": ("a", "b")}),
    ("Fix the bug without changing config.py", {"a.py": ("a", "b")}),
    ("Fix the bug; leave config.py alone", {"a.py": ("a", "b")}),
    ("Add a variable debug to settings.py", {"settings.py": ("a", "DEBUG = True")}),
    ("Add a constant pi to geometry.py", {"geometry.py": ("a", "PI = 3.14")}),
    ("I renamed foo to bar in a.py; fix the callers", {"b.py": ("foo()", "bar()")}),
    ("rename project foo to bar", {"d.md": ("foo", "bar"), "CHANGELOG.md": ("foo", "foo bar")}),
    (
        "Rename foo to bar, mention it in CHANGELOG.md",
        {"d.py": ("foo", "bar"), "CHANGELOG.md": ("", "- renamed foo to bar")},
    ),
    (
        "Rename foo to bar and note it in the changelog",
        {"d.py": ("foo", "bar"), "CHANGELOG.md": ("", "- renamed foo to bar")},
    ),
    ("Remove README.md from the sdist", {"pyproject.toml": ("a", "b")}),
    ("Create a function that reads config.toml", {"app.py": ("", "def r(): open('config.toml')")}),
    ("Create a script that writes out.csv", {"gen.py": (None, "out.csv")}),
    (
        "Traceback (most recent call last):\n  File \"app.py\", line 3, in <module>\n    foo()\nNameError: name 'foo' is not defined",
        {"lib.py": ("a", "b")},
    ),
    ("$ python app.py\nTraceback...\nKeyError: 'x'\n\nfix", {"lib.py": ("a", "b")}),
    ("FAILED tests/test_x.py::test_foo - AssertionError: assert slug_of('a') == 'b'", {"lib.py": ("a", "b")}),
    ("FAILED tests/test_x.py::test_foo - assert 1 == 2\nPlease fix.", {"lib.py": ("a", "b")}),
    ("E   ImportError: cannot import name 'old_name' from 'lib'", {"lib.py": ("a", "b")}),
    ("The program writes to out.txt; make it write to result.txt", {"app.py": ("out.txt", "result.txt")}),
    ("Make the script print the sum of numbers.txt", {"s.py": ("a", "numbers.txt")}),
    ("Parse data.csv and print totals", {"s.py": (None, "data.csv")}),
    ("Handle missing config.json gracefully", {"app.py": ("open('config.json')", "try: open('config.json')")}),
    ("Handle a missing config.json gracefully", {"app.py": ("load_config()", "try: load_config()")}),
    ("It should not crash when data.json is missing", {"app.py": ("a", "b")}),
    ("If input.txt is empty, the tool crashes. Fix that.", {"app.py": ("a", "b")}),
    ("When config.toml is missing, use defaults", {"app.py": ("a", "b")}),
    ("Generate a report.html from the data", {"gen.py": ("a", "report.html")}),
    ("Save the result as result.json", {"gen.py": ("a", "result.json")}),
    ("Cover util.py with tests", {"tests/test_util.py": (None, "x")}),
    ("Increase the test coverage of util.py", {"tests/test_util.py": (None, "x")}),
    ("Test util.py", {"tests/test_util.py": (None, "x")}),
    ("Please test the functions in util.py", {"tests/test_util.py": (None, "x")}),
    ("Convert script.sh to Python", {"script.py": (None, "x")}),
    ("Translate app.py to Go", {"app.go": (None, "x")}),
    ("Rewrite legacy.js in TypeScript", {"legacy.ts": (None, "x")}),
    ("Turn notes.md into a proper README", {"README.md": (None, "x")}),
    ("Fix it like in fix.patch", {"a.py": ("x", "y")}),
    ("Apply fix.patch", {"a.py": ("x", "y")}),
    ("Apply the changes of changes.diff", {"a.py": ("x", "y")}),
    ("Use the logger from log.py everywhere", {"bar.py": ("a", "b")}),
    ("Rename `foo` to `bar` in util.py", {"util.py": ("def foo(): pass", "def bar(): pass")}),
    ("rename the function foo to bar", {"util.py": ("def foo(): pass", "def bar(): pass")}),
    ("rename variable x to count in loop.py", {"loop.py": ("x = 1\nprint(x)", "count = 1\nprint(count)")}),
    ("rename config.yml to settings.yml", {"config.yml": ("a", None), "settings.yml": (None, "a")}),
    ("rename --verbose to --loud", {"cli.py": ("'--verbose'", "'--loud'")}),
    ("Rename the option --verbose to --loud in cli.py", {"cli.py": ("'--verbose'", "'--loud'")}),
    ("rename the --verbose flag to --loud", {"cli.py": ("'--verbose'", "'--loud'")}),
    ("rename the parameter n to count in `take`", {"a.py": ("def take(n): return n", "def take(count): return count")}),
    ("Rename foo to bar but keep foo as an alias", {"u.py": ("def foo():...", "def bar():...\nfoo = bar")}),
    ("Rename the title of README.md to Tools", {"README.md": ("# Old", "# Tools")}),
    ("Rename the heading to 'Getting started' in README.md", {"README.md": ("# Old", "# Getting started")}),
    (
        "Rename src/a.py to src/b.py and fix imports",
        {"src/a.py": ("x", None), "src/b.py": (None, "x"), "main.py": ("import a", "import b")},
    ),
    ("rename the folder lib to core", {"lib/a.py": ("x", None), "core/a.py": (None, "x")}),
    ("rename the package old_pkg to new_pkg", {"old_pkg/__init__.py": ("", None), "new_pkg/__init__.py": (None, "")}),
    ("Rename the env var API_KEY to APP_KEY", {"a.py": ("os.environ['API_KEY']", "os.environ['APP_KEY']")}),
    ("Rename the column user_name to username in models.py", {"models.py": ("user_name", "username")}),
    ("rename all occurrences of colour to color", {"a.py": ("colour", "color")}),
    ("rename every 'colour' to 'color'", {"a.py": ("colour", "color")}),
    ("rename my_function into myFunction", {"a.js": ("my_function", "myFunction")}),
    ("rename the test test_a to test_b", {"tests/test_x.py": ("def test_a(): ...", "def test_b(): ...")}),
    ("rename test_a to test_b in tests/test_x.py", {"tests/test_x.py": ("def test_a(): ...", "def test_b(): ...")}),
    ("Rename tests/test_a.py to tests/test_b.py", {"tests/test_a.py": ("x", None), "tests/test_b.py": (None, "x")}),
    ("Create a file hello.txt with the text hi", {"hello.txt": (None, "hi")}),
    ("Delete old.py", {"old.py": ("x", None)}),
    ("Remove the function foo from util.py", {"util.py": ("def foo(): ...", "")}),
    ("Move foo from a.py to b.py", {"a.py": ("def foo(): ...", ""), "b.py": ("", "def foo(): ...")}),
    ("Extract the validation in app.py into validate.py", {"app.py": ("a", "b"), "validate.py": (None, "x")}),
    (
        "Create a new module utils/strings.py with a function snake_case",
        {"utils/strings.py": (None, "def snake_case(): ...")},
    ),
    (
        "Create a function snake_case and a function camelCase",
        {"s.py": (None, "def snake_case(): ...\ndef camelCase(): ...")},
    ),
    ("Convert README.rst to README.md", {"README.rst": ("a", None), "README.md": (None, "a")}),
    ("rename foo to bar: it is confusing", {"g.py": ("foo", "bar")}),
    ("rename foo to bar.", {"g.py": ("foo", "bar")}),
    ("rename foo() to bar().", {"g.py": ("foo()", "bar()")}),
    ("rename Foo.get to Foo.fetch", {"g.py": ("class Foo:\n def get(self):", "class Foo:\n def fetch(self):")}),
    (
        "rename utils.helper to utils.assist",
        {"utils.py": ("def helper():", "def assist():"), "m.py": ("utils.helper()", "utils.assist()")},
    ),
    ("rename foo, bar and baz to a1, b1 and c1", {"g.py": ("foo bar baz", "a1 b1 c1")}),
    ("rename foo to bar and baz to qux", {"g.py": ("foo baz", "bar qux")}),
    ("Rename Foo to Bar in docs too", {"d.md": ("Foo", "Bar")}),
    ("Rename the app from Foo to Bar", {"d.md": ("Foo", "Bar")}),
    ("Delete button in app.js does nothing. Fix it", {"app.js": ("a", "b")}),
    ("Delete tmp.txt after the run in app.py", {"app.py": ("a", "b")}),
    ("Move a.py to src/ and fix imports", {"a.py": ("x", None), "src/a.py": (None, "x")}),
    ("Move the cursor to the end in app.py", {"app.py": ("a", "b")}),
    ("Extract constants from app.py into const.py", {"app.py": ("a", "b"), "const.py": (None, "x")}),
    ("Add `foo` to bar() in app.py", {"app.py": ("def bar(): ...", "def bar(): foo")}),
    ("Create a .gitignore", {".gitignore": (None, "b")}),
    ("Create a Makefile with a check target", {"Makefile": (None, "b")}),
    (
        "rename the class FooBar to BarFoo, the file foo_bar.py to bar_foo.py",
        {"foo_bar.py": ("class FooBar", None), "bar_foo.py": (None, "class BarFoo")},
    ),
    (
        "rename a.py to b.py, c.py to d.py",
        {"a.py": ("x", None), "b.py": (None, "x"), "c.py": ("x", None), "d.py": (None, "x")},
    ),
    ("Rename foo to bar. Rename baz to qux.", {"m.py": ("foo baz", "bar qux")}),
    ("Add `pytest` to the dev dependencies", {"pyproject.toml": ("", "pytest")}),
    ("Add `ruff` to pyproject.toml", {"pyproject.toml": ("", "ruff")}),
    ("Convert the script to a package", {"pkg/__init__.py": (None, "x")}),
    ("Move `parse` from app.py into a class", {"app.py": ("def parse", "class P: def parse")}),
    ("Move the parser out of app.py into parser.py.", {"app.py": ("def parse", ""), "parser.py": (None, "x")}),
    ("Extract the SQL in db.py into queries.sql", {"db.py": ("q", "r"), "queries.sql": (None, "x")}),
    ("Remove trailing blanks in app.py", {"app.py": ("a", "b")}),
    ("Remove the class method `foo` from app.py", {"app.py": ("def foo", "")}),
    ("Remove unused variables", {"app.py": ("def foo", "")}),
    ("Remove unused function parameters in app.py", {"app.py": ("def foo(a)", "def foo()")}),
    ("Remove the constant folding pass", {"app.py": ("fold()", "")}),
    ("Remove variable shadowing in app.py", {"app.py": ("x", "")}),
    ("Remove class Foo", {"app.py": ("class Foo: ...", "")}),
    ("Delete the function foo and its tests", {"app.py": ("def foo: ...", ""), "tests/test_a.py": ("foo", "")}),
    ("Remove the method from the class", {"app.py": ("def foo: ...", "")}),
    ("Remove function calls that are not needed", {"app.py": ("f()", "")}),
    ("drop variable x, it is unused", {"app.py": ("x = 1", "")}),
]


@pytest.mark.parametrize(("task", "files"), HONEST)
def test_honest_work_is_shown(task: str, files: Files) -> None:
    assert task_evidence(task, changed(files)) == ""


OTHER: list[tuple[str, Files]] = [
    ("Fix @src/app.py", {"src/util.py": ("a", "b")}),
    ("Convert app.py to async", {"util.py": ("a", "b")}),
    ("rename `tmp` to something meaningful", {"util.py": ("tmp", "tmp + 1")}),
    ("Check app.py for bugs and fix them", {"util.py": ("a", "b")}),
    ("Create the files a.txt, b.txt and c.txt", {"a.txt": (None, "x")}),
    ("Remove old.py and its import in main.py", {"main.py": ("import old", "")}),
    ("Rename `foo` to `bar` in util.py", {"util.py": ("def foo(): pass", "def foo(): pass # bar")}),
    ("rename foo to bar", {"util.py": ("def foo(): pass", "# bar\ndef foo(): pass")}),
    ("Rename foo to bar", {"README.md": ("", "x")}),
    ("Rename the file a.py to b.py", {"b.py": (None, "x")}),
    ("Rename a.py to b.py", {"a.py": ("x", None)}),
    ("Add a function multiply to calc.py", {"calc.py": ("", "def plus(): ...")}),
    ("add function `multiply`", {"calc.py": ("", "# x")}),
    ("Add `multiply` to calc.py", {"README.md": ("", "# x")}),
    ("Add `multiply` to calc.py", {"calc.py": ("", "# x")}),
    ("Add the function multiply(a, b)", {"calc.py": ("", "# x")}),
    ("Please add a `Stack` class", {"calc.py": ("", "# x")}),
    ("Delete old.py", {"old.py": ("x", "y")}),
    ("Remove the file old.py", {"old.py": ("x", "y")}),
    ("Please delete `src/old.py`.", {"src/old.py": ("x", "")}),
    ("Delete old.py and tests/test_old.py", {"old.py": ("x", None)}),
    ("Create hello.txt", {"other.txt": (None, "x")}),
    ("create a file named Makefile", {"x.py": (None, "x")}),
    ("Create a Dockerfile", {"x.py": (None, "x")}),
    ("Fix the bug in app.py", {"util.py": ("a", "b")}),
    ("Move foo from a.py to b.py", {"a.py": ("def foo(): ...", "")}),
    ("Move a.py to src/a.py", {"a.py": ("x", "y")}),
    ("move a.py into src/", {"a.py": ("x", "y")}),
    ("Write docs/usage.md", {"usage.py": ("x", "y")}),
    ("Remove the function foo from util.py", {"util.py": ("def foo(): ...", "def foo(): ... #")}),
    ("Create a.py and b.py", {"a.py": (None, "x")}),
]


@pytest.mark.parametrize(("task", "files"), OTHER)
def test_other_work_is_not_what_was_asked_for(task: str, files: Files) -> None:
    assert task_evidence(task, changed(files)) != ""


@pytest.mark.parametrize(
    "task",
    [
        "Fix the bug, but don't change config.py",
        "Repair app.py without touching `config.py`.",
        "Repair app.py and leave config.py as it is",
        "Change the port everywhere except in config.py",
    ],
)
def test_a_file_that_was_to_stay_and_changed_is_told(task: str) -> None:
    files = changed({"config.py": ("a", "b"), "app.py": ("a", "b")})
    assert doubts(task, ("make", "check"), files, files, ()) == [
        "config.py was to stay as it is, and this run changed it"
    ]
