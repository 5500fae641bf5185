"""Deltas of one model call -> one `Reply`.

The loop folds incrementally with `ReplyBuilder`; `collect` folds a finished list. Everything a
model may get wrong about a tool call is settled here, once for all wires: ids are made when
missing, unusable or repeated, arguments are read strictly or not at all, and a reply that failed
or was cut has no calls.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from tui_agent.core.endings import UNANSWERED
from tui_agent.core.late import late
from tui_agent.core.secrets import Secrets
from tui_agent.core.types import (
    CallDelta,
    Delta,
    Finish,
    Json,
    JsonObject,
    Lost,
    ProviderError,
    ReasoningDelta,
    RefusalDelta,
    Reply,
    ReplyEnd,
    RetryTick,
    TextDelta,
    ToolCall,
    Usage,
)

MAX_CALLS = 32
MAX_DEPTH = 64
EVENT_DEPTH = MAX_DEPTH + 8
"""Levels of one event: arguments at their deepest, with what a format puts around them."""
MAX_ARGUMENTS = 4 * 1024 * 1024
"""Characters of arguments, all calls of a reply together."""
MAX_EXTRAS = 1024 * 1024
"""Characters of provider data that is kept for the next request."""

_USABLE_ID = re.compile(r"[A-Za-z0-9_.:|+=-]{1,128}")
_ASKED = re.compile(r"this reply asked for (\d+) calls")
_TOOL_USE = r"(?:tools?|functions?)(?:[ _](?:use|choice|calls?|calling))?"
_NO_TOOLS = late(
    rf"(?:(?:does|do|can)(?: not|n.t)|cannot|not able to) support[^.]{{0,20}}\b{_TOOL_USE}\b"
    rf"|\b{_TOOL_USE}[`'\"]*\s+(?:is|are)(?: not|n.t) (?:currently |yet |presently )?(?:supported|enabled|available|allowed)"
    rf"|\bno endpoints?\b[^.]{{0,30}} support {_TOOL_USE}\b"
    r"|tool choice requires|tool-call-parser|\btools?\b.{0,20} requires? --jinja"
    r"|(?:unrecognized|unknown|unsupported|unexpected|not permitted)[^.]{0,60}\btools\b"
    r"|\btools\b[^.]{0,60}(?:extra inputs are not permitted|extra fields not permitted|unrecognized|unexpected)",
    re.IGNORECASE,
)


def refuses_tools(error: ProviderError | None) -> bool:
    """Whether a refused request says that this server or model cannot take native tool calls."""
    return error is not None and error.kind in {"bad_request", "server"} and _NO_TOOLS.search(error.message) is not None


# ------------------------------------------------------------------ strict JSON


class TooDeepError(ValueError):
    """JSON that is nested deeper than anything needs; what walks through it would not come back."""


def bounded_json(text: str) -> Json:
    """Read JSON of at most `EVENT_DEPTH` levels, leniently in everything else.

    Raises:
        TooDeepError: it has more.
        ValueError: it is no JSON.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise TooDeepError from None
    return bounded(value, text)


def bounded(value: Json, text: str) -> Json:
    """The value of this JSON text. Raises `TooDeepError` when it has more than `EVENT_DEPTH` levels."""
    if text.count("{") + text.count("[") > EVENT_DEPTH and _deeper_than(value, EVENT_DEPTH):
        raise TooDeepError
    return value


def strict_json(text: str) -> Json:
    """Read JSON and refuse what only lenient readers accept.

    Raises:
        ValueError: syntax, trailing data, duplicate keys, NaN or infinity, more than `MAX_DEPTH`
            levels, or half of a surrogate pair; the text is one clause for the model.
    """
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_number, parse_int=_whole
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"{error.msg} at character {error.pos}") from None
    except RecursionError:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels") from None
    if _deeper_than(value, MAX_DEPTH):
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("half of a surrogate pair in a string") from None
    return value


