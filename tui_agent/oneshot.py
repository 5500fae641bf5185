"""One task without a screen: the answer on stdout, everything else on stderr, an exit code from the events."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, TextIO

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.codec import to_json
from tui_agent.core.diff import diff, unified
from tui_agent.core.display import plain, sanitise
from tui_agent.core.types import ApprovalRequest, Ask, Decision, RunArgv, RunScript, WriteBytes
from tui_agent.session import Session

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def say(text: str) -> None:
    """One line to the person, on stderr, nothing raw in it."""
    print(plain(text), file=sys.stderr, flush=True)


def show(request: ApprovalRequest) -> str:
    """What would happen, whole, as text: a diff, a command word by word, or a script."""
    match request.effect:
        case WriteBytes(path, base, new):
            lines = unified(diff(base, new), path).splitlines()
            return "\n".join(sanitise(line, "diff_line").plain for line in lines)
        case RunArgv(argv):
            return sanitise(list(argv), "argv").plain
        case RunScript(script):
            return sanitise(script, "command").plain
    return plain(request.summary)


async def ask_nobody(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
    """Without a terminal ask means deny."""
    return tuple(Decision(r.id, "no", "there is no terminal to ask", "nobody") for r in batch)


def terminal_asker() -> Ask | None:
    """Ask on /dev/tty, never on stdin; None when there is no terminal to ask on."""
    if not sys.stderr.isatty():
        return None
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return None

    async def ask(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        return await asyncio.to_thread(_ask_all, batch)

    return ask


def _ask_all(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
    decisions: list[Decision] = []
    with open("/dev/tty", "r+b", buffering=0) as raw:  # noqa: PTH123 - unbuffered device
        tty = _Tty(raw)
        for number, request in enumerate(batch, 1):
            if decisions and decisions[-1].answer == "stop":
                decisions.append(Decision(request.id, "stop"))
                continue
            tty.write(f"\n{show(request)}\n")
            decisions.append(_ask_one(tty, request, f"{number}/{len(batch)}"))
    return tuple(decisions)


class _Tty:
    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def write(self, text: str) -> None:
        self._raw.write(text.encode("utf-8", "replace"))

    def line(self, prompt: str) -> str | None:
        """One line, None at the end of input."""
        import termios  # noqa: PLC0415 - only on a terminal

        termios.tcflush(self._raw.fileno(), termios.TCIFLUSH)  # what was typed before the question is no answer
        self.write(prompt)
        data = b""
        while not data.endswith(b"\n"):
            piece = self._raw.read(1)
            if not piece:
                return None
            data += piece
        return data.decode("utf-8", "replace").strip()


def _ask_one(tty: _Tty, request: ApprovalRequest, count: str) -> Decision:
    verb = "apply" if isinstance(request.effect, WriteBytes) else "run"
    while True:
        answer = tty.line(f"{verb}? {count}  y yes   n no   s skip   q stop  > ")
        match (answer or "").lower():
            case "y" | "yes":
                return Decision(request.id, "yes")
            case "n" | "no":
                return Decision(request.id, "no", tty.line("why (Enter: no reason) > ") or "")
            case "s" | "skip":
                return Decision(request.id, "skip", tty.line("why (Enter: no reason) > ") or "")
            case "q" | "stop":
                return Decision(request.id, "stop")
        if answer is None:
            return Decision(request.id, "stop", "the terminal was closed")


def status_line(event: ev.Event) -> str | None:
    """What one event is on stderr; None for events that say nothing there."""
    match event:
        case ev.AssistantSaid(message) if message.calls and message.text:
            return f"  {message.text}"
        case ev.ToolDone(call, summary=summary, note=note, denied=denied, text=text, status=status):
            line = f"  {summary or call.name}   {note}".rstrip()
            return line if status == "applied" and not denied else f"{line}\n    {text.splitlines()[0] if text else ''}"
        case ev.CheckDone():
            head = f"  check  {' '.join(event.argv)}   {'ok' if event.passed else 'FAILED'}  {event.duration:.1f}s  unsandboxed"
            return head if event.passed else f"{head}\n{event.output.rstrip()}"
        case ev.Notice(text):
            return f"  {text}"
        case ev.ProviderFailed(error):
            return f"tui-agent: {error.message}"
    return None


def report(session: Session, events: list[ev.Event], code: int) -> dict[str, Any]:
    """The result as one JSON object."""
    end = next((e for e in reversed(events) if isinstance(e, ev.RunEnded)), None)
    totals = fold.totals(events)
    return {
        "status": end.reason.value if end else "failed",
        "detail": end.detail if end else "",
        "answer": answer(events),
        "check": end.check if end else "none",
        "unsandboxed": any(isinstance(e, ev.CheckDone) and e.sandbox == "none" for e in events),
        "refused": [{"tool": e.call.name, "arguments": e.call.arguments, "by": e.denied} for e in fold.undone(events)],
        "files": {path: to_json(change) for path, change in fold.changes(events).items()},
        "usage": {"input": totals.usage.input_tokens, "output": totals.usage.output_tokens, "cost": totals.cost},
        "session": session.id,
        "exit_code": code,
    }


def answer(events: list[ev.Event]) -> str:
    """The last words of the model."""
    said = next((e for e in reversed(events) if isinstance(e, ev.AssistantSaid) and e.message.text), None)
    return said.message.text if said else ""


async def run_once(session: Session, task: str, *, as_json: bool = False, out: TextIO | None = None) -> int:
    """Carry out one task and print it; returns the exit code."""
    out = out or sys.stdout
    events: list[ev.Event] = []
    caught: list[int] = []
    task_now = asyncio.current_task()
    loop = asyncio.get_running_loop()

    def on_signal(number: int) -> Callable[[], None]:
        def stop() -> None:
            caught.append(number)
            if task_now is not None:
                task_now.cancel()

        return stop

    for number in SIGNALS:
        loop.add_signal_handler(number, on_signal(number))
    try:
        async with aclosing(session.run(task)) as stream:
            async for event in stream:
                events.append(event)
                if line := status_line(event):
                    say(line)
        code = fold.exit_code(events)
    except asyncio.CancelledError:
        if not caught:
            raise
        events = [e for e in session.events if not isinstance(e, ev.Unknown)]
        code = 128 + caught[0]
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
    if as_json:
        out.write(json.dumps(report(session, events, code), ensure_ascii=False) + "\n")
    elif text := answer(events):
        out.write((plain(text) if out.isatty() else text).rstrip("\n") + "\n")
    out.flush()
    say(closing_line(session, events, code))
    return code


def closing_line(session: Session, events: list[ev.Event], code: int) -> str:
    """What it came to, in one line, with the ending and the next step when something was left undone."""
    end = next((e for e in reversed(events) if isinstance(e, ev.RunEnded)), None)
    totals, changes = fold.totals(events), fold.changes(events)
    tokens = f"{_count(totals.usage.input_tokens)} in  {_count(totals.usage.output_tokens)} out"
    cost = "cost n/a" if totals.cost is None else f"${totals.cost:.4f}"
    files = f"{len(changes)} file{'s' * (len(changes) != 1)} changed"
    lines = [f"  {end.reason.value if end else 'failed'}  {files}  {tokens}  {cost}  session {session.id}  exit {code}"]
    left = fold.undone(events)
    if left:
        what = ", ".join(e.summary or e.call.name for e in left)
        lines.append(
            f"tui-agent: not done, because it was not approved: {what}. Use --yes for edits, or a terminal to ask on."
        )
    if end is not None and end.check == "not run" and not left:
        lines.append("tui-agent: the check was not run. Use --allow check, or trust the folder: tui-agent trust")
    return "\n".join(lines)


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)
