"""A key is in no screen, no picture of it, no log, no transcript, no error and no child, whatever the server does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.ui.looking import CANARY, Fake, serving, text_of, until
from tui_agent.config import settings
from tui_agent.core import events as ev
from tui_agent.paths import Paths
from tui_agent.providers.network import Network
from tui_agent.providers.scripted import scripted
from tui_agent.session import Terms
from tui_agent.ui.app import AgentApp, Ready, Start
from tui_agent.ui.approval import ApprovalScreen

SAID = {"error": {"message": f"Authorization: Bearer {CANARY} and x-api-key {CANARY} are wrong, {CANARY}"}}


def event(delta: dict[str, Any], finish: str | None = None) -> str:
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}) + "\n\n"


def command(*argv: str) -> bytes:
    function = {"name": "run_command", "arguments": json.dumps({"argv": argv})}
    call = {"tool_calls": [{"index": 0, "id": "c1", "function": function}]}
    return (event(call) + event({}, "tool_calls") + "data: [DONE]\n\n").encode()


IN_STREAM = (event({"content": "partial "}) + f"data: {json.dumps(SAID)}\n\n").encode()
ANSWERS: dict[str, tuple[int, Any]] = {
    "401": (401, SAID),
    "403": (403, SAID),
    "400": (400, SAID),
    "429": (429, SAID),
    "500": (500, SAID),
    "html": (502, f"<html><title>Bad key {CANARY}</title></html>".encode()),
    "stream": (200, IN_STREAM),
    "cut": (200, event({"content": "partial"}).encode()),
    "env": (200, command("env")),
}


def holding(folder: Path) -> list[str]:
    """The files of the person that hold the key."""
    return [p.name for p in folder.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()]


@pytest.mark.parametrize(
    ("kind", "answer"),
    [*(("openai", answer) for answer in ANSWERS), *(("anthropic", answer) for answer in ANSWERS if answer != "env")],
)
async def test_no_key_anywhere(tmp_path: Path, answer: str, kind: str) -> None:
    root = tmp_path / "work"
    root.mkdir()
    paths = Paths(*(tmp_path / part for part in ("config", "data", "state")))
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "THE_KEY": CANARY, "OPENAI_API_KEY": CANARY}
    fake = Fake({"/v1/chat/completions": ANSWERS[answer], "/v1/messages": ANSWERS[answer], "/v1/models": (401, SAID)})
    with serving(fake):
        table = {
            "type": kind,
            "endpoint": f"{fake.url}/v1",
            "model": "m",
            "api_key_env": "THE_KEY",
            "headers": {"x-team": f"team-{CANARY}"},
            "options": {"retries": 0},
        }
        at = Terms(root, settings({"profiles": {"p": table}}), paths, trusted=True, network=Network(), environment=env)
        app = AgentApp(Start(root, paths, paths.config_file, ready=Ready(at, scripted([])), environment=env))
        async with app.run_test(size=(120, 40)) as pilot:
            await until(lambda: app.main.conversation is not None and app.session.profile is not None)
            for text in ("/provider p", "hello"):
                app.main.composer.load(text)
                await pilot.press("enter")
            if answer == "env":
                await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
                fake.answers["/v1/chat/completions"] = ANSWERS["401"]
                await pilot.press("y")
            await until(lambda: any(isinstance(e, ev.RunEnded) for e in app.session.events))
            for text in ("/model", "/tokens", "/privacy", "/details"):
                app.main.composer.load(text)
                await pilot.press("enter")
                await pilot.pause(0.05)
            shown = text_of(app) + app.export_screenshot()
            notes = "".join(n.message for n in app._notifications)
            if answer == "env":
                done = [e for e in app.session.events if isinstance(e, ev.ToolDone)]
                assert "PATH=" in done[0].text
            transcript = repr(app.session.events)
            children = repr(app.session.child_environment())
    assert any(CANARY in key for _, key, _ in fake.asked)
    for output in (shown, notes, transcript, children):
        assert CANARY not in output
    assert holding(tmp_path) == []
