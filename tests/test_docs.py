"""Documents do not rot: what they name exists, and every promise has its test or says that it is open."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ACCEPTANCE = ROOT / "docs/acceptance.md"
DOCUMENTS = [ROOT / "README.md", ROOT / "AGENTS.md", *sorted((ROOT / "docs").glob("*.md"))]
LINES = [f"{list_}{n}" for list_, last in (("R", 110), ("M", 48), ("T", 23), ("S", 30)) for n in range(1, last + 1)]
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


# ------------------------------------------------------------------ files and rooms


def files_named_in(text: str) -> list[str]:
    """The words in backticks that can only be files of this repository, and the targets of links into it.

    `.tui_agent/` belongs to the projects that people work on.
    """
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    words = [w for w in re.findall(r"`([^`\s]+)`", prose) if "/" in w or Path(w.partition("#")[0]).suffix in SUFFIXES]
    links = re.findall(r"\]\(([^)\s:]+)\)", prose)
    paths = [w.partition("#")[0] for w in words + links if re.fullmatch(r"[\w.][\w./-]*(#[\w-]+)?", w)]
    return [path for path in paths if not path.startswith(".tui_agent/")]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: str(file.relative_to(ROOT)))
def test_files_that_documents_name_exist(document: Path) -> None:
    named = files_named_in(document.read_text(encoding="utf-8"))
    assert [name for name in named if not any((at / name).exists() for at in (ROOT, ROOT / "tui_agent"))] == []


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
    inside = {path for path in named if path != Path("tui_agent")}
    modules = (path.relative_to(ROOT) for path in sorted((ROOT / "tui_agent").rglob("*.py")))
    assert [str(m) for m in modules if m.name != "__init__.py" and not inside & {m, *m.parents}] == []
