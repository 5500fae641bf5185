"""What the product tells about itself, and reading the configuration again."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from tests.ui.looking import CANARY, Fake, serving, text_of
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.paths import Paths
from tui_agent.ui.app import AgentApp, Start
from tui_agent.ui.numbers import config_report
from tui_agent.ui.trust_card import TrustCard

SSE = (
    b'data: {"choices": [{"index": 0, "delta": {"content": "SECRET ANSWER"}, "finish_reason": null}]}\n\n'
    b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, '
    b'"completion_tokens": 2}}\n\ndata: [DONE]\n\n'
)


def configuration(url: str, model: str, more: str = "") -> str:
    return (
        f'[profiles.local]\nendpoint = "{url}/v1"\nmodel = "{model}"\napi_key_env = "THE_KEY"\n'
        f"options = {{ retries = 0 }}\n{more}"
    )


@asynccontextmanager
async def started(tmp_path: Path, text: str) -> AsyncIterator[tuple[AgentApp, Pilot[int], Paths]]:
    root = tmp_path / "work"
    root.mkdir()
    paths = Paths(*(tmp_path / part for part in ("config", "data", "state")))
    paths.config.mkdir()
    paths.config_file.write_text(text, encoding="utf-8")
    env = {"HOME": str(tmp_path), "THE_KEY": CANARY}
    app = AgentApp(Start(root, paths, paths.config_file, environment=env))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
        await pilot.press("r")
        await until(lambda: app.main.conversation is not None and app.session.profile is not None)
        yield app, pilot, paths


async def say(app: AgentApp, pilot: Pilot[int], text: str) -> None:
    app.main.composer.load(text)
    await pilot.press("enter")
    await pilot.pause()


def told(app: AgentApp) -> str:
    return "\n".join(e.text for e in app.session.events if isinstance(e, ev.Notice))


def test_the_summary_of_a_configuration() -> None:
    text = config_report({"~/.config/x.toml": True, "here": False}, ["a", "b"], "b")
    assert text == "~/.config/x.toml  (loaded)\nhere  (absent)\nprofiles: a, b\nactive: b"
    assert "none" in config_report({}, [], "")


async def test_config_names_both_files(tmp_path: Path) -> None:
    async with started(tmp_path, configuration("http://127.0.0.1:9", "one")) as (app, pilot, _):
        await say(app, pilot, "/config")
        assert "~/config/config.toml  (loaded)" in told(app)
        assert ".tui_agent/config.toml of this folder  (absent)" in told(app)
        assert "active: local" in told(app)


async def test_reload_takes_the_profiles_and_keeps_what_was_chosen(tmp_path: Path) -> None:
    async with started(tmp_path, configuration("http://127.0.0.1:9", "one")) as (app, pilot, paths):
        paths.config_file.write_text(configuration("http://127.0.0.1:9", "two", '[profiles.more]\nmodel = "x"\n'))
        await say(app, pilot, "/reload")
        assert app.session.profile is not None
        assert app.session.profile.model == "two"
        assert "profiles: local, more" in told(app)
        await say(app, pilot, "/model mine")
        paths.config_file.write_text(configuration("http://127.0.0.1:8", "three"))
        await say(app, pilot, "/reload")
        assert app.session.profile.endpoint == "http://127.0.0.1:8/v1"
        assert app.session.profile.model == "mine"


async def test_a_faulty_file_changes_nothing(tmp_path: Path) -> None:
    async with started(tmp_path, configuration("http://127.0.0.1:9", "one")) as (app, pilot, paths):
        paths.config_file.write_text("x = [\n")
        await say(app, pilot, "/reload")
        assert "is not valid TOML" in told(app)
        assert app.session.profile is not None
        assert app.session.profile.model == "one"
        assert set(app.loaded.settings.profiles) == {"local"}


async def test_debug_writes_requests_without_words_or_keys(tmp_path: Path) -> None:
    with serving(Fake({"/v1/chat/completions": (200, SSE)})) as fake:
        async with started(tmp_path, configuration(fake.url, "one")) as (app, pilot, paths):
            file = paths.state / "debug.log"
            await say(app, pilot, "first words")
            await until(lambda: any(isinstance(e, ev.RunEnded) for e in app.session.events))
            assert not file.exists()
            await say(app, pilot, "/debug")
            await say(app, pilot, "second words")
            await until(lambda: sum(isinstance(e, ev.RunEnded) for e in app.session.events) == 2)
            await say(app, pilot, "/debug")
            await say(app, pilot, "third words")
            await until(lambda: sum(isinstance(e, ev.RunEnded) for e in app.session.events) == 3)
            text = file.read_text(encoding="utf-8")
            assert "SECRET ANSWER" in text_of(app)
    request, reply = map(json.loads, text.splitlines())
    assert request["model"] == "one"
    assert request["messages"] >= 3
    assert request["request"].endswith("/v1/chat/completions")
    assert reply["reply"] == "stop"
    assert reply["usage"]["input_tokens"] == 9
    assert "words" not in text
    assert "SECRET" not in text
    assert CANARY not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_doctor_tells_in_the_transcript_what_may_stand_in_the_way(tmp_path: Path) -> None:
    async with started(tmp_path, configuration("http://127.0.0.1:9", "m")) as (app, pilot, _):
        await say(app, pilot, "/doctor")
        await until(lambda: "provider" in told(app))
        assert "refuses connections" in told(app)
        assert "ok     key        from THE_KEY, which is set" in told(app)
        assert CANARY not in told(app)


async def test_status_tells_how_the_session_stands(tmp_path: Path) -> None:
    async with started(tmp_path, configuration("http://127.0.0.1:9", "m")) as (app, pilot, _):
        await say(app, pilot, "/rename parser")
        await say(app, pilot, "/mode edits")
        await say(app, pilot, "/status")
        await until(lambda: "kept in" in told(app))
        for line in (
            f"session  {app.session.id}, parser\n",
            "folder   ~/work, not trusted\n",
            "model    local/m, protocol native\n",
            "context  nothing was sent yet\n",
            "mode     edits: edits in the folder happen unasked",
            "check    none\n",
            "web      search is off\n",
            "no MCP server",
        ):
            assert line in told(app)
