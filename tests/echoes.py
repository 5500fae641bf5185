"""Replies that say a key again: in reasoning, in text and in the arguments of a call, cut in the middle of it."""

from __future__ import annotations

import json
from typing import Any

from tests.providers.conftest import chunk

CALL = '{"argv": ["echo", "'


def openai_echo(key: str) -> bytes:
    call = {"index": 0, "id": "c1", "function": {"name": "run_command", "arguments": CALL + key[:9]}}
    rest = {"index": 0, "function": {"arguments": key[9:] + '"]}'}}
    parts = [chunk({"reasoning_content": part}) for part in (f"my key is {key[:4]}", key[4:])]
    parts += [chunk({"content": part}) for part in ("it is ", key[:3], key[3:20], key[20:] + ".")]
    parts += [chunk({"tool_calls": [call]}), chunk({"tool_calls": [rest]}), chunk({}, "tool_calls")]
    return b"".join(parts) + b"data: [DONE]\n\n"


def anthropic_echo(key: str) -> bytes:
    def event(kind: str, **data: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()

    def block(index: int, block: dict[str, Any], kind: str, member: str, pieces: tuple[str, ...]) -> bytes:
        deltas = [event("content_block_delta", index=index, delta={"type": kind, member: piece}) for piece in pieces]
        start = event("content_block_start", index=index, content_block=block)
        return start + b"".join(deltas) + event("content_block_stop", index=index)

    return (
        event("message_start", message={"usage": {"input_tokens": 1}})
        + block(
            0, {"type": "thinking", "thinking": ""}, "thinking_delta", "thinking", ("my key is " + key[:4], key[4:])
        )
        + block(1, {"type": "text", "text": ""}, "text_delta", "text", ("it is ", key[:3], key[3:20], key[20:] + "."))
        + block(
            2,
            {"type": "tool_use", "id": "c1", "name": "run_command", "input": {}},
            "input_json_delta",
            "partial_json",
            (CALL + key[:9], key[9:] + '"]}'),
        )
        + event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 1})
        + event("message_stop")
    )


def ollama_echo(key: str) -> bytes:
    lines: list[dict[str, Any]] = [
        {"message": {"thinking": f"my key is {key[:4]}"}},
        {"message": {"thinking": key[4:]}},
        *({"message": {"content": part}} for part in ("it is ", key[:3], key[3:20], key[20:] + ".")),
        {"message": {"tool_calls": [{"function": {"name": "run_command", "arguments": {"argv": ["echo", key]}}}]}},
        {"message": {"content": ""}, "done": True, "done_reason": "stop"},
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
