"""The one HTTP seam: a request body out, deltas in, over httpx (imported on first use).

Four things live here and nowhere else: connections (no TLS context for http, no proxies unless the
profile says so, no redirects), time limits, retries before the first delta, and the border where an
exception of the transport becomes a `ProviderError`. No text that leaves holds a key.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import json
import os
import random
import socket
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, closing
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from typing import Any
from urllib.parse import urljoin, urlsplit, urlunsplit

from tui_agent import __version__
from tui_agent.core.profile import Profile, Timeouts
from tui_agent.core.types import ConfigError, Delta, ProviderError, ReplyEnd, Request, RetryTick
from tui_agent.providers import errors, vendors
from tui_agent.providers.keys import check_header, is_loopback, read_key
from tui_agent.providers.network import Network, origin
from tui_agent.providers.vendors import Vendor
from tui_agent.providers.wire import Decoder, Wire, WireFault, protocol_fault

MAX_RESPONSE = 64 * 1024 * 1024
"""Bytes of one response body, decoded."""
MAX_TRIES = 6
MAX_WAIT = 60.0
"""Seconds before one retry, whatever the server asks for."""
GRACE = 10.0
"""Seconds that a server may keep the connection open after a complete reply."""


@dataclass(slots=True)
class Link:
    """What one model keeps between its calls, and the effects that a test replaces.

    `vendor` holds the rules learned from refusals, for this session; `sleep` and `jitter` (0 to 1)
    belong to the retries.
    """

    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    network: Network = field(default_factory=Network)
    vendor: Vendor | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class _Call:
    """One model call, ready to be sent. `secrets` are the texts that must never be shown."""

    wire: Wire
    profile: Profile
    request: Request
    url: str
    headers: Mapping[str, str]
    secrets: tuple[str, ...]
    network: Network


class _Refused(Exception):  # noqa: N818 - it carries an error value
    """The server answered with a status that is not 2xx. `body` is for `vendors.adapt` only, it may hold anything."""

    def __init__(self, error: ProviderError, status: int, body: str) -> None:
        super().__init__(error.message)
        self.error = error
        self.status = status
        self.body = body


# ------------------------------------------------------------------ one model call


async def stream(wire: Wire, profile: Profile, request: Request, link: Link | None = None) -> AsyncGenerator[Delta]:
    """Stream the reply to one request; ends with exactly one `ReplyEnd` and never raises for a failed call.

    A failure that may heal is tried again, but only before the first delta. Closing the iterator
    closes the connection.
    """
    link = link or Link()
    try:
        call = await prepare(wire, profile, request, link)
    except WireFault as fault:
        yield ReplyEnd(error=fault.error)
        return
    retries = profile.options.get("retries")
    tries = min(MAX_TRIES, 1 + retries) if isinstance(retries, int) else MAX_TRIES
    vendor = link.vendor or vendors.rules(profile)
    profile = constrained(wire, profile, request)
    adapted: set[str] = set()
    attempt = 1
    while True:
        body = wire.build(request.messages, profile, request.tools, system=request.system, vendor=vendor)
        begun = False
        end = ReplyEnd()
        _trace(call, {"request": call.url.partition("?")[0], "try": attempt, **_outline(body)})
        try:
            async with aclosing(_attempt(call, body)) as deltas:
                async for delta in deltas:
                    if isinstance(delta, ReplyEnd):
                        end = delta
                    else:
                        begun = True
                        yield delta
        except _Refused as refused:
            learned = vendors.adapt(vendor, body, refused.status, refused.body)
            if learned is not None and learned[1] not in adapted:
                vendor, name = learned
                link.vendor = vendor
                adapted.add(name)
                yield RetryTick(attempt, 0.0, _left_out(refused.error, name))
                continue
            end = ReplyEnd(error=refused.error)
        _trace(call, {"reply": end.finish, "usage": end.usage, "error": end.error})
        if end.error is None or begun or not end.error.retryable or attempt >= tries:
            yield end
            return
        async with aclosing(_countdown(attempt, end.error, link)) as ticks:
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


async def _attempt(call: _Call, body: Mapping[str, Any]) -> AsyncGenerator[Delta]:
    """One exchange. Ends with `ReplyEnd`, or raises `_Refused` before the first delta."""
    httpx = load_httpx()
    decoder = call.wire.decoder(call.profile, call.request.tools)
    limits = _Limits(call.profile.timeouts)
    failure: ProviderError | None = None
    try:
        async with _exchange(call, body) as response:
            if not 200 <= response.status_code < 300:
                raise await _refusal(response, call)
            chunks = response.aiter_bytes() if "content-encoding" in response.headers else response.aiter_raw()
            async with aclosing(_body(chunks, decoder, limits)) as deltas:
                async for delta in deltas:
                    yield delta
    except WireFault as fault:
        failure = fault.error
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        failure = transport_error(error, call.url, call.profile.start)
    for delta in decoder.finish(failure):
        if isinstance(delta, ReplyEnd) and delta.error is not None:
            yield replace(delta, error=told(delta.error, call))
        else:
            yield delta


async def _body(chunks: Any, decoder: Decoder, limits: _Limits) -> AsyncGenerator[Delta]:
    """Decode a body as it comes, until the decoder needs no more of it."""
    size = 0
    async with aclosing(chunks):
        with closing(limits):
            while not decoder.done and (data := await limits.read(chunks, decoder)) is not None:
                size += len(data)
                if size > MAX_RESPONSE:
                    raise protocol_fault(f"the response is longer than {MAX_RESPONSE >> 20} MiB", retryable=False)
                out = decoder.feed(data)
                if out:
                    limits.progressed()
                    for delta in out:
                        yield delta


def _outline(body: Mapping[str, Any]) -> dict[str, Any]:
    """A request without what was said in it: lists and the system text as counts."""
    return {name: len(value) if name in {"messages", "tools", "system"} else value for name, value in body.items()}


def _trace(call: _Call, record: Mapping[str, Any]) -> None:
    if call.network.trace is not None:
        values = {
            name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
            for name, value in record.items()
        }
        call.network.trace(errors.redact(json.dumps(values, ensure_ascii=False, default=str), call.secrets))


def _left_out(error: ProviderError, name: str) -> ProviderError:
    return replace(error, message=f"the server refused {name}: sent again without it", retryable=True)


async def _countdown(attempt: int, error: ProviderError, link: Link) -> AsyncGenerator[RetryTick]:
    """Wait before try `attempt` + 1, one tick per second."""
    backoff = 2.0 ** (attempt - 1) * (0.5 + link.jitter() / 2)
    left = min(MAX_WAIT, max(backoff, error.retry_after or 0.0))
    while left > 0:
        yield RetryTick(attempt, left, error)
        step = min(1.0, left)
        await link.sleep(step)
        left -= step


# ------------------------------------------------------------------ connection


def load_httpx() -> Any:
    """The httpx module, without the command-line tool it imports when rich and click are installed (a third of its cost)."""
    if "httpx" not in sys.modules:
        sys.modules["httpx._main"] = None  # type: ignore[assignment]
        try:
            importlib.import_module("httpx")
        finally:
            del sys.modules["httpx._main"]
    return sys.modules["httpx"]


@asynccontextmanager
async def _exchange(call: _Call, body: Mapping[str, Any]) -> AsyncIterator[Any]:
    """Send one request; gives the response with its body still unread. The connection is closed on every way out."""
    times = call.profile.timeouts
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    async with open_client(call) as client:
        request = client.build_request("POST", call.url, headers=call.headers, content=content)
        try:
            async with asyncio.timeout(times.connect + times.first_event):
                response = await client.send(request, stream=True)
        except TimeoutError:
            message = f"{origin(call.url)} sent no answer within {times.first_event:g} s"
            raise WireFault(ProviderError("network", message, retryable=True)) from None
        try:
            yield response
        finally:
            await response.aclose()


def open_client(call: _Call) -> Any:
    """A client for one exchange: the settings of the profile are the only ones that count."""
    httpx = load_httpx()
    times, options = call.profile.timeouts, call.profile.options
    outside = not is_loopback(call.url)
    proxy = options.get("proxy") if outside else None
    for address in filter(None, (call.url, proxy)):
        call.network.record(address)
    try:
        return httpx.AsyncClient(
            verify=_tls(call.url, options.get("ca_file")),
            trust_env=outside and options.get("trust_env") is True,
            proxy=proxy,
            follow_redirects=False,
            timeout=httpx.Timeout(connect=times.connect, read=None, write=times.idle, pool=None),
        )
    except OSError:
        raise WireFault(ProviderError("bad_request", "ca_file cannot be read, or holds no certificates")) from None
    except (ValueError, httpx.InvalidURL):
        raise WireFault(ProviderError("bad_request", "proxy is no http:// or https:// address")) from None


def _tls(url: str, ca_file: str | None) -> ssl.SSLContext:
    """Trust settings for https. For http a context that trusts nobody: it costs nothing and is never used."""
    if not url.startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return _trust(ca_file)


@functools.lru_cache(maxsize=8)
def _trust(ca_file: str | None) -> ssl.SSLContext:
    """The system's certificates (SSL_CERT_FILE counts), those of certifi where the system has none, or one file."""
    context = ssl.create_default_context(cafile=ca_file)
    paths = ssl.get_default_verify_paths()
    if not (ca_file or paths.cafile or paths.capath):
        context.load_verify_locations(importlib.import_module("certifi").where())
    return context


