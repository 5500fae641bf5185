"""Typing ahead, pasting and resizing never answer a question; new lines never send."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.pty.terminal import CTRL_J, CTRL_P, CTRL_X, ENTER, ESC, F2, Home, Terminal, call, kinds, say

ARMING = 0.5
"""Seconds without a key after which a dialog listens."""


def writes(*names: str) -> dict[str, object]:
    return say("I will write.", *(call("write_file", path=name, content=f"{name}\n") for name in names))


def exists(home: Home, name: str) -> bool:
    return (home.project / name).exists()


def composed(t: Terminal) -> str:
    """The draft, as it stands in the composer."""
    lines = t.text.splitlines()
    start = max(n for n, line in enumerate(lines) if line.startswith("›"))
    return "\n".join(line.removeprefix("› ").strip() for line in lines[start:-2])


def typed_ahead(t: Terminal) -> tuple[int, float]:
    """Type until the question has been there for two seconds: how many keys, and the longest pause between two."""
    start = last = time.monotonic()
    shown, typed, pause = None, 0, 0.0
    while shown is None or time.monotonic() < shown + 2.0:
        t.send("y")
        now = time.monotonic()
        typed, pause, last = typed + 1, max(pause, now - last), now
        t.pump(0.04)
        if shown is None and "Create this file?" in t.text:
            shown = time.monotonic()
        assert time.monotonic() < start + 60
    return typed, max(pause, time.monotonic() - last)


def test_typing_ahead_never_approves(tmp_path: Path) -> None:
    for attempt in range(10):
        home = Home(tmp_path / str(attempt)).make()
        home.script(writes("one.txt"), say("done"))
        with Terminal(home) as t:
            t.ready().send("go")
            t.wait_for("› go")
            t.send(ENTER)
            typed, pause = typed_ahead(t)
            if pause > ARMING / 2:
                continue  # this machine was too busy to type: after such a pause a letter may well be an answer
            t.wait_for("Create this file?", "y" * typed)
            assert not exists(home, "one.txt")
            assert "answered" not in kinds(home.log())
            t.armed()
            assert composed(t) == "y" * typed, "what was typed is in the composer"
            t.send("y")
            t.until(lambda home=home: exists(home, "one.txt"), "not applied")
            t.wait_for("done", "y" * typed)
            return
    pytest.fail("this machine never let keys follow one another closely")


def test_a_paste_never_approves(home: Home) -> None:
    home.script(writes("one.txt"), say("done"))
    with Terminal(home) as t:
        t.ready().task()
        t.armed()
        t.paste("y\ny\ny\n")
        t.wait_drawn("wait…")
        t.armed()
        assert composed(t).split() == ["y", "y", "y"]
        t.send("y\ny\ny\n")  # a terminal without bracketed paste
        t.wait_drawn("wait…")
        t.armed()
        assert not exists(home, "one.txt")
        assert composed(t).split() == ["y"] * 6
        assert kinds(home.log()).count("asked") == 1
        assert "answered" not in kinds(home.log())
        t.send(ESC)
        t.wait_for("stopped")
    assert kinds(home.log()).count("user") == 1, "and it sent nothing"


def test_a_burst_answers_only_the_first_of_two_questions(home: Home) -> None:
    home.script(writes("one.txt", "two.txt"), say("done"))
    with Terminal(home) as t:
        t.ready().task()
        t.armed().wait_for("1/2", "one.txt")
        t.send("yyy")  # the last is too early for the second one
        t.wait_for("2/2", "two.txt")
        t.armed()
        assert "2/2" in t.text
        assert "answered" not in kinds(home.log())
        t.send("y")
        t.until(lambda: exists(home, "two.txt"), "not applied")
        assert exists(home, "one.txt")


def test_resizing_and_enter_and_space_answer_nothing(home: Home) -> None:
    home.script(writes("one.txt"), say("done"))
    with Terminal(home) as t:
        t.ready().task()
        t.armed()
        for size in ((60, 20), (120, 40), (100, 30)):
            t.resize(*size)
            t.wait_for("Create this file?", "one.txt")
        t.armed().send(ENTER)
        t.rest(0.1)
        t.send(" ")
        t.rest(0.1)
        t.send(b"\x1b[<0;3;9M\x1b[<0;3;9m")  # a click on the y of "y apply"
        t.send(F2 + CTRL_P + CTRL_X)  # no palette over a question
        t.armed()
        assert t.text.splitlines()[8][2:9] == "y apply"
        assert "Esc back" not in t.text
        assert "Create this file?" in t.text
        assert "answered" not in kinds(home.log())
        t.armed().send("n")
        t.wait_for("why not?")
        t.send(ESC)
        t.armed().send("s")
        t.wait_for("why later?")
        t.send(b"after lunch\r")
        t.wait_for("after lunch", "done")
        assert not exists(home, "one.txt")


def test_unseen_lines_need_a_second_y(home: Home) -> None:
    home.script(
        say("", call("write_file", path="long.txt", content="".join(f"line {n}\n" for n in range(200)))),
        say("", call("run_command", argv=["printf", "%s", "x" * 3000])),
        say("done"),
    )
    with Terminal(home, size=(80, 24)) as t:
        t.ready().task()
        t.armed().send("y")
        t.wait_for("y again:", "of 200 not seen")
        assert not exists(home, "long.txt")
        t.armed().send("y")
        t.wait_for("Run this command?", "PgDn to see the end")
        assert exists(home, "long.txt")
        t.armed().send("y")
        t.rest(0.1)
        assert "Run this command?" in t.text, "a command waits until its end was seen"
        assert kinds(home.log()).count("answered") == 1
        t.send(ESC)
        t.wait_for("stopped")


def test_bytes_that_are_no_text_end_nothing(home: Home) -> None:
    home.script(say("well"))
    with Terminal(home) as t:
        t.ready().send(b"a\xffb\xc3")
        t.rest(0.05)
        t.send(b"c")
        t.wait_for("› a\ufffdb\ufffdc")
        t.paste("d")
        t.send(b"\x1b[200~\xe4\xf6 e\x1b[201~")
        t.wait_for("› a\ufffdb\ufffdcd\ufffd\ufffd e")
        assert t.process.poll() is None


@pytest.mark.parametrize(
    "keys",
    [CTRL_J, b"\x1b[13;2u", b"\x1b[27;2;13~", b"\x1b\r", b"\x1b[13;3u"],
    ids=["Ctrl+J", "Shift+Enter CSI u", "Shift+Enter xterm", "Alt+Enter", "Alt+Enter CSI u"],
)
def test_new_lines(shared: tuple[Terminal, Home], keys: bytes) -> None:
    t, home = shared
    t.send("above")
    t.wait_for("› above")
    t.send(keys)
    t.rest(0.15)
    t.send("below")
    t.wait_for("below")
    assert composed(t) == "above\nbelow"
    assert not [log for log in home.logs() if "user" in kinds(log)]
    t.send(b"\x03")
    t.wait_for("Put away", "State a task")


def test_pastes_keep_their_lines_and_send_nothing(shared: tuple[Terminal, Home]) -> None:
    t, home = shared
    t.paste("first line\r\nsecond line\r\n")
    t.wait_for("first line", "second line")
    t.send(b"\x03")
    t.wait_for("State a task")
    t.send("alpha beta\rgamma delta\repsilon\r")  # the same without brackets
    t.wait_for("alpha beta", "epsilon")
    t.rest(0.1)
    assert composed(t).split("\n")[:3] == ["alpha beta", "gamma delta", "epsilon"]
    assert not [log for log in home.logs() if "user" in kinds(log)]
    t.send(b"\x03")
    t.wait_for("State a task")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> object:
    """One program for the tests that only look at the composer."""
    home = Home(Path(tmp_path_factory.mktemp("shared"))).make()
    home.script(say("done"))
    with Terminal(home) as t:
        yield t.ready(), home
