"""The protocols as the loop speaks them: neutral request -> what is sent, reply -> calls, and the step down of `auto`.

Pure values. History is neutral, so a session goes on in another protocol at any reply: earlier calls and results
are said in today's form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from tui_agent.core.endings import BROKEN_OFF
from tui_agent.core.reply import refuses_tools
from tui_agent.core.types import (
    AssistantMessage,
    History,
    JsonObject,
    Message,
    Reply,
    Request,
    Spoken,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from tui_agent.protocols import json_object, verbs
from tui_agent.protocols.action import Action, Final, NotExpressible, ParseError, without_id
from tui_agent.protocols.native import StepDown, calls_of, read_object
from tui_agent.protocols.prompts import json_observation, json_schema, verbs_observation
from tui_agent.protocols.prose import WISHES, answer_in

Offered = tuple[ToolSpec, ...]


class Codec(Protocol):
    """One protocol, both ways."""

    def encode(self, request: Request) -> Request:
        """The neutral request as it is sent."""

    def decode(self, reply: Reply, offered: Offered) -> Reply:
        """The reply with its calls."""


@dataclass(frozen=True, slots=True)
class Native:
    """Calls in the reply's own fields; a text that is one well-formed call of an offered tool is taken as that call."""

    def encode(self, request: Request) -> Request:
        """The request with an example in each tool's description, and replies that were no action as plain text."""
        tools = tuple(map(_with_example, request.tools))
        return replace(request, messages=tuple(_without_nameless(request.messages)), tools=tools)

    def decode(self, reply: Reply, offered: Offered) -> Reply:
        """The reply with its calls; the text that is a call is no text any more."""
        calls = calls_of(reply, offered)
        if reply.calls or not calls:
            return replace(reply, calls=calls)
        return replace(reply, calls=tuple(replace(call, raw=reply.text) for call in calls), text="")


def _with_example(spec: ToolSpec) -> ToolSpec:
    if not spec.example:
        return spec
    example = json.dumps(spec.example, ensure_ascii=False, separators=(",", ":"))
    return replace(spec, description=f"{spec.description} Example: {example}")


def _without_nameless(messages: History) -> Iterator[Message]:
    spoken: set[str] = set()
    for message in messages:
        if isinstance(message, AssistantMessage):
            spoken = {call.id for call in message.calls if not call.name and call.raw == message.text}
            calls = tuple(call for call in message.calls if call.id not in spoken)
            yield replace(message, calls=calls) if spoken else message
        elif isinstance(message, ToolMessage) and message.call_id in spoken:
            yield UserMessage(message.text)
        else:
            yield message


@dataclass(frozen=True, slots=True)
class Text:
    """A protocol whose actions are the text of a reply.

    `system` takes the place of the request's. `parse` reads a reply given the offered tools, `render` writes an
    action, `observation` frames a result, `schema` constrains the reply where the server can. `read`, if there is one,
    reads more than `parse`: what is not quite in the form is understood, but said again in the form.
    """

    system: str
    parse: Callable[[str, Offered], Action | ParseError]
    render: Callable[[Action, Offered], str]
    observation: Callable[[str], str]
    schema: Callable[[Offered], JsonObject | None] = lambda _: None
    read: Callable[[str, Offered], Action | ParseError] | None = None

    def encode(self, request: Request) -> Request:
        """Calls as the model would write them, each followed by its result as a message of the person."""
        return Request(self.system, tuple(self._said(request)), (), self.schema(request.tools))

    def _said(self, request: Request) -> Iterator[Message]:
        calls: dict[str, ToolCall] = {}
        for message in request.messages:
            match message:
                case UserMessage():
                    yield message
                case AssistantMessage(text, calls=()):
                    yield AssistantMessage(self._final(text, request.tools))
                case AssistantMessage():
                    calls = {call.id: call for call in message.calls}
                case ToolMessage(call_id, _, text) if call_id in calls:
                    yield AssistantMessage(self._written(calls.pop(call_id), request.tools))
                    yield UserMessage(self.observation(text))

    def written(self, message: AssistantMessage, offered: Offered) -> str:
        """The reply that a message was read from."""
        if message.calls:
            return self._written(message.calls[0], offered)
        if message.text:
            return self._final(message.text, offered)
        try:
            return self.render(Final(""), offered)
        except NotExpressible:
            return ""

    def _written(self, call: ToolCall, offered: Offered) -> str:
        if call.arguments is None:
            return call.raw
        if self.parse(call.raw, offered) == without_id(call):
            return call.raw
        try:
            return self.render(call, offered)
        except NotExpressible:  # made in another protocol: said in words, and not as an action
            return f"({call.name} {json.dumps(call.arguments, ensure_ascii=False)})"

    def _final(self, text: str, offered: Offered) -> str:
        read = self.parse(text, offered)
        if (
            not isinstance(read, ParseError)
            or read.kind not in {"invalid_json", "unknown_verb"}
            or _begins_object(text)
        ):
            return text  # an action that was cut, or one in its own form
        try:
            return self.render(Final(text), offered)
        except NotExpressible:
            return text

    def decode(self, reply: Reply, offered: Offered) -> Reply:
        """The reply as one call or a final answer; anything else as a call without a name that says what is wrong.

        So is an action that was cut. Where no tool is offered only words are wanted, in whatever
        form they come.
        """
        if reply.error is not None or reply.refusal:
            return replace(reply, calls=())
        if (cut_by := BROKEN_OFF.get(reply.finish or "")) is not None:
            if not reply.text.strip() or answer_in(reply.text) is not None:
                return replace(reply, calls=())
            cut = ToolCall("", "", None, f"the reply was cut by {cut_by}", reply.text)
            return replace(reply, calls=(cut,)) if offered else replace(reply, text="", calls=())
        match (self.read or self.parse)(reply.text, offered):
            case Final(text):
                return replace(reply, text=text, calls=())
            case ParseError(kind) if not offered:
                wish = kind in {"tool_disabled", "unknown_tool"}
                return replace(reply, text="" if wish else reply.text, calls=())
            case ParseError(_, message):
                return replace(reply, calls=(ToolCall("", "", None, message, reply.text),))
            case _ if not offered:
                return replace(reply, text="", calls=())
            case call:
                return replace(reply, text="", calls=(replace(call, raw=reply.text),))


