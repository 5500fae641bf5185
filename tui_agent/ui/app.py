"""The app: starts the screens in their order, makes the session, and switches what answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from rich.console import RenderableType
from textual.app import App
from textual.binding import BindingType
from textual.worker import WorkerFailed

from tui_agent.config import Loaded, load, profile
from tui_agent.core import fold
from tui_agent.core.display import plain
from tui_agent.core.profile import Profile
from tui_agent.core.types import AgentError, ConfigError, Model
from tui_agent.demo import PROFILE
from tui_agent.demo import model as demo_model
from tui_agent.modes import MODES
from tui_agent.paths import Paths, own_file
from tui_agent.providers import list_models
from tui_agent.session import Session, Terms
from tui_agent.trust import Trust
from tui_agent.ui import receipts
from tui_agent.ui.actions import ACTIONS, keys_of
from tui_agent.ui.conversation import Conversation
from tui_agent.ui.first_run import DEMO, FirstRun
from tui_agent.ui.leader import Leader
from tui_agent.ui.main import Handler, MainScreen
from tui_agent.ui.palette import Palette, PaletteItem
from tui_agent.ui.side import SidePane
from tui_agent.ui.terminal import guard, patch_keys
from tui_agent.ui.trust_card import ask_trust
from tui_agent.ui.undo import go_back
from tui_agent.ui.viewer import LinesView, Viewer
from tui_agent.workspace.git import branch_of

STYLES = (
    "app.tcss",
    "transcript.tcss",
    "composer.tcss",
    "tree.tcss",
    "palette.tcss",
    "approval.tcss",
    "review.tcss",
    "first_run.tcss",
    "undo.tcss",
)


@dataclass(frozen=True, slots=True)
class Ready:
    """A session whose terms and model are given; `task` is put into the composer, `note` into the transcript."""

    terms: Terms
    model: Model
    profile: Profile = PROFILE
    task: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Start:
    """What the command line says: folder, user's folders and config file, and a choice of model."""

    root: Path
    paths: Paths
    user_file: Path
    provider: str | None = None
    model: str | None = None
    ready: Ready | None = None
    """Everything is settled (the demo, tests): no question of trust, no configuration."""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


