"""A session as a document for people, and as JSON messages for programs and for `/load`.

Both are pure functions of the events. Keys never leave: known ones and everything of their shape is masked.
"""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.disk import ordinary, there
from tui_agent.core.display import plain
from tui_agent.core.reply import bounded_json
from tui_agent.core.secrets import Secrets, typed_keys
from tui_agent.core.types import (
    AgentError,
    AssistantMessage,
    History,
    Message,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from tui_agent.providers.errors import redact

Happened = Sequence[ev.Durable | ev.Unknown]

LONGEST = 64 * 2**20
"""Bytes of a file that `/load` reads."""

# ------------------------------------------------------------------ for people


def markdown(events: Happened, secrets: Secrets) -> str:
    """The session as Markdown: what was said in full, what was done folded away."""
    began = next((e for e in events if isinstance(e, ev.SessionStarted)), None)
    named = [e.name for e in events if isinstance(e, ev.Named)]
    said = [e.text for e in events if isinstance(e, ev.UserSaid)]
    title = named[-1] if named else said[0] if said else "A session"
    totals = fold.totals(events)
    facts = [
        f"{len(said)} turn{'s' * (len(said) != 1)}",
        f"{totals.replies} repl{'y' if totals.replies == 1 else 'ies'}",
    ]
    if totals.usage.input_tokens is not None:
        facts.append(f"{totals.usage.input_tokens:,} tokens in, {totals.usage.output_tokens or 0:,} out")
    facts.append("cost unknown" if totals.cost is None else f"${totals.cost:.4f}")
    lines = [f"# {plain(title, 'title')[:120]}", ""]
    if began is not None:
        at = f"Session {plain(began.id, 'title')} in `{plain(began.cwd, 'title')}`, begun {when(began.created)}.  "
        lines += [at]
    lines += [", ".join(facts) + ".", ""]
    for event in _whole(events):
        lines += _decided(event, events) or _part(event)
    return redact(secrets.hide("\n".join(lines).rstrip() + "\n"), ())


def when(at: float) -> str:
    """A time for the eye."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else "a time unknown"
    except (OverflowError, ValueError, OSError):  # a file may hold any number
        return "a time unknown"


def _whole(events: Happened) -> Iterator[ev.Durable | ev.Unknown]:
    """The events, with what was kept of a reply that never came to its end in the place of that reply."""
    kept = ""
    for event in events:
        if isinstance(event, ev.Checkpoint):
            kept += event.text
            continue
        if kept and isinstance(event, ev.UserSaid | ev.RunEnded):
            yield ev.AssistantSaid(AssistantMessage(kept), complete=False)
        if isinstance(event, ev.UserSaid | ev.RunEnded | ev.AssistantSaid):
            kept = ""
        yield event
    if kept:
        yield ev.AssistantSaid(AssistantMessage(kept), complete=False)


def _part(event: ev.Durable | ev.Unknown) -> Iterator[str]:
    match event:
        case ev.UserSaid(text, images):
            yield from ("## You", "", plain(text.strip()), "")
            for image in images:
                yield from (f"*picture: {plain(image.name, 'title')}*", "")
        case ev.Steered(text):
            yield from ("## You, to the running turn", "", plain(text.strip()), "")
        case ev.AssistantSaid(message):
            if message.text.strip():
                model = message.author.model if message.author else "the model"
                yield from (f"## {plain(model, 'title')}", "", plain(message.text.strip()), "")
            if not event.complete:
                yield from ("*cut short*", "")
        case ev.ToolDone(call, status, text):
            word = {"applied": "", "refused": "refused: ", "error": "error: "}.get(status, f"{status}: ")
            yield from _folded(f"{word}{event.summary or call.name}", text)
        case ev.CheckDone(argv, code, output):
            word = "ok" if event.passed else "failed" if code is None else f"failed, exit {code}"
            yield from _folded(f"check: {shlex.join(argv)}: {word}", output)
        case ev.Undone(paths=paths, redo=redo):
            yield from (f"*{'done again' if redo else 'undone'}: {plain(', '.join(paths), 'title')}*", "")
        case ev.Rewound(number):
            yield from (f"*back to before message {number}*", "")
        case ev.Notice(text, "person"):
            yield from (f"*{plain(text, 'title')}*", "")
        case ev.ProviderFailed(error):
            yield from (f"*failed: {plain(error.message, 'title')}*", "")
        case ev.RunEnded(reason, detail):
            rest = f": {plain(detail, 'title')}" if detail else ""
            yield from (f"*{reason.value.replace('_', ' ')}{rest}*", "")


_MARKS: Mapping[ev.How, str] = {
    "whole": "sent as it is again",
    "pinned": "pinned",
    "short": "sent short from here on",
    "dropped": "not sent from here on",
}


def _decided(event: ev.Durable | ev.Unknown, events: Happened) -> list[str]:
    """A decision about what is sent, in words; a summary is folded away like an output."""
    match event:
        case ev.Compacted(focus=focus, fault=""):
            about = f", about {focus}" if focus else ""
            who = "by itself" if event.by == "room" else "asked for"
            head = f"compacted ({who}{about}): {event.before:,} tokens → {event.left:,} tokens"
            return list(_folded(head, event.text))
        case ev.Compacted(fault=fault):
            said = f"not compacted: {fault}"
        case ev.Expanded():
            said = "the compaction was taken back"
        case ev.Marked(numbers, how, by):
            named = (_beginning(events[number]) for number in numbers if 0 <= number < len(events))
            which = "; ".join(filter(None, named)) if by == "person" and len(numbers) <= 3 else ""
            count = f"{len(numbers)} message{'s' * (len(numbers) != 1)}"
            said = f"{'' if by == 'person' else 'to save room: '}{_MARKS[how]}: {which or count}"
        case _:
            return []
    return [f"*{plain(said, 'title')}*", ""]


def _beginning(event: ev.Durable | ev.Unknown) -> str:
    """The first words of a message, in quotes."""
    message = fold.message_of(event)
    line = " ".join(message.text.split()) if message is not None else ""
    return f"“{line[:60]}{'…' * (len(line) > 60)}”" if line else ""


def _folded(summary: str, text: str) -> Iterator[str]:
    """Output behind a line that opens it; its fence is longer than any in the text."""
    shown = plain(text.rstrip("\n"))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    yield from ("<details>", f"<summary>{html.escape(plain(summary, 'action'))}</summary>", "")
    yield from (fence, shown, fence, "", "</details>", "")


# ------------------------------------------------------------------ for programs


def messages(history: History, secrets: Secrets, *, masked: bool = False) -> str:
    """The conversation as a JSON list of messages, one to a line.

    Of what only looks like a key that in the person's words is hidden, as in the log; `masked`: all of it.
    """
    lines = [json.dumps(_message(message), ensure_ascii=False) for message in history]
    text = "[\n" + ",\n".join(lines) + "\n]\n"
    hidden = secrets.hide(text)
    return redact(hidden, ()) if masked else hidden


def _message(message: Message) -> dict[str, Any]:
    match message:
        case UserMessage(text, images):
            pictures = [{"name": image.name, "sha256": image.sha} for image in images]
            return {"role": "user", "content": typed_keys(text), **({"pictures": pictures} if pictures else {})}
        case ToolMessage(call_id, name, text):
            return {"role": "tool", "tool_call_id": call_id, "name": name, "content": text}
        case AssistantMessage(text, calls=calls):
            wanted = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {
                        "name": call.name,
                        "arguments": call.raw or json.dumps(dict(call.arguments or {}), ensure_ascii=False),
                    },
                }
                for call in calls
            ]
            return {"role": "assistant", "content": text, **({"tool_calls": wanted} if wanted else {})}


def read(file: Path) -> list[ev.Durable]:
    """The events that make a conversation out of a file of messages.

    Raises:
        AgentError: the file is not there, or holds no messages; says what is wrong with which.
    """
    try:
        data = ordinary(file, LONGEST + 1)
        if len(data) > LONGEST:
            raise AgentError(f"{file} is larger than {LONGEST // 2**20} MiB")
        found = json.loads(data)
    except OSError as error:
        raise AgentError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise AgentError(f"{file} is no JSON: {error}") from error
    if not isinstance(found, list) or not found:
        raise AgentError(f"{file} holds no list of messages")
    out: list[ev.Durable] = []
    calls: dict[str, ToolCall] = {}
    for number, entry in enumerate(found, 1):
        try:
            event = _event(entry, calls)
        except (KeyError, TypeError, ValueError) as error:
            raise AgentError(f"{file}: message {number} cannot be used: {error}") from error
        out += [event] if event is not None else []
    return out


def _event(entry: Any, calls: dict[str, ToolCall]) -> ev.Durable | None:
    """The event of a message; `calls` are those that are still to be answered."""
    if not isinstance(entry, Mapping):
        raise ValueError("it is no object")
    role, text = entry["role"], entry.get("content")
    text = "" if text is None else text
    if not isinstance(text, str):
        raise ValueError("its content is no text")
    if role == "system":
        return None  # the product says its own
    if role == "user":
        return ev.UserSaid(text)
    if role == "assistant":
        wanted = tuple(_call(call) for call in entry.get("tool_calls") or ())
        calls.update({call.id: call for call in wanted})
        return ev.AssistantSaid(AssistantMessage(text, calls=wanted))
    if role == "tool":
        answered = calls.pop(str(entry["tool_call_id"]), None)
        if answered is None:
            raise ValueError("it answers no call before it")
        return ev.ToolDone(answered, "applied", text)
    raise ValueError(f"its role is {role!r}")


def _call(entry: Any) -> ToolCall:
    raw = str(entry["function"]["arguments"])
    try:
        arguments = bounded_json(raw)
    except ValueError:
        arguments = None
    given = arguments if isinstance(arguments, dict) else None
    return ToolCall(
        str(entry["id"]), str(entry["function"]["name"]), given, None if given is not None else "not JSON", raw
    )


# ------------------------------------------------------------------ to a file


def write(file: Path, text: str, *, over: bool = False) -> None:
    """Write a document that only the person may read; one that is there already only with `over`.

    Raises:
        FileExistsError: it is there already.
        AgentError: it cannot be written; what was there is as it was.
    """
    if not over and there(file):
        raise FileExistsError(str(file))
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as out:
            out.write(text)
        temporary.replace(file)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise AgentError(f"{file} cannot be written: {error.strerror}") from error
