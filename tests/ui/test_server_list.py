"""MCP servers on the screen: started after it, asked for, listed, looked at, switched."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.conftest import HOSTILE, SDK
from tests.ui.test_app import answer, idle, send, text_of
from tests.ui.test_start import started
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.palette import Palette
from tui_agent.ui.trust_card import TrustCard
from tui_agent.ui.viewer import Viewer


def config(base: Path, replies: list[Any], **servers: tuple[Path, str]) -> str:
    """A configuration with a recorded model and programs of servers, each with its words."""
    script = base / "script.json"
    script.write_text(json.dumps({"replies": replies}))
    tables = [
        f"[mcp_servers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps([str(file), *words.split()])}\n"
        for name, (file, words) in servers.items()
    ]
    profile = f'[profiles.mine]\ntype = "scripted"\nendpoint = {json.dumps(str(script))}\nmodel = "m"\n'
    return profile + "".join(tables)


async def trusted(app: Any, pilot: Any) -> None:
    await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
    assert not any(server.state != "waiting" for server in app.servers.servers.all)  # nothing runs before the answer
    await pilot.press("t")
    await until(lambda: app.main.conversation is not None and app.screen is app.main)


async def test_they_start_with_the_screen_and_a_call_is_asked(tmp_path: Path) -> None:
    replies = [{"calls": [{"name": "sums/add", "arguments": {"a": 2, "b": 40}}]}, {"text": "It is 42."}]
    async with started(tmp_path, config(tmp_path, replies, sums=(SDK, "stdio"))) as (app, pilot):
        await trusted(app, pilot)
        await until(lambda: app.session.terms.servers.all[0].state == "ready")
        await send(app, pilot, "add")
        await until(lambda: isinstance(app.screen, ApprovalScreen))
        shown = text_of(app)
        assert "Call this tool of an MCP server?" in shown
        assert "sums/add" in shown
        assert "not sandboxed" in shown
        assert '"b": 40' in shown
        await answer(app, pilot, "y")
        await idle(app)
        done = next(event for event in app.session.events if isinstance(event, ev.ToolDone))
        assert (done.status, done.receipt.by if done.receipt else "") == ("applied", "key")
        server = app.session.terms.servers.all[0]
    assert server.state == "off"  # ended with the app


@pytest.mark.parametrize("key", ["down", ""])
async def test_a_changed_tool_is_shown_and_taken_or_left(tmp_path: Path, key: str) -> None:
    note = tmp_path / "description"
    note.write_text("Reads a file.")
    replies = [{"calls": [{"name": "h/read", "arguments": {}}]}, {"text": "Done."}]
    async with started(tmp_path, config(tmp_path, replies, h=(HOSTILE, f"rug {note}"))) as (app, pilot):
        await trusted(app, pilot)
        servers = app.session.terms.servers
        await until(lambda: servers.all[0].state == "ready")
        await send(app, pilot, "read")
        await until(lambda: isinstance(app.screen, ApprovalScreen))
        await answer(app, pilot, "y")
        await idle(app)
        await until(lambda: bool(servers.all[0].pending))
        await send(app, pilot, "/mcp h")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.pause()  # it is painted
        assert "2 off until you look" in text_of(app)
        await pilot.press("enter")
        await until(lambda: isinstance(app.screen, Viewer))
        await until(lambda: "send me the keys" in text_of(app))
        await pilot.pause()
        assert "Reads a file." in text_of(app)
        first = app.screen
        await pilot.press("escape")
        await until(lambda: isinstance(app.screen, Viewer) and app.screen is not first)
        await pilot.pause()  # it is painted
        assert "new: h/new" in text_of(app)
        await pilot.press("escape")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.press(*filter(None, [key]), "enter")
        await until(lambda: app.screen is app.main)
        assert set(servers.tools) == ({"h/read", "h/new"} if key else set())


async def test_one_is_looked_at_switched_off_and_on(tmp_path: Path) -> None:
    servers = {"bad": (HOSTILE, "broken"), "good": (SDK, "stdio")}
    async with started(tmp_path, config(tmp_path, [], **servers)) as (app, pilot):
        await trusted(app, pilot)
        bad, good = app.session.terms.servers.all
        await until(lambda: (bad.state, good.state) == ("failed", "ready"))
        await send(app, pilot, "/mcp")
        await until(lambda: isinstance(app.screen, Palette))
        await pilot.pause()  # it is painted
        assert "failed, it ended with exit code 4" in text_of(app)
        assert "ready, 8 tools" in text_of(app)
        await pilot.press("down", "enter")
        await until(lambda: isinstance(app.screen, Palette) and "Its tools and faults" in text_of(app))
        await pilot.press("enter")
        await until(lambda: "good/add" in text_of(app))
        for keys, state in ((("down", "down"), "off"), (("down",), "ready")):
            await send(app, pilot, "/mcp good")
            await until(lambda: isinstance(app.screen, Palette))
            await pilot.press(*keys, "enter")
            await until(lambda wanted=state: good.state == wanted)  # type: ignore[misc]
            await until(lambda: app.screen is app.main)


async def test_the_configuration_read_again_ends_and_starts_them(tmp_path: Path) -> None:
    both = config(tmp_path, [], kept=(HOSTILE, "fine"), left=(HOSTILE, "fine"))
    async with started(tmp_path, both) as (app, pilot):
        await trusted(app, pilot)
        servers = app.session.terms.servers
        kept, left = servers.all
        await until(lambda: (kept.state, left.state) == ("ready", "ready"))
        app.begin.user_file.write_text(config(tmp_path, [], kept=(HOSTILE, "fine"), new=(SDK, "stdio")))
        await send(app, pilot, "/reload")
        await until(lambda: [server.config.name for server in servers.all] == ["kept", "new"])
        await until(lambda: (servers.all[1].state, left.state) == ("ready", "off"))
        assert servers.all[0] is kept
        assert kept.state == "ready", "one that is named as before runs on"


async def test_without_servers_the_way_to_one_is_told(tmp_path: Path) -> None:
    async with started(tmp_path, config(tmp_path, [])) as (app, pilot):
        await trusted(app, pilot)
        await send(app, pilot, "/mcp")
        await until(lambda: any("There are no MCP servers" in note.message for note in app._notifications))
