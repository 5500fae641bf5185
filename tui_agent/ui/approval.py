"""The approval dialog: one request at a time, shown completely, answered by y, n or s.

What is shown is derived from the effect that will be executed. The dialog listens late
(`arming`), never takes Enter, a paste or the mouse for an answer, and leaves the
composer below it visible: keys that are not for the dialog go there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from textual import on
from textual.app import App, ComposeResult
from textual.widgets import Input, Static

from tui_agent.core.types import ApprovalRequest, WriteBytes
from tui_agent.review import Note
from tui_agent.ui.actions import key_name
from tui_agent.ui.approval_frame import Frame, Room
from tui_agent.ui.approval_text import Around, footer, small, texts
from tui_agent.ui.batch import Decisions
from tui_agent.ui.field import Field
from tui_agent.ui.late_modal import LateModal, Outside
from tui_agent.ui.means import Means
from tui_agent.ui.palette import Palette, keys_in
from tui_agent.ui.question import ANSWERS, SCOPES, Question
from tui_agent.ui.sheet import Sheet
from tui_agent.ui.wrap_view import WrapView

MIN_COLUMNS, MIN_ROWS = 36, 10
"""Below this size nothing can be approved: too little of it would be visible."""

_OTHERS = {"greater_than_sign": 1, "less_than_sign": -1, "right_curly_bracket": 1, "left_curly_bracket": -1}


class ApprovalScreen(LateModal[Decisions]):
    """Asks for a batch, one request at a time, and is dismissed with one decision per request, in order.

    The rows at the bottom that `outside` names stay free for the composer below. `on_result` is called once, however the
    dialog ends.
    """

    ANSWER_KEYS = frozenset(ANSWERS)

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
        means = means or Means()
        self._after, self._first = means.after, means.first
        self.question = Question(requests, means)
        self._on_result = on_result
        self._frame = Frame(self.view)
        self._why = self._frame.field
        self._full = False
        self._footer: tuple[str, ...] = ()
        self._cramped = False
        self._dead = ""

    def compose(self) -> ComposeResult:
        """The frame with the first request, and what stands there when it is too small."""
        yield self._frame
        yield Static(id="small", markup=False)

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
        words = footer(self.sheet, self._why.asking, self._room, armed=self.armed, too_small=self.too_small)
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
        self.sheet.again = self.view.counts = False
        await self._frame.show(self.view)
        if self.sheet.diff is not None:
            self.sheet.diff.lay_out()
        self.show_state()
        self.listen_when_painted()

    async def _show_instead(self, effect: WriteBytes, *, edited: bool = False) -> None:
        """Ask for another change of the file in place of the present one."""
        old = await self.question.instead(effect, edited=edited)
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
        if self.over or not self.stands:
            return
        room = self._room
        frame, free, asked = self._frame, self.outside.free_rows(room.tight), self.question.asked
        written = texts(self.sheet, self._around, room)
        self._cramped = not frame.fit(room, written, self.view, free=free)
        if self.armed and not self.too_small and not self.view.counts:
            self.view.count()
        self.set_class(self.too_small, "-small")
        if self.too_small:
            self.query_one("#small", Static).update("   ".join(small(self._why.asking, "enlarge the terminal")))
        self.set_class(room.columns < 80, "-open")
        self.set_class(room.tight, "-tight")
        frame.entitle(self.sheet.subject.title, f" {asked.at + 1}/{len(asked.requests)}", room)
        if self.footer != self._footer:
            self._footer = self.footer
            self.outside.footer(self._footer)

    @property
    def _room(self) -> Room:
        return Room(*self.app.size, self._full)

    @property
    def _around(self) -> Around:
        """What the lines around the view depend on beside the sheet."""
        return Around(
            after=self._after,
            first=self._first,
            whole=self.question.totals.words,
            asking=self._why.asking,
            armed=self.armed,
            others=len(self.question.asked.open) > 1,
            keys=self.outside.keys,
            dead=self._dead,
        )

    # -------------------------------------------------------------- keys

    def meant(self, key: str) -> str:
        """The key of the table for what the person's key means in a question."""
        return self.outside.keys.meant("dialog", key)

    def answers(self, key: str) -> bool:
        """The letters that decide; while a rule is shown, those that keep it. None where it is too small."""
        return key in (SCOPES if self.sheet.choosing else ANSWERS) and not self.too_small

    def takes(self, key: str) -> bool:
        """The other keys of this request."""
        if key == "escape":
            return True
        if self.sheet.choosing:
            return key == "a" and len(self.sheet.rules) > 1
        if key == "a":
            return bool(self.sheet.rules)
        others = key in _OTHERS and len(self.question.asked.requests) > 1
        return others or key in {"z", "f1"} or key in self.sheet.errands or self.sheet.takes(key)

    def command(self, key: str) -> None:
        """What a key does that is no answer."""
        sheet, self._dead = self.sheet, ""
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
            keys = Palette(keys_in("dialog", self.outside.keys), title="Keys of a question", verb="close")
            self.app.push_screen(keys, lambda _: self.listen_when_painted())
        elif key == "z":
            self._full = not self._full
        elif (errand := sheet.errands.get(key)) is not None:
            self.run_worker(self._lend(errand()), group="edit")
        elif key == "r" and isinstance(sheet.fresh, WriteBytes):
            self._soon(self._show_instead(sheet.fresh))
        elif key == "m":
            if (about := sheet.find_line()) is not None:
                self._why.open(about, sheet.begin(about))
        elif key in _OTHERS:
            if self.question.asked.move(_OTHERS[key]):
                self._soon(self._show_present())
        else:
            sheet.press(key)

    def refuse(self, key: str) -> None:
        """A key of what lies below is not silent."""
        self._dead = f"{key_name(key)} works again when this is answered" * self.outside.keys.counts("app", key)

    def _soon(self, showing: Coroutine[Any, Any, None]) -> None:
        self.arming.hide()
        self.run_worker(showing, group="show")

    async def _lend(self, errand: Awaitable[WriteBytes | None]) -> None:
        """Let the person do something elsewhere; they come back to a dialog that is deaf again.

        What they made of the text is a new request that has to be approved.
        """
        self.arming.hide()
        effect = await errand
        if self.over:
            return
        if effect is not None:
            await self._show_instead(effect, edited=True)
        else:
            self.listen_when_painted()

    # -------------------------------------------------------------- answers

    async def answer(self, key: str) -> None:
        """A letter that decides counts when the question takes it."""
        self._dead = ""
        match await self.question.answer(key):
            case "again":
                self.arming.disturb(self.now)
            case "back":
                self.listen_when_painted()
            case "words":
                self._why.open(ANSWERS[key], self.sheet.begin(ANSWERS[key]))
            case "decided":
                await self._next()

    def leave_field(self) -> None:
        """Back from the field to the dialog; what stands there is there again when the field is opened again."""
        if (asking := self._why.asking) is not None:
            self.sheet.put_off(asking, self._why.leave())
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
        if asking is None or (asking == "yes" and self.too_small):  # nobody sees what they would say yes to
            return
        text = self._why.leave()
        if isinstance(asking, Note):
            self.sheet.note(replace(asking, text=text))
            self.listen_when_painted()
        elif asking == "yes" and not await self.question.stands():
            self.sheet.put_off(asking, text)
            self.listen_when_painted()
        else:
            self.question.decide(asking, text)
            await self._next()
        self._keep_written()

    def interrupt(self) -> None:
        """No and stop."""
        self._stop("key")

    async def _next(self) -> None:
        """An answer counted: go on to the next request."""
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
