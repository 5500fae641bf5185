"""Arguments of a call against the schema that the model is told."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.core.types import ToolCall
from tui_agent.tools.arguments import ToolError, validate
from tui_agent.tools.registry import TOOLS, find


def complaint(name: str, arguments: object) -> str:
    with pytest.raises(ToolError) as caught:
        validate(TOOLS[name].spec, arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read_file", {}, "missing fields for read_file: path"),
        ("edit_file", {"path": "a"}, "missing fields for edit_file: old, new"),
        ("read_file", {"path": "a", "extra": 1}, "unexpected fields for read_file: extra"),
        ("read_file", {"path": 1}, "path must be a string"),
        ("read_file", {"path": None}, "path must be a string"),
        ("read_file", {"path": "a", "start": "3"}, "start must be an integer"),
        ("read_file", {"path": "a", "start": True}, "start must be an integer"),
        ("read_file", {"path": "a", "limit": 0}, "limit must be at least 1"),
        ("edit_file", {"path": "a", "old": "x", "new": "y", "replace_all": 1}, "replace_all must be true or false"),
        ("run_command", {"argv": "ls"}, "argv must be a list of strings"),
        ("run_command", {"argv": ["ls", 1]}, "argv[1] must be a string"),
        ("run_command", {"argv": []}, "argv must not be empty"),
        ("multi_edit", {"path": "a", "edits": [{"old": "x"}]}, "missing fields for multi_edit: edits[0].new"),
        ("multi_edit", {"path": "a", "edits": [{"old": "x", "new": 1}]}, "edits[0].new must be a string"),
        ("multi_edit", {"path": "a", "edits": ["x"]}, "edits[0] must be an object"),
        (
            "update_plan",
            {"items": [{"status": "later", "text": "x"}]},
            "items[0].status must be one of done, now, next",
        ),
        ("write_file", {"path": "a", "content": "\ud800"}, "half of a surrogate pair"),
        ("read_file", ["a"], "must be an object"),
        ("read_file", None, "must be an object"),
    ],
)
def test_complaints_name_the_field(name: str, arguments: object, words: str) -> None:
    assert words in complaint(name, arguments)


def test_expected_fields_are_listed() -> None:
    assert "expected path; optional start, limit" in complaint("read_file", {})


def test_null_for_an_optional_field_is_the_field_left_out() -> None:
    assert validate(TOOLS["read_file"].spec, {"path": "a", "start": None}) == {"path": "a"}


@pytest.mark.parametrize("name", TOOLS)
def test_every_example_is_valid(name: str) -> None:
    spec = TOOLS[name].spec
    assert validate(spec, spec.example) == spec.example


@pytest.mark.parametrize("name", TOOLS)
def test_schema_is_what_every_vendor_takes(name: str) -> None:
    schema = TOOLS[name].spec.parameters
    assert schema["type"] == "object"
    assert isinstance(schema["required"], list)
    assert set(schema["required"]) <= set(schema["properties"])
    assert all(field["description"] for field in schema["properties"].values())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["path", "old", "x"]), inner, max_size=3)
    ),
)


@given(st.sampled_from(sorted(TOOLS)), JSON)
def test_nothing_but_a_tool_error_comes_out(name: str, arguments: object) -> None:
    with contextlib.suppress(ToolError):
        valid = validate(TOOLS[name].spec, arguments)
        assert set(TOOLS[name].spec.parameters["required"]) <= set(valid)


def unknown(call: ToolCall, tools: dict) -> str:
    with pytest.raises(ToolError) as caught:
        find(call, tools)
    return str(caught.value)


def test_names_of_tools() -> None:
    assert find(ToolCall("1", "read_file", {}), TOOLS) is TOOLS["read_file"]
    assert "unknown tool: read_fil (did you mean read_file?" in unknown(ToolCall("1", "read_fil", {}), TOOLS)
    assert unknown(ToolCall("1", "write_file", {}), {"read_file": TOOLS["read_file"]}).startswith(
        "tool is not enabled: write_file"
    )
    empty = unknown(ToolCall("1", "", None, raw='{"path": "a'), TOOLS)
    assert "truncated mid-generation" in empty
    assert "received arguments" in empty
    assert '{"path": "a' in empty


def test_unparsed_arguments_are_answered_with_their_own_error() -> None:
    call = ToolCall("1", "read_file", None, error="arguments are not valid JSON: Expecting value at 3")
    with pytest.raises(ToolError, match="Expecting value at 3"):
        TOOLS["read_file"].arguments(call)
