"""Receipts, undo and the trust card in a real terminal: hostile names and contents act on nothing."""

from __future__ import annotations

import re

from tests.fixtures.repository import looks_like_one
from tests.pty.terminal import CTRL_X, ENTER, ESC, Home, Terminal, call, say
from tests.pty.test_display import assert_clean, inputs, through

NAMES = ["o\u202ed\u3000d.txt", "[@click=app.quit]x[/].txt", "a\u200bb.txt", "e\u0301\u0301\u0301.txt", "plain.txt"]


def shown_name(text: str) -> str:
    return re.sub("[\0-\x1f\x7f-\x9f]", "", text)


def test_receipts_and_undo_of_hostile_names_and_contents(home: Home) -> None:
    content = "\n".join(text[:300] for text in inputs()).replace("\0", "")
    words = [shown_name(text) for text in inputs()][:40]
    writes = [call("write_file", path=name, content=content) for name in NAMES]
    home.script(
        say("", *writes, call("run_command", argv=["echo", *words])),
        say("that was all"),
        more='[permissions]\nwrite = "allow"\nrun = "allow"\n',
    )
    task = "go [b]bold[/] e\u0301"
    with Terminal(home, size=(120, 50)) as t:
        t.ready()
        t.paste(task)
        t.rest(0.1)
        t.send(ENTER)

        def asks() -> bool:
            return "y n s work now" in t.text and "wait…" not in t.text

        while True:
            t.until(lambda: "that was all" in t.text or asks(), "nothing came")
            if "that was all" in t.text:
                break
            t.armed()  # a hidden character in a name, or a command, is asked about
            through(t, 8)
            t.armed().send("y")
            t.rest(0.1)  # answered, or not seen to its end yet
        t.send("/receipts\r")
        t.wait_for("Receipts of this session")
        through(t, 4)
        t.send(ESC)
        t.wait_gone("Receipts of this session")
        t.send(CTRL_X + b"u")
        t.wait_for("back to before which message?")
        t.send(ENTER)
        t.wait_for("will be deleted")
        t.send("v")
        t.wait_for("now → after")
        through(t, 6)
        t.send(ESC)
        t.wait_for("will be deleted")
        t.send("u")
        t.wait_for("undone")
        t.rest(0.1)
        assert_clean(t)
    assert [path for path in home.project.rglob("*") if path.is_file()] == []


def test_the_trust_card_and_its_view(home: Home) -> None:
    hostile = "\n".join(inputs()).replace("\0", "")
    folder = home.project / ".tui_agent"
    folder.mkdir()
    keys = "".join(
        f'"{shown_name(text).replace(chr(92), "").replace(chr(34), "")[:40]}{n}" = 1\n'
        for n, text in enumerate(inputs())
    )
    (folder / "config.toml").write_text(keys + '[checks]\n"." = ["echo", "\\u202e", "\\u001b[2J"]\n', encoding="utf-8")
    (home.project / "AGENTS.md").write_text(hostile, encoding="utf-8", newline="")
    git = looks_like_one(home.project)
    (git / "config").write_text('[filter "e\x1b[2Jv\u202e"]\n clean = x\n[alias]\n x = !y\n', encoding="utf-8")
    home.configure('[profiles.script]\ntype = "scripted"\nendpoint = "/nowhere.json"\n')
    with Terminal(home, size=(100, 30)) as t:
        t.wait_for("Do you trust this folder?", "restricted (default)")
        through(t, 8)
        for _ in range(3):
            t.send("v")
            t.wait_for("Esc close")
            through(t, 4)
            t.send(ESC)
            t.wait_for("restricted (default)")  # it listens again
            t.send(b"\x1b[B")
            t.rest()
        t.send("r")
        t.rest(0.1)
        assert_clean(t)


def test_what_was_killed_is_told_and_can_be_undone(home: Home) -> None:
    (home.project / "u.txt").write_text("u0\n")
    home.script(
        say("", call("read_file", path="u.txt")),
        say("", call("write_file", path="u.txt", content="u1\n")),
    )
    with Terminal(home, size=(120, 40), env={"TUI_AGENT_FAULT": "fsync_dir:1"}) as t:
        t.ready()
        t.task("go")
        t.wait_for("Apply")
        t.armed().send("y")
        t.ended()
    assert (home.project / "u.txt").read_text() == "u1\n"
    with Terminal(home, ["--continue"], size=(120, 40)) as t:
        t.ready()
        t.wait_for("interrupted, but it was done")
        t.send("/receipts\r")
        t.wait_for("write_file  u.txt", "interrupted")
        t.send(ESC)
        t.wait_gone("Receipts of this session")
        t.send("/undo\r")
        t.wait_for("back to before which message?")
        t.send(ENTER)
        t.wait_for("will be restored")
        t.send("u")
        t.wait_for("undone")
    assert (home.project / "u.txt").read_text() == "u0\n"
