"""What servers say when they fail: kinds, one readable sentence, no secrets."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core.types import ErrorKind, ProviderError
from tui_agent.providers import errors
from tui_agent.providers.http import _left_out
from tui_agent.providers.vendors import ROLES

CANARY = "sk-CANARY-0123456789abcdef"
VLLM = (
    "'max_tokens' or 'max_completion_tokens' is too large: {asked}. This model's maximum context length is {window} tokens "
    "and your request has {sent} input tokens ({asked} > {window} - {sent})."
)
VLLM_BEFORE = (
    "This model's maximum context length is 8192 tokens. However, you requested {all} tokens ({sent} in the messages, "
    "{asked} in the completion). Please reduce the length of the messages or completion."
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just(CANARY),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "type", "detail", "status", "details", "msg", "loc"]), inner
        )
    ),
    max_leaves=12,
)


def error(status: int, body: Any, **headers: str) -> ProviderError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return errors.from_response(status, headers, raw, [CANARY])


def check(found: ProviderError) -> None:
    assert found.kind in get_args(ErrorKind)
    assert 0 < len(found.message) <= errors.MAX_MESSAGE
    assert found.message.isprintable()
    assert CANARY not in found.message
    assert found.kind != "context_length" or not found.retryable


def test_colours_of_a_server_leave_nothing_behind() -> None:
    said = error(500, b"\x1b[1;31mout of memory\x1b[0m at \x1b[38:5:9mcore\x1b[m").message
    assert said == "the server failed (HTTP 500): out of memory at core"


@given(st.integers(300, 599), JSON, st.text())
def test_any_body_gives_one_clean_sentence(status: int, body: Any, retry_after: str) -> None:
    check(error(status, body, **{"retry-after": retry_after}))
    check(errors.from_payload(body, [CANARY]))


@given(st.integers(300, 599), st.binary(max_size=200), st.integers(0, 30))
def test_any_bytes_give_one_clean_sentence(status: int, body: bytes, cut: int) -> None:
    check(error(status, body))
    check(error(status, (b'{"error":{"message":"' + CANARY.encode() + body + b'"}}')[: 60 - cut]))
    check(error(status, b"\x1b]0;title\x07" + CANARY.encode() + b"x" * 10_000))


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (400, {"error": {"message": "This model's maximum context length is 10 tokens"}}, "context_length", False),
        (429, {"error": {"message": "Request too large: 9000 tokens per min (TPM) limit"}}, "rate_limit", True),
        (429, {"error": {"message": "maximum context length is 10 tokens"}}, "context_length", False),
        (500, {"error": {"message": "context size exceeded: exceed_context_size"}}, "context_length", False),
        (400, {"error": {"message": VLLM.format(asked=4096, window=4096, sent=300)}}, "bad_request", False),
        (400, {"error": {"message": VLLM.format(asked=4096, window=32768, sent=29000)}}, "context_length", False),
        (400, {"message": VLLM_BEFORE.format(all=9000, sent=1000, asked=8000)}, "bad_request", False),
        (400, {"message": VLLM_BEFORE.format(all=5060, sent=7036, asked=1024)}, "context_length", False),
        (500, {"error": {"message": "roles must alternate (Jinja)"}}, "bad_request", False),
        (400, {"error": {"message": "Your credit balance is too low"}}, "rate_limit", False),
        (402, {"error": {"message": "Insufficient Balance"}}, "rate_limit", False),
        (402, {"error": {"message": "pay"}}, "auth", False),
        (403, {"error": {"message": "no"}}, "auth", False),
        (404, {}, "bad_request", False),
        (405, {}, "bad_request", False),
        (409, {}, "server", True),
        (425, {}, "server", True),
        (418, {"error": {"type": "rate_limit_error", "message": "x"}}, "rate_limit", True),
        (400, {"error": {"type": "authentication_error", "message": "x"}}, "auth", False),
        (504, {}, "server", True),
        (529, {}, "server", True),
    ],
)
def test_kinds(status: int, body: Any, kind: str, retryable: bool) -> None:
    found = error(status, body)
    assert (found.kind, found.retryable, found.status) == (kind, retryable, status)
    assert f"HTTP {status}" in found.message


def test_a_longer_answer_than_there_can_be_is_no_too_long_conversation() -> None:
    found = error(400, {"error": {"message": VLLM.format(asked=9000, window=8192, sent=20)}})
    assert found.message.endswith("(ask for a smaller max_tokens in generation of this profile)")


@pytest.mark.parametrize(
    ("payload", "kind", "retryable"),
    [
        ({"error": "model overloaded"}, "server", True),
        ({"error": {"message": "x", "type": "invalid_request_error"}}, "bad_request", False),
        ({"error": {"message": "x", "code": "429"}}, "rate_limit", True),
        ({"error": {"message": "x", "code": 401}}, "auth", False),
        ({"error": {"message": "slow down please"}}, "rate_limit", True),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "server", True),
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "x"}}, "rate_limit", True),
        ({"message": "odd"}, "server", True),
    ],
)
def test_errors_inside_a_200(payload: Any, kind: str, retryable: bool) -> None:
    found = errors.from_payload(payload)
    assert (found.kind, found.retryable) == (kind, retryable)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"<html><head><title>502 Bad &amp; Gateway</title></head><body>long</body></html>", "502 Bad & Gateway"),
        (b"<html><body>nothing</body></html>", "a web page"),
        (b"plain words", "plain words"),
        (b'{"error":{"message":"cut off in the mid', "cut off in the mid"),
        (b'{"detail":[{"loc":["body","x"],"msg":"bad"}]}', "body.x: bad"),
        (b'{"message":{"detail":[{"loc":["body","x"],"msg":"bad"}]}}', "body.x: bad"),
        (b'{"error":{"message":"a\\nb\\u001b[31m"}}', "a b"),
        (b'{"error": {"message": null, "code": "x_y"}}', "code: x_y"),
        (b'{"title": "Bad Request", "status": 400, "trace": null}', "title: Bad Request; status: 400"),
        (b'{"problem": {"fields": ["a", {"b": 1}], "hint": "see c"}}', "fields: a; 1; hint: see c"),
        (b'<?xml version="1.0"?><Error><Code>X</Code><Message>Access &amp; more</Message></Error>', "Access & more"),
    ],
)
def test_the_reason_is_shown(body: bytes, shown: str) -> None:
    assert shown in error(500, body).message


def test_redaction_by_value_and_by_shape() -> None:
    text = "Bearer abcdefghijk sk-proj-abcdefghijklmnopq gsk_0123456789abcdefgh my-own-secret AIzaSyA0123456789abcdef"
    shown = errors.redact(text, ["my-own-secret"])
    assert shown == " ".join(["[key hidden]"] * 5)
    assert errors.redact("sk-*** is short, risk-averse, skipping_a_long_named_thing", []) == (
        "sk-*** is short, risk-averse, skipping_a_long_named_thing"
    )


@pytest.mark.parametrize("depth", [10, 100, 600, 3000])
@pytest.mark.parametrize("opening", ['{"a":', "[", '{"error":', '{"error":['])
def test_a_deep_body_is_one_clean_sentence(depth: int, opening: str) -> None:
    closing = "".join({"{": "}", "[": "]"}[sign] for sign in reversed(opening) if sign in "{[")
    check(error(400, (opening * depth + '"no"' + closing * depth).encode()))
    check(error(400, (opening * depth).encode()))


def test_delay_in_a_body() -> None:
    details = [{"@type": "x"}, {"retryDelay": "34s"}]
    assert error(429, [{"error": {"message": "x", "details": details}}]).retry_after == 34
    assert error(429, [{"error": {"message": "x", "details": [{"retryDelay": "soon"}]}}]).retry_after is None


def test_who_wants_money_did_not_refuse_the_key() -> None:
    said = errors.from_response(402, {}, b'{"error": {"message": "pay"}}').message
    assert said == "the server wants to be paid first (HTTP 402): pay"
    assert "refused the key" in errors.from_response(401, {}, b"").message


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Unknown parameter: 'billing_tier'", "bad_request"),
        ("Unknown parameter: 'context_length'.", "bad_request"),
        ("Invalid schema for function 'rate_limiter': array has no items", "bad_request"),
        ("Invalid schema for function 'unauthorized_access'", "bad_request"),
        ('Tool "read_billing" has no parameters', "bad_request"),
        (
            "[{'type': 'missing', 'loc': ('body', 'model'), 'input': {'messages': 'the prompt is too long'}}]",
            "bad_request",
        ),
        ('upstream said {"code": "context_length_exceeded"}', "context_length"),
        ("upstream said {'message': 'prompt is too long: 9 tokens > 8 maximum'}", "context_length"),
        ("`inputs` tokens + `max_new_tokens` must be <= 2048", "context_length"),
        ("Input validation error: `inputs` must have less than 4096 tokens", "context_length"),
    ],
)
def test_a_name_or_an_echo_in_a_refusal_is_not_what_it_says(message: str, kind: str) -> None:
    """A tool may be called anything, and some servers add the request to their sentence."""
    found = error(400, {"error": {"message": message, "type": "invalid_request_error"}})
    assert (found.kind, found.retryable) == (kind, False)


def test_a_quota_that_comes_back_is_waited_for() -> None:
    """The free tier of one vendor speaks of billing whenever a minute is full, and says how long to wait."""
    said = "You exceeded your current quota, please check your plan and billing details."
    soon = [{"error": {"code": 429, "message": said, "details": [{"retryDelay": "34s"}]}}]
    assert [error(429, body).retryable for body in (soon, {"error": {"message": said}})] == [True, False]
    poor = error(402, {"error": {"message": "This request requires more credits, or fewer max_tokens.", "code": 402}})
    assert (poor.kind, poor.retryable) == ("rate_limit", False)


@pytest.mark.parametrize(("name", "then"), [(ROLES, "they alternate"), ("stream_options", "it is left out")])
def test_what_became_of_a_refused_setting_is_said_as_it_is(name: str, then: str) -> None:
    told = _left_out(ProviderError("bad_request", "x"), name)
    assert told.message == f"the server refused {name}: {then} from now on"
