"""The person's editor: which one, how each is told a line, and what comes back."""

from __future__ import annotations

import errno
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from tui_agent.ui.editor import EditorError, at_line, copy_of, edited, editor, open_at, own_environment, page, pager


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (("vim",), ("vim", "+42", "/w/a.py")),
        (("/usr/bin/nvim",), ("/usr/bin/nvim", "+42", "/w/a.py")),
        (("nano",), ("nano", "+42", "/w/a.py")),
        (("emacs", "-nw"), ("emacs", "-nw", "+42", "/w/a.py")),
        (("hx",), ("hx", "/w/a.py:42")),
        (("code",), ("code", "--wait", "--goto", "/w/a.py:42")),
        (("code", "--wait"), ("code", "--wait", "--goto", "/w/a.py:42")),
        (("zed",), ("zed", "--wait", "/w/a.py:42")),
        (("idea",), ("idea", "--wait", "--line", "42", "/w/a.py")),
        (("kate",), ("kate", "--block", "--line", "42", "/w/a.py")),
        (("something",), ("something", "/w/a.py")),
    ],
)
def test_each_editor_is_told_the_line_in_its_own_way(argv, expected):
    assert at_line(argv, "/w/a.py", 42) == expected


def test_visual_comes_before_editor_and_may_have_arguments():
    assert editor({"VISUAL": "vim -n", "EDITOR": "nano"}) == ("vim", "-n")
    assert editor({"VISUAL": " ", "EDITOR": "nano"}) == ("nano",)


def test_without_a_variable_one_is_looked_for(tmp_path):
    program = tmp_path / "vi"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    assert editor({"PATH": str(tmp_path)}) == (str(program),)
    with pytest.raises(EditorError, match="Set EDITOR"):
        editor({"PATH": str(tmp_path / "nothing")})


def test_a_variable_that_cannot_be_read_is_named():
    with pytest.raises(EditorError, match="VISUAL cannot be read"):
        editor({"VISUAL": "vim 'x"})


def script(folder: Path, body: str) -> dict[str, str]:
    path = folder / "fake-editor"
    path.write_text(f"#!{sys.executable}\nimport os, sys\npath = sys.argv[-1]\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return {"EDITOR": str(path), "PATH": "/usr/bin:/bin"}


def edit_text(name, text, run):
    with copy_of(name, text) as path:
        run(str(path))
        return edited(path)


def test_the_text_comes_back_and_the_copy_was_private(tmp_path):
    environment = script(tmp_path, "open(path, 'ab').write(b'more\\n')")
    seen = []

    def run(path):
        seen.append((path, stat.S_IMODE(Path(path).stat().st_mode)))
        open_at(path, 1, environment)

    assert edit_text("src/lexer.py", b"one\xff\n", run) == b"one\xff\nmore\n"
    ((path, mode),) = seen
    assert path.endswith("/proposal.py")
    assert mode == 0o600
    assert not Path(path).exists()


@pytest.mark.parametrize("name", ["x.a b", "x.\n", "x", "x.'$(id)"])
def test_a_strange_name_never_reaches_the_editor(name):
    paths = []
    edit_text(name, b"", paths.append)
    assert paths[0].endswith("/proposal")


@pytest.mark.parametrize(
    ("body", "word"), [("sys.exit(3)", "ended with 3"), ("os.unlink(path)", "could not be read"), (None, "started")]
)
def test_a_failing_editor_is_an_error(tmp_path, body, word):
    environment = script(tmp_path, body) if body else {"EDITOR": str(tmp_path / "nowhere")}
    with pytest.raises(EditorError, match=word):
        edit_text("a.py", b"x", lambda path: open_at(path, 1, environment))


def test_the_editor_gets_no_keys(tmp_path):
    environment = own_environment(
        {**script(tmp_path, "open(path, 'w').write(' '.join(sorted(os.environ)))"), "SECRET_KEY": "x", "DISPLAY": ":0"},
        ["SECRET_KEY"],
    )
    found = edit_text("a", b"", lambda path: open_at(path, 1, environment)).split()
    assert b"DISPLAY" in found
    assert b"SECRET_KEY" not in found


def test_the_pager_of_the_person_reads_a_private_copy(tmp_path):
    seen = tmp_path / "seen"
    body = f"open({str(seen)!r}, 'w').write(open(path).read() + oct(os.stat(path).st_mode)[-3:])"
    environment = script(tmp_path, body)
    page("all\nof it", {"PAGER": environment["EDITOR"], "PATH": environment["PATH"]})
    assert seen.read_text() == "all\nof it600"


def test_a_pager_that_ends_with_a_failure_has_shown_it_all_the_same(tmp_path):
    page("x", {"PAGER": "false", "PATH": "/usr/bin:/bin"})
    with pytest.raises(EditorError, match="Set PAGER"):
        page("x", {"PAGER": "/nowhere/pager"})
    with pytest.raises(EditorError, match="No pager was found. Set PAGER"):
        pager({"PATH": str(tmp_path)})


def test_a_text_that_cannot_be_handed_over_is_said_and_nothing_ends(monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    with (
        pytest.raises(EditorError, match="temporary file could be made for it: No space left on device"),
        copy_of("a", b""),
    ):
        pass
    with pytest.raises(EditorError, match="temporary file"):
        page("x", {"PAGER": "cat", "PATH": "/usr/bin:/bin"})
