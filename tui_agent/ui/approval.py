"""The approval dialog: one request at a time, shown completely, answered by y, n or s.

What is shown is derived from the effect that will be executed. The dialog listens late
(`arming`), never takes Enter, a paste or the mouse for an answer, and leaves the
composer below it visible: keys that are not for the dialog go there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from textual import on
from textual.app import App, ComposeResult
from textual.widgets import Input, Static

from tui_agent.core.types import Answer, ApprovalRequest, WriteBytes
from tui_agent.permissions import Scope
from tui_agent.review import Note
from tui_agent.ui.approval_frame import Frame, Room
from tui_agent.ui.approval_text import Around, footer, texts
from tui_agent.ui.batch import Decisions
from tui_agent.ui.field import Field
from tui_agent.ui.late_modal import LateModal, Outside
from tui_agent.ui.palette import Palette, keys_in
from tui_agent.ui.question import Question
from tui_agent.ui.sheet import Means, Sheet
from tui_agent.ui.subject import may_approve
from tui_agent.ui.wrap_view import WrapView

MIN_COLUMNS, MIN_ROWS = 36, 10
"""Below this size nothing can be approved: too little of it would be visible."""

_ANSWERS: dict[str, Answer] = {"y": "yes", "Y": "yes", "n": "no", "s": "skip"}
_SCOPES: dict[str, Scope] = {"y": "session", "f": "folder"}
_OTHERS = {"greater_than_sign": 1, "less_than_sign": -1, "right_curly_bracket": 1, "left_curly_bracket": -1}


class ApprovalScreen(LateModal[Decisions]):
    """Asks for a batch, one request at a time, and is dismissed with one decision per request, in order.

    The rows at the bottom that `outside` names stay free for the composer below. `on_result` is called once, however the
    dialog ends.
    """

    ANSWER_KEYS = frozenset(_ANSWERS)

    def __init__(
        self,
        requests: tuple[ApprovalRequest, ...],
        outside: Outside | None = None,
        means: Means | None = None,
        on_result: Callable[[Decisions], None] = lambda _: None,
    ) -> None:
        """Ask for `requests`, which must not be empty."""
        super().__init__(outside or Outside())
        if not requests:
            raise ValueError("nothing to ask")
        self._means = means or Means()
        self.question = Question(requests, self._means)
        self._on_result = on_result
        self._frame = Frame(self.view)
        self._why = self._frame.field
        self._full = False
        self._footer: tuple[str, ...] = ()
        self._cramped = False

    def compose(self) -> ComposeResult:
        """The frame with the first request, and what stands there when it is too small."""
        yield self._frame
        yield Static("too small to approve: enlarge the terminal   Esc no and stop", id="small", markup=False)

    # -------------------------------------------------------------- facts

    @property
    def sheet(self) -> Sheet:
        """The request that is being asked."""
        return self.question.sheet

    @property
    def view(self) -> WrapView:
        """The view of the request that is being asked."""
        return self.sheet.view

    @property
    def too_small(self) -> bool:
        """Whether the terminal is too small to decide this: not even the texts around the view fit."""
        columns, rows = self.app.size
        return self._cramped or columns < MIN_COLUMNS or rows < MIN_ROWS

    @property
    def field(self) -> Field | None:
        """The field for a reason or a note, while it is open."""
        return None if self._why.asking is None else self._why

    @property
    def footer(self) -> tuple[str, ...]:
        """What works now, for the status line."""
        words = footer(self.sheet, self._why.asking, armed=self.armed, too_small=self.too_small)
        return tuple(filter(None, map(self.outside.keys.say, words)))

    # -------------------------------------------------------------- showing

    def on_mount(self) -> None:
        """The first request is composed already."""
        self.show_state()
        self.listen_when_painted()
        self._count()

    def _count(self) -> None:
        self.run_worker(self.question.totals.count(self.show_state), group="totals", exclusive=True)

    async def _show_present(self) -> None:
        """Show the present request; it has to be answered by a key of its own."""
        self.arming.hide()
        self.sheet.again = False
        await self._frame.show(self.view)
        if self.sheet.diff is not None:
            self.sheet.diff.lay_out()
        self.show_state()
        self.listen_when_painted()

    async def _show_instead(self, effect: WriteBytes) -> None:
        """Ask for another change of the file in place of the present one."""
        old = await self.question.instead(effect)
        await self._show_present()
        await old.remove()
        self._count()

    @on(WrapView.Changed)
    def _view_changed(self, event: WrapView.Changed) -> None:
        event.stop()
        if event.view is self.view:
            self.show_state()

    def on_resize(self) -> None:
        """Lay out again; nothing is answered by that."""
        self.show_state()

    def show_state(self) -> None:
        """Write all texts and fit the view between them."""
        if self.over or not self.is_mounted:
            return
        room = Room(*self.app.size, self._full)
        frame, free, asked = self._frame, self.outside.free_rows(room.tight), self.question.asked
        written = texts(self.sheet, self._around, room)
        self._cramped = not frame.fit(room, written, self.view, free=free)
        self.set_class(self.too_small, "-small")
        self.set_class(room.columns < 80, "-open")
        self.set_class(room.tight, "-tight")
        frame.entitle(self.sheet.subject.title, f" {asked.at + 1}/{len(asked.requests)}", room)
        if self.footer != self._footer:
            self._footer = self.footer
            self.outside.footer(self._footer)

    @property
    def _around(self) -> Around:
        """What the lines around the view depend on beside the sheet."""
        return Around(
            after=self._means.after,
            whole=self.question.totals.words,
            asking=self._why.asking,
            armed=self.armed,
            others=len(self.question.asked.open) > 1,
            edits=self._means.edit is not None and self.sheet.editable is not None,
            pages=self._means.page is not None,
            rules=self.sheet.rules if self._means.keep is not None else (),
            keys=self.outside.keys,
        )

    # -------------------------------------------------------------- keys

    def meant(self, key: str) -> str:
        """The key of the table for what the person's key means in a question."""
        return self.outside.keys.meant("dialog", key)

    def answers(self, key: str) -> bool:
        """The letters that decide; while a rule is shown, those that keep it. None where it is too small."""
        return key in (_SCOPES if self.sheet.choosing else _ANSWERS) and not self.too_small

    def takes(self, key: str) -> bool:
        """The other keys of this request."""
        if key == "escape":
            return True
        if self.sheet.choosing:
            return key == "a" and len(self._around.rules) > 1
        if key in {"a", "e", "o"}:
            return {"a": bool(self._around.rules), "e": self._around.edits, "o": self._means.page is not None}[key]
        return key in {"z", "f1"} or self.sheet.takes(key) or (key in _OTHERS and len(self.question.asked.requests) > 1)

    def command(self, key: str) -> None:
        """What a key does that is no answer."""
        sheet = self.sheet
        if key == "escape" and not sheet.choosing:
            self._stop("key")
        elif key == "escape":
            sheet.choosing = None
            self.listen_when_painted()
        elif key == "a":
            sheet.choose_rule()
            self.listen_when_painted()
        elif key == "f1":
            self.arming.hide()
            keys = Palette(keys_in("dialog", self.outside.keys), title="Keys of a question")
            self.app.push_screen(keys, lambda _: self.listen_when_painted())
        elif key == "z":
            self._full = not self._full
        elif key == "e" and self._means.edit is not None:
            self.run_worker(self._lend(sheet.edited(self._means.edit)), group="edit")
        elif key == "o" and self._means.page is not None:
            self.run_worker(self._lend(sheet.paged(self._means.page)), group="edit")
        elif key == "r" and isinstance(sheet.fresh, WriteBytes):
            self._soon(self._show_instead(sheet.fresh))
        elif key == "m" and (about := sheet.about) is not None:
            self._why.open(about, sheet.notes.text(about))
        elif key in _OTHERS:
            if self.question.asked.move(_OTHERS[key]):
                self._soon(self._show_present())
        else:
            sheet.press(key)

    def _soon(self, showing: Coroutine[Any, Any, None]) -> None:
        self.arming.hide()
        self.run_worker(showing, group="show")

    async def _lend(self, elsewhere: Coroutine[Any, Any, WriteBytes | None]) -> None:
        """Let the person edit or read elsewhere; they come back to a dialog that is deaf again.

        What they made of the text is a new request that has to be approved.
        """
        self.arming.hide()
        effect = await elsewhere
        if self.over:
            return
        if effect is not None:
            await self._show_instead(effect)
        else:
            self.listen_when_painted()

    # -------------------------------------------------------------- answers

    async def answer(self, key: str) -> None:
        """Yes if all was seen, or asked twice, with Y after a note; no and skip after their reason."""
        sheet = self.sheet
        if sheet.choosing and await sheet.is_current(self._means.fresh):
            await self._keep_rule(_SCOPES[key])
        elif sheet.choosing:
            sheet.choosing = None
            self.listen_when_painted()
        elif _ANSWERS[key] != "yes":
            self._why.open(_ANSWERS[key])
        elif not may_approve(sheet.view):
            return
        elif not await sheet.is_current(self._means.fresh):
            if sheet.fresh is None:  # it is as it was shown again: that is a yes to nothing yet
                self.arming.disturb(self.now)
        elif sheet.view.seen < sheet.view.total and not sheet.again:
            sheet.again = True
            self.arming.disturb(self.now)
        elif key == "Y":
            self._why.open("yes")
        else:
            await self._decide("yes")

    async def _keep_rule(self, scope: Scope) -> None:
        """Keep the rule that is shown, and say yes to this request."""
        if self._means.keep is not None and self.sheet.keep(self._means.keep, scope):
            await self._decide("yes")
        else:
            self.listen_when_painted()

    def leave_field(self) -> None:
        """Back from the field to the dialog."""
        self._why.leave()
        self._keep_written()

    @on(Input.Changed, "#why")
    def _keep_written(self) -> None:
        """What was written so far outlives a kill."""
        writing = "" if self.field is None else self.field.value.strip()
        self.outside.beside("\n\n".join(filter(None, (self.question.written, writing))))

    @on(Input.Submitted, "#why")
    async def _written(self, event: Input.Submitted) -> None:
        event.stop()
        asking = self._why.asking
        if asking is None:
            return
        text = self._why.leave()
        if isinstance(asking, Note):
            self.sheet.note(replace(asking, text=text))
            self.listen_when_painted()
        else:
            await self._decide(asking, text)
        self._keep_written()

    def interrupt(self) -> None:
        """No and stop."""
        self._stop("key")

    async def _decide(self, answer: Answer, reason: str = "") -> None:
        """Record one answer and go on to the next request."""
        self.question.decide(answer, reason)
        if self.question.asked.done:
            self._close()
        else:
            await self._show_present()

    def _stop(self, by: str) -> None:
        self.question.asked.stop(by)
        self._close()

    def _close(self) -> None:
        if not self.over:
            self._end()
            self.dismiss(self.question.asked.decisions)

    def _end(self) -> None:
        """Give the decisions; what was written and goes with none of them becomes the person's text."""
        self.over = True
        writing = "" if self.field is None else self.field.value.strip()
        if words := "\n\n".join(filter(None, (self.question.unsent, writing))):
            self.outside.keep(words)
        self._on_result(self.question.asked.decisions)

    def withdraw(self) -> None:
        """Nobody can answer any more: close with stop for everything that is not decided."""
        if self.over or not self.app.is_running or self not in self.app.screen_stack:
            return  # an app that shuts down takes its screens with it; popping one then never ends
        while self.app.screen is not self:  # a help page, say; dismiss always takes the top screen
            self.app.screen.dismiss(None)
        self._stop("nobody")

    def on_unmount(self) -> None:
        """The application ends while the dialog is open: that is no answer, so it is stop."""
        if not self.over:
            self.question.asked.stop("nobody")
            self._end()


_locks: WeakKeyDictionary[App[Any], asyncio.Lock] = WeakKeyDictionary()


async def ask_on_screen(
    app: App[Any], requests: tuple[ApprovalRequest, ...], outside: Outside | None = None, **means: Any
) -> Decisions:
    """Ask for a batch in a dialog of `app`; `means` are those of `Means`. One batch at a time.

    When the caller is cancelled, the dialog is closed with stop.
    """
    if not requests:
        return ()
    async with _locks.setdefault(app, asyncio.Lock()):
        answer: asyncio.Future[Decisions] = asyncio.get_running_loop().create_future()

        def settle(decisions: Decisions) -> None:
            if not answer.done():
                answer.set_result(decisions)

        screen = ApprovalScreen(requests, outside, Means(**means), settle)
        try:
            await app.push_screen(screen)
            return await answer
        finally:
            screen.withdraw()