async def prepare(wire: Wire, profile: Profile, request: Request, link: Link) -> _Call:
    """Address, headers and key of a call. Raises `WireFault` when one of them cannot be used."""
    try:
        url = endpoint_url(profile, wire.path)
        link.network.permit(url)
    except ConfigError as error:
        raise WireFault(ProviderError("bad_request", str(error))) from None
    try:
        key = await read_key(profile, link.env)
    except ConfigError as error:
        raise WireFault(ProviderError("auth", str(error))) from None
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream, application/json",
        "accept-encoding": "identity",
        "user-agent": f"tui-agent/{__version__}",
        **wire.headers(key),
        **{name.lower(): value for name, value in profile.headers.items()},
    }
    try:
        for name, value in headers.items():
            check_header(name, value)
    except ConfigError as error:
        raise WireFault(ProviderError("bad_request", str(error))) from None
    hidden = [key, urlsplit(url).password, *(value for value in profile.headers.values() if len(value) >= 8)]
    return _Call(wire, profile, request, url, headers, tuple(secret for secret in hidden if secret), link.network)


def endpoint_url(profile: Profile, path: str) -> str:
    """The profile's endpoint with the wire's path, whatever part of it the endpoint already has.

    Raises:
        ConfigError: the endpoint is missing or is no http(s) address.
    """
    where = f"profile {profile.name!r}"
    if not profile.endpoint:
        raise ConfigError(f"{where} has no endpoint: set endpoint to the base URL of the server")
    try:
        parts = urlsplit(profile.endpoint)
        parts.port  # noqa: B018 - raises for a port that is no number
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(f"{where}: endpoint must be an http:// or https:// address")
    base = parts.path.rstrip("/")
    steps = path.split("/")[1:]
    present = next((n for n in range(len(steps), 0, -1) if base.endswith("/" + "/".join(steps[:n]))), 0)
    full = "/".join([base, *steps[present:]])
    return urlunsplit((parts.scheme, parts.netloc, full, parts.query, ""))


