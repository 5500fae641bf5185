"""No text from outside makes the terminal do anything: the bytes that are written hold only the product's own sequences.

Every input of the display cases is shown in one place after the other. What is left of the byte stream without the
sequences that the product may write must be free of controls and of characters that hide or reorder text.
"""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from pathlib import Path

from tests.pty.server import StallingServer
from tests.pty.terminal import CTRL_C, ENTER, ESC, PAGE_DOWN, ROOT, TAB, Home, Terminal, call, say

CASES = ROOT / (os.environ.get("TUI_AGENT_CASES") or "tests/cases")


FOCUS_OUT, FOCUS_IN = b"\x1b[O", b"\x1b[I"


def inputs() -> list[str]:
    cases = json.loads((CASES / "policy" / "display.json").read_text("utf-8"))["cases"]
    texts = ["".join(c["input"]) if isinstance(c["input"], list) else c["input"] for c in cases]
    return [text.encode("utf-8", "replace").decode() for text in texts]


OWN = re.compile(
    rb"\x1b\[[0-9;]*m"  # colours
    rb"|\x1b\[\d+;\d+H"  # where the next text goes
    rb"|\x1b\[\?(?:25|7|1000|1002|1003|1004|1006|1015|1016|1049|2004|2026|2048)[hl]"  # modes
    rb"|\x1b\[\?(?:2026|2048)\$p"  # what the terminal can do
    rb"|\x1b\]11;\?\x1b\\|\x1b\[c"  # which background it has, and who it is
    rb"|\x1b7\r\xe2\x94\x80\x1b\[6n\r\x1b\[K\x1b8"  # how wide it draws a line
    rb"|\x1b\[[>=]25u|\x1b\[<u"  # the keyboard
    rb"|\x1b\]52;c;[A-Za-z0-9+/=]*\x07"  # what is copied
    rb"|\x1b\]22;[a-z-]*\x07"  # the shape of the mouse pointer
    rb"|\x1b\[2[23];2t|\x07?\x1b\]2;(?P<title>[^\x00-\x1f\x7f]*)\x07"  # bell and title, the title before
    rb"|\r\n"
)


