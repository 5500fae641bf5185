from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core.types import ToolCall
from tui_agent.protocols.action import Final, NotExpressible, ParseError, without_id
from tui_agent.protocols.fields import BUILT_IN
from tui_agent.protocols.json_object import parse, render
from tui_agent.tools.registry import TOOLS

ALL = frozenset(BUILT_IN)
KEYS = st.sampled_from(["tool", "final", "path", "content", "old", "new", "argv", "items", "edits", "start", "x"])
NAMES = st.sampled_from([*BUILT_IN, "nothing", ""])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), NAMES),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5).map(json.dumps)
FIELDS = {"path": st.text(), "argv": st.lists(st.text(min_size=1)), "start": st.integers(-1, 3)}
CALLS = st.sampled_from(sorted(BUILT_IN)).flatmap(
    lambda name: st.fixed_dictionaries(
        {"tool": st.just(name), **{key: FIELDS.get(key, st.text()) for key in BUILT_IN[name]["required"]}},
        optional={"start": FIELDS["start"], "replace_all": st.booleans(), "x": VALUES},
    )
)
REPLIES = st.one_of(
    st.text(),
    VALUES.map(json.dumps),
    OBJECTS,
    CALLS.map(json.dumps),
    st.tuples(CALLS.map(json.dumps), st.integers(0, 60)).map(lambda cut: cut[0][: cut[1]]),
)
TEXT = st.text()
ACTIONS = st.one_of(
    st.builds(Final, TEXT),
    st.builds(lambda p: ToolCall("7", "read_file", {"path": p}), TEXT),
    st.builds(lambda p, c: ToolCall("7", "write_file", {"path": p, "content": c}), TEXT, TEXT),
    st.builds(lambda a: ToolCall("7", "run_command", {"argv": a}), st.lists(TEXT)),
    st.builds(lambda n, a: ToolCall("7", n, a), NAMES, st.dictionaries(KEYS, VALUES, max_size=3)),
)


def kind(reply: str, enabled: frozenset[str] = ALL) -> str:
    read = parse(reply, enabled)
    return read.kind if isinstance(read, ParseError) else "action"


