"""Promises of the acceptance list about one task that no other test names (docs/acceptance.md)."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell
from tests.cli.server import Calls, Text, serving
from tests.cli.test_questions import EDIT, QUESTION, seated


def test_the_first_line_says_who_answers_and_where(shell: Shell) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url)
        first = shell.run("-p", "hi").err.splitlines()[0]
    assert first == f"tui-agent  local/m  in {shell.work}  mode ask  folder not trusted"


@pytest.mark.parametrize(
    ("write", "flags", "mode"),
    [
        ("allow", (), "mode edits"),
        ("ask", ("--yes",), "mode ask (--yes: edits)"),
        ("deny", (), "mode ask (edits denied)"),
        ("deny", ("--mode", "read"), "mode read"),
    ],
)
def test_the_first_line_says_what_may_happen(shell: Shell, write: str, flags: tuple[str, ...], mode: str) -> None:
    with serving(Text("ok")) as server:
        shell.use(server.url, f'[permissions]\nwrite = "{write}"\n')
        first = shell.run(*flags, "-p", "hi").err.splitlines()[0]
    assert first.split("  ")[3] == mode


@pytest.mark.parametrize("text", ["needle" * 1000, "needle\n" * 50, "needle", "needle\x1b[2J\r" * 9], ids=ascii)
def test_a_call_is_one_short_line_whatever_its_arguments(shell: Shell, text: str) -> None:
    calls = (("search", {"text": text}), ("list_files", {}), ("update_plan", {"items": []}))
    with serving(Calls(calls), Text("ok")) as server:
        shell.use(server.url)
        told = shell.run("-p", "look").err
        quiet = shell.run("-q", "-p", "look").err
    first, *lines, last = told.rstrip("\n").split("\n")
    assert first.startswith("tui-agent  ")
    assert "completed" in last
    assert [line.split()[0] for line in lines] == ["search", "list", "plan"], "one line for each call"
    assert all(len(line) < 200 and line.isprintable() for line in lines)
    assert quiet == ""


@pytest.mark.parametrize("letter", [b"n", b"s"])
def test_the_end_of_input_at_the_reason_means_no_reason(shell: Shell, letter: bytes) -> None:
    with serving(EDIT, Text("All right.")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write") as seat:
            seat.until(QUESTION)
            seat.type(letter + b"\n")
            seat.until(QUESTION, 2)
            seat.type(b"\x04")
            assert seat.end() == 3
    assert server.told() == ["user rejected the change" if letter == b"n" else "user skipped"]
    assert not (shell.work / "a.txt").exists()
