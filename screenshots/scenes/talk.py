"""A talk: at rest, at work, at its end, and reading in it."""

from __future__ import annotations

from textual.pilot import Pilot

from screenshots.scenes.stage import LOOKS, Scene, settle, tell, until
from screenshots.scenes.story import ENDING, STORY, call, done, said
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.profile import ModelInfo
from tui_agent.core.types import (
    AssistantMessage,
)
from tui_agent.modes import AUTO
from tui_agent.ui.app import AgentApp
from tui_agent.ui.keymap import keymap
from tui_agent.ui.side import SidePane


async def _idle(_app: AgentApp, _pilot: Pilot[int]) -> None:
    """Nothing said yet."""


async def working(app: AgentApp, pilot: Pilot[int]) -> None:
    """An answer that is still coming."""
    tell(app, *STORY)
    app.talk.send("also keep the old error text for \\x please")
    await until(lambda: app.talk.phase.name == "streaming")
    app.talk.since = app.talk.heard = float("inf")  # no seconds, however long it takes to draw
    app.talk.send("then update the docs example")
    app.main.composer.load("and please show me the diff before you touch lexer.py")
    await settle(pilot)


async def _auto(app: AgentApp, _pilot: Pilot[int]) -> None:
    app.session.enter(AUTO)
    app.talk.catch_up()
    app.main.refresh_state()


async def _finished(app: AgentApp, _pilot: Pilot[int]) -> None:
    tell(app, *STORY, *ENDING)


CODE_ANSWER = said(
    """The lone half is the cause. This is all it takes:

```python
def join_pair(self, high, start):
    low = self.take_hex(4, start)  # the second half has to follow at once, or there is none
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
```

| half | range | what it means alone, in a text that was cut |
|---|---|---|
| high | D800-DBFF | the beginning of a pair whose end is missing |
| low | DC00-DFFF | an end without its beginning |"""
)


async def _reading(app: AgentApp, pilot: Pilot[int]) -> None:
    """The cursor of the transcript on a code block, an action and the reasoning unfolded."""
    thought = AssistantMessage("", reasoning="The text is cut in the middle of a pair, so one half is alone.")
    tell(app, *STORY[:1], ev.AssistantSaid(thought), *STORY[2:3], CODE_ANSWER)
    await pilot.press("tab")
    await settle(pilot)
    await pilot.press("home", "down", "enter", "down", "enter", "down", "down")


async def _search(app: AgentApp, pilot: Pilot[int]) -> None:
    """Words that were searched in the transcript."""
    tell(app, *STORY, *ENDING, CODE_ANSWER)
    await pilot.press("tab")
    await settle(pilot)
    app.main.reading.look_for("half")
    await pilot.press("N")


async def _searching(app: AgentApp, pilot: Pilot[int]) -> None:
    """The field for what is searched."""
    tell(app, *STORY)
    await pilot.press("tab", "/", *"half")
    await settle(pilot)


async def _files(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *STORY)
    if app.size.width < 110:
        await pilot.press("ctrl+t")


async def _marks(app: AgentApp, pilot: Pilot[int]) -> None:
    """Every state of a file: changed by the session, by somebody else, new, gone, unknown to git; one is marked for `@`."""
    of_git = {"src/parser.py": "M", "src/old.py": "D", "src/tokens.py": "?", "docs/new.md": "A", "README.md": "M"}

    async def differing() -> dict[str, str]:
        return of_git

    app.session.workspace.differing = differing  # type: ignore[method-assign]
    tell(app, *STORY)
    side = app.main.query_one(SidePane)
    await until(lambda: "docs/new.md" in side.files.changed)
    if app.size.width < 110:
        await pilot.press("ctrl+t")
    side.files.focus()
    await settle(pilot)
    await pilot.press("down", "right")
    await settle(pilot)
    await pilot.press("down", "down", "space")


async def _full(app: AgentApp, _pilot: Pilot[int]) -> None:
    """A window with little room left."""
    tell(app, *STORY)
    app.session.info = ModelInfo("qwen3-coder:30b", 9_700, tools=True)
    app.main.refresh_state()


async def _palette_nothing(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *STORY)
    await pilot.press("f2", *"nonsense")


async def _palette_keys(app: AgentApp, pilot: Pilot[int]) -> None:
    """With keys that the person moved: also in the footer below."""
    tell(app, *STORY)
    app.keys, _ = keymap({"ui.palette": "f3", "leader": "ctrl+b", "history.search": "none", "leader.agent.retry": "z"})
    app.take_keys()
    await pilot.press("f3")


async def _palette(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *STORY)
    await pilot.press("f2")


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


SCENES = (
    Scene("idle", _idle),
    Scene("working", working),
    *(Scene(f"working-{look}", working, look=look) for look in (*LOOKS, "ascii")),
    Scene("auto", _auto),
    Scene("finished", _finished),
    Scene("reading", _reading),
    Scene("search", _search),
    Scene("searching", _searching),
    Scene("files", _files),
    Scene("files-marks", _marks),
    Scene("working-full", _full),
    Scene("palette", _palette),
    Scene("palette-nothing", _palette_nothing),
    Scene("palette-keys", _palette_keys),
    Scene("refused", _refused),
)
