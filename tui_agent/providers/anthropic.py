"""The Anthropic Messages format, as spoken by Anthropic and compatible servers.

`build` makes the request body, `decoder` reads the response; both are pure. Thinking blocks go back
unchanged, with their signatures and in their places, to the endpoint that made them and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from tui_agent.core.profile import Profile
from tui_agent.core.reply import collect
from tui_agent.core.types import (
    AssistantMessage,
    CallDelta,
    Delta,
    Finish,
    History,
    Json,
    Message,
    ReasoningDelta,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
)
from tui_agent.providers import errors, http, vendors
from tui_agent.providers.effort import ROOM, with_effort
from tui_agent.providers.history import (
    flatten,
    made_here,
    own_extras,
    repair,
    safe_id,
    sendable_arguments,
    wire_name,
    wire_names,
)
from tui_agent.providers.text import Scrubber, TextStream, offered_in_text
from tui_agent.providers.vendors import Vendor
from tui_agent.providers.wire import (
    Decoder,
    Frames,
    Wire,
    WireFault,
    counted,
    faulty,
    number,
    protocol_fault,
    string,
    tokens,
)

__all__ = ["WIRE", "build", "collect", "decoder", "stream"]

NAME = "anthropic"
MAX_TOKENS = ROOM
"""The one value that is sent unasked: the format requires `max_tokens`. Set `generation.max_tokens` to change it."""

_Block: TypeAlias = dict[str, Any]

_CACHE: _Block = {"type": "ephemeral"}
_COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_EVENTS = ("message", "content_block", "ping")
"""How the names of this format's events begin."""
_FINISH: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "pause_turn": "pause",
}


# ------------------------------------------------------------------ request


def build(
    history: History,
    profile: Profile,
    tools: Sequence[ToolSpec] = (),
    *,
    system: str = "",
    vendor: Vendor | None = None,
) -> dict[str, Any]:
    """The body of one request; see `wire.Build`.

    Marks the end of the system text and the last two blocks of the last message for the prompt cache, unless the
    profile's `options.cache` is false: without marks nothing is cached and every step costs in full. Two blocks,
    because the very last one may be the memory line, which is another one in the next request.
    """
    vendor = vendor or vendors.rules(profile)
    offered = tools if vendor.native_tools else ()
    messages = repair(history, bridge=vendor.bridge)
    if not offered:
        messages = flatten(messages)
    cache = profile.options.get("cache") is not False
    wire = _messages(messages, profile, wire_names(offered))
    generation = vendors.parameters(vendor, with_effort(profile, vendor.efforts), tools=bool(offered))
    if _thinks(generation) and not _thought_last(wire):
        del generation["thinking"]
    body: dict[str, Any] = {"max_tokens": MAX_TOKENS, **generation, "model": profile.model, "stream": True}
    if system.strip():
        body["system"] = [{"type": "text", "text": system, **({"cache_control": _CACHE} if cache else {})}]
    if offered:
        names = wire_names(offered)
        body["tools"] = [
            {"name": names[spec.name], "description": spec.description, "input_schema": dict(spec.parameters)}
            for spec in offered
        ]
    if cache and wire:
        for block in wire[-1]["content"][-2:]:
            block["cache_control"] = _CACHE
    body["messages"] = wire
    return body


