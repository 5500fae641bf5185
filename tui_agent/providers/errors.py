"""What a server says when it fails -> `ProviderError`, one of a closed set of kinds.

Pure. The wording decides before the status class: an overflow of the context may come as 400, 413,
429, 500 or inside a 200, and needs compaction, never a plain retry. Nothing that leaves this module
holds a configured key, a control character or a page of HTML.
"""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tui_agent.core.late import late, unescaped
from tui_agent.core.reply import bounded_json, refuses_tools
from tui_agent.core.secrets import HIDDEN, like_keys
from tui_agent.core.types import ErrorKind, Json, ProviderError

MAX_BODY = 4096
"""Bytes of an error body that are looked at."""
MAX_MESSAGE = 500

_OVERFLOW = late(
    r"context[_ ]length|context (window|size|limit)|exceed_context_size|maximum context|context the overflows"
    r"|maximum (prompt|model|input|sequence) length|longer than the (maximum )?model|exceeds? (the )?max(imum)? length"
    r"|prompt (is )?too long|input is too long|(prompt|input) token count|prompt contains \d+ tokens"
    r"|(model|total) token limit|too many (input|prompt) tokens|too many tokens: |must have less than \d+ tokens"
    r"|max_new_tokens\W* must be|reduce the length of the (messages|prompt|input)|range of input length|max_seq_len"
    r"|max_input_tokens|max message tokens|tokens_limit_reached|total tokens limit|too many tokens$"
    r"|(input|prompt)( tokens?| length)?( \(?\d+( tokens)?\)?)? exceeds? (the )?(configured |maximum |allowed |token )*(limit|size)",
    re.IGNORECASE,
)
_ANSWER = late(
    r"max\w*_tokens\W{1,3}(?:or \W?max_completion_tokens\W{1,3})?(?:is )?too (?:large|big|high)"
    r"|maximum allowed number of output tokens|\d+ in the completion\b",
    re.IGNORECASE,
)
"""A refusal that names the length of the answer that was asked for."""
_SPLIT = late(r"\d+ > (\d+) - (\d+)|context length is (\d+)\D.*?(\d+) (?:input tokens|in the messages)", re.DOTALL)
"""How such a refusal reckons: the window, and what was sent."""
_THROTTLE = late(
    r"please wait|tokens? per (min|day|hour)|requests? per (min|day|hour)|\bTPM\b|\bRPM\b|throttl|try again in|rate.?limit"
    r"|too many requests|slow down",
    re.IGNORECASE,
)
_QUOTA = late(
    r"insufficient[_ ](quota|balance|credit|funds)|billing|credit balance|exceeded your current quota|out of credits"
    r"|payment required|requires more credits",
    re.IGNORECASE,
)
_AUTH = late(
    r"invalid[_ ]api[_ ]key|invalid x-api-key|authentication|unauthenticated|unauthorized|permission_(denied|error)"
    r"|incorrect api key|api key not valid",
    re.IGNORECASE,
)
_OVERLOADED = late(r"overloaded|over capacity|at capacity|unavailable|loading model", re.IGNORECASE)
_LIMITED = late(r"rate_limit|resource_exhausted|too_many_requests|throttl", re.IGNORECASE)
_INVALID = late(r"invalid_request|invalid_argument|badrequest|bad_request|not_found|unprocessable", re.IGNORECASE)
_NAMED = late(r"""'[\w.\[\]/-]+'|(?<!:)(?<!: )"[\w.\[\]/-]+\"""")
"""What is quoted in a sentence: a tool or a setting may be called `billing` or `rate_limiter`. The members of an error
that another server's sentence holds as JSON are no names."""
_ECHO = late(r"'input': .*|\binput_value=.*", re.DOTALL)
"""What servers of pydantic's kind add to their sentence: the request itself, so whatever the person talks about."""
_NEVER = frozenset({501, 505})
"""Failures of a server that no later try heals."""
_SEQUENCE = late(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""What colours a text on a terminal; without its ESC the rest of it would be read as words."""
_TEMPLATE = late(r"must alternate|raise_exception|jinja|chat template", re.IGNORECASE)


# ------------------------------------------------------------------ from a response


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, secrets: Iterable[str] = (), now: float | None = None
) -> ProviderError:
    """The error of a response that is not 2xx. `body` may be cut; `now` is wall clock, for a dated Retry-After."""
    secrets = tuple(secrets)
    text = redact(body.decode("utf-8", "replace"), secrets)[:MAX_BODY]
    fault = _read_text(text)
    kind, retryable = _classify(status, fault)
    message = _tidy(redact(_sentence(status, fault.message, kind, retryable=retryable), secrets))
    wait = retry_after(headers, time.time() if now is None else now)
    return ProviderError(kind, message, retryable, fault.retry_after if wait is None else wait, status)


def from_payload(payload: Json, secrets: Iterable[str] = ()) -> ProviderError:
    """The error that a 200 response carries in its body or in one of its events."""
    fault = _read_payload(payload)
    kind, retryable = _classify(fault.status, fault)
    message = _sentence(fault.status, fault.message, kind, retryable=retryable)
    return ProviderError(kind, _tidy(redact(message, secrets)), retryable, fault.retry_after, fault.status)


def from_beside(text: str, *, begun: bool) -> ProviderError:
    """The error of a stream without its end that holds a text which is no event. `begun`: there were events before it."""
    try:
        payload = bounded_json(text)
    except ValueError:
        payload = None
    if isinstance(payload, dict):
        return from_payload(payload)
    lead = "the reply was cut off before its end" if begun else "the answer is no stream of events"
    message = _tidy(f"{lead}: {_tidy(redact(_read_text(text).message, ()))}")
    return ProviderError("network" if begun else "protocol", message, retryable=True)


def redacted(error: ProviderError, secrets: Iterable[str]) -> ProviderError:
    """The same error without any of `secrets` in its text."""
    return replace(error, message=_tidy(redact(error.message, secrets)))


def redact(text: str, secrets: Iterable[str]) -> str:
    """Replace every configured secret, and whatever looks like a key, by a mark."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, HIDDEN)
    return like_keys(text)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the server asks to wait, or None when it does not say or says nonsense.

    Milliseconds win over seconds; a date counts from `now` (wall clock).
    """
    millis = _positive(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    value = headers.get("retry-after")
    seconds = _positive(value)
    if seconds is not None or value is None:
        return seconds
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _positive(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


# ------------------------------------------------------------------ reading the body


@dataclass(frozen=True, slots=True)
class _Fault:
    """What an error body says: its message, every name it gives the error, and a status of its own."""

    message: str
    names: str = ""
    status: int | None = None
    retry_after: float | None = None


def _read_text(text: str) -> _Fault:
    try:
        return _read_payload(bounded_json(text))
    except ValueError:
        pass
    found = re.search(r'"(?:message|error|detail)"\s*:\s*"((?:[^"\\]|\\.)*)"?', text)
    if found:
        return _Fault(found.group(1))
    if text.lstrip().startswith("<"):
        title = re.search(r"<(title|h1|message)\b[^>]*>(.*?)</\1", text, re.IGNORECASE | re.DOTALL)
        return _Fault(unescaped(re.sub(r"<[^>]*>", " ", title.group(2) if title else "a web page, not an API answer")))
    return _Fault(text)


def _read_payload(payload: Json) -> _Fault:
    if isinstance(payload, list) and payload:
        payload = payload[0]
    if not isinstance(payload, dict):
        return _Fault(_flat(payload))
    error = payload.get("error")
    if isinstance(error, str) and error:
        return _Fault(error, names=_names(payload), status=_status(payload.get("code")))
    inner = error if isinstance(error, dict) and error else payload
    message = (
        inner.get("message") or inner.get("detail") or inner.get("msg") or inner.get("error") or inner.get("errors")
    )
    if not message and inner is not payload:
        message = payload.get("message")
    said = _flat(message) if message else _flat(inner)
    metadata = inner.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    if raw:  # what the server behind a router said: the router itself only tells that there was something
        behind = _read_text(raw).message if isinstance(raw, str) else _read_payload(raw).message
        said = f"{said}: {behind}"
    return _Fault(
        message=said,
        names=_names(inner),
        status=_status(inner.get("code")) or _status(inner.get("status")) or _status(payload.get("code")),
        retry_after=_delay(inner.get("details")),
    )


def _names(inner: Mapping[str, Json]) -> str:
    values = [inner.get("type"), inner.get("code"), inner.get("status")]
    metadata = inner.get("metadata")
    if isinstance(metadata, dict):
        values.append(metadata.get("error_type"))
    return " ".join(value for value in values if isinstance(value, str))


def _status(value: Json) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600 else None


def _delay(details: Json) -> float | None:
    """The delay in Google's RetryInfo ("34s")."""
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str):
            return _positive(delay.removesuffix("s"))
    return None


