"""The Racket harness's result strings, from the product's own outcomes, decisions and checks."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tui_agent.core.context import head_and_tail
from tui_agent.core.events import CheckDone
from tui_agent.core.guards import refusal
from tui_agent.core.types import Decision, Outcome, ToolCall, Verdict
from tui_agent.tools.names import noise
from tui_agent.workspace import Workspace

NAMES = {
    "read_file": "read_file",
    "list_dir": "list_files",
    "grep": "search",
    "run_shell": "run_command",
    "propose_edit": "propose_edit",
}
"""The harness's five tools and those of the product behind them."""
GATE = 2_000
"""Characters of a failed check's output."""
ANSWERS = {"y": "yes", "yes": "yes", "n": "no", "no": "no", "s": "skip", "skip": "skip"}
SHELL = frozenset({"make", "ls", "pwd", "cat", "uv"})


def answer_of(typed: str | None) -> str | None:
    """What a typed answer means; None asks again, the end of the input means no."""
    return "no" if typed is None else ANSWERS.get(typed.strip().lower())


def hidden(path: str) -> bool:
    """Whether the last component of a path is one that the harness never shows."""
    name = posixpath.basename(path.rstrip("/"))
    return name.startswith(".") or noise(name)


def shell_refusal(command: list[str]) -> str:
    """Why `run_shell` refuses a command, "" when it does not."""
    if not command:
        return "empty command"
    if command[0] not in SHELL:
        return f"refused: {command[0]!r} is not allowed; allowed are {', '.join(sorted(SHELL))}"
    bad = next((word for word in command[1:] if not word.startswith("-") and hidden(word)), "")
    return f"refused: hidden/internal file: {bad}" if bad else ""


def result(outcome: Outcome, check: CheckDone | None, *, auto: bool) -> str:
    """The string that the model is told of a proposal that was decided."""
    if outcome.status != "applied":
        return outcome.text
    applied = "applied (auto-approved)" if auto else "applied"
    if check is None:
        return applied
    if check.passed:
        return f"{applied}; make check passed"
    output = head_and_tail(check.output, GATE // 2, GATE // 2)
    return f"{applied}; make check FAILED (exit {check.exit_code or 1}):\n{output}"


@dataclass
class Harness:
    """`propose_edit` in one folder. `exit_code` is what `make check` gives, `answer` what the person types."""

    root: Path
    answer: str | None = "y"
    reason: str = ""
    mode: Literal["ask", "auto", "dry-run"] = "ask"
    exit_code: int = 0
    output: str = ""

    async def propose_edit(self, path: str, old: str, new: str) -> str:
        workspace = Workspace(self.root)
        call = ToolCall("1", "propose_edit", {"path": path, "old": old, "new": new})
        request = await workspace.prepare(call)
        if isinstance(request, Outcome):
            return request.text
        if self.mode == "dry-run":
            return "dry-run: diff shown, file not written (use without --dry-run to apply)"
        said = "yes" if self.mode == "auto" else answer_of(self.answer)
        decision = Decision(request.id, said or "no", self.reason)  # type: ignore[arg-type]
        outcome, _ = refusal(request, Verdict("ask", "table: write = ask", "write"), decision)
        if outcome is not None:
            return outcome.text
        outcome = await workspace.commit(request, decision, lambda _: None)
        check = CheckDone(("make", "check"), self.exit_code, self.output, 0.0)
        return result(outcome, check, auto=self.mode == "auto")
