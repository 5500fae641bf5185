"""What a person does with the transcript by its keys: step, fold, copy, search, jump."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_agent.core.display import plain
from tui_agent.ui import entries
from tui_agent.ui.blocks import Said
from tui_agent.ui.editor import EditorError
from tui_agent.ui.entries import Search
from tui_agent.ui.markdown import Prose
from tui_agent.ui.one_line import OneLine
from tui_agent.ui.palette import Palette, PaletteItem
from tui_agent.ui.render import foldable
from tui_agent.ui.reviewing import edit_text
from tui_agent.ui.story import Story
from tui_agent.undo import state

if TYPE_CHECKING:
    from tui_agent.ui.main import MainScreen

ASIDE = 16
"""Characters by which cut lines move sideways."""

PREVIEW = 400
"""Characters of a message that the list of them shows and searches."""

LEAP = 3
"""Rows by which the view moves in an entry that is higher than it."""


class Reading:
    """Carries out the actions that are about the transcript of `screen`."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._view = screen.transcript
        self.search: Search | None = None
        view = self._view
        self.handlers: dict[str, Callable[[str], None]] = {
            "view.details": lambda _: view.toggle_details(),
            "scroll.up": lambda _: view.scroll_pages(-1),
            "scroll.down": lambda _: view.scroll_pages(1),
            "scroll.half_up": lambda _: view.scroll_pages(-0.5),
            "scroll.half_down": lambda _: view.scroll_pages(0.5),
            "scroll.home": lambda _: view.to_start(),
            "scroll.end": lambda _: view.to_end(),
            "copy.answer": self.copy_answer,
            "pane.transcript": self.enter,
            "transcript.find": self.find,
            **dict.fromkeys(("transcript.messages", "transcript.outline"), self.outline),
            "transcript.up": lambda _: self.step(-1),
            "transcript.down": lambda _: self.step(1),
            "transcript.fold": self.fold,
            "transcript.copy": lambda _: self.copy(entries.source),
            "transcript.code": lambda _: self.copy(entries.code),
            "transcript.message": lambda _: self.copy(entries.message),
            "transcript.search": self.find,
            "transcript.next": lambda _: self.go_on(1),
            "transcript.previous": lambda _: self.go_on(-1),
            "transcript.older": lambda _: self.jump(-1),
            "transcript.newer": lambda _: self.jump(1),
            "transcript.wrap": self.wrap,
            "transcript.left": lambda _: self.slide(-ASIDE),
            "transcript.right": lambda _: self.slide(ASIDE),
            "transcript.raw": self.raw,
            "transcript.view": self.look_at,
            "transcript.home": lambda _: view.to_start(),
            "transcript.end": lambda _: view.to_end(),
        }

    @property
    def words(self) -> str:
        """What the footer says of a search."""
        return "" if self.search is None else f"{self.search.told}: {self.search.words}"

    # ------------------------------------------------------------------ moving

    def enter(self, _: str) -> None:
        """The keys go to the transcript."""
        self._screen.files.uncover()
        self._view.focus()

    def step(self, by: int) -> None:
        """To the next entry; in one that is higher than the view, on to its end first."""
        view, here = self._view, self._view.cursor
        if here is None:
            return
        rows, top = view.rows.span(here), view.scroll_offset.y
        beyond = rows.stop > top + view.size.height if by > 0 else rows.start < top
        target = here.stop if by > 0 else here.start - 1
        if beyond:
            view.scroll_rows(by * LEAP)
        elif 0 <= target < len(view.story.blocks):
            view.choose(target)
        elif by > 0:
            view.to_end()
        else:
            view.to_start()

    def jump(self, by: int) -> None:
        """To the next message of the person."""
        here = self._view.cursor
        target = None if here is None else entries.turn(self._view.story.blocks, here.start, by)
        if target is not None:
            self._view.choose(target, 0)
        elif by > 0:
            self._view.to_end()

    def outline(self, _: str) -> None:
        """Choose one of the person's messages, each with the files that its turn changed, and go there."""
        talk, story = self._screen.conversation, self._view.story
        touched = {turn.number: turn.paths for turn in state(talk.session.events).turns} if talk is not None else {}
        items = []
        for index, number, text in entries.messages(story):
            line, files = " ".join(text[:PREVIEW].split()), touched.pop(number, ())
            note = ", ".join(files) or line
            items.append(PaletteItem(str(index), f"{number}  {line}", f"±{len(files)}" if files else "", note=note))

        def chosen(choice: str | None) -> None:
            if choice is not None:
                self._view.focus()
                self._view.choose(int(choice), 0)

        self._screen.app.push_screen(Palette(items, title="Your messages", verb="go there"), chosen)

    def fold(self, _: str) -> None:
        """Fold or unfold the entry with the cursor."""
        here = self._view.cursor
        if here is not None and foldable(self._view.story.blocks[here.start]):
            self._view.choose(here.start)
            self._view.switch(range(here.start, here.start + 1), "flipped")

    def wrap(self, _: str) -> None:
        """Cut the long lines of the entry with the cursor, or wrap them again."""
        if (here := self._view.cursor) is not None:
            self._view.choose(here.start)
            self._view.switch(here, "cut")

    def slide(self, by: int) -> None:
        """Move the cut lines of the entry with the cursor sideways."""
        if (here := self._view.cursor) is not None:
            self._view.choose(here.start)
            self._view.rows.slide(here, by)
            self._view.refresh()

    def raw(self, _: str) -> None:
        """Show an answer as it was written, or as it is drawn; of a message of the person go back to before it."""
        view, here = self._view, self._view.cursor
        if here is None:
            return
        block = view.story.blocks[here.start]
        if isinstance(block, Said):
            self._screen.act("session.rewind", str(block.turn))
        elif isinstance(block, Prose):
            view.choose(here.start)
            view.switch(here, "raw")
        else:
            self._screen.notify("This is shown as it came.", markup=False)

    # ------------------------------------------------------------------ copying

    def copy(self, what: Callable[[Story, int], str]) -> None:
        """Copy something of the entry with the cursor."""
        here = self._view.cursor
        text = "" if here is None else what(self._view.story, here.start)
        if text.strip():
            self._screen.app.copy_to_clipboard(text)
        else:
            self._screen.notify("There is nothing to copy here.", markup=False)

    def copy_answer(self, which: str) -> None:
        """The last answer as the model wrote it, the one before it as `2`, the last code block as `code`."""
        answers = self._view.story.answers
        if which == "code":
            text = next(filter(None, map(entries.last_code, reversed(answers))), "")
        elif which and not (which.isascii() and which.isdigit() and int(which)):
            self._screen.notify("/copy copies the last answer, /copy 2 the one before, /copy code the last code block.")
            return
        else:
            number = int(which or 1)
            text = answers[-number] if number <= len(answers) else ""
        if text:
            self._screen.app.copy_to_clipboard(text)
        else:
            self._screen.notify("There is nothing to copy yet.", markup=False)

    def look_at(self, _: str) -> None:
        """Open what the entry was made from in the person's editor; what they do to it changes nothing."""
        here = self._view.cursor
        text = "" if here is None else entries.source(self._view.story, here.start)
        self._screen.run_worker(self._look_at(text), name="editor", group="editor")

    async def _look_at(self, text: str) -> None:
        try:
            await edit_text(self._screen.app, self._screen.conversation, "entry.md", text.encode("utf-8", "replace"))
        except EditorError as error:
            self._screen.notify(plain(str(error)), markup=False)

    # ------------------------------------------------------------------ searching

    def find(self, words: str) -> None:
        """Ask what to search for, unless it is said."""
        if words:
            self.look_for(words)
        else:
            known = self.search.words if self.search else ""
            self._screen.app.push_screen(OneLine("search ", known), self.look_for)

    def look_for(self, words: str | None) -> None:
        """Search, and show the newest place that does not stand below what is seen."""
        if not words:
            return
        here = self._view.cursor
        self.search = entries.search(self._view.story.blocks, words, here.stop if here is not None else 0)
        self._view.focus()
        self._show()

    def go_on(self, by: int) -> None:
        """To the next place; the story may have grown meanwhile."""
        if self.search is None:
            self.find("")
            return
        old = self.search
        new = entries.search(self._view.story.blocks, old.words, 0)
        at = (old.at + by) % len(new.places) if new.places else 0
        self.search = Search(new.words, new.places, at)
        self._show()

    def leave_search(self) -> bool:
        """End a search; False when there is none."""
        found, self.search = self.search is not None, None
        self._view.strips.look_for(None)
        self._view.refresh()
        return found

    def _show(self) -> None:
        """Bring the place into view, unfolding what hides it."""
        search, view = self.search, self._view
        if search is None:
            return
        view.strips.look_for(search.pattern)
        if search.places:
            index, nth = search.places[search.at]
            if view.rows.manner(index).cut:
                view.switch(entries.entry(view.story, index), "cut")
            row = entries.row_of(view.rows.lines_of(index), search.pattern, nth)
            block = view.story.blocks[index]
            if foldable(block) and not view.rows.is_open(index):
                if row is None or nth:
                    view.switch(range(index, index + 1), "flipped")
                row = entries.row_of(view.rows.lines_of(index), search.pattern, nth)
            view.choose(index, row or 0)
        view.refresh()
        self._screen.refresh_footer()
