"""Replies held to a schema: who takes one, who refuses it, and who is never asked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.server import Failure, Text, serving
from tui_agent.config import profile
from tui_agent.core.profile import Profile
from tui_agent.core.reply import collect
from tui_agent.core.types import Reply, Request, UserMessage
from tui_agent.protocols.prompts import json_schema
from tui_agent.providers import connect, wire_of
from tui_agent.providers.http import constrained
from tui_agent.tools.registry import TOOLS

SCHEMA = json_schema(tool.spec for tool in TOOLS.values())
REQUEST = Request("s", (UserMessage("t"),), (), SCHEMA)


async def reply_of(made: Profile, request: Request = REQUEST) -> Reply:
    return collect([delta async for delta in connect(made, env={}).stream(request)])


def body(kind: str, request: Request = REQUEST, **options: Any) -> dict[str, Any]:
    table = {"type": kind, "endpoint": "http://127.0.0.1:1/v1", "model": "m", "options": options}
    made = profile("p", table)
    used = constrained(wire_of(made), made, request)
    return dict(wire_of(made).build(request.messages, used))


def test_each_format_has_its_own_word_for_a_schema() -> None:
    assert body("openai")["response_format"]["json_schema"]["schema"] == SCHEMA
    assert body("ollama")["format"] == SCHEMA
    assert not {"response_format", "format"} & body("anthropic").keys()


@pytest.mark.parametrize("kind", ["openai", "ollama", "anthropic"])
def test_nothing_is_constrained_without_a_schema_or_against_the_option(kind: str) -> None:
    plain = body(kind, Request("s", REQUEST.messages))
    assert not {"response_format", "format"} & plain.keys()
    assert body(kind, json_schema=False) == plain


def test_the_persons_own_setting_wins() -> None:
    made = Profile("p", endpoint="http://x/v1", model="m", generation={"response_format": "own"})
    assert constrained(wire_of(made), made, REQUEST).generation == {"response_format": "own"}


@pytest.mark.parametrize(
    "message",
    [
        "response_format is not supported by this model",
        "Invalid schema for response_format 'action': schema must have type object",
        "failed to parse grammar",
        "Unrecognized request argument supplied: response_format",
    ],
)
async def test_a_server_that_refuses_the_schema_is_asked_again_without(message: str) -> None:
    refused = Failure(400, b'{"error": {"message": "' + message.encode() + b'"}}')
    with serving(refused, Text("one"), Text("two")) as server:
        made = profile("p", {"endpoint": server.url, "model": "m"})
        model = connect(made, env={})
        for expected in ("one", "two"):
            assert collect([d async for d in model.stream(REQUEST)]).text == expected
    assert ["response_format" in b for b in server.bodies] == [True, False, False]
