"""Whatever a model sends, the answer is an outcome; nothing outside the workspace is read or changed."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tui_agent.core.types import ApprovalRequest, Decision, Outcome
from tui_agent.tools.registry import TOOLS
from tui_agent.workspace import Workspace

NAMES = [
    "a.txt",
    "b",
    "src",
    "link",
    "out",
    ".git",
    ".env",
    "..",
    ".",
    "~",
    "\0",
    "",
    "x" * 300,
    "pipe",
    "\udcff",
    "a\n",
]
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)
TEXTS = st.sampled_from(["", "one", "one\n", "two\r\n", "\0", "\ud800", "one\ntwo\n", "(", "...", "```\nx\n```"])
VALUES = PATHS | TEXTS | st.none() | st.booleans() | st.integers(-1, 3)
EDITS = st.lists(st.fixed_dictionaries({"old": TEXTS, "new": TEXTS}), max_size=2)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "path": PATHS | VALUES,
        "old": TEXTS | VALUES,
        "new": TEXTS | VALUES,
        "content": TEXTS | VALUES,
        "text": TEXTS | VALUES,
        "start": VALUES,
        "limit": VALUES,
        "edits": EDITS | VALUES,
    },
)
FILES = [name for name in TOOLS if not name.startswith("run_") and name != "search"]


async def yes(batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
    return tuple(Decision(request.id, "yes") for request in batch)


@examples(60)
@given(calls=st.lists(st.tuples(st.sampled_from(FILES), ARGUMENTS), min_size=1, max_size=6))
def test_any_calls(tmp_path_factory, calls: list) -> None:
    base = tmp_path_factory.mktemp("c")
    ws = base / "ws"
    (ws / "src").mkdir(parents=True)
    (ws / ".git").mkdir()
    (base / "out").mkdir()
    (base / "out/a.txt").write_text("outside")
    (ws / "a.txt").write_bytes(b"one\ntwo\n")
    (ws / "link").symlink_to("src")
    (ws / "out").symlink_to("../out")
    workspace = Workspace(ws, yes)
    for tool, arguments in calls:
        outcome = asyncio.run(workspace.call(tool, arguments))
        assert isinstance(outcome, Outcome)
        assert outcome.text
        assert "outside" not in outcome.text.replace("leads outside", "").replace("file outside the workspace", "")
        assert (outcome.receipt is not None) <= (outcome.status == "applied")
    assert {str(p.relative_to(base)) for p in base.glob("out/**/*")} == {"out/a.txt"}
    assert (base / "out/a.txt").read_text() == "outside"
    assert list((ws / ".git").iterdir()) == []
    assert (ws / "link").is_symlink()
    assert not list(Path(base).rglob("*.tmp"))
