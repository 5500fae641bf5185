"""Every case of edits.json through the workspace: what file tools do to bytes, links, modes, races and paths."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path

import pytest

from tui_agent.core.types import ApprovalRequest, Decision
from tui_agent.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / (os.environ.get("TUI_AGENT_CASES") or "tests/cases")
NOBODY = 65534


def _load(name: str):
    spec = importlib.util.spec_from_file_location(f"cases_{name}", ROOT / "tests/cases/edits" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


H = _load("harness")
EDITS = H.load(str(CASES / "edits" / "edits.json"))
PARAMS = [pytest.param(case, id=case["name"]) for case in EDITS]


class Adapter:
    """The product as the harness knows it: the approval dialog is the workspace's `ask`."""

    def __init__(self, root: Path, approve) -> None:
        self._approve = approve
        self._workspace = Workspace(root, self._ask)

    async def _ask(self, batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        return tuple(self._decision(request) for request in batch)

    def _decision(self, request: ApprovalRequest) -> Decision:
        answer = self._approve(request.call.name, dict(request.call.arguments or {}))
        word, _, reason = answer.partition(":")
        return Decision(request.id, {"cancel": "stop"}.get(word, word), reason)

    def call(self, tool: str, args: dict) -> tuple[str, str]:
        outcome = asyncio.run(self._workspace.call(tool, args))
        return outcome.status, outcome.text


def _as_nobody(case: dict) -> list[str]:
    """Run a case in a child that is no longer root; its reasons come back through a pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            reasons = H.run_edit_case(case, Adapter)
        except BaseException:  # noqa: BLE001 - whatever happens in the child is the result
            reasons = [traceback.format_exc()]
        os.write(writing, json.dumps(reasons).encode()[:60_000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer)


@pytest.mark.parametrize("case", PARAMS)
def test_edit_case(case: dict) -> None:
    needs_nobody = "non-root" in case.get("needs", []) and os.geteuid() == 0
    assert (_as_nobody(case) if needs_nobody else H.run_edit_case(case, Adapter)) == []


def test_every_case_has_its_test() -> None:
    data = json.loads((CASES / "edits" / "edits.json").read_text(encoding="utf-8"))
    assert len({param.id for param in PARAMS}) == len(data["cases"])
    assert "cases_harness" not in sys.modules
