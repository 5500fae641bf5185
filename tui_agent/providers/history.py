"""Neutral history -> a history that every server accepts: the repairs that all wires share.

Pure. The stored history is never changed; what is sent is a repaired copy, so a history that one
server would refuse (an open call after an interrupt, an empty turn, a cut) cannot poison a session.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tui_agent.core.address import shown
from tui_agent.core.profile import Profile
from tui_agent.core.types import (
    AssistantMessage,
    History,
    JsonObject,
    Message,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

NOT_RUN = "not run: interrupted"
GO_ON = "Continue."
CUT_BEFORE = "(The beginning of this conversation was left out.)"
UNDERSTOOD = "Understood."

_WIRE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ID_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def repair(history: History, *, bridge: bool = False) -> list[Message]:
    """The history as it may be sent.

    Every call is answered right after its message, in call order, and nothing else is; call ids
    are unique; no assistant turn is blank; neighbours of the same role are one message; the first
    and the last message are not the assistant's. With `bridge` a short assistant message stands
    between a tool result and the person's text.
    """
    messages = _merged(_paired(history))
    if messages and isinstance(messages[0], AssistantMessage):
        messages.insert(0, UserMessage(CUT_BEFORE))
    if messages and isinstance(messages[-1], AssistantMessage):
        messages.append(UserMessage(GO_ON))
    return _bridged(messages) if bridge else messages


def flatten(messages: Iterable[Message]) -> list[Message]:
    """Calls and results as plain text, for a request that offers no tools."""
    flat: list[Message] = []
    for message in messages:
        if isinstance(message, AssistantMessage) and message.calls:
            lines = [f"[called {call.name} {json.dumps(sendable_arguments(call))}]" for call in message.calls]
            text = "\n".join([*([message.text] if message.text.strip() else []), *lines])
            flat.append(AssistantMessage(text, message.reasoning, (), message.author))
        elif isinstance(message, ToolMessage):
            flat.append(UserMessage(f"[result of {message.name}]\n{message.text}"))
        else:
            flat.append(message)
    return _merged(flat)


def sendable_arguments(call: ToolCall) -> JsonObject:
    """The arguments as an object, also for a call whose arguments could not be read."""
    return call.arguments if call.arguments is not None else {"_invalid": call.raw}


def made_here(message: AssistantMessage, profile: Profile) -> bool:
    """Whether this wire and endpoint made the message: only then may its ids and extras go back as they are."""
    author = message.author
    if author is None or author.wire != profile.wire:
        return False
    return shown(author.endpoint) == shown(profile.endpoint or "")


def own_extras(message: AssistantMessage, profile: Profile) -> JsonObject:
    """The message's provider data, if this wire and endpoint made it; else nothing."""
    return message.extras if made_here(message, profile) else {}


def last_user(messages: Sequence[Message]) -> int:
    """Position of the last user message, -1 if there is none; what follows is the running tool loop."""
    return max((at for at, message in enumerate(messages) if isinstance(message, UserMessage)), default=-1)


# ------------------------------------------------------------------ names and ids


def wire_names(tools: Iterable[ToolSpec]) -> dict[str, str]:
    """Real tool name -> the name on the wire, one to one: 1 to 64 letters, digits, `_` and `-`."""
    names: dict[str, str] = {}
    real = [tool.name for tool in tools]
    taken = {name for name in real if _WIRE_NAME.fullmatch(name)}
    for name in real:
        wire = wire_name(name)
        if wire != name and wire in taken:
            wire = _hashed_name(name)
        taken.add(wire)
        names[name] = wire
    return names


def wire_name(name: str) -> str:
    """One tool's name on the wire: `server/tool` is `server__tool`; what is still unusable gets a hash."""
    spelled = name.replace("/", "__")
    return spelled if _WIRE_NAME.fullmatch(spelled) else _hashed_name(name)


def _hashed_name(name: str) -> str:
    clean = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:50]
    return f"{clean}_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def short_id(call_id: str) -> str:
    """A call id of exactly nine letters and digits, the same for a call and its result."""
    if len(call_id) == 9 and call_id.isascii() and call_id.isalnum():
        return call_id
    number = int.from_bytes(hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    digits = []
    for _ in range(9):
        number, digit = divmod(number, len(_ID_DIGITS))
        digits.append(_ID_DIGITS[digit])
    return "".join(digits)


def safe_id(call_id: str) -> str:
    """A call id that every vendor takes; ids that other servers made may hold more signs, or be longer."""
    return call_id if re.fullmatch(r"[A-Za-z0-9_-]{1,40}", call_id) else f"tc_{short_id(call_id)}"


# ------------------------------------------------------------------ passes


def _paired(history: History) -> list[Message]:
    """Make ids unique, answer open calls, drop answers to nothing and blank turns."""
    messages: list[Message] = []
    used: set[str] = set()
    at = 0
    while at < len(history):
        message = history[at]
        at += 1
        if isinstance(message, UserMessage):
            if message.text.strip() or message.images:
                messages.append(message)
        elif isinstance(message, AssistantMessage):
            answers: list[ToolMessage] = []
            while at < len(history) and isinstance(answer := history[at], ToolMessage):
                answers.append(answer)
                at += 1
            if message.calls:
                messages.extend(_answered(message, answers, used))
            elif message.text.strip():
                messages.append(message)
    return messages


def _answered(message: AssistantMessage, answers: list[ToolMessage], used: set[str]) -> list[Message]:
    calls: list[ToolCall] = []
    results: list[Message] = []
    extras: dict[str, Any] = dict(message.extras.get("calls") or {})
    for call in message.calls:
        answer = next((answer for answer in answers if answer.call_id == call.id), None)
        if answer is not None:
            answers.remove(answer)
        call_id = _unused(call.id, used)
        used.add(call_id)
        if call_id != call.id and call.id in extras:
            extras[call_id] = extras[call.id]
        calls.append(replace(call, id=call_id))
        results.append(ToolMessage(call_id, call.name, answer.text if answer else NOT_RUN))
    kept: Mapping[str, Any] = {**message.extras, "calls": extras} if extras else message.extras
    return [replace(message, calls=tuple(calls), extras=kept), *results]


def _unused(call_id: str, used: set[str]) -> str:
    base = call_id or "tc"
    if call_id and call_id not in used:
        return call_id
    number = 1
    while f"{base}_{number}" in used:
        number += 1
    return f"{base}_{number}"


def _merged(messages: Iterable[Message]) -> list[Message]:
    """Neighbours of the same role become one message; a message with calls takes the text before it."""
    merged: list[Message] = []
    for message in messages:
        before = merged[-1] if merged else None
        if isinstance(message, UserMessage) and isinstance(before, UserMessage):
            text = "\n\n".join(part for part in (before.text, message.text) if part.strip())
            merged[-1] = UserMessage(text, before.images + message.images)
        elif isinstance(message, AssistantMessage) and isinstance(before, AssistantMessage) and not before.calls:
            text = "\n\n".join(part for part in (before.text, message.text) if part.strip())
            merged[-1] = replace(message, text=text)
        else:
            merged.append(message)
    return merged


def _bridged(messages: list[Message]) -> list[Message]:
    bridged: list[Message] = []
    for message in messages:
        if isinstance(message, UserMessage) and bridged and isinstance(bridged[-1], ToolMessage):
            bridged.append(AssistantMessage(UNDERSTOOD))
        bridged.append(message)
    return bridged
