"""The main screen: transcript and side pane, composer, header and footer, and what their keys do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.geometry import Offset
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.modes import AUTO
from tui_agent.review import other_after
from tui_agent.ui.actions import ACTIONS
from tui_agent.ui.asking import Asking
from tui_agent.ui.attention import Attention
from tui_agent.ui.chrome import Effect, Footer, Header, HeaderState, Pane, Rule, footer_state, header_of, title_of
from tui_agent.ui.composer import Composer
from tui_agent.ui.conversation import Conversation
from tui_agent.ui.desk import Desk
from tui_agent.ui.drafts import Drafts
from tui_agent.ui.files import Files
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.ui.late_modal import LateModal
from tui_agent.ui.looks import Looks
from tui_agent.ui.offer import Offer
from tui_agent.ui.reading import Reading
from tui_agent.ui.reviewing import Reviewing
from tui_agent.ui.sending import Sending
from tui_agent.ui.side import SidePane
from tui_agent.ui.terminal import is_lent
from tui_agent.ui.transcript import CursorBar, Transcript
from tui_agent.ui.tree import FileTree
from tui_agent.ui.turn import Turn
from tui_agent.ui.twice import AGAIN_SECONDS, Twice

Handler = Callable[[str], None]
"""Carries out an action; the argument is what stood behind a slash command."""
AT_ONCE = frozenset({"app.quit", "app.suspend", "ui.interrupt", "ui.mouse", "ui.redraw"})
"""What can be done from the first moment on."""
_OF_DRAFT = frozenset({"composer.editor", "history.search", "queue.steer"})
"""What takes the draft: a key of the app is heard before the letters that still wait for the composer."""


WIDTHS = [(0, "-tiny"), (36, "-narrow"), (50, "-small"), (80, "-medium"), (110, "-wide")]
HEIGHTS = [(0, "-low"), (10, "-short"), (16, "-tall")]
"""From how many columns and rows on the screen has a class."""


def bindings() -> list[BindingType]:
    """The keys of the table that the main screen dispatches."""
    return [
        Binding(",".join(action.keys), f"act('{action.id}')", action.title, priority=action.priority, id=action.id)
        for action in ACTIONS
        if action.scope == "app" and action.keys and not action.over
    ]


class MainScreen(Screen[None], inherit_bindings=False):
    """Composes the panes, shows the conversation, and dispatches the actions of the table.

    `handlers` are the app's part of the actions, by id.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings()
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = "Composer"

    def __init__(self, side: SidePane, handlers: Mapping[str, Handler]) -> None:
        super().__init__()
        self.conversation: Conversation | None = None
        self.header = HeaderState()
        self.transcript = Transcript()
        self.desk = Desk()
        self.composer = self.desk.composer
        self._header, self._footer = Header(), Footer()
        self._side = side
        self.keys = USUAL
        self._twice = Twice()
        self._selected = False
        self._effect: Effect = "quit"
        self.asking = Asking(self)
        self.drafts = Drafts(self)
        self.reading = Reading(self)
        self.files = Files(self, side)
        self.looks = Looks()
        self.reviewing, self._turn = Reviewing(self), Turn(self)
        self.attention = Attention(self.send_raw, lambda: self.app.app_focus and not is_lent(), self.titled)
        self.sending = Sending(self)
        self._ticker: Timer | None = None
        self.handlers: dict[str, Handler] = {
            "pane.files": self.toggle_side,
            "pane.next": self.next_pane,
            **self.desk.handlers,
            **self.reading.handlers,
            **self.files.handlers,
            **self._turn.handlers,
            **self.reviewing.handlers,
            **handlers,
        }

    def compose(self) -> ComposeResult:
        """Header, panes, composer, footer, with thin rules between them; as the size wants it from the first frame on."""
        for size, tiers in zip(self.app.size, (WIDTHS, HEIGHTS), strict=True):
            self.add_class(next(tier for least, tier in reversed(tiers) if size >= least))
        yield self._header
        yield Rule()
        with Horizontal(id="panes"):
            yield CursorBar(self.transcript)
            yield self.transcript
            yield Rule("down")
            yield self._side
        yield Rule()
        yield self.desk
        yield Rule()
        yield self._footer
        yield Static("too small: needs 36x10\nthe work goes on", id="too-small", markup=False)

    def on_mount(self) -> None:
        """The clock of the footer runs only while something goes on."""
        self.watch(self.app, "app_focus", self._looked_at, init=False)
        self.app.app_suspend_signal.subscribe(self, lambda _: self.attention.leave(), immediate=True)
        self.app.app_resume_signal.subscribe(self, self._resumed, immediate=True)
        self.watch(self, "selections", self.follow_effect, init=False)
        self._ticker = self.set_interval(1.0, self.refresh_footer, pause=True)
        self.refresh_footer()

    def _looked_at(self, here: bool) -> None:
        """The terminal got or lost the focus; while it had none nothing here got it from a dialog that closed."""
        self.attention.looked_at(here)
        self.files.looked_at(here)
        if here and self.is_current and self.focused is None:
            self.composer.focus()

    def _resumed(self, _: App[Any]) -> None:
        """The terminal is ours again and shows nothing of us: all is drawn. A question may be new to the person: it is deaf at first."""
        self.attention.come_back()
        self.app.refresh(layout=True)
        for question in (screen for screen in self.app.screen_stack if isinstance(screen, LateModal)):
            question.listen_when_painted()

    def on_unmount(self) -> None:
        """Leave the terminal its own title."""
        self.attention.leave()

    def on_screen_suspend(self) -> None:
        """A question or a list lies over this screen: what was offered while typing is over."""
        self.composer.followed(False)

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
        self.files.follow(event)
        if other_after(event):
            self.reviewing.look_again()
        if isinstance(event, ev.RunEnded) and self.working:
            self.attention.call(f"{self.header.folder} - {event.reason}")

    def titled(self) -> bool:
        """Whether the window gets titles: a console has none to show them in."""
        if self.conversation is None:
            return False
        terms = self.conversation.session.terms
        return terms.settings.ui.title and terms.environment.get("TERM") not in {"linux", "dumb"}

    def send_raw(self, text: str) -> None:
        """Write to the terminal past the screen."""
        if (driver := self.app._driver) is not None:  # noqa: SLF001 - Textual has no other way to set a title
            driver.write(text)

    def refresh_state(self) -> None:
        """Something of the conversation changed: header, side pane, queue, footer."""
        conversation = self.conversation
        if conversation is None or not (self.is_mounted and self.is_running):
            return
        happened = conversation.session.events
        changes = fold.changes(happened)
        self._side.show(changes, fold.plan(happened))
        self.desk.queue.items, self.desk.queue.soon = tuple(conversation.queue), conversation.soon
        self.show_header(header_of(self.header, conversation, len(changes)))
        self._header.set_class(conversation.session.mode is AUTO, "-auto")
        if conversation.unsent is not None and not self.composer.text:
            self.composer.load(conversation.unsent)
            conversation.unsent = None
        self.drafts.touch()
        self.refresh_footer()

    def show_header(self, state: HeaderState) -> None:
        """Show this in the header from now on."""
        self.header = self._header.state = state
        self.attention.stand(title_of(state, working=self.working))

    def take_keys(self, keys: Keymap) -> None:
        """The keys of the person from now on: what counts, and what is said of it."""
        self.keys = self.composer.keys = self.desk.queue.keys = keys
        self.transcript.say_keys(keys.say)
        self.desk.queue.refresh()
        self.refresh_footer()

    def refresh_footer(self) -> None:
        """Phase and keys of the top layer."""
        self._effect = self._turn.effect
        if self._ticker is not None:
            (self._ticker.resume if self.working else self._ticker.pause)()
        self._footer.state = footer_state(
            self.conversation,
            time.monotonic(),
            armed=self._twice.words or self.reading.words,
            dialog=self.asking.hints,
            asking=not self.is_current,
            interrupt=self._effect,
            draft=self.composer.draft.full,
            pane=self.pane,
            below=self.transcript.below,
            news=self.transcript.news,
            keys=self.keys,
        )

    @property
    def pane(self) -> Pane:
        """The pane that has the focus, besides the composer."""
        if isinstance(self.focused, Offer):
            return "offer"
        return "transcript" if self.focused is self.transcript else "files" if self.focused is self._side.files else ""

    def on_descendant_focus(self) -> None:
        """Other keys work now; files may have changed meanwhile."""
        self.refresh_footer()
        if self.pane == "files":
            self.files.look_again()

    def on_key(self, event: events.Key) -> None:
        """A letter that a pane has no use for belongs to the message, and so does one that came while nobody had the keys."""
        nobody = self.focused is None or self.focused is self.composer  # what it took does not come here
        text = event.is_printable or self.composer.meant(event) in {"ctrl+y", "ctrl+v"}  # it brings some
        if (self.pane or nobody) and text and event.key not in self.active_bindings:
            event.stop()
            self.composer.focus()
            self.composer.feed_key(event)

    # -------------------------------------------------------------- composer

    @on(Composer.Submitted)
    def submitted(self, event: Composer.Submitted) -> None:
        """A message or a slash command was sent."""
        event.stop()
        self.sending.take(event)

    @on(Composer.PasteRequested)
    def paste_requested(self) -> None:
        """Ctrl+V in the composer."""
        self.act("composer.paste")

    @on(Composer.Changed)
    def draft_changed(self) -> None:
        """Keep what is being typed."""
        self.drafts.touch()
        self.desk.queue.writing = bool(self.composer.document.text)
        self.follow_effect()

    @on(Composer.SelectionChanged)
    def follow_effect(self) -> None:
        """Say so when Ctrl+C does something else now, which is no second press; the cursor moves with every key."""
        if self._effect != self._turn.effect:
            self._twice.forget()
            self.refresh_footer()

    @on(FileTree.Chosen)
    def file_chosen(self, event: FileTree.Chosen) -> None:
        """A file of the tree is looked at."""
        event.stop()
        self.files.look(event.path)

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """While something of the transcript is selected, the mouse counts as in it: else one cell beside is all below."""
        state, region = self._select_state, self.transcript.region
        if state is not None and self._selecting and state.start.content_widget is self.transcript:
            x, y = max(region.x, min(x, region.right - 1)), max(region.y, min(y, region.bottom - 1))
        return super().get_widget_and_offset_at(x, y)

    def on_text_selected(self) -> None:
        """The mouse selected something for the first time: say what can be done with it, and how to have it otherwise."""
        if not self._selected and self.get_selected_text():
            self._selected = True
            words = ("{ui.interrupt} copies it.", "{ui.mouse} gives the terminal the mouse.")
            said = [*filter(None, map(self.keys.say, words)), "With Shift (Option on macOS) it selects by itself."]
            self.notify(" ".join(said), markup=False)

    @on(Transcript.BelowChanged)
    def below_changed(self) -> None:
        """The badge for what is below the visible part."""
        self.refresh_footer()

    # -------------------------------------------------------------- actions

    def action_act(self, action_id: str) -> None:
        """A key of the table."""
        if action_id in _OF_DRAFT:
            self.composer.call_later(self.act, action_id)
        else:
            self.act(action_id)

    def act(self, action_id: str, argument: str = "") -> None:
        """Carry out an action of the table; before there is a session few of them mean anything."""
        if self.conversation is not None or action_id in AT_ONCE:
            self.handlers[action_id](argument)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys of a card count while that is what the person looks at."""
        return action != "card" or parameters[0] in self._meant

    def action_card(self, key: str) -> None:
        """A key of the card."""
        self.act(self._meant[key])

    @property
    def _meant(self) -> Mapping[str, str]:
        """What the keys of the card do that is the newest thing."""
        card = self.conversation.card if self.conversation is not None else None
        return card.meant if card is not None else {}

    def again(self, words: str) -> bool:
        """True for the second press within two seconds; the first one says what the next does."""
        if self._twice.press(words):
            return True
        self.set_timer(AGAIN_SECONDS + 0.05, self.refresh_footer)
        self.refresh_footer()
        return False

    def next_pane(self, _: str) -> None:
        """Composer, transcript, files, what is offered, and round again."""
        self.focus_next("Composer, Transcript, FileTree, Offer")

    def toggle_side(self, _: str) -> None:
        """Show or hide the pane beside the transcript; where it covers the transcript it takes the focus."""
        self.toggle_class("-side-closed" if self.has_class("-wide") else "-side-open")
        if self.has_class("-side-open") and not self.has_class("-wide"):
            self._side.files.focus()
        else:
            self.composer.focus()
