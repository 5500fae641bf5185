"""How one request reaches its server: address, headers and key of a call, the client that carries it, and what may go wrong.

httpx is imported on first use. A client has no TLS context for http, no proxies unless the profile says so, and follows
no redirects; it is kept for the next request while somebody keeps the network. What httpx raises becomes one sentence
in `transport.py`, and no text that leaves holds a key.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import os
import ssl
import sys
import threading
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlunsplit

from tui_agent import __version__
from tui_agent.core.address import is_encrypted, is_loopback, is_server, origin, parts_of, same_server, shown
from tui_agent.core.disk import is_folder
from tui_agent.core.profile import Profile
from tui_agent.core.types import ConfigError, ProviderError
from tui_agent.providers import errors
from tui_agent.providers.keys import check_header, own_secrets, read_key
from tui_agent.providers.network import Network
from tui_agent.providers.silence import GRACE
from tui_agent.providers.transport import (
    NO_PROXY,
    PACKED,
    UnusableBundleError,
    environment_proxy,
    issuer_in,
    transport_error,
    wants_authority,
)
from tui_agent.providers.wire import Wire, WireFault

PROXY_PASSWORD = 407
PIECE = 1 << 16
"""Bytes that are unpacked at once."""
_ANY, _GZIP = zlib.MAX_WBITS | 32, b"\x1f\x8b"
_ENCODING = 20
"""Characters of the name of a packing that are told."""
_PATH = 200
"""Characters of an address that are told."""
_LOOK = 5.0
"""Seconds for a look at a certificate that is not trusted."""
KEPT = 60.0
"""Seconds that an unused connection is kept; servers close them after 5 to 400."""
BUNDLE = "REQUESTS_CA_BUNDLE"
"""The variable that names further authorities, a file or a folder; SSL_CERT_FILE and SSL_CERT_DIR are OpenSSL's own."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request, ready to be sent. `secrets` are the texts that no error may show, beside those of `network`.

    `bundle`: a file or folder with further certificate authorities that the environment names.
    """

    profile: Profile
    url: str
    headers: Mapping[str, str]
    secrets: tuple[str, ...]
    network: Network
    bundle: str = ""

    @property
    def proxy(self) -> str | None:
        """The proxy in between: that of the profile, or of the environment where the profile says that this counts."""
        options = self.profile.options
        if is_loopback(self.url):
            return None
        return options.get("proxy") or (environment_proxy(self.url) if options.get("trust_env") is True else None)


# ------------------------------------------------------------------ what is sent to whom


async def prepare(wire: Wire, profile: Profile, env: Mapping[str, str], network: Network) -> Call:
    """Address, headers and key of a call. Raises `WireFault` when one of them cannot be used."""
    try:
        url = endpoint_url(profile, wire.path)
        network.permit(url)
    except ConfigError as error:
        raise WireFault(ProviderError("bad_request", str(error))) from None
    try:
        key = await read_key(profile, env)
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
    own = [key, *own_secrets(profile, env)]
    network.secrets.add(*own)
    hidden = [*own, *(value for value in profile.headers.values() if len(value) >= 8)]
    return Call(profile, url, headers, tuple(secret for secret in hidden if secret), network, env.get(BUNDLE, ""))


def endpoint_url(profile: Profile, path: str) -> str:
    """The profile's endpoint with the wire's path, whatever part of it the endpoint already has; a query of both is kept.

    Raises:
        ConfigError: the endpoint is missing or is no http(s) address.
    """
    where = f"profile {profile.name!r}"
    if not profile.endpoint:
        raise ConfigError(f"{where} has no endpoint: set endpoint to the base URL of the server")
    parts = parts_of(profile.endpoint)
    if parts is None or not is_server(profile.endpoint):
        raise ConfigError(f"{where}: endpoint must be an http:// or https:// address")
    base = parts.path.rstrip("/")
    path, _, query = path.partition("?")
    steps = path.split("/")[1:]
    present = next((n for n in range(len(steps), 0, -1) if base.endswith("/" + "/".join(steps[:n]))), 0)
    full = "/".join([base, *steps[present:]])
    return urlunsplit((parts.scheme, parts.netloc, full, "&".join(filter(None, (parts.query, query))), ""))


# ------------------------------------------------------------------ the client


_loading = threading.Lock()
"""A module that another thread is still importing is half there: who needs it waits."""


def load_httpx() -> Any:
    """The httpx module, without the command-line tool it imports when rich and click are installed (a third of its cost)."""
    with _loading:
        if "httpx" not in sys.modules:
            sys.modules["httpx._main"] = None  # type: ignore[assignment]
            try:
                importlib.import_module("httpx")
            finally:
                del sys.modules["httpx._main"]
        return sys.modules["httpx"]


def failures() -> tuple[type[Exception], ...]:
    """What may be raised on the way to a server: what httpx knows, and what it hands on as it came.

    That is TLS that fails behind its beginning, and the name of a host that cannot be written.
    """
    httpx = load_httpx()
    return httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ssl.SSLError, UnicodeError


@asynccontextmanager
async def client(call: Call) -> AsyncIterator[Any]:
    """The client for a call: the settings of the profile are the only ones that count.

    One that was opened with the same settings is used again while the network keeps clients.
    """
    times, options = call.profile.timeouts, call.profile.options
    proxy = call.proxy
    for address in filter(None, (call.url, proxy)):
        call.network.record(address)
    opened_with = (origin(call.url), proxy, options.get("ca_file"), call.bundle, times.connect, times.idle)
    kept = call.network.clients
    found = None if kept is None else kept.get(opened_with)
    if found is None:
        found = _open(call, proxy)
        if kept is None:
            async with found:
                yield found
            return
        kept[opened_with] = found
    yield found


def _open(call: Call, proxy: str | None) -> Any:
    httpx = load_httpx()
    times = call.profile.timeouts
    try:
        return httpx.AsyncClient(
            verify=tls(call.url, call.profile.options.get("ca_file"), call.bundle),
            trust_env=False,
            proxy=proxy,
            follow_redirects=False,
            event_hooks={"response": [keep_location]},
            timeout=httpx.Timeout(connect=times.connect, read=None, write=times.idle, pool=None),
            limits=httpx.Limits(keepalive_expiry=KEPT),
        )
    except UnusableBundleError as error:
        raise WireFault(transport_error(error, call.url)) from None
    except (ValueError, ImportError, httpx.InvalidURL):  # a library that is not there: for SOCKS
        raise WireFault(ProviderError("bad_request", NO_PROXY, sent=False)) from None


async def keep_location(response: Any) -> None:
    """Put where a redirect leads out of httpx's sight: it would read the address, and fail when that is none."""
    response.extensions["location"] = response.headers.pop("location", "")


