"""The first start, and the question of trust."""

from __future__ import annotations

from textual.pilot import Pilot

from screenshots.scenes.stage import Scene, settle, until
from tui_agent.core.profile import ModelInfo
from tui_agent.trust import Trust, TrustStore
from tui_agent.ui.app import AgentApp
from tui_agent.ui.first_run import FirstRun
from tui_agent.ui.found import Found
from tui_agent.ui.offer import Offer
from tui_agent.ui.trust_card import TrustCard, subject_of


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
    Scene("first-run-no-key", _missing_key, bare=True),
    Scene("trust", _trust, bare=True),
    Scene("trust-entries", _trust_entries, bare=True),
    Scene("trust-changed", _trust_changed, bare=True),
    Scene("trust-difference", _trust_difference, bare=True),
)