def parse_arguments(raw: str) -> tuple[JsonObject | None, str | None]:
    """Argument text -> (object, None) or (None, why not). Blank text is an empty object.

    A JSON string that itself holds an object is decoded once more: some servers encode twice,
    and a string can never be valid arguments.
    """
    if not raw.strip():
        return {}, None
    try:
        value = strict_json(raw)
        if isinstance(value, str):
            value = strict_json(value)
    except ValueError as error:
        return None, f"the arguments are not valid JSON: {error}"
    if not isinstance(value, dict):
        return None, f"the arguments must be a JSON object, not {_kind(value)}"
    return value, None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"key {twice!r} appears twice")
    return result


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:20]} is out of range")
    return value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # Python's own words would speak of an interpreter setting
        raise ValueError(f"{text[:20]}... has {len(text):,} digits, which is too long for a number") from None


def _deeper_than(value: Json, limit: int) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        children = (child for node in level for child in (node.values() if isinstance(node, dict) else node))
        level = [child for child in children if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}
    return names.get(type(value), "another type")


# ------------------------------------------------------------------ folding


@dataclass(slots=True)
class _Pending:
    """One call while its pieces arrive."""

    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    extras: dict[str, Any] = field(default_factory=dict)
    cut: bool = False


class ReplyBuilder:
    """Folds the deltas of one model call; `reply()` may be asked at any time.

    `known_ids` are the call ids that the session already holds: a new call never repeats one.
    """

    def __init__(self, known_ids: Collection[str] = ()) -> None:
        self._known_ids = known_ids
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, _Pending] = {}
        self._ignored: set[int] = set()
        self._argument_size = 0
        self._end: ReplyEnd | None = None
        self.lost: list[Usage | None] = []
        """What each try took that was lost."""
        self.held = False
        """The request is not with the server now: it waits for its next try, or for what it needs."""
        self.failing: ProviderError | None = None
        """Why it waits for its next try."""

    def add(self, delta: Delta) -> None:
        """Take the next delta, in order. What the eye sees of the wait before it carries nothing of the reply."""
        if isinstance(delta, TextDelta):
            self._text.append(delta.text)
        elif isinstance(delta, CallDelta):
            self._add_call(delta)
        elif isinstance(delta, ReasoningDelta):
            self._reasoning.append(delta.text)
        elif isinstance(delta, RefusalDelta):
            self._refusal.append(delta.text)
        elif isinstance(delta, ReplyEnd):
            self._end = delta
        elif isinstance(delta, Lost):
            self.lost.append(delta.usage)
        elif isinstance(delta, RetryTick):
            self.held = delta.seconds > 0
            self.failing = delta.error if self.held else None
        else:
            self.held = bool(delta.what)

    def reply(self) -> Reply:
        """The reply so far. Calls count only after an end that can be relied on; text is always kept."""
        end = self._end or ReplyEnd()
        complete = self._end is not None and end.error is None and end.finish not in UNANSWERED
        calls, call_extras = self._finished_calls(end.finish) if complete else ((), {})
        return Reply(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            calls=calls,
            finish=_finish(end, bool(calls)),
            usage=end.usage,
            error=end.error,
            refusal="".join(self._refusal),
            extras=_extras(end.extras, call_extras),
            lost=tuple(self.lost),
        )

    def _add_call(self, delta: CallDelta) -> None:
        call = self._calls.get(delta.key)
        if call is None:
            if len(self._calls) >= MAX_CALLS:
                self._ignored.add(delta.key)
                return
            call = self._calls[delta.key] = _Pending()
        if delta.id:
            call.id = delta.id
        if delta.name:
            call.name = delta.name
        if delta.arguments:
            self._argument_size += len(delta.arguments)
            if self._argument_size > MAX_ARGUMENTS:
                call.cut = True
            else:
                call.parts.append(delta.arguments)
        if delta.extras:
            call.extras.update(delta.extras)

    def _finished_calls(self, finish: Finish | None) -> tuple[tuple[ToolCall, ...], dict[str, Any]]:
        calls: list[ToolCall] = []
        extras: dict[str, Any] = {}
        taken = set(self._known_ids)
        pending = list(self._calls.values())
        for number, call in enumerate(pending, start=1):
            last = number == len(pending)
            call_id = _unique_id(call.id, taken)
            taken.add(call_id)
            error = self._excess() if last and self._ignored else None
            calls.append(_tool_call(call, call_id, error, cut_short=last and finish == "length"))
            if call.extras:
                extras[call_id] = call.extras
        return tuple(calls), extras

    def _excess(self) -> str:
        asked = len(self._calls) + len(self._ignored)
        return (
            f"this reply asked for {asked} calls and the limit is {MAX_CALLS}: call {MAX_CALLS} and all after it "
            "were not run; ask for fewer at a time"
        )


