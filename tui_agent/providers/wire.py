"""What the three wire formats have in common: framing, endings, and the shape of an adapter.

A `Wire` is a pair of pure functions: neutral history -> request body, and response bytes -> deltas.
`Decoder` owns what is the same everywhere: which framing the server really chose, when a reply is
complete, and that every stream ends with exactly one `ReplyEnd`. A `Reader` knows one format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tui_agent.core.profile import Profile
from tui_agent.core.reply import EVENT_DEPTH, TooDeepError, bounded, bounded_json
from tui_agent.core.types import Delta, Finish, History, Json, JsonObject, ProviderError, ReplyEnd, ToolSpec, Usage
from tui_agent.providers import errors
from tui_agent.providers.sse import BOM, MAX_EVENT, LineDecoder, SseDecoder, SseEvent
from tui_agent.providers.vendors import Vendor

DONE = "[DONE]"
_FAULTS = frozenset({"detail", "message", "errors"})
"""Members by which servers say what is wrong in a body that is no reply, where there is no `error`."""
_MAX_TOKENS = 10**12
_INDEX_DIGITS = 10


class WireFault(Exception):  # noqa: N818 - it carries an error value
    """The response cannot be read further; `error` says why."""

    def __init__(self, error: ProviderError) -> None:
        super().__init__(error.message)
        self.error = error


def protocol_fault(message: str, *, retryable: bool) -> WireFault:
    """A fault of the bytes themselves."""
    return WireFault(ProviderError("protocol", message, retryable))


class Reader(Protocol):
    """One format: JSON values of a response in, deltas out."""

    finish: Finish | None
    """How the reply ended, once the server said so."""
    ended: bool
    """Whether the format's own end mark was read."""
    met: bool
    """Whether anything of this format was read."""

    def read(self, event: str, value: Json, out: list[Delta]) -> None:
        """Take the next value and append what it means. Raises `WireFault` for an error of the server."""

    def rest(self, *, want_calls: bool) -> list[Delta]:
        """What was held back, at the end of the reply."""

    def usage(self) -> Usage | None:
        """Tokens of this call, None when the server did not say."""

    def extras(self) -> dict[str, Any]:
        """Provider data that must go back with the next request."""


