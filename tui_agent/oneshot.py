"""One task without a screen: the answer on stdout, everything else on stderr, an exit code from the events."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.codec import to_json
from tui_agent.core.display import label, plain
from tui_agent.core.types import ApprovalRequest, Receipt, RetryTick, WriteBytes
from tui_agent.questions import view
from tui_agent.session import Session
from tui_agent.workspace.receipts import Blobs

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

_OBJECT = 160
"""Cells that a path or command may take in a status line; a question shows the whole of it."""


def say(text: str) -> None:
    """Words to the person, on stderr, nothing raw in them."""
    print(plain(text), file=sys.stderr, flush=True)


def show_request(request: ApprovalRequest) -> None:
    """What a dry run would have done, whole, on stderr."""
    say(f"\n  {plain(request.summary, 'title')}")
    print(view(request.effect).printed(), file=sys.stderr, flush=True)


async def run_once(session: Session, task: str, *, as_json: bool = False, quiet: bool = False) -> int:
    """Carry out one task and print it; returns the exit code. `quiet`: nothing but the answer, questions and failures."""
    started, first = time.monotonic(), len(session.events)
    if not quiet:
        say(banner(session))
    with stopping_on_signals() as caught:
        try:
            last: ev.Event | None = None
            async with aclosing(session.run(task)) as stream:
                async for event in stream:
                    for line in status_lines(event, last, session, quiet=quiet):
                        print(line, file=sys.stderr, flush=True)
                    last = event
        except asyncio.CancelledError:
            if not caught:
                raise
    # not the events that were yielded: a run that was stopped has its ending in the log only
    events = [event for event in session.events[first:] if not isinstance(event, ev.Unknown)]
    code = 128 + caught[0] if caught else fold.exit_code(events)
    if as_json:
        print(json.dumps(report(session.id, events, code)), flush=True)
    elif text := answer(events).rstrip("\n"):
        print(plain(text) if sys.stdout.isatty() else text, flush=True)
    if not quiet:
        say(closing_line(session.id, events, code, time.monotonic() - started))
    for line in what_is_left(session, events):
        say(f"tui-agent: {line}")
    return code


@contextmanager
def stopping_on_signals() -> Iterator[list[int]]:
    """Cancel the current task at the first signal; gives the list of those that came.

    Later ones do not disturb the cleaning up, whose time is bounded. One that was ignored from outside (nohup)
    stays ignored.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    caught: list[int] = []

    def stop(number: int) -> None:
        caught.append(number)
        if len(caught) == 1:
            task.cancel()

    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in heard:
        loop.add_signal_handler(number, stop, number)
    try:
        yield caught
    finally:
        for number in heard:
            loop.remove_signal_handler(number)


# ------------------------------------------------------------------ while it runs


def banner(session: Session) -> str:
    """Who answers, where, and under which rules."""
    terms, profile = session.terms, session.profile
    modes = {"allow": "edits", "ask": "ask (--yes: edits)" if terms.yes else "ask", "deny": "read"}
    mode = session.mode.name if session.mode.reads_only else modes[terms.settings.policy.table["write"]]
    who = f"{profile.name}/{profile.model}" if profile else "no model"
    words = [who, f"in {session.root}", f"mode {mode}"]
    return "  ".join(["tui-agent", *words, *([] if terms.trusted else ["folder not trusted"])])


def status_lines(event: ev.Event, last: ev.Event | None, session: Session, *, quiet: bool) -> Iterable[str]:
    """What one event, which followed `last`, is on stderr: lines that are safe to print."""
    match event:
        case ev.ProviderFailed(error):
            return [plain(f"tui-agent: {error.message}")]
        case ev.CheckDone(passed=passed) if not (quiet and passed):
            return check_lines(event)
        case _ if quiet:
            return []
        case ev.AssistantSaid(message) if message.calls and message.text:
            return [indented(message.text, 2)]
        case ev.ToolDone():
            return tool_lines(event, session)
        case ev.ProtocolChosen(protocol, reason):
            return [indented(f"protocol {protocol} from here on: {reason}", 2)]
        case ev.Notice(text):
            return [indented(text, 2)]
        case RetryTick(attempt, left, error) if not (isinstance(last, RetryTick) and last.attempt == attempt):
            return [plain(f"  {error.message}; trying again" + (f" in {left:.0f} s" if left else ""))]
    return []


def check_lines(check: ev.CheckDone) -> Iterator[str]:
    """A check with how it was confined, and its output when it failed."""
    confined = "unsandboxed" if check.sandbox == "none" else f"sandbox {check.sandbox}"
    result = "ok" if check.passed else "FAILED" if check.exit_code is None else f"FAILED (exit {check.exit_code})"
    yield f"  check  {label(shlex.join(check.argv), _OBJECT)}   {result}   {seconds(check.duration)}   {confined}"
    if not check.passed:
        yield indented(check.output, 4)


def indented(text: str, by: int) -> str:
    """Outside text of several lines, safe to print, `by` columns to the right."""
    return textwrap.indent(plain(text.rstrip()), " " * by)


