"""The list of sessions: find one by name, message, file or text; resume, view, rename, fork, export or delete it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import ClassVar, Literal

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Static

from tui_agent.core.display import label, plain
from tui_agent.core.types import AgentError
from tui_agent.paths import size
from tui_agent.summaries import Summary, contains, in_folder
from tui_agent.ui.chrome import Rule
from tui_agent.ui.field import Field
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.ui.modal import Modal, bindings
from tui_agent.ui.palette import Palette, keys_in
from tui_agent.ui.session_rows import MEDIUM, SessionRows, State, arranged, details, heading
from tui_agent.ui.twice import Twice

ACTS = {
    "sessions.up": "move(-1)",
    "sessions.down": "move(1)",
    "sessions.resume": "pick('resume')",
    "sessions.fork": "pick('fork')",
    **{f"sessions.{name}": name for name in ("search", "rename", "all", "view", "export", "delete", "sort", "help")},
}
"""What the screen does for the actions of the table."""
TOGETHER = 50
"""Sessions whose text is looked into before the list is drawn again."""
ORDERS = ("newest", "largest", "name")
SEARCH = "names, prompts, files and text"


@dataclass(frozen=True, slots=True)
class World:
    """What the list is about and what it can do; each of these may refuse with an `AgentError`."""

    sessions: Path
    here: Path
    load: Callable[[], Awaitable[list[Summary]]]
    state: State
    rename: Callable[[Summary, str], None]
    view: Callable[[Summary], None]
    export: Callable[[Summary], str]
    delete: Callable[[Summary], None]
    now: Callable[[], float]
    keys: Keymap = USUAL


@dataclass(frozen=True, slots=True)
class Pick:
    """What the person wants: to go on with a session, or with a copy of it."""

    act: Literal["resume", "fork"]
    one: Summary


class SessionList(Modal[Pick | None]):
    """Returns what was picked, None when nothing was."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back"),
        Binding("ctrl+c,ctrl+q", "close"),
        *bindings("sessions", ACTS.__getitem__),
        Binding("pageup", "page(-1)"),
        Binding("pagedown", "page(1)"),
        Binding("home", "move(-1000000)"),
        Binding("end", "move(1000000)"),
    ]

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._known: list[Summary] = []
        self.ready = False
        """Whether the list has been read."""
        self.searched = True
        """Whether everything was looked into for what is searched for."""
        self._in_text: set[str] = set()
        """Sessions in whose text, and nowhere else, what is searched for was found."""
        self._all = False
        self._order = 0
        self._twice = Twice()
        self._said = ""
        self._renaming: Summary | None = None
        self._rows = SessionRows(world.state, world.now)
        self._query, self._new = (Field(select_on_focus=False, max_length=200) for _ in range(2))

    def compose(self) -> ComposeResult:
        """Head, search, list, what the chosen one is, keys."""
        yield Static(id="sessions-head", markup=False)
        yield Rule()
        with Horizontal(id="sessions-search"):
            yield Static(" / ", id="sessions-slash", markup=False)
            yield self._query
            yield Static(SEARCH, id="sessions-what", markup=False)
        yield Static(id="sessions-columns", markup=False)
        yield self._rows
        yield Rule()
        with Vertical(id="sessions-below"):
            yield Static(id="sessions-details", markup=False)
            with Horizontal(id="sessions-rename"):
                yield Static(" new name  ", id="sessions-label", markup=False)
                yield self._new
            yield Rule()
        yield Static(id="sessions-keys", markup=False)

    async def on_mount(self) -> None:
        """Read the list."""
        self._rows.can_focus = True
        self._rows.focus()
        self.query_one("#sessions-rename").display = False
        self.watch(self._rows, "show_vertical_scrollbar", self._tell, init=False)  # the columns are others then
        await self._reload()

    async def _reload(self, at: str | None = None) -> None:
        self._known = await self._world.load()
        self.ready = True
        self._draw(at)

    def on_resize(self) -> None:
        """Fit the new size."""
        self._tell()

    # -------------------------------------------------------------- what is shown

    @property
    def _shown(self) -> list[Summary]:
        found = self._known if self._all else in_folder(self._known, self._world.here)
        if query := self._query.value.strip():
            found = [one for one in found if one.id in self._in_text or not one.missing(query, folder=self._all)]
        if ORDERS[self._order] == "largest":
            return sorted(found, key=attrgetter("size"), reverse=True)
        return sorted(found, key=lambda one: one.title.casefold()) if ORDERS[self._order] == "name" else found

    def _draw(self, at: str | None = None, *, first: bool = False) -> None:
        """Show what fits, the cursor on the session `at`, on the first one, or where it was."""
        current = None if first else self._rows.current
        self._rows.show(arranged(self._shown, self._world.here), at or (current.id if current else None))
        self._tell()

    def _tell(self) -> None:
        """Everything around the list."""
        if not self.stands:
            return
        width = max(20, self.size.width - 2)
        here = len(in_folder(self._known, self._world.here))
        where = "Sessions of all projects" if self._all else f"Sessions in {self._world.here.name or '/'}"
        counts = f"{here} here   {len(self._known)} in all" if width >= 60 else f"{here} of {len(self._known)}"
        order = f"   {ORDERS[self._order]} first" if self._order and width >= 60 else ""
        head = Text(f" {label(where, max(8, width - len(counts) - len(order) - 3))}", "bold", no_wrap=True)
        head.pad_right(max(1, width - head.cell_len - len(counts) - len(order)))
        head.append(f"{counts}{order}", "dim")
        self.query_one("#sessions-head", Static).update(head)
        named = heading(self._rows.scrollable_content_region.width)
        columns = self.query_one("#sessions-columns", Static)
        columns.update(Text(named, "dim", no_wrap=True))
        columns.display = width >= MEDIUM
        columns.set_class(bool(named), "-named")
        self.query_one("#sessions-what").display = width >= MEDIUM
        below = self._below(width)
        self.query_one("#sessions-details", Static).update(below)
        self.query_one("#sessions-below").display = bool(below) or self._renaming is not None
        self.query_one("#sessions-keys", Static).update(self._keys(width))

    def _below(self, width: int) -> Text:
        if self._said:
            return Text(plain(self._said), "bold")
        if (one := self._rows.current) is not None:
            most = 5 if self.size.height >= 30 else 3 if self.size.height >= 22 else 0
            return Text("\n").join(details(one, width, self._world.now(), self._world.here)[:most])
        if self._query.value.strip():
            more = self._world.keys.say(" {sessions.all} looks in all projects.")
            return Text(f"Nothing fits. Backspace widens the search, Esc ends it.{more}")
        wider = self._world.keys.say(" {sessions.all} shows those of all projects.")
        more = wider if self._known and not self._all else ""
        return Text(f"No session yet in this folder.{more} Each one is kept by itself from its first message on.")

    def _keys(self, width: int) -> str:
        if self._renaming is not None:
            return " Enter rename   Esc back"
        if self._twice.words:
            return f" {self._twice.words}   Esc back"
        gap, keys = "   " if width >= 100 else "  ", self._world.keys.hints("sessions", {"sessions.help"})
        last = [*filter(None, [self._world.keys.say("{sessions.help} all keys")]), "Esc back"]
        while len(text := gap.join([*keys, *last])) > width:
            keys.pop()
        return f" {text}"

    def say(self, text: str) -> None:
        """A sentence below the list, until the next key."""
        self._said = text
        self._tell()

    # -------------------------------------------------------------- search

    def action_search(self) -> None:
        """Into the search field."""
        self._query.focus()

    @on(Input.Changed)
    def typed(self, event: Input.Changed) -> None:
        """Narrow the list at once, then look into the text of the others."""
        event.stop()
        if event.input is self._query:
            self._search()

    def _search(self, *, first: bool = True) -> None:
        self._in_text, self.searched = set(), False
        self._draw(first=first)
        self.run_worker(self._look(self._query.value.strip()), name="search", exclusive=True, group="search")

    async def _look(self, query: str) -> None:
        """Find what is only in the text; the newest first, and shown as it is found."""
        wanted = {one.id: one.missing(query, folder=self._all) for one in self._known if len(query) > 1}
        left = [(name, words) for name, words in wanted.items() if words]
        for start in range(0, len(left), TOGETHER):
            some = left[start : start + TOGETHER]
            if found := await asyncio.to_thread(self._among, some):
                self._in_text |= found
                self._draw()
        self.searched = True

    def _among(self, wanted: list[tuple[str, str]]) -> set[str]:
        """Those of these sessions in whose text the words stand that stand nowhere else."""
        return {name for name, words in wanted if contains(self._world.sessions / name, words)}

    @on(Input.Submitted)
    def entered(self, event: Input.Submitted) -> None:
        """Enter in the search resumes; in the other field it renames."""
        event.stop()
        if event.input is self._query:
            self.action_pick("resume")
        else:
            self._rename(event.value)

    def on_key(self, event: events.Key) -> None:
        """In the search field the list still moves; a sentence stands until the next key."""
        if self._said:
            self._said = ""
            self._tell()
        if self.focused is self._query and event.key in {"up", "down", "pageup", "pagedown"}:
            event.stop()
            event.prevent_default()
            (self.action_page if event.key.startswith("page") else self.action_move)(-1 if "up" in event.key else 1)

    # -------------------------------------------------------------- the list

    def action_move(self, step: int) -> None:
        """So many rows on."""
        self._rows.move(self._rows.index + step)
        self._tell()

    def action_page(self, step: int) -> None:
        """A screenful on."""
        self.action_move(step * max(1, self._rows.size.height - 1))

    @on(SessionRows.Chosen)
    def clicked(self, event: SessionRows.Chosen) -> None:
        """A click chooses; Enter picks."""
        event.stop()
        self._rows.focus()
        self._tell()

    def action_pick(self, act: Literal["resume", "fork"]) -> None:
        """Go on with the session under the cursor."""
        if (one := self._rows.current) is not None and self._renaming is None:
            self.dismiss(Pick(act, one))

    def action_help(self) -> None:
        """All keys of the list; what is chosen is done."""

        async def chosen(choice: str | None) -> None:
            if choice is not None:
                await self.run_action(ACTS[choice])

        self.app.push_screen(Palette(keys_in("sessions", self._world.keys), title="Keys of the list"), chosen)

    def action_all(self) -> None:
        """Those of this folder, or all."""
        self._all = not self._all
        self._search(first=False)  # a word that stands in the path of a folder need not stand in its text now

    def action_sort(self) -> None:
        """The next order."""
        self._order = (self._order + 1) % len(ORDERS)
        self._draw()

    def action_back(self) -> None:
        """One layer a press: the name, the search, the list."""
        if self._renaming is not None:
            self._end_renaming()
        elif self.focused is self._query or self._query.value:
            self._query.value = ""
            self._rows.focus()
        else:
            self.dismiss(None)

    def action_close(self) -> None:
        """Away, from wherever."""
        self.dismiss(None)

    # -------------------------------------------------------------- what is done to one

    def action_rename(self) -> None:
        """Ask for the new name."""
        if (one := self._rows.current) is not None:
            self._renaming = one
            self.query_one("#sessions-details").display = False
            self.query_one("#sessions-rename").display = True
            self._new.value = one.title
            self._new.focus()
            self._tell()

    def _end_renaming(self) -> None:
        self._renaming = None
        self.query_one("#sessions-rename").display = False
        self.query_one("#sessions-details").display = True
        self._rows.focus()
        self._tell()

    def _rename(self, name: str) -> None:
        if (one := self._renaming) is not None:
            self._end_renaming()
            self._do(one, lambda: self._world.rename(one, name))

    def _do(self, one: Summary, act: Callable[[], object]) -> None:
        """Do something to a session and read the list again; what refuses is said."""
        try:
            act()
        except AgentError as error:
            self.say(str(error))
        else:
            self.run_worker(self._reload(one.id), name="reload", exclusive=True, group="reload")

    def action_view(self) -> None:
        """Read it, without going to it."""
        if (one := self._rows.current) is not None:
            self._do(one, lambda: self._world.view(one))

    def action_export(self) -> None:
        """Write it as a document."""
        if (one := self._rows.current) is not None:
            self._do(one, lambda: self.say(self._world.export(one)))

    def action_delete(self) -> None:
        """The second press removes it for good."""
        if (one := self._rows.current) is None:
            return
        if self._twice.press(
            f"{self._world.keys.way('sessions.delete')} again deletes “{label(one.title or one.id, 30)}” for good, {size(one.size)}"
        ):
            self._do(one, lambda: self._world.delete(one))
        self._tell()
