"""One task without a screen: the answer on stdout, everything else on stderr, an exit code from the events."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tui_agent import routing, stream, window
from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.codec import to_json
from tui_agent.core.display import label, plain
from tui_agent.core.endings import BY_SIGNAL, BY_YOU, UNANSWERED, UNREAD, StopReason
from tui_agent.core.fitting import ON_THE_SCREEN
from tui_agent.core.policy import FLOOR, UNTRUSTED
from tui_agent.core.programs import TOOLS
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import ApprovalRequest, ErrorKind, RetryTick, WriteBytes
from tui_agent.paths import tilde
from tui_agent.questions import view
from tui_agent.session import Session
from tui_agent.terms import Terms
from tui_agent.told import told
from tui_agent.workspace.receipts import Blobs

BOUNDS = {
    StopReason.STEP_LIMIT: "max_steps",
    StopReason.CONTEXT_LIMIT: "max_context",
    StopReason.TOKEN_LIMIT: "max_tokens",
    StopReason.COST_LIMIT: "max_cost",
    StopReason.INVALID: "max_invalid",
    StopReason.REPEATED: "max_identical",
}
"""The setting behind each ending at a limit."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)

TOLD = 18
"""Lines that are shown of what the model is told: a skill or instructions may be long."""
_OBJECT = 160
"""Cells that a path or command may take in a status line; a question shows the whole of it."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a task is told: `form` is what stdout gets; `quiet`, nothing on stderr but questions and failures; `colour`.

    `opening`: the first line says who answers, where, and under which rules.
    """

    form: Literal["text", "json", "stream"] = "text"
    quiet: bool = False
    colour: bool = False
    opening: bool = True


PLAIN = Style()
NEXT: Mapping[ErrorKind, str] = {
    "auth": "Set another key there, or choose another profile with --provider.",
    "rate_limit": "Wait a while, or choose another with --provider or --model.",
    "context_length": "Give it less, or choose a model with a larger window with --model.",
    "server": "Try again later, or choose another with --provider or --model.",
    "network": "Look at the endpoint of the profile and at the network, or choose another with --provider.",
    "protocol": "Try again, or choose another with --provider or --model.",
    "bad_request": "Choose another with --provider or --model; --debug writes down what is sent.",
}
"""What to do about a failed request, by its kind."""


def colourful(env: Mapping[str, str]) -> bool:
    """Whether what is written to stderr may have colours."""
    return sys.stderr.isatty() and not env.get("NO_COLOR") and env.get("TERM", "dumb") != "dumb"


def say(text: str) -> None:
    """Words to the person, on stderr, nothing raw in them."""
    print(plain(text), file=sys.stderr, flush=True)


def show_request(request: ApprovalRequest, *, colour: bool = False) -> None:
    """What a dry run would have done, whole, on stderr."""
    say(f"\n  {plain(request.summary, 'action')}")
    shown = view(request.effect, sys.maxsize, request.where)
    print(shown.printed(colour=colour), file=sys.stderr, flush=True)


async def run_once(session: Session, task: str, style: Style = PLAIN, told: Callable[[int], None] | None = None) -> int:
    """Carry out one task and print it; returns the exit code, which `told` hears once the result is on stdout."""
    started, first = time.monotonic(), len(session.events)

    def put(record: Mapping[str, Any]) -> None:
        print(session.log.line(record), flush=True)

    if style.opening and not style.quiet:
        say(in_lines(banner(session), "  "))

    def show(event: ev.Event, last: ev.Event | None) -> None:
        try:
            if style.form == "stream":
                put(stream.record(event))
            for line in status_lines(event, last, session, style):
                print(line, file=sys.stderr, flush=True)
        except OSError:
            session.stopped = UNREAD
            raise

    def stopped(number: int) -> None:
        session.stopped = BY_SIGNAL.get(number, BY_YOU)

    with stopping_on_signals(stopped) as caught:
        if style.form == "stream":
            put(stream.opening(session.id))
        try:
            last: ev.Event | None = None
            async with aclosing(routing.run(session, task)) as happening:
                async for event in happening:
                    show(event, last)
                    last = event
        except asyncio.CancelledError:
            if not caught:
                raise
    # not the events that were yielded: a run that was stopped has its ending in the log only
    events = [event for event in session.events[first:] if not isinstance(event, ev.Unknown)]
    code = 128 + caught[0] if caught else fold.exit_code(events)
    if style.form == "json":
        put(report(session.id, events, code))
    elif style.form == "stream":
        put(stream.closing(report(session.id, events, code)))
    elif text := answer(events).rstrip("\n"):
        # where both are seen together, the answer stands apart from what was done for it
        apart = style.opening and not style.quiet and sys.stdout.isatty() and sys.stderr.isatty()
        if apart:
            print(file=sys.stderr, flush=True)
        print(plain(text, "prose") if sys.stdout.isatty() else text, flush=True)
        if apart:
            print(file=sys.stderr, flush=True)
    if told is not None:
        told(code)
    if not style.quiet:
        say(in_lines(closing_line(session.id, events, code, time.monotonic() - started), "    "))
    for line in what_is_left(session, events):
        say(f"tui-agent: {line}")
    if answer(events) and not style.quiet and (trap := await window.found(session)) is not None:
        say(f"tui-agent: {trap.cause} Set {trap.good}.")
    return code


