"""The pane of all changes."""

from __future__ import annotations

from functools import partial

from textual.pilot import Pilot

from screenshots.scenes.asking import SPREAD, SPREAD_NEW, coloured
from screenshots.scenes.stage import LOOKS, Scene, settle, tell, until
from screenshots.scenes.story import STORY, call, done, request
from tui_agent.core.types import (
    Decision,
    WriteBytes,
)
from tui_agent.ui.app import AgentApp
from tui_agent.ui.review import Review

ODD = {
    "docs/logo.bin": (b"\0" * 90, b"\0" * 120),
    "docs/ends.txt": (b"one\ntwo\nthree\n", b"one\r\ntwo\r\nthree"),
    "docs/tabs.txt": (b"a\tb\n", "a    b\n漢字\tx  \ne\u0301 é\n".encode()),
    "docs/min.js": (b"var a=1;" * 9000 + b"\n", b"var a=1;" * 4000 + b"var b=2;" + b"var a=1;" * 5000 + b"\n"),
}
"""Files whose difference is no plain text: binary, other line ends, tabs and wide characters, one very long line."""


async def _review(app: AgentApp, pilot: Pilot[int]) -> None:
    """Two edits and a new file, one edit refused, one note."""
    await edited(app, pilot)
    await pilot.press("f4")
    await until(lambda: isinstance(app.screen, Review) and app.screen.view is not None and app.screen.view.complete)
    await until(lambda: isinstance(app.screen, Review) and not app.screen.sums.more)
    await coloured(app)


async def edited(app: AgentApp, _pilot: Pilot[int]) -> None:
    """Let edits really have happened, with their copies."""
    workspace = app.session.workspace
    tell(app, *STORY[:1])
    for number, (path, text) in enumerate(
        {"src/lexer.py": SPREAD_NEW, "tests/test_esc.py": b"def test_pair():\n    assert True\n"}.items()
    ):
        target = app.session.root / path
        if path == "src/lexer.py":
            target.write_bytes(SPREAD)
        base = target.read_bytes() if target.exists() else None
        edit = request(20 + number, WriteBytes(path, base, text), f"edit  {path}", "")
        outcome = await workspace.commit(edit, Decision(edit.id, "yes"), lambda _: None)
        tell(app, done(edit.call, f"edit  {path}", receipt=outcome.receipt))
    refused = call(22, "edit_file", path="src/tokens.py", old="KIND = 1\n", new="KIND = 2\n")
    tell(app, done(refused, "edit  src/tokens.py", "keep the name", status="refused", denied="person"))


async def _review_sure(app: AgentApp, pilot: Pilot[int]) -> None:
    await _review(app, pilot)
    await pilot.press("right_square_bracket", "m", *"why a tuple?", "enter", "u")


async def _review_refused(app: AgentApp, pilot: Pilot[int]) -> None:
    await _review(app, pilot)
    await pilot.press("left_curly_bracket")
    await settle(pilot)
    await coloured(app)


async def _review_note(app: AgentApp, pilot: Pilot[int]) -> None:
    await _review(app, pilot)
    await pilot.press("right_square_bracket", "m", *"why a tuple?")


async def _review_odd(app: AgentApp, pilot: Pilot[int], steps: int) -> None:
    """Changes of odd files, one of them in sight, with blanks drawn as marks."""
    for number, (path, (base, new)) in enumerate(ODD.items()):
        (app.session.root / path).write_bytes(base)
        change = request(30 + number, WriteBytes(path, base, new), f"edit  {path}", "")
        outcome = await app.session.workspace.commit(change, Decision(change.id, "yes"), lambda _: None)
        tell(app, done(change.call, f"edit  {path}", receipt=outcome.receipt))
    await pilot.press("f4")
    await until(lambda: isinstance(app.screen, Review) and app.screen.view is not None and app.screen.view.complete)
    await settle(pilot)
    for _ in range(steps):
        await pilot.press("right_curly_bracket")
        await settle(pilot)
    await pilot.press("full_stop")


async def _review_empty(app: AgentApp, pilot: Pilot[int]) -> None:
    await pilot.press("f4")
    await settle(pilot)


async def _review_command(app: AgentApp, pilot: Pilot[int], steps: int) -> None:
    """What a command did: a file has other bits, one was changed, with its unchanged lines shown, and one renamed."""
    workspace, root = app.session.workspace, app.session.root
    tell(app, *STORY[:1])
    before = {"src/lexer.py": SPREAD, "src/kinds.py": b"KIND = 1\n", "run.sh": b"#!/bin/sh\n", "lexer.new": SPREAD_NEW}
    for path, text in before.items():
        (root / path).write_bytes(text)
        (root / path).chmod(0o644)
        await workspace.call("read_file", {"path": path})
    script = "mv src/kinds.py src/names.py; chmod 755 run.sh; cp lexer.new src/lexer.py"
    asked = workspace.own(script)
    outcome = await workspace.commit_own(asked, lambda _: None)
    tell(app, done(asked.call, f"shell  {script}", receipt=outcome.receipt))
    await pilot.press("f4")
    await until(lambda: isinstance(app.screen, Review) and not app.screen.sums.more)
    await settle(pilot)
    for _ in range(steps):
        await pilot.press("right_curly_bracket")
        await settle(pilot)
    await pilot.press("x")
    await coloured(app)


SCENES = (
    Scene("review", _review),
    Scene("review-note", _review_note),
    Scene("review-binary", partial(_review_odd, steps=0)),
    Scene("review-ends", partial(_review_odd, steps=1)),
    Scene("review-tabs", partial(_review_odd, steps=2)),
    Scene("review-minified", partial(_review_odd, steps=3)),
    Scene("review-empty", _review_empty),
    Scene("review-mode", partial(_review_command, steps=0)),
    Scene("review-unfolded", partial(_review_command, steps=2)),
    Scene("review-renamed", partial(_review_command, steps=3)),
    *(Scene(f"review-{look}", _review, look=look) for look in LOOKS),
    Scene("review-sure", _review_sure),
    Scene("review-refused", _review_refused),
)
