"""Promises of the acceptance list on the screen that no other test names (docs/acceptance.md)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.ui.test_app import running, send
from tui_agent.config import settings
from tui_agent.providers.scripted import scripted


async def test_a_model_override_ends_with_the_provider_it_was_for(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"replies": []}', encoding="utf-8")
    table: Mapping[str, Any] = {
        "profiles": {name: {"type": "scripted", "endpoint": str(script), "model": f"{name}-model"} for name in "ab"}
    }
    async with running(tmp_path, scripted([]), settings=settings(table)) as (app, pilot):
        chosen = []
        for command in ("/provider a", "/model special", "/provider b", "/provider a", "/provider nowhere"):
            await send(app, pilot, command)
            await pilot.pause()
            assert app.session.profile is not None
            chosen.append((app.session.profile.name, app.session.profile.model))
        assert chosen == [
            ("a", "a-model"),
            ("a", "special"),
            ("b", "b-model"),
            ("a", "a-model"),
            ("a", "a-model"),
        ]
