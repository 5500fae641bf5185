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
from collections.abc import Iterator
from dataclasses import dataclass

from tui_agent.core.diff import FileDiff, Row, diff, mixed_endings
from tui_agent.core.display import plain, sanitise
from tui_agent.core.types import Answer, ApprovalRequest, Ask, Decision, Effect, RunArgv, RunScript, WriteBytes
from tui_agent.workspace import git

TERMINAL = "/dev/tty"

SHOWN = 400
"""Changed lines of one file that are printed unasked; of a longer change, this much of its head."""

_POLL = 0.05
"""Seconds between two looks at the terminal: kqueue cannot watch /dev/tty, and a blocked thread cannot be cancelled."""

_ANSWERS: dict[str, Answer] = {
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
    """

    head: tuple[str, ...]
    rest: tuple[str, ...] = ()
    changed: int = 0
    unseen: int = 0
    odd: bool = False

    def printed(self) -> str:
        """The head, with a line that says what is missing."""
        missing = [f"    ... {self.unseen:,} of {self.changed:,} changed lines not shown"] if self.rest else []
        return "\n".join((*self.head, *missing))


def view(effect: Effect, limit: int = SHOWN, where: str = "") -> View:
    """What an effect would do: a diff, a command word by word, or a script, with the sandbox `where` it runs."""
    match effect:
        case WriteBytes(_, base, new):
            return _file(diff(base, new), limit)
        case RunArgv(argv, timeout):
            how = f"no shell, {git.FACT}" if git.is_git(argv) else "no shell"
            return View((f"    {plain(list(argv), 'argv')}", f"    ({_terms(how, timeout, where)})"))
        case RunScript(script, timeout):
            lines = plain(script, "command").split("\n")
            return View((*(f"    {line}" for line in lines), f"    ({_terms('run by /bin/sh', timeout, where)})"))
    return View(())


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
    return View(tuple(head), tuple(rest), changed, changed - limit if rest else 0, odd)


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


def terminal_asker() -> Ask | None:
    """Ask on the terminal of this process; None when there is none, or when nobody would see the question."""
    if not sys.stderr.isatty():
        return None
    try:
        os.close(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return None
    return ask_terminal


async def ask_terminal(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
    """Ask one request after the other; after `q` the rest is not asked."""
    decisions: list[Decision] = []
    terminal = Terminal(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    try:
        for number, request in enumerate(batch, 1):
            if decisions and decisions[-1].answer == "stop":
                decisions.append(Decision(request.id, "stop"))
                continue
            count = f" {number}/{len(batch)}" if len(batch) > 1 else ""
            decisions.append(await _ask_one(terminal, request, count))
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
        except (OSError, termios.error):  # hung up
            return None
        return data.decode("utf-8", "replace").strip() if data else None


async def _ask_one(terminal: Terminal, request: ApprovalRequest, count: str) -> Decision:
    shown = view(request.effect, where=request.where)
    # a summary joins the words of a command; below it stands what really runs
    heading = request.summary.partition("  ")[0] if isinstance(request.effect, RunArgv | RunScript) else request.summary
    terminal.write(f"\n  {plain(heading, 'title')}\n")
    careful = filter(None, (request.caution, *request.policy.floors))
    terminal.write("".join(f"    careful: {plain(word, 'title')}\n" for word in careful))
    terminal.write(f"{shown.printed()}\n")
    verb = {WriteBytes: "apply", RunArgv: "run", RunScript: "run"}.get(type(request.effect), "allow")
    unseen, warned = shown.unseen, False
    while True:
        typed = await terminal.ask(f"  {verb}?{count} {_choices(shown, unseen)} > ")
        answer: Answer | None = "stop" if typed is None else _ANSWERS.get(typed.lower())
        if typed == "?" and shown.rest:
            terminal.write("\n".join(shown.rest) + "\n")
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
            return Decision(request.id, answer, "the terminal was closed" if typed is None else "")


def _choices(shown: View, unseen: int) -> str:
    if unseen:
        return "? show them   y yes, unseen   n no   s skip   q stop  "
    seen = "the changed line is" if shown.changed == 1 else f"all {shown.changed:,} changed lines"
    remark = f"   ({seen} shown)" if shown.changed else ""
    return f"y yes   n no   s skip   q stop{remark}  "
