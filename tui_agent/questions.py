"""Questions of a run without a screen: what is shown of a request, and the answer from the terminal.

Answers come from /dev/tty and never from stdin, which may hold anything. What was typed before a question is
no answer to it. A question waits as long as it takes; the end of the terminal means no.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
import termios
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from tui_agent.core.diff import FileDiff, Row, diff, mixed_endings
from tui_agent.core.display import plain, sanitise
from tui_agent.core.servers import CallServer
from tui_agent.core.types import Answer, ApprovalRequest, Ask, Decision, Effect, RunArgv, RunScript, WriteBytes
from tui_agent.core.wrappers import shell_text
from tui_agent.workspace import git

TERMINAL = "/dev/tty"

SHOWN = 400
"""Changed lines of one file that are printed unasked; of a longer change, this much of its head."""

_COLOURS: Mapping[str, str] = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
"""Added lines green, removed ones red, the place of a hunk cyan: by the first sign of a line of a diff."""

_POLL = 0.05
"""Seconds between two looks at the terminal: kqueue cannot watch /dev/tty, and a blocked thread cannot be cancelled."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a question is put: with colours, and with numbers for answers in the place of letters."""

    colour: bool = False
    numbered: bool = False


LETTERS = Manner()

_NUMBERS: dict[str, Answer] = {"1": "yes", "2": "no", "3": "skip", "4": "stop"}
ANSWERS: dict[str, Answer] = {
    **dict.fromkeys(("y", "yes"), "yes"),
    **dict.fromkeys(("n", "no"), "no"),
    **dict.fromkeys(("s", "skip"), "skip"),
    **dict.fromkeys(("q", "stop"), "stop"),
}


# ------------------------------------------------------------------ what is shown


@dataclass(frozen=True, slots=True)
class View:
    """What an effect would do, as lines that are safe to print.

    `rest` is what is only printed when it is asked for. `changed` counts the lines that the effect adds or
    removes, `unseen` those of them in `rest`. `odd`: `rest` holds parts that had to be escaped, so it must be seen.
    `diff`: the lines are those of a diff, which may have colours.
    """

    head: tuple[str, ...]
    rest: tuple[str, ...] = ()
    changed: int = 0
    unseen: int = 0
    odd: bool = False
    diff: bool = False

    def printed(self, *, colour: bool = False) -> str:
        """The head, with a line that says what is missing."""
        missing = [f"    ... {self.unseen:,} of {self.changed:,} changed lines not shown"] if self.rest else []
        return "\n".join((*self._painted(self.head, colour=colour), *missing))

    def remaining(self, *, colour: bool = False) -> str:
        """The rest."""
        return "\n".join(self._painted(self.rest, colour=colour))

    def _painted(self, lines: Iterable[str], *, colour: bool) -> Iterator[str]:
        for line in lines:
            sign = _COLOURS.get(line[4:5], "") if colour and self.diff else ""
            yield f"{sign}{line}\x1b[0m" if sign else line


def view(effect: Effect, limit: int = SHOWN, where: str = "") -> View:
    """What an effect would do: a diff, a command word by word, or a script, with the sandbox `where` it runs."""
    match effect:
        case WriteBytes(_, base, new):
            return _file(diff(base, new), limit)
        case RunArgv(argv, timeout) if (script := shell_text(argv)) is not None:
            return _script(script, " ".join(argv[:2]), timeout, where)
        case RunArgv(argv, timeout):
            how = ", ".join(filter(None, ("no shell", git.fact(argv))))
            return View((f"    {plain(list(argv), 'argv')}", f"    ({_terms(how, timeout, where)})"))
        case RunScript(script, timeout):
            return _script(script, "/bin/sh", timeout, where)
        case CallServer(text=text):
            return View((*(f"    {line}" for line in plain(text).split("\n")), f"    ({plain(where)})"))
    return View(())


def _script(script: str, program: str, timeout: float, where: str) -> View:
    lines = plain(script, "command").split("\n")
    how = f"run by {plain(program, 'text')}"
    return View((*(f"    {line}" for line in lines), f"    ({_terms(how, timeout, where)})"))


def _terms(how: str, timeout: float, where: str) -> str:
    return f"{how}, {where or 'not sandboxed'}, stopped after {timeout:g} s"


def _file(change: FileDiff, limit: int) -> View:
    if change.binary:
        sizes = " -> ".join("no file" if b is None else f"{len(b):,} bytes" for b in (change.base, change.new))
        return View((f"    binary, cannot be shown: {sizes}",))
    changed = change.added + change.removed
    left = limit if changed > limit else changed + 1
    head: list[str] = []
    rest: list[str] = []
    odd = False
    tell_endings = mixed_endings(change.base, change.new)
    for hunk in change.hunks:
        place = f"@@ -{_lines(hunk.old)} +{_lines(hunk.new)} @@" if len(hunk) else "(an empty file)"
        (head if left else rest).append(f"    {place}")
        for row in hunk.rows():
            shown = sanitise({"context": " ", "remove": "-", "add": "+"}[row.kind] + row.text, "diff_line")
            odd = odd or (not left and shown.full_view)
            (head if left else rest).append(f"    {shown.plain}{''.join(_remarks(row, tell_endings))}")
            left -= bool(left) and row.kind != "context"
    return View(tuple(head), tuple(rest), changed, changed - limit if rest else 0, odd, diff=True)


