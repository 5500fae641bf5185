"""The way from the command to the first message: trust, a missing key, a broken configuration."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.fixtures.repository import looks_like_one
from tests.ui.test_app import idle, send, text_of
from tests.waiting import until
from tui_agent.paths import Paths
from tui_agent.ui.actions import ACTIONS
from tui_agent.ui.app import AgentApp, Start
from tui_agent.ui.chips import Draft
from tui_agent.ui.composer import Composer
from tui_agent.ui.main import AT_ONCE
from tui_agent.ui.trust_card import TrustCard
from tui_agent.workspace.git import branch_of


@asynccontextmanager
async def started(tmp_path: Path, config: str | None, **kw: Any) -> AsyncIterator[tuple[AgentApp, Pilot[int]]]:
    root = tmp_path / "work"
    looks_like_one(root, "ref: refs/heads/feature/x\n")
    base = tmp_path / "user"
    paths = Paths(base / "config", base / "data", base / "state")
    if config is not None:
        paths.config.mkdir(parents=True, exist_ok=True)
        paths.config_file.write_text(config, encoding="utf-8")
    app = AgentApp(Start(root, paths, paths.config_file, environment=kw.pop("environment", {}), **kw))
    async with app.run_test(size=(100, 30)) as pilot:
        yield app, pilot


def script_config(tmp_path: Path) -> str:
    script = tmp_path / "script.json"
    script.write_text('{"replies": [{"text": "hello from the script"}]}', encoding="utf-8")
    return f'[profiles.mine]\ntype = "scripted"\nendpoint = "{script}"\nmodel = "m"\n'


@pytest.mark.parametrize(("key", "trusted"), [("t", True), ("r", False), ("enter", False), ("escape", False)])
async def test_trust_is_asked_once_and_remembered(tmp_path: Path, key: str, trusted: bool) -> None:
    config = script_config(tmp_path)
    async with started(tmp_path, config) as (app, pilot):
        await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
        assert app.main.conversation is None
        await pilot.press(key)
        await until(lambda: app.main.conversation is not None)
        assert app.session.terms.trusted is trusted
        await pilot.pause()
        assert ("feature/x" in text_of(app)) is trusted
    async with started(tmp_path, config) as (app, pilot):
        await until(lambda: app.main.conversation is not None)
        assert app.session.terms.trusted is trusted


async def test_what_was_sent_too_early_and_typed_since_are_both_kept(tmp_path: Path) -> None:
    async with started(tmp_path, None) as (app, _pilot):
        await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
        composer = app.main.composer
        composer.post_message(Composer.Submitted(Draft("sent")))
        composer.feed_paste("typed")
        await until(lambda: "sent" in composer.text)
        assert composer.text == "sent\ntyped"


@pytest.mark.parametrize("command", ["/provider demo", "/undo", "/new", "/model", "/mode edits", "/no-such"])
async def test_a_command_that_was_sent_too_early_is_kept_like_a_message(tmp_path: Path, command: str) -> None:
    async with started(tmp_path, script_config(tmp_path)) as (app, pilot):
        await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
        app.main.composer.post_message(Composer.Submitted(Draft(command)))
        await until(lambda: app.main.composer.text == command)
        for action in ACTIONS:
            if action.scope == "app" and action.id not in AT_ONCE:
                app.main.act(action.id)
        assert isinstance(app.screen, TrustCard)
        await pilot.press("r")
        await until(lambda: app.main.conversation is not None)
        assert app.main.composer.text == command


async def test_ctrl_q_leaves_the_trust_question_at_once(tmp_path: Path) -> None:
    async with started(tmp_path, None) as (app, pilot):
        await until(lambda: isinstance(app.screen, TrustCard))
        await pilot.press("ctrl+q")
        await until(lambda: app.return_code is not None)
    assert not (tmp_path / "user").exists()


async def test_leaving_at_the_trust_question_leaves_nothing(tmp_path: Path) -> None:
    async with started(tmp_path, None) as (app, pilot):
        await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
        await pilot.press("q")
        await until(lambda: app.return_code is not None)
    assert not (tmp_path / "user").exists()


async def test_a_missing_key_is_a_card_with_its_keys_from_the_start(tmp_path: Path) -> None:
    config = '[profiles.cloud]\ntype = "openai"\nmodel = "gpt-4.1"\n'
    async with started(tmp_path, config) as (app, pilot):

        def cards() -> int:
            return sum("No key for cloud" in repr(block) for block in app.main.transcript.story.blocks)

        await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
        await pilot.press("r")
        await until(lambda: cards() == 1)
        await until(lambda: "Ctrl+X r retry   Ctrl+X p provider   Ctrl+X d details   /config" in text_of(app))
        assert "OPENAI_API_KEY" in text_of(app)
        assert "gpt-4.1" in text_of(app).splitlines()[0]
        await pilot.press("ctrl+x", "r")
        await until(lambda: cards() == 2)
        await send(app, pilot, "hello")
        await idle(app)
        await until(lambda: cards() == 3)
        assert app.main.composer.text == "hello"
        assert "no model is chosen" not in text_of(app)
        await pilot.press("ctrl+x", "r")
        await idle(app)
        await until(lambda: cards() == 4)
        assert app.main.composer.text == "hello"
        app.main.composer.load("")
        await send(app, pilot, "/provider cloud")
        await until(lambda: cards() == 5)
        app.main.transcript.focus()
        await pilot.press("d")
        await until(lambda: "key: the variable OPENAI_API_KEY" in text_of(app))


async def test_a_broken_config_starts_in_read_mode_and_says_where(tmp_path: Path) -> None:
    async with started(tmp_path, "x = [\n") as (app, pilot):
        await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
        await pilot.press("t")
        await until(lambda: app.main.conversation is not None)
        told = lambda: "".join(text_of(app).replace("▌", "").split())  # noqa: E731 - wherever the line breaks
        await until(lambda: "isnotvalidTOML" in told())
        assert "config.toml" in told()
        assert "read" in text_of(app).splitlines()[0]
        assert app.session.workspace.permissions.table["write"] == "deny"


async def test_the_card_of_a_broken_config_opens_it_at_the_place_and_then_all_of_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, int]] = []

    def mend(file: str, line: int, _: Mapping[str, str]) -> None:
        opened.append((file, line))
        Path(file).write_text(script_config(tmp_path) if len(opened) > 1 else "# one\nx = (\n", encoding="utf-8")

    monkeypatch.setattr("tui_agent.ui.mending.open_at", mend)
    monkeypatch.setattr(AgentApp, "suspend", lambda _: nullcontext())
    async with started(tmp_path, "x = {\n") as (app, pilot):
        await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
        await pilot.press("t")
        await until(lambda: "▌ The configuration cannot be used" in text_of(app))
        for said in (
            "x = {",
            "^",
            "/configure opens it",
            "/reload reads it again",
            "Ctrl+X Tab card",
            "read only",
            "nothing is written or run",
        ):
            await until(lambda said=said: said in text_of(app))  # type: ignore[misc]
        app.main.composer.load("kept")
        await pilot.press("ctrl+x", "tab", "c")
        await until(lambda: "▌ Not read again" in text_of(app))
        await pilot.press("c")
        await until(lambda: app.main.conversation is not None and app.session.profile is not None)
        await until(lambda: app.session.mode.name == "ask")
        file = str(app.begin.user_file)
        assert opened == [(file, 1), (file, 2)]
        assert app.session.workspace.permissions.table["write"] == "ask"
        assert app.main.composer.text == "kept"
        await until(lambda: "cannot be used" not in text_of(app))


async def test_a_mended_config_gives_the_model_at_a_reload_and_nothing_is_said_twice(tmp_path: Path) -> None:
    async with started(tmp_path, "x = [\n") as (app, pilot):
        await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
        await pilot.press("t")
        await until(lambda: app.main.conversation is not None)
        assert app.session.profile is None
        app.begin.user_file.write_text(script_config(tmp_path), encoding="utf-8")
        await send(app, pilot, "/reload")
        await until(lambda: app.session.profile is not None)
        for _ in range(3):
            app.notify("Put away.", markup=False)
            await pilot.pause()
        assert [note.message for note in app._notifications].count("Put away.") == 1


def test_branch_is_read_from_the_file(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert branch_of(tmp_path) == ""
    looks_like_one(tmp_path, "ref: refs/heads/a/b\n")
    assert branch_of(tmp_path) == "a/b"
    (tmp_path / ".git" / "HEAD").write_text("0123456789abcdef\n", encoding="utf-8")
    assert branch_of(tmp_path) == "01234567"
    (tmp_path / "below" / "deep").mkdir(parents=True)
    assert branch_of(tmp_path / "below" / "deep") == "01234567"
    own = tmp_path / ".git" / "worktrees" / "below"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/mine\n", encoding="utf-8")
    for line in (f"gitdir: {own}\n", "gitdir: ../.git/worktrees/below\n"):
        (tmp_path / "below" / ".git").write_text(line, encoding="utf-8")
        assert branch_of(tmp_path / "below" / "deep") == "mine"
