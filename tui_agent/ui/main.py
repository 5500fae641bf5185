"""The main screen: transcript and side pane, composer, header and footer, and what their keys do."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.types import AgentError, ApprovalRequest, ConfigError, Decision
from tui_agent.modes import AUTO, following, mode
from tui_agent.ui.actions import ACTIONS, BY_SLASH
from tui_agent.ui.approval import ask_on_screen
from tui_agent.ui.attention import Attention
from tui_agent.ui.chrome import Footer, FooterState, Header, HeaderState, Queue, Rule
from tui_agent.ui.composer import Composer
from tui_agent.ui.conversation import Conversation
from tui_agent.ui.late_modal import Outside
from tui_agent.ui.looks import Looks
from tui_agent.ui.review import Review
from tui_agent.ui.reviewing import edit_first, world_of
from tui_agent.ui.side import SidePane
from tui_agent.ui.transcript import Transcript
from tui_agent.ui.tree import FileTree

AGAIN_SECONDS = 2.0
"""How long "again to quit" and "again to stop" stand."""

SILENT_SECONDS = 20.0
"""How long a stream may be silent before the footer says so."""

Handler = Callable[[str], None]
"""Carries out an action; the argument is what stood behind a slash command."""


def bindings() -> list[BindingType]:
    """The keys of the table that the main screen dispatches."""
    return [
        Binding(",".join(action.keys), f"act('{action.id}')", action.title, priority=action.priority, id=action.id)
        for action in ACTIONS
        if action.scope == "app" and action.keys
    ]


class MainScreen(Screen[None], inherit_bindings=False):
    """Composes the panes, shows the conversation, and dispatches the actions of the table.

    `handlers` are the app's part of the actions, by id.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings()
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it without ClassVar
        (0, "-tiny"),
        (36, "-narrow"),
        (50, "-small"),
        (80, "-medium"),
        (110, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-low"), (10, "-short"), (16, "-tall")]  # noqa: RUF012 - the same
    AUTO_FOCUS = "Composer"

    def __init__(self, side: SidePane, handlers: Mapping[str, Handler]) -> None:
        super().__init__()
        self.conversation: Conversation | None = None
        self.header = HeaderState()
        self.transcript = Transcript()
        self.composer = Composer(placeholder="State a task")
        self._header, self._footer, self._queue = Header(), Footer(), Queue()
        self._side = side
        self._armed = ("", 0.0)
        self._dialog = ""
        self.looks = Looks()
        self.attention = Attention(self._send, lambda: self.app.app_focus)
        self.confirmed: Callable[[], object] | None = None
        """What the word "yes", if it is sent next, confirms."""
        self._ticker: Timer | None = None
        self.handlers: dict[str, Handler] = {
            "ui.interrupt": self.interrupt,
            "agent.stop": lambda _: self.stop(),
            "agent.retry": self.retry,
            "mode.cycle": self.change_mode,
            "plan.approve": self.approve_plan,
            "check.revert": self.revert,
            "ui.back": self.back,
            "pane.files": self.toggle_side,
            "pane.next": self.next_pane,
            "pane.diff": self.review,
            "view.details": lambda _: self.transcript.toggle_details(),
            "scroll.up": lambda _: self.transcript.action_page_up(),
            "scroll.down": lambda _: self.transcript.action_page_down(),
            "scroll.half_up": lambda _: self.transcript.action_half_page_up(),
            "scroll.half_down": lambda _: self.transcript.action_half_page_down(),
            "scroll.home": lambda _: self.transcript.action_home(),
            "scroll.end": lambda _: self.transcript.action_end(),
            "copy.answer": self.copy_answer,
            **handlers,
        }

    def compose(self) -> ComposeResult:
        """Header, panes, composer, footer, with thin rules between them."""
        yield self._header
        yield Rule()
        with Horizontal(id="panes"):
            yield self.transcript
            yield Rule("down")
            yield self._side
        yield Rule()
        yield self._queue
        yield self.composer
        yield Rule()
        yield self._footer
        yield Static("too small: needs 36x10\nthe work goes on", id="too-small", markup=False)

    def on_mount(self) -> None:
        """Start with nothing waiting; the clock of the footer runs only while something goes on."""
        self._queue.display = False
        self.watch(self.app, "app_focus", self._focus_changed, init=False)
        self._ticker = self.set_interval(1.0, self.refresh_footer, pause=True)
        self.refresh_footer()

    def on_unmount(self) -> None:
        """Leave the terminal its own title."""
        self.attention.answered()

    def _focus_changed(self, focused: bool) -> None:
        if focused:
            self.attention.answered()

    # -------------------------------------------------------------- conversation

    @property
    def working(self) -> bool:
        """Whether a turn runs."""
        return self.conversation is not None and self.conversation.working

    @property
    def retrying(self) -> bool:
        """Whether the turn only waits for its next try."""
        return self.conversation is not None and self.conversation.retrying

    def show(self, event: ev.Event | ev.Unknown) -> None:
        """One event of the conversation."""
        self.transcript.feed(event)
        if isinstance(event, ev.RunEnded) and self.working:
            self.attention.call(f"{self.header.folder} - {event.reason}")

    def _send(self, text: str) -> None:
        """Write to the terminal past the screen."""
        if (driver := self.app._driver) is not None:  # noqa: SLF001 - Textual has no other way to set a title
            driver.write(text)

    def refresh_state(self) -> None:
        """Something of the conversation changed: header, side pane, queue, footer."""
        conversation = self.conversation
        if conversation is None or not self.is_mounted:
            return
        happened = conversation.session.events
        changes = fold.changes(happened)
        profile = conversation.session.profile
        self._side.show(changes, fold.plan(happened))
        self._queue.items = tuple(conversation.queue)
        self.header = replace(
            self.header,
            changed=len(changes),
            mode=conversation.session.mode.name,
            model=(profile.model or "") if profile else "no model",
            provider=profile.name if profile else "",
            tokens=conversation.meter.tokens,
            window=conversation.session.window,
            estimated=conversation.meter.estimated,
            cost=conversation.totals.cost,
        )
        self._header.state = self.header
        self._header.set_class(conversation.session.mode is AUTO, "-auto")
        if conversation.unsent is not None and not self.composer.text:
            self.composer.load(conversation.unsent)
            conversation.unsent = None
        self.refresh_footer()

    def refresh_footer(self) -> None:
        """Phase and keys of the top layer."""
        conversation = self.conversation
        if self._ticker is not None:
            (self._ticker.resume if self.working else self._ticker.pause)()
        what, until = self._armed
        armed = what if time.monotonic() < until else ""
        hints: tuple[str, ...] = ()
        if self._dialog:
            phase, hints = "waiting for you", tuple(self._dialog.split("   "))
        elif conversation is None:
            phase = "" if self.is_current else "a question first"
        elif conversation.working:
            now = time.monotonic()
            phase = phase_words(conversation.phase, now - conversation.since, now - conversation.heard)
            stop = "Esc stop" if self.retrying else "Ctrl+C stop"
            hints = (stop, "Enter queue", "Ctrl+J new line", "F2 commands")
        else:
            phase = "" if self.composer.text else "ready"
            hints = ("Enter send", "F2 commands", "Ctrl+C twice quits", "Ctrl+J new line", "Ctrl+X more")
        if armed:
            phase = armed
        self._footer.state = FooterState(phase, hints, self.transcript.below)

    async def ask(self, batch: tuple[ApprovalRequest, ...]) -> tuple[Decision, ...]:
        """Put a batch of questions to the person."""
        check = self.conversation.session.check() if self.conversation else None
        self.header = replace(self.header, question=True)
        self._header.state = self.header
        self.attention.call(f"[!] {self.header.folder} - {batch[0].summary}" if batch else "")
        try:
            return await ask_on_screen(
                self.app,
                batch,
                outside=self.outside(),
                after=shlex.join(check.argv) if check else "",
                where="not sandboxed",
                looks=self.looks,
                edit=partial(edit_first, self.app, self.conversation),
            )
        finally:
            self._dialog_footer("")
            self.attention.answered()
            self.header = replace(self.header, question=False)
            self._header.state = self.header

    def outside(self) -> Outside:
        """What a question needs from this screen: the composer for what is not an answer, the footer."""
        return Outside(
            lambda event: _nothing(self.composer.feed_key(event)),
            lambda event: self.composer.feed_paste(event.text),
            self._dialog_footer,
            free_rows=lambda tight: self.composer.size.height + (2 if tight else 3),
        )

    def _dialog_footer(self, text: str) -> None:
        self._dialog = text
        self.refresh_footer()

    # -------------------------------------------------------------- composer

    @on(Composer.Submitted)
    def submitted(self, event: Composer.Submitted) -> None:
        """A message or a slash command was sent."""
        event.stop()
        confirmed, self.confirmed = self.confirmed, None
        if confirmed is not None and event.text.strip().lower() == "yes":
            confirmed()
            return
        word, _, argument = event.text.strip().partition(" ")
        if word.startswith("/") and "/" not in word[1:] and "\n" not in word:
            action = BY_SLASH.get(word.lower())
            if action is None:
                self.put_back(event.text)
                self.notify(f"There is no command {word}. F2 lists them.", markup=False)
                return
            self.act(action.id, argument.strip())
            return
        if self.conversation is None:
            self.put_back(event.text)
            return
        self.transcript.action_end()
        self.conversation.send(event.text)
        self.refresh_state()

    def put_back(self, text: str) -> None:
        """Back into the composer with what cannot be taken, before what was typed since."""
        self.composer.load("\n".join(filter(None, (text, self.composer.text))))

    @on(Composer.HistoryRequested)
    def history(self, event: Composer.HistoryRequested) -> None:
        """Up in an empty composer: first what waits, then what was sent before."""
        event.stop()
        if self.conversation is None:
            return
        if event.step < 0 and (text := self.conversation.unqueue()) is not None:
            self.composer.load(text)
            return
        said = [e.text for e in self.conversation.session.events if isinstance(e, ev.UserSaid)]
        today = self.composer.text
        at = len(said) if not today else len(said) - 1 - said[::-1].index(today) if today in said else len(said)
        if 0 <= at + event.step < len(said):
            self.composer.load(said[at + event.step], recalled=True)
        elif event.step > 0:
            self.composer.load("")

    @on(FileTree.Chosen)
    def file_chosen(self, event: FileTree.Chosen) -> None:
        """A file of the tree goes into the message."""
        event.stop()
        self.composer.feed_paste(f"{event.path} ")
        self.composer.focus()

    @on(Transcript.BelowChanged)
    def below_changed(self, event: Transcript.BelowChanged) -> None:
        """The badge for what is below the visible part."""
        event.stop()
        self.refresh_footer()

    # -------------------------------------------------------------- actions

    def action_act(self, action_id: str) -> None:
        """A key of the table."""
        self.act(action_id)

    def act(self, action_id: str, argument: str = "") -> None:
        """Carry out an action of the table."""
        self.handlers[action_id](argument)

    def interrupt(self, _: str) -> None:
        """Ctrl+C, in its fixed order: copy, stop, put the draft away, quit."""
        if selected := self.get_selected_text():
            self.app.copy_to_clipboard(selected)
            self.clear_selection()
            self.notify("Copied.", markup=False)
        elif self.working:
            self.stop()
        elif self.composer.put_away():
            self.notify("Put away. Ctrl+Y brings it back.", markup=False)
        elif self.again("Ctrl+C again to quit"):
            self.act("app.quit", "now")

    def back(self, _: str) -> None:
        """Esc, one layer a press: selection, pane, working, nothing."""
        if self.get_selected_text():
            self.clear_selection()
        elif self.has_class("-side-open") and not self.has_class("-wide"):
            self.toggle_side("")
        elif not self.composer.has_focus:
            self.composer.focus()
        elif self.working and (self.retrying or self.esc_stops()):
            self.stop()

    def esc_stops(self) -> bool:
        """Whether this Esc stops the turn, as the person has set it."""
        setting = self.conversation.session.terms.settings.ui.esc_stops if self.conversation else "never"
        return setting == "single" or (setting == "double" and self.again("Esc again stops"))

    def again(self, words: str) -> bool:
        """True for the second press within two seconds; the first one says what the next does."""
        what, until = self._armed
        if what == words and time.monotonic() < until:
            self._armed = ("", 0.0)
            return True
        self._armed = (words, time.monotonic() + AGAIN_SECONDS)
        self.set_timer(AGAIN_SECONDS + 0.05, self.refresh_footer)
        self.refresh_footer()
        return False

    def stop(self) -> None:
        """Interrupt the turn."""
        if self.conversation is not None and self.conversation.working:
            self.run_worker(self.conversation.stop(), name="stop")

    def next_pane(self, _: str) -> None:
        """Composer, transcript, files, and round again."""
        self.focus_next("Composer, Transcript, FileTree")

    def retry(self, _: str) -> None:
        """Send what is in the composer, or else the newest message again."""
        if self.conversation is None or self.working:
            return
        said = [e.text for e in self.conversation.session.events if isinstance(e, ev.UserSaid)]
        if text := self.composer.text.strip() or (said[-1] if said else ""):
            self.composer.load("")
            self.conversation.send(text)

    def change_mode(self, name: str) -> None:
        """To the mode of this name, else to the next of the cycle."""
        if (conversation := self.conversation) is None:
            return
        try:
            conversation.session.enter(mode(name) if name else following(conversation.session.mode))
        except ConfigError as error:
            self.notify(str(error), markup=False)
            return
        conversation.catch_up()
        self.refresh_state()

    def approve_plan(self, _: str) -> None:
        """The plan on the screen is what the person wants: leave mode plan and let it be carried out."""
        if (conversation := self.conversation) is None or conversation.working:
            return
        try:
            words = conversation.session.approve_plan()
        except AgentError as error:
            self.notify(str(error), markup=False)
            return
        conversation.catch_up()
        conversation.send(words)
        self.refresh_state()

    def revert(self, _: str) -> None:
        """Take back the batch after which the check failed; a turn that runs ends first."""
        if self.conversation is not None:
            self.run_worker(self._revert(self.conversation), name="revert", exclusive=True, group="revert")

    async def _revert(self, conversation: Conversation) -> None:
        await conversation.stop()
        try:
            done = await conversation.session.revert()
        except AgentError as error:
            self.notify(str(error), markup=False)
            return
        conversation.note(done)
        self.refresh_state()

    def toggle_side(self, _: str) -> None:
        """Show or hide the pane beside the transcript; where it covers the transcript it takes the focus."""
        self.toggle_class("-side-closed" if self.has_class("-wide") else "-side-open")
        if self.has_class("-side-open") and not self.has_class("-wide"):
            self._side.files.focus()
        else:
            self.composer.focus()

    def review(self, _: str) -> None:
        """Show everything that this session changed; the notes come back into the composer."""
        if self.conversation is not None:
            world = world_of(self.app, self.conversation, self.looks, self.refresh_state)
            self.app.push_screen(Review(world), self.add_notes)

    def add_notes(self, notes: str | None) -> None:
        """Put the notes of a review behind what is in the composer, to be read and sent."""
        if notes:
            self.composer.load("\n\n".join(filter(None, (self.composer.text.strip(), notes))))
            self.composer.focus()

    def copy_answer(self, _: str) -> None:
        """The last answer, as the model wrote it."""
        if text := self.transcript.answer:
            self.app.copy_to_clipboard(text)
            self.notify("The last answer is copied.", markup=False)


def _nothing(_: object) -> None:
    """A question does not care whether the composer could use a key."""


def phase_words(phase: ev.Phase, seconds: float, silent: float = 0.0) -> str:
    """What goes on, in words, with its seconds from the third on; `silent` is how long no bytes came."""
    if phase.name == "streaming" and silent >= SILENT_SECONDS:
        return f"no data for {silent:.0f}s"
    words = {
        "waiting": "waiting for the model",
        "streaming": "streaming",
        "asking": "waiting for you",
        "running": phase.detail or "running",
        "checking": f"check {phase.detail}",
        "idle": "ready",
    }[phase.name]
    if phase.name in {"waiting", "streaming"} and phase.detail:
        words = phase.detail
    return f"{words} {seconds:.0f}s" if seconds >= 3 else words
