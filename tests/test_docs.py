"""Documents do not rot: what they name exists, and every promise has its test or says that it is open."""

from __future__ import annotations

import ast
import importlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.cli.stream_schema import PUBLISHED, schema
from tests.documents import DOCUMENTS, ROOT, commands, prose, rows, spans
from tui_agent import __version__
from tui_agent.modes import AUTO, MODES
from tui_agent.schema import SCHEMA, Each
from tui_agent.subcommands import BY_NAME, START
from tui_agent.ui.actions import ACTIONS, BY_SLASH, key_name, keys_of

ACCEPTANCE = ROOT / "docs/acceptance.md"
LINES = [
    f"{list_}{n}" for list_, last in (("R", 110), ("M", 48), ("T", 23), ("S", 30), ("X", 8)) for n in range(1, last + 1)
]
ISSUES = "ABCDEFGHI"
SUFFIXES = {".py", ".toml", ".md", ".json", ".tcss", ".txt"}


def table() -> list[tuple[str, str, list[str]]]:
    """The rows of docs/acceptance.md: the line, the behaviour, and what shows it."""
    rows = []
    for text in ACCEPTANCE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in text.strip("|").split("|")]
        if text.startswith("|") and cells[0] != "line" and not set(cells[0]) <= {"-"}:
            assert len(cells) == 3, f"a row has three cells: {text}"
            rows.append((cells[0], cells[1], cells[2].split(", ")))
    return rows


ROWS = table()


@cache
def names_of_tests(file: Path) -> frozenset[str]:
    """The names of the tests of a file, read and not run; methods as Class::name."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        names |= {prefix + n.name for n in inner if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
    return frozenset(name for name in names if name.rpartition("::")[2].startswith("test_"))


@cache
def sections_of(file: Path) -> frozenset[str]:
    """The anchors of the headings of a document, as they are linked to."""
    heads = re.findall(r"^#+ +(.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset(re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads)


def fault_of(shown_by: str) -> str | None:
    """What is wrong with one entry of the last column, None when it is a test, a section or an open issue."""
    if issue := re.fullmatch(r"open: (.*)", shown_by):
        return None if issue[1] in ISSUES and len(issue[1]) == 1 else f"{issue[1]!r} is no issue"
    if test := re.fullmatch(r"(tests/[\w/]+\.py)::([\w:]+)", shown_by):
        file = ROOT / test[1]
        if not file.is_file():
            return f"there is no file {test[1]}"
        return None if test[2] in names_of_tests(file) else f"there is no test {test[2]} in {test[1]}"
    if section := re.fullmatch(r"([\w/]+\.md)(?:#([\w-]+))?", shown_by):
        file = ROOT / section[1]
        if not file.is_file():
            return f"there is no file {section[1]}"
        return None if section[2] is None or section[2] in sections_of(file) else f"there is no section {section[2]}"
    return f"{shown_by!r} is neither a test, nor a section, nor open"


def test_every_line_stands_once() -> None:
    assert [name for name, _, _ in ROWS] == LINES


@pytest.mark.parametrize(("name", "behaviour", "shown_by"), ROWS, ids=[name for name, _, _ in ROWS])
def test_what_shows_a_line_exists(name: str, behaviour: str, shown_by: list[str]) -> None:
    assert behaviour
    assert len(set(shown_by)) == len(shown_by)
    assert [fault for entry in shown_by if (fault := fault_of(entry))] == []


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "open:",
        "open: Z",
        "open: AB",
        "soon",
        "tests/test_docs.py",
        "tests/test_nothing.py::test_x",
        "tests/test_docs.py::test_nothing_of_that_name",
        "tests/test_docs.py::table",
        "docs/nothing.md",
        "docs/architecture.md#nothing",
    ],
)
def test_an_entry_that_shows_nothing_is_found(entry: str) -> None:
    assert fault_of(entry)


def each(*names: str) -> pytest.MarkDecorator:
    """One test for each document, or for those with these names."""
    chosen = [d for d in DOCUMENTS if not names or d.name in names]
    return pytest.mark.parametrize("document", chosen, ids=lambda file: str(file.relative_to(ROOT)))


# ------------------------------------------------------------------ files and rooms


def files_named_in(text: str) -> list[str]:
    """The words in backticks that can only be files of this repository, and the targets of links into it.

    `.tui_agent/` belongs to the projects that people work on.
    """
    one = [span for span in spans(text) if " " not in span]
    words = [w for w in one if "/" in w or Path(w.partition("#")[0]).suffix in SUFFIXES]
    links = re.findall(r"\]\(([^)\s:]+)\)", prose(text))
    paths = [w.partition("#")[0] for w in words + links if re.fullmatch(r"[\w.][\w./-]*(#[\w-]+)?", w)]
    return [path for path in paths if not path.startswith(".tui_agent/")]


@each()
def test_files_that_documents_name_exist(document: Path) -> None:
    named = files_named_in(document.read_text(encoding="utf-8"))
    places = (ROOT, ROOT / "tui_agent", document.parent)
    assert [name for name in named if not any((at / name).exists() for at in places)] == []


def test_what_counts_as_the_name_of_a_file() -> None:
    text = (
        "`core/loop.py` `x.md#a` `~/.config/x` `/dev/tty` `a b.py` `core.loop` `.venv` `tests/x/` `.tui_agent/x.toml`"
    )
    links = "![a picture](shots/x.svg) [a page](https://x.org/y) [here](z.md)\n```\n`no.py` [no](no.md)\n```\n"
    assert files_named_in(f"{text}\n{links}") == ["core/loop.py", "x.md", "tests/x/", "shots/x.svg", "z.md"]


def rooms() -> list[Path]:
    """The files and folders that the tree of docs/architecture.md names, as paths of the repository."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    (tree,) = re.findall(r"^## The rooms\n+```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    found: list[Path] = []
    above: list[tuple[int, Path]] = [(-1, Path())]
    for line in tree.splitlines():
        depth, first = len(line) - len(line.lstrip()), line.split()[0]
        names = re.findall(r"(?<![\w/.])[\w/]+\.(?:py|toml|txt)\b", line)
        if first.endswith("/") or Path(first).suffix in SUFFIXES:
            above = [entry for entry in above if entry[0] < depth]
            names = [first, *(name for name in names if name != first)]
        parent = above[-1][1]
        # a description may name a neighbour, what lies inside, or a file by its path in the package
        near = (parent, parent / first, Path("tui_agent"))
        found += [next((at / name for at in near if (ROOT / at / name).exists()), parent / name) for name in names]
        if first.endswith("/"):
            above.append((depth, parent / first))
    return found


