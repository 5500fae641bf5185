"""One request in the approval dialog: its view, its keys there, and what the person did with it short of answering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from tui_agent.core.display import plain
from tui_agent.core.patterns import AlwaysRule, always_rules
from tui_agent.core.types import AgentError, Answer, ApprovalRequest, WriteBytes
from tui_agent.permissions import Scope
from tui_agent.review import Entry, Note, Notes
from tui_agent.ui.diff_view import DiffView
from tui_agent.ui.editor import EditorError
from tui_agent.ui.means import Edit, Errand, Means, Page
from tui_agent.ui.noting import note_at
from tui_agent.ui.subject import body, may_approve, subject
from tui_agent.ui.wrap_view import WrapView

_SCROLLS = {
    "up": WrapView.scroll_up,
    "down": WrapView.scroll_down,
    "pageup": WrapView.scroll_page_up,
    "pagedown": WrapView.scroll_page_down,
    "home": WrapView.scroll_home,
    "end": WrapView.scroll_end,
}
_HUNKS = {"right_square_bracket": 1, "left_square_bracket": -1}
_LINES = {"down": 1, "up": -1}


class Sheet:
    """A request on the screen. `again`: the first `y` with unseen lines was pressed. `said` is a word about the last key.

    `fresh` is set when the file changed on disk since: the change on its present text, or why there is none.
    `choosing` is the rule that would be kept, while `rules` are being shown.
    """

    def __init__(self, request: ApprovalRequest, means: Means) -> None:
        """Show `request`; `means` is what can be done with it."""
        self.request = request
        self.view = body(request.effect, means.looks)
        self.view.counts = False  # until the dialog listens: a moment ago there may have been more room
        self.subject = subject(request.effect)
        self.again = False
        self.said = ""
        self.notes = Notes()
        self.begun: dict[Answer | tuple[str, int, bool], str] = {}
        """What was being written, for an answer or on a line, when the person went back to look."""
        self.fresh: WriteBytes | str | None = None
        self.choosing: AlwaysRule | None = None
        self._means = means
        self._rules = tuple(filter(means.holds, always_rules(request.policy)))

    @property
    def diff(self) -> DiffView | None:
        """The view, where it is one of a file's change."""
        return self.view if isinstance(self.view, DiffView) else None

    @property
    def may_approve(self) -> bool:
        """Whether `y` means yes: enough was seen, something is taken, and the file was as it is shown at the last look."""
        return self.fresh is None and may_approve(self.view)

    async def is_current(self) -> bool:
        """Look whether the file is as it was shown, and whether it was already at the last look.

        What was built on another edit of the question is not on disk.
        """
        before, self.said = self.fresh, ""
        if isinstance(self.request.effect, WriteBytes) and not self.request.depends_on:
            self.fresh = await self._means.fresh(self.request)
        if before is not None and self.fresh is None:
            self.said = "the file is as it was shown again"
        return before is None and self.fresh is None

    @property
    def rules(self) -> tuple[AlwaysRule, ...]:
        """The rules that may be kept, the narrowest first: none that would not hold, none for what was escaped or not seen."""
        odd = self.view.warns - self.subject.expected
        seen = self.may_approve and self.view.seen == self.view.total
        return self._rules if seen and not odd and self._means.keep is not None else ()

    def choose_rule(self) -> None:
        """Show the rules with the narrowest as the one to keep, or with the next one."""
        rules = self.rules
        at = rules.index(self.choosing) + 1 if self.choosing in rules else 0
        self.choosing = rules[at % len(rules)] if rules else None

    @property
    def errands(self) -> Mapping[str, Errand]:
        """What the person can do with it in a program of their own, by its key: edit the text first, read all of it."""
        found: dict[str, Errand] = {}
        means, effect, diff = self._means, self.request.effect, self.diff
        is_text = diff is not None and not diff.binary
        if means.edit is not None and is_text and isinstance(effect, WriteBytes) and effect.new is not None:
            found["e"] = partial(self._edited, means.edit, effect, effect.new)
        if means.page is not None:
            found["o"] = partial(self._paged, means.page)
        return found

    @property
    def about(self) -> Note | None:
        """An empty note on the line with the cursor; None when no key put the cursor on a line that is in sight."""
        effect, view = self.request.effect, self.diff
        return note_at(view, effect.path) if view is not None and isinstance(effect, WriteBytes) else None

    def find_line(self) -> Note | None:
        """The same, with the cursor before the first change in sight where no key put it anywhere."""
        if self.diff is not None:
            self.diff.find_cursor()
        self.said = "" if self.about is not None else "there is no line here to write a note about"
        return self.about

    async def _edited(self, edit: Edit, effect: WriteBytes, text: bytes) -> WriteBytes | None:
        """What the person makes of the text in their editor, None when nothing came of it."""
        try:
            new = await edit(effect.path, text)
        except EditorError as error:
            self.said = plain(str(error))
            return None
        self.said = "the text was not changed" if new == text else ""
        return replace(effect, new=new) if new != text else None

    async def _paged(self, page: Page) -> None:
        """Let the person read all of it in their pager. Nothing counts as seen by that: nobody knows how far they read."""
        self.said = ""
        try:
            await page(self.view)
        except EditorError as error:
            self.said = plain(str(error))

    def keep_rule(self, scope: Scope) -> bool:
        """Keep the chosen rule; False when that was not possible."""
        rule, self.choosing = self.choosing, None
        if rule is None or self._means.keep is None:
            return False
        try:
            self._means.keep(rule, scope)
        except AgentError as error:
            self.said = plain(str(error))
            return False
        return True

    def begin(self, asking: Answer | Note) -> str:
        """What stands in the field for an answer or a note when it is opened: what was begun before, or the note."""
        kept = self.notes.text(asking) if isinstance(asking, Note) else ""
        return self.begun.pop(asking.place if isinstance(asking, Note) else asking, kept)

    def put_off(self, asking: Answer | Note, text: str) -> None:
        """The person goes back to look before this is finished."""
        if text != self.begin(asking):
            self.begun[asking.place if isinstance(asking, Note) else asking] = text

    def note(self, note: Note) -> None:
        """Keep a note on a line, or take it away; its line carries a mark."""
        self.notes.put(note)
        self.take_notes(self.notes)

    def take_notes(self, notes: Notes) -> None:
        """Show these notes."""
        self.notes = notes
        if self.diff is not None and (entry := self._entry) is not None:
            self.diff.mark_noted(notes.places(entry))

    @property
    def _entry(self) -> Entry | None:
        effect = self.request.effect
        return Entry(effect.path, effect.base, effect.new) if isinstance(effect, WriteBytes) else None

    def words(self, reason: str) -> str:
        """What the model is told with the answer: the reason, then the notes."""
        if (entry := self._entry) is None:
            return reason
        notes = self.notes.message((entry,))
        return "\n\n".join(filter(None, (reason, notes)))

    # -------------------------------------------------------------- keys of the view

    def takes(self, key: str) -> bool:
        """Whether a key does something in the view; Space only after a hunk key put a cursor on a hunk in sight."""
        if key == "space":
            return self.diff is not None and self.diff.cursor_hunk > 0
        if key == "x":
            return self.diff is not None and bool(self.diff.folds)
        if key == "m":
            return self.diff is not None and self.diff.has_lines
        if key == "r":
            return isinstance(self.fresh, WriteBytes)
        return key in _SCROLLS or (self.diff is not None and (key in _HUNKS or key in {"v", "w", "full_stop"}))

    def press(self, key: str) -> None:
        """Scroll, jump, choose, lay out; with a cursor in sight the arrows move it."""
        view = self.diff
        if view is not None and key in _LINES and view.cursor_line is not None:
            view.step_cursor(_LINES[key])
        elif key in _SCROLLS:
            _SCROLLS[key](self.view, animate=False)
        elif view is not None and key in _HUNKS:
            view.jump(_HUNKS[key])
        elif view is not None and key == "x":
            view.fold()
        elif view is not None and key == "space":
            view.toggle()
            self.again = False
        elif view is not None:
            self._means.looks.press(key)
            view.lay_out()
            view.redraw()
