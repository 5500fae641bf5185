"""Every case of the wire corpus that is a stream of events, written in other ways that mean the same."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.test_wire import HELPERS, fed, judge, replay_server

OURS: dict[str, dict[str, Any]] = replay_server.load_cases([str(HELPERS / "cases")])
BOM = b"\xef\xbb\xbf"
DATA = re.compile(rb"(?m)^data:[ ]?(\{.*\})[ ]*$")
OTHER = {
    "index": 1,
    "finish_reason": "length",
    "delta": {"content": "OTHER", "tool_calls": [{"index": 0, "id": "z", "function": {"name": "run"}}]},
}


def rewritten(body: bytes, change: Callable[[dict[str, Any]], Any], *, indent: int | None = None) -> bytes:
    """The body with another JSON text for each event that is one."""

    def event(found: re.Match[bytes]) -> bytes:
        try:
            value = json.loads(found[1])
        except ValueError:
            return found[0]
        return b"\n".join(b"data: " + line.encode() for line in json.dumps(change(value), indent=indent).split("\n"))

    return DATA.sub(event, body)


def with_second(value: dict[str, Any]) -> dict[str, Any]:
    choices = value.get("choices")
    return {**value, "choices": [OTHER, *choices]} if choices and isinstance(choices, list) else value


MUTATIONS: dict[str, Callable[[bytes], bytes]] = {
    "crlf": lambda body: body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    "cr": lambda body: body.replace(b"\r\n", b"\n").replace(b"\n", b"\r"),
    "byte order mark": lambda body: BOM + body,
    "blank lines first": lambda body: b"\n\r\n\n" + body,
    "comments": lambda body: b": hi\n\n" + re.sub(rb"(?m)^data:", b": {x}\n:\ndata:", body),
    "fields": lambda body: re.sub(rb"(?m)^data:", b"id: 1\nretry: 10\nfoo: bar\nfoo\ndata:", body),
    "no blank": lambda body: re.sub(rb"(?m)^data: ", b"data:", body),
    "heartbeats": lambda body: body.replace(b"\n\n", b"\n\ndata:\n\n"),
    "no last line end": lambda body: body.rstrip(b"\r\n"),
    "many lines": lambda body: rewritten(body, lambda value: value, indent=1),
    "unknown members": lambda body: rewritten(
        body, lambda value: {**value, "zz": [{"a": None}], "error": value.get("error")}
    ),
    "a second choice": lambda body: rewritten(body, with_second),
}


def streams() -> list[tuple[dict[str, Any], bytes]]:
    """The cases with an ordinary body: other cases are about exactly these ways to write."""
    found = []
    for case in OURS.values():
        body = b"".join(map(base64.b64decode, case["chunks"]))
        if (
            case["status"] == 200
            and body.startswith((b"data:", b"event:"))
            and b"\r" not in body
            and len(body) < 100_000
        ):
            found.append((case, body))
    return found


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_the_same_in_other_words(mutation: str) -> None:
    cases = streams()
    assert len(cases) > len(OURS) // 2
    for case, body in cases:
        written = {**case, "chunks": [base64.b64encode(MUTATIONS[mutation](body)).decode()]}
        whole = fed(written, 1 << 30)
        assert judge.compare(case, whole, strict_keep=True) == [], case["name"]
        assert fed(written, 5) == whole, case["name"]