def tool_lines(done: ev.ToolDone, session: Session) -> Iterator[str]:
    """One action with its result; with its diff, too, when no person was shown it before."""
    receipt = done.receipt
    unseen = receipt is not None and receipt.path is not None and receipt.by != "key"
    parts = [
        f"  {label(done.summary or done.call.name, _OBJECT)}",
        "" if done.denied else label(done.note, _OBJECT),
        seconds(done.duration) if receipt is not None and receipt.exit_code is not None else "",
        f"applied without a question ({label(receipt.by, _OBJECT)})" if receipt is not None and unseen else "",
        "applied" if receipt is not None and receipt.path is not None and not unseen else "",
    ]
    yield "   ".join(filter(None, parts))
    if done.status != "applied" or done.denied:
        yield f"    {label(done.text.partition(chr(10))[0], 2 * _OBJECT)}"
    elif receipt is not None and unseen:
        yield written(receipt, session.folder / "blobs")


def written(receipt: Receipt, copies: Path) -> str:
    """What an edit did, from the copies that the session keeps of old and new bytes."""
    blobs = Blobs(copies)
    base, new = (None if name is None else blobs.get(name) for name in (receipt.before, receipt.after))
    if (base is None) is (receipt.before is None) and (new is None) is (receipt.after is None):
        return view(WriteBytes(receipt.path or "", base, new)).printed()
    return "    (too large for the copies of this session, cannot be shown)"


def seconds(duration: float) -> str:
    """A duration in words: "12 ms", "1.8s", "3m 20s"."""
    if duration < 1:
        return f"{duration * 1000:.0f} ms"
    return f"{duration:.1f}s" if duration < 60 else f"{duration // 60:.0f}m {duration % 60:.0f}s"


# ------------------------------------------------------------------ what it came to


def answer(events: Sequence[ev.Durable]) -> str:
    """The last words of the model that were no remark beside an action; "" when there are none."""
    said = next((e for e in reversed(events) if isinstance(e, ev.AssistantSaid)), None)
    return said.message.text if said is not None and not said.message.calls else ""


def ending(events: Sequence[ev.Durable]) -> ev.RunEnded:
    """How the run ended."""
    return next(e for e in reversed(events) if isinstance(e, ev.RunEnded))


def report(session_id: str, events: Sequence[ev.Durable], code: int) -> dict[str, Any]:
    """The result as one JSON object."""
    end, totals = ending(events), fold.totals(events)
    return {
        "status": "refused" if code == 3 else end.reason.value,
        "detail": end.detail,
        "answer": answer(events),
        "check": end.check,
        "unsandboxed": any(_sandbox(e) == "none" for e in events),
        "refused": [_refused(e) for e in fold.undone(events)],
        "files": {path: to_json(change) for path, change in fold.changes(events).items()},
        "steps": end.steps,
        "usage": {"in": totals.usage.input_tokens, "out": totals.usage.output_tokens, "cost": totals.cost},
        "session": session_id,
        "exit_code": code,
    }


def _sandbox(event: ev.Durable) -> str:
    """How the program was confined that an event tells of, "" when it tells of none."""
    if isinstance(event, ev.ToolDone) and event.receipt is not None:
        return event.receipt.sandbox
    return event.sandbox if isinstance(event, ev.CheckDone) else ""


def _refused(done: ev.ToolDone) -> dict[str, Any]:
    named = {k: v for k, v in (done.call.arguments or {}).items() if k in {"path", "argv", "script"}}
    return {"tool": done.call.name, **named, "by": done.denied, "why": done.text}


def closing_line(session_id: str, events: Sequence[ev.Durable], code: int, duration: float) -> str:
    """What it came to, in one line."""
    end, totals, changes = ending(events), fold.totals(events), fold.changes(events)
    added, removed = sum(c.added for c in changes.values()), sum(c.removed for c in changes.values())
    parts = [
        end.reason.value.replace("_", " "),
        f"{len(changes)} file{'s' * (len(changes) != 1)}  +{added} -{removed}" if changes else "no file changed",
        f"{end.steps} step{'s' * (end.steps != 1)}  {seconds(duration)}",
        f"{_count(totals.usage.input_tokens)} in  {_count(totals.usage.output_tokens)} out  {_price(totals.cost)}",
        f"session {session_id}",
        f"exit {code}",
    ]
    return f"  {'    '.join(parts)}"


def what_is_left(session: Session, events: Sequence[ev.Durable]) -> Iterator[str]:
    """What was not done or cannot be relied on, one sentence each, with the next step."""
    end = ending(events)
    unasked = [e for e in fold.undone(events) if e.denied == "nobody"]
    others = [e for e in fold.undone(events) if e.denied != "nobody"]
    if unasked:
        count = f"{len(unasked)} action{'s' * (len(unasked) != 1)}"
        flag = "--yes for edits in the folder, or " if not session.terms.yes else ""
        yield f"{count} needed approval ({_names(unasked)}). Use {flag}a terminal to ask on."
    if others:
        yield f"not done, because it was refused or left out: {_names(others)}."
    if end.check == "not run":
        trusted = session.terms.trusted or session.terms.yes
        yield f"the check was not run. Use --allow check{'' if trusted else ', or trust the folder: tui-agent trust'}."
    if end.reason in fold.LIMITS:
        yield f"stopped at a limit: {end.detail}."
    if session.log.fault:
        yield session.log.fault


def _names(actions: Sequence[ev.ToolDone]) -> str:
    return ", ".join(label(done.summary or done.call.name, _OBJECT) for done in actions)


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)


def _price(cost: float | None) -> str:
    return "cost n/a" if cost is None else f"${cost:.2f}" if cost == 0 or cost >= 0.1 else f"${cost:.4f}"
