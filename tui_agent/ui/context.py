"""What the next request holds, on the screen: message by message, with keys that change it; summaries; the budget.

Every key writes one event into the log. What is stored is never changed.
"""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.display import label, plain, sanitise
from tui_agent.core.ledger import Spent, ledger
from tui_agent.core.room import decided
from tui_agent.core.sent import Sent
from tui_agent.core.types import AgentError
from tui_agent.session import Session
from tui_agent.ui.context_rows import PARTS, Overview, Row, next_mark, overview, text_of
from tui_agent.ui.conversation import COMPACT
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.ui.modal import Modal, bindings, packed
from tui_agent.ui.numbers import gauge, thousands
from tui_agent.ui.viewer import LinesView, Viewer
from tui_agent.ui.wrap_view import Line, shown_pieces

if TYPE_CHECKING:
    from tui_agent.ui.app import AgentApp
    from tui_agent.ui.main import Handler

NARROW = 64
"""Below this many cells the beginning of a message stands below its numbers."""
PREVIEW, PREVIEW_LINES = 60, 3
"""Cells and lines of the beginning of a message; one line where the screen is low."""
LOW = 36
HOW = {"whole": "", "pinned": "pinned", "short": "shortened", "dropped": "left out"}
GLYPHS = dict(zip(PARTS, "█▓▒░", strict=True))
ACTS = {
    "context.pinned": "mark('pinned')",
    "context.dropped": "mark('dropped')",
    "context.short": "mark('short')",
    "context.compact": "answer('compact')",
    "context.undo": "answer('undo')",
}
"""What the screen does for the actions of the table."""


def head(view: Overview, width: int) -> Text:
    """How much it is together, as numbers and as a bar of its parts, and what it has cost so far."""
    sent = [row for row in view.rows if row.how != "dropped"]
    count = sum(bool(row.marks) for row in sent)
    said = f"{count} message{'s' * (count != 1)}, {view.characters:,} characters"
    text = Text(f"Next request: {gauge(view.tokens, view.window, estimated=True)}\n{said}\n")
    parts = [(part, view.part(part)) for part in PARTS]
    whole = max(1, view.tokens)
    passed, cells = 0, 0
    for part, tokens in parts:
        passed += tokens
        end = round(passed * width / whole)
        text.append(GLYPHS[part] * (end - cells))
        cells = end
    legend = [f"{GLYPHS[part]} {part} {100 * tokens / whole:.0f}%" for part, tokens in parts]
    text.append("\n" + packed(legend, width))
    more = f", {view.uncounted} repl{'y' if view.uncounted == 1 else 'ies'} not counted" if view.uncounted else ""
    text.append(f"\nSo far: {spent_words(view.spent)}{more}", "dim")
    if view.gone.tokens:
        text.append(f"\nof that not sent any more: {spent_words(view.gone)}", "dim")
    text.append("\n")
    if width >= NARROW:
        text.append(f"\n{columns('#', 'who', 'tokens', 'sent', 'cost')} begins with", "dim")
    return text


def columns(number: object, who: str, tokens: str, sent: str, cost: str) -> str:
    """The numbers of a row, or their headings."""
    return f"{number:>3} {who:<8}{tokens:>6}  {sent:<10}{cost:<8}"


def spent_words(spent: Spent) -> str:
    """Tokens and cost of something."""
    cost = "cost n/a" if spent.cost is None else f"${spent.cost:.4f}"
    return f"{thousands(round(spent.tokens))} tokens, {cost}"


def row_text(number: int, row: Row, width: int, lines: int) -> Text:
    """One row: its numbers, and the beginning of what it says."""
    spent = row.spent
    cost = "n/a" if spent.cost is None else f"${spent.cost:.4f}" if spent.cost else ""
    times = f"{spent.requests}x {thousands(round(spent.tokens))}" if spent.requests else ""
    style = "dim" if row.how == "dropped" else "bold" if row.how == "pinned" else ""
    numbers = columns(number, row.role, thousands(row.tokens), times, cost)
    word = HOW[row.how]
    text = Text(no_wrap=True, overflow="ellipsis")
    if width < NARROW:
        text.append(columns(number, row.role, thousands(row.tokens), times, ""), style)
        facts = "  ".join(filter(None, [word, cost]))
        text.append(f"\n    {facts and facts + '  '}", style)
        text.append(label(" ".join(row.text[:400].split()), max(8, width - 6 - len(facts))), "dim")
        return text
    room = min(PREVIEW, width - len(numbers) - 1)
    for at, line in enumerate(preview(f"[{word}] {row.text}" if word else row.text, room, lines)):
        text.append("\n" if at else "")
        text.append(" " * len(numbers) if at else numbers, style)
        text.append(f" {line}", style or "dim")
    return text


