"""Search: the walk that honours ignore files, the child, and what a model is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.tools import search
from tui_agent.tools.search import Hit
from tui_agent.tools.walk import files


def build(root: Path, tree: dict[str, str | bytes]) -> Path:
    for name, content in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def walked(root: Path, below: str = "") -> list[str]:
    return [path for path, _ in files(str(root), below)]


TREE = {
    "a.py": "needle\n",
    ".hidden.py": "needle\n",
    "build/out.py": "needle\n",
    "src/b.py": "x\nneedle = 1\n",
    "src/b.py~": "needle\n",
    "src/deep/c.log": "needle\n",
    "src/deep/keep.log": "needle\n",
    ".git/config": "needle\n",
    ".env": "needle\n",
    ".gitignore": "build/\n*.log\n",
    "src/deep/.gitignore": "!keep.log\n",
}


def test_the_walk_sees_what_a_person_sees(tmp_path: Path) -> None:
    root = build(tmp_path, TREE)
    (root / "link").symlink_to("/etc")
    (root / "src/link.py").symlink_to("b.py")
    os.mkfifo(root / "pipe")
    assert walked(root) == [
        ".env",
        ".gitignore",
        ".hidden.py",
        "a.py",
        "src/b.py",
        "src/deep/.gitignore",
        "src/deep/keep.log",
    ]
    assert walked(root, "src/deep") == ["src/deep/.gitignore", "src/deep/keep.log"]
    assert walked(root, "build/out.py") == ["build/out.py"]
    assert walked(root, "build") == ["build/out.py"]


def test_the_repository_around_the_workspace_counts(tmp_path: Path) -> None:
    build(tmp_path, {".git/HEAD": "", ".gitignore": "*.log\n/ws/out/\n", "sub/.gitignore": "x\n"})
    ws = build(tmp_path / "ws", {"a.log": "", "a.py": "", "out/b.py": "", "sub/out/c.py": "", "x": ""})
    assert walked(ws) == ["a.py", "sub/out/c.py", "x"]


def test_a_broken_ignore_pattern_does_not_hide_the_good_ones(tmp_path: Path) -> None:
    root = build(tmp_path, {"a.log": "", "b.py": "", ".gitignore": "!\n*.log\n/\n[z-a]x\n\\\n"})
    assert walked(root) == [".gitignore", "b.py"]


def test_an_ignore_file_that_is_a_fifo_does_not_hang(tmp_path: Path) -> None:
    root = build(tmp_path, {"a.py": ""})
    os.mkfifo(root / ".gitignore")
    assert walked(root) == ["a.py"]


def child(root: Path, text: str, below: str = "") -> list[Hit]:
    done = subprocess.run(search.python(text, below), cwd=root, capture_output=True, timeout=20, check=True)
    return search.parse(done.stdout.decode(), lambda _: True)


def test_the_child_finds_lines_and_skips_secrets_links_and_binary(tmp_path: Path) -> None:
    root = build(tmp_path, {**TREE, "bin.dat": b"needle\0", "latin.txt": b"needle \xe9\n"})
    build(tmp_path.parent / "other", {"x": "needle\n"})
    os.link(tmp_path.parent / "other/x", root / "hard.txt")
    (root / "soft.txt").symlink_to("../other/x")
    assert [(h.path, h.line, h.text) for h in child(root, "need.e")] == [
        (".hidden.py", 1, "needle"),
        ("a.py", 1, "needle"),
        ("latin.txt", 1, "needle \ufffd"),
        ("src/b.py", 2, "needle = 1"),
        ("src/deep/keep.log", 1, "needle"),
    ]
    assert [h.path for h in child(root, "needle", "src/b.py")] == ["src/b.py"]


def test_what_is_no_regular_expression_is_searched_as_it_is(tmp_path: Path) -> None:
    root = build(tmp_path, {"a.py": "f(x[0]\n", "b.py": "-e --pre=sh\n"})
    assert [h.path for h in child(root, "f(x[")] == ["a.py"]
    assert [h.path for h in child(root, "--pre=sh")] == ["b.py"]


def test_anchors_mean_lines(tmp_path: Path) -> None:
    root = build(tmp_path, {"a.py": "import a\nx\nimport b\n"})
    assert [h.line for h in child(root, "^import")] == [1, 3]
    assert [h.line for h in child(root, "b$")] == [3]


def test_ripgrep_gets_every_word_as_data() -> None:
    argv = search.ripgrep("/usr/bin/rg", "--pre=sh", "-x")
    assert "--regexp=--pre=sh" in argv
    assert argv[-2:] == ("--", "./-x")
    assert "--no-config" in argv
    assert "--fixed-strings" in search.ripgrep("/usr/bin/rg", "f(", "")
    assert "--fixed-strings" not in search.ripgrep("/usr/bin/rg", "f.x", "")


def test_the_module_is_found_by_the_child_wherever_it_runs() -> None:
    assert search.python("x", "")[0] == sys.executable


def test_output_of_either_program_is_filtered_by_path() -> None:
    output = "./a.py\x1f3\x1fneedle\r\nrg: a message\n./.env\x1f1\x1fneedle\n./a.py\x1fx\x1fbroken\n\x1f\x1f\n"
    assert search.parse(output, lambda path: path != ".env") == [Hit("a.py", 3, "needle")]


def test_no_more_than_a_thousand_hits_are_counted() -> None:
    assert len(search.parse("a.py\x1f1\x1fx\n" * 5000, lambda _: True)) == search.MAX_COUNTED


@given(st.text())
def test_any_output_can_be_parsed(output: str) -> None:
    assert isinstance(search.parse(output, lambda _: True), list)


def test_what_a_model_is_told() -> None:
    hits = [Hit("a.py", 3, "needle"), Hit("b.py", 1, "needle")]
    assert search.render("needle", "", hits) == "[2 hits in 2 files]\na.py:3: needle\nb.py:1: needle"
    assert "0 hits for 'needle' in src" in search.render("needle", "src", [])
    assert "plain text" in search.render("f(", "", [Hit("a", 1, "f(")])
    many = search.render("x", "", [Hit("a.py", n, "x" * 300) for n in range(1, 500)])
    assert len(many) <= 16_000
    assert "more hits left out" in many
    assert search.render("x", "", [Hit("a.py", n, "x") for n in range(1000)]).startswith(
        "[1000 or more hits in 1 file]"
    )


@pytest.mark.parametrize("text", ["(", "[", "*", "a{99999999999}", "(?P<n>a)(?P<n>b)"])
def test_broken_expressions_are_known(text: str) -> None:
    assert not search.is_regex(text)