def tls(url: str, ca_file: str | None, bundle: str = "") -> ssl.SSLContext:
    """Trust settings for https. For http a context that trusts nobody: it costs nothing and is never used.

    Raises:
        UnusableBundleError: `ca_file`, or the `bundle` that the environment names, holds no certificates.
    """
    if not is_encrypted(url):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return _trust(ca_file, bundle)


@functools.lru_cache(maxsize=8)
def _trust(ca_file: str | None, bundle: str) -> ssl.SSLContext:
    """The system's certificates, those of certifi where the system has none, and those of a file and of a bundle."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not (paths.cafile or paths.capath):
        context.load_verify_locations(importlib.import_module("certifi").where())
    own = os.path.expanduser(ca_file) if ca_file else ""  # noqa: PTH111 - a Path raises where there is no such person
    if own and not Path(own).is_absolute():  # a folder somebody works in must not say whom to trust
        raise UnusableBundleError(f"ca_file must be a whole path, or begin with ~/: {ca_file}")
    for name, place in (("ca_file", own), (BUNDLE, bundle)):
        if place:
            try:
                folder = is_folder(place)
                context.load_verify_locations(**{"capath" if folder else "cafile": place})
            except OSError:
                raise UnusableBundleError(f"{name} cannot be read, or holds no certificates: {place}") from None
    return context


# ------------------------------------------------------------------ the body of an answer


async def unpacked(response: Any) -> AsyncGenerator[bytes, None]:
    """The bytes of a body as they come. A small one that unpacks to gigabytes never does so at once, as in httpx.

    Raises what httpx raises.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    inflate = inflating(encoding)
    if inflate is None and encoding not in {"", "identity"}:
        raise load_httpx().DecodingError(f"{PACKED}{encoding[:_ENCODING]}")
    async with aclosing(response.aiter_raw()) as chunks:
        async for data in chunks:
            if inflate is None:
                yield data
                continue
            for piece in inflate(data):
                yield piece


