"""The Racket harness's result strings: a proposal goes through the product's own loop, and its events are put in words."""

from __future__ import annotations

import posixpath
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tui_agent.core.check import Check
from tui_agent.core.context import head_and_tail
from tui_agent.core.endings import Limits
from tui_agent.core.events import CheckDone, ToolDone
from tui_agent.core.loop import Agent, run
from tui_agent.core.policy import DEFAULT
from tui_agent.core.types import Answer, ApprovalRequest, Decision, Emit, Tools
from tui_agent.modes import DryRun
from tui_agent.providers.scripted import Script, scripted
from tui_agent.questions import ANSWERS
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
SHELL = frozenset({"make", "ls", "pwd", "cat", "uv"})


def answer_of(typed: str | None) -> Answer | None:
    """What a typed answer means; None asks again, the end of the input means no."""
    meant = "no" if typed is None else ANSWERS.get(typed.strip().lower())
    return None if meant == "stop" else meant  # the harness has no such answer


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


def result(done: ToolDone, check: CheckDone | None, *, auto: bool) -> str:
    """The string that the model is told of a proposal that was decided."""
    if done.status != "applied":
        return done.text
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
        call = {"name": "propose_edit", "arguments": {"path": path, "old": old, "new": new}}
        auto = self.mode == "auto"
        tools: Tools = Workspace(self.root, permissions=replace(DEFAULT, cli_yes=auto))
        if self.mode == "dry-run":
            tools = DryRun(tools, lambda _: None)
        model = scripted(Script(({"calls": [call]},), after={"text": "done"}))
        check = Check(("make", "check"), self._make_check, asks="never")
        agent = Agent(model, tools, self._person, Limits(max_invalid=1), check=check)
        async with aclosing(run("propose", agent)) as stream:
            events = [event async for event in stream]
        done = next(event for event in events if isinstance(event, ToolDone))
        return result(done, next((e for e in events if isinstance(e, CheckDone)), None), auto=auto)

    async def _person(self, batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        return tuple(Decision(request.id, answer_of(self.answer) or "no", self.reason) for request in batch)

    async def _make_check(self, _emit: Emit) -> CheckDone:
        return CheckDone(("make", "check"), self.exit_code, self.output, 0.0)
