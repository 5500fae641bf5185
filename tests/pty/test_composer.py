"""The composer in a real terminal: the cursor for an input method, completion, and what outlives the program."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.pty.server import StallingServer
from tests.pty.terminal import CTRL_C, ENTER, ESC, TAB, Home, Terminal, call, kinds, say
from tests.waiting import PATIENCE
from tui_agent.ui.terminal import STOP_SECONDS

UP, CTRL_R, CTRL_G, CTRL_W, CTRL_Y = b"\x1b[A", b"\x12", b"\x07", b"\x17", b"\x19"


def users(home: Home) -> list[str]:
    """The messages that were sent, of all sessions."""
    return [str(event["text"]) for log in home.logs() for event in log if event["type"] == "user"]


def draft_row(t: Terminal) -> int:
    return max(row for row, line in enumerate(t.text.splitlines()) if line.startswith("›"))


def test_the_terminals_own_cursor_stands_behind_the_draft_while_the_answer_streams(home: Home) -> None:
    """There an input method shows its candidates; a wide character is two cells."""
    with StallingServer(drip="word ") as server:
        home.serve(server.url)
        with Terminal(home, size=(60, 20)) as t:
            t.ready().task()
            t.wait_for("word word word")
            t.send("日本語 é")
            t.wait_for("› 日本語 é")
            drawn = len(t.raw)
            for _ in range(12):
                t.rest(0.06)  # a frame that is half drawn shows its cursor anywhere
                place = (t.screen.cursor.y, t.screen.cursor.x)
                assert place == (draft_row(t), 2 + 6 + 1 + 1)
            assert len(t.raw) > drawn, "the answer went on meanwhile"
            t.send(b"\x7f\x7f\x7f")
            t.until(lambda: t.screen.cursor.x == 2 + 4, "one key takes one visible character")


def test_the_terminals_own_cursor_comes_back_when_a_list_closes(home: Home) -> None:
    home.script(say("done"))
    with Terminal(home, size=(80, 24)) as t:
        t.ready().task("first")
        t.wait_for("done")
        t.ready().keys("dra")
        t.send(CTRL_R)
        t.wait_for("Search what was sent before")
        t.keys("fir")
        t.wait_for("1 of 1")
        field = next(row for row, line in enumerate(t.text.splitlines()) if "1 of 1" in line)
        t.until(lambda: t.screen.cursor.y == field, "not in the field")
        t.send(ESC)
        t.wait_gone("Search what was sent before")
        t.until(lambda: (t.screen.cursor.y, t.screen.cursor.x) == (draft_row(t), 2 + 3), "not behind the draft")


def test_tab_completes_enter_runs_escape_only_closes(home: Home) -> None:
    home.script(say("done"))
    (home.project / "src").mkdir()
    (home.project / "src" / "parser.py").write_text("")
    with Terminal(home, size=(80, 24)) as t:
        t.ready().keys("/he")
        t.wait_for("› /help", "Tab fills  Enter runs")
        t.send(ESC)
        t.wait_gone("Tab fills")
        assert t.text.splitlines()[draft_row(t)] == "› /he"
        t.send(TAB)
        t.wait_for("Tab fills")
        t.send(TAB)
        t.until(lambda: t.text.splitlines()[draft_row(t)] == "› /help", "not filled")
        t.send(ENTER)
        t.wait_for("Keys and commands", "Esc back")
        t.send(ESC)
        t.wait_gone("Esc back")
        t.keys("fix @prs")
        t.wait_for("› src/parser.py")
        t.send(TAB)
        t.wait_for("› fix @src/parser.py")
        t.keys(":3-9")
        t.send(ENTER)
        t.until(lambda: users(home) != [], "not sent")
    assert users(home) == ["fix @src/parser.py:3-9"]


def test_a_paste_without_brackets_is_no_command_even_when_it_reads_like_one(home: Home) -> None:
    home.script(say("done"))
    with Terminal(home) as t:
        t.ready().send("/help me with this\r/quit\r")
        t.wait_for("/help me with this", "/quit")
        t.rest(0.1)
        assert t.process.poll() is None
        assert "Keys and commands" not in t.text
        assert users(home) == []


def test_the_history_outlives_a_kill_and_is_searched(home: Home) -> None:
    home.script(say("one"), say("two"))
    with Terminal(home) as t:
        t.ready().task("explain the lexer")
        t.wait_for("one")
        t.ready().task("write the docs")
        t.wait_for("two")
        t.process.send_signal(signal.SIGKILL)
        t.ended()
    home.script(say("three"))
    with Terminal(home) as t:
        t.ready().keys("draft")
        t.send(UP)
        t.wait_for("› write the docs")
        t.send(UP)
        t.wait_for("› explain the lexer")
        t.send(b"\x1b[B")
        t.wait_for("› write the docs")
        t.send(b"\x1b[B")
        t.wait_for("› draft")
        t.send(CTRL_R)
        t.wait_for("Search what was sent before")
        t.keys("lex")
        t.wait_for("1 of 2")
        t.send(ENTER)
        t.wait_gone("Search what was sent before")
        t.wait_for("› explain the lexer")
        t.rest(0.1)  # an Enter right behind another key is text that was pasted
        t.send(ENTER)
        t.wait_for("three")
        t.wait_for("› draft")
    assert users(home)[-1] == "explain the lexer"


def test_kill_and_yank(home: Home) -> None:
    home.script(say("done"))
    with Terminal(home) as t:
        t.ready().keys("one two three")
        t.send(CTRL_W)
        t.send(CTRL_W)
        t.until(lambda: t.text.splitlines()[draft_row(t)] == "› one", "not cut")
        t.send(CTRL_Y)
        t.wait_for("› one two three")


def test_a_message_that_waits_is_sent_now(home: Home) -> None:
    with StallingServer() as server:
        home.serve(server.url)
        with Terminal(home) as t:
            t.ready().task("begin")
            t.wait_for("thinking aloud")
            t.task("then this")
            t.wait_for("queued 1  next  then this")
            t.send(b"\x18")
            t.send("l")
            t.wait_for("Send now")
            t.send(b"\x1b[B")  # the first is to hand it to the running turn
            t.send(ENTER)
            t.wait_for("all is well")
            assert server.closed.wait(PATIENCE)
    assert kinds(home.log()).count("run_ended") == 2
    assert users(home) == ["begin", "then this"]


@pytest.mark.parametrize(
    ("body", "draft"),
    [
        ("text = open(path).read(); open(path, 'w').write(text.upper() + '\\nmore\\n')", "DRAFT"),
        ("sys.exit(3)", "draft"),
        ("import time; time.sleep(60)", "draft"),
    ],
    ids=["edited", "failed", "Ctrl+C in it"],
)
def test_the_editor_has_the_terminal_and_gives_it_back(home: Home, body: str, draft: str) -> None:
    program = Path(home.base / "editor")
    program.write_text(f"#!{sys.executable}\nimport os, sys\nprint('EDITOR HERE')\npath = sys.argv[-1]\n{body}\n")
    program.chmod(0o755)
    home.script(say("done"))
    with Terminal(home, env={"EDITOR": str(program)}) as t:
        t.ready().keys("draft")
        t.send(CTRL_G)
        t.until(lambda: b"EDITOR HERE" in t.raw, "no editor")
        if "sleep" in body:
            t.rest(0.1)
            t.send(CTRL_C)
        t.wait_for(f"› {draft}", "F2 commands")
        if draft == "draft":
            t.wait_for("was taken from it")
        else:
            t.wait_for("more")
        t.keys("!")
        t.wait_for("!")


def own_editor(home: Home, body: str) -> str:
    program = home.base / "editor"
    program.write_text(
        f"#!{sys.executable}\nimport os, pathlib, signal, sys, time\npath = sys.argv[-1]\n{body}\n", "utf-8"
    )
    program.chmod(0o755)
    return str(program)


def test_ctrl_c_in_an_editor_that_lives_on_does_not_end_this_program(home: Home) -> None:
    """In vi it ends a command; from there this program had two seconds to live."""
    body = f"""
