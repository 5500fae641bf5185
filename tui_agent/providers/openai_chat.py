"""The chat completions format: OpenAI, and what nearly every other server speaks.

`build` makes the request body, `decoder` reads the response; both are pure.
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
    JsonObject,
    Message,
    ProviderError,
    ReasoningDelta,
    RefusalDelta,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
)
from tui_agent.providers import errors, http, vendors
from tui_agent.providers.effort import with_effort
from tui_agent.providers.fragments import CallKeys
from tui_agent.providers.history import (
    last_user,
    made_here,
    own_extras,
    repair,
    safe_id,
    sendable_arguments,
    short_id,
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
    argument_text,
    called,
    counted,
    faulty,
    number,
    protocol_fault,
    string,
    tokens,
)

__all__ = ["WIRE", "build", "collect", "decoder", "stream"]

NAME = "openai-chat"
NO_SIGNATURE = "skip_thought_signature_validator"
"""What Gemini documents for calls that another model made."""

_Body: TypeAlias = dict[str, Any]

_FINISH: Mapping[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "sensitive": "content_filter",
    "prohibited_content": "content_filter",
    "blocklist": "content_filter",
    "refusal": "refusal",
}
_OF_CALLS = frozenset({"index", "id", "type", "function", "name", "arguments"})
"""Members of a call that are read; what else it holds goes back as it came."""
_ASKED, _ANSWERED = ("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")
_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
_FAILED = frozenset(
    {"error", "abort", "aborted", "network_error", "insufficient_system_resource", "malformed_function_call"}
)


# ------------------------------------------------------------------ request


def build(
    history: History,
    profile: Profile,
    tools: Sequence[ToolSpec] = (),
    *,
    system: str = "",
    vendor: Vendor | None = None,
) -> _Body:
    """The body of one request; see `wire.Build`."""
    vendor = vendor or vendors.rules(profile)
    offered = tools if vendor.native_tools else ()
    messages = repair(history, bridge=vendor.bridge)
    body: _Body = {"model": profile.model, "messages": [], "stream": True}
    if vendor.stream_usage:
        body["stream_options"] = {"include_usage": True}
    if system.strip():
        body["messages"].append({"role": "system", "content": system})
    body["messages"].extend(_messages(messages, profile, vendor, wire_names(tools)))
    if offered:
        names = wire_names(offered)
        body["tools"] = [_tool(spec, names[spec.name]) for spec in offered]
    return {**vendors.parameters(vendor, with_effort(profile, vendor.efforts), tools=bool(offered)), **body}


def _tool(spec: ToolSpec, name: str) -> _Body:
    function = {"name": name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}


def _messages(messages: list[Message], profile: Profile, vendor: Vendor, names: Mapping[str, str]) -> list[_Body]:
    loop_start = last_user(messages)
    ids: dict[str, str] = {}
    wire: list[_Body] = []
    for at, message in enumerate(messages):
        if isinstance(message, UserMessage):
            wire.append({"role": "user", "content": _user(message)})
        elif isinstance(message, ToolMessage):
            wire.append({"role": "tool", "tool_call_id": ids[message.call_id], "content": message.text})
        else:
            own = own_extras(message, profile)
            own_ids = made_here(message, profile)
            ids.update({call.id: _wire_id(call.id, vendor, own=own_ids) for call in message.calls})
            wire.append(_assistant(message, own, vendor, names, ids, in_loop=at > loop_start))
    return wire


def _user(message: UserMessage) -> str | list[_Body]:
    """Plain text where there is nothing else: not every server takes a list of parts."""
    pictures = [image for image in message.images if image.data]
    if not pictures:
        return message.text
    text = [{"type": "text", "text": message.text}] if message.text.strip() else []
    return text + [
        {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.data}"}}
        for image in pictures
    ]


def _assistant(
    message: AssistantMessage,
    own: Mapping[str, Any],
    vendor: Vendor,
    names: Mapping[str, str],
    ids: Mapping[str, str],
    *,
    in_loop: bool,
) -> _Body:
    text = message.text if message.text.strip() else None
    wire: _Body = {"role": "assistant", "content": text}
    if message.calls:
        members = own.get("calls") or {}
        wire["tool_calls"] = [_call(call, names, ids, members.get(call.id) or {}) for call in message.calls]
        if vendor.signatures:
            _sign(wire["tool_calls"][0])
        if vendor.reasoning_back and in_loop:
            wire["reasoning_content"] = message.reasoning
    if vendor.foreign_members:
        wire.update({name: own[name] for name in ("reasoning_details", "thinking_blocks") if own.get(name)})
    return wire


def _call(call: ToolCall, names: Mapping[str, str], ids: Mapping[str, str], members: Mapping[str, Any]) -> _Body:
    arguments = json.dumps(sendable_arguments(call), ensure_ascii=False)
    function = {"name": names.get(call.name) or wire_name(call.name), "arguments": arguments}
    return {**members, "id": ids[call.id], "type": "function", "function": function}


def _sign(call: _Body) -> None:
    """Gemini refuses a step whose first call has no signature, also when another model made the call."""
    extra = call.get("extra_content")
    makers = extra.values() if isinstance(extra, dict) else ()
    if not any(isinstance(maker, dict) and maker.get("thought_signature") for maker in makers):
        call["extra_content"] = {"google": {"thought_signature": NO_SIGNATURE}}


def _wire_id(call_id: str, vendor: Vendor, *, own: bool) -> str:
    if vendor.short_ids:
        return short_id(call_id)
    return call_id if own else safe_id(call_id)


# ------------------------------------------------------------------ response


class ChatReader:
    """Chunks of a chat completion (or one whole completion) -> deltas."""

    def __init__(self, real_names: Mapping[str, str], offered: Mapping[str, ToolSpec] | None) -> None:
        self.finish: Finish | None = None
        self.ended = self.met = False
        self._real_names = real_names
        self._text = TextStream(offered)
        self._reasoning = Scrubber()
        self._plain_reasoning = False
        self._calls = CallKeys(real_names)
        self._legacy: int | None = None
        self._refused = False
        self._streamed = False
        self._usage: dict[str, Any] = {}
        self._details: dict[str, dict[Any, dict[str, Any]]] = {}

    def read(self, event: str, value: Json, out: list[Delta]) -> None:
        """Take one chunk; see `wire.Reader`."""
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, dict):
            if value is None:
                return
            raise protocol_fault("an event of the stream is not an object", retryable=True)
        choices = value.get("choices")
        if value.get("error") or event == "error" or value.get("object") == "error":
            raise WireFault(errors.from_payload(value))
        self.met = self.met or isinstance(choices, list)
        self._count(value.get("usage"))
        if "x_groq" in value and isinstance(value["x_groq"], dict):
            self._count(value["x_groq"].get("usage"))
        if isinstance(choices, list):
            if not choices and value.get("object") == "chat.completion":
                said = json.dumps(value, ensure_ascii=False)[:300]
                raise protocol_fault(f"the answer holds no message: {said}", retryable=True)
            for choice in choices:
                if isinstance(choice, dict) and not number(choice.get("index")):
                    self._choice(choice, out)
        elif faulty(value):
            raise WireFault(errors.from_payload(value))

    def _count(self, usage: Json) -> None:
        """Later counts replace earlier ones, servers repeat running totals; null and 0 never erase a number."""
        for name, count in usage.items() if isinstance(usage, dict) else ():
            if tokens(count) or isinstance(count, dict) or name not in self._usage:
                self._usage[name] = count

    def _choice(self, choice: Mapping[str, Any], out: list[Delta]) -> None:
        if "usage" in choice:
            self._count(choice["usage"])
        if choice.get("error"):
            raise WireFault(errors.from_payload(choice))
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._streamed = self._streamed or bool(delta)
        elif not self._streamed:  # some servers repeat at the end as a message what they streamed
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._delta(delta, out)
        label = choice.get("finish_reason")
        if isinstance(label, str) and label:
            label = label.lower()
            if label in _FAILED:
                raise WireFault(ProviderError("server", f"the server ended the reply with {label!r}", retryable=True))
            finish = _FINISH.get(label, "unknown")
            if self.finish is None or finish != "stop":  # a last frame that only says that it is over
                self.finish = finish
        elif "message" in choice and self.finish is None:
            self.finish = "stop"
        if self._refused and self.finish == "stop":
            self.finish = "refusal"

    def _delta(self, delta: Mapping[str, Any], out: list[Delta]) -> None:
        if len(delta) > 1 or "content" not in delta:
            self._thoughts(delta, out)
        content = delta.get("content")
        if isinstance(content, str):
            if content:
                out.extend(self._text.feed(content))
        elif isinstance(content, list | dict):
            self._parts(content if isinstance(content, list) else [content], out)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refused = True
            out.append(RefusalDelta(refusal))
        calls = delta.get("tool_calls")
        if calls and isinstance(calls, list | dict):
            self._tool_calls(calls if isinstance(calls, list) else [calls], out)
        elif isinstance(legacy := delta.get("function_call"), dict):
            self._function_call(legacy, out)

    def _parts(self, parts: list[Json], out: list[Delta]) -> None:
        for part in parts:
            if isinstance(part, str):
                out.extend(self._text.feed(part))
            if not isinstance(part, dict):
                continue
            if string(part.get("type")) in {"thinking", "reasoning"}:
                thinking = part.get("thinking") or part.get("summary") or part.get("text")
                pieces = thinking if isinstance(thinking, list) else [{"text": thinking}]
                self._think(
                    "".join(p["text"] for p in pieces if isinstance(p, dict) and isinstance(p.get("text"), str)), out
                )
            elif isinstance(part.get("text"), str):
                out.extend(self._text.feed(part["text"]))

    # -------------------------------------------------------------- reasoning

    def _thoughts(self, delta: Mapping[str, Any], out: list[Delta]) -> None:
        """Show reasoning once: the same text may come as a string and as details to keep."""
        plain = next((thought for name in _THOUGHTS if (thought := delta.get(name))), None)
        if isinstance(plain, str) and plain:
            self._plain_reasoning = True
            self._think(plain, out)
        for member, text_key in (("reasoning_details", "text"), ("thinking_blocks", "thinking")):
            blocks = delta.get(member)
            if isinstance(blocks, list):
                shown = "".join(self._keep(member, text_key, block) for block in blocks if isinstance(block, dict))
                if not self._plain_reasoning:
                    self._think(shown, out)

    def _keep(self, member: str, text_key: str, block: Mapping[str, Any]) -> str:
        """Merge a piece of a reasoning block into what goes back; returns its text."""
        kept = self._details.setdefault(member, {}).setdefault(number(block.get("index")) or 0, {})
        for name, value in block.items():
            if name in {text_key, "summary", "data"} and isinstance(value, str):
                kept[name] = kept.get(name, "") + value
            elif value is not None:
                kept[name] = value
        text = block.get(text_key) or block.get("summary")
        return text if isinstance(text, str) else ""

    def _think(self, text: str, out: list[Delta]) -> None:
        text = self._reasoning.feed(text)
        if text:
            out.append(ReasoningDelta(text))

    # -------------------------------------------------------------- calls

    def _tool_calls(self, entries: list[Json], out: list[Delta]) -> None:
        fresh = False
        for entry in entries:
            if not isinstance(entry, dict):
                continue
            function = called(entry)
            index, call_id, name = number(entry.get("index")), string(entry.get("id")), string(function.get("name"))
            arguments = argument_text(function.get("arguments"))
            key = self._calls.key(index, call_id, name, arguments, fresh=fresh)
            members = {member: entry[member] for member in entry if member not in _OF_CALLS}
            out.append(CallDelta(key, call_id, self._real_name(key), arguments, members))
            fresh = True

    def _function_call(self, function: Mapping[str, Any], out: list[Delta]) -> None:
        """The field of 2023: one call, never an id. Servers that send both fields mean the same call."""
        if self._legacy is None:
            if self._calls.count:
                return
            self._legacy = self._calls.key(None, "", "", "", fresh=False)
        name = string(function.get("name"))
        arguments = argument_text(function.get("arguments"))
        out.append(CallDelta(self._legacy, "", self._real_names.get(name, name), arguments))

    def _real_name(self, key: int) -> str:
        name = self._calls.name(key)
        return self._real_names.get(name, name)

    # -------------------------------------------------------------- end

    def rest(self, *, want_calls: bool) -> list[Delta]:
        """See `wire.Reader`."""
        return self._text.finish(want_calls=want_calls and not self._calls.count)

    def usage(self) -> Usage | None:
        """The last counts that were sent."""
        counts = self._usage
        if not counts:
            return None
        prompt = _details(counts, "prompt_tokens_details", "input_tokens_details")
        completion = _details(counts, "completion_tokens_details", "output_tokens_details")
        reasoning = tokens(completion.get("reasoning_tokens"))
        asked, answered = counted(_first(counts, *_ASKED), _first(counts, *_ANSWERED))
        parts = (asked, answered, reasoning)
        if answered and reasoning and None not in parts and counts.get("total_tokens") == sum(filter(None, parts)):
            answered += reasoning  # some servers count reasoning apart from the completion
        return Usage(
            input_tokens=asked,
            output_tokens=answered,
            cached_tokens=_first({**counts, **prompt}, "cached_tokens", "prompt_cache_hit_tokens"),
            cache_write_tokens=tokens(prompt.get("cache_write_tokens")),
            reasoning_tokens=reasoning,
        )

    def extras(self) -> dict[str, Any]:
        """Reasoning blocks with their signatures; members of calls travel with the calls."""
        return {member: list(blocks.values()) for member, blocks in self._details.items()}


def _details(counts: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """The first of some objects of counts that is there."""
    return next((found for name in names if isinstance(found := counts.get(name), dict)), {})


def _first(counts: Mapping[str, Any], *names: str) -> Any:
    """The first of some counts that is known."""
    return next((count for name in names if (count := tokens(counts.get(name))) is not None), None)


def decoder(profile: Profile, tools: Sequence[ToolSpec] = ()) -> Decoder:
    """A decoder for one response. `options.text_tool_calls` reads calls written as text."""
    names = wire_names(tools)
    return Decoder(Frames(), ChatReader({wire: real for real, wire in names.items()}, offered_in_text(profile, tools)))


def _headers(key: str | None) -> Mapping[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def _constrain(schema: JsonObject) -> _Body:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "action", "schema": schema}}}


WIRE = Wire(NAME, "/chat/completions", build, decoder, _headers, _constrain)
stream = partial(http.stream, WIRE)
