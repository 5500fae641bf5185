"""Questions about changes and commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from textual.pilot import Pilot

from screenshots.scenes.stage import LOOKS, Scene, settle, tell, until
from screenshots.scenes.story import LEXER, LEXER_NEW, STORY, request
from tui_agent.core.types import (
    ApprovalRequest,
    PolicyRequest,
    RunArgv,
    RunScript,
    WriteBytes,
)
from tui_agent.ui.app import AgentApp
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.diff_view import DiffView
from tui_agent.workspace import git

EDIT = request(
    10,
    WriteBytes("src/lexer.py", LEXER, LEXER_NEW),
    "edit  src/lexer.py  +6 -3",
    "The lexer counts from zero, so the fix belongs in the lexer.",
)
SPREAD = (
    LEXER
    + b"".join(
        b"    def is_%s(self):\n        return self.kind == %r\n\n" % (w, w.decode()) for w in (b"name", b"text")
    )
    + b"".join(b"    def at_%d(self):\n        return self.pos + %d\n\n" % (n, n) for n in range(4))
)
SPREAD_NEW = (
    SPREAD.replace(b"self.pos = 0", b"self.pos = -1")
    .replace(b"self.kind == 'name'", b"self.kind in ('name', 'word')")
    .replace(b"self.pos + 3", b"self.pos + 3  # the last one")
)
HUNKS = request(
    13,
    WriteBytes("src/lexer.py", SPREAD, SPREAD_NEW),
    "edit  src/lexer.py  +3 -3",
    "Positions start before the first character.",
)
COMMAND = request(
    11,
    RunArgv(git.argv(("git", "log", "--oneline", "-n", "5", "--", "src/lexer.py")), 120),
    "run  git log",
    "Who changed this last?",
)
SCRIPT = request(
    12,
    RunScript('for f in tests/*.py; do\n  python "$f" || exit 1\ndone\nrm -rf build', 120),
    "shell  for f in …",
    "I run each test file on its own.",
)


MANY = request(
    14,
    WriteBytes("src/tables.py", None, b"".join(b"ROW_%d = (%d, %d)\n" % (n, n, n * n) for n in range(390))),
    "create  src/tables.py  +390 -0",
    "The table is long.",
)
LONG = request(
    15,
    RunArgv(("pytest", *(f"tests/test_escape.py::test_case_{n}" for n in range(100))), 120),
    "run  pytest …",
    "Only the tests of escapes.",
)
TESTS = replace(
    request(16, RunArgv(("pytest", "-x", "tests/test_lex.py"), 120), "run  pytest", "The lexer has tests of its own."),
    policy=PolicyRequest("run_command", "run", argv=("pytest", "-x", "tests/test_lex.py")),
)
AGAIN = replace(
    EDIT,
    policy=PolicyRequest("edit_file", "write", path="src/lexer.py"),
    missed="the rule write:src/parser.py is for that file only",
)
"""One that a rule for the file beside it does not spare."""
ESCAPES = request(
    17,
    WriteBytes("tests/test_esc.py", None, b"def test_pair():\n    assert True\n"),
    "create  tests/test_esc.py  +2 -0",
    "The lexer counts from zero, so the fix belongs in the lexer.",
)

KINDS = request(
    18,
    WriteBytes("src/kinds.py", None, b"PAIR = 2\n"),
    "create  src/kinds.py  +1 -0",
    "The lexer counts from zero, so the fix belongs in the lexer.",
)


def asking(*batch: ApprovalRequest, armed: bool = True) -> Callable[[AgentApp, Pilot[int]], Awaitable[None]]:
    """A question about these requests, in the middle of the story."""

    async def play(app: AgentApp, pilot: Pilot[int]) -> None:
        tell(app, *STORY)
        app.main.composer.load("and please show me the diff before you touch lexer.py")
        asked = iter([0.0])
        app.main.asking.clock = lambda: next(asked, 12.0)
        app.main.run_worker(app.main.asking.ask(batch), exit_on_error=False)
        await until(lambda: isinstance(app.screen, ApprovalScreen))
        assert isinstance(app.screen, ApprovalScreen)
        if armed:
            await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
        else:
            app.screen.outside.clock = lambda: 0.0  # time stands still, so it never listens
        await coloured(app)
        await settle(pilot)

    return play


async def _reason(app: AgentApp, pilot: Pilot[int]) -> None:
    await asking(EDIT)(app, pilot)
    await pilot.press("n")  # with the letters at once it would be the beginning of a text
    await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.field)
    await pilot.press(*"keep the name")


async def _unseen(app: AgentApp, pilot: Pilot[int]) -> None:
    await asking(MANY)(app, pilot)
    await pilot.press("y")
    await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.sheet.again and app.screen.armed)


async def _stale(app: AgentApp, pilot: Pilot[int]) -> None:
    """The person changed the file while the question was on the screen."""
    await asking(EDIT)(app, pilot)
    await pilot.press("end")
    (app.session.root / "src/lexer.py").write_bytes(b"# mine\n" + LEXER)
    await pilot.press("y")
    await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.sheet.fresh is not None)


async def _fresh(app: AgentApp, pilot: Pilot[int]) -> None:
    await _stale(app, pilot)
    await pilot.press("r")
    await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.sheet.fresh is None and app.screen.armed)
    await coloured(app)


async def _rule(app: AgentApp, pilot: Pilot[int]) -> None:
    await asking(TESTS)(app, pilot)
    await pilot.press("a")
    await settle(pilot)
    await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)


async def _again(app: AgentApp, pilot: Pilot[int]) -> None:
    await asking(AGAIN)(app, pilot)
    for _ in range(10):
        await pilot.press("pagedown")
        await settle(pilot)
    await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
    await pilot.press("a")
    await settle(pilot)
    await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)


async def _line_note(app: AgentApp, pilot: Pilot[int]) -> None:
    await asking(EDIT)(app, pilot)
    await pilot.press("right_square_bracket", "down", "m")
    await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.field)
    await pilot.press(*"why 0xD800?")


async def _hunks(app: AgentApp, pilot: Pilot[int]) -> None:
    await asking(HUNKS, EDIT)(app, pilot)
    await coloured(app)
    await pilot.press("right_square_bracket", "space")


async def coloured(app: AgentApp) -> None:
    """Wait for the colours of code, which are loaded behind the first picture."""
    views = app.screen.query(DiffView)
    await until(lambda: all(view.coloured for view in views))


async def _note(app: AgentApp, pilot: Pilot[int]) -> None:
    await asking(EDIT)(app, pilot)
    await pilot.press(*["pagedown"] * 4)
    await settle(pilot)
    await pilot.press("Y")
    await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.field)
    await pilot.press(*"add a test too")


SCENES = (
    Scene("approval", asking(EDIT)),
    Scene("approval-wait", asking(EDIT, COMMAND, armed=False)),
    Scene("approval-command", asking(COMMAND)),
    Scene("approval-script", asking(SCRIPT)),
    Scene("approval-reason", _reason),
    Scene("approval-note", _note),
    Scene("approval-hunks", _hunks),
    Scene("approval-unseen", _unseen),
    Scene("approval-three", asking(EDIT, ESCAPES, KINDS)),
    Scene("approval-long-command", asking(LONG)),
    Scene("approval-stale", _stale),
    Scene("approval-fresh", _fresh),
    Scene("approval-rule", _rule),
    Scene("approval-again", _again),
    Scene("approval-line-note", _line_note),
    *(Scene(f"approval-{look}", _hunks, look=look) for look in LOOKS),
)