@contextmanager
def stopping_on_signals(told: Callable[[int], None] = lambda _: None) -> Iterator[list[int]]:
    """Cancel the current task at the first signal, which `told` hears before; gives the list of those that came.

    Later ones do not disturb the cleaning up, whose time is bounded. One that was ignored from outside (nohup)
    stays ignored.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    caught: list[int] = []

    def stop(number: int) -> None:
        caught.append(number)
        if len(caught) == 1:
            told(number)
            task.cancel()

    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in SIGNALS}
    heard = [number for number in SIGNALS if before[number] is not signal.SIG_IGN]
    for number in heard:
        loop.add_signal_handler(number, stop, number)
    try:
        yield caught
    finally:
        for number in heard:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])


# ------------------------------------------------------------------ while it runs


def in_lines(parts: Sequence[str], gap: str, indent: str = "  ") -> str:
    """Parts of a line with gaps; on a terminal that is narrower they go on in the next line, with an indent."""
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else 0
    lines = [parts[0]]
    for part in parts[1:]:
        if width and len(lines[-1]) + len(gap) + len(part) >= width:
            lines.append(indent + part)
        else:
            lines[-1] += gap + part
    return "\n".join(lines)


def banner(session: Session) -> list[str]:
    """Who answers, where, and under which rules."""
    terms, profile = session.terms, session.profile
    mode: str = session.mode.name
    if not session.mode.reads_only and terms.settings.policy.table["write"] == "deny":
        mode += " (edits denied)"
    elif mode == "ask" and terms.yes:
        mode += " (--yes: edits)"
    who = "/".join(filter(None, (profile.name, profile.model))) if profile else "no model"
    words = [who, f"in {tilde(session.root, terms.environment)}", f"mode {mode}"]
    return ["tui-agent", *words, *([] if terms.trusted else ["folder not trusted"])]


def status_lines(event: ev.Event, last: ev.Event | None, session: Session, style: Style) -> Iterable[str]:
    """What one event, which followed `last`, is on stderr: lines that are safe to print."""
    match event:
        case ev.ProviderFailed(error):
            stop = "" if error.message.endswith((".", "?", "!")) else "."
            return [plain(f"tui-agent: {error.message}{stop} {NEXT[error.kind]}")]
        case ev.CheckDone(passed=passed, warnings=warnings) if warnings or not (style.quiet and passed):
            return check_lines(event)
        case _ if style.quiet:
            return []
        case ev.AssistantSaid(message) if message.calls and message.text:
            return [indented(message.text, 2)]
        case ev.ToolDone():
            return tool_lines(event, session, colour=style.colour)
        case ev.ProtocolChosen(protocol, reason):
            return [indented(f"protocol {protocol} from here on: {reason}", 2)]
        case ev.Notice(text, "model"):
            told_lines, more = text.splitlines()[:TOLD], len(text.splitlines()) - TOLD
            told_lines += [f"[{more} lines more]"] if more > 0 else []
            return [indented("told the model: " + "\n".join(told_lines), 2)]
        case ev.Notice(text):
            return [indented(text.removesuffix(ON_THE_SCREEN), 2)]
        case _ if (words := told(event)) is not None:
            return [indented("  ".join(words), 2)]
        case RetryTick(attempt, left, error, tries) if not (isinstance(last, RetryTick) and last.attempt == attempt):
            return [plain(f"  {error.message}; try {attempt + 1} of {tries} in {left:.0f} s")]
    return []


def check_lines(check: ev.CheckDone) -> Iterator[str]:
    """A check with how it was confined, and its output when it failed."""
    confined = "unsandboxed" if check.sandbox == "none" else f"sandbox {check.sandbox}"
    failed = "FAILED" if check.exit_code is None else f"FAILED (exit {check.exit_code})"
    result = "ok" if check.passed else failed if check.ran else "could not be run"
    command = label(shlex.join(check.argv), _OBJECT, "action")
    yield in_lines([f"  check  {command}", result, seconds(check.duration), confined], "   ", "    ")
    yield from (indented(warning, 4) for warning in check.warnings)
    if not check.passed:
        yield indented(check.output, 4)


def indented(text: str, by: int) -> str:
    """Outside text of several lines, safe to print, `by` columns to the right."""
    return textwrap.indent(plain(text.rstrip()), " " * by)


def tool_lines(done: ev.ToolDone, session: Session, *, colour: bool) -> Iterator[str]:
    """One action with its result; with its diff, too, when no person was shown it before."""
    receipt = done.receipt
    unseen = receipt is not None and receipt.path is not None and receipt.by != "key"
    parts = [
        f"  {_summary(done)}",
        "" if done.denied else label(done.note, _OBJECT),
        seconds(done.duration) if receipt is not None and receipt.exit_code is not None else "",
        f"applied without a question ({label(receipt.by, _OBJECT)})" if receipt is not None and unseen else "",
        "applied" if receipt is not None and receipt.path is not None and not unseen else "",
    ]
    yield in_lines(list(filter(None, parts)), "   ", "    ")
    if done.status != "applied" or done.denied:
        yield f"    {label(done.text.partition(chr(10))[0], 2 * _OBJECT)}"
    elif receipt is not None and unseen:
        yield written(receipt, session.folder / "blobs", colour=colour)


def written(receipt: Receipt, copies: Path, *, colour: bool) -> str:
    """What an edit did, from the copies that the session keeps of old and new bytes."""
    blobs = Blobs(copies)
    base, new = (None if name is None else blobs.get(name) for name in (receipt.before, receipt.after))
    if (base is None) is (receipt.before is None) and (new is None) is (receipt.after is None):
        return view(WriteBytes(receipt.path or "", base, new)).printed(colour=colour)
    return "    (this session has no copy of it, so it cannot be shown)"


def seconds(duration: float) -> str:
    """A duration in words: "12 ms", "1.8s", "3m 20s"."""
    if duration < 1:
        return f"{duration * 1000:.0f} ms"
    return f"{duration:.1f}s" if duration < 60 else f"{duration // 60:.0f}m {duration % 60:.0f}s"


# ------------------------------------------------------------------ what it came to


def answer(events: Sequence[ev.Durable]) -> str:
    """The last words of the model that were an answer: no remark beside an action, and no action gone wrong; else "".

    Words that were asked for once more in the form of the protocol count, however the run ended. An answer that was cut
    by the length limit is one with what went on behind it.
    """
    plainly = {e.call.id for e in events if isinstance(e, ev.ToolDone) and not e.call.name and not e.invalid}
    said = begun = ""
    for event in events:
        match event:
            case ev.AssistantSaid(message) if message.text.strip() and plainly.issuperset(c.id for c in message.calls):
                said, begun = begun + message.text, ""
            case ev.AssistantSaid(message) if message.calls:
                begun = ""
            case ev.Notice(goes_on=True):
                begun = said
    return said


def finish(events: Sequence[ev.Durable]) -> str | None:
    """How the server said that the newest reply ended; None when it did not, or when there is none."""
    return next((e.finish for e in reversed(events) if isinstance(e, ev.AssistantSaid)), None)


def ending(events: Sequence[ev.Durable]) -> ev.RunEnded:
    """How the run ended; one that was stopped while its servers started, or before, recorded nothing of it."""
    none = ev.RunEnded(StopReason.STOPPED, "stopped before it began")
    return next((e for e in reversed(events) if isinstance(e, ev.RunEnded)), none)


def report(session_id: str, events: Sequence[ev.Durable], code: int) -> dict[str, Any]:
    """The result as one JSON object."""
    end, totals = ending(events), fold.totals(events)
    return {
        "status": "refused" if code == 3 else end.reason.value,
        "reason": end.reason.value,
        "detail": end.detail,
        "answer": answer(events),
        "finish": finish(events),
        "check": end.check,
        "unsandboxed": any(_sandbox(e) == "none" for e in events),
        "refused": [{**_named(e), "by": e.denied, "why": e.text} for e in fold.undone(events)],
        "failed": [{**_named(e), "why": e.text} for e in fold.failed(events)],
        "files": {path: to_json(change) for path, change in fold.changes(events).items()},
        "steps": end.steps,
        "usage": {
            "in": totals.usage.input_tokens,
            "out": totals.usage.output_tokens,
            "cached": totals.usage.cached_tokens,
            "reasoning": totals.usage.reasoning_tokens,
            "uncounted": totals.uncounted,
            "cost": totals.cost,
        },
        "session": session_id,
        "exit_code": code,
    }


def _sandbox(event: ev.Durable) -> str:
    """How the program was confined that an event tells of, "" when it tells of none."""
    if isinstance(event, ev.ToolDone) and event.receipt is not None:
        return event.receipt.sandbox
    return event.sandbox if isinstance(event, ev.CheckDone) else ""


def _named(done: ev.ToolDone) -> dict[str, Any]:
    """A call by its tool and its object."""
    named = {k: v for k, v in (done.call.arguments or {}).items() if k in {"path", "argv", "script"}}
    return {"tool": done.call.name, **named}


def closing_line(session_id: str, events: Sequence[ev.Durable], code: int, duration: float) -> list[str]:
    """What it came to, in the parts of one line."""
    end, totals, changes = ending(events), fold.totals(events), fold.changes(events)
    added, removed = sum(c.added for c in changes.values()), sum(c.removed for c in changes.values())
    unchecked = " (no check)" if end.reason is StopReason.UNVERIFIED and end.check == "none" else ""
    return [
        f"  {end.reason.value.replace('_', ' ')}{unchecked}",
        f"{len(changes)} file{'s' * (len(changes) != 1)}  +{added} -{removed}" if changes else "no file changed",
        f"{end.steps} step{'s' * (end.steps != 1)}  {seconds(duration)}",
        f"{_taken(totals)}  {_price(totals.cost)}",
        *([f"{totals.uncounted} of {totals.replies} replies not counted"] if totals.uncounted else []),
        f"session {session_id}",
        f"exit {code}",
    ]


def what_is_left(session: Session, events: Sequence[ev.Durable]) -> Iterator[str]:
    """What was not done or cannot be relied on, one sentence each, with the next step."""
    end = ending(events)
    unasked = [e for e in fold.undone(events) if e.denied == "nobody"]
    others = [e for e in fold.undone(events) if e.denied != "nobody"]
    if unasked:
        count = f"{len(unasked)} action{'s' * (len(unasked) != 1)}"
        yield f"{count} needed approval ({_names(unasked)}). Use {' or '.join(_ways(unasked, session.terms))}."
    if others:
        yield f"not done, because it was refused or left out: {_names(others)}."
    if failures := fold.failed(events):
        yield f"failed and was not made good: {_names(failures)}."
    if end.check == "not run":
        yield _unchecked(end, session.terms)
    if end.reason is StopReason.FAILED and finish(events) in UNANSWERED:
        yield f"not answered: {end.detail}."
    if end.reason in fold.LIMITS:
        name = BOUNDS.get(end.reason)
        yield f"stopped at a limit{f', [limits] {name}' if name else ''}: {end.detail}."
    if end.reason is StopReason.UNVERIFIED and end.check in {"passed", "failed"}:
        yield f"not verified: {end.detail}."
    if not answer(events).strip() and end.reason is StopReason.COMPLETED:
        yield end.detail
    if session.log.fault:
        yield session.log.fault


def _unchecked(end: ev.RunEnded, terms: Terms) -> str:
    """That the check was not run, with what would have let it run when nothing else was in its way."""
    if end.reason is StopReason.STOPPED:
        return "the check was not run to its end."
    if terms.allow_check:
        return "the check was not run."
    trusted = terms.trusted or terms.yes
    return f"the check was not run. Use --allow check{'' if trusted else ', or trust the folder: tui-agent trust'}."


def _ways(unasked: Sequence[ev.ToolDone], terms: Terms) -> Iterator[str]:
    """What would have let them be done. Below a floor no flag and no rule goes."""
    kinds = {TOOLS.get(done.call.name) for done in unasked if UNTRUSTED in done.note or FLOOR not in done.note}
    if "write" in kinds and not terms.yes:
        yield "--yes for edits in the folder"
    if "run" in kinds:
        trusted = "" if terms.trusted else " once the folder is trusted (tui-agent trust)"
        yield f'--allow "COMMAND" for a command as it stands here{trusted}'
    yield "a terminal to ask on"


def _names(actions: Sequence[ev.ToolDone]) -> str:
    return ", ".join(map(_summary, actions))


def _summary(done: ev.ToolDone) -> str:
    """One action in a few words; one that could not even be prepared by its tool and its object."""
    objects = [shlex.join(map(str, v)) if isinstance(v, list) else str(v) for v in list(_named(done).values())[1:]]
    return label(done.summary or "  ".join([done.call.name, *objects]), _OBJECT, "action")


def _count(tokens: int | None) -> str:
    return "?" if tokens is None else f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)


def _taken(totals: fold.Totals) -> str:
    if not totals.replies:
        return "no reply"
    return f"{_count(totals.usage.input_tokens)} in  {_count(totals.usage.output_tokens)} out"


def _price(cost: float | None) -> str:
    return "cost n/a" if cost is None else f"${cost:.2f}" if cost == 0 or cost >= 0.1 else f"${cost:.4f}"