class AgentApp(App[int], inherit_bindings=False):
    """The full-screen agent."""

    CSS_PATH: ClassVar = [own_file(f"styles/{name}") for name in STYLES]
    BINDINGS: ClassVar[list[BindingType]] = []
    ENABLE_COMMAND_PALETTE = False
    TITLE = "tui-agent"

    def __init__(self, start: Start) -> None:
        super().__init__()
        self.begin = start
        self.loaded = Loaded(start.ready.terms.settings) if start.ready else load(start.user_file)
        self.trust = Trust(start.root, trusted=start.ready is not None and start.ready.terms.trusted)
        handlers: dict[str, Handler] = {
            "ui.palette": lambda _: self.open_palette("Commands"),
            "ui.help": lambda _: self.open_palette("Keys and commands"),
            "ui.leader": lambda _: self.open_leader(),
            "provider.switch": self.switch_provider,
            "model.switch": self.switch_model,
            "session.undo": lambda _: self.go_back(redo=False),
            "session.redo": lambda _: self.go_back(redo=True),
            "session.receipts": self.show_receipts,
            "ui.redraw": self.redraw,
            "app.suspend": lambda _: self.action_suspend_process(),
            "app.quit": self.quit,
        }
        self.main = MainScreen(SidePane(start.root), handlers)

    # -------------------------------------------------------------- start

    def on_mount(self) -> None:
        """Everything that may wait for an answer happens in a worker."""
        theme = self.loaded.settings.ui.theme
        if theme is not None and theme in self.available_themes:
            self.theme = theme
        self.run_worker(self.open_session(), name="start")

    async def open_session(self) -> None:
        """Show the main screen, ask what must be asked in its order, then make the session."""
        await self.push_screen(self.main)
        begin = self.begin
        if (ready := begin.ready) is not None:
            self.converse(Session(ready.terms, self.main.ask))
            self.session.use(ready.model, ready.profile)
            self.main.composer.load(ready.task)
            if ready.note:
                self.talk.note(ready.note)
            self.talk.catch_up()
            self.main.refresh_state()
            return
        if not await self.ask_trust():
            self.exit(0)
            return
        chosen = await self.first_profile()
        if chosen is None and not self.loaded.broken:
            self.exit(0)
            return
        self.converse(Session(self.terms(), self.main.ask))
        for fault in self.loaded.faults:
            self.talk.note(str(fault))
        if self.loaded.broken:
            self.talk.note(f"Nothing is written or run until {begin.user_file} is mended; then start again.")
        if chosen is not None:
            self.answer_with(chosen, begin.model)

    async def ask_trust(self) -> bool:
        """Ask about the folder when that is due; False when the person leaves."""
        begin, outside = self.begin, self.main.outside()
        file = begin.paths.data / "trust.toml"
        known = await ask_trust(self, begin.root, file, begin.user_file, environment=begin.environment, outside=outside)
        if known is None:
            return False
        self.trust = known
        self.load()
        return True

    def load(self) -> None:
        """Read the configuration, with what the person accepted of the folder."""
        self.loaded = self.trust.settings(self.begin.user_file)

    async def first_profile(self) -> Profile | None:
        """The profile to start with: of the command line, of the configuration, or of the first-run screen.

        None when the configuration is broken, or when the person leaves the first-run screen.
        """
        settings, wanted = self.loaded.settings, self.begin.provider
        if wanted == DEMO:
            return PROFILE
        if wanted is not None and wanted not in settings.profiles:
            self.notify(f"There is no profile {wanted}.", severity="error", markup=False)
        found_profile = settings.profiles.get(wanted or "") or settings.active()
        if found_profile is not None or self.loaded.broken:
            return found_profile

        async def ask_server(table: Mapping[str, Any]) -> list[str]:
            return await list_models(profile("new", table), env=self.begin.environment)

        name = await self.push_screen_wait(FirstRun(self.begin.user_file, self.begin.environment, ask_server))
        if name == DEMO:
            return PROFILE
        if name is None:
            return None
        self.load()
        return self.loaded.settings.profiles.get(name)

    def terms(self) -> Terms:
        """What the session starts from."""
        begin = self.begin
        return Terms(
            begin.root,
            self.loaded.settings,
            begin.paths,
            trusted=self.trust.trusted,
            user_file=begin.user_file,
            environment=begin.environment,
        )

    def converse(self, session: Session) -> None:
        """Put a session on the main screen."""
        self.main.conversation = Conversation(session, self.main.show, self.main.refresh_state, self._handle_exception)
        if self.loaded.broken:
            session.mode = MODES["read"]
        folder = session.root.name or str(session.root)
        self.main.header = replace(
            self.main.header, folder=folder, branch=branch_of(session.root) if self.trust.trusted else ""
        )
        self.main.set_class(not session.terms.settings.ui.side_pane, "-side-closed")
        self.main.refresh_state()

    @property
    def talk(self) -> Conversation:
        """The conversation; exists once the session does."""
        assert self.main.conversation is not None
        return self.main.conversation

    @property
    def session(self) -> Session:
        """The session; exists once the start is over."""
        return self.talk.session

    # -------------------------------------------------------------- what answers

    def answer_with(self, chosen: Profile, model: str | None = None) -> None:
        """Let a profile answer from the next message on; what is missing is said in the transcript."""
        try:
            if chosen.name == DEMO and chosen.wire == "scripted":
                self.session.use(demo_model(0.03), chosen)
            else:
                self.session.choose(chosen, model)
        except ConfigError as error:
            self.talk.note(str(error))
        self.talk.catch_up()
        self.main.refresh_state()

    def switch_provider(self, name: str) -> None:
        """By name, or from the palette."""
        profiles = {**self.loaded.settings.profiles, DEMO: PROFILE}
        if not name:
            items = [PaletteItem(p.name, p.name, p.model or "", group="PROVIDER") for p in profiles.values()]
            self.push_screen(Palette(items, title="Switch provider"), self.on_choice(self.switch_provider))
        elif name in profiles:
            self.answer_with(profiles[name])
        else:
            self.notify(f"There is no profile {name}. Known: {', '.join(sorted(profiles))}", markup=False)

    def switch_model(self, model: str) -> None:
        """By id, or from the server's own list."""
        if self.main.conversation is None or (today := self.session.profile) is None:
            self.notify("Choose a provider first.", markup=False)
        elif model:
            self.answer_with(today, model)
        else:
            self.run_worker(self.choose_model(today), name="models", exclusive=True, group="models")

    async def choose_model(self, today: Profile) -> None:
        """Ask the server for its models and the person for one of them."""
        try:
            models = await list_models(today, env=self.begin.environment)
        except AgentError as error:
            self.notify(f"{error} Type /model and its name.", severity="warning", markup=False)
            return
        items = [PaletteItem(m, m, "now" if m == today.model else "", group="MODEL") for m in models]
        if choice := await self.push_screen_wait(Palette(items, title=f"Switch model of {today.name}")):
            self.answer_with(today, choice)

    # -------------------------------------------------------------- what was done

    def go_back(self, *, redo: bool) -> None:
        """Undo or redo changes of files, while no turn runs."""
        if self.main.conversation is None or self.talk.working:
            self.notify("A turn is running. Stop it first, then undo.", markup=False)
        elif self.screen is self.main:
            self.run_worker(self.undo(redo=redo), name="undo")

    async def undo(self, *, redo: bool) -> None:
        """Let the person choose, do it, and show it."""
        if said := await go_back(self, self.session, redo=redo):
            self.notify(plain(said), markup=False)
        self.talk.catch_up()
        self.main.refresh_state()

    def show_receipts(self, _: str) -> None:
        """Everything that was written or run in this session."""
        if self.main.conversation is not None:
            view = LinesView(receipts.lines(fold.receipts(self.session.events)))
            self.push_screen(Viewer("Receipts of this session, newest first", view))

    # -------------------------------------------------------------- palette, leader, leaving

    @staticmethod
    def on_choice(then: Callable[[str], None]) -> Callable[[str | None], None]:
        """A callback for a screen that returns a choice or None."""

        def chosen(choice: str | None) -> None:
            if choice is not None:
                then(choice)

        return chosen

    def open_palette(self, title: str) -> None:
        """All actions that can be listed, with their keys."""
        items = [
            PaletteItem(a.id, a.title, keys_of(a) or a.slash or "")
            for a in ACTIONS
            if a.listed and a.scope == "app" and (a.id != "agent.stop" or self.main.working)
        ]
        self.push_screen(Palette(items, title=title), self.on_choice(self.main.act))

    def open_leader(self) -> None:
        """Wait for the key behind Ctrl+X."""
        self.push_screen(Leader(), self.on_choice(self.main.act))

    def redraw(self, _: str) -> None:
        """Draw every cell anew."""
        self.refresh(layout=True)

    def quit(self, sure: str = "") -> None:
        """Leave; while a turn runs only the second time."""
        talk = self.main.conversation
        if talk is not None and talk.working and not sure and not self.main.again("A turn is running. Again to quit"):
            return
        self.run_worker(self.leave(0), name="leave")

    async def on_unmount(self) -> None:
        """However the app ends, its run ends first, with its stream closed and its log complete."""
        if self.main.conversation is not None:
            await self.talk.stop()

    def stop_soon(self, number: int) -> None:
        """A signal came: end from wherever the app is. Called between two bytecodes of the main thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(lambda: self.run_worker(self.leave(128 + number), name="leave"))

    async def leave(self, code: int) -> None:
        """End the run, then the app."""
        if self.main.conversation is not None:
            await self.talk.stop()
        self.exit(code, return_code=code)

    def _handle_exception(self, error: Exception) -> None:
        """Keep the first exception that nobody caught, and leave; `run` raises it when the terminal is given back.

        Textual would print it with the local variables: they may hold a key, or escapes that the terminal obeys.
        """
        self._return_code = 1
        if self._exception is None:
            self._exception = error.error if isinstance(error, WorkerFailed) else error  # type: ignore[assignment]
            self._exception_event.set()
        self._close_messages_no_wait()

    def panic(self, *_: RenderableType) -> None:
        """Leave without words: Textual calls it when the terminal cannot be read any more."""
        self._return_code = 1
        self._close_messages_no_wait()


def run(start: Start) -> int:
    """Run the app in this terminal; returns the exit code. An exception that ended it is raised."""
    patch_keys()
    app = AgentApp(start)
    with guard(app.stop_soon):
        app.run()
        if app._exception is not None:  # noqa: SLF001 - Textual keeps it for its own tests, and offers no other way
            raise app._exception  # noqa: SLF001
    return app.return_code or 0
