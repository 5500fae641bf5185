"""Inline reasoning and calls written as text, whatever the borders of the deltas."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core.types import CallDelta, Delta, ReasoningDelta, TextDelta, ToolSpec
from tui_agent.providers.text import Scrubber, TextStream, text_calls

OFFERED = {
    name: ToolSpec(name, "", {"properties": {"n": {"type": "integer"}, "command": {"type": "string"}}}, {})
    for name in ("read_file", "run", "list_dir")
}
WORDS = st.sampled_from(
    [
        *("<think>", "</think>", "<", "th", "ink>", "</", " ", "\n", "a", "é", "🌍", "```", "json", "{", "}", "[", "`"),
        *(
            "<tool_call>",
            "</tool_call>",
            '{"name": "run", "arguments": {"command": "ls"}}',
            "[TOOL_CALLS]",
            "<function=run>",
        ),
    ]
)


def totals(deltas: list[Delta]) -> tuple[str, str, list[tuple[str, Any]]]:
    return (
        "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)),
        "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta)),
        [(delta.name, json.loads(delta.arguments)) for delta in deltas if isinstance(delta, CallDelta)],
    )


def read(pieces: list[str], offered: Any = None, *, want_calls: bool = True) -> tuple[str, str, list[tuple[str, Any]]]:
    stream = TextStream(offered)
    deltas = [delta for piece in pieces for delta in stream.feed(piece)]
    return totals([*deltas, *stream.finish(want_calls=want_calls)])


@given(st.lists(WORDS, max_size=15).map("".join), st.sampled_from([None, OFFERED]), st.data())
def test_chunking_does_not_matter(text: str, offered: Any, data: Any) -> None:
    whole = read([text], offered)
    assert read(list(text), offered) == whole
    cut = data.draw(st.integers(0, len(text)))
    assert read([text[:cut], "", text[cut:]], offered) == whole


@given(st.lists(WORDS, max_size=15).map("".join))
def test_nothing_is_swallowed(text: str) -> None:
    for offered in (None, OFFERED):
        shown, thought, _ = read([text], offered, want_calls=False)
        if text.lstrip().startswith("<think>"):
            inside, closed, rest = text.lstrip().removeprefix("<think>").partition("</think>")
            assert thought == inside.lstrip()
            assert shown == (rest.lstrip() if closed else "")
        else:
            assert (shown, thought) == (text, "")


def test_text_without_markers_is_not_held_back() -> None:
    stream = TextStream(OFFERED)
    assert stream.feed("Hello") == [TextDelta("Hello")]
    assert stream.feed(" world") == [TextDelta(" world")]
    assert stream.feed(" a < b ") == [TextDelta(" a < b ")]
    assert stream.feed("end <tool") == [TextDelta("end ")]
    assert stream.feed("box>") == [TextDelta("<toolbox>")]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('{"name": "run", "arguments": {"command": "ls"}}', [("run", {"command": "ls"})]),
        ('```json\n{"name": "run", "parameters": {"command": "ls"}}\n```\n', [("run", {"command": "ls"})]),
        ('```\n[{"name": "run", "arguments": {}}]\n```', [("run", {})]),
        (
            '<tool_call>{"name":"run"}</tool_call>\n<tool_call>{"name":"list_dir"}</tool_call>',
            [("run", {}), ("list_dir", {})],
        ),
        ('[TOOL_CALLS][{"name":"run","arguments":"{\\"a\\":1}"}]', [("run", {"a": 1})]),
        ("<function=run>\n<parameter=command>\nls\n\n</parameter>\n</function>", [("run", {"command": "ls\n"})]),
        ("<tool_call><function=list_dir></function></tool_call>", [("list_dir", {})]),
        (
            "<function=run>\n<parameter=n>\n7\n</parameter>\n<parameter=command>\n7\n</parameter></function>",
            [("run", {"n": 7, "command": "7"})],
        ),
        ('<function=run>{"command": "ls"}</function>', [("run", {"command": "ls"})]),
        ('<|python_tag|>{"name": "run", "parameters": {"command": "ls"}}', [("run", {"command": "ls"})]),
        ('[TOOL_CALLS]run[ARGS]{"command": "ls"}', [("run", {"command": "ls"})]),
        ('<tool_call>\n{"name": "run", "arguments": {}}', [("run", {})]),
        ('<tool_call>{"name": "run", "arguments": {}}</tool_call> and more', []),
        ("<tool_call></tool_call>", []),
        ("[]", []),
        ('{"name": "rm", "arguments": {}}', []),
        ('{"name": "run", "arguments": {}} and more', []),
        ('<tool_call>{"name":"run"}</tool_call><tool_call>{"name":"rm"}</tool_call>', []),
        ('<tool_call>{"name":"run", "name":"run"}</tool_call>', []),
        ("<function=run>stray<parameter=a>1</parameter></function>", []),
        ('{"tool": "run"}', []),
        ("[1, 2]", []),
        ('```python\n{"name": "run"}\n```', []),
        ("", []),
    ],
)
def test_calls_written_as_text(text: str, calls: list[Any]) -> None:
    assert [(name, json.loads(raw)) for name, raw in text_calls(text, OFFERED)] == calls
    shown, _, found = read([text], OFFERED)
    assert found == calls
    assert shown == ("" if calls else text)
    assert read([text], None) == (text, "", [])


def test_surrogates_are_joined_or_replaced() -> None:
    scrubber = Scrubber()
    assert scrubber.feed("a\ud83c") == "a"
    assert scrubber.feed("\udf0d") == "🌍"
    assert scrubber.feed("\udf0d\ud83c") == "\ufffd"
    assert scrubber.finish() == "\ufffd"
    assert scrubber.finish() == ""


@given(st.lists(st.text(alphabet=st.characters(categories=["Cs", "Lu", "So"]), max_size=3), max_size=6))
def test_every_text_can_be_encoded(pieces: list[str]) -> None:
    shown, thought, _ = read(pieces)
    (shown + thought).encode()
    assert read(["".join(pieces)]) == (shown, thought, [])
