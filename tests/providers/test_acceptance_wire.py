"""Promises of the acceptance list at the wire that no other test names (docs/acceptance.md)."""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Any

import pytest

from tests.providers.conftest import Peer
from tui_agent.core.profile import Profile, Timeouts
from tui_agent.core.reply import collect
from tui_agent.core.types import Reply, Request, ToolCall, ToolSpec, UserMessage
from tui_agent.providers import connect, openai_chat

READ = ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {}, "required": []}, {})


def profile(**changes: Any) -> Profile:
    return Profile(**{"name": "p", "endpoint": "http://127.0.0.1:1/v1", "model": "m"} | changes)


def folded(body: bytes) -> Reply:
    decoder = openai_chat.decoder(profile(), (READ,))
    return collect([*decoder.feed(body), *decoder.finish()])


def streamed(*chunks: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


@pytest.mark.parametrize("calls", [None, []])
def test_no_list_of_calls_and_an_empty_one_are_no_calls(calls: Any) -> None:
    message = {"role": "assistant", "content": "hi", "tool_calls": calls}
    whole = folded(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())
    pieces = folded(streamed({"choices": [{"delta": message, "finish_reason": "stop"}]}))
    for reply in (whole, pieces):
        assert (reply.text, reply.calls, reply.finish, reply.error) == ("hi", (), "stop", None)


def test_a_stream_and_a_whole_body_give_the_same_reply() -> None:
    function = {"name": "read_file", "arguments": '{"path": "a"}'}
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    call = {"index": 0, "id": "c1", "type": "function", "function": function}
    message = {"role": "assistant", "content": "Look.", "reasoning_content": "hm", "tool_calls": [call]}
    whole = folded(
        json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}).encode()
    )
    pieces = folded(
        streamed(
            {"choices": [{"delta": {"role": "assistant", "reasoning_content": "h"}}]},
            {"choices": [{"delta": {"reasoning_content": "m", "content": "Lo"}}]},
            {"choices": [{"delta": {"content": "ok."}}]},
            {"choices": [{"delta": {"tool_calls": [call | {"function": function | {"arguments": '{"pa'}}]}}]},
            {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": 'th": "a"}'}}]}}]},
            {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
            {"choices": [], "usage": usage},
        )
    )
    assert whole.calls == (ToolCall("c1", "read_file", {"path": "a"}, raw='{"path": "a"}'),)
    assert pieces == whole


def test_a_body_without_a_message_is_an_error_that_shows_it() -> None:
    reply = folded(b'{"object": "weird", "detail": "what the server said"}')
    assert reply.error is not None
    assert "what the server said" in reply.error.message


def test_a_body_with_no_choices_is_an_error_that_shows_it() -> None:
    reply = folded(b'{"object": "chat.completion", "choices": [], "note": "what the server said"}')
    assert reply.error is not None
    assert reply.error.kind == "protocol"
    assert "what the server said" in reply.error.message


def test_tools_are_sent_only_when_there_are_some() -> None:
    said = (UserMessage("x"),)
    assert "tools" not in openai_chat.build(said, profile(), ())
    body = openai_chat.build(said, profile(), (READ,))
    assert [tool["function"]["name"] for tool in body["tools"]] == ["read_file"]
    assert body["tools"][0]["function"]["parameters"]["required"] == []


def test_waiting_is_limited_by_silence_and_by_nothing_else() -> None:
    times = Timeouts()
    assert (times.connect, times.first_event, times.idle, times.progress) == (10.0, 600.0, 300.0, 300.0)
    assert Timeouts.__slots__ == ("connect", "first_event", "idle", "progress")


async def test_a_local_profile_sends_its_key_when_it_is_set(loopback: Any) -> None:
    async def script(peer: Peer) -> None:
        await peer.answer()

    server = await loopback(script)
    used = profile(endpoint=server.url, local=True, api_key_env="LOCAL_KEY")
    for env in ({"LOCAL_KEY": "sk-local"}, {}):
        async with aclosing(connect(used, env=env).stream(Request("", (UserMessage("hi"),)))) as deltas:
            assert collect([delta async for delta in deltas]).error is None
    assert [peer.headers.get("authorization") for peer in server.peers] == ["Bearer sk-local", None]
