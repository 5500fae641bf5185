"""Undo, redo, and the taking back of edits that failed their check: choose how far back, see what it does, then do it.

Nothing is written before `u`, and a file that somebody changed since, or may have changed, only after a yes for that file.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_agent.core import fold
from tui_agent.core.display import label, plain
from tui_agent.core.receipt import Receipt
from tui_agent.review import take_back
from tui_agent.session import Session
from tui_agent.ui import receipts
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.ui.modal import Modal, bindings, packed
from tui_agent.ui.viewer import LinesView, Viewer
from tui_agent.undo import Turn, not_restored, state, undone
from tui_agent.workspace.receipts import Restore

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler

NARROW = 64
"""Below this many cells the words stand below the name that they are about."""

LIST_KEYS = ("↑↓ choose", "Enter see what it would do", "Esc close")


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the person wants done: the whole plan, and the steps of it that are to be carried out or are so already."""

    turn: int
    plan: tuple[Restore, ...]
    steps: tuple[Restore, ...]

    @property
    def something(self) -> bool:
        """Whether a file goes back, or has already."""
        return bool(self.steps)


Plan = Callable[[Sequence[Receipt]], Awaitable[tuple[Restore, ...]]]
Versions = Callable[[Restore], Awaitable[tuple[bytes | None, bytes | None]]]


def turn_row(turn: Turn, width: int) -> Text:
    """A turn in the list: its number, its message, and the files that changed."""
    text = Text(no_wrap=True, overflow="ellipsis")
    count = f"{len(turn.paths)} file{'s' * (len(turn.paths) != 1)}"
    names = ", ".join(plain(path, "path") for path in turn.paths)
    text.append(f"{turn.number:>3}  ", "dim")
    text.append(label(" ".join(turn.text.split()), max(1, width - 6)))
    text.append(f"\n     {count}: ", "dim")
    text.append(label(names, max(1, width - 8 - len(count))), "dim")
    return text


def words(step: Restore, yes: str, *, chosen: bool) -> str:
    """What happens to a file, in words; `yes` is the key that overwrites."""
    if step.state == "ready":
        if step.target is None:
            return "will be deleted: was not there"
        return "will be there again" if step.now is None else "will be restored"
    if step.asks:
        sure = step.state == "changed"
        if step.now is None:
            return (
                "will be there again"
                if chosen
                else f"{'gone since' if sure else 'perhaps gone by you'}; {yes} to restore"
            )
        verb = "delete" if step.target is None else "overwrite"
        if chosen:
            return f"{verb}s {'a change made since' if sure else 'what may be yours'}"
        return f"{'changed since' if sure else 'may be yours'}; {yes} to {verb}"
    if step.state == "link":
        return "stays: a link" if step.target is None else "cannot be restored: now a link"
    return {
        "lost": "cannot be restored: no copy",
        "command": "cannot be restored: by a command",
    }.get(step.state, "is as it was already")


def step_row(step: Restore, width: int, yes: str, *, chosen: bool) -> Text:
    """A file in the plan. The mark says whether something happens to it."""
    text = Text(no_wrap=True, overflow="ellipsis")
    mark = "[x]" if chosen else "[ ]" if step.possible else " - "
    said = words(step, yes, chosen=chosen)
    style = "bold" if step.asks else "" if step.possible else "dim"
    text.append(f"{mark} ", style)
    if width < NARROW:
        text.append(label(step.path, max(1, width - 5), "path"), style)
        text.append(f"\n    {said}", "dim")
        return text
    room = max(1, width - 38)
    name = label(step.path, room, "path")
    text.append(name, style)
    text.pad_right(max(0, room + 4 - text.cell_len))
    text.append(f"  {said}", style if step.asks else "dim")
    return text


