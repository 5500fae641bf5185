"""Small stand-ins for the injected world: a workspace in memory and a person who answers from a list."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from tui_agent.core.receipt import Receipt
from tui_agent.core.types import (
    ApprovalRequest,
    Decision,
    Emit,
    Outcome,
    PolicyRequest,
    ReadFile,
    RunArgv,
    ToolCall,
    ToolSpec,
    Verdict,
    WriteBytes,
)


def sha(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


@dataclass
class FakeTools:
    """read_file (allowed), write_file (asked), run (asked, may hang); keeps its files in a dict."""

    files: dict[str, bytes] = field(default_factory=dict)
    deny: frozenset[str] = frozenset()
    committed: list[str] = field(default_factory=list)
    hang: asyncio.Event | None = None
    count: int = 0

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(ToolSpec(n, n, {"type": "object"}, {}) for n in ("read_file", "write_file", "run_command"))

    async def prepare(self, call: ToolCall, earlier: tuple[ApprovalRequest, ...]) -> ApprovalRequest | Outcome:
        self.count += 1
        args = call.arguments or {}
        if call.name == "boom":
            raise RuntimeError("kaboom")
        if call.name not in {"read_file", "write_file", "run_command"}:
            return Outcome("error", f"error: unknown tool: {call.name}", invalid=True)
        if call.name == "run_command":
            argv = tuple(args["argv"])
            return ApprovalRequest(
                f"r{self.count}", call, RunArgv(argv, 1.0), PolicyRequest("run_command", "run"), "run"
            )
        path = args["path"]
        if call.name == "read_file":
            return ApprovalRequest(
                f"r{self.count}", call, ReadFile(path), PolicyRequest("read_file", "read"), f"read  {path}"
            )
        same = [e for e in earlier if isinstance(e.effect, WriteBytes) and e.effect.path == path]
        base = same[-1].effect.new if same else self.files.get(path)
        effect = WriteBytes(path, base, args["content"].encode())
        policy = PolicyRequest("write_file", "write", path=path)
        depends = tuple(e.id for e in same)
        return ApprovalRequest(f"r{self.count}", call, effect, policy, f"edit  {path}", depends_on=depends)

    def decide(self, request: ApprovalRequest) -> Verdict:
        kind = request.policy.permission
        if request.call.name in self.deny:
            return Verdict("deny", f"table: {kind} = deny", kind)
        return Verdict("allow" if kind == "read" else "ask", f"table: {kind}", kind)

    async def commit(self, request: ApprovalRequest, decision: Decision, emit: Emit) -> Outcome:
        effect = request.effect
        self.committed.append(request.summary)
        call = request.call
        if isinstance(effect, ReadFile):
            if effect.path not in self.files:
                return Outcome("error", f"error: {effect.path} does not exist")
            return Outcome("applied", self.files[effect.path].decode(), note="1 line")
        if isinstance(effect, RunArgv):
            emit("hello\n")
            if self.hang is not None:
                await self.hang.wait()
            receipt = Receipt(request.id, call.id, call.name, call.arguments or {}, exit_code=0, by=decision.by)
            return Outcome("applied", "exit 0", receipt, "exit 0")
        assert isinstance(effect, WriteBytes)
        before = self.files.get(effect.path)
        if before != effect.base:
            return Outcome("refused", f"stale base: {effect.path} changed")
        assert effect.new is not None
        self.files[effect.path] = effect.new
        receipt = Receipt(
            request.id,
            call.id,
            call.name,
            call.arguments or {},
            effect.path,
            sha(before),
            sha(effect.new),
            by=decision.by,
        )
        return Outcome("applied", f"wrote {effect.path}", receipt, "+1 -0")


@dataclass
class Person:
    """Answers questions from a list ("yes", "no:why", "skip:why", "stop"); the last answer repeats."""

    answers: Iterable[str] = ("yes",)
    asked: list[tuple[ApprovalRequest, ...]] = field(default_factory=list)
    by: str = "key"

    def __post_init__(self) -> None:
        self._left = list(self.answers)

    async def __call__(self, batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        self.asked.append(batch)
        out = []
        for request in batch:
            word = self._left.pop(0) if len(self._left) > 1 else self._left[0]
            answer, _, reason = word.partition(":")
            out.append(Decision(request.id, answer, reason, self.by))  # type: ignore[arg-type]
        return tuple(out)
