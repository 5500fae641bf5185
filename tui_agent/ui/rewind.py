"""Going back to before a message: the conversation, the files, or both; or a copy that leaves everything as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_agent.core import events as ev
from tui_agent.core import standing
from tui_agent.core.display import label, plain
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.ui.modal import Modal, bindings, packed
from tui_agent.ui.undo import UndoScreen
from tui_agent.undo import Turn, not_restored, state, undone

if TYPE_CHECKING:
    from tui_agent.session import Session
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler

Scope = Literal["both", "conversation", "files", "fork"]

WORDS: Mapping[Scope, str] = {
    "both": "conversation and files",
    "conversation": "conversation only, files stay",
    "files": "files only, what was said stays",
    "fork": "a copy of the conversation; this session stays as it is",
}


@dataclass(frozen=True, slots=True)
class Back:
    """Before which message the person wants to go, and with what."""

    turn: Turn
    scope: Scope


def stops(events: Sequence[ev.Durable | ev.Unknown]) -> list[Turn]:
    """The messages that can be gone back to, newest first: those that are still part of the conversation."""
    turns = {turn.number: turn for turn in state(events).turns}
    return [turns[number] for number in reversed(standing.turns(events))]


def row(turn: Turn, files: int, width: int) -> Text:
    """A message in the list, and how many files were changed since."""
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(f"{turn.number:>3}  ", "dim")
    text.append(label(" ".join(turn.text.split()), max(1, width - 6)))
    count = f"{files} file{'s' * (files != 1)} changed since" if files else "no file changed since"
    text.append(f"\n     {count}", "dim")
    return text


class RewindScreen(Modal[Back | None]):
    """Choose a message and what goes back; None when nothing does. Nothing is done here."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,ctrl+q", "close"),
        *bindings("rewind", lambda action: f"back('{action.partition('.')[2]}')"),
    ]

    def __init__(self, turns: Sequence[Turn], at: int = 0, keys: Keymap = USUAL) -> None:
        super().__init__()
        self._turns, self._at, self._keys = turns, at, keys

    def compose(self) -> ComposeResult:
        """Head, list, what the keys mean."""
        with Vertical(id="undo"):
            yield Static(
                "Back to before which message?\nIt returns to the composer. The log keeps everything.",
                id="undo-head",
                markup=False,
            )
            yield OptionList(id="undo-list", markup=False)
        yield Static(id="undo-keys", markup=False)

    def on_mount(self) -> None:
        """Show the messages."""
        self._draw()

    def on_resize(self) -> None:
        """Fit the new width."""
        if self.is_mounted:
            self._draw()

    def _draw(self) -> None:
        width = max(10, min(self.app.size.width, 100) - 6)
        choices = self.query_one(OptionList)
        at = self._at if choices.highlighted is None else choices.highlighted
        files: set[str] = set()
        rows = []
        for turn in self._turns:  # newest first: what changed since grows
            files |= set(turn.paths)
            rows.append(Option(row(turn, len(files), width)))
        choices.clear_options()
        choices.add_options(rows)
        choices.highlighted = at
        choices.focus()
        lines = [said for scope, words in WORDS.items() if (said := self._keys.say(f"{{rewind.{scope}}}  {words}"))]
        short = self.size.height < 20 or self.size.width < 60
        text = packed(self._ways, max(10, self.size.width - 2)) if short else "\n".join([*lines, "Esc close"])
        self.query_one("#undo-keys", Static).update(text)

    @property
    def _ways(self) -> list[str]:
        return [*self._keys.hints("rewind"), "Esc close"]

    @on(OptionList.OptionSelected)
    def selected(self, event: OptionList.OptionSelected) -> None:
        """Enter says which keys there are: it goes nowhere by itself."""
        event.stop()
        self.notify("   ".join(self._ways), markup=False)

    def action_back(self, scope: Scope) -> None:
        """Go back with this scope."""
        at = self.query_one(OptionList).highlighted
        if at is not None:
            self.dismiss(Back(self._turns[at], scope))

    def action_close(self) -> None:
        """Nowhere."""
        self.dismiss(None)


class Rewinding:
    """The handler of this action."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of its action."""
        return {"session.rewind": self.rewind}

    def rewind(self, number: str) -> None:
        """Ask how far and with what, while no turn runs; the cursor begins at the message of this number."""
        app = self._app
        if app.main.conversation is None or app.talk.working:
            app.notify("A turn is running. Stop it first, then go back.", markup=False)
        elif app.screen is app.main:
            app.shelf.work(self._rewind(app.session, number))

    async def _rewind(self, session: Session, number: str) -> None:
        app = self._app
        turns = stops(session.events)
        if not turns:
            app.notify("There is nothing to go back to: nothing was said.", markup=False)
            return
        at = next((place for place, turn in enumerate(turns) if str(turn.number) == number), None)
        if number and at is None:
            app.notify(f"There is no message {number} to go back to.", markup=False)
            return
        back = await app.push_screen_wait(RewindScreen(turns, at or 0, app.keys))
        if back is None:
            return
        if back.scope == "fork":
            await app.shelf.fork_of(session.place, back.turn.number)
        else:
            since = state(session.events).since(back.turn.number)
            if back.scope != "conversation" and not await self._files(session, back, bool(since)):
                return
            if back.scope != "files":
                left = {p for t in state(session.events).turns if t.number >= back.turn.number for p in t.paths}
                session.log.append(ev.Rewound(back.turn.number, tuple(sorted(left))))
        app.talk.catch_up()
        app.main.refresh_state()
        if back.scope != "files":
            app.main.sending.put_back(back.turn.text)
            app.main.composer.focus()

    async def _files(self, session: Session, back: Back, changed: bool) -> bool:
        """Show what would happen to each file, and do what is chosen; False when the person thinks better of it."""
        app = self._app
        if not changed:
            if back.scope == "files":
                app.notify("No file was changed since that message.", markup=False)
            return back.scope == "both"
        receipts = state(session.events).since(back.turn.number)
        plan = (back.turn.number, receipts)
        verb = f"Rewind to before message {back.turn.number}"
        workspace, both = session.workspace, back.scope == "both"
        screen = UndoScreen((), workspace.plan_undo, workspace.versions, plan, verb, beside=both, keys=app.keys)
        chosen = await app.push_screen_wait(screen)
        if chosen is None or not chosen.something:
            return chosen is not None
        outcomes = await workspace.undo(chosen.steps)
        session.log.append(undone(chosen.turn, chosen.plan, outcomes))
        if said := not_restored(outcomes):
            app.notify(plain(said), markup=False)
        return True
