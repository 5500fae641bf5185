"""The screens of the product as scenes: used for the pictures of README and for the snapshot tests alike.

Each scene brings the real app, with a scripted model and fixed times, into one state. Nothing here
depends on the machine, the clock or the network.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from tui_agent.config import settings
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.profile import ModelInfo, Pricing, Profile
from tui_agent.core.types import (
    ApprovalRequest,
    AssistantMessage,
    Author,
    Decision,
    Delta,
    Effect,
    FileChange,
    Model,
    PolicyRequest,
    ProviderError,
    Receipt,
    Request,
    RunArgv,
    RunScript,
    TextDelta,
    ToolCall,
    Usage,
    WriteBytes,
)
from tui_agent.paths import Paths
from tui_agent.session import Terms
from tui_agent.trust import Trust, TrustStore
from tui_agent.ui.app import AgentApp, Ready, Start
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.first_run import FirstRun
from tui_agent.ui.found import Found
from tui_agent.ui.palette import PaletteItem
from tui_agent.ui.review import Review
from tui_agent.ui.switching import hint, note, window_trap
from tui_agent.ui.trust_card import TrustCard, subject_of
from tui_agent.ui.undo import UndoScreen
from tui_agent.ui.viewer import Viewer
from tui_agent.workspace import git
from tui_agent.workspace.receipts import Blobs

SIZES = ((120, 40), (80, 24), (40, 20))

LEXER = b"""class Lexer:
    def __init__(self, text):
        self.text = text
        self.pos = 0

    def read_escape(self):
        start = self.pos
        code = self.take(4)
        if not is_hex(code):
            self.fail(self.pos)
        return chr(code)

    def fail(self, at):
        raise ParseError(at)
"""

LEXER_NEW = b"""class Lexer:
    def __init__(self, text):
        self.text = text
        self.pos = 0

    def read_escape(self):
        start = self.pos
        code = self.take_hex(4, start)
        if 0xD800 <= code < 0xDC00:
            code = self.join_pair(code, start)
        if code is None:
            self.fail(start)
        return chr(code)

    def fail(self, at):
        at = min(at, len(self.text))
        raise ParseError(at)
