"""The protocol: requests with numbers, their answers in any order, and what a server sends by itself.

A `Link` carries messages, one JSON value each; `Client` matches answers with requests, bounds what it takes, and gives every
request an end: an answer, a time limit, or the end of the server. It holds nothing that outlives its link.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tui_agent import __version__
from tui_agent.core.reply import strict_json
from tui_agent.core.types import AgentError, Forgotten, Json, JsonObject

VERSION = "2025-11-25"
"""The version of the protocol that is asked for."""
KNOWN = ("2024-11-05", "2025-03-26", "2025-06-18", VERSION)
"""Those that are spoken."""
MOST_PAGES = 20
"""Pages of a list of tools that are asked for."""
MOST_UNASKED = 2_000
"""Messages that a server may send by itself in `WINDOW` seconds; what is no message counts, too."""
WINDOW = 60.0

LAST_ANSWERS = 1.0
"""Seconds that are waited for answers of a server that has forgotten who asks."""

_NO_SUCH = -32601
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+(?:"|\Z)|[\[\]{}]', re.DOTALL)
_NUMBER = re.compile(rb"\s*:\s*(\d{1,15})\s*[,}]")
_KEY = re.compile(rb"\s*:")
_TAIL = re.compile(rb',\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')
_ENDS = 200
_MOST_TOKENS = 100_000
"""Strings and brackets of a message that cannot be read among which its number is looked for."""


class Refused(AgentError):  # noqa: N818 - what happened: the server answered a request with an error
    """The server answered with an error; its text is the server's."""


class Unasked(AgentError):  # noqa: N818 - what happened
    """It could not be asked, or gave no answer; it may be there all the same."""


class Ended(AgentError):  # noqa: N818 - what happened
    """The server is gone, or has to go, before it answered."""


class TooSlow(AgentError):  # noqa: N818 - what happened
    """No answer came in time; the server was told that none is waited for."""


class Link(Protocol):
    """The way to a server. `open` may raise `AgentError`, and `send`, too."""

    async def open(self, take: Callable[[bytes], None], ended: Callable[[str], None]) -> None:
        """Begin. `take` gets each message, `ended` once why the server is gone, in words that follow its name."""

    async def send(self, message: bytes) -> bool:
        """Send one message; True when its answer may still come after this has returned.

        Raises:
            Forgotten: the server has to be greeted anew. AgentError: it could not be sent, or answered.
        """

    def agreed(self, version: str) -> None:
        """This version of the protocol is spoken from here on."""

    @property
    def said(self) -> str:
        """What the server wrote beside the protocol, the newest."""

    async def close(self) -> None:
        """End the server, or the connection; bounded in time."""