def _flat(value: Json) -> str:
    """Any JSON value as readable text: servers put objects where the message should be."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and isinstance(value.get("msg"), str):
        place = ".".join(str(part) for part in value["loc"]) if isinstance(value.get("loc"), list) else ""
        return f"{place}: {value['msg']}" if place else value["msg"]
    if isinstance(value, dict) and isinstance(value.get("message"), str):
        return str(value["message"])
    if isinstance(value, dict) and len(value) == 1:
        return _flat(next(iter(value.values())))
    if isinstance(value, dict):
        named = ((name, _flat(inner)) for name, inner in list(value.items())[:5])
        return "; ".join(f"{name}: {said}" for name, said in named if said)[:MAX_MESSAGE]
    if isinstance(value, list):
        return "; ".join(filter(None, map(_flat, value[:5])))
    return "" if value is None else json.dumps(value, ensure_ascii=False)[:MAX_MESSAGE]


# ------------------------------------------------------------------ deciding


def _answer_too_long(said: str) -> bool:
    """Whether a longer answer was asked for than can be given, to a request that fills less than half of the window.

    Servers say the same when it is the conversation that has grown too long, and only less of that helps then.
    """
    if not _ANSWER.search(said):
        return False
    split = _SPLIT.search(said)
    window, sent = (int(n) for n in split.groups() if n) if split else (1, 0)
    return 2 * sent < window


def _classify(status: int | None, fault: _Fault) -> tuple[ErrorKind, bool]:
    """(kind, may the same request succeed later). Wording first, then names, then the status."""
    said = f"{fault.names} {_NAMED.sub(' ', _ECHO.sub('', fault.message))}"
    effective = fault.status if status is None or status < 400 else status
    if effective in {None, 400, 422} and _answer_too_long(fault.message):
        return "bad_request", False
    if effective not in {401, 403, 404} and _OVERFLOW.search(said) and not _THROTTLE.search(said):
        return "context_length", False
    if effective == 413 and not _THROTTLE.search(said):
        return "context_length", False
    if effective in {None, 400, 402, 403, 429} and _QUOTA.search(said) and fault.retry_after is None:
        return "rate_limit", False
    if effective == 429 or (effective in {400, 413} and _THROTTLE.search(said)):
        return "rate_limit", True
    if effective in {401, 402, 403}:
        return "auth", False
    if effective == 408:
        return "network", True
    if effective is not None and effective >= 500:
        return ("bad_request", False) if _TEMPLATE.search(said) else ("server", effective not in _NEVER)
    if _LIMITED.search(fault.names):
        return "rate_limit", True
    if _AUTH.search(said):
        return "auth", False
    if effective in {409, 425}:
        return "server", True
    if effective is not None:
        return "bad_request", False
    return _classify_unnumbered(said, fault.names)


def _classify_unnumbered(said: str, names: str) -> tuple[ErrorKind, bool]:
    """An error inside a 200 without a status of its own: a failure of the server unless it says otherwise."""
    if _OVERLOADED.search(said):
        return "server", True
    if _THROTTLE.search(said):
        return "rate_limit", True
    return ("bad_request", False) if _INVALID.search(names) else ("server", True)


def _sentence(status: int | None, detail: str, kind: ErrorKind, *, retryable: bool) -> str:
    where = f" (HTTP {status})" if status else ""
    lead = {
        "auth": f"the server refused the key{where}",
        "rate_limit": f"the server limits requests{where}",
        "context_length": f"the conversation does not fit the model's context{where}",
        "server": f"the server failed{where}",
        "network": f"the server gave up waiting{where}",
        "protocol": f"the answer makes no sense{where}",
        "bad_request": f"the server refused the request{where}",
    }[kind]
    if kind == "rate_limit" and not retryable:
        lead = f"the account has no credit left{where}"
    elif status == 402 and kind == "auth":
        lead = f"the server wants to be paid first{where}"
    elif status == 403 and kind == "auth":
        lead = f"the server refuses access{where}"
    detail = _tidy(detail)
    sentence = f"{lead}: {detail}" if detail else lead
    if status == 404:
        return f"{sentence} (check endpoint and model of this profile)"
    if _answer_too_long(detail):
        return f"{sentence} (ask for a smaller max_tokens in generation of this profile)"
    if refuses_tools(ProviderError(kind, detail)):
        return f'{sentence} (enable its tool parser, or set protocol = "json" in this profile)'
    return sentence


def _tidy(text: str) -> str:
    """One line without control characters, cut to a readable length."""
    text = _SEQUENCE.sub("", text[: 4 * MAX_MESSAGE])
    text = "".join(char if char.isprintable() else " " for char in text)
    text = " ".join(text.split())
    return text if len(text) <= MAX_MESSAGE else text[: MAX_MESSAGE - 1] + "…"