def preview(message: str, width: int, lines: int) -> list[str]:
    """The beginning of a message on one line, wrapped to a few; the last ends with an ellipsis when there is more."""
    collapsed = " ".join(message[: width * (lines + 2)].split())
    shown = plain(collapsed, "title")
    wrapped = textwrap.wrap(shown, width, break_long_words=True) or [""]
    if len(wrapped) > lines or len(message) > width * (lines + 2):
        wrapped = wrapped[:lines]
        wrapped[-1] = f"{wrapped[-1][: width - 1]}…"
    return wrapped


class ContextScreen(Modal[str | None]):
    """Shows what `look` finds and lets `mark` change it; the answer is "compact", "undo" or None.

    `book` counts what was spent, in a thread: it looks at every request of the session.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,ctrl+q,q", "close"),
        *bindings("context", ACTS.__getitem__),
    ]

    def __init__(
        self,
        book: Callable[[], Mapping[int, Spent]],
        look: Callable[[Mapping[int, Spent]], Overview],
        mark: Callable[[tuple[int, ...], ev.How], None],
        keys: Keymap = USUAL,
    ) -> None:
        super().__init__()
        self._keys = keys
        self._count, self._look, self._mark = book, look, mark
        self._book: Mapping[int, Spent] = {}
        self._view: Overview | None = None

    def compose(self) -> ComposeResult:
        """Head, list, keys."""
        with Vertical(id="context"):
            yield Static(id="context-head", markup=False)
            yield OptionList(id="context-list", markup=False)
        yield Static(id="context-keys", markup=False)

    async def on_mount(self) -> None:
        """Count, then show the newest message."""
        self._book = await asyncio.to_thread(self._count)
        self._draw(last=True)

    def on_resize(self) -> None:
        """Draw the rows for the new width."""
        if self._view is not None:
            self._draw()

    @property
    def _width(self) -> int:
        return max(10, min(self.app.size.width, 110) - 6)

    def _draw(self, *, last: bool = False) -> None:
        view = self._view = self._look(self._book)
        choices = self.query_one(OptionList)
        newest = max((n for n, row in enumerate(view.rows) if row.marks), default=0)
        at = newest if last else choices.highlighted
        lines = PREVIEW_LINES if self.app.size.height >= LOW else 1
        rows = [Option(row_text(n, row, self._width, lines)) for n, row in enumerate(view.rows, 1)]
        self.query_one("#context-head", Static).update(head(view, self._width))
        own = self._keys.hints("context", () if view.compaction is not None else ("context.undo",))
        keys = ["Enter whole text", *own, "Esc close"]
        self.query_one("#context-keys", Static).update(packed(keys, max(10, self.app.size.width - 2)))
        choices.clear_options()
        choices.add_options(rows)
        choices.highlighted = min(at or 0, len(rows) - 1)
        choices.focus()

    @property
    def _row(self) -> Row | None:
        at = self.query_one(OptionList).highlighted
        return self._view.rows[at] if self._view is not None and at is not None else None

    @on(OptionList.OptionSelected)
    def selected(self, event: OptionList.OptionSelected) -> None:
        """Enter: the whole of it, as it is sent."""
        event.stop()
        if (row := self._row) is not None:
            self.app.push_screen(Viewer(f"{row.role}, as it is sent", LinesView(lines_of(row.text)), self._keys))

    def action_mark(self, how: ev.How) -> None:
        """Change how the message under the cursor is sent."""
        row = self._row
        if row is not None and row.marks:
            self._mark(row.marks, next_mark(row, how))
            self._draw()

    def action_answer(self, answer: str) -> None:
        """Leave, to do that."""
        if answer == "compact" or (self._view is not None and self._view.compaction is not None):
            self.dismiss(answer)

    def action_close(self) -> None:
        """Away."""
        self.dismiss(None)


def lines_of(text: str) -> list[Line]:
    """Outside text as ready lines."""
    return [Line(shown_pieces(sanitise(line, "text"))) for line in text.split("\n")]


def history_lines(events: list[ev.Durable | ev.Unknown]) -> list[Line]:
    """Everything that was said, as it is stored."""
    lines: list[Line] = []
    for message in fold.history(events):
        role = type(message).__name__.removesuffix("Message").lower()
        lines += [Line(((f"{role}", "number"),)), *lines_of(text_of(message)), Line((("", "plain"),))]
    return lines or [Line((("Nothing was said yet.", "number"),))]


class ContextKeys:
    """The handlers of these actions."""

    def __init__(self, app: AgentApp) -> None:
        self._app = app

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """By the id of their action."""
        return {
            "session.context": self.show,
            "session.compact": self.compact,
            "session.history": self.history,
            "session.budget": self.budget,
        }

    def show(self, _: str) -> None:
        """Message by message, what the next request holds."""
        app = self._app
        if app.main.conversation is None:
            return
        session = app.session
        try:
            agent = session.agent()
        except AgentError as error:
            app.notify(str(error), markup=False)
            return
        profiles = app.loaded.settings.profiles
        events = list(session.events)
        today = session.profile

        def prices(name: str) -> object:
            known = profiles.get(name) or (today if today is not None and today.name == name else None)
            return known.pricing if known is not None else None

        screen = ContextScreen(
            lambda: ledger(events, prices),  # type: ignore[arg-type]
            lambda book: overview(agent, book, session.window),
            self._mark,
            app.keys,
        )
        app.push_screen(screen, self._answered)

    def _mark(self, numbers: tuple[int, ...], how: ev.How) -> None:
        log = self._app.session.log
        log.append(decided(log.events, ev.Marked(numbers, how)))
        self._app.talk.catch_up()

    def _answered(self, answer: str | None) -> None:
        if answer is not None:
            self.compact("undo" if answer == "undo" else "")

    def compact(self, focus: str) -> None:
        """Put a summary in the place of what is old, above all of `focus`; `undo` takes the newest one back."""
        app = self._app
        if app.main.conversation is None:
            return
        if focus.lower() != "undo":
            app.talk.send(f"{COMPACT} {focus}".strip())
            return
        log = app.session.log
        compaction = Sent(log.events).compaction
        if compaction is None:
            before = any(isinstance(event, ev.Compacted) and not event.fault for event in log.events)
            gone = " any more: you went back to before it, or took it back" if before else ""
            app.notify(f"There is no summary to take back{gone}.", markup=False)
            return
        log.append(decided(log.events, ev.Expanded(compaction)))
        app.talk.catch_up()

    def history(self, _: str) -> None:
        """Everything that was said, whole, whatever of it is sent."""
        if self._app.main.conversation is not None:
            view = LinesView(history_lines(self._app.session.events))
            self._app.push_screen(Viewer("Everything that was said in this session", view, self._app.keys))

    def budget(self, argument: str) -> None:
        """Give so many tokens from here on (`off`: no bound), or say what is left."""
        app = self._app
        if app.main.conversation is None:
            return
        word = argument.strip().lower().replace(",", "").replace("_", "")
        if word in {"off", "none"}:
            app.session.log.append(ev.BudgetSet(None))
        elif word.isdecimal() and word.isascii() and int(word) > 0:
            app.session.log.append(ev.BudgetSet(int(word)))
        elif word:
            app.notify(
                "/budget N gives N tokens from here on, /budget off none, /budget says what is left.", markup=False
            )
        else:
            app.talk.note(budget_words(app.session))
        app.talk.catch_up()


def budget_words(session: Session) -> str:
    """The budget in force and what is left of it."""
    given = fold.budget(session.events)
    if given is None:
        return "There is no budget. /budget N ends a run when N tokens more were used."
    return f"budget {given.tokens:,} tokens: {given.used:,} used, {given.left:,} left"
