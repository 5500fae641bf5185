"""The app: starts the screens in their order, makes the session, and switches what answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from rich.console import RenderableType
from textual.app import App
from textual.binding import BindingType
from textual.worker import WorkerFailed

from tui_agent.config import Loaded, load
from tui_agent.core import fold
from tui_agent.core.display import plain
from tui_agent.core.profile import Profile
from tui_agent.core.types import Model
from tui_agent.demo import PROFILE
from tui_agent.modes import MODES
from tui_agent.paths import Paths, own_file
from tui_agent.providers.network import Network
from tui_agent.session import Session, Terms
from tui_agent.trust import Trust
from tui_agent.ui import receipts
from tui_agent.ui.actions import ACTIONS, keys_of
from tui_agent.ui.conversation import Conversation
from tui_agent.ui.first_run import DEMO, FirstRun
from tui_agent.ui.found import Look, Servers, look_around
from tui_agent.ui.job_list import JobList
from tui_agent.ui.leader import Leader
from tui_agent.ui.main import Handler, MainScreen
from tui_agent.ui.palette import Palette, PaletteItem
from tui_agent.ui.reports import Reports
from tui_agent.ui.rights import Rights
from tui_agent.ui.side import SidePane
from tui_agent.ui.switching import Switching
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
    network: Network = field(default_factory=Network)
    look: Look = look_around
    """Finds what is on this machine, for the first run."""


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
        self.jobs = JobList(self)
        self.switching, self.reports = Switching(self), Reports(self)
        self.tried = ""
        """How the first run's choice was tried, for the transcript."""
        handlers: dict[str, Handler] = {
            "ui.palette": lambda _: self.open_palette("Commands"),
            "ui.help": lambda _: self.open_palette("Keys and commands"),
            "ui.leader": lambda _: self.open_leader(),
            "session.undo": lambda _: self.go_back(redo=False),
            "session.redo": lambda _: self.go_back(redo=True),
            "session.receipts": self.show_receipts,
            "provider.switch": self.switching.provider,
            "model.switch": self.switching.model,
            "model.effort": self.switching.effort,
            "session.tokens": self.reports.tokens,
            "session.privacy": self.reports.privacy,
            "config.show": self.reports.config,
            "config.reload": self.reports.reload,
            "session.debug": self.reports.debug,
            "ui.redraw": self.redraw,
            "app.suspend": lambda _: self.action_suspend_process(),
            "app.quit": self.quit,
            **Rights(self).handlers,
            **self.jobs.handlers,
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
        if self.tried:
            self.talk.note(self.tried)
        if chosen is not None:
            self.switching.answer_with(chosen, begin.model)

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

        begin = self.begin
        servers = Servers(begin.environment, begin.network)
        chosen = await self.push_screen_wait(FirstRun(begin.user_file, begin.environment, servers, begin.look))
        if chosen is None:
            return None
        self.tried = chosen.word
        if chosen.name == DEMO:
            return PROFILE
        self.load()
        return self.loaded.settings.profiles.get(chosen.name)

    def terms(self) -> Terms:
        """What the session starts from."""
        begin = self.begin
        return Terms(
            begin.root,
            self.loaded.settings,
            begin.paths,
            trusted=self.trust.trusted,
            user_file=begin.user_file,
            network=begin.network,
            environment=begin.environment,
        )

    def converse(self, session: Session) -> None:
        """Put a session on the main screen."""
        self.main.conversation = Conversation(session, self.main.show, self.changed, self._handle_exception)
        if self.loaded.broken:
            session.mode = MODES["read"]
        folder = session.root.name or str(session.root)
        self.main.header = replace(
            self.main.header, folder=folder, branch=branch_of(session.root) if self.trust.trusted else ""
        )
        self.main.set_class(not session.terms.settings.ui.side_pane, "-side-closed")
        self.main.refresh_state()

    def changed(self) -> None:
        """Something of the conversation changed."""
        self.main.refresh_state()
        self.switching.look()

    @property
    def talk(self) -> Conversation:
        """The conversation; exists once the session does."""
        assert self.main.conversation is not None
        return self.main.conversation

    @property
    def session(self) -> Session:
        """The session; exists once the start is over."""
        return self.talk.session

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
        """However the app ends, its jobs and its run end first, with its stream closed and its log complete."""
        await self.jobs.end_all()
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
