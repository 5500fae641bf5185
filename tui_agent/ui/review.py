"""The review pane: everything this session changed, with hunks to take back and lines to write notes about.

It shows what `review` knows and writes nothing by itself: taking back and applying ask twice and leave a receipt.
Refused and parked proposals stand below the changes, to be read, and to be applied after all.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widgets import Static

from tui_agent.core.diff import FileDiff, unified
from tui_agent.review import Base, Entry, Notes
from tui_agent.ui import review_text
from tui_agent.ui.deeds import Act, Deed, Deeds, to_apply, to_revert
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.editor import EditorError
from tui_agent.ui.found_files import FoundFiles
from tui_agent.ui.keymap import USUAL, Keymap
from tui_agent.ui.looks import Looks
from tui_agent.ui.modal import Modal, bindings
from tui_agent.ui.noting import NoteField, line_to_open, note_at
from tui_agent.ui.palette import Palette, keys_in
from tui_agent.ui.review_body import Body
from tui_agent.ui.wrap_view import WrapView
from tui_agent.undo import Turn

OWN = {
    "review.back": "back",
    "review.next": "hunk(1)",
    "review.previous": "hunk(-1)",
    "review.next_file": "file(1)",
    "review.previous_file": "file(-1)",
    "review.up": "line(-1)",
    "review.down": "line(1)",
    "review.revert": "revert(False)",
    "review.apply": "apply",
    "review.mark": "mark",
    "review.note": "note",
    "review.revert_file": "revert(True)",
    "review.mark_all": "mark_all",
    "review.fold": "fold",
    "review.editor": "editor",
    "review.pager": "pager",
    "review.layout": "look('v')",
    "review.wrap": "look('w')",
    "review.blanks": "look('full_stop')",
    "review.base": "base",
    "review.copy": "copy",
    "review.zoom": "zoom",
    "review.help": "help",
}
"""What the pane does for each of its actions."""
AGAIN_AFTER = 0.3
"""Seconds from a change of a file to the next look at all of them."""
_SCROLLS = {
    "pageup": WrapView.scroll_page_up,
    "pagedown": WrapView.scroll_page_down,
    "home": WrapView.scroll_home,
    "end": WrapView.scroll_end,
    "g": WrapView.scroll_home,
    "G": WrapView.scroll_end,
}
_NEXT_BASE: dict[Base, Base] = {"session": "turn", "turn": "head", "head": "session"}


@dataclass(frozen=True, slots=True)
class World:
    """What the pane needs from outside. `files` finds the entries one by one.

    `revert` takes hunks back, `apply` applies some of a proposal (None: the whole file). `open_at` opens a file at a line
    in the person's editor, `page` shows all of a view in their pager; `busy`: a turn runs, so nothing can be written. `present` gives the bytes of a file as it is
    now, None when they cannot be had; `keep` takes all notes so far, as one message; `turns` are those that changed
    files, newest first; `paste` takes a pasted text into the message.
    """

    files: Callable[[Base], AsyncIterator[Entry]]
    revert: Act
    apply: Act
    open_at: Callable[[str, int], Awaitable[None]]
    busy: Callable[[], bool] = lambda: False
    looks: Looks = field(default_factory=Looks)
    keys: Keymap = USUAL
    turns: Callable[[], Sequence[Turn]] = tuple
    paste: Callable[[str], None] = lambda _: None
    page: Callable[[WrapView], Awaitable[None]] = field(kw_only=True)
    present: Callable[[str], Awaitable[bytes | None]] = field(kw_only=True)
    keep: Callable[[str], None] = field(kw_only=True)


class Review(Modal[str]):
    """Returns all notes as one message for the model, with what was begun behind it; "" when there is neither."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = bindings("review", OWN.__getitem__)

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._base: Base = "session"
        self._files = FoundFiles()
        self._turns: Sequence[Turn] = ()
        self._deeds = Deeds(world.busy)
        self._zoomed = False
        self._later: Timer | None = None
        self._body = Body(world.looks)
        self._note = NoteField("review-note", world.keep)

    def compose(self) -> ComposeResult:
        """Head, list and difference, a field for a note, keys."""
        yield Static(id="review-head", markup=False)
        with Horizontal(id="review-panes"):
            yield Static(id="review-list", markup=False)
            yield self._body
        yield self._note
        yield Static(id="review-keys", markup=False)

    def on_mount(self) -> None:
        """Find the files."""
        self._find()

    # -------------------------------------------------------------- showing

    @property
    def entry(self) -> Entry | None:
        """The file that is shown: also while the files are found anew, and another one stands in its place of the list."""
        return self._body.entry

    @property
    def sums(self) -> review_text.Sums:
        """What changed in all, as far as it was found."""
        return self._files.sums

    @property
    def view(self) -> DiffView | None:
        """The difference that is shown."""
        return self._body.view

    @property
    def notes(self) -> Notes:
        """What was written about lines so far."""
        return self._note.notes

    def _find(self) -> None:
        self._deeds.asked = None
        if self._later is not None:
            self._later.stop()
            self._later = None
        self.run_worker(self._found(), exclusive=True, group="find")

    def look_again(self) -> None:
        """Something was changed meanwhile: find the files anew, once for many changes that come together."""
        if self._later is None:
            self._later = self.set_timer(AGAIN_AFTER, self._find)

    async def _found(self) -> None:
        """Take the entries as they come, and show the one that was shown again."""
        self._turns = self._world.turns()
        async with aclosing(self._files.find(self._world.files, self._base)) as steps:
            async for another in steps:
                if another:
                    await self._show()
                else:
                    self._draw()

    async def _show(self) -> None:
        self._deeds.asked = None
        await self._body.show(self._files.entry)
        self._body.mark(self.notes)
        self._draw()

    @on(WrapView.Changed)
    def _view_changed(self, event: WrapView.Changed) -> None:
        event.stop()
        self._body.arrive(event.view)
        self._draw()

    def on_resize(self) -> None:
        """Fit the texts."""
        self._draw()

    def _draw(self) -> None:
        if not self.stands:
            return
        width, entry = self.size.width, self.entry
        wide = width >= review_text.LIST_FROM and not self._zoomed
        self.query_one("#review-list").display = wide
        beside = width - (review_text.LIST_WIDTH + 1 if wide else 0)
        texts = {
            "head": review_text.head(self.sums, self._base, len(self.notes.items), width),
            "file": review_text.position(entry, self._files.at, self.sums, self.view, beside),
            "keys": review_text.keys(entry, self._word, width, self._world.keys, base=self._base),
        }
        if wide:
            height = max(1, self.size.height - 4)
            texts["list"] = review_text.file_list(
                self._files.entries, self._files.at, self.notes.items, self._turns, height
            )
        for name, text in texts.items():
            self.query_one(f"#review-{name}", Static).update(text)

    # -------------------------------------------------------------- moving

    @property
    def _word(self) -> str:
        """What stands in the place of the keys: how to leave the note, what a second press does, why a key did nothing."""
        if self._note.about is not None:
            return review_text.NOTING
        return self._deeds.words(self._world.keys)

    def _say(self, words: str) -> None:
        """A word about the last key, until the next one: where the keys stand, so that it covers nothing."""
        self._deeds.say(words)
        self._draw()

    async def on_key(self, event: events.Key) -> None:
        """Scroll; any key takes the last word away, and any but the same one again a question back.

        What comes right behind the key for a note is the note: no letter of it may do here what it means here.
        """
        if self._note.about is not None:
            await self._note.take(event)
            return
        asked = self._deeds.asked is not None
        if self._deeds.press(self._world.keys.meant("review", event.key)):
            self._draw()
        if asked and event.key == "escape":  # it only takes the question back
            event.prevent_default()
            event.stop()
        if self._world.keys.meant("review", event.key) == "m":
            event.stop()
            event.prevent_default()
            self.action_note()
        elif event.key in _SCROLLS and self.view is not None:
            event.stop()
            _SCROLLS[event.key](self.view, animate=False)

    def on_paste(self, event: events.Paste) -> None:
        """A paste is text: of the note that is being written, else of the message below."""
        event.stop()
        if self._note.about is not None:
            self._note.feed_paste(event.text)
        else:
            self._world.paste(event.text)
            self._say("What you pasted is in your message.")

    async def action_hunk(self, step: int) -> None:
        """The next or previous hunk; beyond the last one of a file, the first one of the next."""
        view = self.view
        if view is None or (view.cursor_hunk and not 1 <= view.hunk + step <= len(view.hunks)):
            await self.action_file(step)
            if len(self._files.entries) > 1:
                self._body.enter(step)
        else:
            view.jump(step)

    async def action_file(self, step: int) -> None:
        """The next or previous file, round the end with a word about it."""
        self._say(self._files.step(step))
        if len(self._files.entries) > 1:
            await self._show()

    def action_line(self, step: int) -> None:
        """The next or previous line."""
        if self.view is not None:
            self.view.step_cursor(step)

    def action_look(self, key: str) -> None:
        """Another layout, wrapped or cut, blanks as marks."""
        words = self._world.looks.press(key)
        if self.view is not None:
            self.view.lay_out()
            self.view.redraw()
            words = words or self.view.layout_words or "There is only one side."
        self._say(words)

    def action_fold(self) -> None:
        """Show the unchanged lines around the hunk, or hide them."""
        if self.view is not None and self.view.folds:
            self.view.fold()

    @work(group="editor")
    async def action_pager(self) -> None:
        """The whole difference in the person's pager."""
        try:
            if self.view is not None:
                await self._world.page(self.view)
        except EditorError as error:
            self._say(str(error))

    def action_help(self) -> None:
        """Every key of the pane; choosing one presses it."""

        async def chosen(choice: str | None) -> None:
            if choice is not None:
                await self.run_action(OWN[choice])

        self.app.push_screen(
            Palette(keys_in("review", self._world.keys), title="Keys of the review", verb="press"), chosen
        )

    def action_base(self) -> None:
        """Compare with the next base."""
        self._base = _NEXT_BASE[self._base]
        self._find()

    def action_zoom(self) -> None:
        """The difference over the whole width, or with the list beside it."""
        self._zoomed = not self._zoomed
        self._draw()

    def action_copy(self) -> None:
        """Copy the hunk with the cursor, else the one at the top, as a diff."""
        entry, view = self.entry, self.view
        if entry is None or view is None or not view.hunks:
            self._say("There is no hunk to copy.")
            return
        hunk = view.hunks[max(0, view.hunk - 1)]
        self.app.copy_to_clipboard(unified(FileDiff(entry.base, entry.now, (hunk,)), entry.path))
        self._say(f"Hunk {hunk.number} is copied.")

    # -------------------------------------------------------------- taking back and applying

    def action_mark(self) -> None:
        """Mark the hunk with the cursor: for `u`, or as left out of a proposal."""
        if self.view is not None:
            self.view.toggle()

    def action_mark_all(self) -> None:
        """Mark every hunk, or none."""
        if self.view is not None:
            self.view.toggle_all()

    async def action_revert(self, whole: bool) -> None:
        """Take back the marked hunks, else the one at the cursor, else the one at the top; at the second press."""
        deed = to_revert(self.entry, self.view, self._base, self._files.at, whole=whole)
        await self._do(deed, self._world.revert)

    async def action_apply(self) -> None:
        """Apply a proposal after all, without the hunks that are left out; at the second press."""
        await self._do(to_apply(self.entry, self.view, self._files.at), self._world.apply)

    async def _do(self, deed: Deed | str, act: Act) -> None:
        if await self._deeds.do(deed, self.entry, act):
            self._find()
        self._draw()

    # -------------------------------------------------------------- notes and editor

    def action_note(self) -> None:
        """Write a note about the line with the cursor, or the first change in sight."""
        entry, view = self.entry, self.view
        if entry is None or view is None or entry.proposed:
            self._say("A note is about a line of a change that was applied.")
            return
        view.find_cursor()
        if (about := note_at(view, entry.path)) is None:
            self._say("There is no line here to write a note about.")
        else:
            self._note.open(replace(about, against=self._base))
            self._draw()

    @on(NoteField.Left)
    def _noted(self) -> None:
        self._note.said(self.notes.message(self._files.entries, self._base))
        self._body.mark(self.notes)
        self._draw()

    @work(group="editor")
    async def action_editor(self) -> None:
        """Open the file at the line with the cursor, then look again."""
        entry, view = self.entry, self.view
        if entry is None or entry.now is None or entry.proposed:
            self._say("There is no file to open.")
            return
        try:
            await self._world.open_at(entry.path, 1 if view is None else line_to_open(view))
        except EditorError as error:
            self._say(str(error))
        self._find()

    async def action_back(self) -> None:
        """Out of the note, then out of the pane with all notes."""
        if self._note.about is not None:
            self._note.leave()
            return
        listed = {entry.path: entry for entry in self._files.entries if not entry.proposed}
        files = [listed.get(path, Entry(path, None, None)) for path in {note.path: None for note in self.notes.items}]
        now = [replace(entry, now=await self._world.present(entry.path)) for entry in files]
        self.dismiss(self._note.with_begun(self.notes.message(now, self._base)))
