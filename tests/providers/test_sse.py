"""Framing: the result never depends on how the bytes were cut, and memory is bounded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.providers import sse
from tui_agent.providers.sse import LineDecoder, SseDecoder, SseEvent
from tui_agent.providers.wire import Frames, WireFault

PIECES = st.sampled_from(
    [
        *(b"\n", b"\r", b"\r\n", b"\n\n", b"data:", b"data: ", b"data", b"event: e", b"event:", b": note", b"id: 1"),
        *(
            b"x",
            b" ",
            b":",
            b"\xef\xbb\xbf",
            "→\u2028\u0085é".encode(),
            b"\xf0\x9f\x8c",
            b'{"a":1}',
            b"[DONE]",
            b"\x00",
        ),
    ]
)
STREAMS = st.lists(PIECES, max_size=40).map(b"".join)


def decode(pieces: list[bytes]) -> list[SseEvent]:
    decoder = SseDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()


def lines_of(data: bytes) -> list[bytes]:
    """The rule, written down plainly: drop one mark, then CR, LF and CRLF end a line."""
    data = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


@given(STREAMS, st.data())
def test_chunking_does_not_matter(stream: bytes, data: Any) -> None:
    whole = decode([stream])
    assert decode([stream[at : at + 1] for at in range(len(stream))]) == whole
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    assert decode([stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]) == whole


@given(STREAMS)
def test_lines_are_those_of_the_rule(stream: bytes) -> None:
    decoder = LineDecoder()
    assert decoder.feed(stream) + decoder.close() == lines_of(stream)


@given(
    st.lists(st.tuples(st.sampled_from(["", "a", "error"]), st.text()), max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_what_is_written_is_read(events: list[tuple[str, str]], end: str) -> None:
    written = ""
    for name, text in events:
        payload = json.dumps({"t": text}, ensure_ascii=False, indent=1)
        written += f"event: {name}{end}" if name else f": no name{end}"
        written += "".join(f"data: {line}{end}" for line in payload.split("\n")) + end
    read = decode([written.encode("utf-8", "surrogatepass")])
    assert [(event.event, json.loads(event.data)["t"]) for event in read] == events


def test_the_last_event_needs_no_end() -> None:
    assert decode([b"data: a\n\ndata: b"]) == [SseEvent("", "a"), SseEvent("", "b")]
    assert decode([b"data: a\n\nevent: x\n"]) == [SseEvent("", "a")]


def test_invalid_utf8_is_replaced() -> None:
    assert decode([b"data: a\xff\n\n"]) == [SseEvent("", "a\ufffd")]


@pytest.mark.parametrize("piece", [b"data: no end of line ", b"data: x\n", b"data\n", b"event: "])
def test_memory_is_bounded(monkeypatch: Any, piece: bytes) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT", 1000)
    decoder = SseDecoder()
    assert decoder.feed(b"data: fine\n\n") == [SseEvent("", "fine")]
    for _ in range(2000):
        decoder.feed(piece)
    assert decoder.overflow
    assert decoder.feed(b"\n\ndata: late\n\n") == []
    assert decoder.close() == []


def test_values_before_a_fault_are_not_lost() -> None:
    frames = Frames()
    got = []
    with pytest.raises(WireFault) as fault:
        got.extend(frames.feed(b'data: {"a":1}\n\ndata: {"a":\n\ndata: {"a":2}\n\n'))
    assert fault.value.error.kind == "protocol"
    frames = Frames()
    values = frames.feed(b'data: {"a":1}\n\ndata: {"a":\n\n')
    assert next(values) == ("", {"a": 1})
    with pytest.raises(WireFault):
        next(values)


@pytest.mark.parametrize("head", [b"", b" \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n \r"])
@pytest.mark.parametrize("size", [1, 2, 100])
def test_the_framing_is_what_the_bytes_say(head: bytes, size: int) -> None:
    def read(body: bytes, frames: Frames) -> list[Any]:
        body = head + body
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        return [value for piece in pieces for _, value in frames.feed(piece)] + [value for _, value in frames.close()]

    assert read(b'{"a":\n1}', Frames()) == [{"a": 1}]
    assert read(b'[{"a":1},{"a":2}]', Frames()) == [{"a": 1}, {"a": 2}]
    assert read(b'data: {"a":1}\n\n', Frames()) == [{"a": 1}]
    assert read(b'{"a":1}\n{"a":2}', Frames(lines=True)) == [{"a": 1}, {"a": 2}]
    with pytest.raises(WireFault, match="web page"):
        read(b"<!doctype html>", Frames())
