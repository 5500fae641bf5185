"""What a person at the terminal waits for: the real program in a pseudo terminal, beside a bare Textual app.

    python bench/screen.py [--quick]

Both talk to one server on loopback, which is a process of its own and plays the model. The floor is
`bench/floor.py`. Prints

- start: s from exec to a typed character on the screen (median of 5)
- key: ms from a key to the screen that shows it, p50 and p95 of 60, at rest, while 100 and 1,000 deltas a second come,
  and after 50 answers of 200 lines (2,000 blocks)
- 20,000 deltas of 4 characters as fast as they come: s until their end is shown, CPU s, bytes written
- one answer of 200 lines at the end of the 50, and one read of a file between two answers: s until shown
- memory (proportional, MB) at rest and after the 50; at rest CPU % and bytes a second
- interrupt (Ctrl+C): ms until the server sees its connection closed

With --quick 20 keys, 3 starts, 5 answers and 2,000 deltas. The budgets are those of the design at 120x40.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from transcript import mixed  # noqa: E402

SIZE = (120, 40)
LINES = "".join(f"- line {n} of a list\n" if n % 5 else f"\nparagraph {n} of the answer\n\n" for n in range(200))
"""200 lines in 80 blocks."""
MARKDOWN = mixed(80_000)
ASKED = re.compile(r"(?m)^(?:stream \d+ \d+|lines|read) [a-z]{9}$")
"""What a message may ask for; the product sends more than the message."""


# ------------------------------------------------------------------ the server, a process of its own


class Model(BaseHTTPRequestHandler):
    """Answers as the last message asks, `stream COUNT RATE`, `lines` or `read`, and ends with its last word backwards."""

    protocol_version = "HTTP/1.1"
    closed_at = 0.0

    def do_POST(self) -> None:
        messages = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"]
        asks = [(n, found) for n, m in enumerate(messages) if m["role"] == "user" for found in ASKED.findall(_text(m))]
        at, asked = asks[-1]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            self._answer(asked.split(), after_tool=any(m["role"] == "tool" for m in messages[at:]))
        except OSError:
            Model.closed_at = time.perf_counter()

    def do_GET(self) -> None:
        """When the last connection was seen closed; for any other address nothing."""
        body = json.dumps({"closed_at": Model.closed_at}).encode() if self.path == "/closed" else b"{}"
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _answer(self, asked: list[str], *, after_tool: bool) -> None:
        mark, what = asked[-1][::-1], asked[0]
        if what == "read" and not after_tool:
            function = {"name": "read_file", "arguments": json.dumps({"path": "notes.txt"})}
            self._send({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
        elif what == "stream":
            count, rate = int(asked[1]), float(asked[2])
            begin = time.perf_counter()
            for number in range(count):
                at = 4 * number % len(MARKDOWN)
                self._send({"content": MARKDOWN[at : at + 4]})
                if rate and (ahead := begin + number / rate - time.perf_counter()) > 0:
                    time.sleep(ahead)
            self._send({"content": f"\n```\n\n{mark}"})  # a fence that was open is closed, else one is opened
        else:
            self._send({"content": (LINES if what == "lines" else "") + f"\n\n{mark}"})
        reason = "tool_calls" if what == "read" and not after_tool else "stop"
        self.wfile.write(_event({}, reason) + b"data: [DONE]\n\n")

    def _send(self, delta: dict[str, Any]) -> None:
        self.wfile.write(_event(delta))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _event(delta: dict[str, Any], reason: str | None = None) -> bytes:
    return (
        b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}).encode() + b"\n\n"
    )


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def serve() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    server.serve_forever()


FLOOR = (ROOT / "bench" / "floor.py").read_text("utf-8")


# ------------------------------------------------------------------ the measuring


@dataclass(frozen=True)
class Amounts:
    """How much of everything is done."""

    starts: int = 5
    keys: int = 60
    turns: int = 50
    deltas: int = 20_000


class Seat:
    """One of the two programs, in front of a person who types and looks."""

    def __init__(self, home: Any, url: str, *, floor: bool) -> None:
        from tests.pty.terminal import Terminal

        words = [url] if floor else []
        self.begin = time.perf_counter()
        self.terminal = Terminal(home, words, size=SIZE, code=FLOOR if floor else None)
        self.asked = 0.0
        """When the last message was sent."""
        self._dice = random.Random(1)

    def shown(self, text: str, seconds: float = 120.0) -> float:
        """Wait for a text; when the bytes came that brought it to the screen."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            at = self.terminal.take(0.5)
            if at is not None and text in self.terminal.text:
                return at
        raise SystemExit(f"never shown: {text}\n{self.terminal.text}")

    def ready(self) -> None:
        self.shown("Enter send")
        self.terminal.pump(0.5)

    def ask(self, text: str) -> str:
        """Send a message that ends in a word of its own; the same word backwards ends the answer."""
        word = "".join(self._dice.choices("ghjkqvwxz", k=9))
        self.terminal.send(f"{text} {word}")
        self.shown(word)
        self.terminal.pump(0.3)  # an Enter right behind other keys is text that was pasted
        self.asked = time.perf_counter()
        self.terminal.send(b"\r")
        return word[::-1]

    def type(self, count: int) -> list[float]:
        """Ms from each of some keys to the screen that shows it."""
        costs = []
        for start in range(0, count, 20):
            word = "".join(self._dice.choices("bcdfghjklmnpqrstvwxz", k=min(20, count - start)))
            for end in range(1, len(word) + 1):
                self.terminal.pump(self._dice.uniform(0.036, 0.084))
                begin = time.perf_counter()
                self.terminal.send(word[end - 1])
                costs.append(1000 * (self.shown(word[:end], 3.0) - begin))
            self.terminal.send(b"\x15")  # Ctrl+U
            self.terminal.pump(0.2)
        return costs

    def spent(self) -> float:
        """CPU s of the program so far."""
        fields = Path(f"/proc/{self.terminal.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Proportional MB."""
        text = Path(f"/proc/{self.terminal.process.pid}/smaps_rollup").read_text()
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024


def start(home: Any, url: str, *, floor: bool) -> float:
    """S from exec to a typed character on the screen."""
    with seated(home, url, floor=floor) as seat:
        seat.shown("Enter send")
        seat.terminal.send("z")
        return seat.shown("z" if floor else "› z") - seat.begin


def measure(home: Any, url: str, amounts: Amounts, *, floor: bool) -> Iterator[tuple[str, str, str]]:
    """Each figure: what it is, its value, and the budget of the product."""
    starts = [start(home, url, floor=floor) for _ in range(amounts.starts)]
    yield "start, s", f"{median(starts):.2f}", "0.70"
    with seated(home, url, floor=floor) as seat:
        seat.ready()
        seat.terminal.pump(1.0)
        yield "memory at rest, MB", f"{seat.memory():.0f}", "80"
        spent, written, begin = seat.spent(), len(seat.terminal.raw), time.perf_counter()
        seat.terminal.pump(5.0)
        took = time.perf_counter() - begin
        yield "at rest, CPU %", f"{100 * (seat.spent() - spent) / took:.1f}", "0.3"
        yield "at rest, bytes/s", f"{(len(seat.terminal.raw) - written) / took:.0f}", "0"
        yield "key at rest, ms", spread(seat.type(amounts.keys)), "p95 8"
        for rate, budget in ((100, "p95 15"), (1000, "p95 36")):
            seat.ask(f"stream 1000000 {rate}")
            seat.terminal.pump(1.0)
            yield f"key at {rate} deltas/s, ms", spread(seat.type(amounts.keys)), budget
            begin = time.perf_counter()
            seat.terminal.send(b"\x03")
            seat.terminal.pump(1.0)
            if rate == 1000:
                yield "interrupt, ms", f"{1000 * (closed_at(url) - begin):.0f}", "30"
    with seated(home, url, floor=floor) as seat:
        seat.ready()
        spent, written = seat.spent(), len(seat.terminal.raw)
        took = seat.shown(seat.ask(f"stream {amounts.deltas} 0")) - seat.asked
        yield f"{amounts.deltas:,} deltas, s", f"{took:.2f}", "2.0"
        seat.terminal.pump(1.0)
        yield f"{amounts.deltas:,} deltas, CPU s", f"{seat.spent() - spent:.2f}", "2.1"
        yield f"{amounts.deltas:,} deltas, kB", f"{(len(seat.terminal.raw) - written) / 1000:.0f}", "200"
    with seated(home, url, floor=floor) as seat:
        seat.ready()
        turns = []
        for _ in range(amounts.turns):
            turns.append(seat.shown(seat.ask("lines")) - seat.asked)
            seat.terminal.pump(0.2)
        yield f"answer of 200 lines after {amounts.turns}, s", f"{median(turns[-5:]):.3f}", "0.10"
        seat.terminal.pump(1.0)
        yield f"memory after {amounts.turns} answers, MB", f"{seat.memory():.0f}", "120"
        yield f"key after {amounts.turns} answers, ms", spread(seat.type(amounts.keys)), "p95 10"
        if not floor:
            reads = []
            for _ in range(5):
                reads.append(seat.shown(seat.ask("read")) - seat.asked)
                seat.terminal.pump(0.5)
            yield "a file read between two answers, s", f"{median(reads):.3f}", "0.06"


@contextmanager
def seated(home: Any, url: str, *, floor: bool) -> Iterator[Seat]:
    seat = Seat(home, url, floor=floor)
    with seat.terminal:
        yield seat


def spread(costs: list[float]) -> str:
    return f"{median(costs):.1f} {quantiles(costs, n=20)[-1]:.1f}"


def closed_at(url: str) -> float:
    with urlopen(url.removesuffix("/v1") + "/closed") as answer:
        return float(json.load(answer)["closed_at"])


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        serve()
        return
    from tests.pty.terminal import Home

    amounts = Amounts(3, 20, 5, 2_000) if "--quick" in sys.argv else Amounts()
    with subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        try:
            rows: dict[str, list[str]] = {}
            for number, floor in enumerate((True, False)):
                with tempfile.TemporaryDirectory() as folder:
                    home = Home(Path(folder)).make()
                    home.serve(url)
                    (home.project / "notes.txt").write_text("A note.\n")
                    for name, value, budget in measure(home, url, amounts, floor=floor):
                        row = rows.setdefault(name, ["-", "-", budget])
                        row[number] = value
        finally:
            server.terminate()
    print(f"{'':42} {'floor':>12} {'tui-agent':>12}  budget (key: p50 p95)")
    for name, (bare, ours, budget) in rows.items():
        print(f"{name:42} {bare:>12} {ours:>12}  {budget}")


if __name__ == "__main__":
    main()