def over_the_limit(calls: Sequence[ToolCall]) -> int:
    """How many more calls a reply held than were taken, as the error of its last call says."""
    said = _ASKED.match(calls[-1].error or "") if calls else None
    return int(said[1]) - MAX_CALLS if said else 0


def identified(reply: Reply, known_ids: Collection[str]) -> Reply:
    """The reply with an id for each call that has none (it was read from text): one that the session does not hold."""
    taken, calls = {*known_ids, *(call.id for call in reply.calls)}, []
    for call in reply.calls:
        calls.append(call if call.id else replace(call, id=_unique_id("", taken)))
        taken.add(calls[-1].id)
    return replace(reply, calls=tuple(calls))


def masked(reply: Reply, hidden: Secrets) -> Reply:
    """The reply, read to its end, without any text of `hidden`: an escape can spell one that no stream shows."""
    calls = []
    for call in reply.calls:
        arguments = hidden.hide_in(call.arguments)
        raw = call.raw if arguments == call.arguments else ""
        calls.append(replace(call, name=hidden.hide(call.name), arguments=arguments, raw=raw))
    text, reasoning, refusal = map(hidden.hide, (reply.text, reply.reasoning, reply.refusal))
    return replace(reply, text=text, reasoning=reasoning, refusal=refusal, calls=tuple(calls))


def collect(deltas: Iterable[Delta], known_ids: Collection[str] = ()) -> Reply:
    """Fold a finished list of deltas."""
    builder = ReplyBuilder(known_ids)
    for delta in deltas:
        builder.add(delta)
    return builder.reply()


def _tool_call(call: _Pending, call_id: str, error: str | None, *, cut_short: bool) -> ToolCall:
    raw = "".join(call.parts)
    if error is None and call.cut:
        error = f"the arguments are longer than {MAX_ARGUMENTS // 1024 // 1024} MiB"
    if error is None and not call.name:
        error = "the call names no tool"
    if error is None and cut_short and not raw.strip():
        error = "the reply was cut off before the arguments"
    if error is not None:
        return ToolCall(call_id, call.name, None, error, raw)
    arguments, error = parse_arguments(raw)
    return ToolCall(call_id, call.name, arguments, error, raw)


def _unique_id(wanted: str, taken: Collection[str]) -> str:
    if wanted not in taken and _USABLE_ID.fullmatch(wanted):
        return wanted
    number = 1
    while f"tc_{number}" in taken:
        number += 1
    return f"tc_{number}"


def _finish(end: ReplyEnd, has_calls: bool) -> Finish | None:
    """Decide by content: labels are often wrong about calls. `length` stays, the person must learn why.

    Nor does a reply that failed or was refused hold any, whatever came before its end.
    """
    if end.error is not None:
        return None
    if has_calls and end.finish != "length":
        return "tool_calls"
    return "stop" if end.finish == "tool_calls" and not has_calls else end.finish


def _extras(reply: JsonObject, calls: dict[str, Any]) -> JsonObject:
    extras = {**reply, "calls": calls} if calls else dict(reply)
    if extras and len(json.dumps(extras)) > MAX_EXTRAS:
        return {}
    return extras