# ------------------------------------------------------------------ time limits


class _Limits:
    """The limits on silence: to the first event, between bytes, and without a delta. There is no total one.

    One timer that is set anew only when it fires: a timer for each of 20,000 reads would cost as
    much as decoding them.
    """

    def __init__(self, times: Timeouts) -> None:
        self._times = times
        self._loop = asyncio.get_running_loop()
        self._first = self._loop.time() + times.first_event
        self._progress: float | None = None
        self._until = self._first
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[Any] | None = None
        self._expired = False

    def progressed(self) -> None:
        """A delta came."""
        self._progress = self._loop.time() + self._times.progress

    async def read(self, chunks: AsyncIterator[bytes], decoder: Decoder) -> bytes | None:
        """The next bytes, None at the end of the body. Raises `WireFault` when a limit passes."""
        now = self._loop.time()
        self._until = until = self._limit(now, decoder)
        if now >= until:  # bytes that never pause never let a timer fire
            raise self._silence(decoder)
        if self._timer is None or self._timer.when() > until:
            self.close()
            self._timer = self._loop.call_at(until, self._fire)
        task = asyncio.current_task()
        assert task is not None
        cancelled_before = task.cancelling()
        self._waiting = task
        try:
            return await anext(chunks, None)
        except asyncio.CancelledError:
            if self._expired and task.uncancel() <= cancelled_before:
                raise self._silence(decoder) from None
            raise
        finally:
            self._waiting = None

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        if self._waiting is None:  # whoever reads the deltas is busy; the next read sets the timer again
            return
        if self._loop.time() < self._until:
            self._timer = self._loop.call_at(self._until, self._fire)
        else:
            self._expired = True
            self._waiting.cancel()

    def _limit(self, now: float, decoder: Decoder) -> float:
        if not decoder.seen:
            return self._first
        if decoder.finished:
            return now + min(GRACE, self._times.idle)
        if self._progress is None:
            self._progress = now + self._times.progress
        return min(now + self._times.idle, self._progress)

    def _silence(self, decoder: Decoder) -> WireFault:
        if not decoder.seen:
            message = f"no answer within {self._times.first_event:g} s"
        elif self._until == self._progress:
            message = f"nothing but keep-alives for {self._times.progress:g} s"
        else:
            message = f"no bytes for {self._times.idle:g} s"
        return WireFault(ProviderError("network", message, retryable=True))


