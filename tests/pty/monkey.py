"""A monkey at the keyboard: the whole program in a terminal, random keys and whatever else a terminal sends, a random way out.

`python -m tests.pty.monkey` plays with fresh seeds and prints each, `python -m tests.pty.monkey 17 18` plays those again.
Seeds say what is sent, not when the program gets to it, so that only what holds at any time is judged: it ends by the way
that was taken, with its exit code and no crash; the terminal is given back; no process and no temporary file is left;
nothing is written but in the folder and in its own three folders of the home; each session can be opened and played again;
undo brings the folder back.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import os
import random
import signal
import sys
import tempfile
import termios
import time
import traceback
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes import Person
from tests.fixtures import repository
from tests.pty.server import StallingServer
from tests.pty.terminal import CTRL_C, CTRL_D, CTRL_J, CTRL_Q, CTRL_X, ENTER, ESC, TAB, Home, Terminal, call, say
from tests.pty.test_display import assert_clean, inputs
from tests.waiting import PATIENCE
from tui_agent.config import Settings
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.log import load
from tui_agent.core.secrets import Secrets
from tui_agent.export import markdown, messages, write
from tui_agent.paths import user_paths
from tui_agent.playback import replay
from tui_agent.restore import RESTORE
from tui_agent.session import Session, Terms
from tui_agent.sessions import Place
from tui_agent.trust import TrustStore
from tui_agent.ui.actions import ACTIONS, BY_SLASH
from tui_agent.undo import state, undone

JOINED = "👩\u200d👧"
EVENTS = 120
FILES = {
    "a.txt": "one\ntwo\nthree\n",
    "b.py": "colour = 1\nsize = 2\n",
    "sub/c.md": "# Title\n\nSome words.\n",
    "crlf.txt": "x\r\ny\r\n",
    "wide.txt": "日本語 e\u0301 👩\u200d👩\u200d👧\n",
}
HOSTILE = (
    b"a\x1b[2Jb.txt",
    b"n\nl.txt",
    b"\xff\xfe.txt",
    "r\u202egpj.txt".encode(),
    b"[@click=app.quit]x[|].txt",
    b"\x9b1m \x07",
)
NAMES = (*FILES, "new.txt", "sub/deep/new.txt", "o\u202ed.txt", "n\u00e9.txt", "x")
ARROWS = tuple(b"\x1b[" + letter for letter in (b"A", b"B", b"C", b"D", b"H", b"F", b"Z", b"5~", b"6~", b"3~", b"2~"))
CONTROLS = tuple(bytes([n]) for n in range(1, 32) if bytes([n]) not in {CTRL_C, CTRL_D, CTRL_Q})
KEYS = (*CONTROLS, *ARROWS, ENTER, ESC, TAB, b"\x7f", b"\x1bOP", b"\x1bOQ", b"\x1bOS", b"\x1b[19~", b"\x1b\r")
KEYS += tuple(b"\x1b[1;%d%c" % (n, letter) for n in (2, 3, 5, 6) for letter in b"ABCDHF")
LETTERS = "ynsafrwxzvmeoujkgGpcbdtq.[]{}<>/?@! 1\u00e9"
WORDS = (
    "go",
    "hello there",
    "@a.txt",
    "look at @sub/",
    f"e\u0301{JOINED}",
    "!echo hi",
    "!sleep 0.2",
    "日本語",
    "x" * 300,
)
ARGUMENTS = (
    "",
    "",
    "",
    " 2",
    " ask",
    " read",
    " edits",
    " plan",
    " peer",
    " script",
    " a.txt",
    " echo hi",
    " off",
    " x y z",
    " 1000",
)
ODD = (
    b"\xff\xfe", b"\xc3", b"\x1b[", b"\x1b[200~never ended", b"\x1b[201~", b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
    b"\x1b[?2026;1$y", b"\x1b[12;3R", b"\x1b[97;5u", b"\x1b[57399u", b"\x1b[?1;2c", b"\x1bP>|term\x1b\\", b"\x1b[48;9;9;9;9t",
)  # fmt: skip
SIZES = ((20, 5), (30, 8), (40, 20), (80, 24), (80, 24), (100, 30), (120, 40), (200, 60))


def deed(rng: random.Random) -> dict[str, Any]:
    """A call of a model that does what it likes."""
    name, text = rng.choice(NAMES), rng.choice(("one\n", "1\n2\n", "", "tail", "z" * 500 + "\n", "\u202ehidden\n"))
    old = rng.choice(("one", "two", "colour = 1", "Some words.", "y"))
    code = "import pathlib, sys; pathlib.Path('made.txt').write_text('made\\n'); print('done')"
    return rng.choice(
        [
            call("read_file", path=name),
            call("read_file", path=name),
            call("list_files", path="."),
            call("search", text="o"),
            call("edit_file", path=rng.choice(("a.txt", "b.py", "sub/c.md", "crlf.txt")), old=old, new=text or "q"),
            call("edit_file", path="a.txt", old="two", new="2"),
            call("multi_edit", path="b.py", edits=[{"old": "colour = 1", "new": "colour = 3"}]),
            call("write_file", path=name, content=text),
            call("write_file", path=rng.choice(("new.txt", "sub/deep/new.txt")), content=text),
            call("write_file", path=rng.choice(("../outside/kept.txt", "/etc/x", ".git/config", "out/x")), content="x"),
            call("propose_edit", path="new2.txt", old="", new=text),
            call("delete_file", path=name),
            call("run_command", argv=[sys.executable, "-c", code]),
            call("run_command", argv=["sleep", "5"]),
            call("run_command", argv=["echo", rng.choice(("hi", "\u202ehi"))]),
            call("run_command", argv=[sys.executable, "-c", "print('\\33]0;owned\\7\\33[2J\\x9b1m\\u202e')"]),
            call("run_shell", script="echo a; sleep 0.1; echo b; ls; cat ./*"),
            call("update_plan", items=[{"status": "now", "text": "look"}, {"status": "next", "text": "write"}]),
            call("no_such_tool", path=1),
        ]
    )


def replies(rng: random.Random) -> list[dict[str, Any]]:
    """What the model says, one reply after the other."""
    odd = [text.replace("\0", "") for text in inputs()]

    def words() -> str:
        return rng.choice(("", "I look.", "Some *words*\n\n- a\n- b\n\n```py\nx = 1\n```\n", rng.choice(odd)))

    out = []
    for _ in range(60):
        deeds = [deed(rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))]
        out.append(say(words() or "Well.", *deeds) | ({"reasoning": words()} if rng.random() < 0.3 else {}))
    return out


@dataclass
class Monkey:
    """One round: a home of its own, a program, what was sent to it, and what became of it."""

    home: Home
    seed: int
    events: int = EVENTS
    strict: bool = True
    """Judge what holds only where the machine is not so busy that the guard ends the program, which is not always seen."""
    sent: list[str] = field(default_factory=list)
    way: str = ""
    code: int | None = None
    slow: bool = False
    """It had to be ended by the guard: something kept it for two seconds after a signal."""

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    # ------------------------------------------------------------------ the round

    def play(self) -> None:
        """Play and judge.

        Raises:
            AssertionError: something does not hold.
        """
        rng, home = self.rng, self.home
        for name, text in FILES.items():
            file = home.project / name
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(text.encode())
        for name in HOSTILE:
            (home.project / os.fsdecode(name)).write_bytes(b"\x1b]0;owned\x07 " + name)
        outside = home.base / "outside"
        outside.mkdir()
        (outside / "kept.txt").write_text("kept\n")
        (home.project / "out").symlink_to(outside)
        with StallingServer(stalls=rng.choice((0, 1, 3)), drip=rng.choice(("", "word "))) as server:
            peer = f'[profiles.peer]\ntype = "openai"\nendpoint = "{server.url}"\nmodel = "peer"\n'
            free = rng.choice(
                ("", "", '[permissions]\nwrite = "allow"\n', '[permissions]\nrun = "allow"\nwrite = "allow"\n')
            )
            first = rng.choice(("script", "script", "script", "peer"))
            home.script(*replies(rng), more=f'default_provider = "{first}"\n{free}{peer}')
            if rng.random() < 0.3:
                (home.paths.data / "trust.toml").unlink()
            elif rng.random() < 0.5:
                home.answer_trust(trusted=True)
            if rng.random() < 0.3:
                repository.git(home.project, "init", "-q")
                repository.git(home.project, "add", "-A")
                repository.git(home.project, "commit", "-q", "-m", "begun")
            self.before = self.tree()
            words = ["demo"] if rng.random() < 0.1 else []
            env = {"EDITOR": "true", "PAGER": "true", "VISUAL": "true", "SHELL": "/bin/sh"}
            with Terminal(home, words, size=rng.choice(SIZES), env=env, echo=False) as t:
                t.until(lambda: b"\x1b[?1049h" in t.raw, "never began")
                for _ in range(self.events):
                    self.once(t)
                    if t.process.poll() is not None:
                        break
                self.leave(t)
                self.judge_end(t)
            if rng.random() < 0.3:
                self.come_back(env)
        self.judge_files()
        self.judge_sessions()
        self.judge_undo()

    def once(self, t: Terminal) -> None:
        """One thing a person, a window or a terminal does."""
        rng = self.rng
        kinds: list[tuple[int, Callable[[], bytes | None]]] = [
            (12, lambda: rng.choice(KEYS)),
            (12, lambda: rng.choice(LETTERS).encode()),
            (12, lambda: self.answer(t)),
            (6, lambda: self.ask(t)),
            (10, lambda: rng.choice(WORDS).encode() + ENTER),
            (
                10,
                lambda: (rng.choice(tuple(BY_SLASH)) + rng.choice(ARGUMENTS)).encode() + rng.choice((ENTER, b"", ESC)),
            ),
            (
                6,
                lambda: (
                    CTRL_X + rng.choice([a.leader for a in ACTIONS if a.leader and a.id != "app.quit"])[:1].encode()
                ),
            ),
            (
                4,
                lambda: (
                    b"\x1b[200~" + rng.choice((*WORDS, "a\nb\r\nc", "\x1b[2J\x07", "p" * 3000)).encode() + b"\x1b[201~"
                ),
            ),
            (6, self.mouse),
            (4, self.drag),
            (3, lambda: rng.choice((b"\x1b[I", b"\x1b[O"))),
            (3, lambda: rng.choice(ODD)),
            (1, lambda: rng.choice((CTRL_C, CTRL_C, CTRL_D, CTRL_J))),
            (4, lambda: self.resize(t)),
        ]
        data = rng.choices([make for _, make in kinds], [weight for weight, _ in kinds])[0]()
        if data is not None and not data.startswith(b"/quit"):
            self.sent.append(repr(data)[1:])
            with contextlib.suppress(OSError):
                t.send(data)
        t.pump(rng.choice((0, 0, 0.01, 0.05)))
        if rng.random() < 0.2:
            self.rest(t)
        self.wake(t)

    def rest(self, t: Terminal) -> None:
        """Wait until it has read all keys and sleeps, or has ended; not for long, for an answer may drip for ever."""
        self.wake(t)
        end = time.monotonic() + 3
        while t.process.poll() is None and not t._sleeps() and time.monotonic() < end:
            t.pump(0.02)

    def answer(self, t: Terminal) -> bytes:
        """Say yes to what may be asked, when it may listen."""
        self.rest(t)
        t.pump(self.rng.choice((0, 0.1, 0.6)))
        return self.rng.choice((b"y", b"y", b"yy", b"n\r", b"s", b"ay"))

    def ask(self, t: Terminal) -> bytes:
        """Go back to the message, and send one."""
        for key in (ESC, ESC, b"\x05", b"\x15"):
            with contextlib.suppress(OSError):
                t.send(key)
            self.rest(t)
        return b"go on\r"

    def mouse(self) -> bytes:
        button, x, y = self.rng.choice((0, 2, 32, 35, 64, 65, 16)), self.rng.randint(1, 130), self.rng.randint(1, 45)
        return b"\x1b[<%d;%d;%d%c" % (button, x, y, self.rng.choice(b"Mm"))

    def drag(self) -> bytes:
        """Select something, and perhaps copy it."""
        (x, y), (to, down) = ((self.rng.randint(1, 110), self.rng.randint(1, 40)) for _ in range(2))
        way = b"\x1b[<0;%d;%dM\x1b[<32;%d;%dM\x1b[<0;%d;%dm" % (x, y, to, down, to, down)
        return way + self.rng.choice((b"", b"\x03", b"\x1b[<0;%d;%dM\x1b[<0;%d;%dm" % (to, down, to, down)))

    def resize(self, t: Terminal) -> None:
        columns, rows = self.rng.choice((*SIZES, (self.rng.randint(20, 160), self.rng.randint(5, 50))))
        self.sent.append(f"<{columns}x{rows}>")
        t.resize(columns, rows)

    @staticmethod
    def wake(t: Terminal) -> None:
        """What was suspended goes on, as by `fg`."""
        with contextlib.suppress(OSError):
            if Path(f"/proc/{t.process.pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt":
                t.process.send_signal(signal.SIGCONT)

    # ------------------------------------------------------------------ the way out

    def leave(self, t: Terminal) -> None:
        """Leave by some way; what it may end with is `self.codes`."""
        signals = {"SIGTERM": 143, "SIGHUP": 129, "SIGINT": 130, "SIGQUIT": 131}
        self.way = self.rng.choice(("Ctrl+C", "Ctrl+D", "closed", "closed", *signals))
        self.codes = {0}
        if t.process.poll() is None or any(control in key for key in self.sent for control in ("\\x03", "\\x1c")):
            self.codes |= {130, 131}  # typed while it ended, and the terminal was given back
        if t.process.poll() is not None:
            self.way = "a key"
        elif self.way in signals:
            number = getattr(signal, self.way)
            self.codes |= {
                signals[self.way],
                -number,
            }  # a key had ended it already, and perhaps all but the interpreter
            t.process.send_signal(number)
        elif self.way == "closed":
            self.codes |= {129, -signal.SIGHUP}
            t.hang_up()
        else:
            self.press(t, [CTRL_C] if self.way == "Ctrl+C" else [ESC, CTRL_C, CTRL_D])
        end = time.monotonic() + PATIENCE
        while t.process.poll() is None:
            self.wake(t)
            assert time.monotonic() < end, f"still there after {self.way}\n{t.text}"
            t.pump(0.02) if self.way != "closed" else time.sleep(0.02)
        self.code = t.process.returncode

    def come_back(self, env: Mapping[str, str]) -> None:
        """Go on with the newest session, and be ended."""
        with Terminal(self.home, ["--continue"] if self.logs() else [], env=env, echo=False) as t:
            t.until(lambda: b"\x1b[?1049h" in t.raw, "never began again")
            self.rest(t)
            self.way, self.codes = f"{self.way} and SIGTERM", {143}
            t.process.terminate()
            self.code = t.ended()
            self.judge_end(t)

    def press(self, t: Terminal, keys: Sequence[bytes]) -> None:
        """Press keys until it ends: a question, a list, a draft take one each."""
        end = time.monotonic() + PATIENCE
        t.send(b"\x1b[201~")  # whatever was being pasted
        while t.process.poll() is None and time.monotonic() < end:
            for key in keys:
                with contextlib.suppress(OSError):
                    t.send(key)
                t.pump(0.2)
                self.wake(t)

    # ------------------------------------------------------------------ what must hold

    def judge_end(self, t: Terminal) -> None:
        crash = self.home.paths.state / "crash.log"
        assert not crash.exists(), crash.read_text()
        assert self.code in self.codes, f"{self.way} ended it with {self.code}\n{t.raw[-600:]!r}"
        on_screen, _, behind = t.raw.rpartition(b"\x1b[?1049l")
        assert not on_screen or b"Traceback" not in behind  # on the screen it may be that of a command
        self.slow = self.slow or RESTORE in t.raw
        if not self.way.startswith("closed") or self.way.endswith("SIGTERM"):
            t.pump()
            assert t.left_on() == set()
            assert termios.tcgetattr(t.slave) == t.before
            if not self.slow:
                # in a draft it stands as it was typed; what lies over it may cut it
                for typed in (JOINED, JOINED[1:], JOINED[:2]):
                    t.raw = t.raw.replace(typed.encode(), b"")
                assert_clean(t)
        end = time.monotonic() + PATIENCE
        while left := self.home.children():
            assert time.monotonic() < end, f"left: {[Path(f'/proc/{pid}/cmdline').read_bytes() for pid in left]}"
            time.sleep(0.02)

    @property
    def whole(self) -> bool:
        """Whether it came to its own end."""
        return not self.slow and (self.strict or self.code == 0)

    def judge_files(self) -> None:
        base = self.home.base
        assert {p.name for p in base.iterdir()} == {"home", "project", "tmp", "outside", "script.json"}
        assert [(p.name, p.read_text()) for p in (base / "outside").iterdir()] == [("kept.txt", "kept\n")]
        kept = {self.home.paths.config, self.home.paths.data, self.home.paths.state}
        strays = [p for p in (base / "home").rglob("*") if p.is_file() and not kept & {*p.parents}]
        assert strays == []
        if self.whole:
            assert list((base / "tmp").iterdir()) == [], "temporary files are left"
            assert not [p for p in self.home.project.rglob("*") if p.suffix == ".tmp"]
        git, now = (
            {path: data for path, data in tree.items() if path.startswith(".git/")}
            for tree in (self.before, self.tree())
        )
        assert git == now, (
            f"git's own files changed: {[path for path in {*git, *now} if git.get(path) != now.get(path)]}"
        )

    def logs(self) -> list[Path]:
        return sorted(self.home.paths.sessions.glob("*/log.jsonl"))

    def judge_sessions(self) -> None:
        for log in self.logs():
            loaded = load(log)
            assert not self.whole or loaded.problems == ()
            assert not [event for event in loaded.events if isinstance(event, ev.Unknown)]
            assert not self.whole or not fold.cut_off(loaded.events), log.read_text()
            told = markdown(loaded.events, Secrets()), messages(fold.history(loaded.events), Secrets())
            for number, text in enumerate(told):
                write(self.home.base / "tmp" / f"{log.parent.name}-{number}", text)
            assert not {c for c in told[0] if unicodedata.category(c) in {"Cc", "Cf", "Cs"}} - {"\n"}
            if self.whole and any(isinstance(event, ev.UserSaid) for event in loaded.events):
                said = io.StringIO()
                trust = TrustStore(self.home.paths.data / "trust.toml")
                with contextlib.redirect_stdout(said):
                    code = replay(log, Settings(), trust, execute=False)
                assert code == 0, f"{log.read_text()}\n{said.getvalue()}"

    def judge_undo(self) -> None:
        """Take back all that the sessions did to each file, the newest first; what the person did stays."""
        asyncio.run(self.undo())
        after = self.tree()
        told = {path for log in self.logs() for r in fold.receipts(load(log).events) for path in r.touched}
        for path in told:
            assert after.get(path) == self.before.get(path), f"{path} is not as it was"
        above = {str(parent) for path in told for parent in Path(path).parents} - {"."}
        left = [path for path in above if path not in self.before and path in after]
        assert not left, f"folders are left: {left}"

    async def undo(self) -> None:
        for log in reversed(self.logs()):
            place = Place(log.parent)
            session = Session(
                Terms(self.home.project, Settings(), user_paths(self.home.environment())), Person(), place
            )
            stands = state(session.events).since(1)
            plan = await session.workspace.plan_undo(stands)
            outcomes = await session.workspace.undo(plan)
            session.log.append(undone(1, plan, outcomes))
            place.close()

    def tree(self) -> dict[str, bytes | None]:
        root = self.home.project
        return {
            str(p.relative_to(root)): p.read_bytes() if p.is_file() else None
            for p in root.rglob("*")
            if not p.is_symlink()
        }


def play(seed: int, base: Path, events: int = EVENTS, *, strict: bool = True) -> Monkey:
    """One round in a folder of its own."""
    monkey = Monkey(Home(base).make(), seed, events, strict)
    try:
        monkey.play()
    except AssertionError as error:
        error.add_note(f"seed {seed}, left by {monkey.way or 'nothing yet'}, sent:\n{' '.join(monkey.sent)}")
        raise
    return monkey


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.pty.monkey", description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--rounds", type=int, default=20, help="so many fresh seeds where none is given")
    parser.add_argument("--events", type=int, default=EVENTS)
    given = parser.parse_args(words)
    seeds = given.seeds or [random.SystemRandom().randrange(10**6) for _ in range(given.rounds)]
    failed, ends = [], Counter[str]()
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="monkey-") as base:
            print(f"seed {seed}: ", end="", flush=True)
            try:
                monkey = play(seed, Path(base).resolve(), given.events)
            except Exception:  # noqa: BLE001 - the next seed is played all the same
                failed.append(seed)
                traceback.print_exc(file=sys.stdout)
                continue
            end = f"{monkey.way} {monkey.code}{', by the guard' if monkey.slow else ''}"
            ends[end] += 1
            print(end, flush=True)
    print(f"{len(seeds)} rounds: " + "; ".join(f"{end} x{n}" for end, n in sorted(ends.items())))
    if failed:
        print("failed: " + " ".join(map(str, failed)))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
