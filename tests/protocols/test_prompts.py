from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tui_agent.core.types import ToolCall, ToolSpec
from tui_agent.protocols import json_object, verbs
from tui_agent.protocols.action import Final, ParseError
from tui_agent.protocols.fields import BUILT_IN
from tui_agent.protocols.prompts import json_observation, json_prompt, json_schema, verbs_observation, verbs_prompt
from tui_agent.session import SHELL
from tui_agent.tools.lookups import LOOKUPS
from tui_agent.tools.registry import EXAMPLE_PATH, TOOLS

SPECS = tuple(tool.spec for tool in TOOLS.values())
ROOT = Path("/home/ada/projects/a_shop_with_a_long_name")
CHECK = ("make", "check")
CHARACTERS = 3.44
"""Characters of this JSON to a token, as the tokenizer of SmolLM2 counts it: fewer than of prose."""
PROMPTS = pytest.mark.parametrize("prompt", [json_prompt, verbs_prompt])
FOREIGN = ToolSpec("git__log", "Show the log. Newest first.", {"properties": {"n": {}, "q": {}}, "required": ["n"]}, {})


def only(*names: str) -> list[ToolSpec]:
    return [spec for spec in SPECS if spec.name in names]


@PROMPTS
def test_a_prompt_with_every_tool_has_at_most_700_tokens(prompt) -> None:
    everything = [*(spec for spec in SPECS if spec.name not in SHELL), *(tool.spec for tool in LOOKUPS.values())]
    assert len(prompt(everything, ROOT, CHECK)) / CHARACTERS <= 700


def test_what_a_tool_of_ours_does_is_never_cut() -> None:
    assert "…" not in json_prompt([*SPECS, *(tool.spec for tool in LOOKUPS.values())], ROOT, CHECK)


@PROMPTS
def test_no_path_but_the_workspace_and_the_example_is_named(prompt) -> None:
    text = prompt(SPECS, ROOT, CHECK)
    assert str(ROOT) in text
    rest = text.replace(str(ROOT), "").replace(EXAMPLE_PATH, "").replace("/bin/sh", "")
    assert not re.search(r"\w/\w|/\w|\w\.(py|txt|md|json|toml|c|rs)\b", rest)


@PROMPTS
def test_a_prompt_is_stable_and_whole(prompt) -> None:
    text = prompt(SPECS, ROOT, CHECK)
    assert text == prompt(iter(SPECS), ROOT, CHECK)
    assert not re.search(r"\{(root|tools|final|rules|examples)\}", text)
    assert "\n\n\n" not in text
    assert re.search(r"Never write an? \w+ yourself", text)
    assert "`make check` runs by itself" in text
    assert "runs by itself" not in prompt(SPECS, ROOT, None)
    assert "runs by itself" not in prompt(only("read_file"), ROOT, CHECK)


def test_json_prompt_shows_the_enabled_tools_only_and_as_they_are_read() -> None:
    enabled = ["read_file", "list_files", "run_command"]
    text = json_prompt(only(*enabled), ROOT, CHECK)
    shown = re.findall(r'^(\{"(?:tool|final)".*\})(?: \w.*)?$', text, re.MULTILINE)
    actions = [json_object.parse(line, enabled) for line in shown]
    assert [a.name for a in actions[:-1] if isinstance(a, ToolCall)] == enabled
    assert isinstance(actions[-1], Final)
    assert '"tool":"write_file"' not in text
    assert "edit_file" not in text
    assert "optional: start, limit" in text


def test_every_example_of_the_table_is_a_valid_call() -> None:
    for line in re.findall(r'^(\{"tool".*\}) \w', json_prompt(SPECS, ROOT, CHECK), re.MULTILINE):
        assert isinstance(json_object.parse(line, set(BUILT_IN)), ToolCall), line


def test_json_prompt_leaves_out_what_it_cannot_express_and_shows_foreign_tools() -> None:
    clash = ToolSpec("x__y", "d", {"properties": {"tool": {"type": "string"}}}, {})
    text = json_prompt([FOREIGN, clash], ROOT, None)
    assert '{"tool":"git__log","n":"..."} Show the log; optional: q' in text
    assert "x__y" not in text
    assert "x__y" not in json.dumps(json_schema([clash]))


def test_verbs_prompt_shows_the_verbs_of_the_enabled_tools_only() -> None:
    text = verbs_prompt(only("read_file", "run_command", "list_files"), ROOT, CHECK)
    assert re.findall(r"^[A-Z]{3,}\b", text, re.MULTILINE) == ["READ", "RUN", "DONE", "RUN", "DONE"]
    assert "list_files" not in text


def test_examples_of_the_verbs_are_read_as_actions() -> None:
    text = verbs_prompt(SPECS, ROOT, CHECK)
    examples = text.split("not your files):\n\n")[1].split("\n\nRules:")[0].split("\n\n")
    assert len(examples) == 3
    for example in examples:
        assert not isinstance(verbs.parse(example), ParseError), example


@PROMPTS
def test_tools_without_examples_do_no_harm(prompt) -> None:
    prompt([ToolSpec(name, name, {"type": "object"}, {}) for name in BUILT_IN], ROOT, None)
    prompt([], ROOT, None)


def test_observations_hold_the_result_unaltered() -> None:
    assert json_observation("  a\r\n{rules}") == "Tool result:\n  a\r\n{rules}"
    assert verbs_observation("  a\r\n") == "OBSERVATION:\n  a\r\n"


def test_the_schema_allows_one_final_answer_or_one_offered_call() -> None:
    final, read, run = json_schema(only("read_file", "run_command"))["anyOf"]
    assert final["required"] == ["final"]
    assert list(read["properties"]) == ["tool", "path", "start", "limit"]
    assert read["properties"]["tool"]["enum"] == ["read_file"]
    assert read["required"] == ["tool", "path"]
    assert read["additionalProperties"] is run["additionalProperties"] is False
    assert run["properties"]["argv"]["items"] == {"type": "string"}


def test_a_schema_with_references_is_not_sent_in_part() -> None:
    spec = ToolSpec("a__b", "d", {"properties": {"x": {"$ref": "#/$defs/x"}}, "required": ["x"]}, {})
    assert json_schema([spec])["anyOf"][1]["properties"] == {"tool": {"type": "string", "enum": ["a__b"]}}