signal.signal(signal.SIGINT, lambda *_: (time.sleep({STOP_SECONDS + 1}), open(path, "a").write(" kept"), os._exit(0)))
print("EDITOR HERE", flush=True)
while True: time.sleep(60)
"""
    home.script(say("done"))
    with Terminal(home, env={"EDITOR": own_editor(home, body)}) as t:
        t.ready().keys("draft")
        t.send(CTRL_G)
        t.until(lambda: b"EDITOR HERE" in t.raw, "no editor")
        t.send(CTRL_C)
        t.wait_for("› draft kept", "F2 commands")
        t.keys("!")
        t.wait_for("kept!")


def test_the_turn_goes_on_while_the_editor_is_open(home: Home) -> None:
    """The editor ends only when the answer is in the log."""
    body = f"""
logs = lambda: [file.read_text() for file in pathlib.Path({str(home.base)!r}).rglob("log.jsonl")]
while not any("all of the answer" in log for log in logs()): time.sleep(0.05)
open(path, "a").write("the next message")
"""
    home.script(say("all of the answer"))
    with Terminal(home, env={"EDITOR": own_editor(home, body)}) as t:
        t.ready().keys("go")
        t.send(ENTER + CTRL_G)
        t.wait_for("all of the answer", "› the next message", "F2 commands")


def test_a_question_that_comes_while_the_editor_is_open_rings_and_is_deaf_at_first(home: Home) -> None:
    end = home.base / "end"
    body = f"""
print("EDITOR HERE", flush=True)
while not os.path.exists({str(end)!r}): time.sleep(0.05)
"""
    asked = home.base / "asked"
    home.script(say("", call("run_command", argv=["touch", str(asked)])), say("so be it"))
    with Terminal(home, env={"EDITOR": own_editor(home, body)}) as t:
        t.ready().keys("go")
        t.send(ENTER + CTRL_G)
        t.until(lambda: b"\a" in t.raw.partition(b"EDITOR HERE")[2], "no bell")
        assert "Run this command?" not in t.text
        end.touch()
        t.send(b"y")  # meant for the editor, if for anybody
        t.wait_for("Run this command?", f"touch {asked}")
        t.armed()
        assert not asked.exists()


def test_vi_does_not_open_before_its_way_out_was_said_once(home: Home) -> None:
    """Who lands in vi by accident is stuck: the first time says how to leave, and no time after that."""
    home.script(say("done"))
    vi = home.base / "vi"
    vi.write_text(
        f"#!{sys.executable}\nimport sys\nwith open(sys.argv[-1], 'a') as file:\n    file.write('by vi')\n", "utf-8"
    )
    vi.chmod(0o755)
    for time in range(2):
        with Terminal(home, size=(80, 24), env={"EDITOR": str(vi)}) as t:
            t.ready().keys("text ")
            t.send(CTRL_G)
            if time == 0:
                t.wait_for(":wq and Enter", "Esc, then :q!", "Enter opens it.")
                assert "Enter, comes back with the text; Esc, then :q! and Enter, without it." in " ".join(
                    t.text.split()
                )
                t.send(CTRL_C)  # means nothing there
                t.send(ENTER)
            t.wait_for("› text by vi")
            assert (":q!" in t.raw.decode("utf-8", "replace")) == (time == 0)
            t.send(CTRL_C)
            t.wait_for("Put away")
            t.send(CTRL_C + CTRL_C)
            assert t.ended() == 0
