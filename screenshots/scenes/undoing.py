"""Taking back, and the receipts."""

from __future__ import annotations

from textual.pilot import Pilot

from screenshots.scenes.stage import Scene, settle, tell, until
from screenshots.scenes.story import LEXER, LEXER_NEW, call, done, said, sha
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.receipt import FileChange, Receipt
from tui_agent.ui.app import AgentApp
from tui_agent.ui.undo import UndoScreen
from tui_agent.ui.viewer import Viewer
from tui_agent.workspace.receipts import Blobs


def _changed(app: AgentApp) -> None:
    """Two turns that changed files, with copies of what they held, and a change of the person's own since."""
    Blobs(app.session.folder / "blobs").put(LEXER)
    (app.session.root / "src/lexer.py").write_bytes(LEXER_NEW)
    (app.session.root / "docs/a.md").write_bytes(b"mine\n")
    edit, create, docs = (call(n, name) for n, name in ((20, "edit_file"), (21, "write_file"), (22, "edit_file")))
    made = (
        Receipt("7c1f-4", "c20", "edit_file", {}, "src/lexer.py", sha(LEXER), sha(LEXER_NEW), None, 0.004, "key", 6, 3),
        Receipt(
            "7c1f-6", "c21", "write_file", {}, "tests/test_lex.py", None, sha(b"\n"), None, 0.003, "flag: --yes", 1, 0
        ),
        Receipt("7c1f-9", "c22", "edit_file", {}, "docs/a.md", sha(LEXER), sha(b"x"), None, 0.002, "key", 1, 1),
    )
    ran = Receipt(
        "7c1f-7",
        "c23",
        "run_command",
        {"argv": ["sed", "-i", "s/old name/new/", "src/tokens.py"]},
        exit_code=0,
        duration=0.031,
        by="key",
        changed=(FileChange("src/tokens.py", "", sha(b"\n")),),
    )
    tell(
        app,
        ev.UserSaid("Unicode escapes outside the BMP come out as two lone surrogates. Fix it."),
        said("", edit, create),
        done(edit, "edit  src/lexer.py  +6 -3", receipt=made[0]),
        done(create, "create  tests/test_lex.py  +1 -0", receipt=made[1]),
        ev.RunEnded(StopReason.UNVERIFIED, "", 2),
        ev.UserSaid("Now rename the token and say so in the docs."),
        said("", call(23, "run_command"), docs),
        done(call(23, "run_command"), "run  sed -i …", "exit 0, 1 files changed", 0.031, receipt=ran),
        done(docs, "edit  docs/a.md  +1 -1", receipt=made[2]),
        ev.RunEnded(StopReason.UNVERIFIED, "", 3),
    )


async def _undo(app: AgentApp, pilot: Pilot[int]) -> None:
    _changed(app)
    app.main.act("session.undo")
    await until(lambda: isinstance(app.screen, UndoScreen))
    await settle(pilot)


async def _undo_plan(app: AgentApp, pilot: Pilot[int]) -> None:
    await _undo(app, pilot)
    await pilot.press("down", "enter")
    await settle(pilot)


async def _receipts(app: AgentApp, pilot: Pilot[int]) -> None:
    _changed(app)
    app.main.act("session.receipts")
    await until(lambda: isinstance(app.screen, Viewer))
    await settle(pilot)


SCENES = (
    Scene("undo", _undo),
    Scene("undo-plan", _undo_plan),
    Scene("receipts", _receipts),
)