# ------------------------------------------------------------------ failures


async def _refusal(response: Any, call: _Call) -> _Refused:
    """The error of a response that is not 2xx. Its body is read up to a limit, redirects are reported."""
    status = response.status_code
    if 300 <= status < 400:
        target = origin(urljoin(call.url, response.headers.get("location", "")))
        message = f"{origin(call.url)} redirects to {target} (HTTP {status}): not followed, correct the endpoint if you trust it"
        return _Refused(told(ProviderError("bad_request", message, status=status), call), status, "")
    body = b""
    async for data in response.aiter_bytes():
        body += data
        if len(body) >= 2 * errors.MAX_BODY:
            break
    error = errors.from_response(status, response.headers, body, call.secrets)
    return _Refused(told(error, call), status, body[: errors.MAX_BODY].decode("utf-8", "replace"))


def told(error: ProviderError, call: _Call) -> ProviderError:
    """The error as the person is told it: without secrets, a refused key with where it came from."""
    error = errors.redacted(error, call.secrets)
    if error.kind != "auth":
        return error
    profile = call.profile
    if profile.api_key_cmd:
        source = "the key comes from api_key_cmd"
    elif profile.api_key_env:
        source = f"the key comes from {profile.api_key_env}"
    else:
        source = "no key was sent: set api_key_env"
    return replace(error, message=f"{error.message} ({source} of profile {profile.name!r})")


def transport_error(error: Exception, url: str, start: str = "") -> ProviderError:
    """One sentence for an exception of httpx; its own text may hold headers and is never used.

    `start` is the command that starts the server.
    """
    hint = f" Start it: {start}" if start else ""
    httpx = load_httpx()
    where = origin(url)
    causes = list(_causes(error))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        reason = next(c.verify_message for c in causes if isinstance(c, ssl.SSLCertVerificationError))
        return ProviderError("network", f"{where} is not trusted: {reason} (set ca_file to your own authority)")
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return ProviderError("network", f"TLS with {where} failed: is it really https?")
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return ProviderError("network", f"the name of {where} cannot be resolved", retryable=True)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return ProviderError("network", f"{where} refuses connections: is the server running?{hint}", retryable=True)
    if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
        return ProviderError("network", f"cannot connect to {where}", retryable=True)
    if isinstance(error, httpx.TimeoutException):
        return ProviderError("network", f"{where} does not answer in time", retryable=True)
    if isinstance(error, httpx.ProxyError):
        return ProviderError("network", "the proxy refused the connection")
    if isinstance(error, httpx.DecodingError):
        return ProviderError("protocol", f"{where} sent a damaged compressed body", retryable=True)
    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
        return ProviderError("network", f"{where} closed the connection", retryable=True)
    return ProviderError("protocol", f"the request to {where} could not be sent ({type(error).__name__})")


def _causes(error: BaseException) -> list[BaseException]:
    """The exceptions behind an exception, groups opened."""
    found: list[BaseException] = []
    todo: list[BaseException | None] = [error]
    while todo and len(found) < 50:
        cause = todo.pop()
        if cause is None or cause in found:
            continue
        found.append(cause)
        todo.extend([cause.__cause__, cause.__context__])
        if isinstance(cause, BaseExceptionGroup):
            todo.extend(cause.exceptions)
    return found