def test_the_rooms_of_the_architecture_are_the_ones_of_the_product() -> None:
    named = rooms()
    assert [str(path) for path in named if not (ROOT / path).exists()] == []
    assert Path("tui_agent/core") in named
    modules = {f.relative_to(ROOT) for f in (ROOT / "tui_agent").rglob("*.py") if f.name != "__init__.py"}
    assert sorted(map(str, modules - set(named) - small_rooms(named))) == [], "not in docs/architecture.md"


def small_rooms(named: list[Path]) -> set[Path]:
    """The modules of folders that are named as a whole, and those of the table of subcommands."""
    whole = [path for path in named if (ROOT / path).is_dir() and not any(path in other.parents for other in named)]
    tabled = {Path("tui_agent/subcommands") / f"{command.module}.py" for command in BY_NAME.values()}
    return tabled | {file.relative_to(ROOT) for path in whole for file in (ROOT / path).rglob("*.py")}


@each()
def test_a_function_that_stands_behind_its_file_is_in_it(document: Path) -> None:
    pairs = re.findall(r"`([\w/]+\.py)` `([\w.]+)`", prose(document.read_text(encoding="utf-8")))
    files = [(ROOT / "tui_agent" / path, name) for path, name in pairs]
    missing = [
        f"{file.name}: {part}"
        for file, name in files
        for part in name.split(".")
        if not re.search(rf"\b(class|def) {part}\b", file.read_text(encoding="utf-8"))
    ]
    assert missing == []


def words_of(picture: Path) -> str:
    """What is written in a picture of the screen, without blanks: how they are cut into pieces says nothing."""
    return "".join(re.findall(r"<text[^>]*>(.*?)</text>", picture.read_text(encoding="utf-8"))).replace("&#160;", "")