"""


def call(number: int, name: str, **arguments: Any) -> ToolCall:
    """A tool call."""
    return ToolCall(f"c{number}", name, arguments)


def done(call: ToolCall, summary: str, note: str = "", seconds: float = 0.012, **kw: Any) -> ev.ToolDone:
    """A call that was carried out."""
    return ev.ToolDone(
        call, kw.pop("status", "applied"), kw.pop("text", "ok"), note, summary, kw.pop("receipt", None), seconds, **kw
    )


def receipt(path: str, added: int, removed: int, *, new: bool = False) -> Receipt:
    """A receipt of an edit."""
    return Receipt("r", "c", "edit_file", {}, path, None if new else "a", "b", by="key", added=added, removed=removed)


def said(text: str, *calls: ToolCall, tokens: int = 9100) -> ev.AssistantSaid:
    """A reply of the model."""
    return ev.AssistantSaid(AssistantMessage(text, calls=calls), usage=Usage(tokens, 60), cost=0.0)


PLAN = call(
    3,
    "update_plan",
    items=[
        {"status": "done", "text": "read the escape code"},
        {"status": "done", "text": "join surrogate halves"},
        {"status": "now", "text": "fix column offset"},
        {"status": "next", "text": "run the whole suite"},
    ],
)

STORY: tuple[ev.Durable, ...] = (
    ev.UserSaid("Unicode escapes outside the BMP come out as two lone surrogates. Fix it."),
    said(
        "Let me see how escapes are read today.",
        call(1, "read_file", path="src/parser.py"),
        call(2, "search", text="\\\\u"),
    ),
    done(call(1, "read_file", path="src/parser.py"), "read  src/parser.py  lines 1-220", "220 lines", 0.038),
    done(call(2, "search", text="\\\\u"), "search  \\\\u  in .", "7 hits", 0.022),
    said(
        'The surrogate pair is decoded **one half at a time** in `read_escape`, so `"\\ud83d\\ude00"` becomes two lone '
        "surrogates. I will join the halves and refuse a lone one with the column of the backslash.",
        PLAN,
        call(4, "edit_file", path="src/parser.py"),
        call(5, "write_file", path="tests/test_esc.py"),
    ),
    done(PLAN, "plan  2 of 4 done", "", 0.0),
    done(
        call(4, "edit_file", path="src/parser.py"),
        "edit  src/parser.py  +12 -4",
        "",
        0.004,
        receipt=receipt("src/parser.py", 12, 4),
    ),
    done(
        call(5, "write_file", path="tests/test_esc.py"),
        "create  tests/test_esc.py  +31 -0",
        "",
        0.003,
        receipt=receipt("tests/test_esc.py", 31, 0, new=True),
    ),
    ev.CheckDone(
        ("make", "check"),
        1,
        "tests/test_esc.py::test_lone_half FAILED\nE   AssertionError: column 9 != 8\n1 failed, 6 passed\n",
        1.8,
    ),
)

TAIL = (
    "Good: the message for `\\x` stays. The failing test counts from one while the lexer counts from zero. "
    "The fix is in the lexer, not in the test, because error positions elsewhere are zero-based"
)

ENDING: tuple[ev.Durable, ...] = (
    said(TAIL + ".", call(6, "edit_file", path="src/lexer.py")),
    done(
        call(6, "edit_file", path="src/lexer.py"),
        "edit  src/lexer.py  +6 -3",
        "",
        0.004,
        receipt=receipt("src/lexer.py", 6, 3),
    ),
    ev.CheckDone(("make", "check"), 0, "", 4.1),
    said(
        "Columns now start at the backslash.\n\n| input | before | now |\n|---|---|---|\n| `\\ud83d\\ude00` | two halves | one character |\n| lone half | column 9 | column 8 |"
    ),
    ev.RunEnded(StopReason.VERIFIED, "the check passed after the last edit", 4, "passed"),
)


def request(number: int, effect: Effect, summary: str, reason: str) -> ApprovalRequest:
    """A question as the loop would ask it."""
    tool = {WriteBytes: "edit_file", RunArgv: "run_command", RunScript: "run_shell"}[type(effect)]  # type: ignore[index]
    policy = PolicyRequest(tool, "write" if isinstance(effect, WriteBytes) else "run")
    return ApprovalRequest(f"q{number}", call(number, tool), effect, policy, summary, reason)


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


@dataclass(frozen=True, slots=True)
class Scene:
    """One state of the app: `play` brings it there. `bare`: with the questions of the first start."""

    name: str
    play: Callable[[AgentApp, Pilot[int]], Awaitable[None]]
    bare: bool = False
    found: tuple[Found, ...] = ()
    """What the first run finds."""


async def until(true: Callable[[], bool]) -> None:
    """Wait for a state of the app."""
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 - the condition is anything at all
            await asyncio.sleep(0.01)


def tell(app: AgentApp, *events: ev.Durable) -> None:
    """Let events have happened."""
    for event in events:
        app.session.log.append(event)
    app.talk.catch_up()


async def settle(pilot: Pilot[int]) -> None:
    """Let everything be drawn."""
    for _ in range(4):
        await pilot.pause(0.06)


async def _endless(_request: Request) -> AsyncIterator[Delta]:
    """A reply that never ends."""
    yield TextDelta(TAIL)
    await asyncio.Event().wait()


async def _welcome(app: AgentApp, pilot: Pilot[int]) -> None:
    await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
    await pilot.press("r")
    await until(lambda: isinstance(app.screen, FirstRun))
    await settle(pilot)


async def _missing_key(app: AgentApp, pilot: Pilot[int]) -> None:
    await _welcome(app, pilot)
    await pilot.press("3")


async def _trust(app: AgentApp, pilot: Pilot[int]) -> None:
    await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
    await settle(pilot)


WANTED = {
    ".tui_agent/config.toml": (
        'default_provider = "cloud"\n[permissions]\nshell = "deny"\nallow = ["rm"]\n[checks]\n"." = ["make", "check"]\n'
    ),
    ".mcp.json": '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "@acme/files-mcp"]}}}',
    "AGENTS.md": "Keep error texts.\n" * 38,
    ".git/config": '[core]\n\tfsmonitor = "./watch"\n',
}
"""What a folder may want to add."""


async def _trust_card(app: AgentApp, *, again: bool) -> None:
    """The card of a folder with files; `again`: it was trusted before its check changed."""
    await until(lambda: isinstance(app.screen, TrustCard))
    app.pop_screen()
    root = app.begin.root
    for name, text in WANTED.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    store = TrustStore(app.begin.paths.data / "trust.toml")
    known = store.answer(root, trusted=True) if again else Trust(root)
    if again:
        config = root / ".tui_agent/config.toml"
        config.write_text(config.read_text(encoding="utf-8").replace("make", "./make"), encoding="utf-8")
        known = store.look(root)
    about = subject_of(known, app.begin.user_file, app.begin.environment)
    app.push_screen(TrustCard(about, accepted=lambda name: store.accepted(root, name)))
    await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)


async def _trust_entries(app: AgentApp, pilot: Pilot[int]) -> None:
    await _trust_card(app, again=False)
    await settle(pilot)


async def _trust_changed(app: AgentApp, pilot: Pilot[int]) -> None:
    await _trust_card(app, again=True)
    await settle(pilot)


async def _trust_difference(app: AgentApp, pilot: Pilot[int]) -> None:
    await _trust_changed(app, pilot)
    await pilot.press("down", "v")
    await settle(pilot)


async def _idle(_app: AgentApp, _pilot: Pilot[int]) -> None:
    """Nothing said yet."""


async def _working(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *STORY)
    app.talk.send("also keep the old error text for \\x please")
    await until(lambda: app.talk.phase.name == "streaming")
    app.talk.send("then update the docs example")
    app.main.composer.load("and please show me the diff before you touch lexer.py")
    await settle(pilot)


async def _finished(app: AgentApp, _pilot: Pilot[int]) -> None:
    tell(app, *STORY, *ENDING)


async def _files(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *STORY)
    if app.size.width < 110:
        await pilot.press("ctrl+t")


def _asking(*batch: ApprovalRequest, armed: bool = True) -> Callable[[AgentApp, Pilot[int]], Awaitable[None]]:
    async def play(app: AgentApp, pilot: Pilot[int]) -> None:
        tell(app, *STORY)
        app.main.composer.load("and please show me the diff before you touch lexer.py")
        app.main.run_worker(app.main.ask(batch), exit_on_error=False)
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
    await _asking(EDIT)(app, pilot)
    await pilot.press("n", *"keep the name")


async def _hunks(app: AgentApp, pilot: Pilot[int]) -> None:
    await _asking(HUNKS, EDIT)(app, pilot)
    await coloured(app)
    await pilot.press("right_square_bracket", "space")


async def coloured(app: AgentApp) -> None:
    """Wait for the colours of code, which are loaded behind the first picture."""
    views = app.screen.query(DiffView)
    await until(lambda: all(view.coloured for view in views))


async def _note(app: AgentApp, pilot: Pilot[int]) -> None:
    await _asking(EDIT)(app, pilot)
    await pilot.press(*["pagedown"] * 4)
    await settle(pilot)
    await pilot.press("Y")
    await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.in_field)
    await pilot.press(*"add a test too")


async def _review(app: AgentApp, pilot: Pilot[int]) -> None:
    """Two edits and a new file, one edit refused, one note."""
    await edited(app, pilot)
    await pilot.press("f4")
    await until(lambda: isinstance(app.screen, Review) and app.screen.view is not None and app.screen.view.complete)
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
    await pilot.press("right_square_bracket", "down", "down", "down", "m", *"why a tuple?", "enter", "u")


async def _review_refused(app: AgentApp, pilot: Pilot[int]) -> None:
    await _review(app, pilot)
    await pilot.press("left_curly_bracket")
    await settle(pilot)
    await coloured(app)


async def _palette(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *STORY)
    await pilot.press("f2")


async def _provider(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *STORY)
    app.switching.provider("")
    await settle(pilot)


async def _models(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *STORY)
    today = app.switching.today()
    offered = (
        ModelInfo("claude-sonnet", 200_000, tools=True, pricing=Pricing(3.0, 0.3, 15.0)),
        ModelInfo("claude-haiku", 200_000, tools=True, pricing=Pricing(0.8, 0.08, 4.0)),
        ModelInfo("codellama:13b", 8192, tools=False, pricing=Pricing()),
        ModelInfo("somebody/unknown"),
    )
    router = Profile("openrouter", "openrouter", endpoint="https://openrouter.ai/api/v1", model="claude-sonnet")
    items = [PaletteItem(m.id, m.id, hint(m, router, today), "MODEL", note=note(m, router, today)) for m in offered]
    app.switching.choose(items, "Switch model of openrouter", app.switching.model)
    await settle(pilot)
    await pilot.press("down", "down")


async def _numbers(app: AgentApp, _pilot: Pilot[int]) -> None:
    tell(app, *STORY, *ENDING)
    app.session.info = ModelInfo("qwen3-coder:30b", 32_768, tools=True)
    app.reports.tokens("")
    app.begin.network.record("http://127.0.0.1:8080/v1")
    app.reports.privacy("")
    app.main.refresh_state()


async def _trap(app: AgentApp, _pilot: Pilot[int]) -> None:
    tell(app, *STORY)
    asked = Profile("ollama", "ollama", "ollama-native", model="qwen3-coder:30b", generation={"num_ctx": 32_768})
    app.session.info = ModelInfo("qwen3-coder:30b", 4096)
    app.talk.note(window_trap(app.session.info, asked), "Context smaller than it looks")
    app.main.refresh_state()


async def _failures(app: AgentApp, _pilot: Pilot[int]) -> None:
    no_key = (
        "profile 'cloud' reads its key from OPENAI_API_KEY, and that variable is empty: export OPENAI_API_KEY=... first"
    )
    limited = ProviderError(
        "rate_limit", "the server limits requests (HTTP 429): slow down", retryable=True, status=429
    )
    too_long = ProviderError(
        "context_length", "the conversation does not fit the model's context (HTTP 400)", status=400
    )
    app.talk.note(no_key, "cloud cannot answer")
    for error in (limited, too_long):
        tell(app, ev.UserSaid("then update the docs example"), ev.ProviderFailed(error), ev.RunEnded(StopReason.FAILED))
    app.main.composer.load("then update the docs example")


FOUND = (
    Found(
        "ollama",
        {"type": "ollama"},
        (ModelInfo("qwen3-coder:30b"),),
        ModelInfo("qwen3-coder:30b", tools=True, most=262_144),
    ),
    Found("openai", {"type": "openai"}, variable="OPENAI_API_KEY"),
)


async def _error(app: AgentApp, _pilot: Pilot[int]) -> None:
    said_by_server = "http://127.0.0.1:11434 refuses connections: is the server running?"
    failed = ProviderError("network", said_by_server, retryable=True)
    tell(
        app,
        ev.UserSaid("then update the docs example"),
        ev.ProviderFailed(failed),
        ev.RunEnded(StopReason.FAILED, said_by_server, 1),
    )
    app.main.composer.load("then update the docs example")


async def _refused(app: AgentApp, _pilot: Pilot[int]) -> None:
    tell(
        app,
        ev.UserSaid("clean up"),
        said(
            "I will remove the old build.",
            call(1, "run_command"),
            call(2, "edit_file"),
            call(3, "edit_file"),
            call(4, "read_file"),
        ),
        done(
            call(1, "run_command"),
            "run  git push --force",
            "deny pattern: git push",
            0,
            status="refused",
            text="denied by the policy (deny pattern: git push).",
            denied="policy",
        ),
        done(
            call(2, "edit_file"),
            "edit  a.py  +1 -1",
            "keep the name",
            0,
            status="refused",
            text="user rejected the change: keep the name",
            denied="person",
        ),
        done(
            call(3, "edit_file"),
            "edit  b.py  +1 -1",
            "not today",
            0,
            status="refused",
            text="user skipped: not today",
            denied="skip",
        ),
        done(
            call(4, "read_file"),
            "read  nowhere.py",
            "",
            0,
            status="error",
            text="nowhere.py was not found: no such file or folder",
        ),
        said("Then I leave it as it is."),
        ev.RunEnded(StopReason.COMPLETED, "", 2),
    )


def sha(data: bytes) -> str:
    """The hash of a file's content."""
    return hashlib.sha256(data).hexdigest()


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
    Scene("first-run", _welcome, bare=True),
    Scene("first-run-found", _welcome, bare=True, found=FOUND),
    Scene("first-run-no-key", _missing_key, bare=True),
    Scene("trust", _trust, bare=True),
    Scene("trust-entries", _trust_entries, bare=True),
    Scene("trust-changed", _trust_changed, bare=True),
    Scene("trust-difference", _trust_difference, bare=True),
    Scene("idle", _idle),
    Scene("working", _working),
    Scene("finished", _finished),
    Scene("files", _files),
    Scene("approval", _asking(EDIT)),
    Scene("approval-wait", _asking(EDIT, COMMAND, armed=False)),
    Scene("approval-command", _asking(COMMAND)),
    Scene("approval-script", _asking(SCRIPT)),
    Scene("approval-reason", _reason),
    Scene("approval-note", _note),
    Scene("approval-hunks", _hunks),
    Scene("review", _review),
    Scene("review-sure", _review_sure),
    Scene("review-refused", _review_refused),
    Scene("palette", _palette),
    Scene("provider", _provider),
    Scene("models", _models),
    Scene("numbers", _numbers),
    Scene("error", _error),
    Scene("failures", _failures),
    Scene("window-trap", _trap),
    Scene("refused", _refused),
    Scene("undo", _undo),
    Scene("undo-plan", _undo_plan),
    Scene("receipts", _receipts),
)


