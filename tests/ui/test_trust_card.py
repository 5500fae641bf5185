"""The trust card in the whole app: what it lists, what its keys do, and a folder that tries everything (faults 68 to 70)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from tests.cli.server import Text, call, serving
from tests.fixtures.hostile import FORBIDDEN, canaries, hostile_repo
from tests.ui.test_app import answer, idle, send, text_of
from tests.waiting import until
from tui_agent.core import events as ev
from tui_agent.paths import Paths
from tui_agent.trust import TrustStore
from tui_agent.ui.app import AgentApp, Start
from tui_agent.ui.approval import ApprovalScreen
from tui_agent.ui.trust_card import TrustCard
from tui_agent.ui.viewer import Viewer

CANARY = "sk-CANARY-77aa77aa77aa"


class Person:
    """A person's folders, with one profile, and a folder to work in."""

    def __init__(self, base: Path, url: str = "http://127.0.0.1:9/v1") -> None:
        self.base, self.root = base, base / "work"
        self.root.mkdir(exist_ok=True)
        self.paths = Paths(base / "config", base / "data", base / "state")
        self.paths.config_file.parent.mkdir(exist_ok=True)
        self.paths.config_file.write_text(
            f'[profiles.local]\nendpoint = "{url}"\nmodel = "m"\napi_key_env = "LOCAL_KEY"\noptions = {{ retries = 0 }}\n'
        )

    @property
    def store(self) -> TrustStore:
        return TrustStore(self.paths.data / "trust.toml")

    def put(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    @asynccontextmanager
    async def app(self, size: tuple[int, int] = (120, 50)) -> AsyncIterator[tuple[AgentApp, Pilot[int]]]:
        path = os.pathsep.join([str(self.root / ".venv/bin"), os.environ["PATH"]])
        environment = {"HOME": str(self.base / "home"), "LOCAL_KEY": CANARY, "PATH": path}
        app = AgentApp(Start(self.root, self.paths, self.paths.config_file, environment=environment))
        async with app.run_test(size=size) as pilot:
            yield app, pilot


async def card(app: AgentApp, pilot: Pilot[int]) -> TrustCard:
    await until(lambda: isinstance(app.screen, TrustCard) and app.screen.armed)
    await pilot.pause(0.05)
    assert isinstance(app.screen, TrustCard)
    return app.screen


async def started(app: AgentApp) -> None:
    await until(lambda: app.main.conversation is not None and app.session.profile is not None)


async def test_what_goes_to_the_message_is_told_on_the_card_that_covers_it(tmp_path: Path) -> None:
    async with Person(tmp_path).app((80, 24)) as (app, pilot):
        await card(app, pilot)
        assert "stands in your message" not in text_of(app)
        await pilot.press("x")
        await until(lambda: "What was typed too early stands in your message" in text_of(app))
        assert app.main.composer.text == "x"


def holding_the_key(base: Path) -> list[Path]:
    return [p for p in base.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()]


def notes(app: AgentApp) -> str:
    return "\n".join(e.text for e in app.session.events if isinstance(e, ev.Notice))


@pytest.mark.parametrize("key", ["r", "t"])
async def test_a_folder_that_tries_everything(tmp_path: Path, key: str) -> None:
    asked = [
        call("run_command", argv=["git", "commit", "-am", "x"]),
        call("run_command", argv=["touch", str(tmp_path / "PWN-pattern")]),
    ]
    with serving(Text("you are mine")) as attacker, serving(*asked, Text("Done.")) as mine:
        person = Person(tmp_path, mine.url)
        hostile_repo(person.root, tmp_path, attacker.url)
        async with person.app((120, 60)) as (app, pilot):
            await card(app, pilot)
            shown = str(app.screen.query_one("#trust-text", Static).content)
            offered = ("AGENTS.md", "PWN-check", "server evil: touch")
            for text in (*FORBIDDEN, *offered, "core.fsmonitor", "filter.ev=il.clean", "hook pre-commit"):
                assert text in shown
            assert canaries(tmp_path) == []
            assert (mine.bodies, attacker.bodies) == ([], [])
            await pilot.press(key)
            await started(app)
            await send(app, pilot, "look")
            for _ in asked:
                await until(lambda: isinstance(app.screen, ApprovalScreen))
                await answer(app, pilot, "n")
                await pilot.press("enter")
            await idle(app)
            assert app.session.profile.name == "local"
            assert app.session.terms.settings.policy.table["run"] == "ask"
            if key == "t":
                for name in FORBIDDEN:
                    assert name in notes(app)
        # with t the entry .mcp.json was accepted, whose command the card shows; nothing else runs
        assert canaries(tmp_path) == (["PWN-mcp"] if key == "t" else [])
        assert attacker.bodies == []
        assert ("AGENTS-CANARY" in str(mine.bodies)) is (key == "t")
    assert holding_the_key(tmp_path) == []


async def test_entries_are_taken_one_by_one(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.put(".tui_agent/config.toml", '[permissions]\nwrite = "deny"\n[checks]\n"." = ["make", "check"]\n')
    person.put("AGENTS.md", "Be kind.\n")
    async with person.app() as (app, pilot):
        await card(app, pilot)
        await pilot.press("down", "space")  # not the check
        await pilot.pause(0.05)
        assert "[ ] check" in text_of(app)
        await pilot.press("t")
        await started(app)
        assert app.session.check() is None
        assert app.session.terms.settings.policy.table["write"] == "deny"
    trust = person.store.look(person.root)
    assert (sorted(trust.entries), trust.changed, trust.check) == (["AGENTS.md", "config"], (), None)
    async with person.app() as (app, pilot):
        await started(app)  # what was left is not asked again


async def test_an_accepted_check_is_the_check(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.put(".tui_agent/config.toml", '[checks]\n"." = ["make", "check"]\n')
    async with person.app() as (app, pilot):
        await card(app, pilot)
        await pilot.press("t")
        await started(app)
        assert app.session.check().argv == ("make", "check")


async def test_view_shows_all_of_an_entry_and_answers_nothing(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.put("AGENTS.md", "\n".join(f"line {n}\x1b[31m" for n in range(200)))
    async with person.app() as (app, pilot):
        await card(app, pilot)
        await pilot.press("v")
        await until(lambda: isinstance(app.screen, Viewer))
        await pilot.pause(0.2)
        assert "line 0<ESC>[31m" in text_of(app)
        await pilot.press("t", "end")
        await pilot.pause(0.2)
        assert "line 199" in text_of(app)
        await pilot.press("escape")
        await card(app, pilot)
        await pilot.press("i")
        await started(app)
        assert app.session.terms.trusted is False
    assert list(person.store.look(person.root).entries) == ["AGENTS.md"]


@pytest.mark.parametrize(
    ("key", "check", "trusted"),
    [("t", ("rm", "x"), True), ("n", None, True), ("enter", None, True), ("r", None, False)],
)
async def test_what_changed_is_asked_again_with_its_difference(
    tmp_path: Path, key: str, check: tuple[str, ...] | None, trusted: bool
) -> None:
    person = Person(tmp_path)
    person.put("AGENTS.md", "Be kind.\n")
    person.put(".tui_agent/config.toml", '[checks]\n"." = ["make", "check"]\n')
    person.store.answer(person.root, trusted=True)
    person.put(".tui_agent/config.toml", '[checks]\n"." = ["rm", "x"]\n')
    async with person.app() as (app, pilot):
        await card(app, pilot)
        shown = text_of(app)
        assert "has changed since you trusted it" in shown
        assert "[x] AGENTS.md" not in shown
        await pilot.press("v")
        await until(lambda: isinstance(app.screen, Viewer))
        await pilot.pause(0.2)
        assert '- "." = ["make", "check"]' in text_of(app)
        assert '+ "." = ["rm", "x"]' in text_of(app)
        await pilot.press("escape")
        await card(app, pilot)
        await pilot.press(key)
        await started(app)
        assert app.session.terms.trusted is trusted
        assert (app.session.check().argv if app.session.check() else None) == check
    trust = person.store.look(person.root)
    assert trust.trusted is trusted
    assert ("AGENTS.md" in trust.entries) is trusted
    assert bool(trust.changed) is (key in {"n", "enter"})  # off, and asked again next time


@pytest.mark.parametrize("damage", ["corrupt", "link", "full"])
async def test_an_answer_that_cannot_be_kept_is_restricted(
    tmp_path: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = Person(tmp_path)
    person.put(".tui_agent/config.toml", '[checks]\n"." = ["make", "check"]\n')
    file = person.store.file
    file.parent.mkdir()
    if damage == "corrupt":
        file.write_text("folders = [")
    elif damage == "link":
        file.symlink_to(tmp_path / "elsewhere")
    else:

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("tui_agent.answers.write_private", full)
    async with person.app() as (app, pilot):
        await card(app, pilot)
        await pilot.press("t")
        await started(app)
        assert app.session.terms.trusted is False
        assert app.session.check() is None
        assert "This session is restricted." in "\n".join(n.message for n in app._notifications)
    assert (file.read_text() if damage == "corrupt" else file.is_symlink()) == (
        "folders = [" if damage == "corrupt" else damage == "link"
    )


async def test_what_is_no_entry_is_named(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.root.mkdir(exist_ok=True)
    (person.root / "AGENTS.md").symlink_to("elsewhere.md")
    async with person.app() as (app, pilot):
        await card(app, pilot)
        shown = str(app.screen.query_one("#trust-text", Static).content)
        assert "It adds no configuration of its own.\nNot used: AGENTS.md is a link." in shown
        await pilot.press("r")
        await started(app)


async def test_home_cannot_be_trusted(tmp_path: Path) -> None:
    person = Person(tmp_path)
    person.root = tmp_path / "home"
    person.put("AGENTS.md", "x\n")
    async with person.app() as (app, pilot):
        await card(app, pilot)
        await pilot.press("t", "i")
        assert isinstance(app.screen, TrustCard)
        await pilot.press("r")
        await started(app)
        assert app.session.terms.trusted is False
