"""The stage of a scene: the app in a small project, and what brings it into a state."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from screenshots.scenes.story import LEXER, TAIL
from tui_agent.config import settings
from tui_agent.core import events as ev
from tui_agent.core.profile import Profile
from tui_agent.core.types import (
    Author,
    Delta,
    Model,
    Request,
    TextDelta,
)
from tui_agent.paths import Paths
from tui_agent.session import Terms
from tui_agent.ui.app import AgentApp, Ready, Start
from tui_agent.ui.found import Found

SIZES = ((120, 40), (80, 24), (40, 20))


@dataclass(frozen=True, slots=True)
class Scene:
    """One state of the app: `play` brings it there. `bare`: with the questions of the first start."""

    name: str
    play: Callable[[AgentApp, Pilot[int]], Awaitable[None]]
    bare: bool = False
    found: tuple[Found, ...] = ()
    """What the first run finds."""
    look: str = ""
    """Other colours than usual: a name of `LOOKS`."""
    before: Callable[[Path, Paths], None] = lambda _root, _paths: None
    """What the project holds more, and what is known of it, when the app starts."""


LOOKS = {
    "light": {"theme": "light"},
    "ansi": {"theme": "ansi"},
    "no-color": {},
    "colour-blind": {"theme": "colour-blind"},
}
ASCII = {"glyphs": "ascii"}
"""`[ui]` by the name of a look; no-color is what NO_COLOR makes of it."""


async def until(true: Callable[[], bool]) -> None:
    """Wait for a state of the app."""
    async with asyncio.timeout(30):
        while not true():  # noqa: ASYNC110 - the condition is anything at all
            await asyncio.sleep(0.01)


def tell(app: AgentApp, *events: ev.Durable) -> None:
    """Let events have happened."""
    for event in events:
        app.session.log.append(event)
    app.talk.catch_up()


async def settle(pilot: Pilot[int]) -> None:
    """Let everything be drawn: until three pictures in a row are the same, however slow this machine is."""
    seen: list[str] = []
    for _ in range(100):
        await pilot.pause(0.06)
        seen.append(pilot.app.export_screenshot(simplify=True))
        if len(seen) > 5 and seen[-1] == seen[-2] == seen[-3]:
            return


async def _endless(_request: Request) -> AsyncIterator[Delta]:
    """A reply that never ends."""
    yield TextDelta(TAIL)
    await asyncio.Event().wait()


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
    for name in ("objects", "refs"):
        (root / ".git" / name).mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    # of a format that no git knows: its branch is read, but nothing in the pictures depends on what git says of the files
    (root / ".git" / "config").write_text("[core]\nrepositoryformatversion = 99\n", encoding="utf-8")
    paths = Paths(*(base / part / "tui_agent" for part in (".config", ".local/share", ".local/state")))
    table = {
        "profiles": {
            "local": {"type": "openai", "endpoint": "http://127.0.0.1:8080/v1", "model": "qwen3-coder:30b"},
            "cloud": {"type": "openai", "model": "gpt-4.1", "api_key_env": "OPENAI_API_KEY"},
        },
        "checks": {str(root): ["make", "check"]},
        "ui": ASCII if scene.look == "ascii" else LOOKS.get(scene.look, {}),
    }
    environment = {"HOME": str(base), **({"NO_COLOR": "1"} if scene.look == "no-color" else {})}
    scene.before(root, paths)
    terms = Terms(root, settings(table), paths, trusted=True, environment={})
    local = Profile("local", model="qwen3-coder:30b", local=True)
    ready = None if scene.bare else Ready(terms, Model(Author("scripted", "s", "s"), _endless), local)

    async def look(*_: Any) -> tuple[Found, ...]:
        return scene.found

    app = AgentApp(Start(root, paths, paths.config_file, ready=ready, environment=environment, look=look))
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
    if app.return_code is not None:
        raise RuntimeError(f"the app of {scene.name} ended: it takes no key and draws nothing new")
