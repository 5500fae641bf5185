"""What stopped one task is told as what it was: the person, a signal that somebody else may have sent, or nobody who reads."""

from __future__ import annotations

import ast
import json
import signal

import pytest

from tests.cli.conftest import ROOT, Shell
from tests.cli.server import Stall, Text, serving
from tests.cli.test_exit_codes import running
from tests.waiting import PATIENCE
from tui_agent.core import events as ev
from tui_agent.core.endings import BY_SIGNAL, BY_YOU, UNREAD
from tui_agent.core.log import load


def details(shell: Shell) -> list[str]:
    """How the runs of the only session ended, in words."""
    (log,) = shell.sessions()
    return [event.detail for event in load(log).events if isinstance(event, ev.RunEnded)]


@pytest.mark.parametrize(
    ("number", "words"), [(signal.SIGINT, BY_YOU), *BY_SIGNAL.items()], ids=lambda value: getattr(value, "name", "")
)
def test_only_an_interrupt_is_told_as_the_person_s(shell: Shell, number: signal.Signals, words: str) -> None:
    with serving(Stall("One mo")) as server:
        shell.use(server.url)
        with running(shell, "--json", "-p", "hi") as process:
            assert server.asked.wait(PATIENCE)
            process.send_signal(number)
            out, err = process.communicate(timeout=PATIENCE)
    assert (json.loads(out)["detail"], details(shell)) == (words, [words]), err


def test_a_run_whose_output_nobody_reads_was_not_stopped_by_the_person(shell: Shell) -> None:
    with serving(Text("line\n" * 50_000)) as server:
        shell.use(server.url)
        with running(shell, "--stream-json", "-p", "hi") as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert b'"session"' in process.stdout.readline()
            process.stdout.close()
            err = process.stderr.read()
            assert (process.wait(PATIENCE), err.count(b"Traceback")) == (141, 0)
    assert details(shell) == [UNREAD]


def test_the_command_of_the_screen_is_not_advised_where_there_is_no_screen(shell: Shell) -> None:
    with serving(Text("It is long.")) as server:
        shell.use(server.url, "[limits]\nmax_context = 1000000\n")  # beside it the rest is small
        done = shell.run("--stdin", stdin="word " * 168_000)
    assert "the context is nearly full: " in done.err
    assert "/compact" not in done.err


def test_an_interrupt_while_the_first_modules_are_read_shows_no_trace(shell: Shell) -> None:
    """Also in the one-file program, before it is unpacked."""
    for first, file in (("tui_agent.cli", ROOT / "tui_agent/__main__.py"), ("zipfile", ROOT / "packaging/__main__.py")):
        code = (
            "import runpy, sys\nclass Late:\n"
            f"    def find_spec(self, name, *_):\n        if name == {first!r}: raise KeyboardInterrupt\n"
            f"sys.modules.pop({first!r}, None); sys.meta_path.insert(0, Late())\n"
            f"runpy.run_path({str(file)!r}, run_name='__main__')"
        )
        done = shell.run(command=("-c", code))
        assert (done.code, done.out, done.err) == (130, "", "")
    top = ast.parse((ROOT / "tui_agent/__main__.py").read_text(encoding="utf-8")).body
    assert [ast.unparse(node) for node in top if isinstance(node, ast.Import | ast.ImportFrom)] == ["import sys"]
