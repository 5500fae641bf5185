"""Providers: choosing one, its numbers, its failures."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from screenshots.scenes.stage import Scene, settle, tell, until
from screenshots.scenes.story import ENDING, STORY
from tui_agent.config import load
from tui_agent.core import events as ev
from tui_agent.core.endings import StopReason
from tui_agent.core.profile import ModelInfo, Pricing, Profile
from tui_agent.core.types import (
    ProviderError,
)
from tui_agent.modes import MODES
from tui_agent.places import Place
from tui_agent.schema import Fault
from tui_agent.ui.app import AgentApp
from tui_agent.ui.palette import PaletteItem
from tui_agent.ui.switching import hint, note


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


async def _numbers(app: AgentApp, pilot: Pilot[int]) -> None:
    tell(app, *STORY, *ENDING)
    app.session.info = ModelInfo("qwen3-coder:30b", 32_768, tools=True)
    told = len(app.session.events)
    app.reports.tokens("")
    await until(lambda: len(app.session.events) > told)
    app.begin.network.record("http://127.0.0.1:8080/v1")
    app.reports.privacy("")
    app.main.refresh_state()


async def _trap(app: AgentApp, _pilot: Pilot[int]) -> None:
    tell(app, *STORY)
    asked = Profile("ollama", "ollama", "ollama-native", model="qwen3-coder:30b", generation={"num_ctx": 32_768})
    app.session.info = ModelInfo("qwen3-coder:30b", 4096)
    app.switching.traps.learned(app.session.info, asked)


async def _failures(app: AgentApp, _pilot: Pilot[int]) -> None:
    no_key = (
        "profile 'local' reads its key from OPENAI_API_KEY, and that variable is empty: export OPENAI_API_KEY=... first"
    )
    limited = ProviderError(
        "rate_limit", "the server limits requests (HTTP 429): slow down", retryable=True, status=429
    )
    too_long = ProviderError(
        "context_length", "the conversation does not fit the model's context (HTTP 400)", status=400
    )
    app.talk.fail(ProviderError("auth", no_key))
    for error in (limited, too_long):
        tell(app, ev.UserSaid("then update the docs example"), ev.ProviderFailed(error), ev.RunEnded(StopReason.FAILED))
    app.main.composer.load("then update the docs example")


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


async def _config(app: AgentApp, _pilot: Pilot[int]) -> None:
    """What is wrong with the configuration, each with its line."""
    file = Path("~/.config/tui_agent/config.toml")
    app.talk.note(str(Fault(file, Place(12, 1), "limits.max_steps", "must be a whole number above 0, not 'many'")))
    moved = "f4 belongs to pane.diff (Review what was changed)"
    app.talk.note(str(Fault(file, Place(17, 1), "keys.view.details", moved, "warning")))


BROKEN = """[profiles.local]
endpoint = "http://127.0.0.1:8080/v1"
model = "qwen3-coder:30b"

[limits]
max_steps = "many"
"""


async def _broken(app: AgentApp, pilot: Pilot[int]) -> None:
    """The card of a configuration that cannot be used, with the cursor on it."""
    app.begin.user_file.parent.mkdir(parents=True)
    app.begin.user_file.write_text(BROKEN, encoding="utf-8")
    app.loaded, app.keys = app.in_force(load(app.begin.user_file))
    app.session.mode = MODES["read"]
    app.talk.unusable = True
    await app.mending.tell()
    app.main.refresh_state()
    await settle(pilot)
    await pilot.press("ctrl+x", "tab")


SCENES = (
    Scene("provider", _provider),
    Scene("models", _models),
    Scene("numbers", _numbers),
    Scene("error", _error),
    Scene("failures", _failures),
    Scene("window-trap", _trap),
    Scene("config-fault", _config),
    Scene("config-broken", _broken),
)