class UndoScreen(Modal[Chosen | None]):
    """Returns what is to be done, None when nothing is.

    With `redo` there is no list of turns, only the plan of these receipts; `verb` says what it is. `beside`: something else
    goes back with the files, so that none of them has to.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back"),
        Binding("ctrl+c,ctrl+q", "close"),
        *bindings("undo", lambda action: action.partition(".")[2]),
    ]

    def __init__(
        self,
        turns: Sequence[Turn],
        plan: Plan,
        versions: Versions,
        redo: tuple[int, Sequence[Receipt]] | None = None,
        verb: str = "Redo",
        *,
        beside: bool = False,
        keys: Keymap = USUAL,
    ) -> None:
        super().__init__()
        self._verb, self._beside, self._keys = verb, beside, keys
        self._turns, self._make_plan, self._versions, self._redo = turns, plan, versions, redo
        self._turn = 0
        self._plan: tuple[Restore, ...] | None = None
        self._chosen: set[str] = set()

    def compose(self) -> ComposeResult:
        """Head, list, keys."""
        with Vertical(id="undo"):
            yield Static(id="undo-head", markup=False)
            yield OptionList(id="undo-list", markup=False)
        yield Static(id="undo-keys", markup=False)

    async def on_mount(self) -> None:
        """Start with the turns, or with the plan of a redo."""
        if self._redo is not None:
            await self._show_plan(*self._redo)
        else:
            self._draw()

    def on_resize(self) -> None:
        """Draw the rows for the new width."""
        if self.is_mounted and (self._plan is not None or self._redo is None):
            self._draw()

    @property
    def _width(self) -> int:
        return max(10, min(self.app.size.width, 100) - 6)

    def _draw(self, at: int | None = None) -> None:
        choices = self.query_one(OptionList)
        at = choices.highlighted if at is None else at
        if self._plan is None:
            head = "Undo: back to before which message?\nFiles only; what was said stays."
            rows = [turn_row(turn, self._width) for turn in self._turns]
            keys: Sequence[str] = LIST_KEYS
        else:
            verb = self._verb if self._redo else f"Undo to before message {self._turn}"
            counts = f"{len(self._chosen)} of {len(self._plan)} file{'s' * (len(self._plan) != 1)}"
            head = f"{verb}\n{counts} will change; {self._keys.say('only {undo.carry_out} writes.')}"
            yes = self._keys.way("undo.overwrite")
            rows = [step_row(step, self._width, yes, chosen=step.path in self._chosen) for step in self._plan]
            asks = any(step.asks for step in self._plan)
            now = f"{{undo.carry_out}} {self._verb.split()[0].lower() if self._redo else 'undo'} now"
            keys = (self._keys.say(now), *self._keys.hints("undo", () if asks else ("undo.overwrite",)), "Esc back")
        self.query_one("#undo-head", Static).update(head)
        self.query_one("#undo-keys", Static).update(packed(filter(None, keys), max(10, self.app.size.width - 2)))
        choices.clear_options()
        choices.add_options([Option(row) for row in rows])
        choices.highlighted = min(at or 0, len(rows) - 1) if rows else None
        choices.focus()

    async def _show_plan(self, turn: int, receipts: Sequence[Receipt]) -> None:
        self._turn = turn
        self._plan = await self._make_plan(receipts)
        self._chosen = {step.path for step in self._plan if step.state == "ready"}
        self._draw(0)

    @property
    def _step(self) -> Restore | None:
        at = self.query_one(OptionList).highlighted
        return self._plan[at] if self._plan and at is not None else None

    @on(OptionList.OptionSelected)
    async def selected(self, event: OptionList.OptionSelected) -> None:
        """Enter: on a turn its plan, on a file its difference; never the undo itself."""
        event.stop()
        if self._plan is None:
            turn = self._turns[event.option_index]
            since = [t for t in reversed(self._turns) if t.number >= turn.number]
            await self._show_plan(turn.number, [receipt for t in since for receipt in t.receipts])
        else:
            await self.action_view()

    def action_overwrite(self) -> None:
        """The yes for one file that was changed since or may be theirs, or its taking back."""
        step = self._step
        if step is not None and step.asks:
            self._chosen ^= {step.path}
            self._draw()

    async def action_view(self) -> None:
        """The difference that this would make to the file under the cursor."""
        step = self._step
        if step is not None and step.possible:
            now, then = await self._versions(step)
            title = f"{plain(step.path, 'path')}   now → after"
            self.app.push_screen(Viewer(title, DiffView(now, then), self._keys))

    def action_carry_out(self) -> None:
        """Do it."""
        if self._plan is not None:
            steps = tuple(step for step in self._plan if step.path in self._chosen or step.state == "same")
            chosen = Chosen(self._turn, self._plan, steps)
            if chosen.something or self._beside:
                self.dismiss(chosen)
            elif any(step.asks for step in self._plan):
                self.notify(
                    self._keys.say("No file is chosen: {undo.overwrite} takes the one under the cursor."), markup=False
                )
            else:
                self.notify("Nothing of it can be restored.", markup=False)

    def action_back(self) -> None:
        """To the list, or away."""
        if self._plan is not None and self._redo is None:
            at = next((n for n, turn in enumerate(self._turns) if turn.number == self._turn), 0)
            self._plan = None
            self._draw(at)
        else:
            self.dismiss(None)

    def action_close(self) -> None:
        """Away, from wherever."""
        self.dismiss(None)


class Undoing:
    """The handlers of these actions."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {
            "session.undo": lambda _: self.undo(redo=False),
            "session.redo": lambda _: self.undo(redo=True),
            "session.receipts": self.show_receipts,
            "check.revert": self.take_back,
        }

    def undo(self, *, redo: bool) -> None:
        """Undo or redo changes of files, while no turn runs."""
        app = self._app
        if app.main.conversation is None or app.talk.working:
            app.notify("A turn is running. Stop it first, then undo.", markup=False)
        elif app.screen is app.main:
            app.run_worker(self._tell(go_back(app, app.session, redo=redo)), name="undo")

    def take_back(self, _: str) -> None:
        """Take back the batch after which the check failed; a turn that runs ends first."""
        app = self._app
        if app.main.conversation is not None:
            app.run_worker(self._tell(self._take_back()), name="revert", exclusive=True, group="revert")

    async def _take_back(self) -> str | None:
        await self._app.talk.stop()
        return await take_back(self._app.session)

    async def _tell(self, done: Awaitable[str | None]) -> None:
        if said := await done:
            self._app.notify(plain(said), markup=False)
        self._app.talk.catch_up()
        self._app.main.refresh_state()

    def show_receipts(self, _: str) -> None:
        """Everything that was written or run in this session."""
        if self._app.main.conversation is not None:
            view = LinesView(receipts.lines(fold.receipts(self._app.session.events)))
            self._app.push_screen(Viewer("Receipts of this session, newest first", view, self._app.keys))


async def go_back(app: AgentApp, session: Session, *, redo: bool) -> str | None:
    """Ask how far, do it and record it; returns a sentence when there is something to say.

    Call it from a worker, and only while no turn runs.
    """
    stands = state(session.events)
    if not (stands.redo if redo else stands.changed):
        return "There is nothing to redo." if redo else "There is nothing to undo: no file was changed."
    again = (stands.redo[-1].turn, stands.redo[-1].receipts) if redo else None
    screen = UndoScreen(stands.changed, session.workspace.plan_undo, session.workspace.versions, again, keys=app.keys)
    chosen = await app.push_screen_wait(screen)
    if chosen is None:
        return None
    outcomes = await session.workspace.undo(chosen.steps)
    session.log.append(undone(chosen.turn, chosen.plan, outcomes, redo=redo))
    return not_restored(outcomes)