class Client:
    """A conversation with one server. `changed` is called when its list of tools has changed."""

    def __init__(self, link: Link, changed: Callable[[], None], gone: Callable[[], None]) -> None:
        """`gone` is called once when it has ended; `fault` says why."""
        self.fault = ""
        self.title = ""
        """What the server calls itself."""
        self._link, self._changed, self._gone = link, changed, gone
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[JsonObject]] = {}
        self._window, self._unasked = time.monotonic(), 0
        self._sending: set[asyncio.Task[None]] = set()
        self._over = False

    # -------------------------------------------------------------- requests

    async def start(self) -> list[Json]:
        """Begin, and ask for the tools. Raises `AgentError`."""
        await self._link.open(self._take, self._end)
        hello = {
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": {"name": "tui-agent", "version": __version__},
        }
        told = await self.request("initialize", hello)
        version = told.get("protocolVersion")
        if version not in KNOWN:
            raise Ended(f"it speaks another version of the protocol, {str(version)[:40]!r}")
        self._link.agreed(version)
        info = told.get("serverInfo")
        self.title = str(info.get("name", ""))[:80] if isinstance(info, Mapping) else ""
        self._later({"method": "notifications/initialized"})
        return await self.tools()

    async def tools(self) -> list[Json]:
        """All its tools as it describes them. Raises `AgentError`."""
        found: list[Json] = []
        cursor: Json = None
        for _ in range(MOST_PAGES):
            page = await self.request("tools/list", {} if cursor is None else {"cursor": cursor})
            listed = page.get("tools")
            if not isinstance(listed, list):
                raise Ended("its list of tools is none of the protocol")
            found += listed
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor:
                break
        return found

    async def call(self, tool: str, arguments: JsonObject, seconds: float) -> JsonObject:
        """The result of a call of one of its tools.

        Raises:
            Refused: the server says no. TooSlow: it took longer. Unasked: it could not be asked. Ended: it ended meanwhile.
            Forgotten: it has to be greeted anew, and did nothing.
        """
        try:
            async with asyncio.timeout(seconds):
                return await self.request("tools/call", {"name": tool, "arguments": arguments})
        except TimeoutError:
            raise TooSlow(f"no answer within {seconds:g} s") from None

    async def request(self, method: str, params: JsonObject) -> JsonObject:
        """The result of one request. Whoever stops waiting tells the server so.

        Raises:
            Refused: the server says no. Unasked: it could not be asked. Ended: it ended before it answered.
            Forgotten: it has to be greeted anew, and did nothing.
        """
        if self.fault:
            raise Ended(self.fault)
        number = next(self._numbers)
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        sending = asyncio.ensure_future(self._send({"id": number, "method": method, "params": params}))
        try:
            either: set[asyncio.Future[Any]] = {answer, sending}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                try:
                    more = sending.result()
                except Forgotten as error:
                    self._end(str(error), forgotten=True)
                    raise
                except AgentError as error:
                    raise Unasked(str(error)) from None
                if not more:
                    raise Unasked("it gave no answer")
                await asyncio.wait({answer})
            return answer.result()
        except asyncio.CancelledError:
            if method != "initialize":
                self._later({"method": "notifications/cancelled", "params": {"requestId": number}})
            raise
        finally:
            del self._waiting[number]
            if not answer.cancel():
                answer.exception()  # one that came too late is nobody's
            sending.cancel()
            await asyncio.wait({sending})
            if not sending.cancelled():
                sending.exception()

    async def _send(self, message: JsonObject) -> bool:
        return await self._link.send(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode())

    def _later(self, message: JsonObject) -> None:
        """Send something that has no answer, without waiting."""

        async def send() -> None:
            try:
                await self._send(message)
            except AgentError as error:
                self._end(str(error))

        task = asyncio.ensure_future(send())
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    # -------------------------------------------------------------- what comes

    def _take(self, data: bytes) -> None:
        if self._over:
            return
        try:
            message = strict_json(data.decode())
        except ValueError as error:
            self._unreadable(data, error)
            return
        for one in message if isinstance(message, list) else [message]:
            self._message(one)

    def _unreadable(self, data: bytes, why: ValueError) -> None:
        """What is no message; an answer of this kind is the only one that its request will get, so that ends it."""
        own = isinstance(why, UnicodeDecodeError) or "'" in str(why)  # the server's own words are not passed on as ours
        words = "it is not JSON" if own else str(why)
        numbers = [number for number in _answers(data) if number in self._waiting]
        for number in numbers:
            self._answered(number, Unasked(f"what it sent cannot be read: {words}"))
        if not numbers:
            self._count()

    def _message(self, message: Json) -> None:
        match message:
            case {"id": int(number), "result": dict(result)} if number in self._waiting:
                self._answered(number, result)
            case {"id": int(number), "error": error} if number in self._waiting:
                words = error.get("message") if isinstance(error, Mapping) else None
                self._answered(number, Refused(words if isinstance(words, str) else "it says no, and not why"))
            case {"id": int(number), "result": _} if number in self._waiting:
                self._answered(number, Refused("its answer is none of the protocol"))
            case {"id": int() | str() as number, "method": "ping"}:
                self._count()
                self._later({"id": number, "result": {}})
            case {"id": int() | str() as number, "method": str()}:
                self._count()
                self._later({"id": number, "error": {"code": _NO_SUCH, "message": "not offered by this client"}})
            case {"method": "notifications/tools/list_changed"}:
                self._count()
                self._changed()
            case _:
                self._count()

    def _answered(self, number: int, result: JsonObject | AgentError) -> None:
        answer = self._waiting[number]
        if answer.done():
            return
        if isinstance(result, AgentError):
            answer.set_exception(result)
        else:
            answer.set_result(result)

    def _count(self) -> None:
        """One more message that nobody asked for; too many of them end the server."""
        now = time.monotonic()
        if now - self._window > WINDOW:
            self._window, self._unasked = now, 0
        self._unasked += 1
        if self._unasked > MOST_UNASKED:
            self._end(f"it sent more than {MOST_UNASKED:,} messages that nobody asked for within {WINDOW:g} s")

    # -------------------------------------------------------------- the end

    def _end(self, why: str, *, forgotten: bool = False) -> None:
        """No more requests from here on; `forgotten`: the server is there, and says of each on its way whether it did it."""
        if self.fault:
            return
        self.fault = why
        if not forgotten:
            self._answer_all()
        self._gone()

    def _answer_all(self) -> None:
        self._over = True
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(Ended(self.fault))

    async def close(self) -> None:
        """End the conversation; bounded in time."""
        self._end("it was ended")
        if on_their_way := [answer for answer in self._waiting.values() if not answer.done()]:
            await asyncio.wait(on_their_way, timeout=LAST_ANSWERS)
        self._answer_all()
        for task in self._sending:
            task.cancel()
        await self._link.close()


def _answers(data: bytes) -> list[int]:
    """The numbers of the requests that a message answers which cannot be read, also those of a list of answers."""
    numbers: list[int] = []
    level, depth, number, keys = 2 if data.lstrip().startswith(b"[") else 1, 0, 0, set[bytes]()
    for token in itertools.islice(_TOKEN.finditer(data), _MOST_TOKENS):
        match token[0]:
            case b"{" | b"[":
                depth += 1
                if depth == level:
                    number, keys = 0, set()
            case b"}" | b"]":
                if depth == level and keys & {b'"result"', b'"error"'} and b'"method"' not in keys:
                    numbers.append(number)
                depth -= 1
            case word if depth == level and _KEY.match(data, token.end()):
                keys.add(word)
                if word == b'"id"' and (found := _NUMBER.match(data, token.end())):
                    number = int(found[1])
    if depth and b'"method"' not in keys:  # it does not end, or not among so many: its number may stand behind the rest
        tail = _TAIL.search(data[-_ENDS:]) if level == 1 else None
        numbers.append(int(tail[1]) if tail else number)
    return numbers
