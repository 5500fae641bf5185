"""The app: starts the screens in their order, makes the session, and switches what answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from rich.console import RenderableType
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.widgets import Input
from textual.worker import WorkerFailed

from tui_agent.config import Loaded, load
from tui_agent.core.display import plain
from tui_agent.core.endings import BY_SIGNAL, BY_YOU
from tui_agent.core.profile import Profile
from tui_agent.core.types import Model
from tui_agent.demo import PROFILE
from tui_agent.modes import MODES
from tui_agent.paths import Paths, own_file
from tui_agent.providers import load as load_http
from tui_agent.providers.network import Network
from tui_agent.providers.web import ENGINES
from tui_agent.session import Session, Terms
from tui_agent.sessions import Place
from tui_agent.terms import with_servers
from tui_agent.trust import Trust
from tui_agent.ui.actions import ACTIONS
from tui_agent.ui.appearance import Appearance
from tui_agent.ui.arrivals import kept
from tui_agent.ui.beginning import Beginning
from tui_agent.ui.calling import INTENTS, Calling, choices
from tui_agent.ui.caret import CaretApp
from tui_agent.ui.carrying import Carrying
from tui_agent.ui.completing import Sources
from tui_agent.ui.completion import Choice
from tui_agent.ui.context import ContextKeys
from tui_agent.ui.conversation import Conversation
from tui_agent.ui.editing import clean
from tui_agent.ui.found import Look, look_around
from tui_agent.ui.job_list import JobList
from tui_agent.ui.keymap import Keymap, checked
from tui_agent.ui.late_modal import LateModal
from tui_agent.ui.looks import remembered
from tui_agent.ui.main import Handler, MainScreen
from tui_agent.ui.mending import Mending
from tui_agent.ui.menus import Menus
from tui_agent.ui.modal import Modal
from tui_agent.ui.opening import Opening
from tui_agent.ui.painting import patch_painting
from tui_agent.ui.pastes import patch_pastes
from tui_agent.ui.reports import Reports
from tui_agent.ui.rewind import Rewinding
from tui_agent.ui.rights import Rights
from tui_agent.ui.server_list import ServerList
from tui_agent.ui.shelf import Shelf
from tui_agent.ui.side import SidePane
from tui_agent.ui.switching import EFFORTS, Switching
from tui_agent.ui.terminal import drawing_on_the_terminal, guard, modes, patch_keys, patch_output, show_life
from tui_agent.ui.themes import scrollbars
from tui_agent.ui.undo import Undoing
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
    "context.tcss",
    "sessions.tcss",
)

WARM_SECONDS = 1.0
"""When what the first request needs is imported: not before the first frame, and before anybody has typed a message."""


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
    place: Place | None = None
    """The session to go on with; None begins a new one."""
    ready: Ready | None = None
    """Everything is settled (the demo, tests): no question of trust, no configuration."""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    network: Network = field(default_factory=Network)
    look: Look = look_around
    """Finds what is on this machine, for the first run."""
    light: bool | None = None
    """Whether the terminal is light, None unknown."""
    wide: bool = False
    """Whether it draws signs in two cells that are counted as one."""
    typed: str = ""
    """What was typed before the screen was there."""
    looks: Mapping[str, Any] = field(default_factory=dict)
    """What goes before `[ui]` of the configuration this time."""


class AgentApp(CaretApp, inherit_bindings=False):
    """The full-screen agent."""

    CSS_PATH: ClassVar = [own_file(f"styles/{name}") for name in STYLES]
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(",".join(a.keys), f"over('{a.id}')", a.title, priority=True, id=a.id) for a in ACTIONS if a.over),
        Binding("ctrl+c", "stop_below", show=False, priority=True, id="ui.interrupt"),
    ]
    ENABLE_COMMAND_PALETTE = False
    TITLE = "tui-agent"

    def __init__(self, start: Start) -> None:
        super().__init__()
        self.begin = start
        loaded = Loaded(start.ready.terms.settings) if start.ready else load(start.user_file)
        self.loaded, self.keys = self.in_force(loaded)
        self.trust = Trust(start.root, trusted=start.ready is not None and start.ready.terms.trusted)
        self.jobs, self.appearance, self.servers = JobList(self), Appearance(self), ServerList(self)
        self.animation_level = "none"
        self.switching, self.reports, self.shelf = Switching(self), Reports(self), Shelf(self)
        self.carrying, self.mending = Carrying(self), Mending(self)
        self.opening, self.beginning, self.wants_demo = Opening(self), Beginning(self), False
        self._kept = AsyncExitStack()
        handlers: dict[str, Handler] = {
            **Menus(self).handlers,
            **self.switching.handlers,
            **self.reports.handlers,
            "ui.redraw": self.redraw,
            "composer.paste": self.carrying.paste,
            "app.suspend": lambda _: self.action_suspend_process(),
            "app.quit": self.quit,
            **Rights(self).handlers,
            **Calling(self).handlers,
            **ContextKeys(self).handlers,
            **Undoing(self).handlers,
            **self.shelf.handlers,
            **Rewinding(self).handlers,
            **self.jobs.handlers,
            **self.servers.handlers,
            **self.mending.handlers,
            **self.appearance.handlers,
        }
        self.main = MainScreen(SidePane(start.root), handlers)
        self.main.attention.signs = self.appearance.signs

    # -------------------------------------------------------------- start

    async def on_mount(self) -> None:
        """Everything that may wait for an answer happens in a worker."""
        await self._kept.enter_async_context(self.terms().network.kept())
        self._kept.push_async_callback(self.servers.end_all)
        self.appearance.begin()
        self.run_worker(self.opening.begin(), name="start")
        self.set_timer(WARM_SECONDS, self.warm)

    def warm(self) -> None:
        """Import what the first request needs; given uncalled, so that none is left waiting when the app ends first."""
        self.run_worker(load_http, name="load")  # type: ignore[arg-type]  # the result is nobody's

    def load(self) -> None:
        """Read the configuration, with what the person accepted of the folder."""
        self.loaded, self.keys = self.in_force(self.trust.settings(self.begin.user_file))
        self.appearance.follow()
        self.take_keys()

    def in_force(self, loaded: Loaded) -> tuple[Loaded, Keymap]:
        """A configuration under what the command line says, with what is wrong with its keys, and those that count."""
        ui = replace(loaded.settings.ui, **self.begin.looks)
        loaded, keys = checked(replace(loaded, settings=replace(loaded.settings, ui=ui)), self.begin.user_file)
        return loaded, replace(keys, kept=frozenset(kept(self.begin.environment)))

    def take_keys(self) -> None:
        """Let the keys of the person count, and be shown."""
        self.set_keymap(self.keys.overrides)
        self.main.take_keys(self.keys)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What the lines of the screen go through before they are written."""
        return self.appearance.filters(super().get_line_filters())

    def get_css_variables(self) -> dict[str, str]:
        """The colours of the theme, scrollbars in its greys."""
        colours = super().get_css_variables()
        return {**colours, **scrollbars(self.current_theme, colours)}

    def terms(self) -> Terms:
        """What the session starts from."""
        begin = self.begin
        if begin.ready is not None:
            return begin.ready.terms
        terms = Terms(
            begin.root,
            self.loaded.settings,
            begin.paths,
            trusted=self.trust.trusted,
            words=self.trust.words,
            user_file=begin.user_file,
            network=begin.network,
            environment=begin.environment,
            servers=self.servers.servers,
        )
        return with_servers(terms)

    def converse(self, session: Session) -> None:
        """Put a session on the main screen."""
        self.main.conversation = Conversation(session, self.main.show, self.changed, self._handle_exception)
        if self.begin.ready is None:
            self.main.looks = remembered(self.begin.paths.state / "diff-layout")
        if self.loaded.broken:
            session.mode = MODES["read"]
            self.talk.unusable = True
        arguments = {
            "profile": self.switching.profile_choices,
            "model": self.switching.model_choices,
            "effort": lambda: [Choice(word) for word in (*EFFORTS, "default")],
            "mode": lambda: [Choice(mode.name, mode.what) for mode in MODES.values()],
            "command": lambda: choices(session),
            "intents": lambda: [Choice(word, what) for word, what in INTENTS.items()],
            "engine": lambda: [Choice(name) for name in (*ENGINES, "on", "off")],
            "theme": self.appearance.choices,
            "action": lambda: [Choice(a.id, a.title) for a in ACTIONS],
        }
        self.main.desk.begin(self.talk, Sources(arguments, {"model": self.switching.ask_models}))
        self.main.files.begin()
        folder = session.root.name or str(session.root)
        self.main.header = replace(
            self.main.header, folder=folder, branch=branch_of(session.root) if self.trust.trusted else ""
        )
        self.main.set_class(not session.terms.settings.ui.side_pane, "-side-closed")
        self.main.refresh_state()
        self.servers.begin()

    def changed(self) -> None:
        """Something of the conversation changed."""
        self.main.refresh_state()
        self.switching.look()
        self.beginning.look()

    @property
    def talk(self) -> Conversation:
        """The conversation; exists once the session does."""
        assert self.main.conversation is not None
        return self.main.conversation

    @property
    def session(self) -> Session:
        """The session; exists once the start is over."""
        return self.talk.session

    # -------------------------------------------------------------- choices, the clipboard, leaving

    @staticmethod
    def on_choice(then: Callable[[str], None]) -> Callable[[str | None], None]:
        """A callback for a screen that returns a choice or None."""

        def chosen(choice: str | None) -> None:
            if choice is not None:
                then(choice)

        return chosen

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text; everything that copies comes through here."""
        self._clipboard = clean(text)
        self.carrying.copy(self._clipboard)

    def notify(self, message: str, **options: Any) -> None:
        """Say something for a while, whoever's words are in it; what stands there already is not said a second time."""
        message = plain(message, "prose")
        if all(shown.message != message for shown in self._notifications):
            super().notify(message, **options)

    def action_over(self, action_id: str) -> None:
        """A key of the table that counts whatever lies over the main screen."""
        self.main.act(action_id)

    def action_stop_below(self) -> None:
        """Stop the turn that runs below a list or a review; they stay, and so does what is being written there.

        Over a question it is the answer to that, as it is without the list.
        """
        working = self.main.conversation is not None and self.talk.working
        asks = isinstance(self.screen, LateModal)  # a question has its own answer to it
        selects = isinstance(self.focused, Input) and not self.focused.selection.is_empty
        if not working or not isinstance(self.screen, Modal) or asks or selects:
            raise SkipAction
        if asked := [screen for screen in self.screen_stack if isinstance(screen, LateModal)]:
            while self.screen is not asked[-1]:
                self.screen.dismiss(None)
            asked[-1].interrupt()
            return
        self.main.act("agent.stop")
        self.notify("The turn is stopped.", markup=False)

    def redraw(self, _: str) -> None:
        """Draw every cell anew, on a terminal that has all its modes again."""
        self.main.send_raw(modes(self.appearance.mouse))
        self.refresh(layout=True)

    def quit(self, sure: str = "") -> None:
        """Leave; while a turn or a job runs only the second time."""
        talk = self.main.conversation
        turn, jobs = (
            talk is not None and talk.working,
            talk is not None and any(job.running for job in self.session.jobs.all),
        )
        runs = "A turn is running" if turn else "A background job is running" if jobs else ""
        if runs and not sure and not self.main.again(f"{runs}. Again to quit"):
            return
        self.run_worker(self.leave(0), name="leave")

    async def on_unmount(self) -> None:
        """However the app ends, its jobs and its run end first, with its stream closed and its log complete."""
        await self.jobs.end_all()
        if self.main.conversation is not None:
            await self.talk.stop()
            self.main.drafts.save()
            self.session.place.close()
        await self._kept.aclose()

    def stop_soon(self, number: int, alive: Callable[[], None]) -> None:
        """A signal came: end from wherever the app is, `alive` all the while. Called between two bytecodes of the main thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(show_life, alive)
            self._loop.call_soon_threadsafe(lambda: self.run_worker(self.leave(128 + number), name="leave"))

    async def leave(self, code: int) -> None:
        """End the run, then the app."""
        if self.main.conversation is not None:
            self.session.stopped = BY_SIGNAL.get(code - 128, BY_YOU)
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

    def panic(self, *said: RenderableType) -> None:
        """Leave: Textual calls it when keys cannot be read any more. A terminal that is gone needs no words."""
        from rich.traceback import Traceback  # noqa: PLC0415 - a tenth of a second, and by now whoever calls this has it

        self._return_code = 1
        for trace in (trace for trace in said if isinstance(trace, Traceback)):
            stack = trace.trace.stacks[0]
            if stack.exc_type != OSError.__name__:
                at = f" in {stack.frames[-1].name}" if stack.frames else ""
                self._handle_exception(RuntimeError(f"keys cannot be read: {stack.exc_type}{at}: {stack.exc_value}"))
        self._close_messages_no_wait()


@dataclass(frozen=True, slots=True)
class Ended:
    """How the screen ended. `demo`: the person chose it at the first start, and it plays in a folder of its own."""

    code: int
    demo: bool = False


def run(start: Start) -> Ended:
    """Run the app in this terminal to its end. An exception that ended it is raised."""
    patch_keys()
    patch_pastes()
    patch_painting()
    patch_output()
    app = AgentApp(start)
    with guard(app.stop_soon), drawing_on_the_terminal():
        app.run(mouse=app.appearance.mouse)
        if app._exception is not None:  # noqa: SLF001 - Textual keeps it for its own tests, and offers no other way
            raise app._exception  # noqa: SLF001
    return Ended(app.return_code or 0, app.wants_demo)
