"""The visible text of a streaming reply: reasoning written inline, and calls written as text.

Pure and incremental. `<think>` is split off only at the very start of a reply; calls written as
text are recognised only when the profile asks for it, only for offered tools, and only as the tail
of the reply. Whatever was held back and turns out to be something else comes out as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tui_agent.core.profile import Profile
from tui_agent.core.reply import strict_json
from tui_agent.core.types import CallDelta, Delta, ReasoningDelta, TextDelta, ToolSpec
from tui_agent.providers.history import wire_names

_OPEN, _CLOSE = "<think>", "</think>"
_MARKERS = ("<tool_call>", "[TOOL_CALLS]", "<function=", "<|python_tag|>")
_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([^>\s]+)>(.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>(.*?)</parameter>(?=\s*(?:<parameter=|\Z))", re.DOTALL)
_NAMED = re.compile(r"([A-Za-z0-9_-]+)\s*(?:\[ARGS\]\s*)?(\{.*\})", re.DOTALL)
_JSON_START = re.compile(r"(?:```[ \t]*(?:json|tool_call|tool)?[ \t]*\n\s*)?(?:\{|\[\s*\{)")
_JSON_HEAD = re.compile(r"`{1,3}|```[ \t]*[a-z_]*[ \t]*(\n\s*)?(\[\s*)?|\[\s*")
_ENDS = re.compile(r"(?:\s*(?:</tool_call>|<\|e[om]\w_id\|>))+\Z")
"""Marks behind a call that do not belong to it: the end of markup whose beginning a model forgot, the end of a turn."""
_NEXT_NAMED = re.compile(r"(?<=[}\]])\s*\[TOOL_CALLS\]")
_LOOKAHEAD = 64


Offered: TypeAlias = Mapping[str, ToolSpec]
"""Tools by their names on the wire."""


def offered_in_text(profile: Profile, tools: Sequence[ToolSpec]) -> Offered | None:
    """The tools whose calls may be written as text: those offered, if the profile asks for it."""
    if profile.options.get("text_tool_calls") is not True:
        return None
    names = wire_names(tools)
    return {names[spec.name]: spec for spec in tools}


class Scrubber:
    """Joins surrogate pairs that were cut between two pieces and replaces lone halves."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """The piece as valid text; half of a pair at its end waits for the next piece."""
        if text.isascii() and not self._half:
            return text
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return scrub(text)

    def finish(self) -> str:
        """What stands for a half that never met its other half."""
        rest, self._half = self._half, ""
        return "\ufffd" if rest else ""


def scrub(text: str) -> str:
    """The text with surrogate pairs joined and lone halves replaced, so that it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class TextStream:
    """Splits the content of one reply into text, reasoning and, at the end, calls.

    `offered` holds the offered tools when calls written as text are wanted, else None.
    """

    def __init__(self, offered: Offered | None = None) -> None:
        self._offered = offered
        self._scrubber = Scrubber()
        self._state = "start"
        self._buffer = ""
        self._held: list[str] | None = None
        self._said = False

    def feed(self, text: str) -> list[Delta]:
        """Take the next piece of content."""
        text = self._scrubber.feed(text)
        if self._state == "text":
            return self._visible(text)
        return self._split(text)

    def finish(self, *, want_calls: bool) -> list[Delta]:
        """End of the reply: what is still held back. Calls only when `want_calls`."""
        deltas = self.feed(self._scrubber.finish())
        rest, self._buffer = self._buffer, ""
        if self._state == "think":
            return [*deltas, ReasoningDelta(rest)] if rest else deltas
        held = "".join(self._held or []) + rest
        if not held:
            return deltas
        calls = text_calls(held, self._offered) if want_calls and self._offered else []
        if not calls:
            return [*deltas, TextDelta(held)]
        return [*deltas, *(CallDelta(key, name=name, arguments=raw) for key, (name, raw) in enumerate(calls))]

    # -------------------------------------------------------------- inline reasoning

    def _split(self, text: str) -> list[Delta]:
        self._buffer += text
        if self._state == "start":
            return self._at_start()
        if self._state == "think":
            return self._thinking()
        return self._after() if self._state == "after" else self._opening(self._buffer)

    def _at_start(self) -> list[Delta]:
        begin = self._buffer.lstrip()
        if begin.startswith(_OPEN):
            self._buffer = begin.removeprefix(_OPEN)
            self._state = "think"
            return self._thinking()
        if _OPEN.startswith(begin) and len(self._buffer) < _LOOKAHEAD:
            return []
        return self._plain(self._buffer)

    def _thinking(self) -> list[Delta]:
        thought, closed, rest = self._buffer.partition(_CLOSE)
        if closed:
            self._buffer = rest
            self._state = "after"
            return [*self._reasoning(thought), *self._after()]
        keep = _overlap(thought, _CLOSE)
        self._buffer = thought[len(thought) - keep :]
        return self._reasoning(thought[: len(thought) - keep])

    def _reasoning(self, thought: str) -> list[Delta]:
        if not self._said:  # an empty block must not open a panel
            thought = thought.lstrip()
        self._said = self._said or bool(thought)
        return [ReasoningDelta(thought)] if thought else []

    def _after(self) -> list[Delta]:
        text = self._buffer.lstrip()
        self._buffer = ""
        return self._plain(text) if text else []

    def _plain(self, text: str) -> list[Delta]:
        self._state = "text"
        self._buffer = ""
        return self._visible(text) if self._offered is None else self._opening(text)

    # -------------------------------------------------------------- calls written as text

    def _visible(self, text: str) -> list[Delta]:
        if self._offered is None:
            return [TextDelta(text)] if text else []
        if self._held is not None:
            self._held.append(text)
            return []
        text = self._buffer + text
        starts = [at for at in (text.find(marker) for marker in _MARKERS) if at >= 0]
        if starts:
            cut = min(starts)
            self._buffer = ""
            self._held = [text[cut:]]
        else:
            cut = len(text) - max(_overlap(text, marker) for marker in _MARKERS)
            self._buffer = text[cut:]
        return [TextDelta(text[:cut])] if cut else []

    def _opening(self, text: str) -> list[Delta]:
        """A reply that is nothing but JSON, bare or fenced, may be calls: hold it whole."""
        begin = text.lstrip()
        if len(text) < _LOOKAHEAD and (not begin or _JSON_HEAD.fullmatch(begin)):
            self._state = "opening"
            self._buffer = text
            return []
        self._state = "text"
        self._buffer = ""
        if _JSON_START.match(begin):
            self._held = [text]
            return []
        return self._visible(text)