class Frames:
    """Bytes of a body -> (event type, JSON value), whatever framing the server chose.

    With `lines` one JSON value per line is expected, else server-sent events. A body that is one
    JSON value (the server ignored `stream`) gives that value at its end; a web page is a fault.
    """

    def __init__(self, *, lines: bool = False) -> None:
        self.seen = False
        self.ended = False
        self._lines = LineDecoder() if lines else None
        self._sse = SseDecoder()
        self._head: bytes | None = b""
        self._whole: list[bytes] | None = None
        self._whole_size = 0

    @property
    def whole(self) -> bool:
        """Whether the body is JSON by itself and no stream."""
        return self._whole is not None

    @property
    def beside(self) -> str:
        """The beginning of what stands in a stream of events and is none: what a gateway writes when its server fails."""
        return str(self._sse.beside, "utf-8", "replace").strip()

    def feed(self, data: bytes) -> Iterator[tuple[str, Json]]:
        """The values that these bytes complete. Raises `WireFault` behind the last good one."""
        if self._head is not None:
            data = self._sniff(self._head + data)
        if self._whole is not None:
            self._whole_size += len(data)
            if self._whole_size > MAX_EVENT:
                raise _too_long()
            self._whole.append(data)
        elif self._lines is not None:
            yield from self._values(SseEvent("", str(line, "utf-8", "replace")) for line in self._lines.feed(data))
        else:
            yield from self._values(self._sse.feed(data))
        if self._sse.overflow or (self._lines is not None and self._lines.overflow):
            raise _too_long()

    def close(self) -> Iterator[tuple[str, Json]]:
        """The values that the end of the body completes; a last event that was cut is dropped."""
        if self._whole is not None:
            text = b"".join(self._whole).decode("utf-8", "replace").removeprefix("\ufeff")
            values = _values_in(text)
            if values is None:
                raise protocol_fault("the answer is neither a stream nor whole JSON", retryable=True)
            for value in values:  # a list of events is read like those events
                yield from (("", one) for one in (value if isinstance(value, list) else [value]))
        elif self._lines is not None:
            lines = self._lines.close()
            yield from self._values((SseEvent("", str(line, "utf-8", "replace")) for line in lines), cut=True)
        else:
            yield from self._values(self._sse.close(), cut=True)

    def _values(self, events: Iterable[SseEvent], *, cut: bool = False) -> Iterator[tuple[str, Json]]:
        for event, text in events:
            if not text or text.isspace():  # a heartbeat
                continue
            self.seen = True
            if text.startswith((DONE, " ")) and text.strip() == DONE:
                self.ended = True
                return
            try:
                value = bounded_json(text)
            except TooDeepError:
                raise _too_deep() from None
            except ValueError:
                yield from self._odd(event, text, cut=cut)
                if self.ended:
                    return
            else:
                yield event, value

    def _odd(self, event: str, text: str, *, cut: bool) -> Iterator[tuple[str, Json]]:
        """An event that is not one JSON value: an error in plain words, or events without blank lines between them."""
        if event == "error":
            yield event, {"error": text}
            return
        for line in text.split("\n"):
            if line.strip() == DONE:
                self.ended = True
                return
            try:
                value = bounded_json(line)
            except TooDeepError:
                raise _too_deep() from None
            except ValueError:
                if cut:
                    return
                raise protocol_fault("an event of the stream is not JSON: bytes were lost", retryable=True) from None
            yield event, value

    def _sniff(self, data: bytes) -> bytes:
        """Decide by the first sign, not by the header; until there is one, hold the bytes."""
        first = data.removeprefix(BOM).lstrip()[:1]
        if not first or (len(data) < len(BOM) and BOM.startswith(data)):
            self._head = data if len(data) < MAX_EVENT else None
            return b"" if self._head is not None else data
        self._head = None
        if first != b"{":
            self._lines = None
        if first == b"<":
            self.seen = True
            raise protocol_fault("the endpoint answers with a web page: check its address", retryable=False)
        if first in {b"{", b"["} and self._lines is None:
            self.seen = True
            self._whole = []
        return data


def _values_in(text: str) -> list[Json] | None:
    """The JSON values that a text consists of, None if it is anything else."""
    decoder = json.JSONDecoder()
    values: list[Json] = []
    text, at = text.strip(), 0
    try:
        while at < len(text):
            start = at
            value, at = decoder.raw_decode(text, at)
            values.append(bounded(value, text[start:at]))
            while text[at : at + 1].isspace():
                at += 1
    except (TooDeepError, RecursionError):
        raise _too_deep() from None
    except ValueError:
        return None
    return values


def _too_deep() -> WireFault:
    return protocol_fault(f"an event of the stream is nested deeper than {EVENT_DEPTH} levels", retryable=False)


def _too_long() -> WireFault:
    return protocol_fault(f"an event of the stream is longer than {MAX_EVENT // 1024 // 1024} MiB", retryable=False)


FOREIGN = "nothing of the answer is of this format: check type and endpoint of this profile"


