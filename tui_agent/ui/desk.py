"""Where the person writes: what waits, completions, and the composer with its history, below the panes."""

from __future__ import annotations

from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical

from tui_agent.core import events as ev
from tui_agent.core import fold
from tui_agent.core.context import CHARACTERS_PER_TOKEN
from tui_agent.core.display import plain
from tui_agent.ui.chips import Draft
from tui_agent.ui.chrome import Queue
from tui_agent.ui.completing import Completing, Sources
from tui_agent.ui.composer import Composer
from tui_agent.ui.conversation import Conversation
from tui_agent.ui.editor import EditorError
from tui_agent.ui.file_choices import FileChoices
from tui_agent.ui.history import History, history_file
from tui_agent.ui.numbers import thousands
from tui_agent.ui.palette import Palette, PaletteItem
from tui_agent.ui.reviewing import edit_text
from tui_agent.ui.suggestions import Suggestions

MUCH = 0.2
"""The share of a window from which on the size of a paste is told."""

PREVIEW = 400
"""Characters of a message that a list of messages shows and searches."""


class Desk(Vertical):
    """Holds queue and composer, and carries out the actions that are about the text that is being written."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = Queue()
        self.composer = Composer(placeholder="State a task")
        self.history = History()
        self._popup = Suggestions()
        self._talk: Conversation | None = None
        self._files: FileChoices | None = None
        self.handlers: dict[str, Callable[[str], None]] = {
            "composer.editor": self.edit,
            "history.search": self.search,
            "queue.list": self.list_queue,
            "pane.message": self.enter,
        }

    def compose(self) -> ComposeResult:
        """What waits above, what can be completed over it, the line itself."""
        yield self.queue
        yield self._popup
        yield self.composer

    def enter(self, _: str) -> None:
        """The keys go to the message."""
        self.composer.focus()

    def on_mount(self) -> None:
        """Nothing waits yet."""
        self.queue.display = False

    def on_unmount(self) -> None:
        """Let a reading of the folder end."""
        if self._files is not None:
            self._files.close()

    def begin(self, talk: Conversation, sources: Sources) -> None:
        """Write to this conversation from now on; the files are those of its folder."""
        if self._files is not None:
            self._files.close()
        root, paths = talk.session.root, talk.session.terms.paths
        self._talk = talk
        self._files = FileChoices(root, lambda: _near(talk))
        self.history = History(history_file(paths.data, root), talk.session.log.typed)
        Completing(self.composer, self._popup, sources, self._files.find)

    # ------------------------------------------------------------------ history

    @property
    def unsent(self) -> tuple[Draft, tuple[tuple[str, str], ...]]:
        """What the person would miss: the draft, also while an older message stands in its place, and what was changed."""
        return self.history.unsent(self.composer.draft)

    def sent(self, draft: Draft) -> None:
        """A draft was sent, or put away; what waited behind the history comes back."""
        waiting = self.history.add(draft) if not draft.text.startswith("/") else self.history.leave()
        if self._talk is not None and self._talk.session.log.typed(draft.full) != draft.full:
            self.app.notify("It holds what looks like a key: no file of this program keeps that.", markup=False)
        if waiting.text and not self.composer.text:
            self.composer.draft = waiting

    def put_away(self) -> bool:
        """Clear the composer: its text goes to the kill ring and into the history. False when there was none."""
        draft = self.composer.draft
        if put := bool(self.composer.put_away()):
            self.sent(draft)
        return put

    @on(Composer.HistoryRequested)
    def recall(self, event: Composer.HistoryRequested) -> None:
        """Up in an empty composer: first what waits for the turn, then what was sent before."""
        event.stop()
        if event.step < 0 and not self.composer.text and self._talk and (text := self._talk.unqueue()) is not None:
            self.composer.load(text)
        elif (draft := self.history.step(event.step, self.composer.draft)) is not None:
            self.composer.draft = draft

    def search(self, _: str) -> None:
        """Choose among all that was sent before; the draft waits behind the newest."""
        numbered = list(enumerate(self.history.entries))
        items = [_item(str(number), entry.text) for number, entry in reversed(numbered)]

        def chosen(choice: str | None) -> None:
            if choice is not None and (draft := self.history.go(int(choice), self.composer.draft)) is not None:
                self.composer.draft = draft

        self.app.push_screen(Palette(items, title="Search what was sent before", verb="take"), chosen)

    @on(Composer.Folded)
    def weigh(self, event: Composer.Folded) -> None:
        """A big paste hides its size: say what it takes where that is much of what the model works with."""
        event.stop()
        window = self._talk.session.window if self._talk is not None else None
        if window and (share := event.characters / CHARACTERS_PER_TOKEN / window) > MUCH:
            tokens = thousands(event.characters // CHARACTERS_PER_TOKEN)
            self.notify(f"This paste takes ~{tokens} tokens, {share:.0%} of what the model works with.", markup=False)

    # ------------------------------------------------------------------ the queue

    def list_queue(self, _: str) -> None:
        """Choose a message that waits, and what becomes of it."""
        if self._talk is not None:
            self.run_worker(self._list_queue(self._talk), name="queue", exclusive=True, group="queue")

    async def _list_queue(self, talk: Conversation) -> None:
        waiting = list(talk.queue)
        if not waiting:
            how = self.composer.keys.say("While a turn runs, {composer.send} lets one wait.")
            self.notify(f"No message waits. {how}", markup=False)
            return
        at = 0
        if len(waiting) > 1:
            items = [_item(str(number), text, f"{number + 1}") for number, text in enumerate(waiting)]
            choice = await self.app.push_screen_wait(Palette(items, title="Messages that wait", verb="choose"))
            if choice is None:
                return
            at = int(choice)
        answers = [
            PaletteItem("steer", "Hand to the running turn", "heard after what it does now"),
            PaletteItem("send", "Send now", "stops the turn"),
            PaletteItem("edit", "Edit", "back in the composer"),
            PaletteItem("delete", "Delete", self.composer.keys.say("{composer.yank} brings it back")),
        ]
        title = plain(waiting[at][:PREVIEW], "title")
        choice = await self.app.push_screen_wait(Palette(answers, title=title, verb="do it"))
        if choice is not None:
            await self._answer(talk, waiting[at], choice)

    async def _answer(self, talk: Conversation, text: str, choice: str) -> None:
        if choice == "send" and await talk.send_now(text):
            return
        if choice != "send" and talk.discard(text):
            if choice == "steer":
                talk.steer(text)
            elif choice == "edit":
                self.composer.put_away()
                self.composer.load(text)
            else:
                self.composer.keep(text)
            return
        self.notify("That message was sent meanwhile.", markup=False)

    # ------------------------------------------------------------------ the editor

    def edit(self, _: str) -> None:
        """Write the message in the person's own editor; a text that comes back empty changes nothing."""
        self.run_worker(self._edit(), name="editor", group="editor")

    async def _edit(self) -> None:
        old = self.composer.text
        try:
            data = await edit_text(self.app, self._talk, "message.md", old.encode())
        except EditorError as error:
            self.notify(plain(str(error)), markup=False)
            return
        text = data.decode("utf-8", "replace").removesuffix("\n")
        if text.strip() and text != old:
            came = self.composer.text if self.composer.text != old else ""  # a message that could not be sent, say
            self.composer.load("\n\n".join(filter(None, (came, text))))


def _item(name: str, text: str, hint: str = "") -> PaletteItem:
    """A message as one line of a list; the note shows more of it than a row does."""
    line = " ".join(text[:PREVIEW].split())
    return PaletteItem(name, line, hint, note=line)


def _near(talk: Conversation) -> dict[str, str]:
    """The files that this session has to do with, the newest last, and what it did."""
    happened = talk.session.events
    calls = (e.call for e in happened if isinstance(e, ev.ToolDone) and e.call.name == "read_file")
    read = ((call.arguments or {}).get("path") for call in calls)
    near = {path: "read" for path in read if isinstance(path, str)}
    return {**near, **dict.fromkeys(fold.changes(happened), "changed")}