def _messages(messages: list[Message], profile: Profile, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Neighbours share a message: all results of one step and the text behind them are one user message."""
    wire: list[dict[str, Any]] = []
    ids: dict[str, str] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            own = own_extras(message, profile)
            own_ids = made_here(message, profile)
            ids.update({call.id: call.id if own_ids else safe_id(call.id) for call in message.calls})
            wire.append({"role": "assistant", "content": _assistant(message, own, names, ids)})
            continue
        blocks = _user(message) if isinstance(message, UserMessage) else [_result(message, ids)]
        if wire and wire[-1]["role"] == "user":
            wire[-1]["content"].extend(blocks)
        else:
            wire.append({"role": "user", "content": blocks})
    return wire


def _user(message: UserMessage) -> list[_Block]:
    """Pictures come before the text that speaks of them; a blank text would be refused."""
    blocks: list[_Block] = [
        {"type": "image", "source": {"type": "base64", "media_type": image.media_type, "data": image.data}}
        for image in message.images
        if image.data
    ]
    return [*blocks, _text(message.text)] if message.text.strip() or not blocks else blocks


def _text(text: str) -> _Block:
    return {"type": "text", "text": text}


def _result(message: ToolMessage, ids: Mapping[str, str]) -> _Block:
    return {"type": "tool_result", "tool_use_id": ids[message.call_id], "content": message.text}


def _assistant(
    message: AssistantMessage, own: Mapping[str, Any], names: Mapping[str, str], ids: Mapping[str, str]
) -> list[_Block]:
    thinking = [dict(block) for block in own.get("thinking", ()) if block.get("signature") or block.get("data")]
    calls = [_use(call, names, ids) for call in message.calls]
    layout = own.get("layout")
    if layout and len(thinking) == len(own["thinking"]):
        blocks = _laid_out(layout, thinking, message.text, calls)
        if blocks is not None:
            return blocks
    return [*thinking, *([_text(message.text)] if message.text.strip() else []), *calls]


def _use(call: ToolCall, names: Mapping[str, str], ids: Mapping[str, str]) -> _Block:
    name = names.get(call.name) or wire_name(call.name)
    return {"type": "tool_use", "id": ids[call.id], "name": name, "input": dict(sendable_arguments(call))}


def _laid_out(
    layout: Sequence[Sequence[Any]], thinking: list[_Block], text: str, calls: list[_Block]
) -> list[_Block] | None:
    """The blocks in the order they came, None if the message is no longer what that order describes."""
    kinds = [kind for kind, _ in layout]
    length = sum(size for kind, size in layout if kind == "text")
    if kinds.count("thinking") != len(thinking) or kinds.count("tool_use") != len(calls) or length != len(text):
        return None
    blocks: list[_Block] = []
    thoughts, uses, at = iter(thinking), iter(calls), 0
    for kind, size in layout:
        if kind == "text":
            piece = text[at : at + size]
            at += size
            if piece.strip():
                blocks.append(_text(piece))
        else:
            blocks.append(next(thoughts if kind == "thinking" else uses))
    return blocks


def _thinks(generation: Mapping[str, Any]) -> bool:
    thinking = generation.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") == "enabled"


def _thought_last(wire: list[dict[str, Any]]) -> bool:
    """Whether the running step may be continued with thinking: it must start with a signed block.

    It does not when another model made it, or when the blocks were lost; then this one request goes
    without thinking.
    """
    if len(wire) < 2 or wire[-1]["content"][0]["type"] != "tool_result":
        return True
    return wire[-2]["content"][0]["type"] in {"thinking", "redacted_thinking"}


# ------------------------------------------------------------------ response


class MessageReader:
    """Events of a message stream (or one whole message) -> deltas."""

    def __init__(self, real_names: Mapping[str, str], offered: Mapping[str, ToolSpec] | None) -> None:
        self.finish: Finish | None = None
        self.ended = self.met = False
        self._real_names = real_names
        self._text = TextStream(offered)
        self._reasoning = Scrubber()
        self._keys: dict[int | None, int] = {}
        self._unsent_input: dict[int | None, Mapping[str, Any]] = {}
        self._thoughts: dict[int | None, _Block] = {}
        self._thinking: list[_Block] = []
        self._layout: list[list[Any]] = []
        self._calls = 0
        self._counts: dict[str, int] = {}

    def read(self, event: str, value: Json, out: list[Delta]) -> None:
        """Take one event; see `wire.Reader`."""
        if value is None:
            return
        if not isinstance(value, dict):
            raise protocol_fault("an event of the stream is not an object", retryable=True)
        kind = value.get("type") or event
        self.met = self.met or (isinstance(kind, str) and kind.startswith(_EVENTS))
        self._count(value.get("usage"))
        if kind == "content_block_delta":
            delta = value.get("delta")
            if isinstance(delta, dict):
                self._delta(number(value.get("index")), delta, out)
        elif kind == "content_block_start":
            block = value.get("content_block")
            if isinstance(block, dict):
                self._start(number(value.get("index")), block, out)
        elif kind == "content_block_stop":
            self._stop(number(value.get("index")), out)
        elif kind == "message_delta":
            delta = value.get("delta")
            self._stop_reason(delta.get("stop_reason") if isinstance(delta, dict) else None)
        elif kind == "message_stop":
            self.ended = True
        elif kind == "message_start":
            message = value.get("message")
            usage = message.get("usage") if isinstance(message, dict) else None
            if isinstance(usage, dict):
                # of the answer it counts the first piece: the rest is told at the end, or never
                self._count({**usage, "output_tokens": None})
        elif kind == "message":
            self._whole(value, out)
        elif kind == "error" or event == "error" or value.get("error") or (not kind and faulty(value)):
            raise WireFault(errors.from_payload(value))

    def _whole(self, message: Mapping[str, Any], out: list[Delta]) -> None:
        """A server that ignored `stream`."""
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            if isinstance(block, dict):
                self._start(index, block, out)
                self._stop(index, out)
        self._stop_reason(message.get("stop_reason") or "end_turn")

    def _start(self, index: int | None, block: Mapping[str, Any], out: list[Delta]) -> None:
        kind = string(block.get("type"))
        if kind == "text":
            self._layout.append(["text", 0])
            self._say(block.get("text"), out)
        elif kind == "tool_use":
            key = self._keys[index] = self._calls
            self._calls += 1
            self._layout.append(["tool_use", 0])
            name = string(block.get("name"))
            given = block.get("input")
            if isinstance(given, dict) and given:
                self._unsent_input[index] = given
            out.append(CallDelta(key, string(block.get("id")), self._real_names.get(name, name)))
        elif kind in {"thinking", "redacted_thinking"}:
            kept = self._thoughts[index] = {name: block[name] for name in block if isinstance(block[name], str)}
            self._thinking.append(kept)
            self._layout.append(["thinking", 0])
            self._think(kept.get("thinking"), out)

    def _delta(self, index: int | None, delta: Mapping[str, Any], out: list[Delta]) -> None:
        kind = string(delta.get("type"))
        if kind == "text_delta":
            self._say(delta.get("text"), out)
        elif kind == "input_json_delta" and index in self._keys:
            piece = delta.get("partial_json")
            if isinstance(piece, str) and piece:
                self._unsent_input.pop(index, None)
                out.append(CallDelta(self._keys[index], arguments=piece))
        elif kind in {"thinking_delta", "signature_delta"} and index in self._thoughts:
            member = kind.removesuffix("_delta")
            piece = delta.get(member)
            if isinstance(piece, str):
                kept = self._thoughts[index]
                kept[member] = kept.get(member, "") + piece
                self._think(piece if member == "thinking" else None, out)

    def _stop(self, index: int | None, out: list[Delta]) -> None:
        given = self._unsent_input.pop(index, None)
        if given is not None:
            out.append(CallDelta(self._keys[index], arguments=json.dumps(given, ensure_ascii=False)))

    def _say(self, text: Json, out: list[Delta]) -> None:
        if isinstance(text, str) and text:
            if self._layout and self._layout[-1][0] == "text":
                self._layout[-1][1] += len(text)
            out.extend(self._text.feed(text))

    def _think(self, text: Json, out: list[Delta]) -> None:
        if isinstance(text, str) and text:
            text = self._reasoning.feed(text)
            if text:
                out.append(ReasoningDelta(text))

    def _stop_reason(self, label: Json) -> None:
        if isinstance(label, str):
            self.finish = _FINISH.get(label.lower(), "unknown")

    def _count(self, usage: Json) -> None:
        """Later counts replace earlier ones; null and 0 never erase a number (proxies send 0 at the start)."""
        for name in _COUNTS if isinstance(usage, dict) else ():
            count = tokens(usage.get(name))
            if count or (count is not None and name not in self._counts):
                self._counts[name] = count

    # -------------------------------------------------------------- end

    def rest(self, *, want_calls: bool) -> list[Delta]:
        """See `wire.Reader`."""
        out: list[Delta] = []
        for index in list(self._unsent_input):
            self._stop(index, out)
        return [*out, *self._text.finish(want_calls=want_calls and not self._calls)]

    def usage(self) -> Usage | None:
        """The whole prompt: this format counts cache reads and writes apart from `input_tokens`."""
        if not self._counts:
            return None
        fresh, read, written = (
            self._counts.get(name)
            for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
        whole = None if fresh is None else fresh + (read or 0) + (written or 0)
        asked, answered = counted(whole, self._counts.get("output_tokens"))
        return Usage(
            input_tokens=asked,
            output_tokens=answered,
            cached_tokens=read,
            cache_write_tokens=written,
        )

    def extras(self) -> dict[str, Any]:
        """The thinking blocks, and where they stood if not simply in front."""
        if not self._thinking:
            return {}
        kinds = [kind for kind, _ in self._layout]
        simple = kinds == sorted(kinds, key=("thinking", "text", "tool_use").index) and kinds.count("text") <= 1
        return {"thinking": self._thinking} if simple else {"thinking": self._thinking, "layout": self._layout}


def decoder(profile: Profile, tools: Sequence[ToolSpec] = ()) -> Decoder:
    """A decoder for one response. `options.text_tool_calls` reads calls written as text."""
    names = wire_names(tools)
    return Decoder(
        Frames(), MessageReader({wire: real for real, wire in names.items()}, offered_in_text(profile, tools))
    )


def _headers(key: str | None) -> Mapping[str, str]:
    return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}


WIRE = Wire(NAME, "/v1/messages", build, decoder, _headers, answer=MAX_TOKENS)
stream = partial(http.stream, WIRE)