class Decoder:
    """One response body -> deltas. `feed` as the bytes come, `finish` exactly once."""

    def __init__(self, frames: Frames, reader: Reader) -> None:
        self._frames = frames
        self._reader = reader
        self._error: ProviderError | None = None
        self._said = False

    @property
    def seen(self) -> bool:
        """Whether anything but keep-alives arrived."""
        return self._frames.seen

    @property
    def done(self) -> bool:
        """Whether nothing that follows can matter."""
        return self._error is not None or self._frames.ended or self._reader.ended

    @property
    def finished(self) -> bool:
        """Whether the reply is complete; counts of tokens may still follow."""
        return self._reader.finish is not None or self.done

    def feed(self, data: bytes) -> list[Delta]:
        """Take the next bytes of the body. Never raises."""
        return [] if self.done else self._read(self._frames.feed(data))

    def finish(self, error: ProviderError | None = None) -> list[Delta]:
        """End of the body; `error` if the transport failed. The last delta is the only `ReplyEnd`.

        A transport error after the reply was complete is no error: servers reset connections.
        """
        out: list[Delta] = []
        if not self.done:
            out = self._read(self._frames.close())
            if self._error is not None:  # a body that was cut makes no sense, but that is not what went wrong
                self._error = error or self._error
        failure = self._error or self._missing_end(error)
        out.extend(self._reader.rest(want_calls=failure is None))
        if failure is None and self._reader.finish is None and not (self._said or out):
            failure = ProviderError("protocol", FOREIGN)
        finish = None if failure else self._reader.finish or "stop"
        out.append(ReplyEnd(finish, self._reader.usage(), failure, self._reader.extras()))
        return out

    def _read(self, values: Iterator[tuple[str, Json]]) -> list[Delta]:
        out: list[Delta] = []
        try:
            for event, value in values:
                self._reader.read(event, value, out)
                if self._reader.ended:
                    break
        except WireFault as fault:
            self._error = fault.error
        self._said = self._said or bool(out)
        return out

    def _missing_end(self, error: ProviderError | None) -> ProviderError | None:
        if self.finished:
            return None
        if error is not None:
            return error
        if self._frames.beside:
            return errors.from_beside(self._frames.beside, begun=self._frames.seen)
        if not self._frames.seen:
            return ProviderError("protocol", "the server sent an empty reply", retryable=True)
        if not self._reader.met or (self._frames.whole and not self._said):
            return ProviderError("protocol", FOREIGN)
        return ProviderError("network", "the reply was cut off before its end", retryable=True)


class Build(Protocol):
    """Neutral history -> the body of one request. Pure; nothing is sent that neither the profile nor the wire asks for."""

    def __call__(
        self,
        history: History,
        profile: Profile,
        tools: Sequence[ToolSpec] = (),
        *,
        system: str = "",
        vendor: Vendor | None = None,
    ) -> dict[str, Any]:
        """`vendor` overrides the profile's rules with learned ones."""


@dataclass(frozen=True, slots=True)
class Wire:
    """One format as the HTTP seam sees it.

    `path` is appended to the endpoint unless the endpoint already ends with a part of it.
    `headers` gives the headers for a key (None: no key). `constrain` turns the JSON Schema that a reply must
    follow into settings of the request; a format without such settings has none. `answer` is how many tokens of an
    answer are asked for where the format demands a number, 0 where it does not.
    """

    name: str
    path: str
    build: Build
    decoder: Callable[[Profile, Sequence[ToolSpec]], Decoder]
    headers: Callable[[str | None], Mapping[str, str]]
    constrain: Callable[[JsonObject], Mapping[str, Any]] = lambda _: {}
    answer: int = 0


def faulty(value: JsonObject) -> bool:
    """Whether a body that is no reply says what is wrong; a message that somebody said is a reply of another format."""
    message = value.get("message")
    said = isinstance(message, dict) and message.keys() & {"role", "content"}
    return bool(value.keys() & (_FAULTS - {"message"} if said else _FAULTS))


def string(value: Json) -> str:
    """A text member; "" for null, for a missing one, and for any other type."""
    return value if isinstance(value, str) else ""


def number(value: Json) -> int | None:
    """An index, also one that is written as text; None for null, for a missing one, and for any other type."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < _INDEX_DIGITS:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def called(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Name and arguments of a call: in `function`, or beside the id where a server leaves that out."""
    function = call.get("function", call)
    return function if isinstance(function, Mapping) else {}


def argument_text(value: Json) -> str:
    """Arguments are text that comes in fragments; some servers send the finished object instead."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def tokens(value: Json) -> int | None:
    """A count of tokens, None for anything that cannot be one: servers send null, strings and negatives."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MAX_TOKENS:
        return None
    return int(value)


def counted(asked: int | None, answered: int | None) -> tuple[int | None, int | None]:
    """The counts of a request and its answer; unknown when both are 0: no request is empty, so nobody has counted."""
    return (asked, answered) if asked or answered else (None, None)
