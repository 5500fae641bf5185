"""The first start, and the question of trust."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from screenshots.scenes.stage import Scene, settle, until
from tui_agent.core.profile import ModelInfo
from tui_agent.paths import Paths
from tui_agent.trust import TrustStore
from tui_agent.ui.app import AgentApp
from tui_agent.ui.first_run import FirstRun
from tui_agent.ui.found import Found
from tui_agent.ui.offer import Offer
from tui_agent.ui.trust_card import TrustCard
from tui_agent.ui.viewer import Viewer


async def _welcome(app: AgentApp, pilot: Pilot[int]) -> None:
    await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
    await pilot.press("r")
    await until(lambda: isinstance(app.screen, FirstRun) or bool(app.main.query(Offer)))
    await settle(pilot)


async def _others(app: AgentApp, pilot: Pilot[int]) -> None:
    await _welcome(app, pilot)
    await pilot.press("m", "escape")


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


def _wanting(root: Path, _: Paths) -> None:
    """The folder wants all of it."""
    for name, text in WANTED.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def _changed(root: Path, paths: Paths) -> None:
    """It was trusted before its check changed."""
    _wanting(root, paths)
    TrustStore(paths.data / "trust.toml").answer(root, trusted=True)
    config = root / ".tui_agent/config.toml"
    config.write_text(config.read_text(encoding="utf-8").replace("make", "./make"), encoding="utf-8")


async def _difference(app: AgentApp, pilot: Pilot[int]) -> None:
    await _trust(app, pilot)
    await pilot.press("down", "v")
    await until(lambda: isinstance(app.screen, Viewer))


FOUND = (
    Found(
        "ollama",
        {"type": "ollama"},
        (ModelInfo("qwen3-coder:30b"),),
        ModelInfo("qwen3-coder:30b", tools=True, most=262_144),
    ),
    Found("openai", {"type": "openai"}, variable="OPENAI_API_KEY"),
)


SCENES = (
    Scene("first-run", _welcome, bare=True),
    Scene("first-run-offer", _welcome, bare=True, found=FOUND),
    Scene("first-run-found", _others, bare=True, found=FOUND),
    Scene("first-run-key", _welcome, bare=True, found=FOUND[1:]),
    Scene("first-run-no-key", _missing_key, bare=True),
    Scene("trust", _trust, bare=True),
    Scene("trust-entries", _trust, bare=True, before=_wanting),
    Scene("trust-changed", _trust, bare=True, before=_changed),
    Scene("trust-difference", _difference, bare=True, before=_changed),
)
