"""In a real terminal: hunks of a question, an editor in between, the review pane, and who is called when away."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.pty.terminal import CTRL_C, ENTER, ESC, Home, Terminal, call, say

FOCUS_OUT, FOCUS_IN = b"\x1b[O", b"\x1b[I"
F4 = b"\x1bOS"
OLD = "".join(f"{n}\n" for n in range(30))


def edits(home: Home) -> None:
    """A model that reads a file, then changes it in two places."""
    (home.project / "a.txt").write_text(OLD, encoding="utf-8")
    changes = [{"old": "\n5\n", "new": "\nfive\n"}, {"old": "\n25\n", "new": "\ntwentyfive\n"}]
    home.script(
        say("I read.", call("read_file", path="a.txt")),
        say("Both places.", call("multi_edit", path="a.txt", edits=changes)),
        say("done"),
    )


def content(home: Home) -> str:
    return (home.project / "a.txt").read_text(encoding="utf-8")


def titles(t: Terminal) -> list[str]:
    """Every title that was given, in order."""
    return [part.partition(b"\a")[0].decode() for part in t.raw.split(b"\x1b]2;")[1:]]


def bells(t: Terminal) -> int:
    """How often it rang: the same byte ends a title."""
    return re.sub(rb"\x1b\][^\a]*\a", b"", t.raw).count(b"\a")


def told(home: Home) -> str:
    return "\n".join(event.get("text", "") for event in home.log() if event["type"] == "tool")


def test_a_hunk_is_left_out_with_a_note(home: Home) -> None:
    edits(home)
    with Terminal(home) as t:
        t.ready().task()
        t.wait_for("hunk 1/2")
        t.armed().keys("]")
        t.send(" ")
        t.wait_for("takes 1 of 2 hunks")
        t.keys("Y")
        t.wait_for("yes, with this note")
        t.send("only the first")
        t.send(ENTER)
        t.wait_for("done")
        assert content(home) == OLD.replace("\n5\n", "\nfive\n")
        assert "left out by the user: hunk 2" in told(home)
        assert "note from the user: only the first" in told(home)


def test_after_other_sizes_only_what_can_be_scrolled_is_offered(home: Home) -> None:
    (home.project / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    home.script(
        say("I read.", call("read_file", path="a.txt")),
        say("One line.", call("edit_file", path="a.txt", old="two", new="2")),
    )
    with Terminal(home, size=(80, 24)) as t:
        t.ready().task()
        t.armed()
        for _ in range(3):
            for size in ((40, 20), (30, 8), (200, 50), (1, 1), (80, 24)):
                t.resize(*size)
                t.rest()
        t.armed()
        t.wait_gone("PgUp PgDn scroll")


def test_an_edited_text_is_asked_again_and_the_terminal_comes_back(home: Home, tmp_path: Path) -> None:
    edits(home)
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!{sys.executable}\nimport sys\nprint('THIS IS THE EDITOR', flush=True)\n"
        "text = open(sys.argv[-1]).read()\nopen(sys.argv[-1], 'w').write(text.replace('five', 'FIVE', 1))\n",
        encoding="utf-8",
    )
    editor.chmod(0o755)
    with Terminal(home, env={"EDITOR": str(editor)}) as t:
        t.ready().task()
        t.wait_for("hunk 1/2")
        t.armed().send("e")
        t.until(lambda: b"THIS IS THE EDITOR" in t.raw, "the editor never ran")
        t.wait_for("FIVE")
        assert content(home) == OLD
        t.armed().send("y")
        t.wait_for("done")
        assert "FIVE" in content(home)
        assert "the user edited your text" in told(home)
        assert "+FIVE" in told(home)
        asked = [event for event in home.log() if event["type"] == "asked"]
        assert len({event["digest"] for event in asked}) == 2


def test_a_failing_editor_changes_nothing(home: Home) -> None:
    edits(home)
    with Terminal(home, env={"EDITOR": "false"}) as t:
        t.ready().task()
        t.wait_for("hunk 1/2")
        t.armed().send("e")
        t.wait_for("false ended with 1")
        t.armed().send("y")
        t.wait_for("done")
        assert "twentyfive" in content(home)


def test_review_take_back_and_note(home: Home) -> None:
    edits(home)
    with Terminal(home) as t:
        t.ready().task()
        t.wait_for("hunk 1/2")
        t.armed().send("y")
        t.wait_for("done")
        t.ready().send(F4)
        t.wait_for("1 file +2 -2", "hunk 1/2")
        t.keys("]u")
        t.wait_for("u again takes back hunk 2")
        t.send("u")
        t.until(lambda: "twentyfive" not in content(home), "never taken back")
        assert content(home) == OLD.replace("\n5\n", "\nfive\n")
        t.wait_for("hunk 1/1")
        t.keys("[jm")
        t.wait_for("Enter keep")
        t.keys("why?")
        t.send(ENTER)
        t.wait_for("notes 1")
        t.send(ESC)
        t.wait_for("Notes on your changes:", "a.txt:6", "> five", "why?")


def test_who_is_away_is_called_once_and_who_is_here_is_not(home: Home) -> None:
    edits(home)
    with Terminal(home) as t:
        t.ready().task()
        t.wait_for("hunk 1/2")
        assert bells(t) == 0, "the person is here"
        t.send(FOCUS_OUT)
        t.until(lambda: titles(t)[-1].startswith("[!] project - "), "nothing of the question")
        t.send(FOCUS_IN)
        t.until(lambda: titles(t)[-1] == "[!] project", "the title still calls")
        assert bells(t) == 0, "the question was there before"
        t.armed().send(b"y" + FOCUS_OUT)
        t.wait_for("done")
        t.until(lambda: titles(t)[-1].startswith("project - "), "no title")
        assert bells(t) == 1
        t.send(FOCUS_IN)
        t.until(lambda: titles(t)[-1] == "project", "the title still calls")


def test_the_title_says_how_it_stands_and_is_given_back(home: Home) -> None:
    edits(home)
    with Terminal(home) as t:
        t.ready().task()
        t.wait_for("hunk 1/2")
        t.until(lambda: titles(t)[-1] == "[!] project", "nothing of the question")
        t.armed().send("y")
        t.wait_for("done")
        t.until(lambda: titles(t)[-1] == "project", "not idle")
        assert titles(t) == ["project", "… project", "[!] project", "… project", "project"]
        t.send(CTRL_C + CTRL_C)
        assert t.ended() == 0
        assert (t.raw.count(b"\x1b[22;2t"), t.raw.count(b"\x1b[23;2t")) == (1, 1)
        assert t.raw.rindex(b"\x1b[23;2t") > t.raw.rindex(b"\x1b]2;")


def test_the_title_can_be_left_alone(home: Home) -> None:
    home.script(say("done"), more="[ui]\ntitle = false\n")
    with Terminal(home) as t:
        t.ready().task()
        t.wait_for("done")
        t.send(CTRL_C + CTRL_C)
        assert t.ended() == 0
        assert b"\x1b]2;" not in t.raw
        assert b"\x1b[22;2t" not in t.raw


def test_a_question_calls_with_what_it_is_about(home: Home) -> None:
    edits(home)
    with Terminal(home) as t:
        t.ready().send("go")
        t.wait_for("› go")
        t.send(ENTER + FOCUS_OUT)
        t.wait_for("hunk 1/2")
        t.until(lambda: "edit a.txt +2 -2" in " ".join(titles(t)[-1].split()), "not what it is about")
        assert titles(t)[-1].startswith("[!] project - ")


def test_the_pager_shows_the_whole_change_and_the_terminal_comes_back(home: Home, tmp_path: Path) -> None:
    edits(home)
    pager = tmp_path / "pager"
    pager.write_text(
        f"#!{sys.executable}\nimport sys\nprint('PAGER', open(sys.argv[-1]).read().count('@@'), flush=True)\n"
    )
    pager.chmod(0o755)
    with Terminal(home, env={"PAGER": str(pager)}) as t:
        t.ready().task()
        t.wait_for("hunk 1/2")
        t.armed().keys("o")
        t.until(lambda: b"PAGER 4" in t.raw, "the pager never ran")
        t.wait_for("Apply this edit?")
        t.armed().keys("y")
        t.wait_for("done")
        assert "twentyfive" in content(home)
