"""mlplcode's names on the product's loop, verbs and workspace: a layer of words, no second implementation."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.agent import Agent, Plain
from tui_agent.core.endings import Limits, StopReason
from tui_agent.core.loop import run
from tui_agent.core.receipt import Receipt
from tui_agent.core.types import (
    ApprovalRequest,
    AssistantMessage,
    Author,
    Decision,
    Model,
    Outcome,
    PolicyRequest,
    Reply,
    ReplyEnd,
    Request,
    RunArgv,
    TextDelta,
    ToolCall,
    UserMessage,
    Verdict,
)
from tui_agent.protocols import verbs
from tui_agent.protocols.action import Final, ParseError
from tui_agent.protocols.dialect import verbs_codec
from tui_agent.workspace import Workspace

WORDS = {"read_file": "read", "search": "search", "write_file": "write", "edit_file": "patch", "run_command": "run"}
VERBS = {tool: verb for verb, tool in verbs.TOOLS.items()}
PROGRAMS = {"mlpl": "run", "cargo": "run", "git": "git"}
REASONS = {StopReason.DENIED: "denied", StopReason.STEP_LIMIT: "budget", StopReason.REPEATED: "stuck"}

Action = dict[str, Any]


def parse_text(reply: str) -> dict[str, Any]:
    """In the form of the corpus: {"action": ...} or {"error": ...}."""
    match verbs.parse(reply):
        case ParseError(_, message):
            return {"error": message}
        case Final(text):
            return {"action": {"tool": "done", "summary": text}}
        case call:
            return {"action": _action(call)}


def _action(call: ToolCall) -> Action:
    fields = {"body" if key == "content" else key: value for key, value in (call.arguments or {}).items()}
    return {"tool": WORDS[call.name], **fields}


def authorize(action: Action, permissions: dict[str, str]) -> str:
    """allow, ask or deny: the row of the action's class."""
    match action:
        case {"tool": "done"}:
            return "allow"
        case {"tool": "run", **rest}:
            return permissions[PROGRAMS.get(next(iter(rest.get("argv") or ()), ""), "shell")]
        case {"tool": "patch"}:
            return permissions["write"]
    return permissions[action["tool"]]


def verify_tests(edited: bool, last_run: str | None) -> str:
    """What is missing before DONE counts, "" when nothing is: a file was written and the run after it named no failure."""
    if not edited:
        return "NOT VERIFIED: no file has been written yet"
    if last_run is None:
        return "NOT VERIFIED: run the tests again, nothing ran after the last edit"
    status, _, rest = last_run.partition("\n")
    passed = status.strip() in {"status: ok", "status: 0"} and not re.search(r"failed: *\S|FAILED", rest)
    return "" if passed else "NOT VERIFIED: the last test run failed"


@dataclass(frozen=True)
class State:
    """How a run ended."""

    reason: str
    iteration: int
    answer: str
    files: str
    history: str


class Verbs(Plain):
    """Verbs in mlplcode's layout: the task and all entries in one message. DONE is an action until it is verified."""

    task: str
    done: Callable[[], str]

    def encode(self, request: Request) -> Request:
        entries = []
        for message in verbs_codec("").encode(request).messages[1:]:
            if isinstance(message, AssistantMessage):
                entries.append(f"\n\nACTION:\n{message.text}")
            elif message.text.startswith("OBSERVATION:\n"):
                entries.append("\n\n" + message.text.replace("OBSERVATION:\nerror: ", "OBSERVATION:\nPARSE ERROR: ", 1))
        text = f"TASK:\n{self.task}\n\nWORK SO FAR:\n{''.join(entries)}\n\nChoose the next action."
        return replace(request, system="", messages=(UserMessage(text),))

    def decode(self, reply: Reply, offered: Any) -> Reply:
        read = verbs_codec("").decode(reply, offered)
        if read.calls and read.calls[0].error is not None:  # an unusable reply is repeated like any other
            return replace(read, calls=(ToolCall("", "", None, raw=reply.text),))
        if read.calls or not offered or not self.done():
            return read
        return replace(read, calls=(ToolCall("", "done", {"summary": read.text}, raw=reply.text),), text="")