def inflating(encoding: str) -> Callable[[bytes], Iterator[bytes]] | None:
    """What unpacks a body of this encoding; None when it comes as it is. Nobody was offered any.

    A body may consist of several gzip files, one behind the other; what else stands behind one is left out.
    """
    if encoding.strip().lower() not in {"gzip", "x-gzip", "deflate"}:
        return None
    packed, over = zlib.decompressobj(wbits=_ANY), False

    def inflate(data: bytes) -> Iterator[bytes]:
        nonlocal packed, over
        try:
            while not over:
                if packed.eof:
                    if not data:
                        return
                    over = not _GZIP.startswith(data[: len(_GZIP)])
                    packed = zlib.decompressobj(wbits=_ANY)
                    continue
                piece = packed.decompress(data, PIECE)
                yield piece
                data = packed.unused_data or packed.unconsumed_tail
                if not data and len(piece) < PIECE:  # all that came is unpacked
                    return
        except zlib.error:
            raise load_httpx().DecodingError("") from None

    return inflate


# ------------------------------------------------------------------ what went wrong


async def refusal(response: Any, call: Call) -> tuple[ProviderError, str]:
    """The error of a response that is not 2xx, and the beginning of its body as it is; redirects are reported."""
    status = response.status_code
    if 300 <= status < 400:
        target = _target(call.url, response.extensions["location"])
        message = f"{origin(call.url)} redirects to {target} (HTTP {status}): not followed, correct the endpoint if you trust it"
        if not target:
            message = (
                f"{origin(call.url)} answers with HTTP {status}, which is no answer: check the endpoint of this profile"
            )
        return told(ProviderError("bad_request", message, status=status), call), ""
    if status == PROXY_PASSWORD and call.proxy:
        message = (
            f"the proxy {origin(call.proxy)} refused the request (HTTP {status}): it wants another user and password"
        )
        return ProviderError("network", message, status=status), ""
    body = await _said(response, min(GRACE, call.profile.timeouts.idle))
    error = errors.from_response(status, response.headers, body, call.secrets)
    return told(error, call), body[: errors.MAX_BODY].decode("utf-8", "replace")


async def _said(response: Any, seconds: float) -> bytes:
    """What came of an error's body within a size and some seconds in all: the status alone already is an answer."""
    body = bytearray()
    with contextlib.suppress(TimeoutError, *failures()):
        async with asyncio.timeout(seconds), aclosing(unpacked(response)) as chunks:
            async for data in chunks:
                body += data
                if len(body) >= 2 * errors.MAX_BODY:
                    break
    return bytes(body)


def _target(url: str, location: str) -> str:
    """Where a redirect leads, as far as that may be shown: on the same server the path, too. Nothing where it says nothing."""
    try:
        target = urljoin(url, location) if location else ""
    except ValueError:
        return origin(location)
    return shown(target)[:_PATH] if same_server(url, target) else target and origin(target)


def told(error: ProviderError, call: Call) -> ProviderError:
    """The error as the person is told it: without secrets, a refused key with where it came from."""
    error = errors.redacted(error, call.secrets)
    error = replace(error, message=call.network.secrets.hide(error.message))
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


async def explained(error: Exception, call: Call) -> ProviderError:
    """One sentence for an exception of httpx, with who signed a certificate that nobody here knows."""
    issuer = await _issuer(call) if wants_authority(error) else ""
    return transport_error(error, call.url, call.profile.start, call.proxy, issuer)


class _HungUp(Exception):  # noqa: N818 - what was done
    """The certificate was seen, and nothing more is wanted."""


async def _issuer(call: Call) -> str:
    """Who signed the certificate that a server shows. The connection is closed before anything is sent over it."""
    httpx = load_httpx()
    seen = b""

    async def note(step: str, info: Mapping[str, Any]) -> None:
        nonlocal seen
        if step.endswith("start_tls.complete"):
            seen = info["return_value"].get_extra_info("ssl_object").getpeercert(binary_form=True) or b""
        elif seen and step.endswith("send_request_headers.started"):
            raise _HungUp

    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    with contextlib.suppress(_HungUp, TimeoutError, *failures()):
        async with (
            asyncio.timeout(_LOOK),
            httpx.AsyncClient(verify=anybody, trust_env=False, proxy=call.proxy) as client,
        ):
            await client.get(origin(call.url), extensions={"trace": note})
    return issuer_in(seen)
