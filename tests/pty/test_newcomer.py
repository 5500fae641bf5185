"""Somebody who has read nothing: every key that is pressed here stood on the screen, with what it does, a moment before."""

from __future__ import annotations

import json

import pytest

from tests.pty.terminal import CTRL_C, ENTER, F2, Home, Terminal, call, say

KEYS = {"Enter": ENTER, "F2": F2, "Ctrl+C": CTRL_C}


def press(t: Terminal, hint: str) -> None:
    """Press the key that the screen names in these words."""
    t.wait_for(hint)
    key = hint.partition(" ")[0]
    t.send(KEYS.get(key, key.encode()))


def choose(t: Terminal, words: str, line: str) -> None:
    """Find a command by words of one's own, and run it."""
    press(t, "F2 commands")
    t.wait_for("Commands", "↑↓ choose")
    t.send(words)
    t.wait_for(line)
    press(t, "Enter run")


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_a_newcomer_works_changes_who_answers_undoes_quits_and_comes_back(home: Home, size: tuple[int, int]) -> None:
    (home.project / "a.txt").write_text("old\n")
    work = [say("", call("read_file", path="a.txt")), say("", call("edit_file", path="a.txt", old="old", new="new"))]
    for name, replies, after in (("first", work, "I changed it."), ("second", [], "I am another one.")):
        (home.base / f"{name}.json").write_text(json.dumps({"replies": replies, "after": {"text": after}}))
    home.configure(
        "\n".join(
            f'[profiles.{name}]\ntype = "scripted"\nmodel = "m-{name}"\nendpoint = "{home.base}/{name}.json"\n'
            for name in ("first", "second")
        )
    )
    with Terminal(home, size=size) as t:
        t.wait_for("Do you trust this folder?")
        t.listens()  # the question is deaf to what was typed before it came
        press(t, "r restricted")
        t.ready()
        t.send("change the file")
        press(t, "Enter send")
        t.wait_for("Apply this edit?")
        t.armed()
        press(t, "y apply")
        t.wait_for("I changed it.")
        assert (home.project / "a.txt").read_text() == "new\n"

        choose(t, "provider", "Switch provider")
        t.wait_for("second", "m-second")
        t.send("second")
        t.wait_for("Next message goes to second.")
        press(t, "Enter switch")
        t.ready()
        t.send("who are you")
        press(t, "Enter send")
        t.wait_for("I am another one.")

        choose(t, "undo", "Undo changes of files")
        t.wait_for("back to before which message?")
        press(t, "Enter see what it would do")
        press(t, "u undo now")
        t.wait_for("undone")
        assert (home.project / "a.txt").read_text() == "old\n"
        press(t, "Ctrl+C twice quits")
        press(t, "Ctrl+C again to quit")
        assert t.ended() == 0
        t.assert_given_back()

    with Terminal(home, size=size) as t:
        t.ready()
        choose(t, "resume", "Sessions: resume")
        t.wait_for("change the file")
        press(t, "Enter resume")
        t.wait_for("I am another one.", "undone")
        t.ready()
        press(t, "Ctrl+C twice quits")
        press(t, "Ctrl+C again to quit")
        assert t.ended() == 0
        t.assert_given_back()
