"""The one HTTP seam: a request body out, deltas in.

Three things live here and nowhere else: retries before the first delta, what is left out after a refusal, and the border
where whatever went wrong becomes a `ProviderError`. No text that leaves holds a key.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, closing
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from typing import Any

from tui_agent.core.address import origin, shown
from tui_agent.core.profile import ANSWER_LENGTHS, Profile
from tui_agent.core.types import (
    Delta,
    Lost,
    Preparing,
    ProviderError,
    ReasoningDelta,
    ReplyEnd,
    Request,
    RetryTick,
    TextDelta,
)
from tui_agent.providers import errors, vendors
from tui_agent.providers.connection import (
    Call,
    client,
    explained,
    failures,
    load_httpx,
    prepare,
    refusal,
    told,
    unpacked,
)
from tui_agent.providers.effort import with_effort
from tui_agent.providers.masking import Mask
from tui_agent.providers.network import Network
from tui_agent.providers.silence import Limits
from tui_agent.providers.vendors import Vendor
from tui_agent.providers.wire import Decoder, Wire, WireFault, protocol_fault

MAX_RESPONSE = 64 * 1024 * 1024
"""Bytes of one response body, decoded."""
MAX_SAID = 8 * 1024 * 1024
"""Characters of text and reasoning of one reply. The frames of a stream are longer than what they hold, so that no real reply
comes near; a flood of it would make a session that cannot be opened again."""
MAX_TRIES = 6
MAX_WAIT = 60.0
"""Seconds before one retry, whatever the server asks for."""
DRAIN = 0.1
"""Seconds that a connection gets to end its body after a complete reply: only then it can carry the next request."""


@dataclass(slots=True)
class Link:
    """What a model call needs of the world; `sleep` and `jitter` (0 to 1) belong to the retries.

    `sleep` None: the network's own pause, which ends at once when the person is impatient.
    """

    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    network: Network = field(default_factory=Network)
    sleep: Callable[[float], Awaitable[None]] | None = None
    jitter: Callable[[], float] = random.random


class _Refused(Exception):  # noqa: N818 - it carries an error value
    """The server answered with a status that is not 2xx. `body` is for `vendors.adapt` only, it may hold anything."""

    def __init__(self, error: ProviderError, body: str) -> None:
        super().__init__(error.message)
        self.error = error
        self.body = body


# ------------------------------------------------------------------ one model call


async def stream(wire: Wire, profile: Profile, request: Request, link: Link | None = None) -> AsyncGenerator[Delta]:
    """Stream the reply to one request; ends with exactly one `ReplyEnd` and never raises for a failed call.

    A failure that may heal is tried again, but only before the first delta. Closing the iterator
    closes the connection.
    """
    link = link or Link()
    if profile.api_key_cmd:
        yield Preparing("running api_key_cmd")
    try:
        call = await prepare(wire, profile, link.env, link.network)
    except WireFault as fault:
        yield ReplyEnd(error=replace(fault.error, sent=False))
        return
    if profile.api_key_cmd:
        yield Preparing()
    retries = profile.options.get("retries")
    tries = min(MAX_TRIES, 1 + retries) if isinstance(retries, int) and retries is not True else MAX_TRIES
    learned = link.network.learned
    known = vendors.identity(profile)
    vendor = learned.get(known) or vendors.rules(profile)
    profile = shortened(wire, constrained(wire, profile, request), request, vendor)
    adapted: set[str] = set()
    attempt = 1
    while True:
        body = wire.build(request.messages, profile, request.tools, system=request.system, vendor=vendor)
        begun = False
        end = ReplyEnd()
        _trace(call, {"request": shown(call.url), "try": attempt, **_outline(body)})
        try:
            async with aclosing(_attempt(call, body, wire.decoder(profile, request.tools))) as deltas:
                async for delta in deltas:
                    if isinstance(delta, ReplyEnd):
                        end = delta
                    else:
                        begun = True
                        yield delta
        except _Refused as refused:
            without = vendors.adapt(vendor, body, refused.error.status or 0, refused.body)
            if without is not None and without[1] not in adapted:
                vendor, name = without
                learned[known] = vendor
                adapted.add(name)
                yield RetryTick(attempt, 0.0, _left_out(refused.error, name))
                continue
            end = ReplyEnd(error=refused.error)
        if begun and end.error is not None:
            end = replace(end, error=replace(end.error, begun=True))
        _trace(call, {"reply": end.finish, "usage": end.usage, "error": end.error})
        if end.error is None or begun or not end.error.retryable or attempt >= tries:
            yield end
            return
        if end.usage is not None or not end.error.free:
            yield Lost(end.usage)
        async with aclosing(_countdown(attempt, tries, end.error, link)) as ticks:
            async for tick in ticks:
                yield tick
        attempt += 1


def constrained(wire: Wire, profile: Profile, request: Request) -> Profile:
    """The profile with settings that hold the reply to the request's schema, unless `options.json_schema` is false.

    The person's own settings of the same name win; what the server refuses is left out like any other setting.
    """
    if request.schema is None or profile.options.get("json_schema") is False:
        return profile
    return replace(profile, generation={**wire.constrain(request.schema), **profile.generation})


def shortened(wire: Wire, profile: Profile, request: Request, vendor: Vendor) -> Profile:
    """The profile with an answer no longer than the window leaves: vendors refuse a request that asks for more."""
    if request.answer is None:
        return profile
    asked = {"max_tokens": wire.answer, **with_effort(profile, vendor.efforts)}
    lengths = {name: asked[name] for name in ANSWER_LENGTHS if isinstance(asked.get(name), int)}
    cut = {name: request.answer for name, length in lengths.items() if length > request.answer}
    return replace(profile, generation={**profile.generation, **cut}) if cut else profile


async def _attempt(call: Call, body: Mapping[str, Any], decoder: Decoder) -> AsyncGenerator[Delta]:
    """One exchange. Ends with `ReplyEnd`, or raises `_Refused` before the first delta."""
    mask = Mask(call.network.secrets)
    failure: ProviderError | None = None
    try:
        async with _exchange(call, body) as response:
            if not 200 <= response.status_code < 300:
                raise _Refused(*await refusal(response, call))
            chunks = unpacked(response) if "content-encoding" in response.headers else response.aiter_raw()
            async with aclosing(
                _body(chunks, decoder, Limits(call.profile.timeouts, response.extensions["asked"]))
            ) as batches:
                async for deltas in batches:
                    for delta in mask.through(deltas):
                        yield delta
    except WireFault as fault:
        failure = fault.error
    except failures() as error:
        failure = await explained(error, call)
    for delta in mask.through(decoder.finish(failure)):
        if isinstance(delta, ReplyEnd) and delta.error is not None:
            yield replace(delta, error=told(delta.error, call))
        else:
            yield delta


async def _body(chunks: Any, decoder: Decoder, limits: Limits) -> AsyncGenerator[list[Delta]]:
    """Decode a body as it comes, until the decoder needs no more of it."""
    size = said = 0
    async with aclosing(chunks):
        with closing(limits):
            while not decoder.done and (data := await limits.read(chunks, decoder)) is not None:
                size += len(data)
                if size > MAX_RESPONSE:
                    raise protocol_fault(f"the response is longer than {MAX_RESPONSE >> 20} MiB", retryable=False)
                out = decoder.feed(data)
                if out:
                    limits.progressed()
                    yield out
                    said += sum(len(delta.text) for delta in out if isinstance(delta, TextDelta | ReasoningDelta))
                    if said > MAX_SAID:
                        raise protocol_fault(
                            f"the answer is longer than {MAX_SAID >> 20} million characters", retryable=False
                        )
        if decoder.done:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN):
                    while await anext(chunks, None) is not None:
                        pass


def _outline(body: Mapping[str, Any]) -> dict[str, Any]:
    """A request without what was said in it: lists and the system text as counts."""
    return {name: len(value) if name in {"messages", "tools", "system"} else value for name, value in body.items()}


def _trace(call: Call, record: Mapping[str, Any]) -> None:
    if call.network.trace is not None:
        values = {
            name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
            for name, value in record.items()
        }
        call.network.trace(errors.redact(json.dumps(values, ensure_ascii=False, default=str), call.secrets))


def _left_out(error: ProviderError, name: str) -> ProviderError:
    then = "they alternate" if name == vendors.ROLES else "it is left out"
    return replace(error, message=f"the server refused {name}: {then} from now on", retryable=True)


async def _countdown(attempt: int, tries: int, error: ProviderError, link: Link) -> AsyncGenerator[RetryTick]:
    """Wait before try `attempt` + 1, one tick per second, or until the person wants it now; the last tick says 0."""
    impatient, sleep = link.network.impatient, link.sleep or link.network.pause
    impatient.clear()
    backoff = 2.0 ** (attempt - 1) * (0.5 + link.jitter() / 2)
    left = whole = min(MAX_WAIT, max(backoff, error.retry_after or 0.0))
    while left > 0 and not impatient.is_set():
        yield RetryTick(attempt, left, error, tries, whole)
        step = min(1.0, left)
        await sleep(step)
        left -= step
    yield RetryTick(attempt, 0.0, error, tries, whole)


# ------------------------------------------------------------------ one exchange


@asynccontextmanager
async def _exchange(call: Call, body: Mapping[str, Any]) -> AsyncIterator[Any]:
    """Send one request; gives the response with its body still unread. The connection is closed on every way out."""
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    async with client(call) as through:
        response = await _sent(through, call, content)
        try:
            yield response
        finally:
            await response.aclose()


async def _sent(through: Any, call: Call, content: bytes) -> Any:
    """The head of the answer. A kept connection that takes nothing of the request any more is replaced in silence.

    Once the head of the request is out, the server may have acted on it: a failure then is one that is told.
    """
    httpx = load_httpx()
    times, now = call.profile.timeouts, asyncio.get_running_loop().time
    steps: list[str] = []
    asked = now()

    async def note(step: str, _: Any) -> None:
        nonlocal asked
        steps.append(step)
        if step == "http11.send_request_body.complete":  # what it took to connect is not the server's to answer for
            asked = now()
            patience.reschedule(asked + times.first_event)

    request = through.build_request("POST", call.url, headers=call.headers, content=content, extensions={"trace": note})
    again = False
    while True:
        try:
            async with asyncio.timeout(times.connect + times.first_event) as patience:
                response = await through.send(request, stream=True)
        except TimeoutError:
            message = f"{origin(call.url)} sent no answer within {times.first_event:g} s"
            raise WireFault(ProviderError("network", message, retryable=True)) from None
        except (httpx.NetworkError, httpx.RemoteProtocolError):
            new = any(step.startswith("connection.") for step in steps)
            if again or new or "http11.send_request_headers.complete" in steps:
                raise
            again = True
        else:
            response.extensions["asked"] = asked
            return response
