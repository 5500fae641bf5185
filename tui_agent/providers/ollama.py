"""Ollama's own chat format: one JSON object per line.

The native interface and not the compatible one, because only here the size of the context can be
set (`generation.num_ctx`); the compatible one runs in whatever the server defaults to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

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
    ToolMessage,
    ToolSpec,
    Usage,
)
from tui_agent.providers import errors, http, vendors
from tui_agent.providers.effort import with_effort
from tui_agent.providers.history import last_user, made_here, repair, sendable_arguments, wire_name, wire_names
from tui_agent.providers.text import Scrubber, TextStream, offered_in_text
from tui_agent.providers.vendors import Vendor
from tui_agent.providers.wire import (
    Decoder,
    Frames,
    Wire,
    WireFault,
    argument_text,
    called,
    faulty,
    protocol_fault,
    string,
    tokens,
)

__all__ = ["WIRE", "build", "collect", "decoder", "stream"]

NAME = "ollama-native"

_TOP_LEVEL = frozenset({"think", "format", "keep_alive", "template", "logprobs", "top_logprobs", "truncate", "shift"})
"""Settings that stand beside the messages; all others are model options."""
_FINISH: Mapping[str, Finish] = {"stop": "stop", "length": "length", "load": "stop", "unload": "stop"}


# ------------------------------------------------------------------ request


def build(
    history: History,
    profile: Profile,
    tools: Sequence[ToolSpec] = (),
    *,
    system: str = "",
    vendor: Vendor | None = None,
) -> dict[str, Any]:
    """The body of one request; see `wire.Build`. Settings go to `options` except those of the format itself."""
    vendor = vendor or vendors.rules(profile)
    offered = tools if vendor.native_tools else ()
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system.strip() else []
    messages.extend(_messages(repair(history, bridge=vendor.bridge), profile, wire_names(tools)))
    body: dict[str, Any] = {"model": profile.model, "messages": messages, "stream": True}
    settings = vendors.parameters(vendor, with_effort(profile, vendor.efforts), tools=False)
    given = settings.pop("options", {})
    options = {**(given if isinstance(given, Mapping) else {})}
    options.update({name: value for name, value in settings.items() if name not in _TOP_LEVEL})
    if options:
        body["options"] = options
    body.update({name: value for name, value in settings.items() if name in _TOP_LEVEL})
    if offered:
        names = wire_names(offered)
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": names[spec.name],
                    "description": spec.description,
                    "parameters": dict(spec.parameters),
                },
            }
            for spec in offered
        ]
    return body


def _messages(messages: list[Message], profile: Profile, names: Mapping[str, str]) -> list[dict[str, Any]]:
    loop_start = last_user(messages)
    wire: list[dict[str, Any]] = []
    for at, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            name = names.get(message.name) or wire_name(message.name)
            wire.append({"role": "tool", "tool_name": name, "content": message.text, "tool_call_id": message.call_id})
        elif isinstance(message, AssistantMessage):
            wire.append(_assistant(message, names))
            if message.reasoning and at > loop_start and made_here(message, profile):
                wire[-1]["thinking"] = message.reasoning
        else:
            pictures = [image.data for image in message.images if image.data]
            wire.append({"role": "user", "content": message.text, **({"images": pictures} if pictures else {})})
    return wire


def _assistant(message: AssistantMessage, names: Mapping[str, str]) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": "assistant", "content": message.text if message.text.strip() else ""}
    if message.calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": names.get(call.name) or wire_name(call.name),
                    "arguments": dict(sendable_arguments(call)),
                },
            }
            for call in message.calls
        ]
    return wire


# ------------------------------------------------------------------ response


class LineReader:
    """Lines of a chat response -> deltas."""

    def __init__(self, real_names: Mapping[str, str], offered: Mapping[str, ToolSpec] | None) -> None:
        self.finish: Finish | None = None
        self.ended = self.met = False
        self._real_names = real_names
        self._text = TextStream(offered)
        self._reasoning = Scrubber()
        self._calls = 0
        self._last: Mapping[str, Any] = {}

    def read(self, event: str, value: Json, out: list[Delta]) -> None:
        """Take one line; see `wire.Reader`."""
        if not isinstance(value, dict):
            raise protocol_fault("a line of the stream is not an object", retryable=True)
        message = value.get("message")
        if value.get("error") or (not isinstance(message, dict) and faulty(value)):
            raise WireFault(errors.from_payload(value))
        self.met = self.met or isinstance(message, dict) or "done" in value
        if isinstance(message, dict):
            self._message(message, out)
        if value.get("done") is True:
            self._last = value
            label = value.get("done_reason")
            self.finish = _FINISH.get(label, "unknown") if isinstance(label, str) else "stop"
            self.ended = True

    def _message(self, message: Mapping[str, Any], out: list[Delta]) -> None:
        thinking = message.get("thinking")
        if isinstance(thinking, str) and (thinking := self._reasoning.feed(thinking)):
            out.append(ReasoningDelta(thinking))
        content = message.get("content")
        if isinstance(content, str) and content:
            out.extend(self._text.feed(content))
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else [calls]:
            if call:
                self._call(call if isinstance(call, dict) else {}, out)

    def _call(self, call: Mapping[str, Any], out: list[Delta]) -> None:
        """Calls come whole; ids are new and not every version sends them. What cannot be read is a call without a name."""
        function = called(call)
        name = string(function.get("name"))
        arguments = argument_text(function.get("arguments"))
        out.append(CallDelta(self._calls, string(call.get("id")), self._real_names.get(name, name), arguments))
        self._calls += 1

    # -------------------------------------------------------------- end

    def rest(self, *, want_calls: bool) -> list[Delta]:
        """See `wire.Reader`."""
        return self._text.finish(want_calls=want_calls and not self._calls)

    def usage(self) -> Usage | None:
        """Counts of the last line; a prompt that was cached whole may have none."""
        if "prompt_eval_count" not in self._last and "eval_count" not in self._last:
            return None
        return Usage(tokens(self._last.get("prompt_eval_count")), tokens(self._last.get("eval_count")))

    def extras(self) -> dict[str, Any]:
        """Nothing has to go back but the thinking, which the message itself holds."""
        return {}


def decoder(profile: Profile, tools: Sequence[ToolSpec] = ()) -> Decoder:
    """A decoder for one response. `options.text_tool_calls` reads calls written as text."""
    names = wire_names(tools)
    reader = LineReader({wire: real for real, wire in names.items()}, offered_in_text(profile, tools))
    return Decoder(Frames(lines=True), reader)


def _headers(key: str | None) -> Mapping[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


WIRE = Wire(NAME, "/api/chat", build, decoder, _headers, lambda schema: {"format": schema})
stream = partial(http.stream, WIRE)
