"""Questions on a terminal of their own: what is shown before them, and what counts as an answer."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import Shell
from tests.cli.server import Calls, Text, call, serving
from tests.waiting import PATIENCE
from tui_agent.core.types import RunArgv, RunScript, WriteBytes
from tui_agent.questions import SHOWN, view

QUESTION = b" > "
EDIT = call("write_file", path="a.txt", content="one\ntwo\n")


@dataclass
class Seat:
    """A person at a terminal that the program has for its own; stdin and stdout are files."""

    pid: int
    master: int
    folder: Path
    seen: bytes = b""

    def until(self, text: bytes, times: int = 1) -> bytes:
        """Wait until this was on the screen so often; everything seen so far."""
        deadline = time.monotonic() + PATIENCE
        while self.seen.count(text) < times:
            assert self.read(deadline), self.seen
        return self.seen

    def read(self, deadline: float) -> bool:
        if not select.select([self.master], [], [], max(0, deadline - time.monotonic()))[0]:
            raise AssertionError(f"nothing more came: {self.seen!r}")
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the program has ended
            return False
        self.seen += data
        return bool(data)

    def type(self, text: bytes) -> None:
        os.write(self.master, text)

    def end(self) -> int:
        """Wait for the program; its exit code."""
        while self.read(time.monotonic() + PATIENCE):
            pass
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text(encoding="utf-8")


@contextmanager
def seated(
    shell: Shell, *words: str, out: bool = True, env: Mapping[str, str | None] = MappingProxyType({"NO_COLOR": "1"})
) -> Iterator[Seat]:
    """The program with a terminal for stderr and questions, stdin with a misleading "y" in it, and stdout in a file.

    With `out` False stdout is the terminal, too.
    """
    (shell.base / "in").write_text("y\n" * 50)
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(shell.work)
        os.dup2(os.open(shell.base / "in", os.O_RDONLY), 0)
        if out:
            os.dup2(os.open(shell.base / "out", os.O_WRONLY | os.O_CREAT, 0o600), 1)
        os.execve(sys.executable, [sys.executable, "-m", "tui_agent", *words], shell.environment(env))
    seat = Seat(pid, master, shell.base)
    try:
        yield seat
    finally:
        if seat.pid:
            os.kill(seat.pid, signal.SIGKILL)
            os.waitpid(seat.pid, 0)
        os.close(master)


def test_yes_after_the_whole_diff(shell: Shell) -> None:
    with serving(EDIT, Text("Done.")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write") as seat:
            before = seat.until(QUESTION)
            assert b"create  a.txt  +2 -0" in before
            assert b"    +one\r\n    +two\r\n" in before
            assert b"(all 2 changed lines shown)" in before
            assert not (shell.work / "a.txt").exists()
            seat.type(b"y\n")
            assert seat.end() == 0
    assert (shell.work / "a.txt").read_text() == "one\ntwo\n"
    assert seat.out == "Done.\n"


@pytest.mark.parametrize(
    ("words", "env", "coloured"),
    [
        ((), {}, True),
        (("--plain",), {}, False),
        (("--no-color",), {}, False),
        ((), {"NO_COLOR": "1"}, False),
        ((), {"TERM": "dumb"}, False),
        ((), {"TERM": None}, False),
    ],
    ids=str,
)
@pytest.mark.parametrize("form", [("--yes",), ("--dry-run",), ()], ids=str)
def test_a_diff_has_colours_where_it_may(
    shell: Shell, words: tuple[str, ...], env: dict[str, str | None], coloured: bool, form: tuple[str, ...]
) -> None:
    with serving(EDIT, Text("+Done.")) as server:
        shell.use(server.url)
        with seated(shell, *words, *form, "-p", "write", env=env) as seat:
            if not form:
                seat.until(QUESTION)
                seat.type(b"q\n")
            seat.end()
    shown = b"\x1b[36m    @@ -0,0 +1,2 @@\x1b[0m\r\n\x1b[32m    +one\x1b[0m\r\n"
    assert (shown in seat.seen) is coloured
    assert (b"\x1b" in seat.seen) is coloured
    assert "\x1b" not in seat.out


@pytest.mark.parametrize(
    ("letter", "reason", "told"),
    [
        (b"n", b"not like this", "user rejected the change: not like this"),
        (b"NO", b"", "user rejected the change"),
        (b"s", b"later", "user skipped: later"),
        (b"skip", b"", "user skipped"),
    ],
)
def test_no_and_skip_with_a_reason(shell: Shell, letter: bytes, reason: bytes, told: str) -> None:
    with serving(EDIT, Text("All right.")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write") as seat:
            seat.until(QUESTION)
            seat.type(letter + b"\n")
            seat.until(b"why? ")
            seat.until(QUESTION, 2)
            seat.type(reason + b"\n")
            assert seat.end() == 3
    assert server.told() == [told]
    assert not (shell.work / "a.txt").exists()
    assert "was refused or left out: create  a.txt" in seat.seen.decode()


@pytest.mark.parametrize("typed", [b"q\n", b"\x04"], ids=["q", "EOF"])
def test_stop_ends_the_run_and_asks_nothing_more(shell: Shell, typed: bytes) -> None:
    three = Calls(tuple(("write_file", {"path": f"{n}.txt", "content": "x\n"}) for n in "abc"))
    with serving(three, Text("never asked for")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write") as seat:
            assert b"apply? 1/3" in seat.until(QUESTION)
            seat.type(b"y\n")
            assert b"apply? 2/3" in seat.until(QUESTION, 2)
            seat.type(typed)
            assert seat.end() == 3
    assert len(server.bodies) == 1
    assert b"3/3" not in seat.seen
    assert [p.name for p in shell.work.iterdir()] == ["a.txt"]


def test_anything_else_asks_again(shell: Shell) -> None:
    with serving(EDIT, Text("Done.")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write") as seat:
            for count, garbage in enumerate([b"", b"maybe", b"yn", b" ", "ä\xff".encode("latin-1"), b"?"], 1):
                seat.until(QUESTION, count)
                seat.type(garbage + b"\n")
            seat.until(QUESTION, 7)
            assert not (shell.work / "a.txt").exists()
            seat.type(b" Yes \n")
            assert seat.end() == 0


def test_what_was_typed_ahead_is_no_answer(shell: Shell) -> None:
    both = Calls(tuple(("write_file", {"path": f"{n}.txt", "content": "x\n"}) for n in "ab"))
    with serving(both, Text("Done.")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write") as seat:
            seat.type(b"y\ny\ny\n")
            seat.until(QUESTION)
            time.sleep(0.3)
            assert seat.seen.count(QUESTION) == 1
            seat.type(b"y\ny\n")  # a paste answers one question
            seat.until(QUESTION, 2)
            time.sleep(0.3)
            assert not (shell.work / "b.txt").exists()
            seat.type(b"q\n")
            assert seat.end() == 3


def test_an_interrupt_at_a_question_acts_at_once(shell: Shell) -> None:
    with serving(EDIT, Text("no")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write") as seat:
            seat.until(QUESTION)
            seat.type(b"\x03")
            assert seat.end() == 130
    assert not (shell.work / "a.txt").exists()
    ending = next(line for line in seat.seen.decode().splitlines() if "stopped" in line)
    assert ending.strip().startswith("stopped"), "it stands on a line of its own, not behind the question"
    assert "not made good" not in seat.seen.decode(), "it was never carried out"
    assert b"Traceback" not in seat.seen


def test_a_terminal_that_hangs_up_means_no(shell: Shell) -> None:
    with serving(EDIT, Text("no")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write") as seat:
            seat.until(QUESTION)
            os.kill(seat.pid, signal.SIGHUP)
            assert seat.end() == 129
    assert not (shell.work / "a.txt").exists()


def test_the_terminal_is_left_as_it_was(shell: Shell) -> None:
    with serving(EDIT, Text("Done.")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write") as seat:
            before = termios.tcgetattr(seat.master)
            seat.until(QUESTION)
            assert termios.tcgetattr(seat.master) == before
            seat.type(b"y\n")
            assert seat.end() == 0


def test_escapes_never_reach_the_terminal(shell: Shell) -> None:
    evil = "\x1b]52;c;AAAA\x07 \u202e \x9b31m\r\n\u2028+fake\u200b\x1b[2J\n"
    shell.write("b.txt", evil)
    calls = Calls(
        (
            ("write_file", {"path": "a\x1b[2J\n+.txt", "content": evil}),
            ("write_file", {"path": "c.txt", "content": evil}),
            ("write_file", {"path": "b.txt", "content": evil * 2}),
            ("run_command", {"argv": ["echo", evil]}),
            ("run_shell", {"script": evil}),
        ),
        evil,
    )
    with serving(call("read_file", path="b.txt"), calls, Text(evil)) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write", out=False) as seat:
            for number in (1, 2):
                seat.until(QUESTION, number)
                seat.type(b"y\n")
            seat.end()
    shown = seat.seen.decode("utf-8")
    assert not any(c in shown for c in "\x1b\x07\u202e\x9b\u2028\u200b")
    assert "<ESC>" in shown


@pytest.mark.parametrize("together", [True, False], ids=["both seen", "stdout elsewhere"])
def test_the_answer_stands_apart_where_both_are_seen_together(shell: Shell, together: bool) -> None:
    with serving(Text("Done.")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "hi", out=not together) as seat:
            assert seat.end() == 0
    assert (b"\r\n\r\nDone.\r\n\r\n  completed" in seat.seen) is together
    assert (b"\r\n\r\n" in seat.seen) is together
    assert together or seat.out == "Done.\n"


def test_a_very_long_diff_needs_two_yes_or_a_look(shell: Shell) -> None:
    long = call("write_file", path="a.txt", content="".join(f"line {n}\n" for n in range(900)))
    with serving(long, Text("Done.")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write") as seat:
            seat.until(QUESTION)
            assert b"... 500 of 900 changed lines not shown" in seat.seen
            assert b"line 399\r\n" in seat.seen
            assert b"line 400\r\n" not in seat.seen
            seat.type(b"y\n")
            seat.until(b"y again: 500 of 900 not seen")
            seat.until(QUESTION, 2)
            assert not (shell.work / "a.txt").exists()
            seat.type(b"?\n")
            seat.until(b"line 899\r\n")
            seat.until(QUESTION, 3)
            assert b"(all 900 changed lines shown)" in seat.seen
            seat.type(b"y\n")
            assert seat.end() == 0
        (shell.work / "a.txt").unlink()
    with serving(long, Text("Done.")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write") as seat:
            for count in (1, 2):
                seat.until(QUESTION, count)
                seat.type(b"y\n")
            assert seat.end() == 0
    assert (shell.work / "a.txt").exists()


def test_a_long_diff_with_hidden_characters_must_be_seen(shell: Shell) -> None:
    text = "".join(f"line {n}\n" for n in range(500)) + "evil = 'a\u202eb'\n"
    with serving(call("write_file", path="a.py", content=text), Text("Done.")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write") as seat:
            for count in (1, 2, 3):
                seat.until(QUESTION, count)
                seat.type(b"y\n")
            seat.until(QUESTION, 4)
            assert not (shell.work / "a.py").exists()
            seat.type(b"?\n")
            seat.until(QUESTION, 5)
            assert b"<U+202E>" in seat.seen or b"<RLO>" in seat.seen
            seat.type(b"y\n")
            assert seat.end() == 0


def test_why_an_action_is_asked_about_is_said(shell: Shell) -> None:
    shell.write(".env", "TOKEN=1\n")
    with serving(call("read_file", path=".env"), Text("Done.")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "read") as seat:
            seat.until(QUESTION)
            assert b"read  .env\r\n    careful: " in seat.seen
            assert b"  allow? y yes" in seat.seen
            seat.type(b"y\n")
            assert seat.end() == 0


def test_the_check_is_asked_for_when_the_folder_is_not_trusted(shell: Shell) -> None:
    with serving(EDIT, Text("Done.")) as server:
        shell.use(server.url, f"[checks]\n'{shell.work}' = ['touch', 'checked']")
        with seated(shell, "-p", "write") as seat:
            seat.until(QUESTION)
            seat.type(b"y\n")
            assert b"touch checked\r\n" in seat.until(QUESTION, 2)
            seat.type(b"y\n")
            assert seat.end() == 0
    assert (shell.work / "checked").exists()


# ------------------------------------------------------------------ what is shown, without a terminal


def test_a_line_separator_inside_a_line_starts_no_line_of_the_diff() -> None:
    shown = view(WriteBytes("a", b"", "x\u2028-y\x0c-z\x85-w\r-v\n".encode())).head
    assert len(shown) == 2
    assert [line[4] for line in shown] == ["@", "+"]


@pytest.mark.parametrize(
    ("base", "new", "lines"),
    [
        (None, b"a\n", ["@@ -0,0 +1,1 @@", "+a"]),
        (b"a\n", None, ["@@ -1,1 +0,0 @@", "-a"]),
        (None, b"", ["(an empty file)"]),
        (b"a\nb", b"a\nc\n", ["@@ -1,2 +1,2 @@", " a", "-b  <- no newline at end", "+c"]),
        (b"a\r\nb\n", b"a\nb\n", ["@@ -1,2 +1,2 @@", "-a  <- CRLF", "+a  <- LF", " b  <- LF"]),
        (b"a\0", b"b\0b", ["binary, cannot be shown: 2 bytes -> 3 bytes"]),
    ],
)
def test_a_diff_says_what_its_text_does_not_show(base: bytes | None, new: bytes | None, lines: list[str]) -> None:
    assert [line[4:] for line in view(WriteBytes("a", base, new)).head] == lines


def test_commands_are_shown_word_by_word_with_their_terms() -> None:
    assert view(RunArgv(("rm", "-r", "a b"), 120.0)).head == (
        "    rm -r 'a b'",
        "    (no shell, not sandboxed, stopped after 120 s)",
    )
    assert view(RunScript("cd /\nrm x", 5.0)).head[:2] == ("    cd /", "    rm x")


LINES = st.lists(st.text("ab \t\r\x1b\u202e\u2028", max_size=4), max_size=12)


@given(LINES, LINES, st.integers(1, 8))
def test_what_is_printed_and_what_is_held_back_is_the_whole_change(old: list[str], new: list[str], limit: int) -> None:
    base, after = ("".join(line + "\n" for line in lines).encode() for lines in (old, new))
    effect = WriteBytes("a", base, after)
    cut, whole = view(effect, limit), view(effect)
    assert SHOWN > 24
    assert cut.head + cut.rest == whole.head
    assert whole.rest == ()
    marked = [line for line in cut.head if line[4] in "+-"]
    assert (len(marked), cut.unseen) == (min(limit, cut.changed), max(0, cut.changed - limit))
    assert all(line.isprintable() or "\t" in line for line in whole.head)
    assert (f"{cut.unseen} of {cut.changed} changed lines not shown" in cut.printed()) is (cut.unseen > 0)


def test_a_file_that_agents_or_builds_read_is_named_as_such(shell: Shell) -> None:
    with serving(call("write_file", "I write.", path="AGENTS.md", content="x\n"), Text("Done.")) as server:
        shell.use(server.url)
        with seated(shell, "-p", "write") as seat:
            assert b"careful: agents read this file as instructions" in seat.until(QUESTION)
            seat.type(b"n\n")
            seat.until(b"why? ")
            seat.type(b"\n")
            assert seat.end() == 3
