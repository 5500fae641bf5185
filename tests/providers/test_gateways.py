"""What gateways and small servers do to a reply: told twice, told apart, or broken off by a text that is no event."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tui_agent.core.profile import Profile
from tui_agent.core.reply import collect
from tui_agent.core.types import Reply, ToolSpec, Usage
from tui_agent.providers import anthropic, errors, ollama, openai_chat

RUN = ToolSpec("run", "d", {"type": "object"}, {})
ADAPTERS = CHAT, MESSAGES, OLLAMA = openai_chat, anthropic, ollama
STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def replies(adapter: Any, body: bytes, **options: Any) -> Reply:
    """The reply of a body, which must not depend on how it was cut."""
    profile = Profile("p", wire=adapter.WIRE.name, model="m", options=options)
    read = []
    for size in (1, 7, len(body)):
        decoder = adapter.decoder(profile, (RUN,))
        deltas = [delta for at in range(0, len(body), size) for delta in decoder.feed(body[at : at + size])]
        read.append(collect([*deltas, *decoder.finish()]))
    assert read[0] == read[1] == read[2]
    return read[0]


def events(*values: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)


def chunk(finish: str | None = None, /, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


@pytest.mark.parametrize("delta", [{"delta": {}}, {"delta": None}, {}])
def test_a_message_that_repeats_what_was_streamed_is_not_read_again(delta: dict[str, Any]) -> None:
    last = {"choices": [{"index": 0, **delta, "message": {"content": "Hello"}, "finish_reason": "stop"}]}
    assert replies(CHAT, events(chunk(content="Hel"), chunk(content="lo"), last)).text == "Hello"


FOREIGN = {
    "chat": events(chunk("stop", content="hi")),
    "messages": b'event: message_start\ndata: {"type":"message_start","message":{"role":"assistant","content":[]}}\n\n',
    "lines": b'{"model":"m","message":{"role":"assistant","content":"hi"},"done":true}\n',
    "list": b"[]",
}


@pytest.mark.parametrize(
    ("adapter", "body"),
    [(CHAT, "messages"), (CHAT, "lines"), (CHAT, "list"), (MESSAGES, "chat"), (MESSAGES, "lines"), (OLLAMA, "chat")],
    ids=["chat-messages", "chat-lines", "chat-list", "messages-chat", "messages-lines", "lines-chat"],
)
def test_a_reply_in_another_format_is_told_as_such_and_not_asked_for_again(adapter: Any, body: str) -> None:
    """It is neither a server that failed nor a connection that was lost: no other try would be better."""
    error = replies(adapter, FOREIGN[body]).error
    assert error is not None
    assert (error.kind, error.retryable) == ("protocol", False)
    assert "check type and endpoint" in error.message


@pytest.mark.parametrize("between", [", ", ",\n"])
def test_a_list_of_events_is_read_like_those_events(between: str) -> None:
    """Whoever gathers a stream for a client that wants one document writes a list."""
    lines = [{"message": {"content": "a"}, "done": False}, {"message": {"content": "b"}, "done": True}]
    chunks = [chunk(content="a"), chunk("stop", content="b")]
    for adapter, values in ((OLLAMA, lines), (CHAT, chunks)):
        body = f"[{between.join(map(json.dumps, values))}]".encode()
        reply = replies(adapter, body)
        assert (reply.text, reply.finish, reply.error) == ("ab", "stop", None)
        assert replies(adapter, body + b"\n" + json.dumps(values[0]).encode() + b"\n").text[:2] == "ab"


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_last_frame_that_says_stop_hides_nothing(finish: str) -> None:
    assert replies(CHAT, events(chunk(finish, content="a"), STOP)).finish == finish


@pytest.mark.parametrize(
    "content",
    [{"type": "text", "text": "ab"}, ["a", "b"], [{"type": "reasoning", "summary": [{"text": "hm"}]}, {"text": "ab"}]],
)
def test_content_in_other_forms_is_not_lost(content: Any) -> None:
    assert replies(CHAT, events(chunk("stop", content=content))).text == "ab"


def test_indexes_as_text_tell_calls_apart() -> None:
    def piece(index: str, **call: Any) -> dict[str, Any]:
        return chunk(tool_calls=[{"index": index, **call}])

    starts = [piece(n, id=f"c{n}", function={"name": "run", "arguments": '{"x":'}) for n in "01"]
    ends = [piece(n, function={"arguments": f"{n}}}"}) for n in "01"]
    assert [call.arguments for call in replies(CHAT, events(*starts, *ends, STOP)).calls] == [{"x": 0}, {"x": 1}]


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ([{"prompt_tokens": 12}, {"completion_tokens": 4}], Usage(12, 4)),
        ([{"prompt_tokens": 12, "completion_tokens": 4}, {"prompt_tokens": 0, "completion_tokens": 0}], Usage(12, 4)),
        ([{"prompt_tokens": 0, "completion_tokens": 0}], Usage()),
        (
            [
                {
                    "input_tokens": 9,
                    "output_tokens": 4,
                    "input_tokens_details": {"cached_tokens": 5},
                    "output_tokens_details": {"reasoning_tokens": 2},
                }
            ],
            Usage(9, 4, 5, None, 2),
        ),
    ],
)
def test_counts_in_parts_and_in_other_names(counts: list[dict[str, Any]], usage: Usage) -> None:
    frames = [{"object": "usage", "usage": count} for count in counts]
    assert replies(CHAT, events(chunk("stop", content="a"), *frames)).usage == usage


def test_a_server_that_counts_nothing_has_not_told_that_it_was_nothing() -> None:
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 0, "output_tokens": 0}}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 0}}
    assert replies(MESSAGES, events(start, end)).usage == Usage()


def test_an_event_of_messages_may_have_its_type_in_the_event_line_only() -> None:
    body = b'event: content_block_delta\ndata: {"index":0,"delta":{"type":"text_delta","text":"hi"}}\n\n'
    assert replies(MESSAGES, body + b"event: message_stop\ndata: {}\n\n").text == "hi"


# ------------------------------------------------------------------ what is no event


@pytest.mark.parametrize(
    ("written", "kind", "said"),
    [
        (b'{"error":{"message":"backend died","code":500}}\n', "server", "backend died"),
        (b'{\n  "error": {\n    "message": "prompt is too long: 9 > 8"\n  }\n}\n', "context_length", "too long"),
        (b"<html><title>502 Bad Gateway</title></html>\n", "network", "before its end: 502 Bad Gateway"),
        (b"upstream connect error or disconnect. reason: reset", "network", "before its end: upstream connect"),
    ],
)
def test_a_text_in_the_stream_says_why_it_ended(written: bytes, kind: str, said: str) -> None:
    reply = replies(CHAT, events(chunk(content="a")) + written)
    assert reply.error is not None
    assert (reply.text, reply.error.kind) == ("a", kind)
    assert said in reply.error.message


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_body_that_is_plain_text_is_shown(adapter: Any) -> None:
    error = replies(adapter, b"no healthy upstream").error
    assert error is not None
    assert (error.kind, error.retryable) == ("protocol", True)
    assert error.message == "the answer is no stream of events: no healthy upstream"


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize(
    "body", [{"detail": "Not here"}, {"message": "Not here"}, {"errors": [{"message": "Not here"}]}]
)
def test_a_body_that_only_says_what_is_wrong(adapter: Any, body: Any) -> None:
    error = replies(adapter, json.dumps(body).encode()).error
    assert error is not None
    assert error.message == "the server failed: Not here"


def test_json_that_is_no_reply_is_not_a_reply_that_was_cut() -> None:
    for adapter in (CHAT, MESSAGES):
        error = replies(adapter, b'{"object": "list", "data": []}').error
        assert error is not None
        assert not error.retryable
        assert "check type and endpoint" in error.message


def test_fields_and_comments_that_nobody_knows_are_not_said() -> None:
    body = b": hi\nfoo: bar\nid: 7\nretry\n\n" + events(chunk(content="a"))
    error = replies(CHAT, body).error
    assert error is not None
    assert error.message == "the reply was cut off before its end"


def test_a_padded_end_mark_ends_the_stream() -> None:
    body = events(chunk("stop", content="a")) + b"data:\t[DONE]\n\n" + events(chunk(content="LEAK"))
    assert replies(CHAT, body).text == "a"


# ------------------------------------------------------------------ calls that were written as text


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('[{"name":"run","arguments":{"x":1}}]', [{"x": 1}]),
        ('{"type":"function","function":{"name":"run","arguments":{"x":1}}}', [{"x": 1}]),
        ('{"name":"run","arguments":null}', [{}]),
        ('[TOOL_CALLS]run[ARGS]{"x":1}[TOOL_CALLS]run[ARGS]{"x":2}', [{"x": 1}, {"x": 2}]),
        ('<|python_tag|>{"name":"run","parameters":{"x":1}}<|eom_id|>', [{"x": 1}]),
        ("<function=run>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call>", [{"x": "1"}]),
    ],
)
def test_more_ways_to_write_a_call(text: str, arguments: list[dict[str, Any]]) -> None:
    body = events(*(chunk(content=sign) for sign in text), STOP)
    assert [call.arguments for call in replies(CHAT, body, text_tool_calls=True).calls] == arguments


@pytest.mark.parametrize("text", ["[docs](http://x) say", "[ ] to do", "[1, 2]"])
def test_a_bracket_alone_is_text(text: str) -> None:
    assert replies(CHAT, events(chunk("stop", content=text)), text_tool_calls=True).text == text


# ------------------------------------------------------------------ refusals


def test_what_the_server_behind_a_router_said_is_told_and_counts() -> None:
    raw = json.dumps({"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}})
    body = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}
    error = errors.from_response(400, {}, json.dumps(body).encode())
    assert error.kind == "context_length"
    assert "Provider returned error: prompt is too long" in error.message


@pytest.mark.parametrize(
    "message",
    [
        "Range of input length should be [1, 30720]",
        "Prompt length 5000 is greater than max_seq_len 4096",
        "length of prompt_tokens (9001) must be less than max_input_tokens (8192)",
        "the number of input tokens 5000 cannot exceed the total tokens limit 4096",
        "Total tokens of image and text exceed max message tokens",
        "Input length 9000 exceeds maximum allowed token size 8192",
        "Prompt has too many tokens",
    ],
)
def test_more_words_for_a_conversation_that_is_too_long(message: str) -> None:
    assert errors.from_response(400, {}, json.dumps({"error": message}).encode()).kind == "context_length"


def test_an_empty_account_and_a_barred_door_are_called_so() -> None:
    assert "no credit left (HTTP 402)" in errors.from_response(402, {}, b'{"error":"Insufficient Balance"}').message
    assert "refuses access (HTTP 403)" in errors.from_response(403, {}, b"Country not supported").message
    assert not errors.from_response(501, {}, b"").retryable


CALL = {"name": "run", "arguments": {"a": 1}}


@pytest.mark.parametrize("calls", [{"function": CALL}, [CALL], CALL, [{"id": "x", "type": "function", **CALL}]])
def test_a_call_without_its_list_or_its_function(calls: Any) -> None:
    lines = [{"message": {"content": "", "tool_calls": calls}}, {"message": {}, "done": True, "done_reason": "stop"}]
    native = replies(OLLAMA, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    chat = replies(CHAT, events(chunk(tool_calls=calls), STOP))
    for reply in (native, chat):
        assert [(one.name, one.arguments, one.error) for one in reply.calls] == [("run", {"a": 1}, None)]


@pytest.mark.parametrize("calls", [["run"], "run", [{"function": "run"}], [{"function": None}]])
def test_a_call_of_ollama_that_cannot_be_read_is_told(calls: Any) -> None:
    lines = [{"message": {"content": "", "tool_calls": calls}}, {"message": {}, "done": True, "done_reason": "stop"}]
    reply = replies(OLLAMA, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    assert [(one.name, one.error) for one in reply.calls] == [("", "the call names no tool")]
