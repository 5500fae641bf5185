"""In a real terminal: what must not answer a question, what happens to one that cannot be answered any more,
and a file that changes meanwhile."""

from __future__ import annotations

import json
import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.pty.terminal import ENTER, Home, Terminal, call, kinds, say

CLICK = b"\x1b[<0;%d;%dM\x1b[<0;%d;%dm"
OLD = "one\ntwo\nthree\n"


def changes(home: Home) -> None:
    """A model that reads a file and changes a line of it."""
    (home.project / "a.txt").write_text(OLD, encoding="utf-8")
    home.script(
        say("I read.", call("read_file", path="a.txt")),
        say("Now I change it.", call("edit_file", path="a.txt", old="two\n", new="2\n")),
        say("done"),
    )


def told(home: Home) -> str:
    return "\n".join(event.get("text", "") for event in home.log() if event["type"] == "tool")


def test_a_file_saved_while_it_is_shown_is_kept_and_its_new_change_is_asked(home: Home) -> None:
    changes(home)
    with Terminal(home) as t:
        t.ready().task()
        t.armed().wait_for("Apply this edit?")
        (home.project / "a.txt").write_text("mine\n" + OLD, encoding="utf-8")
        t.send("y")
        t.wait_for("changed on disk since this was shown", "r show the new change")
        assert (home.project / "a.txt").read_text() == "mine\n" + OLD
        t.listens().send("r")
        t.wait_for("mine")
        t.armed().send("y")
        t.wait_for("done")
        assert (home.project / "a.txt").read_text() == "mine\none\n2\nthree\n"
        assert "the file had changed since you read it" in told(home)
        assert len({event["digest"] for event in home.log() if event["type"] == "asked"}) == 2


def test_how_long_it_waits_is_told_while_nobody_presses_a_key(home: Home) -> None:
    changes(home)
    with Terminal(home) as t:
        t.ready().task()
        t.wait_for("waiting for you 0:01", seconds=30)
        t.wait_for("waiting for you 0:03", seconds=30)


def test_focus_and_clicks_answer_nothing(home: Home) -> None:
    changes(home)
    with Terminal(home) as t:
        t.ready().task()
        t.until(lambda: b"Apply this edit?" in t.raw or t.send(CLICK % (3, 10, 3, 10)), "never asked")
        t.armed()
        y = next(n for n, line in enumerate(t.text.splitlines(), 1) if "y apply" in line)
        for data in (b"\x1b[O", b"\x1b[I", *(CLICK % (column, y, column, y) for column in range(2, 40, 6))):
            t.send(data)
            t.rest()
        t.armed()
        assert "answered" not in kinds(home.log())
        assert (home.project / "a.txt").read_text() == OLD


def test_who_answers_and_looks_elsewhere_can_type_when_they_are_back(home: Home) -> None:
    changes(home)
    with Terminal(home) as t:
        t.ready().send("go")
        t.wait_for("› go")
        t.send(ENTER + b"\x1b[O")
        t.wait_for("Apply this edit?")
        t.armed().send(b"y\x1b[O")
        t.wait_for("done")
        t.rest(0.1).send(b"\x1b[I")
        t.rest(0.1).send("thanks")
        t.wait_for("› thanks")


def test_a_kill_with_a_question_open_leaves_it_unanswered_and_nothing_done(home: Home) -> None:
    changes(home)
    with Terminal(home) as t:
        t.ready().task()
        t.armed()
        os.kill(t.process.pid, signal.SIGKILL)
        assert t.ended() == -signal.SIGKILL
    assert kinds(home.log())[-1] == "asked"
    assert (home.project / "a.txt").read_text() == OLD


class OneCall:
    """A server that asks for one file to be written, and then is gone."""

    def __init__(self) -> None:
        arguments = json.dumps({"path": "new.txt", "content": "x\n"})
        tool = {"index": 0, "id": "c1", "type": "function", "function": {"name": "write_file", "arguments": arguments}}
        parts = [{"delta": {"tool_calls": [tool]}}, {"delta": {}, "finish_reason": "tool_calls"}]
        body = "".join(f"data: {json.dumps({'choices': [{'index': 0, **part}]})}\n\n" for part in parts)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                self.wfile.write(body.encode() + b"data: [DONE]\n\n")

            def log_message(self, *_: object) -> None:
                """Say nothing on the test's own terminal."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def go(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_the_server_goes_away_while_a_question_is_open(home: Home) -> None:
    server = OneCall()
    home.serve(server.url)
    with Terminal(home) as t:
        t.ready().task()
        t.armed().wait_for("Create this file?")
        server.go()
        t.rest(0.1)
        assert not (home.project / "new.txt").exists()
        t.armed().send("y")
        t.until((home.project / "new.txt").exists, "the answer did not count")
        t.until(lambda: "tool" in kinds(home.log()), "what was done is not in the log")
        log = kinds(home.log())
        assert log.index("asked") < log.index("answered") < log.index("tool")


def test_a_long_command_waits_for_its_end_on_a_very_small_screen(home: Home) -> None:
    home.script(say("", call("run_command", argv=["printf", "%s", "x" * 3000])), say("done"))
    with Terminal(home, size=(40, 10)) as t:
        t.wait_for("ready")
        t.task()
        t.wait_for("Run this command?")
        t.listens().send("y")
        t.rest(0.1)
        assert "answered" not in kinds(home.log())
        t.send(b"\x1b[F")  # End
        t.listens().send("y")
        t.wait_for("done")


def test_a_rule_is_kept_for_the_folder_and_the_next_command_is_not_asked(home: Home) -> None:
    home.script(
        say("", call("run_command", argv=["echo", "hello"])),
        say("", call("run_command", argv=["echo", "hello"])),
        say("done"),
    )
    home.answer_trust(trusted=True)  # elsewhere no rule of a command holds, and none is offered
    with Terminal(home) as t:
        t.ready().task()
        t.armed().wait_for("Run this command?", "a allow")
        t.send("a")
        t.wait_for("allow without asking: echo hello", "it does not match: echo hello --other")
        t.listens().send("f")
        t.wait_for("done")
    assert kinds(home.log()).count("asked") == 1
    assert "echo hello" in (home.paths.data / "rules.toml").read_text()


def test_a_note_on_a_line_goes_with_the_no(home: Home) -> None:
    changes(home)
    with Terminal(home) as t:
        t.ready().task()
        t.armed().keys("]")
        t.send(b"\x1b[B")  # from the line that goes to the one that comes
        t.rest()
        t.send("m")
        t.wait_for("keep the note on line 2")
        t.send("a number?")
        t.send(ENTER)
        t.wait_for("notes 1")
        t.armed().send("n")
        t.wait_for("why not?")
        t.send(ENTER)
        t.wait_for("done")
        assert "a.txt:2\n> 2\na number?" in told(home)
