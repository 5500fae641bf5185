"""The way to an MCP server at an address: each message is a POST, answers come as JSON or as server-sent events.

The key goes only to this address, redirects are not followed, and what is read is bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, NoReturn

from tui_agent import __version__
from tui_agent.core.address import is_encrypted, is_loopback, is_server, origin
from tui_agent.core.types import AgentError, ConfigError, Forgotten
from tui_agent.providers.connection import BUNDLE, failures, load_httpx, tls, unpacked
from tui_agent.providers.keys import check_header
from tui_agent.providers.network import Network
from tui_agent.providers.sse import MAX_EVENT, SseDecoder
from tui_agent.providers.transport import UnusableBundleError, transport_error

CONNECT_SECONDS, WRITE_SECONDS = 10.0, 30.0
LISTEN_AGAIN = 5.0
"""Seconds after which a stream that has ended is asked for again, where the server does not say when."""
SOONEST, LATEST = 0.1, 60.0
"""Seconds: the bounds of what it may say."""
LEAVE_SECONDS = 1.0
"""For telling a server that the session is over."""
MOST_WORDS = 4_096
"""Bytes that are read of why a request was refused."""
MOST_NOTHING = 2 * MAX_EVENT
"""Bytes of an event stream in which no event ends: comments without end are a flood, too."""
_SECRET = ("authorization", "cookie")
_SESSION = "mcp-session-id"


class Cut(AgentError):  # noqa: N818 - what happened
    """A response ended in its middle."""


class HttpLink:
    """Implements `mcp.client.Link` for an address. `key` is sent as a bearer token.

    Raises:
        ConfigError: the address cannot be used, or a header could not be sent.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        key: str,
        network: Network,
        *,
        env: Mapping[str, str],
        proxy: str | None = None,
        ca_file: str | None = None,
    ) -> None:
        if not is_server(url):
            raise ConfigError("its url is no http:// or https:// address")
        network.permit(url)
        own = {name.lower(): value for name, value in headers.items()}
        if key:
            own["authorization"] = f"Bearer {key}"
        for name, value in own.items():
            check_header(name, value)
        if any(name in own for name in _SECRET) and not is_encrypted(url) and not is_loopback(url):
            raise ConfigError("its key would be sent unencrypted: use an https:// address")
        self._url, self._network, self._env, self._proxy, self._ca_file = url, network, env, proxy, ca_file
        self._headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "accept-encoding": "identity",
            "user-agent": f"tui-agent/{__version__}",
            **own,
        }
        self._client: Any = None
        self._take: Callable[[bytes], None] = lambda _: None
        self._ended: Callable[[str], None] = lambda _: None
        self._listening: asyncio.Task[None] | None = None

    @property
    def said(self) -> str:
        """Nothing is said beside the protocol."""
        return ""

    async def open(self, take: Callable[[bytes], None], ended: Callable[[str], None]) -> None:
        """Make the client; nothing is sent yet. Raises `AgentError`."""
        self._take, self._ended = take, ended
        httpx = await asyncio.to_thread(load_httpx)
        outside = not is_loopback(self._url)
        try:
            self._client = httpx.AsyncClient(
                verify=tls(self._url, self._ca_file, self._env.get(BUNDLE, "")),
                trust_env=False,
                proxy=self._proxy if outside else None,
                follow_redirects=False,
                timeout=httpx.Timeout(connect=CONNECT_SECONDS, read=None, write=WRITE_SECONDS, pool=None),
            )
        except UnusableBundleError as error:
            raise AgentError(str(error)) from None
        except (ValueError, ImportError, httpx.InvalidURL):
            raise AgentError("the proxy is no http:// or https:// address") from None

    def agreed(self, version: str) -> None:
        """Say the version from here on, and listen to what the server sends by itself."""
        self._headers["mcp-protocol-version"] = version
        self._listening = asyncio.ensure_future(self._listen())

    async def send(self, message: bytes) -> bool:
        """POST one message and hand on all that comes back. Raises `Forgotten` and `AgentError`.

        A server may close a stream whose events have names and answer later: then the rest is asked for, until whoever
        called has the answer and cancels this.
        """
        events = SseDecoder()
        try:
            async with self._asked("POST", message) as response:
                await self._greeted(response)
                await self._read(response, events)
        except Cut:
            if not events.last_id:
                raise
        while events.last_id:
            events = await self._rest(events)
        return False

    async def _greeted(self, response: Any) -> None:
        """Whether a message was taken, and by which session. Raises `Forgotten` and `AgentError`."""
        code = response.status_code
        if code not in {200, 202, 204}:
            if _SESSION in self._headers and (code == 404 or (code == 400 and await _of_session(response))):
                raise Forgotten("it has forgotten the session")
            raise AgentError(self._status(code))
        if session := response.headers.get(_SESSION):
            check_header(_SESSION, session)
            self._headers[_SESSION] = session

    async def _rest(self, before: SseDecoder) -> SseDecoder:
        """When it is time, hand on what comes behind the last event of a stream. Raises `AgentError`."""
        seconds = LISTEN_AGAIN if before.retry is None else before.retry / 1000
        await asyncio.sleep(min(max(seconds, SOONEST), LATEST))
        return await self._stream(SseDecoder(before.last_id, before.retry))

    async def _stream(self, events: SseDecoder) -> SseDecoder:
        """Hand on what the server sends by itself, or behind the event that is named. Raises `AgentError`."""
        with contextlib.suppress(Cut):
            async with self._asked("GET", more={"last-event-id": events.last_id} if events.last_id else {}) as response:
                if response.status_code != 200:
                    raise AgentError(self._status(response.status_code))
                await self._read(response, events)
        return events

    def _status(self, code: int) -> str:
        where = origin(self._url)
        match code:
            case 401 | 403:
                return f"{where} refuses the key, or wants one (HTTP {code})"
            case 301 | 302 | 303 | 307 | 308:
                return f"{where} sends elsewhere (HTTP {code}), and that is not followed"
            case 404 | 405:
                return f"there is no MCP server at this address of {where} (HTTP {code})"
        return f"{where} answers with HTTP {code}"

    @asynccontextmanager
    async def _asked(
        self, method: str, content: bytes | None = None, more: Mapping[str, str] | None = None
    ) -> AsyncIterator[Any]:
        """A response of which only the head was read. Raises `AgentError`, for what fails while it is read `Cut`."""
        self._network.record(self._url)
        fault: type[AgentError] = AgentError
        headers = {**self._headers, **(more or {})}
        try:
            async with self._client.stream(method, self._url, content=content, headers=headers) as response:
                fault = Cut
                yield response
        except failures() as error:
            raise fault(transport_error(error, self._url).message) from None

    async def _read(self, response: Any, events: SseDecoder) -> None:
        """Hand on the messages of a body; `events` reads them where it is a stream."""
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            nothing = 0
            async with aclosing(unpacked(response)) as pieces:
                async for data in pieces:
                    found = [event for event in events.feed(data) if event.data]  # one without is there for its name
                    for event in found:
                        self._take(event.data.encode())
                    nothing = 0 if found else nothing + len(data)
                    if events.overflow:
                        self._flood(f"it sent an event of more than {MAX_EVENT:,} bytes")
                    if nothing > MOST_NOTHING:
                        self._flood(f"it sent more than {MOST_NOTHING:,} bytes without a message")
            return
        body = bytearray()
        async with aclosing(unpacked(response)) as pieces:
            async for data in pieces:
                body += data
                if len(body) > MAX_EVENT:
                    self._flood(f"it sent more than {MAX_EVENT:,} bytes")
        if body.strip():
            self._take(bytes(body))

    def _flood(self, why: str) -> NoReturn:
        """Too much of it: that ends the server."""
        self._ended(why)
        raise AgentError(why)

    async def _listen(self) -> None:
        """What the server sends by itself, for as long as it offers that."""
        with contextlib.suppress(AgentError):  # whether the server is there, the next request finds out
            events = await self._stream(SseDecoder())
            while True:
                events = await self._rest(events)

    async def close(self) -> None:
        """Tell the server that the session is over, and close the connections."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait({self._listening})
        if self._client is None:
            return
        if _SESSION in self._headers:
            with contextlib.suppress(AgentError, TimeoutError):  # it may be gone already
                async with asyncio.timeout(LEAVE_SECONDS), self._asked("DELETE"):
                    pass
        await self._client.aclose()


async def _of_session(response: Any) -> bool:
    """Whether a refusal is about the session: servers of older kits say so in words, with status 400."""
    body = b""
    async with aclosing(unpacked(response)) as pieces:
        async for data in pieces:
            body += data
            if len(body) > MOST_WORDS:
                break
    return b"session" in body.lower()