def assert_clean(t: Terminal) -> None:
    left = OWN.sub(lambda own: own["title"] or b"", t.raw)  # a title holds words from outside, too
    text = left.decode("utf-8")  # strict: nothing is cut in the middle of a character
    bad = {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"}}
    bad |= {c for c in text if unicodedata.category(c) == "Zs" and c != " "}
    around = [text[max(0, m.start() - 30) : m.end() + 30] for m in re.finditer("|".join(map(re.escape, bad)), text)]
    assert not bad, f"{sorted(map(hex, map(ord, bad)))}: {around[:3]!a}"


def through(t: Terminal, pages: int = 12) -> None:
    """Look at all of it."""
    for _ in range(pages):
        t.send(PAGE_DOWN)
        t.rest()


def test_what_a_neutral_session_writes_is_known(home: Home) -> None:
    home.script(say("hello"))
    with Terminal(home, size=(120, 40)) as t:
        t.ready().task()
        t.wait_for("hello")
        t.send("/quit\r")
        assert t.ended() == 0
        assert_clean(t)


def test_model_text_and_refused_calls(home: Home) -> None:
    nul = [call("run_command", argv=["echo", text]) for text in inputs() if "\0" in text]
    odd = [call(text[:40], path=text) for text in inputs()[:20]]
    text = "\n\n".join(f"{n} {text}" for n, text in enumerate(inputs()))
    home.script({"reasoning": text, **say(text, *odd, *nul)}, say("that was all"))
    with Terminal(home, size=(120, 60)) as t:
        t.ready().task()
        t.wait_for("that was all")
        t.send(b"\x1b[1;5H")  # Ctrl+Home
        t.rest(0.05)
        through(t)
        t.send(b"\x0f")  # Ctrl+O: details
        t.rest(0.05)
        through(t)
        assert_clean(t)


def test_commands_and_their_output(home: Home) -> None:
    (home.project / "hostile.txt").write_text("\n".join(inputs()), encoding="utf-8")
    allowed = [re.sub("[\0-\x1f\x7f-\x9f]", "", text) for text in inputs()]  # with a control it is refused unasked
    read = "import sys; sys.stdout.write(open('hostile.txt', encoding='utf-8', newline='').read())"
    home.script(
        say("\n".join(inputs()), call("run_command", argv=["echo", *allowed])),
        say("", call("run_shell", script="\n".join(allowed))),
        say("", call("run_command", argv=[sys.executable, "-c", read])),
        say("that was all"),
    )
    with Terminal(home, size=(120, 60)) as t:
        t.ready().task()
        for title in ("Run this command?", "Run this shell script?"):
            t.wait_for(title)
            t.armed()
            through(t)
            t.armed().send("n")
            t.wait_for("why not?")
            t.paste("no\u202e \x9b2J")
            t.send("\r")
        t.wait_for("sys.stdout.write")
        t.armed().send("y")
        t.wait_for("that was all")
        t.send(b"\x0f")
        t.rest(0.05)
        through(t, 6)
        assert_clean(t)


def test_file_content_in_a_diff_and_a_path(home: Home) -> None:
    content = "\n".join(text[:400] for text in inputs()).replace("\0", "")  # a longer line is read in parts
    (home.project / "a.txt").write_text(content, encoding="utf-8", newline="")
    home.script(
        say("", call("read_file", path="a.txt"), call("read_file", path="\u202eno\x1b[2Jsuch\x9bfile")),
        say(
            "",
            call("write_file", path="a.txt", content="\n".join(f"+{line}" for line in content.split("\n"))),
            call("write_file", path="b\u200b\x1b]0;x\x07 \x85.txt", content="x\n"),  # refused
            call("write_file", path="b a\u3000аp.txt", content="x\n"),
        ),
        say("that was all"),
    )
    with Terminal(home, size=(120, 60)) as t:
        t.ready().task()
        t.wait_for("Apply this edit?")
        t.armed()
        through(t)
        t.armed().send("s")
        t.wait_for("why later?")
        t.send("\r")
        t.wait_for("Create this file?")
        t.armed()
        assert_clean(t)


def test_names_in_the_tree_and_of_the_folder(home: Home) -> None:
    folder = home.project / "od\x1b]0;x\x07d \u202ename\x9b"
    folder.mkdir()
    for text in inputs():
        name = text.replace("/", "_").replace("\0", "_")[:80] or "_"
        Path(folder / name).touch()
    os.symlink("no\x1b[2Jwhere\u202e", folder / "link")  # noqa: PTH211
    home.script(say("hello"))
    with Terminal(home, ["--cwd", str(folder)], size=(120, 60)) as t:
        t.wait_for("Do you trust this folder?", "q quit")
        t.send("r")
        t.ready().wait_for("FILES", "link")
        t.send(TAB + TAB)  # into the tree
        t.rest(0.05)
        through(t, 4)
        t.send(b"\r")  # a name into the message
        t.rest(0.05)
        assert_clean(t)


def titles(t: Terminal) -> list[str]:
    """What was written as the title of the window."""
    return [title.decode() for title in re.findall(rb"\x1b\]2;([^\a]*)\a", t.raw)]


def test_the_title_of_the_window(home: Home) -> None:
    folder = home.project / "od\x1b]0;x\x07d \u202ename\x9b2J"
    folder.mkdir()
    words = [re.sub("[\0-\x1f\x7f-\x9f]", "", text) for text in inputs()]
    odd = [text for text in words if not text.isprintable() or not text.isascii()][:6]
    asked = [say("", call("run_command", argv=["echo", f"no{n}", text])) for n, text in enumerate(odd)]
    home.script(*asked, say("that was all"))
    with Terminal(home, ["--cwd", str(folder)], size=(120, 40)) as t:
        t.wait_for("Do you trust this folder?", "q quit")
        t.send("r")
        t.ready().send("go")
        t.wait_for("› go")
        t.send(ENTER + FOCUS_OUT)
        for n in range(len(odd)):
            t.wait_for("Run this command?", f"echo no{n}")
            t.armed().send(b"y" + FOCUS_OUT)  # a key says that the person is here
        t.wait_for("that was all")
        t.until(lambda: t.raw.count(b"\x1b]2;") > len(odd), "not every question was a title, and the end")
        assert b"\x1b]2;[!] od<ESC>]0;x<BEL>d <U+202E>name<U+009B>2J - run" in t.raw
        t.send(FOCUS_IN)
        t.until(lambda: titles(t)[-1] == "od<ESC>]0;x<BEL>d <U+202E>name<U+009B>2J", "the mark stayed")
        t.send("/quit\r")
        assert t.ended() == 0
        assert t.raw.rindex(b"\x1b[23;2t") > t.raw.rindex(b"\x1b]2;"), "the title never came back"
        assert_clean(t)


def test_whole_files_requests_and_sessions_in_the_viewer(home: Home) -> None:
    (home.project / "a.txt").write_text("\n".join(inputs()).replace("\0", ""), encoding="utf-8", newline="")
    home.script(say("\n\n".join(inputs()), call("read_file", path="a.txt")), say("that was all"))
    with Terminal(home, size=(120, 60)) as t:
        t.ready().paste("\n".join(inputs())[:300] + "\u202e\x9b2J")
        t.rest(0.05)
        t.send(ENTER)
        t.wait_for("that was all")
        t.ready().send(TAB + TAB)
        t.wait_for("Enter look")
        t.send(ENTER)
        t.wait_for("PgDn scroll", "a.txt")
        through(t, 4)
        t.send(ESC)
        t.wait_gone("PgDn scroll")
        t.send(ESC)
        for command, shown, key in (("/context", "Enter whole text", ENTER), ("/sessions", "Enter resume", b"v")):
            t.ready().send(command)
            t.wait_for(f"› {command}")
            t.send(ENTER)
            t.wait_for(shown)
            t.send(key)
            t.wait_for("PgDn scroll")
            through(t, 4)
            t.send(ESC)
            t.wait_gone("PgDn scroll")
            t.send(CTRL_C)
        t.ready()
        assert_clean(t)


def test_notices_names_of_profiles_and_words_of_a_server(home: Home) -> None:
    hostile = "\n\n".join(inputs())
    with StallingServer(refusal=hostile[:3000]) as server:
        home.serve(server.url)
        with home.paths.config_file.open("a", encoding="utf-8") as config:
            for text in inputs():
                config.write(f'[profiles.{json.dumps(text[:60] + "x")}]\ntype = "openai"\nmodel = {json.dumps(text)}\n')
            for text in inputs():
                config.write(f"[{json.dumps(text[:60] + 'y')}]\n{json.dumps(text[:60])} = 1\n")
        with Terminal(home, ["--provider", "peer"], size=(120, 60)) as t:
            t.ready().task()
            t.wait_gone("Ctrl+C stop")
            t.wait_for("go")
            t.send(b"\x1b[1;5H")
            t.rest(0.05)
            through(t)
            t.send(b"\x03")  # the message came back into the composer
            t.rest(0.05)
            t.send("/provider\r")
            t.wait_for("Switch provider")
            through(t, 6)
            t.send(b"\x1b")
            t.wait_gone("Switch provider")
            t.send("/provider \x1b[200~no\u200b\x1b[2J\u202esuch\x1b[201~\r")
            t.wait_for("There is no profile")
            assert_clean(t)


def test_what_was_done_in_the_lists_of_undo_receipts_review_and_sessions(home: Home) -> None:
    names = [text.replace("/", "_").replace("\0", "_")[:50] + "_" for text in inputs()]
    (home.project / "names.json").write_text(json.dumps(names), encoding="ascii")
    make = "import json, pathlib; [pathlib.Path(n).write_text(n, newline='') for n in json.load(open('names.json'))]"
    home.script(say("", call("run_command", argv=[sys.executable, "-c", make])), say("that was all"))
    with Terminal(home, size=(120, 60)) as t:
        t.ready().paste("\n".join(inputs())[:300] + "\u202e\x9b2J")
        t.rest(0.05)
        t.send("\r")
        t.wait_for("Run this command?")
        t.armed()
        through(t, 3)
        t.armed().send("y")
        t.wait_for("that was all")
        for command, shown, keys in (
            ("/undo", "Undo: back to before which message?", b"\r"),
            ("/receipts", "Receipts of this session", b""),
            ("/diff", "hunk", b""),
            ("/sessions", "resume", b""),
            ("/history", "", b""),
        ):
            t.send(command)
            t.wait_for(f"› {command}")
            t.send("\r")
            t.wait_for(shown)
            t.rest(0.05)
            t.send(keys)
            t.rest(0.05)
            through(t, 6)
            t.send(b"\x03")
            t.ready()
        assert_clean(t)
