"""The review pane: everything this session changed, with hunks to take back and lines to write notes about.

It shows what `review` knows and writes nothing by itself: taking back asks twice and leaves a receipt. Refused
and parked proposals stand below the changes, to be read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui_agent.core.display import label, plain
from tui_agent.core.types import Outcome
from tui_agent.review import Base, Entry, Note, Notes
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.field import Field
from tui_agent.ui.looks import Looks
from tui_agent.ui.wrap_view import WrapView

LIST_FROM = 100
"""From this width on the list of files stands beside the difference."""
LIST_WIDTH = 34
NARROW = 60
"""Below this width single letters stand for words."""

KEYS = (
    "] [ hunk",
    "} { file",
    "↑↓ line",
    "u take back",
    "m note",
    "Space mark",
    "U whole file",
    "e editor",
    "v layout",
    "w wrap",
    "b base",
    "Esc back",
)
AGAINST: dict[Base, str] = {"session": "since the session began", "turn": "since your last message"}


@dataclass(frozen=True, slots=True)
class World:
    """What the pane needs from outside. `files` finds the entries, `revert` takes hunks back (None: the whole file).

    `open_at` opens a file at a line in the person's editor; `busy`: a turn runs, so nothing can be taken back.
    """

    files: Callable[[Base], Awaitable[tuple[Entry, ...]]]
    revert: Callable[[Entry, frozenset[int] | None], Awaitable[Outcome]]
    open_at: Callable[[str, int], None]
    busy: Callable[[], bool] = lambda: False
    looks: Looks = field(default_factory=Looks)


class Review(ModalScreen[str]):
    """Returns all notes as one message for the model, "" when there are none."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "back"),
        Binding("right_square_bracket,n", "hunk(1)"),
        Binding("left_square_bracket,p", "hunk(-1)"),
        Binding("right_curly_bracket,N", "file(1)"),
        Binding("left_curly_bracket,P", "file(-1)"),
        Binding("down,j", "line(1)"),
        Binding("up,k", "line(-1)"),
        Binding("space", "mark"),
        Binding("u", "revert(False)"),
        Binding("U", "revert(True)"),
        Binding("m", "note"),
        Binding("e", "editor"),
        Binding("v", "sides"),
        Binding("w", "wrap"),
        Binding("b", "base"),
    ]
    _SCROLLS: ClassVar = {
        "pageup": WrapView.scroll_page_up,
        "pagedown": WrapView.scroll_page_down,
        "home": WrapView.scroll_home,
        "end": WrapView.scroll_end,
        "g": WrapView.scroll_home,
        "G": WrapView.scroll_end,
    }

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._base: Base = "session"
        self._entries: tuple[Entry, ...] = ()
        self._at = 0
        self._view: DiffView | None = None
        self._sure: tuple[int, frozenset[int] | None] | None = None
        self._about: Note | None = None
        self.notes = Notes()

    def compose(self) -> ComposeResult:
        """Head, list and difference, a field for a note, keys."""
        yield Static(id="review-head", markup=False)
        with Horizontal(id="review-panes"):
            yield Static(id="review-list", markup=False)
            with Vertical(id="review-body"):
                yield Static(id="review-file", markup=False)
        yield Field(id="review-note", disabled=True)
        yield Static(id="review-keys", markup=False)

    async def on_mount(self) -> None:
        """Find the files."""
        await self._find()

    # -------------------------------------------------------------- showing

    @property
    def entry(self) -> Entry | None:
        """The file that is shown."""
        return self._entries[self._at] if self._entries else None

    @property
    def view(self) -> DiffView | None:
        """The difference that is shown."""
        return self._view

    async def _find(self) -> None:
        path = self.entry.path if self.entry else ""
        self._entries = await self._world.files(self._base)
        places = [n for n, entry in enumerate(self._entries) if entry.path == path]
        self._at = places[0] if places else min(self._at, max(0, len(self._entries) - 1))
        await self._show()

    async def _show(self) -> None:
        self._sure = None
        if self._view is not None:
            await self._view.remove()
        entry, self._view = self.entry, None
        if entry is not None and entry.known:
            self._view = DiffView(entry.base, entry.now, path=entry.path, looks=self._world.looks)
            await self.query_one("#review-body").mount(self._view)
        self._draw()

    @on(WrapView.Changed)
    def _view_changed(self, event: WrapView.Changed) -> None:
        event.stop()
        self._draw()

    def on_resize(self) -> None:
        """Fit the texts."""
        if self.is_mounted:
            self._draw()

    def _draw(self) -> None:
        width, wide = self.size.width, self.size.width >= LIST_FROM
        self.query_one("#review-list").display = wide
        self.query_one("#review-head", Static).update(self._head(width))
        self.query_one("#review-list", Static).update(self._list(max(1, self.size.height - 4)))
        self.query_one("#review-file", Static).update(self._file(width - (LIST_WIDTH + 1 if wide else 0)))
        self.query_one("#review-keys", Static).update(self._keys(width))

    def _head(self, width: int) -> Text:
        applied = [entry for entry in self._entries if not entry.proposed]
        sums = f"+{sum(e.added for e in applied):,} -{sum(e.removed for e in applied):,}"
        verb = "changed " if width >= NARROW else ""
        count = f"{len(applied)} file{'s' * (len(applied) != 1)} {sums}  {verb}{AGAINST[self._base]}"
        text = Text(label(count, max(1, width - 2)), "bold", no_wrap=True, overflow="ellipsis")
        if others := len(self._entries) - len(applied):
            text.append(f"   {others} not applied", "dim")
        if self.notes.items:
            text.append(f"   notes {len(self.notes.items)}")
        return text

    def _list(self, height: int) -> Text:
        """The files around the one that is shown, as many as fit."""
        text = Text(no_wrap=True, overflow="crop")
        start = max(0, min(self._at - height // 2, len(self._entries) - height))
        for number, entry in list(enumerate(self._entries))[start : start + height]:
            lead = "› " if number == self._at else "  "
            style = "bold" if number == self._at else "dim" if entry.proposed else ""
            counts = f"+{entry.added} -{entry.removed}"
            name = label(entry.path, LIST_WIDTH - 7 - len(counts))
            text.append(f"{lead}{entry.mark} {name}", style)
            text.append(" " * (LIST_WIDTH - 6 - cell_len(name) - len(counts)) + counts + "\n", "dim")
        return text

    def _file(self, width: int) -> Text:
        """Path and position in the file that is shown."""
        text = Text(no_wrap=True, overflow="ellipsis")
        entry, view = self.entry, self._view
        if entry is None:
            return Text("Nothing was changed.", "dim")
        narrow = width < NARROW
        place = f"{'f' if narrow else 'file'} {self._at + 1}/{len(self._entries)}"
        counts = ""
        if view is not None:
            counts = "" if narrow else f"   +{view.added:,} -{view.removed:,}"
            place += f"  {'h' if narrow else 'hunk'} {view.hunk}/{len(view.hunks)}" if view.hunks else ""
            if view.left_out:
                place += f"   {len(view.left_out)} marked"
            if width >= LIST_FROM and view.layout_words:
                place += f"   {view.layout_words}"
        words = f"   {plain(entry.words)}" if entry.words else ""
        name = label(entry.path, max(6, width - len(place) - len(counts) - 8))
        text.append(f"{entry.mark} {name}", "bold")
        text.append(f"{counts}   {place}{words}")
        return text

    def _keys(self, width: int) -> Text:
        if self._about is not None:
            return Text("Enter keep   empty: no note   Esc drop", no_wrap=True, overflow="ellipsis")
        if self._sure is not None:
            _, hunks = self._sure
            what = "the whole file" if hunks is None else f"hunk {', '.join(map(str, sorted(hunks)))}"
            key = "U" if hunks is None else "u"
            return Text(f"{key} again takes back {what}   any other key: no", "bold", no_wrap=True, overflow="ellipsis")
        last, line = KEYS[-1], ""
        for key in KEYS[:-1]:
            if len(line) + len(key) + 3 + len(last) <= width - 2:
                line += key + "   "
        return Text(line + last, "dim", no_wrap=True, overflow="ellipsis")

    # -------------------------------------------------------------- moving

    def on_key(self, event: events.Key) -> None:
        """Scroll; any key but the same one again takes a question back."""
        if self._about is not None:
            return
        if event.key not in {"u", "U"} and self._sure is not None:
            self._sure = None
            self._draw()
            if event.key == "escape":
                event.prevent_default()
                event.stop()
        if event.key in self._SCROLLS and self._view is not None:
            event.stop()
            self._SCROLLS[event.key](self._view, animate=False)

    def action_hunk(self, step: int) -> None:
        """The next or previous hunk."""
        if self._view is not None:
            self._view.jump(step)

    async def action_file(self, step: int) -> None:
        """The next or previous file, round the end."""
        if self._entries:
            self._at = (self._at + step) % len(self._entries)
            await self._show()

    def action_line(self, step: int) -> None:
        """The next or previous line."""
        if self._view is not None:
            self._view.step_cursor(step)

    def action_sides(self) -> None:
        """Another layout."""
        self._world.looks.next_sides()
        self._again()

    def action_wrap(self) -> None:
        """Wrap or cut long lines."""
        self._world.looks.wraps = not self._world.looks.wraps
        self._again()

    def _again(self) -> None:
        if self._view is not None:
            self._view.lay_out()
        self._draw()

    async def action_base(self) -> None:
        """Compare with the other base."""
        self._base = "turn" if self._base == "session" else "session"
        await self._find()

    # -------------------------------------------------------------- taking back

    def action_mark(self) -> None:
        """Mark the hunk with the cursor for `u`."""
        if self._view is not None and self.entry is not None and not self.entry.proposed:
            self._view.toggle()

    async def action_revert(self, whole: bool) -> None:
        """Take back the marked hunks, else the one at the cursor, else the one at the top; at the second press."""
        entry, view = self.entry, self._view
        if entry is None or view is None or entry.proposed or self._base != "session":
            self.notify("Only a change since the start of the session can be taken back here.", markup=False)
            return
        if self._world.busy():
            self.notify("A turn is running. Stop it first, then take back.", markup=False)
            return
        hunks = None if whole or not view.hunks else view.left_out or frozenset({view.hunk})
        if self._sure != (self._at, hunks):
            self._sure = (self._at, hunks)
            self._draw()
            return
        outcome = await self._world.revert(entry, hunks)
        if outcome.status != "applied":
            self.notify(plain(outcome.text), markup=False)
        await self._find()

    # -------------------------------------------------------------- notes and editor

    def _place(self) -> tuple[int, bool] | None:
        """The line with the cursor: its number, and whether it stands in the old file only."""
        line = self._view.cursor_line if self._view is not None else None
        if line is None:
            return None
        new = line.beside.new if line.beside is not None else line.new
        if new is not None:
            return new, False
        return None if line.old is None else (line.old, True)

    def action_note(self) -> None:
        """Write a note about the line with the cursor."""
        entry, place = self.entry, self._place()
        if entry is None or entry.proposed or place is None:
            self.notify("Put the cursor on a changed line first: ] or the arrow keys.", markup=False)
            return
        number, gone = place
        data = entry.base if gone else entry.now
        quote = (data or b"").decode("utf-8", "replace").split("\n")[number - 1].rstrip("\r")
        self._about = Note(entry.path, number, quote, "", gone)
        old = next((n.text for n in self.notes.items if (n.path, n.line, n.gone) == (entry.path, number, gone)), "")
        note = self.query_one("#review-note", Input)
        note.disabled, note.value, note.placeholder = False, old, f"note on line {number}"
        self.add_class("-noting")
        note.focus()
        self._draw()

    @on(Input.Submitted, "#review-note")
    def _noted(self, event: Input.Submitted) -> None:
        event.stop()
        if (about := self._about) is not None:
            self.notes.put(Note(about.path, about.line, about.quote, event.value.strip(), about.gone))
        self._leave_note()

    def _leave_note(self) -> None:
        self._about = None
        self.remove_class("-noting")
        self.query_one("#review-note", Input).disabled = True
        self.set_focus(None)
        self._draw()

    async def action_editor(self) -> None:
        """Open the file at the line with the cursor, then look again."""
        entry, place = self.entry, self._place()
        if entry is None or entry.now is None or entry.proposed:
            self.notify("There is no file to open.", markup=False)
            return
        line = place[0] if place and not place[1] else 1
        self._world.open_at(entry.path, line)
        await self._find()

    def action_back(self) -> None:
        """Out of the note, then out of the pane with all notes."""
        if self._about is not None:
            self._leave_note()
        else:
            self.dismiss(self.notes.message(self._entries))
