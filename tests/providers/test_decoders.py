"""Decoders never raise, always end once, and do not depend on how the bytes were cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.core.profile import Profile
from tui_agent.core.reply import collect
from tui_agent.core.types import CallDelta, Delta, ProviderError, Reply, ReplyEnd, ToolSpec, Usage
from tui_agent.providers import anthropic, ollama, openai_chat

ADAPTERS = (openai_chat, anthropic, ollama)
TOOLS = (ToolSpec("run", "d", {"type": "object"}, {}),)
KEYS = st.sampled_from(
    [
        *(
            "choices",
            "delta",
            "message",
            "content",
            "text",
            "tool_calls",
            "function",
            "function_call",
            "index",
            "id",
            "name",
        ),
        *(
            "arguments",
            "finish_reason",
            "usage",
            "prompt_tokens",
            "completion_tokens",
            "prompt_tokens_details",
            "error",
        ),
        *(
            "reasoning",
            "reasoning_details",
            "thinking_blocks",
            "refusal",
            "type",
            "content_block",
            "stop_reason",
            "input",
        ),
        *("partial_json", "thinking", "signature", "done", "done_reason", "eval_count", "object", "x_groq", "detail"),
    ]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 10**9),
    st.floats(allow_nan=False),
    st.sampled_from(
        ["", "stop", "STOP", "text", "tool_use", "run", "{}", "content_block_start", "content_block_delta"]
    ),
    st.sampled_from(
        ["content_block_stop", "message_delta", "message_stop", "message", "thinking", "input_json_delta", "\ud83c"]
    ),
)
JSON = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=25
)


def profile(**options: Any) -> Profile:
    return Profile("p", model="m", options=options)


def pieces(body: bytes, size: int) -> list[bytes]:
    return [body[at : at + size] for at in range(0, len(body), size)]


def decode(adapter: Any, parts: list[bytes], error: ProviderError | None = None, **options: Any) -> list[Delta]:
    decoder = adapter.decoder(profile(**options), TOOLS)
    deltas = [delta for part in parts for delta in decoder.feed(part)]
    deltas += decoder.finish(error)
    assert isinstance(deltas[-1], ReplyEnd)
    assert sum(isinstance(delta, ReplyEnd) for delta in deltas) == 1
    return deltas


def framed(adapter: Any, values: list[Any]) -> bytes:
    if adapter is ollama:
        return b"".join(json.dumps(value).encode() + b"\n" for value in values)
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)


@pytest.mark.parametrize("adapter", ADAPTERS)
@examples(150)
@given(st.lists(JSON, max_size=5), st.booleans())
def test_any_json_is_survived(adapter: Any, values: list[Any], as_text: bool) -> None:
    body = framed(adapter, values)
    whole = collect(decode(adapter, [body], text_tool_calls=as_text))
    assert collect(decode(adapter, pieces(body, 1), text_tool_calls=as_text)) == whole
    assert whole.error is None or not whole.calls
    json.dumps(whole.extras)
    (whole.text + whole.reasoning).encode()


VALID: dict[Any, list[Any]] = {
    openai_chat: [
        {
            "id": "x",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": "a"}}],
        },
        {
            "choices": [
                {"delta": {"reasoning_content": "r", "reasoning_details": [{"type": "t", "text": "r", "index": 0}]}}
            ]
        },
        {
            "choices": [
                {
                    "delta": {
                        "content": [{"type": "text", "text": "b"}, {"type": "thinking", "thinking": [{"text": "c"}]}]
                    }
                }
            ]
        },
        {"choices": [{"delta": {"function_call": {"name": "run", "arguments": "{}"}, "refusal": "no"}}]},
        {
            "choices": [
                {"delta": {"tool_calls": [{"index": 0, "id": "i", "function": {"name": "run", "arguments": "{"}}]}}
            ]
        },
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "extra": {"a": 1}, "function": {"arguments": "}"}}]}}]},
        {
            "choices": [{"message": {"content": "m", "tool_calls": []}, "finish_reason": "stop"}],
            "x_groq": {"usage": {}},
        },
        {
            "choices": [],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}},
        },
        {
            "error": {
                "message": "x",
                "code": 500,
                "type": "t",
                "metadata": {"error_type": "e"},
                "details": [{"retryDelay": "1s"}],
            }
        },
    ],
    anthropic: [
        {"type": "message_start", "message": {"usage": {"input_tokens": 1, "cache_read_input_tokens": 2}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "t"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "a"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "b"}},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "i", "name": "run", "input": {"a": 1}},
        },
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}},
        {"type": "message", "content": [{"type": "text", "text": "w"}], "stop_reason": "end_turn", "usage": {}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "m"}},
    ],
    ollama: [
        {"message": {"role": "assistant", "content": "a", "thinking": "t"}, "done": False},
        {"message": {"tool_calls": [{"id": "i", "function": {"name": "run", "arguments": {"a": 1}}}]}, "done": False},
        {"message": {"content": ""}, "done": True, "done_reason": "stop", "prompt_eval_count": 1, "eval_count": 2},
    ],
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, child in inner for place in places(child, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], by)
    return copy


@pytest.mark.parametrize("adapter", ADAPTERS)
@examples(400)
@given(st.data())
def test_any_member_may_be_anything(adapter: Any, data: Any) -> None:
    """A valid stream in which one or two members hold something else."""
    values: Any = VALID[adapter]
    for _ in range(data.draw(st.integers(1, 2))):
        values = replaced(values, data.draw(st.sampled_from(places(values)[1:])), data.draw(JSON))
    body = framed(adapter, values)
    whole = collect(decode(adapter, [body]))
    assert collect(decode(adapter, pieces(body, 3))) == whole
    json.dumps(whole.extras)


@pytest.mark.parametrize("adapter", ADAPTERS)
@given(st.binary(max_size=200))
def test_any_bytes_are_survived(adapter: Any, body: bytes) -> None:
    assert collect(decode(adapter, [body])) == collect(decode(adapter, pieces(body, 1)))
    decode(adapter, [b"data: " + body + b"\n\n"])


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_nonsense_is_an_error_of_the_reply(adapter: Any) -> None:
    for text in ("[" * 100_000, '{"a":' * 100_000, "9" * 5000, "{", "7", '"x"'):
        error = collect(
            decode(adapter, [f"data: {text}\n\n".encode() if adapter is not ollama else f"{text}\n".encode()])
        ).error
        assert error is not None
        assert error.kind == "protocol"


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("depth", [65, 90, 500, 900, 100_000])
def test_what_is_nested_too_deep_ends_the_reply_and_keeps_its_text(adapter: Any, depth: int) -> None:
    """Deep values would be recursed into by whoever stores or sends them; arguments may be as deep as is promised."""
    said: dict[Any, list[Any]] = {
        openai_chat: [{"choices": [{"delta": {"content": "so far"}}]}],
        anthropic: [{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "so far"}}],
        ollama: [{"message": {"content": "so far"}}],
    }
    deep = "[" * depth + "]" * depth
    last = f'{{"choices": [{{"delta": {{"reasoning_details": [{{"x": {deep}}}]}}, "finish_reason": "stop"}}], "done": true}}'
    body = framed(adapter, said[adapter]) + (last if adapter is ollama else f"data: {last}\n\n").encode() + b"\n"
    reply = collect(decode(adapter, [body]))
    assert reply.text == "so far"
    if depth > 70:
        assert reply.error is not None
        assert (reply.error.kind, reply.error.retryable) == ("protocol", False)
        assert "nested deeper" in reply.error.message
        assert reply.extras == {}
    else:
        assert reply.error is None or "nested" not in reply.error.message


# ------------------------------------------------------------------ chat completions


def chat(*deltas: dict[str, Any], finish: str = "stop", usage: Any = None) -> Reply:
    chunks: list[Any] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage})
    return collect(decode(openai_chat, [framed(openai_chat, chunks)]))


def call(**members: Any) -> dict[str, Any]:
    function = {name: members.pop(name) for name in ("name", "arguments") if name in members}
    return {**members, "function": function}


A, B = '{"path": "a"}', '{"path": "b"}'


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([[call(index=0, id="x", name="r", arguments=A)], [call(index=0, id="y", name="r", arguments=B)]], [A, B]),
        ([[call(index=0, id="x", name="r", arguments=A)], [call(index=1, id="x", name="r", arguments=B)]], [A, B]),
        ([[call(name="r", arguments=A)], [call(name="r", arguments=B)]], [A, B]),
        ([[call(name="r", arguments=A), call(name="r", arguments=B)]], [A, B]),
        ([[call(name="r"), call(name="r")]], ["", ""]),
        ([[call(index=0, name="r", arguments=A)], [call(index=0, name="s", arguments=B)]], [A, B]),
        ([[call(index=0, name="r", arguments=A)], [call(index=0, name="r", arguments=B)]], [A, B]),
        ([[call(index=0, name="r", arguments=A[:4])], [call(index=0, name="r", arguments=A[4:])]], [A]),
        ([[call(name="r", arguments=A[:4])], [call(name="r", arguments=A[4:])]], [A]),
        ([[call(name="r", arguments=A[:4])], [call(arguments=A[4:])]], [A]),
        ([[call(index=0, name="r", arguments=A)], [call(index=0, name="r", arguments="\n")]], [A + "\n"]),
        (
            [
                [call(index=0, id="x", name="r")],
                [call(index=0, id="y", name="r")],
                [call(index=0, id="x", arguments=A)],
            ],
            [A, ""],
        ),
        ([[call(index=-1, id="x", name="r", arguments=A)], [call(index=10**9, id="y", name="r", arguments=B)]], [A, B]),
        ([[call(index={}, id="x", name="r", arguments=A)], [call(index=True, id="x", arguments="")]], [A]),
        ([[call(index=5, id="x", name="r", arguments=A[:3])], [call(index=5, arguments=A[3:])]], [A]),
        ([[call(index=0, id="x", name="ru")], [call(index=0, name="n")], [call(index=0, arguments=A)]], [A]),
        ([[call(name="ru")], [call(name="n", arguments=A)]], [A]),
        ([call(index=0, id="x", name="run", arguments=A)], [A]),
        ([[None, 7, call(index=0, id="x", name="r", arguments={"path": "a"})]], [A]),
    ],
)
def test_which_call_a_fragment_belongs_to(entries: list[Any], expected: list[str]) -> None:
    calls = chat(*({"tool_calls": entry} for entry in entries)).calls
    assert [made.raw for made in calls] == expected
    assert {made.name for made in calls} <= {"run", "r", "s"}


def test_a_flood_of_calls_is_bounded() -> None:
    body = framed(
        openai_chat, [{"choices": [{"delta": {"tool_calls": [call(id=f"i{n}", name="run") for n in range(5000)]}}]}] * 2
    )
    deltas = decode(openai_chat, [body, b"data: [DONE]\n\n"])
    assert sum(isinstance(delta, CallDelta) for delta in deltas) == 10_000
    assert len(collect(deltas).calls) == 32


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": -5, "completion_tokens": "7"}, (None, None)),
        ({"prompt_tokens": 10**30, "completion_tokens": True}, (None, None)),
        ({"input_tokens": 5, "output_tokens": 6}, (5, 6)),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 6,
                "total_tokens": 18,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            (5, 13),
        ),
        ({"prompt_tokens": 5.0, "completion_tokens": 0}, (5, 0)),
        ({"prompt_tokens": 5, "prompt_tokens_details": [], "completion_tokens_details": "x"}, (5, None)),
    ],
)
def test_odd_usage_is_unknown(usage: Any, expected: Any) -> None:
    got = chat(usage=usage).usage
    assert got is not None
    assert (got.input_tokens, got.output_tokens) == expected
    assert chat(usage=[1]).usage is None


def test_an_empty_count_erases_nothing() -> None:
    chunks = [{"choices": [{"finish_reason": "stop", "usage": {"prompt_tokens": 3, "completion_tokens": 4}}]}]
    chunks.append({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0}})
    got = collect(decode(openai_chat, [framed(openai_chat, chunks)])).usage
    assert got is not None
    assert (got.input_tokens, got.output_tokens) == (3, 4)


@pytest.mark.parametrize(
    ("body", "text", "kind"),
    [
        (b"event: error\ndata: upstream fell over\n\n", "", "server"),
        (b'data: {"choices":[{"error":{"message":"x","code":429}}]}\n\n', "", "rate_limit"),
        (b'{"choices":[{"delta":{"content":"a"}}]}\n{"choices":[{"delta":{},"finish_reason":"stop"}]}\n', "a", None),
        (
            b'data: {"choices":[{"delta":{"content":"a"}}]}\ndata: {"choices":[{"finish_reason":"stop"}]}\ndata: [DONE]\n',
            "a",
            None,
        ),
        (b'data: {"choices":[{"delta":{"content":"a"}}]}\ndata: {"choices":[{"del', "a", "network"),
        (b'{"choices":[{"message":{"content":"a"}}]}', "a", None),
        (b'{"choices":[{"message":{"content":"a"', "", "protocol"),
        (b'{"hello":1}', "", "protocol"),
        (b'{"detail":"Not allowed"}', "", "server"),
        (b"Not found", "", "protocol"),
    ],
)
def test_odd_framings(body: bytes, text: str, kind: str | None) -> None:
    reply = collect(decode(openai_chat, [body]))
    assert (reply.text, reply.error.kind if reply.error else None) == (text, kind)
    assert collect(decode(openai_chat, pieces(body, 1))) == reply


def test_ollama_lines_in_an_event_stream() -> None:
    body = b'data: {"message":{"content":"a"},"done":false}\n\ndata: {"message":{"content":"b"},"done":true}\n\n'
    reply = collect(decode(ollama, [body]))
    assert (reply.text, reply.finish) == ("ab", "stop")


def test_surrogates_cut_between_deltas_are_joined() -> None:
    assert chat({"content": "a\ud83c"}, {"content": "\udf0d"}).text == "a🌍"
    assert chat({"reasoning": "\ud83c"}, {"reasoning": "\udf0d"}).reasoning == "🌍"


@pytest.mark.parametrize(
    ("label", "finish", "kind"),
    [
        ("stop", "stop", None),
        ("LENGTH", "length", None),
        ("max_tokens", "length", None),
        ("eos_token?", "unknown", None),
        ("abort", None, "server"),
        ("insufficient_system_resource", None, "server"),
    ],
)
def test_labels(label: str, finish: str | None, kind: str | None) -> None:
    reply = chat({"content": "x"}, finish=label)
    assert (reply.finish, reply.error.kind if reply.error else None, reply.text) == (finish, kind, "x")


def test_a_transport_error_after_the_end_is_no_error() -> None:
    gone = ProviderError("network", "reset", retryable=True)
    whole = framed(openai_chat, [{"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]}])
    assert collect(decode(openai_chat, [whole], gone)).error is None
    cut = framed(openai_chat, [{"choices": [{"delta": {"content": "x"}}]}])
    assert collect(decode(openai_chat, [cut], gone)).error == gone


def test_refusal_is_not_a_normal_stop() -> None:
    reply = chat({"refusal": "I cannot."})
    assert (reply.refusal, reply.finish, reply.text) == ("I cannot.", "refusal", "")


@pytest.mark.parametrize("wire", [anthropic, ollama])
@pytest.mark.parametrize("end", [b"data: [DONE]\n\n", b"data: [DONE]"])
def test_what_is_of_another_format_is_no_empty_answer(wire: Any, end: bytes) -> None:
    """A compatible server behind a profile of another type: it says the end mark, and nothing that is understood."""
    decoder = wire.decoder(Profile("p"))
    deltas = decoder.feed(b'data: {"choices": [{"index": 0, "delta": {"content": "hi"}}]}\n\n' + end)
    reply = collect([*deltas, *decoder.finish()])
    assert reply.error is not None
    assert (reply.error.kind, reply.error.retryable) == ("protocol", False)
    assert "check type and endpoint" in reply.error.message


@pytest.mark.parametrize("told", [None, 30])
def test_what_an_answer_took_is_known_only_once_it_is_told_to_its_end(told: int | None) -> None:
    """The first event of Anthropic's format counts the first piece of the answer; one that breaks off has no other count."""

    def event(kind: str, **more: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()

    decoder = anthropic.WIRE.decoder(Profile("p", wire="anthropic"), ())
    usage = {"input_tokens": 1000, "cache_read_input_tokens": 5, "output_tokens": 1}
    decoder.feed(event("message_start", message={"usage": usage}))
    decoder.feed(event("content_block_delta", index=0, delta={"type": "text_delta", "text": "a long text"}))
    if told is not None:
        decoder.feed(event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": told}))
    (end,) = [delta for delta in decoder.finish(None) if isinstance(delta, ReplyEnd)]
    assert end.usage == Usage(1005, told, 5)
