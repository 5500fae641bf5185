"""Pictures of one task without the screen: the real program in a terminal of each size, with a server on loopback."""

from __future__ import annotations

import io
import os
import pty
import select
import struct
import sys
import tempfile
import termios
from fcntl import ioctl
from pathlib import Path

import pyte
from rich.console import Console
from rich.text import Text as Words

from tests.cli.server import Text, call, serving

TASK = "fix the failing test"
OLD = "def read_escape(self):\n    start = self.pos\n    code = self.take(4)\n    if not is_hex(code):\n        self.fail(self.pos)\n    return chr(int(code, 16))\n"
NEW = OLD.replace("self.take(4)", "self.take_hex(4, start)").replace(
    "    if not is_hex(code):\n        self.fail(self.pos)\n", "    if code is None:\n        self.fail(start)\n"
)
ANSWER = "The column was counted from one in read_escape. It now starts at the backslash."


def draw(folder: Path, sizes: tuple[tuple[int, int], ...]) -> None:
    """One SVG a size."""
    for width, height in sizes:
        name = f"one-shot-{width}x{height}.svg"
        (folder / name).write_text(picture(screen(width, height)), encoding="utf-8")
        print(name)


def screen(width: int, height: int) -> pyte.Screen:
    """What the terminal shows at the end of one task: a read, a question that is answered with yes, a check."""
    with (
        tempfile.TemporaryDirectory() as base,
        serving(
            call("read_file", path="lexer.py"),
            call("propose_edit", path="lexer.py", old=OLD, new=NEW),
            Text(ANSWER),
        ) as server,
    ):
        work = Path(base) / "parser"
        work.mkdir()
        (work / "lexer.py").write_text(OLD)
        config = Path(base) / "config.toml"
        config.write_text(
            f'[profiles.local]\nendpoint = "{server.url}"\nmodel = "qwen3-coder:30b"\n[checks]\n"{work}" = ["true"]\n',
            encoding="utf-8",
        )
        return _played(["--config", str(config), "--allow", "check", "-p", TASK], work, width, height)


def _played(words: list[str], work: Path, width: int, height: int) -> pyte.Screen:
    shown = pyte.Screen(width, height)
    stream = pyte.ByteStream(shown)
    stream.feed(f'$ tui-agent -p "{TASK}"\r\n'.encode())
    pid, master = pty.fork()
    if pid == 0:
        termios.tcsetwinsize(0, (height, width))
        os.chdir(work)
        env = {"HOME": str(work.parent), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        checkout = str(Path(__file__).resolve().parent.parent)
        os.execve(sys.executable, [sys.executable, "-m", "tui_agent", *words], {**env, "PYTHONPATH": checkout})
    ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    seen, answered = b"", False
    while select.select([master], [], [], 60)[0]:
        try:
            data = os.read(master, 65536)
        except OSError:  # the program has ended
            break
        seen += data
        stream.feed(data)
        if not answered and b"q stop" in seen and seen.rstrip().endswith(b">"):
            os.write(master, b"y\n")
            answered = True
    os.close(master)
    os.waitpid(pid, 0)
    return shown


def picture(shown: pyte.Screen) -> str:
    """The cells of a terminal as SVG."""
    console = Console(record=True, width=shown.columns, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    for row in range(shown.lines):
        line = Words(no_wrap=True)
        for column in range(shown.columns):
            cell = shown.buffer[row][column]
            line.append(cell.data, None if cell.fg == "default" else {"brown": "yellow"}.get(cell.fg, cell.fg))
        console.print(line, no_wrap=True, crop=True)
    return console.export_svg(title=f'tui-agent -p "{TASK}"')
