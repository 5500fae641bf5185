"""What is being typed: commands, names of files, pastes, the history, the queue."""

from __future__ import annotations

from textual.pilot import Pilot

from screenshots.scenes.stage import Scene, settle, tell, until
from screenshots.scenes.story import STORY
from screenshots.scenes.talk import working
from tui_agent.ui.app import AgentApp
from tui_agent.ui.chips import Draft
from tui_agent.ui.palette import Palette
from tui_agent.ui.suggestions import Suggestions


async def _commands(app: AgentApp, pilot: Pilot[int]) -> None:
    """The list of commands, filtered."""
    tell(app, *STORY)
    await pilot.press("slash", "m", "o")


async def _arguments(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *STORY)
    await pilot.press("slash", *"mode", "space", "down")


async def _mention(app: AgentApp, pilot: Pilot[int]) -> None:
    """Files, in the last line of a longer message."""
    tell(app, *STORY)
    app.main.composer.load("look at both:\n- the escapes\n- the columns in ")
    await pilot.press("at", *"le")
    await until(lambda: "lexer" in str(app.main.query_one(Suggestions).render()))


async def _chip(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *STORY)
    await pilot.press(*"why", "space")
    app.main.composer.feed_paste("".join(f"tests/test_esc.py:{number}: AssertionError\n" for number in range(312)))
    await pilot.press("question_mark")


async def _history(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *STORY)
    for text in (
        "explain read_escape",
        "where are columns counted?\nI need the lexer and\nthe parser",
        "run the tests",
    ):
        app.main.desk.history.add(Draft(text))
    app.main.composer.load("and please")
    await pilot.press("ctrl+r", *"col")


async def _queue(app: AgentApp, pilot: Pilot[int]) -> None:
    """Messages that wait, with the list of what can be done with one."""
    await working(app, pilot)
    app.talk.send("and run the whole suite")
    app.talk.send("then commit")
    await settle(pilot)


async def _queue_list(app: AgentApp, pilot: Pilot[int]) -> None:
    await _queue(app, pilot)
    await pilot.press("ctrl+x", "l")
    await until(lambda: isinstance(app.screen, Palette))
    await pilot.press("down", "enter")


SCENES = (
    Scene("commands", _commands),
    Scene("arguments", _arguments),
    Scene("mention", _mention),
    Scene("chip", _chip),
    Scene("history", _history),
    Scene("queue", _queue),
    Scene("queue-list", _queue_list),
)