def _lines(place: range) -> str:
    return f"{place.start + bool(place)},{len(place)}"


def _remarks(row: Row, tell_endings: bool) -> Iterator[str]:
    """What a line's text does not show."""
    if row.bom:
        yield "  <- BOM"
    if not row.ending:
        yield "  <- no newline at end"
    elif tell_endings:
        yield "  <- CRLF" if row.ending == "\r\n" else "  <- LF"


# ------------------------------------------------------------------ the answer


async def ask_nobody(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
    """Without a terminal ask means deny."""
    return tuple(Decision(request.id, "no", "there is no terminal to ask on", "nobody") for request in batch)


def terminal_asker(manner: Manner = LETTERS) -> Ask | None:
    """Ask on the terminal of this process; None when there is none, or when nobody would see the question."""
    if not sys.stderr.isatty():
        return None
    try:
        os.close(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return None
    return partial(ask_terminal, manner=manner)


async def ask_terminal(batch: tuple[ApprovalRequest, ...], *, manner: Manner = LETTERS) -> tuple[Decision, ...]:
    """Ask one request after the other; after `q` the rest is not asked."""
    decisions: list[Decision] = []
    terminal = Terminal(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    try:
        for number, request in enumerate(batch, 1):
            if decisions and decisions[-1].answer == "stop":
                decisions.append(Decision(request.id, "stop"))
                continue
            count = f" {number}/{len(batch)}" if len(batch) > 1 else ""
            decisions.append(await _ask_one(terminal, request, count, manner))
    finally:
        terminal.close()
    return tuple(decisions)


class Terminal:
    """The terminal as a place to ask: lines out, one line in."""

    def __init__(self, fd: int) -> None:
        """Take over an open terminal; `close` closes it."""
        self._fd = fd

    def close(self) -> None:
        """Close the terminal."""
        os.close(self._fd)

    def write(self, text: str) -> None:
        """Print text that is safe to print."""
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._fd, data) :]

    async def ask(self, prompt: str) -> str | None:
        """One line typed after `prompt` was shown, without blanks around it; None at the end of the terminal."""
        try:
            termios.tcflush(self._fd, termios.TCIFLUSH)
            self.write(prompt)
            while not select.select([self._fd], [], [], 0)[0]:  # noqa: ASYNC110 - there is nothing to wait on, see _POLL
                await asyncio.sleep(_POLL)
            data = os.read(self._fd, 4096)
            if not data:
                self.write("\n")  # no Enter was typed; what is printed next begins on a line of its own
        except asyncio.CancelledError:
            self.write("\n")
            raise
        except (OSError, termios.error):  # hung up
            return None
        return data.decode("utf-8", "replace").strip() if data else None


async def _ask_one(terminal: Terminal, request: ApprovalRequest, count: str, manner: Manner) -> Decision:
    shown = view(request.effect, where=request.where)
    heading = request.summary
    match request.effect:  # a summary joins the words of a command; below it stands what really runs
        case RunArgv() | RunScript():
            heading = heading.partition("  ")[0]
        case CallServer(name=name):
            heading = f"mcp  {name}"
    terminal.write(f"\n  {plain(heading, 'title')}\n")
    careful = filter(None, (request.caution, *request.policy.floors))
    terminal.write("".join(f"    careful: {plain(word, 'title')}\n" for word in careful))
    if request.missed:
        terminal.write(f"    asked because {plain(request.missed, 'title')}\n")
    terminal.write(f"{shown.printed(colour=manner.colour)}\n")
    verb = {WriteBytes: "apply", RunArgv: "run", RunScript: "run", CallServer: "call"}.get(
        type(request.effect), "allow"
    )
    unseen, warned = shown.unseen, False
    while True:
        typed = await terminal.ask(f"  {verb}?{count} {_choices(shown, unseen, manner)} > ")
        known = {**ANSWERS, **_NUMBERS} if manner.numbered else ANSWERS
        answer: Answer | None = "stop" if typed is None else known.get(typed.lower())
        if typed == "?" and shown.rest:
            terminal.write(f"{shown.remaining(colour=manner.colour)}\n")
            unseen = 0
        elif answer == "yes" and unseen and shown.odd:
            terminal.write("  y counts after ? has shown the rest: it holds characters that had to be escaped\n")
        elif answer == "yes" and unseen and not warned:
            terminal.write(f"  y again: {unseen:,} of {shown.changed:,} not seen\n")
            warned = True
        elif answer in {"no", "skip"}:
            why = await terminal.ask("  why? (Enter: no reason) > ")
            return Decision(request.id, answer, why or "")
        elif answer is not None:
            return Decision(request.id, answer, "the input ended" if typed is None else "")


def _choices(shown: View, unseen: int, manner: Manner) -> str:
    if manner.numbered:
        more = f"? shows {unseen:,} changed lines that were not shown. " if unseen else ""
        return f"{more}1 yes, 2 no, 3 skip, 4 stop."
    if unseen:
        return "? show them   y yes, unseen   n no   s skip   q stop  "
    seen = "the changed line is" if shown.changed == 1 else f"all {shown.changed:,} changed lines"
    remark = f"   ({seen} shown)" if shown.changed else ""
    return f"y yes   n no   s skip   q stop{remark}  "