def text_calls(text: str, offered: Offered) -> list[tuple[str, str]]:
    """(tool, argument text) of each call that the whole of `text` consists of; empty if it is anything else."""
    text = text.strip()
    if not text.startswith("<tool_call>"):
        text = _ENDS.sub("", text)
    if text.startswith("<tool_call>"):
        bodies = _TAGGED.findall(text)
        rest = _TAGGED.sub("", text)
    elif text.startswith("<function="):
        bodies = [match.group() for match in _FUNCTION.finditer(text)]
        rest = _FUNCTION.sub("", text)
    else:
        pieces = _NEXT_NAMED.split(text.removeprefix("[TOOL_CALLS]").removeprefix("<|python_tag|>"))
        bodies, rest = [_unfenced(piece) for piece in pieces], ""
    found = [call for body in bodies for call in _calls_in(body.strip(), offered)]
    if rest.strip() or not all(call is not None and call[0] in offered for call in found):
        return []
    return [(offered[call[0]].name, call[1]) for call in found if call is not None]


def _unfenced(text: str) -> str:
    head, _, body = text.partition("\n")
    fenced = head.removeprefix("```").strip() in {"", "json", "tool_call", "tool"}
    if head.startswith("```") and fenced and body.endswith("```"):
        return body.removesuffix("```")
    return text


def _calls_in(body: str, offered: Offered) -> list[tuple[str, str] | None]:
    """The calls of one piece of markup; None stands for what is no call."""
    if function := _FUNCTION.fullmatch(body):
        return [_function_call(function.group(1), function.group(2), offered)]
    try:
        value = strict_json(body)
    except ValueError:
        named = _NAMED.fullmatch(body)
        return [(named.group(1), named.group(2)) if named else None]
    return [_json_call(item) for item in (value if isinstance(value, list) else [value])] or [None]


def _function_call(name: str, body: str, offered: Offered) -> tuple[str, str] | None:
    """`<function=NAME>` around parameters (raw text, a newline at each end is framing) or one JSON object."""
    if body.strip().startswith("{"):
        return name, body
    if name not in offered or _PARAMETER.sub("", body).strip():
        return None
    properties = offered[name].parameters.get("properties", {})
    values = {
        key: _typed(value.removeprefix("\n").removesuffix("\n"), properties.get(key))
        for key, value in _PARAMETER.findall(body)
    }
    return name, json.dumps(values, ensure_ascii=False)


def _typed(value: str, schema: Any) -> Any:
    """A raw value as the tool's schema wants it: numbers and lists have no other way to be written."""
    if not isinstance(schema, Mapping) or schema.get("type", "string") == "string":
        return value
    try:
        return strict_json(value.strip())
    except ValueError:
        return value


def _json_call(item: Any) -> tuple[str, str] | None:
    if isinstance(item, dict) and isinstance(item.get("function"), dict):
        item = item["function"]
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return None
    arguments = item.get("arguments", item.get("parameters"))
    if isinstance(arguments, str):
        return item["name"], arguments
    return item["name"], json.dumps({} if arguments is None else arguments, ensure_ascii=False)


def _overlap(text: str, marker: str) -> int:
    """Length of the longest end of `text` that `marker` begins with."""
    for length in range(min(len(text), len(marker) - 1), 0, -1):
        if text.endswith(marker[:length]):
            return length
    return 0
