"""The native protocol: calls in the reply's own fields, calls that arrive as text, and when to give it up.

Small models often write a call into the text where the server expects it in its own field. A reply
whose whole text is one well-formed call of an offered tool is taken as that call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tui_agent.core.endings import BROKEN_OFF
from tui_agent.core.reply import parse_arguments, refuses_tools, strict_json
from tui_agent.core.types import Json, Reply, Spoken, ToolCall, ToolSpec
from tui_agent.protocols import json_object, verbs
from tui_agent.protocols.action import Action, ParseError
from tui_agent.protocols.fields import BUILT_IN, check
from tui_agent.protocols.habits import normalise, without_fence, without_thoughts
from tui_agent.protocols.prose import answer_in

PATIENCE = 2
"""Malformed replies in a row after which `auto` steps down; less than any sensible `max_invalid`."""

_BEGINS = re.compile(r"\s*[{`<\[]")
_TAGGED = re.compile(r"<(tool_call|function_call|tools)>(?P<call>.*)</\1>", re.DOTALL)
_LABELLED = re.compile(r"\[TOOL_CALLS\]\s*\[(?P<call>.*)\]", re.DOTALL)
_ASIDE = frozenset({"id", "type"})
"""Members around a call that say nothing about it."""
_WISHES = frozenset({"unknown_tool", "tool_disabled"})
"""Errors of well-formed replies: another protocol would not help."""


def calls_of(reply: Reply, offered: tuple[ToolSpec, ...]) -> tuple[ToolCall, ...]:
    """The calls of a reply; without native ones, the one that its text is.

    A reply that failed or was cut by the length limit has none. A call read from text has the id "".
    """
    if reply.error is not None or reply.finish == "length":
        return ()
    if reply.calls:
        return reply.calls
    if reply.refusal or reply.finish not in {"stop", "tool_calls", "unknown", None}:
        return ()
    call = text_call(reply.text, offered)
    return () if call is None else (call,)


def text_call(text: str, offered: tuple[ToolSpec, ...]) -> ToolCall | None:
    """The call that a text is, None when it is anything else or anything more."""
    inner = without_thoughts(normalise(text), _BEGINS)
    if inner is None:
        return None
    inner = without_fence(inner).strip()
    if wrapped := _TAGGED.fullmatch(inner) or _LABELLED.fullmatch(inner):
        inner = wrapped["call"]
    if not inner.strip().startswith("{"):
        return None
    try:
        value = strict_json(inner)
    except ValueError:
        return None  # an answer that only looks like a call stays an answer
    specs = {spec.name: spec for spec in offered}
    for name, arguments in _readings(value):
        if name in specs and check(name, specs[name].parameters, arguments) is None:
            return ToolCall("", name, arguments)
    return None


def has_wrong_fields(call: ToolCall, offered: tuple[ToolSpec, ...]) -> bool:
    """Whether a call of an offered tool lacks fields, has others, or has them in another type.

    Of the product's own tools only: what the schema of a server means is the server's matter. A null is no field.
    """
    schema = BUILT_IN.get(call.name)
    if schema is None or call.arguments is None or call.name not in {spec.name for spec in offered}:
        return False
    return check(call.name, schema, {k: v for k, v in call.arguments.items() if v is not None}) is not None


def _readings(value: Json) -> Iterator[tuple[str, dict[str, Any]]]:
    """The ways to read an object as a call, as far as its form goes."""
    if not isinstance(value, dict):
        return
    wrapper = {key: item for key, item in value.items() if key not in _ASIDE}
    call = wrapper["function"] if len(wrapper) == 1 and isinstance(wrapper.get("function"), dict) else value
    for key in ("name", "tool", "function"):
        name = call.get(key)
        if not isinstance(name, str):
            continue
        fields = {k: v for k, v in call.items() if k != key}
        if key == "tool":
            yield name, fields
        said = {k: v for k, v in fields.items() if k not in _ASIDE}
        if len(said) == 1 and (nested := said.get("arguments", said.get("parameters"))) is not None:
            arguments = parse_arguments(nested)[0] if isinstance(nested, str) else nested
            if isinstance(arguments, dict):
                yield name, arguments


def read_object(text: str, offered: tuple[ToolSpec, ...]) -> Action | ParseError:
    """A reply of the JSON protocol: as that reads it, else as the call that its text is in another form.

    A model that was stepped down because it writes `{"name": …, "arguments": …}` goes on writing that.
    """
    schemas = {spec.name: spec.parameters for spec in offered}
    read = json_object.parse(text, schemas.keys(), schemas)
    call = text_call(text, offered) if isinstance(read, ParseError) else None
    return read if call is None else call


@dataclass(frozen=True, slots=True)
class StepDown:
    """Where `protocol = "auto"` stands: the protocol of the next request and the malformed replies in a row.

    `reason` says why the last step was taken, in words for the person; "" while none was.
    """

    protocol: Spoken = "native"
    malformed: int = 0
    reason: str = ""

    def after(self, reply: Reply, offered: tuple[ToolSpec, ...] = ()) -> StepDown:
        """The state behind one more reply: native calls, then JSON, then verbs, never back.

        A failed or cut reply says nothing about the protocol, but for a server that refuses tools; nor does an answer
        in plain words, since a further protocol would not make it another one.
        """
        if self.protocol == "native" and refuses_tools(reply.error):
            return StepDown("json", reason="the server takes no native tool calls")
        if reply.error is not None or reply.finish in BROKEN_OFF:
            return self
        if self.protocol == "native" and not reply.calls and calls_of(reply, offered):
            return StepDown("json", reason="the model writes its tool calls as text")
        malformed = self._is_malformed(reply, offered)
        if malformed is None:
            return self
        if not malformed:
            return StepDown(self.protocol, 0, self.reason)
        if self.malformed + 1 < PATIENCE or self.protocol == "verbs":
            return StepDown(self.protocol, self.malformed + 1, self.reason)
        if self.protocol == "native":
            return StepDown("json", reason=f"{PATIENCE} replies in a row had malformed tool calls")
        return StepDown("verbs", reason=f"{PATIENCE} replies in a row were no valid JSON action")

    def _is_malformed(self, reply: Reply, offered: tuple[ToolSpec, ...]) -> bool | None:
        """Whether a reply attempts an action and fails; None when it is an answer in plain words."""
        if self.protocol == "native":
            return any(call.error is not None or has_wrong_fields(call, offered) for call in reply.calls)
        read = read_object(reply.text, offered) if self.protocol == "json" else verbs.parse(reply.text)
        if not isinstance(read, ParseError) or read.kind in _WISHES:
            return False
        return True if answer_in(reply.text) is None else None