def _begins_object(text: str) -> bool:
    return text.lstrip().startswith("{")


def json_codec(system: str) -> Text:
    """One JSON object per reply."""

    def schemas(offered: Offered) -> dict[str, JsonObject]:
        return {spec.name: spec.parameters for spec in offered}

    return Text(
        system,
        lambda text, offered: json_object.parse(text, schemas(offered).keys(), schemas(offered)),
        lambda action, offered: json_object.render(action, schemas(offered)),
        json_observation,
        json_schema,
    )


def verbs_codec(system: str) -> Text:
    """One of six verbs per reply."""
    return Text(system, lambda text, _: verbs.parse(text), lambda action, _: verbs.render(action), verbs_observation)


@dataclass(frozen=True, slots=True)
class Speech:
    """The dialect of a session: its three codecs, and where it stands among them. `auto`: it steps down by itself."""

    json_system: str
    verbs_system: str
    state: StepDown = field(default_factory=StepDown)
    auto: bool = True
    withheld: frozenset[str] = frozenset()
    """Tools that the text protocols leave out."""

    @property
    def name(self) -> Spoken:
        """The protocol of the next request."""
        return self.state.protocol

    @property
    def live(self) -> bool:
        """Only native text is written for the person."""
        return self.name == "native"

    @property
    def codec(self) -> Codec:
        """The codec of the next request."""
        match self.name:
            case "native":
                return Native()
            case "json":
                return replace(json_codec(self.json_system), read=read_object)
        return verbs_codec(self.verbs_system)

    def offered(self, tools: Offered) -> Offered:
        """Those of the tools that may be called in this protocol."""
        return tools if self.name == "native" else tuple(s for s in tools if s.name not in self.withheld)

    def encode(self, request: Request) -> Request:
        """The neutral request as it is sent."""
        return self.codec.encode(replace(request, tools=self.offered(request.tools)))

    def decode(self, reply: Reply, offered: Offered) -> Reply:
        """The reply with its calls; an answer in plain words as a call without a name that says how it is wanted."""
        reply = self._spoken(reply)
        if self.loose(reply, offered) is not None:
            return replace(reply, calls=(ToolCall("", "", None, WISHES[self.name], reply.text),))
        return self.codec.decode(reply, self.offered(offered))

    def _spoken(self, reply: Reply) -> Reply:
        """The reply without what this protocol does not know: in a text protocol its words are all that it says."""
        if self.name == "native" or not reply.calls:
            return reply
        return replace(reply, calls=(), finish="stop" if reply.finish == "tool_calls" else reply.finish)

    def loose(self, reply: Reply, offered: Offered) -> str | None:
        """The answer of a reply that has not the form of its protocol; None when it has, or attempts an action."""
        codec, reply = self.codec, self._spoken(reply)
        whole = reply.finish in {"stop", "unknown", None} and reply.error is None and not reply.refusal
        if not whole or not offered or not isinstance(codec, Text):
            return None
        if not isinstance((codec.read or codec.parse)(reply.text, self.offered(offered)), ParseError):
            return None
        return answer_in(reply.text)

    def after(self, reply: Reply, offered: Offered) -> tuple[Speech, str]:
        """The next dialect, and why it is another one."""
        if not self.auto or not (offered or refuses_tools(reply.error)):
            return self, ""  # a last reply without tools says nothing about the protocol
        state = self.state.after(reply, self.offered(offered))
        why = state.reason if state.protocol != self.state.protocol else ""
        return replace(self, state=state), why
