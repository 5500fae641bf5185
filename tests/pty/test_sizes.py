"""Small and large terminals, and one that is dragged about while a question is open."""

from __future__ import annotations

import random
import re

import pytest

from tests.pty.terminal import ESC, F2, Home, Terminal, call, kinds, say

LINES = "".join(f"line {n}\n" for n in range(12))


def script(home: Home) -> None:
    home.script(
        say("I will write a file with twelve lines.", call("write_file", path="a.txt", content=LINES)),
        say("That is written."),
    )


@pytest.mark.parametrize("size", [(40, 20), (80, 24), (120, 40)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_everything_that_must_be_seen_is_there(home: Home, size: tuple[int, int]) -> None:
    script(home)
    with Terminal(home, size=size) as t:
        t.wait_for("ask", "$0.00", "State a task", "ready")
        t.send(F2)
        t.wait_for("Esc back")
        t.send(ESC)
        t.wait_gone("Esc back")
        t.task()
        t.armed().wait_for("Create this file?", "a.txt", "y apply", "n no", "s skip", "Esc no and stop", "›")
        t.send("y")
        t.until(lambda: "y again" in t.text or "That is written." in t.text, "neither applied nor asked for again")
        if "y again" in t.text:
            t.armed().send("y")
        t.wait_for("That is written.", "unverified")
        assert (home.project / "a.txt").read_text() == LINES


def test_too_small_says_so_and_approves_nothing(home: Home) -> None:
    script(home)
    with Terminal(home, size=(100, 30)) as t:
        t.ready().task()
        t.armed()
        t.resize(30, 8)
        t.wait_for("too small to approve")
        t.rest(0.6)
        t.send("y")
        t.rest(0.6)
        assert "answered" not in kinds(home.log())
        t.resize(100, 30)
        t.armed().wait_for("Create this file?")
        t.send("y")
        t.wait_for("That is written.")


def test_a_program_that_starts_too_small_works_when_it_grows(home: Home) -> None:
    script(home)
    with Terminal(home, size=(30, 8)) as t:
        t.wait_for("too small: needs 36x10")
        t.rest(0.5)  # nothing is shown of the composer, and nothing is written before there is something to keep
        t.task()
        t.wait_for("too small to approve")
        for size in ((36, 10), (40, 12), (50, 12)):
            t.resize(*size)
            t.armed().wait_for("Create this file?", "y apply", "Esc no and stop")
            assert not set(t.text) & set("▁▂▃▄▅▆▇█"), "nothing scrolls but the text of the question"
        t.send(ESC)
        t.wait_for("stopped")


def test_a_storm_of_sizes(home: Home) -> None:
    script(home)
    dice = random.Random(7)
    with Terminal(home) as t:
        t.ready().task()
        t.armed()
        for _ in range(200):
            t.resize(dice.randint(1, 200), dice.randint(1, 60))
            t.pump(0.005)
        for size in ((1, 1), (2, 3), (200, 60), (100, 30)):
            t.resize(*size)
            t.rest()
        t.armed().wait_for("Create this file?", "line 11", "y apply")
        assert "answered" not in kinds(home.log())
        t.send("y")
        t.wait_for("That is written.")
        t.send("/quit\r")
        assert t.ended() == 0
        t.assert_given_back()


def colours(t: Terminal) -> set[str]:
    """The colours with a hue that were written."""
    cube = {int(n) for n in re.findall(rb"[34]8;5;(\d+)", t.raw)}
    true = {tuple(map(int, rgb)) for rgb in re.findall(rb"[34]8;2;(\d+);(\d+);(\d+)", t.raw)}
    grey = {16, 59, 102, 145, 188, 231, *range(232, 256)}
    return {str(n) for n in cube - grey} | {str(rgb) for rgb in true if max(rgb) - min(rgb) > 12}


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_place_text_is_refused_in_a_sentence(home: Home, term: str) -> None:
    with Terminal(home, env={"TERM": term}) as t:
        assert t.ended() == 5
        t.wait_for("needs a terminal that can place text", "--accessible")
        assert b"\x1b[?1049h" not in t.raw, "the terminal was never taken"


@pytest.mark.parametrize(
    "env",
    [{"NO_COLOR": "1"}, {"TERM": "vt100", "LANG": "C", "LC_ALL": "C"}],
    ids=["NO_COLOR", "vt100 and LANG=C"],
)
def test_odd_terminals(home: Home, env: dict[str, str]) -> None:
    script(home)
    with Terminal(home, env=env) as t:
        t.ready().task("grüße")
        t.armed().send("y")
        t.wait_for("That is written.")
        if "NO_COLOR" in env:
            assert colours(t) == set(), "only shades of grey are left"
        t.send("/quit\r")
        assert t.ended() == 0
        t.assert_given_back()