@contextmanager
def prepared(scene: Scene) -> Iterator[AgentApp]:
    """The app of a scene, not yet running, in a small project with fixed names."""
    base = Path(tempfile.mkdtemp(prefix="tui-agent-scenes-")).resolve()
    root = base / "code" / "parser"
    for name, content in {
        "src/lexer.py": LEXER,
        "src/parser.py": b"\n",
        "src/tokens.py": b"\n",
        "docs/a.md": b"\n",
        "tests/test_lex.py": b"\n",
        "README.md": b"\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    paths = Paths(*(base / part / "tui_agent" for part in (".config", ".local/share", ".local/state")))
    table = {
        "profiles": {
            "local": {"type": "openai", "endpoint": "http://127.0.0.1:8080/v1", "model": "qwen3-coder:30b"},
            "cloud": {"type": "openai", "model": "gpt-4.1", "api_key_env": "OPENAI_API_KEY"},
        },
        "checks": {str(root): ["make", "check"]},
    }
    terms = Terms(root, settings(table), paths, trusted=True, environment={})
    local = Profile("local", model="qwen3-coder:30b", local=True)
    ready = None if scene.bare else Ready(terms, Model(Author("scripted", "s", "s"), _endless), local)

    async def look(*_: Any) -> tuple[Found, ...]:
        return scene.found

    app = AgentApp(Start(root, paths, paths.config_file, ready=ready, environment={"HOME": str(base)}, look=look))
    app.animation_level = "none"
    try:
        yield app
    finally:
        shutil.rmtree(base, ignore_errors=True)


async def play(scene: Scene, pilot: Pilot[int]) -> None:
    """Bring a running app into the state of a scene."""
    app = pilot.app
    assert isinstance(app, AgentApp)
    if not scene.bare:
        await until(lambda: app.main.conversation is not None and app.session.profile is not None)
    await scene.play(app, pilot)
    await settle(pilot)
