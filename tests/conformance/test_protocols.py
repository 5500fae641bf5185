"""Every case of the text and JSON protocol corpora through the parsers of the product."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

from tui_agent.core.guards import signature
from tui_agent.protocols import json_object, verbs
from tui_agent.protocols.action import Final, ParseError

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / (os.environ.get("TUI_AGENT_CASES") or "tests/cases")
_spec = importlib.util.spec_from_file_location("protocol_harness", ROOT / "tests/cases/edits/harness.py")
H = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(H)

TEXT = H.load(str(CASES / "edits" / "text_protocol.json"))
JSON = H.load(str(CASES / "edits" / "json_protocol.json"))
# the harness's words for the tools of the verbs, and for their arguments
TOOLS = {"read_file": "read", "search": "search", "write_file": "write", "edit_file": "patch", "run_command": "run"}
BODY = {"content": "body"}


def parse_text(reply: str) -> dict:
    match verbs.parse(reply):
        case ParseError(_, message):
            return {"error": message}
        case Final(text):
            return {"action": {"tool": "done", "summary": text}}
        case call:
            return {"action": {"tool": TOOLS[call.name], **{BODY.get(k, k): v for k, v in call.arguments.items()}}}


def parse_json(reply: str, enabled: frozenset[str]) -> dict:
    match json_object.parse(reply, enabled):
        case ParseError(_, message):
            return {"error": message}
        case Final(text):
            return {"action": {"final": text}}
        case call:
            return {"action": {"tool": call.name, "arguments": call.arguments}}


def signature_of(enabled: frozenset[str]):
    def of(reply: str) -> str:
        action = json_object.parse(reply, enabled)
        assert not isinstance(action, ParseError | Final), action
        return signature(action)

    return of


@pytest.mark.parametrize("case", TEXT, ids=lambda case: case["name"])
def test_text_protocol(case: dict) -> None:
    assert H.run_parse_case(case, parse_text) == []
    for wrong in case.get("must_not", []):
        assert parse_text(case["reply"]) != wrong


@pytest.mark.parametrize("case", JSON, ids=lambda case: case["name"])
def test_json_protocol(case: dict) -> None:
    enabled = frozenset(case["enabled"])
    assert H.run_parse_case(case, parse_json, signature_of(enabled)) == []


def test_every_case_is_parametrised_once() -> None:
    for test, file in ((test_text_protocol, "text_protocol.json"), (test_json_protocol, "json_protocol.json")):
        (mark,) = test.pytestmark
        names = [mark.kwargs["ids"](case) for case in mark.args[1]]
        written = json.loads((CASES / "edits" / file).read_text("utf-8"))["cases"]
        assert len(set(names)) == len(names) == len(written) > 0
