"""A key is in no screen, no picture of it, no log, no transcript, no error and no child, whatever the server does."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.echoes import anthropic_echo, ollama_echo, openai_echo
from tests.ui.looking import CANARY, Fake, serving, text_of
from tests.waiting import until
from tui_agent.config import settings
from tui_agent.core import events as ev
from tui_agent.core.types import Delta, Model, Request
from tui_agent.paths import Paths
from tui_agent.providers.network import Network
from tui_agent.providers.scripted import scripted
from tui_agent.session import Terms
from tui_agent.sessions import Place
from tui_agent.terms import environment_of
from tui_agent.ui.app import AgentApp, Ready, Start
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.viewer import Viewer
from tui_agent.unsent import Unsent

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
            children = repr(environment_of(app.session.terms))
    assert any(CANARY in key for _, key, _ in fake.asked)
    for output in (shown, notes, transcript, children):
        assert CANARY not in output
    assert holding(tmp_path) == []


@pytest.mark.parametrize("source", ["env", "cmd"])
@pytest.mark.parametrize(
    ("kind", "path", "echo"),
    [
        ("openai", "/v1/chat/completions", openai_echo),
        ("anthropic", "/v1/messages", anthropic_echo),
        ("ollama", "/v1/api/chat", ollama_echo),
    ],
)
async def test_a_key_in_the_models_own_words(tmp_path: Path, kind: str, path: str, echo: Any, source: str) -> None:
    """The server knows the key and says it: in reasoning, text and a command, which the person allows."""
    root = tmp_path / "work"
    root.mkdir()
    paths = Paths(*(tmp_path / part for part in ("config", "data", "state")))
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"} | ({"THE_KEY": CANARY} if source == "env" else {})
    keyed: dict[str, Any] = {"api_key_env": "THE_KEY"}
    if source == "cmd":
        keyed = {"api_key_cmd": [sys.executable, "-c", "print('-'.join(['sk', 'CANARY', '7d1e5a']))"]}
    fake = Fake({path: (200, echo(CANARY))})
    trace: list[str] = []
    outputs: list[str] = trace
    with serving(fake):
        table = {"type": kind, "endpoint": f"{fake.url}/v1", "model": "m", "options": {"retries": 0}, **keyed}
        network = Network(trace=trace.append)
        at = Terms(root, settings({"profiles": {"p": table}}), paths, trusted=True, network=network, environment=env)
        ready = Ready(at, scripted([]))
        app = AgentApp(Start(root, paths, paths.config_file, ready=ready, environment=env, network=network))

        def shot() -> None:
            outputs.extend([text_of(app), app.export_screenshot(), app.export_screenshot(simplify=True)])

        async with app.run_test(size=(120, 40)) as pilot:
            await until(lambda: app.main.conversation is not None and app.session.profile is not None)
            for text in ("/provider p", "hello"):
                app.main.composer.load(text)
                await pilot.press("enter")
            await until(lambda: isinstance(app.screen, ApprovalScreen) and app.screen.armed)
            shot()
            fake.answers[path] = (401, SAID)
            await pilot.press("y")
            await until(lambda: any(isinstance(e, ev.RunEnded) for e in app.session.events))
            shot()
            for text in ("/details", "/tokens", "/export md out.md", "/export json out.json", "/save saved.json"):
                app.main.composer.load(text)
                await pilot.press("enter")
                await pilot.pause(0.05)
            shot()
            app.main.composer.load("/receipts")
            await pilot.press("enter")
            await until(lambda: isinstance(app.screen, Viewer))
            shot()
            done = [e for e in app.session.events if isinstance(e, ev.ToolDone)]
            outputs += [repr(app.session.events), repr(done[0].receipt), repr(environment_of(app.session.terms))]
            outputs += [n.message for n in app._notifications]
    assert any(CANARY in key for _, key, _ in fake.asked)
    assert "[key hidden]" in done[0].text
    assert done[0].receipt is not None
    assert "[key hidden]" in app.session.log.path.read_text()
    assert len(trace) > 3
    assert all("[key hidden]" in (root / name).read_text() for name in ("out.md", "out.json", "saved.json"))
    assert not [output for output in outputs if CANARY in output]
    assert holding(tmp_path) == []


async def test_a_key_that_a_file_holds_is_in_no_copy_of_the_session(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text(f"token {CANARY}\n")
    paths = Paths(*(tmp_path / part for part in ("config", "data", "state")))
    env = {"HOME": str(tmp_path), "THE_KEY": CANARY}
    profiles = {"p": {"type": "openai", "endpoint": "http://127.0.0.1:9/v1", "model": "m", "api_key_env": "THE_KEY"}}
    at = Terms(root, settings({"profiles": profiles}), paths, trusted=True, environment=env)
    read = {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}
    used = Ready(at, scripted([read, {"text": "I saw it."}]))
    async with AgentApp(Start(root, paths, paths.config_file, ready=used, environment=env)).run_test() as pilot:
        app = pilot.app
        assert isinstance(app, AgentApp)
        await until(lambda: app.main.conversation is not None and app.session.profile is not None)
        app.main.composer.load("read a.txt")
        await pilot.press("enter")
        await until(lambda: any(isinstance(e, ev.RunEnded) for e in app.session.events))
        assert CANARY in repr(app.session.events), "what a tool found reaches the model as it is"
        first = app.session.id
        app.main.composer.load("/fork")
        await pilot.press("enter")
        await until(lambda: app.session.id != first and app.session.log.path.exists())
        assert "I saw it." in app.session.log.path.read_text()
        (root / "m.json").write_text(json.dumps([{"role": "user", "content": f"it is {CANARY}"}]))
        second = app.session.id
        app.main.composer.load("/load m.json")
        await pilot.press("enter")
        await until(lambda: app.session.id not in {first, second} and "it is" in app.session.log.path.read_text())
    assert holding(paths.data) == []


@pytest.mark.parametrize("key", [CANARY, "sk-proj-Ab0x9Tz81hQpLm4Rw2Ye7u"], ids=["configured", "unknown"])
async def test_a_key_that_was_typed_is_in_no_file(tmp_path: Path, key: str) -> None:
    """Not in the draft that is kept, nor in what waits, the history, the log; the model is told what was typed."""
    root = tmp_path / "work"
    root.mkdir()
    paths = Paths(*(tmp_path / part for part in ("config", "data", "state")))
    env = {"HOME": str(tmp_path), "THE_KEY": CANARY}
    profiles = {"p": {"type": "openai", "endpoint": "http://127.0.0.1:9/v1", "model": "m", "api_key_env": "THE_KEY"}}
    at = Terms(root, settings({"profiles": profiles}), paths, trusted=True, environment=env)
    heard: list[str] = []
    model = scripted([])

    def stream(request: Request) -> AsyncIterator[Delta]:
        heard.append(str(request.messages[-1]))
        return model.stream(request)

    def kept() -> str:
        return "".join(p.read_text(errors="replace") for p in paths.data.rglob("*") if p.is_file())

    said = f"set the key to {key} please"
    used = Ready(at, Model(model.author, stream))
    async with AgentApp(Start(root, paths, paths.config_file, ready=used, environment=env)).run_test() as pilot:
        app = pilot.app
        assert isinstance(app, AgentApp)
        await until(lambda: app.main.conversation is not None and app.session.profile is not None)
        app.main.composer.load(said)
        await until(lambda: '"draft"' in kept())
        assert "set the key to [key hidden] please" in kept()
        await pilot.press("enter")
        await until(lambda: bool(heard) and not app.talk.working)
        assert said in heard[0]
        assert any("looks like a key" in note.message for note in app._notifications)
        app.main.composer.load(f"!echo {key}")
        await pilot.press("enter")
        await until(lambda: '"you"' in kept() and not app.talk.working)
        assert key not in kept()
    again = Place(next(iter((paths.data / "sessions").glob("2*"))))
    assert again.unsent() == Unsent(), "what was sent is known as sent"
    again.close()
    assert key not in kept()