class Table:
    """The product's workspace under mlplcode's table; RUN is `run`, and nothing else runs."""

    def __init__(self, root: Path, permissions: dict[str, str], run: Callable[[list[str]], str]) -> None:
        self.workspace = Workspace(root, tools=WORDS, numbers=False)
        self.specs = self.workspace.specs
        self._permissions, self._run = permissions, run
        self.missing = verify_tests
        self.edited, self.last_run = False, None

    async def prepare(self, call: ToolCall, earlier: Any) -> ApprovalRequest | Outcome:
        if call.name == "":
            return Outcome("error", f"error: {verbs.parse(call.raw).message}")
        if call.name == "done":
            return Outcome("refused", self.missing(self.edited, self.last_run))
        if call.name == "run_command":
            argv = tuple((call.arguments or {})["argv"])
            policy = PolicyRequest(call.name, "run", argv)
            return ApprovalRequest(f"a-{call.id}", call, RunArgv(argv, 1.0), policy, _title(call))
        prepared = await self.workspace.prepare(call, earlier)
        return _worded(prepared, call) if isinstance(prepared, Outcome) else replace(prepared, summary=_title(call))

    def decide(self, request: ApprovalRequest) -> Verdict:
        return Verdict(authorize(_action(request.call), self._permissions), "table", request.policy.permission)

    async def commit(self, request: ApprovalRequest, decision: Decision, emit: Any) -> Outcome:
        call = request.call
        if isinstance(request.effect, RunArgv):
            if request.effect.argv[0] not in PROGRAMS:
                return Outcome("refused", "ERROR: nothing beneath can run this")
            self.last_run = self._run(list(request.effect.argv))
            return Outcome("applied", self.last_run, Receipt(request.id, call.id, call.name, call.arguments or {}))
        outcome = _worded(await self.workspace.commit(request, decision, emit), call)
        if outcome.receipt is not None and outcome.receipt.path is not None:
            self.edited, self.last_run = True, None
        return outcome


def _title(call: ToolCall) -> str:
    arguments = call.arguments or {}
    return f"{VERBS[call.name]} {arguments.get('path') or arguments.get('text') or ' '.join(arguments['argv'])}"


def _worded(outcome: Outcome, call: ToolCall) -> Outcome:
    """The product's result in mlplcode's words."""
    path = (call.arguments or {}).get("path", "")
    if outcome.status == "applied":
        return outcome
    if "was not read in this session" in outcome.text:
        return replace(outcome, text=f"read {path} before writing it")
    if count := re.search(r"\boccurs (\d+) times", outcome.text):
        return replace(outcome, text=f"PATCH ERROR: the OLD block occurs {count[1]} time(s)\n{outcome.text}")
    return replace(outcome, text=f"ERROR: {outcome.text}")


def run_loop(  # noqa: PLR0917 - the contract's own order
    task: str,
    budget: int,
    ask: Callable[[str], str],
    permissions: dict[str, str],
    decide: Callable[[Action], bool],
    root: Path,
    run_tests: Callable[[list[str]], str] = lambda _: "status: ok",
    verify: Callable[[bool, str | None], str] = verify_tests,
) -> State:
    """Run to one of done, denied, budget, stuck."""
    prompts: list[str] = []
    table = Table(root, permissions, run_tests)
    table.missing = verify
    dialect = Verbs()
    object.__setattr__(dialect, "task", task)
    object.__setattr__(dialect, "done", lambda: verify(table.edited, table.last_run))

    async def stream(request: Request):
        if len(prompts) < budget:  # the product's own last step, for a summary, is one more
            prompts.append(request.messages[0].text)
            yield TextDelta(ask(prompts[-1]))
        yield ReplyEnd("stop")

    async def person(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        return tuple(Decision(r.id, "yes" if decide(_action(r.call)) else "no") for r in batch)

    agent = Agent(
        Model(Author("mlplcode", "", ""), stream),
        table,
        person,
        Limits(max_steps=budget + 1, max_invalid=budget + 1, repeat_window=1),
        on_reject="stop",
        on_deny="stop",
        dialect=dialect,
    )

    async def play() -> list[Any]:
        return [event async for event in run(task, agent)]

    events = asyncio.run(play())
    end = next(e for e in events if isinstance(e, ev.RunEnded))
    said = [e.message.text for e in events if isinstance(e, ev.AssistantSaid)]
    entries = [e for e in events if not (isinstance(e, ev.AssistantSaid) and not (e.message.text or e.message.calls))]
    last = dialect.encode(Request("", fold.history(entries)))
    history = last.messages[0].text.partition("WORK SO FAR:\n")[2].rpartition("\n\nChoose the next action.")[0]
    reason = REASONS.get(end.reason, "done")
    answer = said[-1] if reason == "done" else end.detail
    return State(reason, len(prompts), answer, "\n".join(fold.changes(events)), history)
