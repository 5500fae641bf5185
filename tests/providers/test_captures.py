"""Bytes of real servers: every captured body, whole and byte by byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tui_agent.core.profile import Profile
from tui_agent.core.reply import collect
from tui_agent.core.types import Reply, ToolSpec
from tui_agent.providers import anthropic, errors, ollama, openai_chat

CAPTURES = Path(__file__).resolve().parents[1] / "captures"
TOOLS = (ToolSpec("read_file", "d", {"type": "object"}, {}),)
ADAPTERS = {"/v1/chat/completions": openai_chat, "/v1/messages": anthropic, "/api/chat": ollama}


def request_of(body: Path) -> tuple[str, int]:
    """(path of the request, status of the answer)."""
    request = json.loads(body.with_suffix(".request.json").read_text("utf-8"))
    return request["path"], int(body.with_suffix(".wire").read_bytes().split(b" ", 2)[1])


def bodies(*, failed: bool) -> list[Path]:
    found = [body for body in sorted(CAPTURES.glob("*/*.body")) if request_of(body)[0] in ADAPTERS]
    return [body for body in found if (request_of(body)[1] >= 400) == failed]


def name_of(body: Path) -> str:
    return f"{body.parent.name}-{body.stem}"


def read(body: Path, size: int) -> Reply:
    adapter = ADAPTERS[request_of(body)[0]]
    decoder = adapter.decoder(Profile("p", model="m"), TOOLS)
    data = body.read_bytes()
    deltas = [delta for at in range(0, len(data), size) for delta in decoder.feed(data[at : at + size])]
    return collect([*deltas, *decoder.finish()])


@pytest.mark.parametrize("body", bodies(failed=False), ids=name_of)
def test_answers(body: Path) -> None:
    whole = read(body, 1 << 30)
    assert read(body, 1) == whole
    assert read(body, 1000) == whole
    assert whole.error is None
    assert whole.text or whole.calls
    assert whole.finish in {"stop", "length", "tool_calls"}
    assert "\ufffd" not in whole.text


@pytest.mark.parametrize("body", bodies(failed=True), ids=name_of)
def test_refusals(body: Path) -> None:
    status = request_of(body)[1]
    error = errors.from_response(status, {}, body.read_bytes())
    assert error.kind == ("context_length" if "overflow" in body.name else "server" if status >= 500 else "bad_request")
    assert '{"' not in error.message


def test_what_the_servers_said() -> None:
    by_name = {name_of(body): read(body, 1 << 30) for body in bodies(failed=False)}
    called = by_name["qwen-via-llama-cpp-python-09c_tool_named_stream"]
    assert [(call.name, call.error) for call in called.calls] == [("read_file", None)]
    usage = by_name["smollm2-04_chat_stream_usage"].usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (34, 64, 24)
    messages = by_name["smollm2-31_anthropic_messages_stream"].usage
    assert messages is not None
    assert (messages.input_tokens, messages.output_tokens, messages.cached_tokens) == (36, 12, 35)
    whole = by_name["smollm2-30_anthropic_messages"]
    assert whole.text == "Hello, welcome to my little corner of the world."
    assert len(by_name) + len(bodies(failed=True)) >= 20
