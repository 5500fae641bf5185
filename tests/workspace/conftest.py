"""A workspace in a temporary folder, with an `ask` that answers as told and remembers what it was asked; a patient supervisor."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.waiting import PATIENCE
from tui_agent.core.types import ApprovalRequest, Decision, Outcome, ToolCall
from tui_agent.workspace import Workspace, supervised, supervisor

Supervision = Callable[..., None]


@dataclass
class Desk:
    """A workspace with the person in front of it. `answer` is what the person says, `before` runs while asked."""

    root: Path
    options: dict = field(default_factory=dict)
    answer: str = "yes"
    asked: list[ApprovalRequest] = field(default_factory=list)
    before: Callable[[], object] = lambda: None
    count: int = 0

    def __post_init__(self) -> None:
        self.workspace = Workspace(self.root, self._ask, **self.options)

    async def _ask(self, batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        self.asked += batch
        self.before()
        return tuple(Decision(request.id, self.answer) for request in batch)

    def call(self, tool: str, **arguments: object) -> Outcome:
        return asyncio.run(self.workspace.call(tool, arguments))

    def batch(self, *calls: tuple[str, dict], decide: Callable[[ApprovalRequest], Decision] | None = None) -> list:
        """Prepare all calls on top of each other, then commit them in order, as the loop does."""
        decide = decide or (lambda request: Decision(request.id, "yes"))

        async def run() -> list:
            requests, results = [], []
            for tool, arguments in calls:
                self.count += 1
                request = await self.workspace.prepare(ToolCall(f"c{self.count}", tool, arguments), tuple(requests))
                results.append(request)
                if isinstance(request, ApprovalRequest):
                    requests.append(request)
            return [
                r if isinstance(r, Outcome) else await self.workspace.commit(r, decide(r), lambda _: None)
                for r in results
            ]

        return asyncio.run(run())

    def put(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def tree(self) -> dict[str, bytes]:
        return {str(p.relative_to(self.root)): p.read_bytes() for p in sorted(self.root.rglob("*")) if p.is_file()}


class UntilSaid:
    """A limit that is over once the command has said a word: by then it is where the test wants it."""

    def __init__(self, word: str) -> None:
        self.word, self.said = word, ""

    def hear(self, piece: str) -> None:
        self.said += piece

    def __float__(self) -> float:
        return 0.0 if self.word in self.said else PATIENCE


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    root = tmp_path / "ws"
    root.mkdir()
    return Desk(root)


@pytest.fixture
def make_desk(tmp_path: Path) -> Callable[..., Desk]:
    def make(**options: object) -> Desk:
        root = tmp_path / "ws"
        root.mkdir(exist_ok=True)
        return Desk(root, options)

    return make


@pytest.fixture(autouse=True)
def supervision(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Supervision:
    """Lets supervisors wait otherwise, by the names of their constants: at first longer for the kernel, which ends what was killed."""
    source = Path(supervisor.__file__).read_text(encoding="utf-8")

    def wait(**seconds: float) -> None:
        text = source
        for name, value in seconds.items():
            text, found = re.subn(rf"(?m)^{name}_SECONDS = [\d.]+$", f"{name}_SECONDS = {value}", text)
            assert found == 1
        stop, kill = (float(seconds.get(name, getattr(supervisor, f"{name}_SECONDS"))) for name in ("STOP", "KILL"))
        monkeypatch.setattr(supervised, "_SETTLE_SECONDS", stop + kill + 0.2)
        named = "-".join(f"{name}-{value:g}" for name, value in sorted(seconds.items()))
        file = tmp_path_factory.getbasetemp() / f"supervisor-{named}.py"
        if not file.exists():
            file.write_text(text, encoding="utf-8")
        monkeypatch.setattr(supervisor, "__file__", str(file))

    wait(KILL=PATIENCE)
    return wait
