"""For any bytes of a file, any edit, any choice of hunks and any fault: the file is its old or its approved new bytes."""

from __future__ import annotations

import asyncio
import errno
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import event, given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.core.diff import apply_hunks, diff
from tui_agent.core.types import ApprovalRequest, Decision, Outcome, ToolCall, WriteBytes
from tui_agent.workspace import Workspace

POINTS = ("blob", "commit", "mkdir", "temp", "write", "fsync", "rename", "unlink", "fsync_dir")
ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT)


@dataclass
class Fault:
    """Fails at the N-th passage of a point, once or from then on, as soon as it is armed."""

    point: str
    first: int
    lasting: bool
    number: int
    armed: bool = False
    passed: int = 0

    def __call__(self, name: str) -> None:
        if self.armed and name == self.point:
            self.passed += 1
            if self.passed == self.first or (self.lasting and self.passed > self.first):
                raise OSError(self.number, os.strerror(self.number))


FAULTS = st.builds(Fault, st.sampled_from(POINTS), st.sampled_from([1, 1, 2]), st.booleans(), st.sampled_from(ERRORS))
END = st.sampled_from(["\n", "\r\n"])


@st.composite
def cases(draw: st.DrawFn) -> tuple[bytes | None, str, dict]:
    """Bytes of a file and a call that changes it: mostly one that fits, sometimes anything."""
    end, count = draw(END), draw(st.integers(0, 24))
    lines = [f"l{n}{draw(st.sampled_from(['', ' é', chr(9)]))}" for n in range(count)]
    text = draw(st.sampled_from(["", "\ufeff"])) + end.join(lines) + (end if draw(st.booleans()) else "")
    base = draw(st.sampled_from([text.encode()] * 6 + [None, draw(st.binary(max_size=30))]))
    changed = [line if draw(st.integers(0, 3)) else f"{line}!" for line in lines]
    new = end.join([*changed, *draw(st.lists(st.just("more"), max_size=2))]) + end
    olds = st.sampled_from([*(lines[10:] or lines or ["x"]), "nowhere"])
    edit = st.fixed_dictionaries({"old": olds, "new": st.sampled_from(["new", "n\nn", ""])})
    name = draw(st.sampled_from(["edit_file", "multi_edit", "write_file", "propose_edit", "delete_file"]))
    arguments = {
        "edit_file": lambda: {**draw(edit), "replace_all": draw(st.booleans())},
        "multi_edit": lambda: {"edits": draw(st.lists(edit, min_size=1, max_size=3, unique_by=lambda e: e["old"]))},
        "write_file": lambda: {"content": new},
        "propose_edit": lambda: {"old": (base or b"").decode("utf-8", "replace"), "new": new},
        "delete_file": dict,
    }[name]()
    return base, name, arguments


def bytes_of(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


@examples(250)
@given(cases(), FAULTS, st.none() | st.sets(st.integers(1, 5)), st.booleans())
def test_old_or_approved(case: tuple, fault: Fault, hunks: set[int] | None, undo: bool) -> None:
    base, name, arguments = case
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "ws")
        file = root / "sub/f.txt"
        file.parent.mkdir(parents=True)
        if base is not None:
            file.write_bytes(base)
        workspace = Workspace(root, None, blobs=Path(folder, "blobs"), reach=fault)

        async def prepared() -> ApprovalRequest | Outcome:
            await workspace.call("read_file", {"path": "sub/f.txt"})
            return await workspace.prepare(ToolCall("c", name, {**arguments, "path": "sub/f.txt"}))

        request = asyncio.run(prepared())
        assert bytes_of(file) == base
        if isinstance(request, Outcome):
            event("refused before it was asked")
            return
        effect = request.effect
        assert isinstance(effect, WriteBytes)
        change = diff(effect.base, effect.new)
        chosen = None if hunks is None else frozenset(hunks & {hunk.number for hunk in change.hunks})
        approved = effect.new if chosen is None else apply_hunks(effect.base, change, chosen)
        fault.armed = True
        outcome = asyncio.run(workspace.commit(request, Decision(request.id, "yes", chosen=chosen), lambda _: None))
        fault.armed = False
        now = bytes_of(file)
        event(f"{name}: {outcome.status}{' of hunks' if chosen is not None else ''}")
        assert now in (base, approved)
        assert (outcome.receipt is not None) is (now == approved and base != approved)
        if outcome.status == "applied":
            assert now == approved
        assert [p for p in root.rglob("*") if p.is_file() and p != file] == []
        if undo and outcome.receipt is not None:
            fault.armed, fault.passed = True, 0
            steps = asyncio.run(workspace.plan_undo([outcome.receipt]))
            results = asyncio.run(workspace.undo(steps))
            fault.armed = False
            after = bytes_of(file)
            event(f"undo: {[step.state for step in steps]} {[result.status for result in results]}")
            assert after in (base, approved)
            assert all(result.receipt is not None for result in results if result.status == "applied")
            assert [p for p in root.rglob("*") if p.is_file() and p != file] == []