def without_descriptions(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {k: without_descriptions(v) for k, v in schema.items() if k != "description" or not isinstance(v, str)}
    return schema


def test_the_vocabulary_is_the_tool_table() -> None:
    assert list(BUILT_IN) == list(TOOLS)
    for name, tool in TOOLS.items():
        told, known = without_descriptions(tool.spec.parameters), BUILT_IN[name]
        if name == "run_command":  # the protocol refuses an empty word before the tool does
            known = {**known, "properties": {"argv": {**known["properties"]["argv"], "items": {"type": "string"}}}}
        assert told == known, name


@given(REPLIES, st.frozensets(st.sampled_from(sorted(ALL))))
def test_any_text_is_an_action_or_the_ordinary_error(reply: str, enabled: frozenset[str]) -> None:
    read = parse(reply, enabled)
    if isinstance(read, ParseError):
        assert len(read.message) < 800
        assert "\n" not in read.message
    elif isinstance(read, ToolCall):
        assert read.name in enabled
        assert json.loads(reply.strip("\ufeff")) == {"tool": read.name, **read.arguments}
    else:
        assert read.text.strip()


@given(ACTIONS)
def test_what_is_rendered_is_read_back(action: Final | ToolCall) -> None:
    try:
        text = render(action)
    except NotExpressible:
        return
    assert parse(text, ALL) == without_id(action)


@given(TEXT, TEXT)
def test_every_text_is_a_possible_file(path: str, content: str) -> None:
    action = ToolCall("", "write_file", {"path": path, "content": content})
    assert parse(render(action), ALL) == action


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (Final("  "), "blank"),
        (ToolCall("1", "nothing", {}), "unknown tool"),
        (ToolCall("1", "read_file", {}), "missing fields"),
        (ToolCall("1", "read_file", {"path": "a", "tool": "x"}), "no form"),
        (ToolCall("1", "read_file", None, "bad", "{"), "no form"),
        (ToolCall("1", "read_file", {"path": "\ud800"}), "surrogate"),
        (ToolCall("1", "read_file", {"path": b"a"}), "not JSON"),
        (ToolCall("1", "run_command", {"argv": ("ls",)}), "differently"),
        (ToolCall("1", "read_file", {"path": "a", "start": float("nan")}), "NaN"),
    ],
)
def test_what_cannot_be_carried_is_refused(action: Final | ToolCall, why: str) -> None:
    with pytest.raises(NotExpressible, match=why):
        render(action)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('\ufeff{"final":"a"}', "action"),
        ('```\n{"final":"a"}\n```', "action"),
        ('```json\n{"final":"a"}\n```\nThere.', "invalid_json"),
        ('reasons\n</think>\n{"final":"a"}', "action"),
        ('<think>{"final":"a"}', "unclosed_think"),
        ('{"final":"\\ud800"}', "invalid_text"),
        ('{"final":"a","final":"b"}', "duplicate_key"),
        ('{"tool":"read_file","path":"a","start":0}', "wrong_type"),
        ('{"tool":"read_file","path":"a","start":true}', "wrong_type"),
        ('{"tool":"read_file","path":"a","start":1.5}', "wrong_type"),
        ('{"tool":"list_files","path":null}', "wrong_type"),
        ('{"tool":"multi_edit","path":"a","edits":[{"old":"x"}]}', "wrong_type"),
        ('{"tool":"multi_edit","path":"a","edits":[]}', "wrong_type"),
        ('{"tool":"update_plan","items":[{"status":"later","text":"x"}]}', "wrong_type"),
        (json.dumps({"tool": "read_file", **{f"k\n{i}": i for i in range(9999)}}), "missing_field"),
        (json.dumps({"final": "a", **{f"k\n{i}": i for i in range(9999)}}), "bad_final"),
        ("[" * 100_000, "invalid_json"),
        ('{"final":' * 50_000, "invalid_json"),
        ('{"final":' + "9" * 100_000 + "}", "invalid_json"),
        ("<think></think>" * 20_000, "invalid_json"),
    ],
)
def test_kinds(reply: str, expected: str) -> None:
    assert kind(reply) == expected
    read = parse(reply, ALL)
    assert not isinstance(read, ParseError) or len(read.message) < 800


def test_nothing_is_enabled_by_an_empty_set() -> None:
    assert kind('{"tool":"read_file","path":"a"}', frozenset()) == "tool_disabled"
    assert kind('{"final":"a"}', frozenset()) == "action"


def test_foreign_tools_come_with_their_schema_and_cannot_replace_ours() -> None:
    more = {
        "git__log": {"properties": {"n": {"type": ["integer", "null"]}, "q": {"$ref": "#/x"}}, "required": ["n"]},
        "read_file": {"properties": {}},
    }
    enabled = ALL | set(more)
    assert parse('{"tool":"git__log","n":null,"q":1,"z":2}', enabled, more) == ToolCall(
        "", "git__log", {"n": None, "q": 1, "z": 2}
    )
    assert isinstance(parse('{"tool":"git__log"}', enabled, more), ParseError)
    assert isinstance(parse('{"tool":"read_file"}', enabled, more), ParseError)
    assert parse(render(ToolCall("1", "git__log", {"n": 1}), more), enabled, more) == ToolCall("", "git__log", {"n": 1})


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ('{"tool":"nothing"}', ["unknown tool", "nothing"]),
        ('{"tool":"read_file"}', ["missing fields for read_file: path"]),
        ('{"tool":"read_file","path":"a","extra":1}', ["unexpected fields for read_file: extra"]),
        ('{"tool":"read_file","path":true}', ["path must be a string, not true"]),
        ('{"tool":"write_file","path":"a","content":"x\ny"}', ["not valid JSON", r"written \n"]),
        ('Sure: {"final":"a"}', ["not valid JSON", "before the object"]),
    ],
)
def test_messages_name_the_cause(reply: str, words: list[str]) -> None:
    read = parse(reply, ALL)
    assert isinstance(read, ParseError)
    for word in words:
        assert word in read.message
