"""Every case of policy/commands.json, one test each."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tui_agent.core.policy import DEFAULT, Policy, decide
from tui_agent.core.programs import TOOLS
from tui_agent.core.types import PolicyRequest

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / (os.environ.get("TUI_AGENT_CASES") or "tests/cases")
DATA = json.loads((CASES / "policy" / "commands.json").read_text(encoding="utf-8"))
IDS = [case["id"] for case in DATA["cases"]]


def policy_of(case: dict[str, Any]) -> Policy:
    fields = DATA["policies"][case["policy"]]
    return Policy(
        table=fields["table"],
        allow=tuple(fields["allow"]),
        deny=tuple(fields["deny"]),
        interactive=fields["interactive"],
        trusted=fields["trusted"],
        cli_yes=case.get("cli_yes", False),
    )


def request_of(case: dict[str, Any]) -> PolicyRequest:
    floors = ("the tool's definition changed",) if case.get("definition") == "changed" else ()
    if "command" in case:
        return PolicyRequest("run_command", "run", command=case["command"], floors=floors)
    if "argv" in case:
        argv = case["argv"]
        return PolicyRequest("run_command", "run", argv=tuple(argv) if isinstance(argv, list) else argv, floors=floors)
    if case["tool"] == "mcp":
        return PolicyRequest(f"{case['server']}/{case['name']}", "mcp", floors=floors)
    return PolicyRequest(case["tool"], TOOLS.get(case["tool"], "none"), path=case.get("path"), floors=floors)


@pytest.mark.parametrize("case", DATA["cases"], ids=IDS)
def test_case(case: dict[str, Any]) -> None:
    verdict = decide(request_of(case), policy_of(case))
    assert verdict.permission == case["expect"], f"{verdict.rule}: {case['why']}"
    assert verdict.rule
    if case["class"] in {"read", "write", "run", "git", "shell", "network", "mcp"}:
        assert verdict.permission_class == case["class"]


def test_no_breach() -> None:
    verdicts = [(case["id"], case["expect"], decide(request_of(case), policy_of(case))) for case in DATA["cases"]]
    assert [name for name, expect, verdict in verdicts if verdict.permission == "allow" and expect != "allow"] == []


def test_every_case_runs_once() -> None:
    assert len(set(IDS)) == len(DATA["cases"]) > 0


def test_the_default_policy_is_the_one_of_the_cases() -> None:
    assert policy_of({"policy": "default"}) == DEFAULT