def test_the_pictures_of_readme_are_of_today() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(screenshots/([\w-]+)\.svg\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert shown
    accepted = ROOT / "tests/snapshots/__snapshots__/test_screens"
    for name in shown:
        today = words_of(accepted / f"test_screen[{name}].svg")
        assert words_of(ROOT / f"screenshots/{name}.svg") == today, "make screenshots draws it anew"


def test_the_published_schema_of_the_stream_is_the_one_of_the_events() -> None:
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    assert schema() == published, "an event was changed; publish its schema: python -m tests.cli.stream_schema"


def test_a_link_into_a_document_leads_to_one_of_its_sections() -> None:
    links = [
        (document, target, section)
        for document in DOCUMENTS
        for target, section in re.findall(
            r"\]\(([^)\s:#]+\.md)#([^)\s]+)\)", prose(document.read_text(encoding="utf-8"))
        )
    ]
    assert links
    for document, target, section in links:
        assert section in sections_of(document.parent / target), f"{document.name}: {target} has no section {section}"


def test_every_document_is_found_from_readme() -> None:
    linked = re.findall(r"\]\((docs/[^)\s#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert {str(file.relative_to(ROOT)) for file in (ROOT / "docs").glob("*.md")} <= set(linked)


# ------------------------------------------------------------------ keys, commands, flags


KEY_HEAD = ("key", "what it does")
KEY = re.compile(r"(?<![\w`])(?:(?:Ctrl|Shift|Alt)\+(?:\w+)|F\d+)(?: (?=Ctrl)|\b)(?:(?<=Ctrl\+X) (\S)(?=[\s,.;:)|]))?")
"""A key in prose, with the letter behind Ctrl+X."""
NAMES = {key_name(key) for action in ACTIONS for key in action.keys}
LEADERS = {key_name(action.leader) for action in ACTIONS if action.leader}


@each("README.md", "using.md")
def test_tables_of_keys_are_the_table_of_actions(document: Path) -> None:
    table = rows(document.read_text(encoding="utf-8"), *KEY_HEAD)
    assert len(table) > 10
    for cell, title in table:
        named = [action for action in ACTIONS if action.title == title]
        assert named, f"no action of ui/actions.py is called {title!r}"
        keys = set(cell.split(", "))
        assert any(keys <= set(keys_of(action).split(", ")) for action in named), (
            f"{title!r} has {[keys_of(action) for action in named]} and not {cell}"
        )


@each()
def test_keys_that_documents_name_do_something(document: Path) -> None:
    found = [(match[0], match[1]) for match in KEY.finditer(prose(document.read_text(encoding="utf-8")))]
    unknown = [key for key, letter in found if (letter not in LEADERS if letter else key not in NAMES)]
    assert unknown == []


def test_what_counts_as_a_key() -> None:
    text = "Shift+Tab, Ctrl+X b, (F2). Ctrl+X Ctrl+C and Ctrl+X is `Ctrl+Z`"
    assert [(m[0], m[1]) for m in KEY.finditer(text)] == [
        ("Shift+Tab", None),
        ("Ctrl+X b", "b"),
        ("F2", None),
        ("Ctrl+X ", None),
        ("Ctrl+C", None),
        ("Ctrl+X", None),
    ]


OWN_WORDS = {"/NAME"}
"""What stands for a word of the person's choosing."""


def without_open_rows(text: str) -> str:
    """A document without the promises that are not kept yet: what they name is to come."""
    return "\n".join(line for line in text.splitlines() if "open: " not in line)


@each()
def test_commands_of_the_composer_exist(document: Path) -> None:
    text = without_open_rows(document.read_text(encoding="utf-8"))
    words = [match[1] for span in spans(text) if (match := re.fullmatch(r"(/[\w-]+)(?: .*)?", span))]
    assert [word for word in words if word not in {*BY_SLASH, *OWN_WORDS}] == []


@cache
def source() -> str:
    """Everything that the product is made of, as one text."""
    files = [f for f in sorted((ROOT / "tui_agent").rglob("*")) if f.suffix in {".py", ".toml"}]
    return "\n".join(
        [*(f.read_text(encoding="utf-8") for f in files), *(f.stem for f in (ROOT / "tui_agent").rglob("*"))]
    )


def parsed(typed: str) -> str | None:
    """What the product itself says against a command line of its own, None when it takes it."""
    words = shlex.split(typed.rsplit("|", maxsplit=1)[-1])[1:]
    entry = BY_NAME.get(words[0]) if words else None
    parser = (entry or START).load().parser()
    try:
        parser.parse_args(words[1:] if entry else words)
    except SystemExit as end:
        return None if end.code == 0 else typed
    return None


@each()
def test_command_lines_are_taken_by_the_product(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    lines = [line for line in commands(text) if "tui-agent" in shlex.split(line)]
    lines += [span for span in spans(text) if re.match(r"tui-agent( |$)", span)]
    refused = [line for line in lines if parsed(line)]
    # a flag may be named without its value
    assert [line for line in refused if parsed(f"{line} x")] == []


def test_a_wrong_command_line_is_found() -> None:
    assert parsed("git diff | tui-agent --stdin -p 'x y'") is None
    assert parsed("tui-agent purge --older 3d")
    assert parsed("tui-agent --no-such-flag")


@each()
def test_flags_that_documents_name_exist(document: Path) -> None:
    known = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", source()))
    named = re.findall(r"(?<![\w-])--[a-z][\w-]*", " ".join(spans(document.read_text(encoding="utf-8"))))
    assert [flag for flag in named if flag not in known] == []


@each()
def test_targets_of_make_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    lines = [line for line in [*commands(text), *spans(text)] if line.startswith("make ")]
    targets = {word for line in lines for word in line.split()[1:] if "=" not in word}
    (known,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert targets <= set(known.split())


def test_the_table_of_modes_is_complete() -> None:
    table = rows((ROOT / "docs/using.md").read_text(encoding="utf-8"), "mode", "what happens")
    assert {name.strip("`") for name, _ in table} == {*MODES, AUTO.name}


# ------------------------------------------------------------------ names of the code


@cache
def classes() -> Mapping[str, frozenset[str]]:
    """Every class of the product with the names of its members."""
    found: dict[str, frozenset[str]] = {}
    for file in (ROOT / "tui_agent").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name] = found.get(node.name, frozenset()) | frozenset(members(node))
            elif isinstance(node, ast.AnnAssign | ast.Assign):  # Effect: TypeAlias = WriteBytes | ...
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= {t.id: frozenset() for t in targets if isinstance(t, ast.Name) and t.id not in found}
    return found


def members(node: ast.ClassDef) -> Iterator[str]:
    """Its fields and functions."""
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inner.name
        elif isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
            yield inner.target.id


def setting(dotted: str) -> bool:
    """Whether this is a key of the configuration."""
    kind: object = SCHEMA
    for part in dotted.split("."):
        kind = kind.kind if isinstance(kind, Each) else kind.get(part) if isinstance(kind, Mapping) else None
    return kind is not None


def importable(dotted: str) -> bool:
    """Whether this is a module of ours or of Python, or something in one; the package's name may be left out."""
    modules = [".".join(f.relative_to(ROOT).with_suffix("").parts) for f in (ROOT / "tui_agent").rglob("*.py")]
    head, _, name = dotted.rpartition(".")
    for module in [*(m for m in modules if m.endswith(f".{head}")), head]:
        try:
            loaded = importlib.import_module(module)
        except ImportError:
            continue
        if hasattr(loaded, name):
            return True
    return any(m.endswith(f".{dotted}") for m in modules)


def exists(name: str) -> bool:
    """Whether a name of the code that a document gives is one."""
    first, _, member = name.partition(".")
    if re.fullmatch(r"[A-Z]\w*[a-z]\w*", first):
        return first in classes() and (not member or member in classes()[first])
    if "." in name:
        return setting(name) or importable(name)
    return re.search(rf"\b{re.escape(name.removesuffix('()'))}\b", source()) is not None


def code_names(text: str) -> list[str]:
    """The spans that can only be names of the code, of settings or of variables of the environment."""
    one = [span.partition("=")[0].removeprefix("$") for span in spans(text) if " " not in span]
    shapes = r"[A-Z]\w*[a-z]\w*(\.\w+)?|[a-z]\w*(\.[a-z]\w*)+|[A-Za-z]+_\w+|\w+\(\)"
    return [name for name in one if re.fullmatch(shapes, name) and Path(name).suffix not in SUFFIXES]


OF_THE_TESTS = re.compile(r"TUI_AGENT_(TEST|REQUIRE|CASES)\w*|run_agent")
"""Variables that the tests read, and what belongs to an adapter of a source."""


@each()
def test_names_of_the_code_exist(document: Path) -> None:
    names = code_names(without_open_rows(document.read_text(encoding="utf-8")))
    files = [f for f in (ROOT / "tests").rglob("*.py") if f != Path(__file__)]
    tests = "\n".join(f.read_text(encoding="utf-8") for f in files)
    assert [name for name in names if not (name in tests if OF_THE_TESTS.fullmatch(name) else exists(name))] == []


@pytest.mark.parametrize(
    "name", ["Nothing", "Decision.nothing", "core.loop.nothing", "fold.nothing", "no_such_word", "nothing_here()"]
)
def test_a_name_of_nothing_is_found(name: str) -> None:
    assert code_names(f"`{name}`") == [name]
    assert not exists(name)


# ------------------------------------------------------------------ changes


def test_the_changelog_is_one_short_list_for_each_release_newest_first() -> None:
    first, *releases = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")
    assert first.startswith("# Changelog\n")
    assert "\n- " not in first, "what is not released yet stands under its release"
    versions = [release.split("\n")[0].partition(",")[0] for release in releases]
    assert versions[0] == __version__
    assert versions == sorted(versions, key=lambda v: [int(part) for part in v.split(".")], reverse=True)
    for release in releases:
        items = [line for line in release.splitlines() if line.startswith("- ")]
        assert 1 <= len(items) <= 25
        assert not [line for line in release.splitlines() if line.startswith(" ")], "an item is one line"
